"""Where runs and answers are kept where the user names no file."""

from __future__ import annotations

from pathlib import Path


def default_db() -> Path:
    """The run store in the user's data folder."""
    from platformdirs import user_data_path

    return user_data_path("wug", appauthor=False) / "wug.db"


def default_cache() -> Path:
    """The answer cache in the user's cache folder."""
    from platformdirs import user_cache_path

    return user_cache_path("wug", appauthor=False) / "answers.db"
