"""JSON files of other programs, checked where they are read: no NaN, no damage without its place."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from wug.errors import InputError
from wug.files import MAX_BYTES_ENV, iterate_lines, max_unpacked_bytes, not_json, read_text, repeated, shortened

Json = dict[str, Any]
Pairs = Callable[[list[tuple[str, Any]]], Json]


def read_strict_object(path: Path, *, nan: bool = False) -> Json:
    """The object in a JSON file; large files and repeated keys are refused, and NaN unless the format has it."""
    if path.is_file() and (size := path.stat().st_size) > max_unpacked_bytes():
        what = f"has {size:,} bytes, and {max_unpacked_bytes():,} is the maximum for one JSON object"
        raise InputError(f"{what}. Set a higher maximum: {MAX_BYTES_ENV}={size}", file=path)

    def unique(pairs: list[tuple[str, Any]]) -> Json:
        if twice := repeated(key for key, _ in pairs):
            raise InputError(f"the key {shortened(repr(twice[0]))} is there twice in one object", file=path)
        return dict(pairs)

    return _parsed(read_text(path), path, None, nan=nan, pairs=unique)


def read_object_lines(path: Path) -> Iterator[tuple[str, Json]]:
    """The objects of a JSON Lines file, each with its place, one at a time."""
    for number, line in enumerate(iterate_lines(path), 1):
        if line.strip():
            place = f"line {number}"
            yield place, _parsed(line, path, place)


def require_number(value: object, what: str, path: Path, place: str | None = None) -> float:
    """The value as a finite number, or an error."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"{what} is {shortened(repr(value))}, not a number", file=path, place=place)
    return float(value)


def mapping(value: object, what: str, path: Path, place: str | None = None) -> Json:
    """The value as an object, or an error."""
    if not isinstance(value, dict):
        raise InputError(f"{what} is {shortened(repr(value))}, not an object", file=path, place=place)
    return value


def text(value: object, what: str, path: Path, place: str | None = None) -> str:
    """The value as text, or an error."""
    if not isinstance(value, str):
        raise InputError(f"{what} is {shortened(repr(value))}, not text", file=path, place=place)
    return value


def _parsed(content: str, path: Path, place: str | None, *, nan: bool = False, pairs: Pairs | None = None) -> Json:
    def refuse(constant: str) -> float:
        raise InputError(f"{constant}, which is not a number in JSON", file=path, place=place)

    try:
        parsed = json.loads(content, parse_constant=float if nan else refuse, object_pairs_hook=pairs)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        line = f"line {error.lineno}" if isinstance(error, json.JSONDecodeError) else None
        raise InputError(not_json(error), file=path, place=place or line) from None
    return mapping(parsed, "the content", path, place)
