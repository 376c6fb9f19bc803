"""Options as Python writes them: `limit=3`, `bos=False`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from wug.errors import InputError
from wug.options import written

Setting: TypeAlias = str | int | float | bool | Path | tuple[str, ...] | list[str] | None
"""The value of an option; None leaves it out."""


def as_text(*given: Mapping[str, Setting] | None) -> dict[str, str]:
    """Options as the command line has them; what is None is left out, and one that is given twice is refused."""
    every: dict[str, Setting] = {}
    for some in given:
        for name, value in (some or {}).items():
            if not isinstance(name, str) or isinstance(value, Mapping):
                raise InputError(f"option {name!r}: {value!r}: write a name and its value, such as 'dtype': 'bfloat16'")
            if name in every:
                raise InputError(f"the option {name} is given twice: as a keyword and in options")
            every[name] = value
    return {
        name: written(tuple(value) if isinstance(value, list) else value)
        for name, value in every.items()
        if value is not None
    }
