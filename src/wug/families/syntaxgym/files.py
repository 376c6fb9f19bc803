"""Suite files as plain data: JSON as it stands, CSV turned into the same shape."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from pathlib import Path
from typing import Any

from wug.errors import InputError, caret
from wug.families.syntaxgym.faults import Faults
from wug.files import read_text, repeated, shortened, table_text

COLUMNS = ("item_number", "condition_name", "region_number", "content")
"""What a CSV suite must have; `region_name` and others may stand beside them."""

_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,17})\Z")


def plain_name(path: Path) -> str:
    """The file's name without `.gz`, in lower case."""
    return path.name.lower().removesuffix(".gz")


def is_table(path: Path) -> bool:
    """Whether the file is a suite in its CSV form, by its name."""
    return plain_name(path).endswith((".csv", ".tsv"))


def number(text: str) -> int | str:
    """An item's number, from its text; an item may also have a name."""
    return int(text) if _WHOLE.match(text) else text


def header(text: str) -> list[str]:
    """The columns of a table's first line."""
    first = table_text(text).split("\n", 1)[0].rstrip("\r")
    try:
        return next(csv.reader([first], delimiter=_delimiter(first)), [])
    except csv.Error:
        return []


def load(path: Path, faults: Faults) -> dict[str, Any]:
    """The file as the object that its JSON form has."""
    return _load_table(path, faults) if is_table(path) else _load_json(path, faults)


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
    if not isinstance(document, dict) or not document.keys() & {"meta", "region_meta", "predictions", "items"}:
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


def _load_table(path: Path, faults: Faults) -> dict[str, Any]:
    text = table_text(read_text(path))
    if not text.strip():
        raise InputError("the file is empty", file=path)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text.split("\n", 1)[0]), strict=True)
    try:
        columns = [name.strip() for name in next(reader)]
        missing = [name for name in COLUMNS if name not in columns]
        if missing:
            raise InputError(
                f"not a SyntaxGym suite: no column {missing[0]!r}. A CSV suite has the columns {', '.join(COLUMNS)} "
                "and may have region_name",
                file=path,
                place="line 1",
            )
        if twice := repeated(columns):
            raise InputError(f"column {twice[0]!r} stands twice", file=path, place="line 1")
        rows = []
        for row in reader:
            if len(row) == len(columns):
                rows.append((reader.line_num, dict(zip(columns, row, strict=True))))
            elif row:
                faults.error(f"line {reader.line_num}", f"has {len(row)} fields, the header has {len(columns)}")
    except csv.Error as error:
        raise InputError(f"not valid CSV: {error}", file=path, place=f"line {reader.line_num}") from None
    stem = re.sub(r"\.(csv|tsv)(\.gz)?\Z", "", path.name, flags=re.IGNORECASE)
    return _from_rows(stem, rows, faults)


def _from_rows(name: str, rows: list[tuple[int, dict[str, str]]], faults: Faults) -> dict[str, Any]:
    regions: dict[str, str] = {}
    items: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for line, row in rows:
        region_number = row["region_number"].strip()
        if not _WHOLE.match(region_number):
            shown = shortened(row["region_number"], 60)
            faults.error(f"line {line}", f"region_number must be a whole number, not {shown!r}")
            continue
        region_name = row.get("region_name", "")
        if regions.setdefault(region_number, region_name) != region_name:
            before = regions[region_number]
            message = f"region {region_number} is named {region_name!r} here and {before!r} before"
            faults.error(f"line {line}", message)
        others = {key: value for key, value in row.items() if key not in COLUMNS and key != "region_name"}
        region = {"region_number": int(region_number), "content": row["content"], **others}
        items.setdefault(row["item_number"].strip(), {}).setdefault(row["condition_name"], []).append(region)
    return {
        "meta": {"name": name},
        "region_meta": dict(sorted(regions.items(), key=lambda pair: int(pair[0]))),
        "predictions": [],
        "items": [
            {
                "item_number": number(item),
                "conditions": [
                    {"condition_name": condition, "regions": found} for condition, found in conditions.items()
                ],
            }
            for item, conditions in items.items()
        ],
    }


def _delimiter(first_line: str) -> str:
    return "\t" if "\t" in first_line and "," not in first_line else ","
