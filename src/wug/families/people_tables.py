"""Reads people's responses: tables whose columns the user names, spreadsheets, and published formats."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wug.errors import InputError, needs_extra
from wug.families.named_columns import COLUMN_OPTIONS, NamedColumns
from wug.families.people_formats import (
    RATED_CONDITION,
    JudgedItem,
    PeopleData,
    Response,
    known_format,
    read_turblimp,
)
from wug.files import head, max_unpacked_bytes, read_bytes, read_text, repeated
from wug.formatting import first_items, plural
from wug.options import Option, read
from wug.problems import Problem, ProblemList, refuse_errors
from wug.record_tables import Record, RecordTable, plain, read_table

PEOPLE_OPTIONS = (
    Option("rater", str, None, "column with the rater"),
    Option("correct", str, None, "column with 1 for a response that agrees with the label, and 0 for others"),
    Option("response", str, None, "column with the response, to be compared with label"),
    Option("label", str, None, "column with the expected response"),
    Option("rating", str, (), "column with a rating, or two columns with ratings of good and bad", many=True),
    Option("condition", str, None, "column that tells ratings of good sentences from those of bad ones"),
    Option("good", str, "good", "value of that column for good sentences"),
    Option("bad", str, "bad", "value of that column for bad sentences"),
    Option("z_scored", bool, False, "whether ratings are z scores already"),
    Option("paradigms", ("published", "all"), None, "BLiMP, ZhoBLiMP: paradigms of the published set, or all"),
    Option("status", ("approved", "all"), "approved", "BLiMP: approved assignments, or all"),
    *COLUMN_OPTIONS,
)
_COLUMN_NAMES = ("item", "rater", "correct", "response", "label", "rating", "condition")
"""Options that describe a table of no published format."""
_SENTENCES = ("sentence_good", "sentence_bad")
"""Columns of such a table that name the sentences of a pair."""


def read_people(path: Path, options: Mapping[str, str], item: str = "item") -> PeopleData:
    """The responses in a file; an error with all its problems.

    Args:
        path: A CSV, TSV, JSONL or XLSX file.
        options: Values of PEOPLE_OPTIONS. Without names of columns, the format is recognised.
        item: What the user calls the option `item`.
    """
    values = read(PEOPLE_OPTIONS, options, "score people")
    grid = _cells(path)
    if grid is not None and len(grid) > 1 and all(map(RATED_CONDITION.fullmatch, grid[1])):
        return read_turblimp(path, grid)
    table = read_table(path) if grid is None else _grid_table(grid)
    named = any(options.get(name) for name in _COLUMN_NAMES)
    reader = None if named else known_format(table.header)
    if reader is None and not named:
        fix = f"-S {item}=COLUMN -S rater=COLUMN with -S correct=COLUMN, or response and label, or rating and condition"
        raise InputError(
            f"not a known format of responses ({first_items(table.header)}): name its columns, {fix}", file=path
        )
    columns = NamedColumns.of(path, table, values)
    if reader is None and not columns.item:
        columns.item = _SENTENCES if set(_SENTENCES) <= set(table.header) else ()
        if not columns.item and len(values["rating"]) != 2:
            raise InputError(f"{item}=COLUMN must name the item of each response", file=path)
    people = (reader or _long)(columns, values)
    refuse_errors(columns.problems, path)
    if not people.responses and not people.counts:
        raise InputError("the file has no responses", file=path)
    people.notices = [*columns.notices, *people.notices]
    return people


def _long(columns: NamedColumns, values: Mapping[str, Any]) -> PeopleData:
    """A table with named columns, one row per response."""
    ways = [name for name in ("correct", "response", "rating") if values[name]]
    if len(ways) != 1:
        raise InputError("name one of correct=COLUMN, response=COLUMN and rating=COLUMN", file=columns.path)
    way = ways[0]
    people = PeopleData("table", rated=way == "rating", z_scored=values["z_scored"])
    if way == "rating" and len(values["rating"]) == 2:
        return _wide_ratings(people, columns, values)
    partner = {"response": "label", "rating": "condition"}.get(way)
    if partner and not values[partner]:
        raise InputError(f"{way} needs {partner}=COLUMN", file=columns.path)
    if way == "rating" and not values["rater"] and not people.z_scored:
        raise InputError(
            "z scores need rater=COLUMN; if ratings are z scores already, add z_scored=yes", file=columns.path
        )
    names = [*(values[name] for name in ("rater", "correct", "response", "label", "condition") if values[name])]
    columns.require(*names, *values["rating"])
    rows = list(columns.items())
    groups = columns.groups_by_item(
        (item, item_groups) for (item, _), item_groups in zip(rows, columns.groups_by_row(*names), strict=True)
    )
    texts = {item: _sentences(record) for item, record in rows}
    people.items = [JudgedItem(item, item_groups, *texts[item]) for item, item_groups in groups.items()]
    known = {item: index for index, item in enumerate(groups)}
    empty = 0
    for item, record in rows:
        rater = plain(record.fields.get(values["rater"])) if values["rater"] else None
        content = values[way] if isinstance(values[way], str) else values[way][0]
        if not plain(record.fields.get(content)):
            empty += 1
            continue
        if (response := _response(columns, record, values)) is not None:
            people.responses.append(Response(known[item], rater, *response))
    if empty:
        people.notices.append(f"{plural(empty, 'row')} without a response left out")
    return people


def _sentences(record: Record) -> tuple[str, str]:
    good, bad = (plain(record.fields.get(name)) for name in _SENTENCES)
    return (good, bad) if good and bad else ("", "")


def _response(columns: NamedColumns, record: Record, values: Mapping[str, Any]) -> tuple[float, bool] | None:
    """The value of a response, and whether it is about a good sentence; None and a problem if it is neither."""
    if values["response"]:
        return float(plain(record.fields[values["response"]]) == plain(record.fields[values["label"]])), True
    if values["rating"]:
        condition = plain(record.fields[values["condition"]])
        if condition in (values["good"], values["bad"]):
            return columns.number(record, values["rating"][0]), condition == values["good"]
        message = f"{values['condition']} is {condition!r}, not {values['good']!r} or {values['bad']!r}"
    else:
        answer = plain(record.fields[values["correct"]]).lower()
        if answer in _TRUTH:
            return float(_TRUTH[answer]), True
        message = f"{values['correct']} is {answer!r}, not 0 or 1"
    columns.problems.append(Problem("error", record.place, message))
    return None


_TRUTH = {"1": True, "1.0": True, "true": True, "0": False, "0.0": False, "false": False}


def _wide_ratings(people: PeopleData, columns: NamedColumns, values: Mapping[str, Any]) -> PeopleData:
    """One row per pair, with a rating of each sentence: means of raters who are not named."""
    if not people.z_scored:
        raise InputError(
            "two columns of ratings have no raters: add z_scored=yes if they are z scores", file=columns.path
        )
    columns.require(*values["rating"])
    for number, ((item, record), groups) in enumerate(zip(columns.items(), columns.groups_by_row(), strict=True)):
        people.items.append(JudgedItem(item, groups, *_sentences(record)))
        for name, good in zip(values["rating"], (True, False), strict=True):
            people.responses.append(Response(number, None, columns.number(record, name), good))
    if twice := repeated(item.name for item in people.items):
        raise InputError(f"item {twice[0]!r} occurs in several rows", file=columns.path)
    return people


def _cells(path: Path) -> list[list[str]] | None:
    """The cells of a spreadsheet, or of a CSV file with two header rows; None for other files."""
    if path.is_file() and read_bytes(path, 4).startswith(b"PK"):
        return _spreadsheet(path)
    lines = head(path).splitlines()
    if len(lines) < 2 or not all(map(RATED_CONDITION.fullmatch, lines[1].split(","))):
        return None
    return [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(read_text(path)))]


def _spreadsheet(path: Path) -> list[list[str]]:
    """The cells of the first sheet of an XLSX file as text, without empty rows."""
    with needs_extra("XLSX", "xlsx"):
        import openpyxl
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(part.file_size for part in archive.infolist()) > max_unpacked_bytes():
                raise InputError("it unpacks to more than the bound", file=path)
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        rows = [["" if cell is None else str(cell).strip() for cell in row] for row in book.worksheets[0].values]
        book.close()
    except InputError:
        raise
    except Exception as error:  # whatever a damaged archive or sheet raises
        raise InputError(f"not an XLSX file that can be read ({type(error).__name__}: {error})", file=path) from None
    return [row for row in rows if any(row)]


def _grid_table(grid: Sequence[Sequence[str]]) -> RecordTable:
    """The cells of a spreadsheet with one header row as a table."""
    header = tuple(grid[0]) if grid else ()
    problems = ProblemList([Problem("error", "header", f"column {name!r} occurs twice") for name in repeated(header)])
    records = [Record(f"row {n}", dict(zip(header, row, strict=False))) for n, row in enumerate(grid[1:], 2)]
    return RecordTable(header, records, problems)
