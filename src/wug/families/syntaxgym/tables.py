"""Suites in tables (.csv, .tsv, and those of spreadsheets with `;`), converted to their JSON form.

There are two layouts. In a long table each row is a region: item_number, condition_name, region_number, content. In a
wide one each row is a sentence: item, condition, then one column per region. Lines that begin with `#` above the table
hold its name, its predictions and the other fields of `meta`, even if a spreadsheet quotes or pads them:

    # name: number_prep
    # prediction: (3;%match%) < (3;%mismatch%)
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from wug.errors import InputError, suggestion
from wug.files import normalise_line_ends, read_text, repeated, shortened
from wug.formatting import first_items, plural
from wug.problems import ProblemList
from wug.record_tables import header_of, split_rows, stem

COLUMNS = ("item_number", "condition_name", "region_number", "content")
"""Required columns of a long table; it may have `region_name` and others."""
ITEM = ("item", "item_number", "item_id")
CONDITION = ("condition", "condition_name", "cond")
"""Names of the first two columns of a wide table, in lower or upper case."""
MAX_LISTED_REGIONS = 12

TableRow: TypeAlias = tuple[int, list[str]]
ONLY_WIDE = "the options regions and ignore are for wide tables, with one column per region"

_NUMBER = re.compile(r"[+-]?\d[\d.,]*([eE][+-]?\d+)?\s*%?|(?i:nan|n/?a)|-?inf")
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,17})\Z")
_NAMED = ("region_number", "region_name", "content")


def number(text: str) -> int | str:
    """An item's number, or its name if it is not a number."""
    return int(text) if _WHOLE.match(text) else text


def is_suite_table(text: str) -> bool:
    """Whether a text begins like a table with a suite."""
    lines = normalise_line_ends(text)
    head = read_head(lines, ProblemList())
    return _columns(next(iter(lines.split("\n")[head.lines :]), "")) is not None


def load_table(
    path: Path, problems: ProblemList, regions: Sequence[str] = (), ignore: Sequence[str] = ()
) -> tuple[dict[str, Any], str]:
    """The suite in a table in its JSON form, and how it was read, in one line.

    It is called as its file unless a line above the table names it. `regions` or `ignore` choose columns of a wide one.
    """
    name = stem(path)
    text = normalise_line_ends(read_text(path))
    if not text.strip():
        raise InputError("the file is empty", file=path)
    head = read_head(text, problems)
    rest = "\n".join(text.split("\n", head.lines)[head.lines :])
    place = f"line {head.lines + 1}"
    columns = _columns(rest.split("\n", 1)[0])
    if columns is None:
        raise InputError(_refusal_reason(rest), file=path, place=place)
    rows = _rows(rest, columns, head.lines, path, problems)
    is_long = set(COLUMNS) <= set(columns)
    # Only regions of a wide table may have the same name.
    unique = columns if is_long else filter(None, map(_role, columns))
    if twice := repeated(unique):
        raise InputError(f"column {twice[0]!r} is repeated", file=path, place=place)
    if is_long and (regions or ignore):
        raise InputError(ONLY_WIDE, file=path)
    left_out: list[str] = []
    if is_long:
        content = _long(columns, rows, problems)
    else:
        possible = _possible_regions(columns, rows)
        for column in (*regions, *ignore):
            if column not in possible:
                meant = suggestion(column, possible)
                problems.error(place, f"no column {column!r} that could be a region.{meant}")
        chosen = [index for column in regions for index in possible.get(column, ())]
        if not regions:
            chosen = sorted(index for name, indices in possible.items() if name not in ignore for index in indices)
            _doubt_columns(columns, rows, chosen, possible, place, problems)
        content = _wide(columns, rows, chosen, problems)
        left_out = [column for column, indices in possible.items() for index in indices if index not in chosen]
    predictions = [{"type": "formula", "formula": text} for text in head.predictions]
    document = {"meta": {"name": name, **head.meta}, **content, "predictions": predictions}
    return document, _understood(document, left_out, is_long)


def _understood(document: Mapping[str, Any], left_out: Sequence[str], is_long: bool) -> str:
    items = document["items"]
    conditions = len({condition["condition_name"] for item in items for condition in item["conditions"]})
    regions = (name or number for number, name in document["region_meta"].items())
    names = first_items((shortened(name, 40) for name in regions), MAX_LISTED_REGIONS)
    predictions = plural(len(document["predictions"]), "prediction")
    omitted = f" (left out: {', '.join(left_out)})" if left_out else ""
    understood = (
        f"read as {'a table with one row per region' if is_long else 'a wide table'}: "
        f"{plural(conditions, 'condition')} × {plural(len(items), 'item')}, regions {names}"
        f"{omitted}; {predictions}"
    )
    if is_long or not items:
        return understood
    first = items[0]["conditions"][0]["regions"]
    sentence = " ".join(text for region in first if (text := region["content"].strip()))
    return f"{understood}; first sentence: {shortened(sentence)}"


def _role(column: str) -> str:
    """Whether a column of a wide table has the items or the conditions; empty for others."""
    return "item" if column.lower() in ITEM else "condition" if column.lower() in CONDITION else ""


def _columns(first: str) -> tuple[str, ...] | None:
    """The columns of a long or a wide table, by its first line; None if it is no suite."""
    names = header_of(first)
    wide = len(names) > 2 and {"item", "condition"} <= set(map(_role, names))
    if set(COLUMNS) <= set(names) or (wide and not {name.lower() for name in names} & set(_NAMED)):
        return names
    return None


def _refusal_reason(rest: str) -> str:
    first = rest.split("\n", 1)[0].rstrip("\r")
    if not first.strip():
        return "not a SyntaxGym suite: there is no table below the lines that begin with #"
    columns = re.split(r"[,\t;]", first)
    missing = next((name for name in COLUMNS if name not in columns), COLUMNS[-1])
    return (
        f"not a SyntaxGym suite: no column {missing!r}. A table with one row per region has the columns "
        f"{', '.join(COLUMNS)} and optionally region_name; one with a row per sentence has item, condition and "
        "one column per region"
    )


def _rows(rest: str, columns: Sequence[str], above: int, path: Path, problems: ProblemList) -> list[TableRow]:
    """The rows that are not empty."""
    rows: list[TableRow] = []
    for line, row in islice(split_rows(path, rest, above), 1, None):
        if not any(field.strip() for field in row):
            continue
        if len(row) == len(columns):
            rows.append((line, row))
        else:
            problems.error(f"line {line}", f"has {len(row)} fields, but the header has {len(columns)}")
    return rows


def _long(columns: Sequence[str], rows: Sequence[TableRow], problems: ProblemList) -> dict[str, Any]:
    regions: dict[str, str] = {}
    items: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for line, fields in rows:
        row = dict(zip(columns, fields, strict=True))
        region_number = row["region_number"].strip()
        if not _WHOLE.match(region_number):
            number = shortened(row["region_number"], 60)
            problems.error(f"line {line}", f"region_number must be a whole number, not {number!r}")
            continue
        region_name = row.get("region_name", "")
        if (before := regions.setdefault(region_number, region_name)) != region_name:
            message = f"region {region_number} is named {region_name!r} here but {before!r} before"
            problems.error(f"line {line}", message)
        others = {key: value for key, value in row.items() if key not in COLUMNS and key != "region_name"}
        region = {"region_number": int(region_number), "content": row["content"], **others}
        items.setdefault(row["item_number"].strip(), {}).setdefault(row["condition_name"], []).append(region)
    return {"region_meta": dict(sorted(regions.items(), key=lambda pair: int(pair[0]))), "items": item_list(items)}


def _possible_regions(columns: Sequence[str], rows: Sequence[TableRow]) -> dict[str, list[int]]:
    """The columns that may be regions by name, or by number if they have none; without those that are empty."""
    possible: dict[str, list[int]] = {}
    for index, name in enumerate(columns):
        if not _role(name) and (name or any(fields[index].strip() for _, fields in rows)):
            possible.setdefault(name or str(index + 1), []).append(index)
    return possible


def _doubt_columns(
    columns: Sequence[str],
    rows: Sequence[TableRow],
    regions: Sequence[int],
    possible: Collection[str],
    place: str,
    problems: ProblemList,
) -> None:
    """Add errors for columns that may not be regions."""
    numbers = []
    for index in regions:
        cells = [cell for _, fields in rows if (cell := fields[index].strip())]
        if not columns[index]:
            problems.error(place, f"column {index + 1} has no name: name it, or -S ignore={index + 1}")
        elif cells and all(_NUMBER.fullmatch(cell) for cell in cells):
            numbers.append(columns[index])
    if numbers:
        one = len(numbers) == 1
        problems.error(
            place,
            f"the column{'' if one else 's'} {', '.join(numbers)} {'has' if one else 'have'} only numbers. "
            f"{'Is it a region' if one else 'Are they regions'}? Leave {'it' if one else 'them'} out with -S "
            f"ignore={','.join(numbers)}, or name all regions with -S regions={','.join(possible)}",
        )


def _wide(
    columns: Sequence[str], rows: Sequence[TableRow], regions: Sequence[int], problems: ProblemList
) -> dict[str, Any]:
    roles = list(map(_role, columns))
    item_at, condition_at = roles.index("item"), roles.index("condition")
    items: dict[str, dict[str, list[dict[str, Any]]]] = {}
    item = ""
    for line, fields in rows:
        condition = fields[condition_at].strip()
        item = fields[item_at].strip() or item  # empty in merged cells of a spreadsheet: the item above
        if not item:
            problems.error(f"line {line}", "has no item, and there is none above")
        elif not condition:
            problems.error(f"line {line}", "has no condition")
        elif condition in items.setdefault(item, {}):
            problems.error(f"line {line}", f"item {item} has the condition {condition!r} twice")
        else:
            contents = enumerate((fields[index] for index in regions), start=1)
            items[item][condition] = [{"region_number": number, "content": content} for number, content in contents]
    names = {str(number): columns[index] for number, index in enumerate(regions, start=1)}
    return {"region_meta": names, "items": item_list(items)}


def item_list(items: Mapping[str, Mapping[str, Sequence[dict[str, Any]]]]) -> list[dict[str, Any]]:
    """The items of a suite in its JSON form, from the regions of each condition of each item."""
    return [
        {
            "item_number": number(item),
            "conditions": [{"condition_name": name, "regions": list(regions)} for name, regions in conditions.items()],
        }
        for item, conditions in items.items()
    ]


TEXTS = ("name", "author", "reference", "description", "comment")
LISTS = ("metric", "tags")
FIELDS = ("prediction", *TEXTS, *LISTS)

_FIELD = re.compile(r"#\s*([^\W\d][\w-]*)\s*:(.*)\Z", re.DOTALL)


@dataclass(slots=True)
class TableHeader:
    """The lines above a table, parsed."""

    meta: dict[str, Any] = field(default_factory=dict)
    predictions: list[str] = field(default_factory=list)
    lines: int = 0
    """Number of lines above the table, empty ones included."""


def read_head(text: str, problems: ProblemList) -> TableHeader:
    """Parse the header lines of a table; lines with `#` that are not fields are comments."""
    head = TableHeader()
    for line in text.removesuffix("\n").split("\n"):
        content = line.strip().removeprefix('"').lstrip()
        if content and not content.startswith("#"):
            break
        head.lines += 1
        if content and (match := _FIELD.match(_unquoted(line))):
            _read_field(head, match[1].lower(), match[2].strip(), problems)
    return head


def _read_field(head: TableHeader, key: str, value: str, problems: ProblemList) -> None:
    place = f"line {head.lines}"
    if key not in FIELDS:
        meant = suggestion(key, FIELDS)
        if "mean" in meant:
            problems.error(place, f"{key!r} is not a field of a table.{meant}")
        else:
            fields = ", ".join(FIELDS)
            problems.warn(place, f"{shortened(key, 60)!r} is ignored: the fields of a table are {fields}")
    elif key in head.meta:
        problems.error(place, f"{key} is repeated")
    elif not value:
        problems.error(place, f"{key} is empty. Write a value after the colon, or remove the line")
    elif key == "prediction":
        head.predictions.append(_text(value))
    elif key in TEXTS:
        head.meta[key] = _text(value)
    else:
        names = _names(value)
        if names is None:
            problems.error(place, f"{key} must be names separated by commas, not {shortened(value, 60)!r}")
        else:
            head.meta[key] = names[0] if key == "metric" and len(names) == 1 else names


def _unquoted(line: str) -> str:
    """A line without the quotes and empty cells that a spreadsheet adds."""
    line = line.strip()
    if line.startswith('"'):
        try:
            return next(csv.reader([line], strict=False), [""])[0].strip()
        except csv.Error:  # a field that is too long for csv
            return line
    return re.sub(r"[,;\t\s]+\Z", "", line)


def _text(value: str) -> str:
    """Undo `_one_line` in `write`."""
    if len(value) > 1 and value.startswith('"') and value.endswith('"'):
        try:
            parsed = json.loads(value)
        except (ValueError, RecursionError):  # not JSON: literal quotation marks
            return value
        return str(parsed)
    return value


def _names(value: str) -> list[str] | None:
    if not value.startswith("["):
        return [name for part in value.split(",") if (name := part.strip())] or None
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, list) and all(isinstance(entry, str) for entry in parsed) else None
