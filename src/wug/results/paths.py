"""Default locations of the store and the output cache."""

from __future__ import annotations

from pathlib import Path


def default_store() -> Path:
    """The store in the user's data folder."""
    from platformdirs import user_data_path

    return user_data_path("wug", appauthor=False) / "store"


def default_cache() -> Path:
    """The output cache in the user's cache folder."""
    from platformdirs import user_cache_path

    return user_cache_path("wug", appauthor=False) / "answers.db"
