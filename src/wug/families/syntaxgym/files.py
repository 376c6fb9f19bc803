"""Suite files as plain data: JSON as it stands, tables turned into the same shape."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

from wug.errors import InputError, caret
from wug.families.syntaxgym.faults import Faults
from wug.families.syntaxgym.table_files import ALL_COLUMNS, ONLY_WIDE, Selection, load_table
from wug.files import read_text, repeated

FIELDS = ("meta", "region_meta", "predictions", "items")
"""What a suite's JSON object has; one of them tells that it is meant to be one."""


class Loaded(NamedTuple):
    """A file as plain data."""

    document: dict[str, Any]
    """The object that its JSON form has."""
    understood: str | None = None
    """How a table was read, in a line."""


def plain_name(path: Path) -> str:
    """The file's name without `.gz`, in lower case."""
    return path.name.lower().removesuffix(".gz")


def is_table(path: Path) -> bool:
    """Whether the file is a table, by its name."""
    return plain_name(path).endswith((".csv", ".tsv"))


def load(path: Path, faults: Faults, columns: Selection = ALL_COLUMNS) -> Loaded:
    """What is in a file; its faults go to `faults`."""
    if not is_table(path):
        if columns != ALL_COLUMNS:
            raise InputError(ONLY_WIDE, file=path)
        return Loaded(_load_json(path, faults))
    table = load_table(path, faults, columns)
    return Loaded(table.document, table.understood)


def _load_json(path: Path, faults: Faults) -> dict[str, Any]:
    text = read_text(path)
    if not text.strip():
        raise InputError("the file is empty", file=path)

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            keys = [key for key, _ in pairs]
            twice = repeated(keys)[0]
            faults.error("", f"an object has the key {twice!r} twice; its keys are {', '.join(keys[:8])}")
        return made

    constants: list[str] = []

    def constant(name: str) -> float:
        constants.append(name)
        return float(name)

    try:
        document = json.loads(text, object_pairs_hook=unique, parse_constant=constant)
    except json.JSONDecodeError as error:
        start = max(0, error.pos - 40, text.rfind("\n", 0, error.pos) + 1)
        line = text[start : start + 80].split("\n", 1)[0]
        raise InputError(
            f"not valid JSON: {error.msg[0].lower()}{error.msg[1:]}\n"
            f"{caret(line, error.pos - start, error.pos - start + 1)}",
            file=path,
            place=f"line {error.lineno}, column {error.colno}",
        ) from None
    except RecursionError:
        raise InputError("nested too deeply to be a suite", file=path) from None
    except ValueError as error:  # an integer of thousands of digits
        raise InputError(f"not valid JSON: {error}", file=path) from None
    if not isinstance(document, dict) or not document.keys() & set(FIELDS):
        raise InputError(
            "not a SyntaxGym suite: a suite is an object with 'meta', 'region_meta', 'predictions' and 'items', "
            f"and this is {_found(document)}",
            file=path,
        )
    if constants:
        _forbid_constants(document, faults)
    return document


def _found(document: object) -> str:
    if isinstance(document, dict):
        return f"an object with {', '.join(map(repr, list(document)[:6])) or 'nothing in it'}"
    return "a list" if isinstance(document, list) else "a single value"


def _forbid_constants(document: dict[str, Any], faults: Faults) -> None:
    """NaN and Infinity are no JSON; only results may have them, as other programs write them there."""
    left: list[tuple[str, Any]] = [("", document)]
    while left:
        place, value = left.pop()
        if isinstance(value, dict):
            left.extend((f"{place}, {key}", inner) for key, inner in value.items() if key != "metric_value")
        elif isinstance(value, list):
            left.extend((f"{place}, entry {index}", inner) for index, inner in enumerate(value, start=1))
        elif isinstance(value, float) and not math.isfinite(value):
            faults.error(place.removeprefix(", "), f"{value} is not a JSON value")
