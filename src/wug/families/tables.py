"""Tables of text as they come: tab- or comma-separated with a header, or one JSON object a line."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, overload

from wug.errors import InputError, suggestion
from wug.files import read_text, repeated, shortened, table_text
from wug.types import Problem

AT_ONCE = 4_096
"""Rows that are looked at together."""
GROUPS: Mapping[str, str] = {
    "pattern": "pattern",
    "condition": "condition",
    "contrast": "contrast",
    "type": "type",
    "n_attr": "attractors",
    "attractors": "attractors",
    "correct_number": "number",
    "number": "number",
    "field": "field",
    "linguistics_term": "term",
    "term": "term",
    "UID": "paradigm",
    "paradigm": "paradigm",
    "phenomenon": "phenomenon",
    "level": "level",
    "subtype": "subtype",
    "domain": "domain",
    "lang": "language",
    "language": "language",
}
"""Columns that results are broken down by wherever they are found, and what the group is called then."""


@dataclass(frozen=True, slots=True)
class Record:
    """One row of a table."""

    place: str
    """Such as `line 12`."""
    fields: Mapping[str, Any]


Mend = Callable[[str], tuple[str, list[Problem]]]
"""Puts the text of a file right, and tells of what was wrong."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose rows all have the fields of its header; rows that do not are problems."""

    header: tuple[str, ...]
    records: Sequence[Record]
    problems: list[Problem]


def header_of(head: str) -> tuple[str, ...]:
    """The column names in the first line of a file; empty for JSON or nothing."""
    line = table_text(head).lstrip("\r\n").split("\n", 1)[0].rstrip("\r")
    if not line.strip() or line.lstrip()[0] in "{[":
        return ()
    try:
        return tuple(name.strip() for name in next(csv.reader([line], delimiter=_delimiter(line))))
    except (csv.Error, StopIteration):
        return ()


def columns_of(head: str) -> tuple[str, ...]:
    """The names of the fields of a table, read off the beginning of its file: JSON keys, or the columns of a header."""
    line = head.lstrip().split("\n", 1)[0]
    if not line.startswith("{"):
        return header_of(head)
    try:
        return tuple(json.loads(line))
    except (ValueError, RecursionError):
        return ()


def keys_of(head: str) -> frozenset[str]:
    """The same as a set."""
    return frozenset(columns_of(head))


def read_table(path: Path, *, header: tuple[str, ...] = (), quoted: bool = True, mend: Mend | None = None) -> Table:
    """A CSV, TSV or JSONL file as a table; the separator is read off the header.

    `header` names the columns of a file that has no line for them. Where fields are not `quoted`, a quotation mark is
    like any other character. `mend` puts faults right that are known of the format, and tells of them.
    """
    text = table_text(read_text(path)).replace("\r\n", "\n")
    if not text.strip():
        raise InputError("the file is empty", file=path)
    if text.lstrip().startswith("{"):
        return _json_lines(text)
    mended, problems = (text, []) if mend is None else mend(text)
    lines = mended.lstrip("\n")
    return _separated(path, lines, len(mended) - len(lines), _Shape(header, quoted, problems))


def need(header: tuple[str, ...], columns: tuple[str, ...]) -> list[Problem]:
    """An error for each column that a header lacks."""
    return [
        Problem("error", "header", f"column {name!r} is missing.{suggestion(name, header)}")
        for name in columns
        if name not in header
    ]


def groups_of(fields: Mapping[str, Any]) -> dict[str, str]:
    """What a row can be grouped by: the columns that `GROUPS` knows."""
    return {GROUPS[name]: plain(fields[name]) for name in GROUPS if name in fields}


def number_of(record: Record, column: str, problems: list[Problem]) -> float | None:
    """A field that has a number in it, or nothing; where it has something else, a problem and None."""
    value = plain(record.fields.get(column))
    if not value:
        return None
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if math.isfinite(number):
        return number
    problems.append(Problem("error", record.place, f"{column} is {shortened(value, 60)!r}, not a number"))
    return None


def text_of(record: Record, column: str, problems: list[Problem]) -> str | None:
    """A field that must have text in it; where it has none, a problem and None."""
    value = record.fields.get(column)
    if isinstance(value, str) and value.strip():
        return value
    what = "is missing" if value is None else "is empty" if value == "" or isinstance(value, str) else "is not text"
    problems.append(Problem("error", record.place, f"{column} {what}"))
    return None


def context_of(record: Record) -> str:
    """What stands in the column `context`, which is read before the sentences of a row; empty where there is none."""
    value = record.fields.get("context")
    return value.strip() if isinstance(value, str) else ""


def count_of(record: Record, column: str, problems: list[Problem]) -> int | None:
    """A field that must have a whole number in it; where it has none, a problem and None."""
    value = str(record.fields.get(column, "")).strip()
    if value.isdecimal() and len(value) < 10:
        return int(value)
    problems.append(Problem("error", record.place, f"{column} is {shortened(value, 60)!r}, not a whole number"))
    return None


@dataclass(frozen=True, slots=True)
class _Shape:
    """What is known of a separated file before it is read."""

    header: tuple[str, ...]
    quoted: bool
    problems: list[Problem]


def _separated(path: Path, text: str, skipped: int, shape: _Shape) -> Table:
    # csv counts lines itself, since a quoted field may hold several; strict, so that a stray quote is told.
    if '"' not in text and "\r" not in text:
        return _unquoted(text, skipped, shape)
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=_delimiter(text.split("\n", 1)[0]),
        strict=True,
        quoting=csv.QUOTE_MINIMAL if shape.quoted else csv.QUOTE_NONE,
    )
    records: list[Record] = []
    problems = list(shape.problems)
    header = shape.header
    try:
        header = header or tuple(name.strip() for name in next(reader))
        problems += _repeated(header)
        for row in reader:
            place = f"line {reader.line_num + skipped}"
            if not any(field.strip() for field in row):
                continue
            if len(row) == len(header):
                records.append(Record(place, dict(zip(header, row, strict=True))))
            else:
                message = f"{len(row)} field{'s' * (len(row) != 1)} where the header has {len(header)}"
                problems.append(Problem("error", place, message))
    except csv.Error as error:
        raise InputError(
            f"{error}. A field that begins with a quotation mark must be quoted as a whole, with the marks inside "
            'it doubled: "She said ""hello"" ."',
            file=path,
            place=f"line {reader.line_num + skipped}",
        ) from None
    return Table(header, records, problems)


@dataclass(frozen=True, slots=True)
class Lines(Sequence[Record]):
    """The rows of a table without quotation marks, one a line, made when they are looked at: a million take no room."""

    header: tuple[str, ...]
    text: str
    delimiter: str
    starts: array[int]
    """Where the lines stand in the text."""
    numbers: array[int]

    def __len__(self) -> int:
        return len(self.starts)

    @overload
    def __getitem__(self, place: int) -> Record: ...
    @overload
    def __getitem__(self, place: slice) -> list[Record]: ...

    def __getitem__(self, place: int | slice) -> Record | list[Record]:
        if isinstance(place, slice):
            return [self[at] for at in range(len(self))[place]]
        start = self.starts[place]
        end = self.text.find("\n", start)
        row = self.text[start : None if end < 0 else end].split(self.delimiter)
        return Record(f"line {self.numbers[place]}", dict(zip(self.header, row, strict=True)))

    def __iter__(self) -> Iterator[Record]:
        header = self.header
        for number, row in zip(self.numbers, self.rows(), strict=True):
            yield Record(f"line {number}", dict(zip(header, row, strict=True)))

    def rows(self) -> Iterator[list[str]]:
        """The fields of each row, in the order of the header."""
        text, delimiter = self.text, self.delimiter
        for first in range(0, len(self.starts), AT_ONCE):
            some = self.starts[first : first + AT_ONCE]
            end = text.find("\n", some[-1])
            lines = text[some[0] : None if end < 0 else end].split("\n")
            if len(lines) != len(some):  # some of them are no rows
                starts = {start - some[0] for start in some}
                begins = accumulate((len(line) + 1 for line in lines), initial=0)
                lines = [line for begin, line in zip(begins, lines, strict=False) if begin in starts]
            for line in lines:
                yield line.split(delimiter)


def _unquoted(text: str, skipped: int, shape: _Shape) -> Table:
    """The table of a text without quotation marks and carriage returns: every line is a row."""
    lines = _lines_of(text)
    first = text.split("\n", 1)[0]
    delimiter = _delimiter(first)
    header = shape.header
    if not header:
        next(lines)
        header = tuple(name.strip() for name in first.split(delimiter))
    problems = [*shape.problems, *_repeated(header)]
    starts, numbers = array("q"), array("q")
    for number, (start, line) in enumerate(lines, skipped + (1 if shape.header else 2)):
        # A tab is white space itself, and what has anything else in it has a field that is not empty.
        if not line.strip() or (delimiter != "\t" and not any(field.strip() for field in line.split(delimiter))):
            continue
        fields = line.count(delimiter) + 1
        if fields == len(header):
            starts.append(start)
            numbers.append(number)
        else:
            message = f"{fields} field{'s' * (fields != 1)} where the header has {len(header)}"
            problems.append(Problem("error", f"line {number}", message))
    return Table(header, Lines(header, text, delimiter, starts, numbers), problems)


def _lines_of(text: str) -> Iterator[tuple[int, str]]:
    """Where each line stands, and the line."""
    start = 0
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield start, text[start:end]
        start = end + 1


def _json_lines(text: str) -> Table:
    records: list[Record] = []
    problems: list[Problem] = []
    header: dict[str, None] = {}
    escaped = "\\u" in text  # a file of UTF-8 has no other way to spell half a character, or NUL
    for number, value, fault in _json_values(text):
        if fault is not None:
            problems.append(Problem("error", f"line {number}", fault))
        elif escaped and isinstance(value, dict) and (unwritable := _unwritable(value)):
            message = f"{unwritable!r} has a NUL or half of a surrogate pair, which text does not have"
            problems.append(Problem("error", f"line {number}", message))
        elif isinstance(value, dict):
            header.update(dict.fromkeys(value))
            records.append(Record(f"line {number}", value))
        else:
            problems.append(Problem("error", f"line {number}", f"not a JSON object but {_kind(value)}"))
    return Table(tuple(header), records, problems)


def _json_values(text: str) -> Iterator[tuple[int, Any, str | None]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield number, _json_value(line), None
            except ValueError as error:
                yield number, None, f"not JSON ({error})"
            except RecursionError:
                yield number, None, "JSON that is nested too deeply"


def _json_value(line: str) -> Any:
    """The value that a line of JSON writes, found by the quick way, which takes no white space around it."""
    try:
        value, end = _scan(line)
    except ValueError:
        return json.loads(line)
    return value if end == len(line) else json.loads(line)


_scan = json.JSONDecoder().raw_decode


def _unwritable(fields: Mapping[str, Any]) -> str | None:
    """A name or a text that no file can hold: JSON can spell NUL and half a character."""
    texts = (text for field in fields.items() for text in field if isinstance(text, str))
    return next((shortened(text, 60) for text in texts if _UNWRITABLE.search(text)), None)


_UNWRITABLE = re.compile("[\0\ud800-\udfff]")


def _delimiter(line: str) -> str:
    """Tab wherever there is one; else the comma, or the semicolon of some spreadsheets."""
    return "\t" if "\t" in line else ";" if ";" in line and "," not in line else ","


def _repeated(header: tuple[str, ...]) -> list[Problem]:
    twice = sorted(repeated(header))
    return [Problem("error", "header", f"column {name!r} is there twice") for name in twice]


def plain(value: Any) -> str:
    """A field as text; empty where there is nothing in it."""
    return value.strip() if isinstance(value, str) else "" if value is None else json.dumps(value)


def _kind(value: Any) -> str:
    return {list: "a list", str: "a text", bool: "true or false", type(None): "null"}.get(type(value), "a number")
