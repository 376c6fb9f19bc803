"""Options as Python writes them: `limit=3`, `bos=False`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from wug.options import written

Setting: TypeAlias = str | int | float | bool | Path | tuple[str, ...] | list[str] | None
"""The value of an option; None leaves it out."""


def as_text(*given: Mapping[str, Setting] | None) -> dict[str, str]:
    """Options as the command line has them, later ones before earlier ones; what is None is left out."""
    every = {name: value for some in given for name, value in (some or {}).items()}
    return {
        name: written(tuple(value) if isinstance(value, list) else value)
        for name, value in every.items()
        if value is not None
    }
