"""Tables with one row per word, or per participant and word: columns, keys, conditions and earlier words."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from wug.arrays import Floats, Indices, Mask
from wug.errors import InputError, SuiteError, needs_extra, suggestion
from wug.files import checksum_of, normalise_line_ends, read_bytes, read_text, shortened
from wug.record_tables import TextColumn, read_table

MISSING = frozenset(("", "na", "nan", "inf", "+inf", "-inf"))
"""Missing values of numeric columns, in lower case. In a column of words they are words."""
_ABSENT: dict[str, Any] = {"": math.nan, "NA": math.nan}
"""The most frequent of these."""
EXAMPLES = 3
_CONDITION = re.compile(r"\s*(?P<column>.+?)\s*(?P<operator>=~|!~|!=|>=|<=|=|>|<)\s*(?P<value>.*?)\s*")


@dataclass(slots=True)
class WordTable:
    """Columns of equal length; numbers are converted when they are first used."""

    file: str
    columns: dict[str, Sequence[Any]]
    places: Sequence[str] | None = None
    """Where each row is in the file; None for `row N`."""
    _numbers: dict[str, Floats] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    @property
    def checksum(self) -> str:
        """Of the names and values."""
        texts = ("\0".join(getattr(values, "blocks", map(str, values))) for values in self.columns.values())
        return checksum_of(chain.from_iterable(zip(self.columns, texts, strict=True)))

    def error(self, message: str, rows: Sequence[int] | Indices = (), column: str | None = None) -> InputError:
        """An error about some rows, of which it names the first three."""
        places = ", ".join(self.place(int(row)) for row in rows[:EXAMPLES])
        more = ", …" if len(rows) > EXAMPLES else ""
        where = [f"column {column!r}"] if column is not None else []
        return InputError(message, file=self.file, place=", ".join([*where, *([places + more] if places else [])]))

    def place(self, row: int) -> str:
        """Where a row is."""
        return f"row {row + 1}" if self.places is None else self.places[row]

    def require(self, column: str, what: str = "column", hint: str = "") -> None:
        """InputError for a column that the table does not have."""
        if column not in self.columns:
            known = suggestion(column, self.columns)
            stop = "." if hint and known and not known.endswith("?") else ""
            raise InputError(f"unknown {what} {column!r}.{known}{stop}{hint}", file=self.file)

    def texts(self, column: str) -> list[str]:
        """The values as text; whole numbers have no decimals."""
        self.require(column)
        known: dict[str, str] = {}
        return [known.setdefault(text, text) for text in map(_text, self.columns[column])]

    def numbers(self, column: str) -> Floats:
        """The values as numbers, NaN where one is missing or not finite."""
        if column not in self._numbers:
            self.require(column)
            converted, wrong = _converted(self.columns[column])
            if wrong:
                value = shortened(str(self.columns[column][wrong[0]]), 60)
                comma = re.fullmatch(r"\s*[+-]?\d+,\d+\s*", value)
                fix = "Is the comma a decimal comma? Use a point" if comma else "Missing values are empty or NA"
                raise self.error(f"{value!r} is not a number. {fix}", wrong, column)
            self._numbers[column] = converted
        return self._numbers[column]

    def is_numeric(self, column: str) -> bool:
        """Whether every value is a number or missing, and one is a number."""
        if column not in self._numbers:
            converted, wrong = _converted(self.columns[column])
            if wrong or not np.isfinite(converted).any():
                return False
            self._numbers[column] = converted
        return True

    def codes(self, column: str) -> Indices:
        """A number for each distinct value, in order of first appearance."""
        known: dict[str, int] = {}
        texts = self.texts(column)
        return np.fromiter((known.setdefault(text, len(known)) for text in texts), np.intp, len(texts))

    def add(self, column: str, values: Floats) -> None:
        """Add a numeric column."""
        self.columns[column] = values.tolist()
        self._numbers[column] = values

    def fulfils(self, condition: str) -> Mask:
        """The rows that fulfil `COLUMN OP VALUE`; a missing value fulfils none."""
        parsed = _CONDITION.fullmatch(condition)
        if parsed is None:
            raise InputError(f"where {condition!r}: write COLUMN OP VALUE; operators: = != > >= < <= =~ !~")
        column, operator, value = parsed["column"], parsed["operator"], parsed["value"]
        self.require(column)
        if not value and operator not in ("=", "!="):
            raise InputError(f"where {condition!r}: a value is missing after {operator!r}. Write COLUMN OP VALUE")
        if operator in ("=~", "!~"):
            try:
                pattern = re.compile(value)
            except re.error as error:
                raise InputError(f"where {condition!r}: not a regular expression ({error})") from None
            matches = np.array([pattern.search(text) is not None for text in self.texts(column)], bool)
            return matches if operator == "=~" else ~matches
        number = _number(value)
        if number is None or not self.is_numeric(column):
            if operator not in ("=", "!="):
                if number is None:
                    raise InputError(f"where {condition!r}: {value!r} is not a number")
                self.numbers(column)  # which says what is not a number
            equal = np.array([text == value for text in self.texts(column)], bool)
            return equal if operator == "=" else ~equal
        values = self.numbers(column)
        with np.errstate(invalid="ignore"):
            holds: Mask = _COMPARED[operator](values, number) & ~np.isnan(values)
        return holds


_COMPARED: dict[str, Any] = {
    "=": np.equal,
    "!=": np.not_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "<": np.less,
    "<=": np.less_equal,
}


def read_words(source: object) -> WordTable:
    """The table of a path (CSV, TSV, JSON Lines, Parquet; compressed or not), a `wug.Table` or a data frame."""
    if isinstance(source, (str, Path)):
        path = Path(source)
        return _read_parquet(path) if path.suffix.lower() == ".parquet" else _read_text(path)
    names = getattr(source, "names", None)
    if not isinstance(names, list):
        names = list(getattr(source, "columns", ()))
    if not names:
        raise InputError(f"a table must be a path, a wug.Table or a data frame, not {type(source).__name__}")
    frame: Any = source
    return WordTable("table", {str(name): list(frame[name]) for name in names})


def bare(word: str) -> str:
    """A word without punctuation around it."""
    start, end = 0, len(word)
    while start < end and _is_punctuation(word[start]):
        start += 1
    while end > start and _is_punctuation(word[end - 1]):
        end -= 1
    return word[start:end]


def has_punctuation(word: str) -> bool:
    """Whether a word contains a punctuation character."""
    return any(map(_is_punctuation, word))


def aggregate(table: WordTable, keep: Mask, keys: Sequence[str], measures: Sequence[str]) -> tuple[WordTable, Mask]:
    """One row per word: means of numeric columns, the measures' over the rows to keep; the first of other values.

    Also which words have a row to keep. Missing values are left out of a mean; zeros are not.
    """
    seen: dict[tuple[str, ...], int] = {}
    texts = [table.texts(name) for name in keys]
    groups = np.fromiter((seen.setdefault(key, len(seen)) for key in zip(*texts, strict=True)), np.intp, len(table))
    first = np.unique(groups, return_index=True)[1]
    columns: dict[str, Sequence[Any]] = {}
    for name, values in table.columns.items():
        if name in keys or (name not in measures and not table.is_numeric(name)):
            columns[name] = [values[row] for row in first]
            continue
        numbers = table.numbers(name)
        counted = ~np.isnan(numbers) & (keep if name in measures else True)
        counts = np.bincount(groups, weights=counted, minlength=len(first))
        sums = np.bincount(groups, weights=np.where(counted, numbers, 0.0), minlength=len(first))
        with np.errstate(invalid="ignore"):
            columns[name] = list(sums / counts)
    places = [table.place(int(row)) for row in first]
    return WordTable(table.file, columns, places), np.bincount(groups, weights=keep, minlength=len(first)) > 0


def _read_text(path: Path) -> WordTable:
    table = read_table(path, quoted=_is_quoted(path))
    if table.problems:
        raise SuiteError(table.problems[:20], file=path)
    if not table.records:
        raise InputError("the table has no rows", file=path)
    return WordTable(str(path), *table.by_column())


def _is_quoted(path: Path) -> bool:
    """Whether quotation marks quote fields: in a tab-separated file they may be characters of words."""
    text = normalise_line_ends(read_text(path))
    header = text.lstrip().split("\n", 1)[0]
    if "\t" not in header or '"' in header or '"' not in text:
        return True
    fields = re.findall(r'(?:^|(?<=\t))"[^\t\n]*', text, re.MULTILINE)
    return all(re.fullmatch(r'"(?:[^"]*"")+[^"]*"\r?', field) for field in fields)


def _read_parquet(path: Path) -> WordTable:
    with needs_extra("reading Parquet", "parquet"):
        import pyarrow
        import pyarrow.parquet
    try:
        table = pyarrow.parquet.read_table(pyarrow.BufferReader(read_bytes(path)))
    except pyarrow.ArrowException as error:
        raise InputError(f"not a Parquet file ({str(error).splitlines()[0]})", file=path) from None
    return WordTable(str(path), {name: table.column(name).to_pylist() for name in table.column_names})


def _converted(values: Sequence[Any]) -> tuple[Floats, list[int]]:
    """Values as numbers, NaN for missing ones; and the rows of those that are not numbers."""
    if isinstance(values, TextColumn) and not any("_" in block for block in values.blocks):
        for texts in (values, map(_ABSENT.get, values, values)):
            with suppress(ValueError):
                return _finite(np.fromiter(map(float, texts), np.float64, len(values))), []
    numbers = [_number(value) for value in values]
    wrong = [row for row, number in enumerate(numbers) if number is None]
    return _finite(np.array([math.nan if number is None else number for number in numbers], np.float64)), wrong


def _finite(numbers: Floats) -> Floats:
    numbers[~np.isfinite(numbers)] = math.nan
    return numbers


def _number(value: Any) -> float | None:
    """A number, NaN for a missing value; None for anything else."""
    if isinstance(value, str):
        text = value.strip()
        if text.lower() in MISSING:
            return math.nan
        try:
            return None if "_" in text else float(text)
        except ValueError:
            return None
    if value is None:
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan if type(value).__name__ == "NAType" else None


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)


def _is_punctuation(character: str) -> bool:
    return unicodedata.category(character).startswith("P")
