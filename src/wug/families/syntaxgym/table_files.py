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
from typing import Any, Literal, NamedTuple, TypeAlias

from wug.errors import InputError, suggestion
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


class Selection(NamedTuple):
    """Which columns of a wide table are regions, as the user says."""

    regions: tuple[str, ...] = ()
    """Empty: all but the item, the condition and those to ignore."""
    ignore: tuple[str, ...] = ()


ALL_COLUMNS = Selection()
ONLY_WIDE = "regions and ignore are for wide tables, in which a column is a region"

_NUMBER = re.compile(r"[+-]?\d[\d.,]*([eE][+-]?\d+)?\s*%?|(?i:nan|n/?a)|-?inf")
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
    left_out: tuple[str, ...] = ()
    """Columns that are no regions because the user says so."""

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
        if self.left_out:
            more += f" (left out: {', '.join(self.left_out)})"
        predictions = _count(len(self.document["predictions"]), "prediction")
        understood = f"read as {what}: {counts}, regions {listed}{more}; {predictions}"
        if self.layout == "long" or not items:
            return understood
        first = items[0]["conditions"][0]["regions"]
        sentence = " ".join(text for region in first if (text := region["content"].strip()))
        return f"{understood}; first sentence: {shortened(sentence)}"


def number(text: str) -> int | str:
    """An item's number, from its text; an item may also have a name."""
    return int(text) if _WHOLE.match(text) else text


def columns_of(text: str) -> Columns | None:
    """The columns of a table's text, or None where it is no suite."""
    lines = table_text(text)
    head = read_head(lines, Faults())
    return _columns(next(iter(lines.split("\n")[head.lines :]), ""))


def load_table(path: Path, faults: Faults, chosen: Selection = ALL_COLUMNS) -> Table:
    """The suite in a table's file."""
    stem = re.sub(r"\.(csv|tsv)(\.gz)?\Z", "", path.name, flags=re.IGNORECASE)
    return parse_table(read_text(path), stem, path, faults, chosen)


def parse_table(given: str, name: str, path: Path, faults: Faults, chosen: Selection = ALL_COLUMNS) -> Table:
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
    if columns.layout == "long" and chosen != ALL_COLUMNS:
        raise InputError(ONLY_WIDE, file=path)
    regions = _regions(columns, rows, chosen, place, faults) if columns.layout == "wide" else []
    made = _wide(columns, rows, regions, faults) if columns.layout == "wide" else _long(columns, rows, faults)
    document = {"meta": {"name": name, **head.meta}, **made, **_predictions(head)}
    left_out = [_called(columns, index) for index in _candidates(columns, rows) if index not in regions]
    return Table(document, columns.layout, tuple(left_out) if columns.layout == "wide" else ())


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


def _candidates(columns: Columns, rows: Sequence[Row]) -> list[int]:
    """The columns that may be regions; one with neither name nor content is what a spreadsheet leaves over."""
    named = {index for index, name in enumerate(columns.names) if name}
    filled = {index for index in range(len(columns.names)) if any(fields[index].strip() for _, fields in rows)}
    known = {index for index, name in enumerate(columns.names) if name.lower() in (*ITEM, *CONDITION)}
    return sorted((named | filled) - known)


def _called(columns: Columns, index: int) -> str:
    """What the user calls a column: its name, or its number where it has none."""
    return columns.names[index] or str(index + 1)


def _regions(columns: Columns, rows: Sequence[Row], chosen: Selection, place: str, faults: Faults) -> list[int]:
    """The columns that are regions; a fault for those that may not be meant as regions, unless the user chose."""
    possible: dict[str, list[int]] = {}
    for index in _candidates(columns, rows):
        possible.setdefault(_called(columns, index), []).append(index)
    for name in (*chosen.regions, *chosen.ignore):
        if name not in possible:
            meant = suggestion(name, possible)
            faults.error(place, f"no column {name!r} that could be a region.{meant}")
    if chosen.regions:
        return [index for name in chosen.regions for index in possible.get(name, ())]
    regions = sorted(index for name, some in possible.items() if name not in chosen.ignore for index in some)
    for index in regions:
        if not columns.names[index]:
            faults.error(place, f"column {index + 1} has no name: name it, or -S ignore={index + 1}")
    numbers = [columns.names[index] for index in regions if columns.names[index] and _is_numeric(rows, index)]
    if numbers:
        what, they = ("column", "it") if len(numbers) == 1 else ("columns", "them")
        faults.error(
            place,
            f"the {what} {', '.join(numbers)} {'has' if len(numbers) == 1 else 'have'} only numbers. "
            f"{'Is it a region' if len(numbers) == 1 else 'Are they regions'}? Leave {they} out with -S "
            f"ignore={','.join(numbers)}, or name all regions with -S regions={','.join(possible)}",
        )
    return regions


def _is_numeric(rows: Sequence[Row], index: int) -> bool:
    cells = [cell for _, fields in rows if (cell := fields[index].strip())]
    return bool(cells) and all(_NUMBER.fullmatch(cell) for cell in cells)


def _wide(columns: Columns, rows: Sequence[Row], regions: Sequence[int], faults: Faults) -> dict[str, Any]:
    lower = [name.lower() for name in columns.names]
    item_at = next(index for index, name in enumerate(lower) if name in ITEM)
    condition_at = next(index for index, name in enumerate(lower) if name in CONDITION)
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
