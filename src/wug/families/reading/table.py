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

from wug.arrays import Floats, Indices, Ints, Mask
from wug.errors import InputError, SuiteError, needs_extra, suggestion
from wug.files import checksum_of, normalise_line_ends, read_bytes, read_text, shortened
from wug.formatting import plural
from wug.record_tables import TextColumn, read_table

MISSING = frozenset(("", "na", "nan", "inf", "+inf", "-inf"))
"""Missing values of numeric columns, in lower case. In a column of words they are words."""
_ABSENT: dict[str, Any] = {"": math.nan, "NA": math.nan}
"""The most frequent of these."""
EXAMPLES = 3
MAX_POSITION = 10**9
MAX_SLIPS = 0.05
"""Share of rows with a repeated key up to which these may be typing errors."""
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
        self.require(column)
        if column not in self._numbers:
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
        try:
            return bool(np.isfinite(self.numbers(column)).any())
        except InputError:
            return False

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
            holds = np.array([pattern.search(text) is not None for text in self.texts(column)], bool)
            return holds if operator == "=~" else ~holds
        number = _number(value)
        if operator in ("=", "!=") and (number is None or not self.is_numeric(column)):
            holds = np.array([text == value for text in self.texts(column)], bool)
            return holds if operator == "=" else ~holds
        if number is None:
            raise InputError(f"where {condition!r}: {value!r} is not a number")
        values = self.numbers(column)
        with np.errstate(invalid="ignore"):
            return np.asarray(_COMPARED[operator](values, number) & ~np.isnan(values), bool)


_COMPARED: dict[str, Any] = {
    "=": np.equal,
    "!=": np.not_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "<": np.less,
    "<=": np.less_equal,
}


@dataclass(frozen=True, slots=True)
class Keys:
    """Where each row is: text, participant and position, and so its neighbours."""

    units: Indices
    """A number for each text and participant."""
    texts: Indices
    positions: Ints
    _order: Indices
    _sorted: Ints

    @classmethod
    def of(cls, table: WordTable, text: str | None, position: str, subject: str | None) -> Keys:
        """The keys of a table; a key that is there twice is an error."""
        numbers = table.numbers(position)
        wrong = np.isnan(numbers) | (numbers != np.round(numbers)) | (np.abs(numbers) > MAX_POSITION)
        if wrong.any():
            raise table.error("positions must be whole numbers", np.flatnonzero(wrong), position)
        positions = numbers.astype(np.int64)
        texts = np.zeros(len(table), np.intp) if text is None else table.codes(text)
        subjects = np.zeros(len(table), np.intp) if subject is None else table.codes(subject)
        units = texts * (int(subjects.max()) + 1) + subjects
        keys = _key(units, positions, positions)
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        if (equal := ordered[1:] == ordered[:-1]).any():
            raise _repeated(table, (text, position, subject), order[:-1][equal], order[1:][equal])
        return cls(units, texts, positions, order, ordered)

    def neighbour(self, words_back: int) -> Indices:
        """The row of the word `words_back` positions earlier in the same text; -1 if there is none."""
        wanted = self.positions - words_back
        key = _key(self.units, wanted, self.positions)
        at = np.minimum(np.searchsorted(self._sorted, key), len(self._sorted) - 1)
        inside = (wanted >= self.positions.min()) & (wanted <= self.positions.max())
        return np.where(inside & (self._sorted[at] == key), self._order[at], -1)

    def edges(self, groups: Indices, *, last: bool) -> Mask:
        """The first or last word of every group of every text and participant."""
        order = np.lexsort((self.positions, groups, self.units))
        changes = (np.diff(self.units[order]) != 0) | (np.diff(groups[order]) != 0)
        edge: Mask = np.zeros(len(order), bool)
        edge[order] = np.append(changes, True) if last else np.append(True, changes)
        return edge


def _key(units: Indices, positions: Ints, all_positions: Ints) -> Ints:
    """One number for each unit and position."""
    stride = int(np.ptp(all_positions)) + 1
    return units.astype(np.int64) * stride + positions - int(all_positions.min())


def _repeated(table: WordTable, keys: Sequence[str | None], earlier: Indices, later: Indices) -> InputError:
    """The error about keys that are there twice, with both places of the first ones."""
    text, _, subject = keys
    names = [name for name in keys if name is not None]
    pairs = list(zip(earlier.tolist(), later.tolist(), strict=True))[:EXAMPLES]
    examples = "; ".join(
        f"{', '.join(f'{name} {table.texts(name)[second]}' for name in names)}: {table.place(first)} and "
        f"{table.place(second)}"
        for first, second in pairs
    )
    fixes = ["correct the positions"] if len(later) < MAX_SLIPS * len(table) else []
    fixes += [] if text else ["name the text with --text"]
    fixes += [] if subject else ["name the participants with --subject, or average over them with --aggregate"]
    fix = ", or ".join(fixes) or "leave one of them out"
    return table.error(f"repeated keys in {plural(len(later), 'row')} ({examples}). {fix[0].upper()}{fix[1:]}", later)


def read_words(source: object) -> WordTable:
    """The table of a path (CSV, TSV, JSON Lines, Parquet; compressed or not), a `wug.Table` or a data frame."""
    if isinstance(source, (str, Path)):
        path = Path(source)
        table = _read_parquet(path) if path.suffix.lower() == ".parquet" else _read_text(path)
    else:
        frame: Any = source
        names = getattr(source, "names", None)
        names = names if isinstance(names, list) else list(getattr(source, "columns", ()))
        if not names:
            what = f"a table must be a path, a wug.Table or a data frame, not {type(source).__name__}"
            raise InputError(what)
        table = WordTable("table", {str(name): list(frame[name]) for name in names})
    if not len(table):
        raise InputError("the table has no rows", file=table.file)
    return table


def bare(word: str) -> str:
    """A word without punctuation around it."""
    letters = [index for index, character in enumerate(word) if not _is_punctuation(character)]
    return word[letters[0] : letters[-1] + 1] if letters else ""


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
        with suppress(ValueError):
            return _finite(np.fromiter(map(float, map(_ABSENT.get, values, values)), np.float64, len(values))), []
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
