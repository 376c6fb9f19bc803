"""Reads tables of text: tab- or comma-separated with a header, one JSON object per line, or the output of fairseq."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from wug.errors import InputError, suggestion
from wug.files import normalise_line_ends, not_json, read_text, repeated, shortened
from wug.formatting import plural
from wug.problems import ProblemList

BLOCK = 64
"""Texts that a `TextColumn` joins."""
CHARACTERS_AT_A_TIME = 1 << 16
"""Characters of a file that are split into lines together."""


class Record(NamedTuple):
    """One row of a table."""

    place: str
    """Such as `line 12`."""
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RecordTable:
    """A table whose rows all have the fields of its header; other rows are reported as problems."""

    header: tuple[str, ...]
    records: Collection[Record]
    problems: ProblemList

    def by_column(self) -> tuple[dict[str, Sequence[Any]], list[str]]:
        """The columns, and the place of each row."""
        if isinstance(self.records, DelimitedRecords):
            return self.records.by_column()
        columns: dict[str, Sequence[Any]] = {
            name: [record.fields.get(name) for record in self.records] for name in self.header
        }
        return columns, [record.place for record in self.records]


Repair = Callable[[str], tuple[str, ProblemList]]
"""Corrects the text of a file, and returns it with a report of the corrections."""


def header_of(head: str) -> tuple[str, ...]:
    """The column names in the first line of a file; empty if the file is JSON or empty."""
    line = normalise_line_ends(head).lstrip("\r\n").split("\n", 1)[0].rstrip("\r")
    if not line.strip() or line.lstrip()[0] in "{[":
        return ()
    try:
        return tuple(name.strip() for name in next(csv.reader([line], delimiter=_delimiter(line))))
    except (csv.Error, StopIteration):
        return ()


def columns_of(head: str) -> tuple[str, ...]:
    """The field names of a table, from the beginning of its file: the keys of a JSON object, or the header."""
    line = head.lstrip().split("\n", 1)[0]
    if not line.startswith("{"):
        return header_of(head)
    try:
        return tuple(json.loads(line))
    except (ValueError, RecursionError):
        return ()


def read_table(
    path: Path, *, header: tuple[str, ...] = (), quoted: bool = True, repair: Repair | None = None
) -> RecordTable:
    """Read a CSV, TSV or JSONL file; the delimiter is inferred from the first line.

    Args:
        path: The file.
        header: The column names of a file without a header line.
        quoted: Whether fields may be quoted. If not, a quotation mark is an ordinary character.
        repair: Corrects known errors of a published file before it is parsed.
    """
    text = normalise_line_ends(read_text(path)).replace("\r\n", "\n")
    if not text.strip():
        raise InputError("the file is empty", file=path)
    if text.lstrip().startswith("{"):
        return _json_lines(text)
    repaired, problems = (text, ProblemList()) if repair is None else repair(text)
    lines = repaired.lstrip("\n")
    skipped = len(repaired) - len(lines)  # blank lines at the beginning
    return _delimited(path, lines, skipped, header, problems, quoted)


def split_rows(path: Path, text: str, skipped: int = 0, *, quoted: bool = True) -> Iterator[tuple[int, list[str]]]:
    """The line and the fields of each row of a delimited text, which follows `skipped` lines of its file."""
    delimiter = _delimiter(text.split("\n", 1)[0])
    if '"' not in text and "\r" not in text:
        for number, line in enumerate(_lines(text), skipped + 1):
            yield number, line.split(delimiter)
        return
    # The csv module counts lines itself, since a quoted field may span several. Strict, to report stray quotes.
    reader = csv.reader(
        (found[0] for found in _ENDED_LINE.finditer(text)),
        delimiter=delimiter,
        strict=True,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
    )
    try:
        for row in reader:
            yield reader.line_num + skipped, row
    except csv.Error as error:
        raise InputError(
            f"{error}. A field that begins with a quotation mark must be quoted as a whole, with the marks inside "
            'it doubled: "She said ""hello"" ."',
            file=path,
            place=f"line {reader.line_num + skipped}",
        ) from None


def missing_columns(header: Sequence[str], columns: Sequence[str]) -> ProblemList:
    """One error per column that is missing from a header."""
    problems = ProblemList()
    for name in columns:
        if name not in header:
            problems.error("header", f"column {name!r} is missing.{suggestion(name, header)}")
    return problems


def plain(value: object) -> str:
    """A field as text; empty for None."""
    return value.strip() if isinstance(value, str) else "" if value is None else json.dumps(value)


def as_number(value: object) -> float:
    """The number that a field holds; NaN if it holds none."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return math.nan


def number_of(record: Record, column: str, problems: ProblemList) -> float | None:
    """The number in a field; None if the field is empty, or if it is not a number, which is a problem."""
    value = plain(record.fields.get(column))
    if not value:
        return None
    if math.isfinite(number := as_number(value)):
        return number
    problems.error(record.place, f"{column} is {shortened(value, 60)!r}, not a number")
    return None


def text_of(record: Record, column: str, problems: ProblemList) -> str | None:
    """The text in a required field; None and a problem if there is none."""
    value = record.fields.get(column)
    if isinstance(value, str) and value.strip():
        return value
    what = "is missing" if value is None else "is empty" if isinstance(value, str) else "is not text"
    problems.error(record.place, f"{column} {what}")
    return None


def count_of(record: Record, column: str, problems: ProblemList) -> int | None:
    """The whole number in a required field; None and a problem if there is none."""
    value = str(record.fields.get(column, "")).strip()
    if value.isdecimal() and len(value) < 10:
        return int(value)
    problems.error(record.place, f"{column} is {shortened(value, 60)!r}, not a whole number")
    return None


def stem(path: Path) -> str:
    """The name of a file without its suffixes (`.txt`, `.jsonl.gz`)."""
    name = path.name.removesuffix(".gz")
    return name.rsplit(".", 1)[0] if "." in name.lstrip(".") else name


def suffix_of(path: Path) -> str:
    """The suffix of a file in lower case, without `.gz`: `.txt`."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


@dataclass(frozen=True, slots=True)
class TextColumn(Sequence[str]):
    """Texts without NUL, joined by it in blocks, which takes much less memory than an object for each."""

    blocks: Sequence[str]
    length: int

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, place: Any) -> Any:
        block, within = divmod(range(self.length)[place], BLOCK)
        return self.blocks[block].split("\0")[within]

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(block.split("\0") for block in self.blocks)


@dataclass(frozen=True, slots=True)
class DelimitedRecords(Collection[Record]):
    """The complete rows of a delimited table; each pass splits the text again, which takes less memory than fields."""

    header: tuple[str, ...]
    rows: Callable[[], Iterator[tuple[int, list[str]]]]
    """Yields the line and the fields of each row, also of those that lack fields."""
    length: int

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[Record]:
        header, width = self.header, len(self.header)
        for line, row in self.rows():
            if len(row) == width:
                yield Record(f"line {line}", dict(zip(header, row)))  # noqa: B905 - as long, and strict takes time

    def __contains__(self, record: object) -> bool:
        return any(record == other for other in self)

    def by_column(self) -> tuple[dict[str, Sequence[Any]], list[str]]:
        """The columns, and the place of each row."""
        records, places = iter(self), list[str]()
        blocks: list[list[str]] = [[] for _ in self.header]
        while some := list(islice(records, BLOCK)):
            places += [record.place for record in some]
            columns = zip(*(record.fields.values() for record in some), strict=True)
            for block, values in zip(blocks, columns, strict=True):
                block.append("\0".join(values))
        return {name: TextColumn(column, len(places)) for name, column in zip(self.header, blocks, strict=True)}, places


_ENDED_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")


def _lines(text: str) -> Iterator[str]:
    """The lines of a text, some thousand at a time: all at once would take as much memory again."""
    start = 0
    while start <= len(text):
        end = text.find("\n", start + CHARACTERS_AT_A_TIME)
        end = end if end >= 0 else len(text)
        yield from text[start:end].split("\n")
        start = end + 1


def _delimited(
    path: Path, text: str, skipped: int, header: tuple[str, ...], problems: ProblemList, quoted: bool
) -> RecordTable:
    named = header or tuple(name.strip() for name in next(split_rows(path, text, skipped, quoted=quoted))[1])
    for name in sorted(repeated(named)):
        problems.error("header", f"column {name!r} occurs twice")

    def rows() -> Iterator[tuple[int, list[str]]]:
        for line, row in islice(split_rows(path, text, skipped, quoted=quoted), 0 if header else 1, None):
            if (row and row[0] and not row[0].isspace()) or "".join(row).strip():
                yield line, row

    complete = 0
    expected = f", expected {', '.join(header)}" if header else f" where the header has {len(named)}"
    for line, row in rows():
        if len(row) == len(named):
            complete += 1
        else:
            problems.error(f"line {line}", f"{plural(len(row), 'field')}{expected}")
    return RecordTable(named, DelimitedRecords(named, rows, complete), problems)


def _json_lines(text: str) -> RecordTable:
    records: list[Record] = []
    problems = ProblemList()
    header: dict[str, None] = {}
    escaped = "\\u" in text  # UTF-8 cannot encode a lone surrogate or contain NUL in any other way
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            problem = not_json(error)
        else:
            if not isinstance(value, dict):
                problem = f"not a JSON object but {_kind(value)}"
            elif escaped and (text_found := _unencodable(value)):
                problem = f"{text_found!r} contains NUL or a lone surrogate, which no text file can hold"
            else:
                header.update(dict.fromkeys(value))
                records.append(Record(f"line {number}", value))
                continue
        problems.error(f"line {number}", problem)
    return RecordTable(tuple(header), records, problems)


def _unencodable(fields: Mapping[str, object]) -> str | None:
    texts = (text for field in fields.items() for text in field if isinstance(text, str))
    return next((shortened(text, 60) for text in texts if _UNENCODABLE.search(text)), None)


_UNENCODABLE = re.compile("[\0\ud800-\udfff]")


def _delimiter(line: str) -> str:
    """Tab if there is one, else the comma, or the semicolon of some spreadsheets."""
    return "\t" if "\t" in line else ";" if ";" in line and "," not in line else ","


def _kind(value: object) -> str:
    return {list: "a list", str: "a text", bool: "true or false", type(None): "null"}.get(type(value), "a number")


HYPOTHESIS = re.compile(r"H-(\d{1,12})\t[^\t]*(?:\t(.*))?")
"""A hypothesis in fairseq's output: source number, score, text."""


def best_hypotheses(lines: Sequence[str], count: int) -> list[tuple[int, str]] | None:
    """The line number and the text of each source's best hypothesis, by the `H-` lines of fairseq; None without any."""
    best: dict[int, tuple[int, str]] = {}
    for number, line in enumerate(lines, 1):
        if match := HYPOTHESIS.fullmatch(line):
            index = int(match[1])
            if index >= count:
                message = f"an answer to source number {index} (counted from 0), but there are only {count:,} sources"
                raise InputError(message, place=f"line {number}")
            best.setdefault(index, (number, match[2] or ""))  # the best hypothesis comes first
    missing = [index for index in range(count) if index not in best]
    if best and missing:
        raise InputError(f"{len(missing):,} of {count:,} sources have no H- line, the first of them H-{missing[0]}")
    return [best[index] for index in range(count)] if best else None
