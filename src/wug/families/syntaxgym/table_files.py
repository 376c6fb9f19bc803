"""Suites in tables (.csv, .tsv, and those of spreadsheets with `;`), as the object that the JSON form has.

Two layouts are known. In a long table each row is a region: item_number, condition_name, region_number, content. In a
wide one each row is a sentence: item, condition, then a column for each region. What is said about all sentences
stands above either (`table_head`).
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from wug.errors import InputError
from wug.families.syntaxgym.faults import Faults
from wug.families.syntaxgym.table_head import Head, read_head
from wug.files import read_text, repeated, shortened, table_text

COLUMNS = ("item_number", "condition_name", "region_number", "content")
"""What a long table must have; `region_name` and others may stand beside them."""
ITEM = ("item", "item_number", "item_id")
CONDITION = ("condition", "condition_name", "cond")
"""What a wide table may call its first two columns, in any case of letters."""
LISTED = 12
"""So many regions are named where a table is described."""

Layout: TypeAlias = Literal["long", "wide"]
Row: TypeAlias = tuple[int, list[str]]
"""A line's number and its fields."""

_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,17})\Z")
_NAMED = ("region_number", "region_name", "content")


@dataclass(frozen=True, slots=True)
class Columns:
    """The first line of a table, understood."""

    names: tuple[str, ...]
    delimiter: str
    layout: Layout


@dataclass(frozen=True, slots=True)
class Table:
    """A suite as a table had it."""

    document: dict[str, Any]
    """In the shape of the JSON form."""
    layout: Layout

    @property
    def understood(self) -> str:
        """How it was read, in a line."""
        items = self.document["items"]
        conditions = len({one["condition_name"] for item in items for one in item["conditions"]})
        regions = [name or number for number, name in self.document["region_meta"].items()]
        more = f" and {len(regions) - LISTED} more" if len(regions) > LISTED else ""
        what = "a wide table" if self.layout == "wide" else "a table with a row for each region"
        counts = f"{_count(conditions, 'condition')} × {_count(len(items), 'item')}"
        listed = ", ".join(shortened(name, 40) for name in regions[:LISTED])
        predictions = _count(len(self.document["predictions"]), "prediction")
        return f"read as {what}: {counts}, regions {listed}{more}; {predictions}"


def number(text: str) -> int | str:
    """An item's number, from its text; an item may also have a name."""
    return int(text) if _WHOLE.match(text) else text


def columns_of(text: str) -> Columns | None:
    """The columns of a table's text, or None where it is no suite."""
    lines = table_text(text)
    head = read_head(lines, Faults())
    return _columns(next(iter(lines.split("\n")[head.lines :]), ""))


def load_table(path: Path, faults: Faults) -> Table:
    """The suite in a table's file."""
    stem = re.sub(r"\.(csv|tsv)(\.gz)?\Z", "", path.name, flags=re.IGNORECASE)
    return parse_table(read_text(path), stem, path, faults)


def parse_table(given: str, name: str, path: Path, faults: Faults) -> Table:
    """The suite in a table's text; it has `name` where it does not say itself what it is called."""
    text = table_text(given)
    if not text.strip():
        raise InputError("the file is empty", file=path)
    head = read_head(text, faults)
    rest = "\n".join(text.split("\n", head.lines)[head.lines :])
    place = f"line {head.lines + 1}"
    columns = _columns(rest.split("\n", 1)[0])
    if columns is None:
        raise InputError(_why_not(rest), file=path, place=place)
    rows = _rows(rest, columns, head.lines, path, faults)
    _refuse_twice(columns, path, place)
    made = _wide(columns, rows, place, faults) if columns.layout == "wide" else _long(columns, rows, faults)
    return Table({"meta": {"name": name, **head.meta}, **made, **_predictions(head)}, columns.layout)


def _predictions(head: Head) -> dict[str, Any]:
    return {"predictions": [{"type": "formula", "formula": text} for text in head.predictions]}


def _columns(first: str) -> Columns | None:
    """A first line taken apart in whichever way makes columns of a suite; None where there is none."""
    for delimiter in (",", "\t", ";"):
        try:
            names = tuple(name.strip() for name in next(csv.reader([first.rstrip("\r")], delimiter=delimiter), []))
        except csv.Error:
            continue
        if set(COLUMNS) <= set(names):
            return Columns(names, delimiter, "long")
        lower = [name.lower() for name in names]
        if len(names) > 2 and set(lower) & set(ITEM) and set(lower) & set(CONDITION) and not set(lower) & set(_NAMED):
            return Columns(names, delimiter, "wide")
    return None


def _why_not(rest: str) -> str:
    first = rest.split("\n", 1)[0].rstrip("\r")
    if not first.strip():
        return "not a SyntaxGym suite: there is no table below the lines that begin with #"
    found = re.split(r"[,\t;]", first)
    missing = next((name for name in COLUMNS if name not in found), COLUMNS[-1])
    return (
        f"not a SyntaxGym suite: no column {missing!r}. A row for each region has the columns {', '.join(COLUMNS)} and "
        "may have region_name; a row for each sentence has item, condition and a column for each region"
    )


def _rows(rest: str, columns: Columns, above: int, path: Path, faults: Faults) -> list[Row]:
    """The lines below the first, with their numbers in the file."""
    reader = csv.reader(io.StringIO(rest, newline=""), delimiter=columns.delimiter, strict=True)
    rows: list[Row] = []
    try:
        next(reader)
        for row in reader:
            line = reader.line_num + above
            if len(row) == len(columns.names):
                rows.append((line, row))
            elif any(field.strip() for field in row):
                faults.error(f"line {line}", f"has {len(row)} fields, the header has {len(columns.names)}")
    except csv.Error as error:
        raise InputError(f"not valid CSV: {error}", file=path, place=f"line {reader.line_num + above}") from None
    return rows


def _refuse_twice(columns: Columns, path: Path, place: str) -> None:
    """Two regions of a wide table may have the same name; two columns of any other kind may not."""
    names: list[str] = list(columns.names)
    if columns.layout == "wide":
        lower = [name.lower() for name in names]
        names = ["item" if name in ITEM else "condition" for name in lower if name in (*ITEM, *CONDITION)]
    if twice := repeated(names):
        raise InputError(f"column {twice[0]!r} stands twice", file=path, place=place)


def _long(columns: Columns, rows: Sequence[Row], faults: Faults) -> dict[str, Any]:
    regions: dict[str, str] = {}
    items: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for line, fields in rows:
        row = dict(zip(columns.names, fields, strict=True))
        region_number = row["region_number"].strip()
        if not any(field.strip() for field in fields):
            continue
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
    return {"region_meta": dict(sorted(regions.items(), key=lambda pair: int(pair[0]))), "items": _listed(items)}


def _wide(columns: Columns, rows: Sequence[Row], place: str, faults: Faults) -> dict[str, Any]:
    lower = [name.lower() for name in columns.names]
    item_at = next(index for index, name in enumerate(lower) if name in ITEM)
    condition_at = next(index for index, name in enumerate(lower) if name in CONDITION)
    regions = [index for index in range(len(lower)) if index not in (item_at, condition_at)]
    for index in [index for index in regions if not columns.names[index]]:
        if any(fields[index].strip() for _, fields in rows):
            faults.error(place, f"column {index + 1} has no name. Give it that of its region")
        else:  # what a spreadsheet leaves beside a table
            regions.remove(index)
    items: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for line, item, fields in _with_items(rows, item_at, faults):
        condition = fields[condition_at].strip()
        if not condition:
            faults.error(f"line {line}", "has no condition")
        elif condition in items.setdefault(item, {}):
            faults.error(f"line {line}", f"item {item} has the condition {condition!r} twice")
        else:
            contents = [fields[index] for index in regions]
            items[item][condition] = [
                {"region_number": number, "content": content} for number, content in enumerate(contents, start=1)
            ]
    names = {str(number): columns.names[index] for number, index in enumerate(regions, start=1)}
    return {"region_meta": names, "items": _listed(items)}


def _with_items(rows: Sequence[Row], item_at: int, faults: Faults) -> Iterator[tuple[int, str, list[str]]]:
    """Each row with its item; one that is not said is the one above, as merged cells come out of a spreadsheet."""
    item = ""
    for line, fields in rows:
        if not any(field.strip() for field in fields):
            continue
        item = fields[item_at].strip() or item
        if item:
            yield line, item, fields
        else:
            faults.error(f"line {line}", "has no item, and there is none above it")


def _listed(items: dict[str, dict[str, list[dict[str, Any]]]]) -> list[dict[str, Any]]:
    return [
        {
            "item_number": number(item),
            "conditions": [{"condition_name": name, "regions": regions} for name, regions in conditions.items()],
        }
        for item, conditions in items.items()
    ]


def _count(count: int, word: str) -> str:
    return f"{count:,} {word}{'s' * (count != 1)}" if count else f"no {word}s"
