"""Reads people's responses: tables whose columns the user names, spreadsheets, and published formats.

These are BLiMP's, TurBLiMP's, QFrBLiMP's and ZhoBLiMP's.
"""

from __future__ import annotations

import csv
import io
import math
import re
import tomllib
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from wug.errors import InputError, needs_extra
from wug.families.named_columns import COLUMN_OPTIONS, NamedColumns
from wug.files import ASSETS, head, max_unpacked_bytes, read_bytes, read_text, repeated
from wug.formatting import first_items, plural
from wug.options import Option, read
from wug.problems import Problem, ProblemList, refuse_errors
from wug.record_tables import Record, RecordTable, as_number, plain, read_table

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
BLIMP_ITEMS = 5
MIN_PUBLISHED_SHARE = 0.7
"""The agreement that a paradigm of ZhoBLiMP needs to be in the published set."""
_MTURK_CONDITION = re.compile(r"(.*)ans([12])")
RATED_CONDITION = re.compile(r"(.*)_(good|bad)(.*)")
_ANNOTATOR = re.compile(r"annotator_\d+")
_COLUMN_NAMES = ("item", "rater", "correct", "response", "label", "rating", "condition")
"""Options that describe a table of no published format."""
_SENTENCES = ("sentence_good", "sentence_bad")
"""Columns of such a table that name the sentences of a pair."""


class Response(NamedTuple):
    """One person's response to an item."""

    item: int
    rater: str | None
    value: float
    """1 if it agrees with the label, else 0; or a rating."""
    good: bool = True


class JudgedItem(NamedTuple):
    """A pair or sentence that people judged."""

    name: str
    groups: Mapping[str, str]
    good: str = ""
    bad: str = ""


class ParadigmCounts(NamedTuple):
    """The responses to a paradigm, where a file has no single ones."""

    name: str
    groups: Mapping[str, str]
    responses: int
    mean: float
    agreeing: int | None = None
    """Responses that agree; None if the file has the mean over items only."""
    accepted: int | None = None
    """Items with a majority for the label, of BLIMP_ITEMS."""


@dataclass(slots=True)
class PeopleData:
    """Responses, ratings or counts from a file."""

    format: str
    items: list[JudgedItem] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)
    counts: list[ParadigmCounts] = field(default_factory=list)
    rated: bool = False
    z_scored: bool = False
    notices: list[str] = field(default_factory=list)


def read_people(path: Path, options: Mapping[str, str], item: str = "item") -> PeopleData:
    """The responses in a file, in a known format or with columns that the options name; an error with all problems.

    `item` is what the user calls the option `item`.
    """
    values = read(PEOPLE_OPTIONS, options, "score people")
    grid = _cells(path)
    if grid is not None and len(grid) > 1 and all(map(RATED_CONDITION.fullmatch, grid[1])):
        return _turblimp(path, grid)
    table = read_table(path) if grid is None else _grid_table(grid)
    named = any(options.get(name) for name in _COLUMN_NAMES)
    reader = None if named else _known_format(table.header)
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
    way, *others = [name for name in ("correct", "response", "rating") if values[name]] or [""]
    if not way or others:
        raise InputError("name one of correct=COLUMN, response=COLUMN and rating=COLUMN", file=columns.path)
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


@cache
def _phenomena() -> dict[str, str]:
    """The phenomenon of each of the 67 paradigms in the published set of BLiMP."""
    text = read_text(ASSETS / "people" / "blimp_paradigms.toml")
    return {name: phenomenon for phenomenon, names in tomllib.loads(text).items() for name in names.split()}


def _known_format(header: Sequence[str]) -> Callable[[NamedColumns, Mapping[str, Any]], PeopleData] | None:
    """The reader of a published format with these columns; None for other tables."""
    names = set(header)
    if {"Input.item_1_condition", "Answer.Choice1"} <= names:
        return _mturk
    if {"Condition", "accepted", "total_mean", "count"} <= names:
        return _blimp_summary
    if {"UID", "correct", "total", "acc"} <= names:
        return _zhoblimp_summary
    if "label" in names and any(map(_ANNOTATOR.fullmatch, header)):
        return _qfrblimp
    return None


def _mturk(columns: NamedColumns, values: Mapping[str, Any]) -> PeopleData:
    """BLiMP's assignments of five items; items are named, since their columns are not in order."""
    people = PeopleData("blimp-mturk")
    numbers = [n for n in range(1, 100) if f"Input.item_{n}_condition" in columns.header]
    columns.require(*(f"Input.field_{n}_{k}" for n in numbers for k in (1, 2)), *(f"Answer.Choice{n}" for n in numbers))
    known: dict[tuple[str, ...], int] = {}
    counts, excluded = Counter[str](), Counter[str]()
    unpublished: dict[str, None] = {}
    for record in columns.records:
        fields = record.fields
        rejected = values["status"] == "approved" and fields.get("AssignmentStatus") == "Rejected"
        excluded["rejected"] += rejected
        for n in numbers:
            condition = plain(fields[f"Input.item_{n}_condition"])
            if not condition:
                continue
            named = _MTURK_CONDITION.fullmatch(condition)
            if named is None:
                message = f"Input.item_{n}_condition is {condition!r}, which does not end in ans1 or ans2"
                columns.problems.error(record.place, message)
                continue
            paradigm, answer = named[1], named[2]
            chosen = re.match(r"\s*([12])\.", plain(fields[f"Answer.Choice{n}"]))
            if paradigm.startswith("attnchk"):
                excluded["checks"] += 1
                excluded["failed"] += chosen is None or chosen[1] != answer
            elif rejected:
                continue
            elif paradigm not in _phenomena() and values["paradigms"] != "all":
                unpublished[paradigm] = None
                excluded["unpublished"] += 1
            elif chosen is None:
                excluded["empty"] += 1
            else:
                good, bad = (plain(fields[f"Input.field_{n}_{k}"]) for k in (answer, "2" if answer == "1" else "1"))
                if (paradigm, good, bad) not in known:
                    known[paradigm, good, bad] = len(people.items)
                    counts[paradigm] += 1
                    groups = {"paradigm": paradigm, **_groups("phenomenon", _phenomena().get(paradigm))}
                    people.items.append(JudgedItem(f"{paradigm}/{counts[paradigm]}", groups, good, bad))
                rater = plain(fields.get("anonCode")) or None
                people.responses.append(Response(known[paradigm, good, bad], rater, chosen[1] == answer))
    people.notices += _mturk_notices(excluded, list(unpublished))
    return people


def _groups(field: str, value: str | None) -> dict[str, str]:
    return {field: value} if value else {}


def _mturk_notices(exclusions: Mapping[str, int], unpublished: Sequence[str]) -> Iterator[str]:
    if exclusions["rejected"]:
        yield f"{plural(exclusions['rejected'], 'rejected assignment')} left out: add -S status=all to keep them"
    if exclusions["unpublished"]:
        responses = f"{plural(exclusions['unpublished'], 'response')} to {plural(len(unpublished), 'paradigm')}"
        names = first_items(unpublished)
        yield f"{responses} outside the published set left out ({names}): add -S paradigms=all to keep them"
    if exclusions["checks"]:
        yield f"{exclusions['failed']} of {exclusions['checks']:,} attention checks failed"
    if exclusions["empty"]:
        yield f"{plural(exclusions['empty'], 'response')} without an answer left out"


def _blimp_summary(columns: NamedColumns, values: Mapping[str, Any]) -> PeopleData:
    """BLiMP's published means and majorities per paradigm."""
    counts = []
    for record in columns.records:
        name = plain(record.fields["Condition"])
        accepted, mean, n = (columns.number(record, column) for column in ("accepted", "total_mean", "count"))
        if not columns.problems and (name in _phenomena() or values["paradigms"] == "all"):
            groups = _groups("phenomenon", _phenomena().get(name))
            counts.append(ParadigmCounts(name, groups, int(n), mean, accepted=int(accepted)))
    return _summary("blimp-summary", columns, counts)


def _zhoblimp_summary(columns: NamedColumns, values: Mapping[str, Any]) -> PeopleData:
    """ZhoBLiMP's counts per paradigm."""
    counts = []
    for record in columns.records:
        agreeing, total = (columns.number(record, column) for column in ("correct", "total"))
        if not columns.problems and not 0 <= agreeing <= total > 0:
            columns.problems.error(record.place, f"{agreeing:g} of {total:g} responses are correct")
        elif not columns.problems and (agreeing / total >= MIN_PUBLISHED_SHARE or values["paradigms"] != "published"):
            name, phenomenon = (plain(record.fields.get(column)) for column in ("UID", "phenomenon"))
            groups = _groups("phenomenon", phenomenon)
            counts.append(ParadigmCounts(name, groups, int(total), agreeing / total, agreeing=int(agreeing)))
    return _summary("zhoblimp-summary", columns, counts)


def _summary(format: str, columns: NamedColumns, counts: list[ParadigmCounts]) -> PeopleData:
    exclusions = len(columns.records) - len(counts)
    notices = [f"{plural(exclusions, 'paradigm')} outside the published set left out"] if exclusions else []
    return PeopleData(format, counts=counts, notices=notices)


def _qfrblimp(columns: NamedColumns, values: Mapping[str, Any]) -> PeopleData:
    """QFrBLiMP: the sentence that each annotator chose, and the right one."""
    people = PeopleData("qfrblimp")
    annotators = [name for name in columns.header if _ANNOTATOR.fullmatch(name)]
    for number, record in enumerate(columns.records):
        fields = record.fields
        label = columns.number(record, "label")
        texts = [plain(fields.get(name)) for name in ("sentence_a", "sentence_b")]
        good, bad = texts if label == 0 else texts[::-1]
        groups = _groups("phenomenon", plain(fields.get("type"))) | _groups("category", plain(fields.get("category")))
        people.items.append(JudgedItem(str(number + 1), groups, good, bad))
        for name in annotators:
            if plain(fields.get(name)):
                people.responses.append(Response(number, name, columns.number(record, name) == label))
    return people


def _turblimp(path: Path, grid: Sequence[Sequence[str]]) -> PeopleData:
    """TurBLiMP: one row per rater; a pair is a column of the first half and the one at its place in the second."""
    people = PeopleData("turblimp-ratings", rated=True)
    names = [match for cell in grid[1] if (match := RATED_CONDITION.fullmatch(cell))]
    half = len(names) // 2
    for number, (one, other) in enumerate(zip(names[:half], names[half:], strict=False), 1):
        if one[1] + one[3] != other[1] + other[3] or one[2] == other[2] or len(names) % 2:
            place = f"columns {number} and {number + half}"
            raise InputError(f"{one[0]!r} and {other[0]!r} are not the conditions of a pair", file=path, place=place)
        people.items.append(JudgedItem(str(number), {"phenomenon": one[1] + one[3]}))
    problems = ProblemList()
    for row, cells in enumerate(grid[2:], 3):
        for column, cell in enumerate(cells[: 2 * half]):
            rating = as_number(cell)
            if math.isfinite(rating):
                people.responses.append(Response(column % half, str(row), rating, names[column][2] == "good"))
            elif cell:
                problems.error(f"row {row}, column {column + 1}", f"{cell!r} is not a rating")
    refuse_errors(problems, path)
    if not people.responses:
        raise InputError("the file has no ratings", file=path)
    return people
