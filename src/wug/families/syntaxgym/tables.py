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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from wug.errors import InputError, suggestion
from wug.files import normalise_line_ends, read_text, repeated, shortened
from wug.formatting import first_items, plural
from wug.problems import ProblemList
from wug.record_tables import header_of, split_rows

COLUMNS = ("item_number", "condition_name", "region_number", "content")
"""Required columns of a long table; it may have `region_name` and others."""
ITEM = ("item", "item_number", "item_id")
CONDITION = ("condition", "condition_name", "cond")
"""Names of the first two columns of a wide table, in lower or upper case."""
MAX_LISTED_REGIONS = 12

TableLayout: TypeAlias = Literal["long", "wide"]
TableRow: TypeAlias = tuple[int, list[str]]


class ColumnSelection(NamedTuple):
    """The columns of a wide table that the user chose as regions."""

    regions: tuple[str, ...] = ()
    """Empty for all except the item, the condition and `ignore`."""
    ignore: tuple[str, ...] = ()


ALL_COLUMNS = ColumnSelection()
ONLY_WIDE = "the options regions and ignore are for wide tables, with one column per region"

_NUMBER = re.compile(r"[+-]?\d[\d.,]*([eE][+-]?\d+)?\s*%?|(?i:nan|n/?a)|-?inf")
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,17})\Z")
_NAMED = ("region_number", "region_name", "content")


class TableColumns(NamedTuple):
    """The parsed header of a table."""

    names: tuple[str, ...]
    layout: TableLayout


class SuiteTable(NamedTuple):
    """A suite from a table."""

    document: dict[str, Any]
    layout: TableLayout
    left_out: tuple[str, ...] = ()

    @property
    def understood(self) -> str:
        """How it was read, in one line."""
        items = self.document["items"]
        conditions = len({item_condition["condition_name"] for item in items for item_condition in item["conditions"]})
        regions = [name or number for number, name in self.document["region_meta"].items()]
        what = "a wide table" if self.layout == "wide" else "a table with one row per region"
        counts = f"{plural(conditions, 'condition')} × {plural(len(items), 'item')}"
        names = first_items((shortened(name, 40) for name in regions), MAX_LISTED_REGIONS)
        left_out = f" (left out: {', '.join(self.left_out)})" if self.left_out else ""
        predictions = plural(len(self.document["predictions"]), "prediction")
        understood = f"read as {what}: {counts}, regions {names}{left_out}; {predictions}"
        if self.layout == "long" or not items:
            return understood
        first = items[0]["conditions"][0]["regions"]
        sentence = " ".join(text for region in first if (text := region["content"].strip()))
        return f"{understood}; first sentence: {shortened(sentence)}"


def number(text: str) -> int | str:
    """An item's number, or its name if it is not a number."""
    return int(text) if _WHOLE.match(text) else text


def columns_of(text: str) -> TableColumns | None:
    """The columns of a table, or None if it is not a suite."""
    lines = normalise_line_ends(text)
    head = read_head(lines, ProblemList())
    return _columns(next(iter(lines.split("\n")[head.lines :]), ""))


def load_table(path: Path, problems: ProblemList, chosen: ColumnSelection = ALL_COLUMNS) -> SuiteTable:
    """Read the suite in a table, which is called as its file unless a line above the table names it."""
    name = re.sub(r"\.(csv|tsv)(\.gz)?\Z", "", path.name, flags=re.IGNORECASE)
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
    _refuse_repeated_columns(columns, path, place)
    if columns.layout == "long" and chosen != ALL_COLUMNS:
        raise InputError(ONLY_WIDE, file=path)
    regions = _regions(columns, rows, chosen, place, problems) if columns.layout == "wide" else []
    content = _wide(columns, rows, regions, problems) if columns.layout == "wide" else _long(columns, rows, problems)
    document = {"meta": {"name": name, **head.meta}, **content}
    document["predictions"] = [{"type": "formula", "formula": text} for text in head.predictions]
    left_out = [_called(columns, index) for index in _candidates(columns, rows) if index not in regions]
    return SuiteTable(document, columns.layout, tuple(left_out) if columns.layout == "wide" else ())


def _columns(first: str) -> TableColumns | None:
    names = header_of(first)
    if set(COLUMNS) <= set(names):
        return TableColumns(names, "long")
    lower = {name.lower() for name in names}
    wide = len(names) > 2 and lower & set(ITEM) and lower & set(CONDITION) and not lower & set(_NAMED)
    return TableColumns(names, "wide") if wide else None


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


def _rows(rest: str, columns: TableColumns, above: int, path: Path, problems: ProblemList) -> list[TableRow]:
    rows: list[TableRow] = []
    for line, row in islice(split_rows(path, rest, above), 1, None):
        if len(row) == len(columns.names):
            rows.append((line, row))
        elif any(field.strip() for field in row):
            problems.error(f"line {line}", f"has {len(row)} fields, but the header has {len(columns.names)}")
    return rows


def _refuse_repeated_columns(columns: TableColumns, path: Path, place: str) -> None:
    """Raise for repeated columns; only regions of a wide table may have the same name."""
    names: list[str] = list(columns.names)
    if columns.layout == "wide":
        lower = [name.lower() for name in names]
        names = ["item" if name in ITEM else "condition" for name in lower if name in (*ITEM, *CONDITION)]
    if twice := repeated(names):
        raise InputError(f"column {twice[0]!r} is repeated", file=path, place=place)


def _long(columns: TableColumns, rows: Sequence[TableRow], problems: ProblemList) -> dict[str, Any]:
    regions: dict[str, str] = {}
    items: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for line, fields in rows:
        row = dict(zip(columns.names, fields, strict=True))
        region_number = row["region_number"].strip()
        if not any(field.strip() for field in fields):
            continue
        if not _WHOLE.match(region_number):
            number = shortened(row["region_number"], 60)
            problems.error(f"line {line}", f"region_number must be a whole number, not {number!r}")
            continue
        region_name = row.get("region_name", "")
        if regions.setdefault(region_number, region_name) != region_name:
            before = regions[region_number]
            message = f"region {region_number} is named {region_name!r} here but {before!r} before"
            problems.error(f"line {line}", message)
        others = {key: value for key, value in row.items() if key not in COLUMNS and key != "region_name"}
        region = {"region_number": int(region_number), "content": row["content"], **others}
        items.setdefault(row["item_number"].strip(), {}).setdefault(row["condition_name"], []).append(region)
    return {"region_meta": dict(sorted(regions.items(), key=lambda pair: int(pair[0]))), "items": item_list(items)}


def _candidates(columns: TableColumns, rows: Sequence[TableRow]) -> list[int]:
    """The columns that may be regions, without the empty ones that spreadsheets leave."""
    named_columns = {index for index, name in enumerate(columns.names) if name}
    filled = {index for index in range(len(columns.names)) if any(fields[index].strip() for _, fields in rows)}
    known = {index for index, name in enumerate(columns.names) if name.lower() in (*ITEM, *CONDITION)}
    return sorted((named_columns | filled) - known)


def _called(columns: TableColumns, index: int) -> str:
    """The name of a column, or its number if it has none."""
    return columns.names[index] or str(index + 1)


def _regions(
    columns: TableColumns, rows: Sequence[TableRow], chosen: ColumnSelection, place: str, problems: ProblemList
) -> list[int]:
    """The columns that are regions; an error for doubtful ones, unless the user chose."""
    possible: dict[str, list[int]] = {}
    for index in _candidates(columns, rows):
        possible.setdefault(_called(columns, index), []).append(index)
    for name in (*chosen.regions, *chosen.ignore):
        if name not in possible:
            meant = suggestion(name, possible)
            problems.error(place, f"no column {name!r} that could be a region.{meant}")
    if chosen.regions:
        return [index for name in chosen.regions for index in possible.get(name, ())]
    regions = sorted(index for name, indices in possible.items() if name not in chosen.ignore for index in indices)
    for index in regions:
        if not columns.names[index]:
            problems.error(place, f"column {index + 1} has no name: name it, or -S ignore={index + 1}")
    numbers = [columns.names[index] for index in regions if columns.names[index] and _is_numeric(rows, index)]
    if numbers:
        what, they = ("column", "it") if len(numbers) == 1 else ("columns", "them")
        problems.error(
            place,
            f"the {what} {', '.join(numbers)} {'has' if len(numbers) == 1 else 'have'} only numbers. "
            f"{'Is it a region' if len(numbers) == 1 else 'Are they regions'}? Leave {they} out with -S "
            f"ignore={','.join(numbers)}, or name all regions with -S regions={','.join(possible)}",
        )
    return regions


def _is_numeric(rows: Sequence[TableRow], index: int) -> bool:
    cells = [cell for _, fields in rows if (cell := fields[index].strip())]
    return bool(cells) and all(_NUMBER.fullmatch(cell) for cell in cells)


def _wide(
    columns: TableColumns, rows: Sequence[TableRow], regions: Sequence[int], problems: ProblemList
) -> dict[str, Any]:
    lower = [name.lower() for name in columns.names]
    item_at = next(index for index, name in enumerate(lower) if name in ITEM)
    condition_at = next(index for index, name in enumerate(lower) if name in CONDITION)
    items: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for line, item, fields in _with_items(rows, item_at, problems):
        condition = fields[condition_at].strip()
        if not condition:
            problems.error(f"line {line}", "has no condition")
        elif condition in items.setdefault(item, {}):
            problems.error(f"line {line}", f"item {item} has the condition {condition!r} twice")
        else:
            contents = enumerate((fields[index] for index in regions), start=1)
            items[item][condition] = [{"region_number": number, "content": content} for number, content in contents]
    names = {str(number): columns.names[index] for number, index in enumerate(regions, start=1)}
    return {"region_meta": names, "items": item_list(items)}


def _with_items(rows: Sequence[TableRow], item_at: int, problems: ProblemList) -> Iterator[tuple[int, str, list[str]]]:
    """Each row with its item; an empty cell means the item above, as in merged cells of a spreadsheet."""
    item = ""
    for line, fields in rows:
        if not any(field.strip() for field in fields):
            continue
        item = fields[item_at].strip() or item
        if item:
            yield line, item, fields
        else:
            problems.error(f"line {line}", "has no item, and there is none above")


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
