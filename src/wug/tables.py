"""Tables: columns with names, types, labels and units, for data frames, files and notebooks.

A missing value is None: null, NaN or an empty cell in other formats. `wug.views.writers` has one module per
file format.
"""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from wug import registry
from wug.arguments import checked, members, public
from wug.errors import InputError, UnknownName, needs_extra
from wug.files import user_path, write_pieces, writing
from wug.formatting import plural
from wug.interfaces import TableFormat, implemented

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

ColumnType: TypeAlias = type[bool] | type[int] | type[float] | type[str] | type[object]
"""The type of a column's values; `object` for lists, dictionaries and columns of several types."""

WRITERS = "views.writers"
"""The folder with one module per format."""
NOTEBOOK_ROWS = 10
NOTEBOOK_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class FormattedTable:
    """A table for people: text under headings."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    align: str
    """l, r or c for each column."""
    legend: Mapping[str, str] = field(default_factory=dict)
    """What abbreviations in the headings mean, such as A and B."""
    signatures: Sequence[str] = ()
    rules: Sequence[int] = (0,)
    """Rows that have a rule above them."""
    bold: frozenset[tuple[int, int]] = frozenset()
    """Cells in bold, by row and column; formats without bold ignore it."""


@dataclass(frozen=True, slots=True)
class Display:
    """What formats for people (table, md, latex, html) write of a table."""

    tables: Sequence[FormattedTable]
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    long: bool = False
    """Whether it may continue over several pages."""


@dataclass(frozen=True, slots=True)
class RowTable:
    """A table whose rows are read once, as they are written."""

    names: Sequence[str]
    rows: Iterable[Sequence[object]]
    kinds: Mapping[str, ColumnType] = field(default_factory=dict)
    """Types of columns, as far as they are known."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Headings for people, where they differ from the name."""
    units: Mapping[str, str] = field(default_factory=dict)
    """Units of columns: `share` is shown as a percentage, `bits` with two decimals."""
    display: Display | None = None
    """What formats for people write, if that is not the columns themselves."""
    document: object = None
    """What JSON contains, if that is not a list of rows."""

    def values(self) -> Iterator[Sequence[object]]:
        """The rows, in the order of `names`."""
        return iter(self.rows)


_NUMBER = re.compile(r"-?[0-9.]+(?:[eE][+-]?[0-9]+)?")


@members(checked)
class Table:
    """Columns of equal length, in order, each with its name.

    Examples:
        >>> wug.Table({"word": ["The", "keys"], "bits": [3.7, 14.2]})["word"]
        ['The', 'keys']
    """

    __slots__ = ("_columns", "kinds", "labels", "units")
    display: Display | None = None
    document: object = None

    def __init__(
        self,
        columns: Mapping[str, Iterable[Any]],
        kinds: Mapping[str, ColumnType] | None = None,
        *,
        labels: Mapping[str, str] | None = None,
        units: Mapping[str, str] | None = None,
    ) -> None:
        """Make a table of columns.

        Args:
            columns: The values by column.
            kinds: Types of columns whose values may all be missing.
            labels: Headings for people, where they differ from the name.
            units: Units of columns, such as `share` or `bits`.
        """
        self._columns: dict[str, list[Any]] = {
            name: values if isinstance(values, list) else list(values) for name, values in columns.items()
        }
        lengths = {name: len(values) for name, values in self._columns.items()}
        if len(set(lengths.values())) > 1:
            raise InputError(f"columns of different lengths: {lengths}")
        chosen = kinds or {}
        self.kinds: dict[str, ColumnType] = {
            name: chosen.get(name) or _kind(self._columns[name]) for name in self._columns
        }
        self.labels, self.units = dict(labels or {}), dict(units or {})

    @classmethod
    def of_rows(cls, rows: Iterable[Mapping[str, Any]], kinds: Mapping[str, ColumnType] | None = None) -> Table:
        """The table of rows that are dictionaries: one column per name, in order of appearance."""
        kept = list(rows)
        names = dict.fromkeys(name for row in kept for name in row)
        return cls({name: [row.get(name) for row in kept] for name in names}, kinds)

    @classmethod
    def of_tuples(
        cls, names: Iterable[str], rows: Iterable[Sequence[Any]], kinds: Mapping[str, ColumnType] | None = None
    ) -> Table:
        """The table of rows that have their values in the order of `names`."""
        kept = list(rows)
        return cls({name: [row[place] for row in kept] for place, name in enumerate(names)}, kinds)

    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""
        return list(self._columns)

    def __len__(self) -> int:
        """Rows."""
        return len(next(iter(self._columns.values()), ()))

    def __getitem__(self, name: str) -> list[Any]:
        """The values of a column."""
        if not isinstance(name, str):
            raise InputError(f"table[{name!r}]: write the name of a column; rows are in table.to_dicts()")
        if name not in self._columns:
            raise UnknownName("column", name, self._columns)
        return self._columns[name]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self.rows()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and list(self._columns.items()) == list(other._columns.items())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Table of {plural(len(self), 'row')}: {', '.join(self._columns)}>"

    def _repr_html_(self) -> str:
        """The first rows and the count, for a notebook."""
        first = {
            name: [_shortened(value) for value in values[:NOTEBOOK_ROWS]] for name, values in self._columns.items()
        }
        head = Table(first, {name: str if kind is object else kind for name, kind in self.kinds.items()})
        left = f"the first {NOTEBOOK_ROWS} of " if len(self) > NOTEBOOK_ROWS else ""
        size = f"{plural(len(self), 'row')} × {plural(len(self._columns), 'column')}"
        return f"{render_table(head, 'html')}<p>{left}{size}</p>"

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows as dictionaries, one after the other."""
        names = tuple(self._columns)
        return (dict(zip(names, row, strict=True)) for row in self.values())

    def values(self) -> Iterator[tuple[Any, ...]]:
        """The rows as tuples, in the order of `names`."""
        return zip(*self._columns.values(), strict=True)

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        return list(self.rows())

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas data frame; integers and booleans with missing values become `Int64` and `boolean`."""
        with needs_extra("a pandas data frame", "pandas"):
            import pandas
        series = {
            name: pandas.Series(_filled(values, kind), dtype=_pandas_type(values, kind), name=name)
            for name, kind, values in self._typed()
        }
        return pandas.DataFrame(series, columns=self.names)

    def to_polars(self) -> polars.DataFrame:
        """A Polars data frame."""
        with needs_extra("a Polars data frame", "polars"):
            import polars
        types = {bool: polars.Boolean, int: polars.Int64, float: polars.Float64}
        columns = {name: converted(values, kind) for name, kind, values in self._typed()}
        return polars.DataFrame(columns, {name: types.get(kind, polars.String) for name, kind in self.kinds.items()})

    def to_arrow(self) -> pyarrow.Table:
        """An Apache Arrow table."""
        with needs_extra("an Arrow table", "parquet"):
            import pyarrow
        types = {bool: pyarrow.bool_(), int: pyarrow.int64(), float: pyarrow.float64()}
        columns = {name: converted(values, kind) for name, kind, values in self._typed()}
        schema = pyarrow.schema([(name, types.get(kind, pyarrow.string())) for name, kind in self.kinds.items()])
        return pyarrow.table(columns, schema)

    def write(self, path: str | Path, format: str | None = None, *, raw: bool = False) -> None:
        """Write a file in the format of its suffix (.csv, .tsv, .json, .jsonl, .parquet, …), or in `format`.

        In CSV and TSV, text that a spreadsheet would evaluate (`=1+1`, `-`) gets a leading apostrophe, unless `raw`.
        """
        target = user_path(path)
        suffix, suffixes = target.suffix.lower(), format_suffixes()
        name = format or suffixes.get(suffix, suffix.removeprefix("."))
        if suffixes.get(suffix, name) != name:
            raise InputError(f"its suffix means {suffixes[suffix]}, not {name}: change one of them", file=target)
        if name not in format_names():
            *others, last = suffixes
            known = f"{', '.join(others)} or {last}"
            raise InputError(f"unknown format {name!r}. Name the file {known}, or give the format", file=target)
        write_table(self, target, name, raw=raw)

    def text(self, format: str, *, raw: bool = False) -> str:
        """The whole table as text in a format such as csv, json or md; `raw` as in `write`."""
        return render_table(self, format, raw=raw)

    def _typed(self) -> Iterator[tuple[str, ColumnType, list[Any]]]:
        return ((name, self.kinds[name], values) for name, values in self._columns.items())


@members(public)
class Tabulated(ABC):
    """A base for types that are shown as a table: as data frames, and as a file."""

    __slots__ = ()

    @abstractmethod
    def _as_table(self) -> Table: ...

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a pandas data frame."""
        return self._as_table().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The table as a Polars data frame."""
        return self._as_table().to_polars()

    def to_arrow(self) -> pyarrow.Table:
        """The table as an Apache Arrow table."""
        return self._as_table().to_arrow()

    def write(self, path: str | Path) -> None:
        """Write the table to a file by its suffix: .csv, .tsv, .json, .jsonl or .parquet."""
        self._as_table().write(path)


Tabular: TypeAlias = Table | RowTable
"""A table that writers accept."""


def format_names() -> list[str]:
    """The names of all formats, which are those of the modules in `wug.views.writers`."""
    return registry.names(WRITERS)


def format_suffixes() -> dict[str, str]:
    """The formats by suffix, such as `.csv`."""
    formats = ((name, implemented(TableFormat, module)) for name, module in registry.modules(WRITERS))
    return {suffix: name for name, format in formats for suffix in format.SUFFIXES}


def format_named(name: str) -> str | None:
    """The format of a name, or of a suffix without its dot (`md`, `tex`); None if there is none."""
    return name if name in format_names() else format_suffixes().get(f".{name}")


def render_table(table: Tabular, format: str, *, raw: bool = False) -> str:
    """A table as text; InputError for a binary format."""
    writer = registry.table_format(format)
    if writer.BINARY:
        raise InputError(f"{format} is not text: write it to a file")
    return "".join(map(str, writer.write(table, raw=raw)))


def table_chunks(table: Tabular, format: str, *, raw: bool = False) -> Iterator[bytes]:
    """A table as the bytes of a file, chunk by chunk."""
    for chunk in registry.table_format(format).write(table, raw=raw):
        # A lone surrogate cannot be encoded in UTF-8: it is written as its JSON escape.
        yield chunk.encode("utf-8", "backslashreplace") if isinstance(chunk, str) else chunk


def write_table(table: Tabular, path: Path, format: str, *, raw: bool = False) -> None:
    """Write a table to a file, completely or not at all; its folder is created."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_pieces(path, table_chunks(table, format, raw=raw))


def _kind(values: Sequence[Any]) -> ColumnType:
    """The type of all values of a column, the widest for numbers of several types; float if all are missing."""
    types: set[type[Any]] = {type(value) for value in values if value is not None}
    if types <= {bool, int, float}:
        return bool if types == {bool} else int if types and float not in types else float
    return str if types == {str} else object


def escape_formula(text: str) -> str:
    """The text, with an apostrophe in front if a spreadsheet would evaluate it as a formula."""
    is_formula = text.startswith(("=", "+", "-", "@", "\t", "\r")) and not _NUMBER.fullmatch(text)
    return f"'{text}" if is_formula else text


def is_missing(value: object) -> bool:
    """Whether a value is None or NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def converted(values: Sequence[Any], kind: ColumnType) -> list[Any]:
    """The values as one type, None for a missing value; mixed types become text."""
    if kind in (bool, int, float):
        return [None if is_missing(value) else kind(value) for value in values]
    return list(values) if kind is str else [None if value is None else nested_text(value) for value in values]


def _filled(values: list[Any], kind: ColumnType) -> list[Any]:
    """As a pandas data frame holds them: lists and dictionaries are kept."""
    if kind is float:
        return [math.nan if value is None else float(value) for value in values]
    return converted(values, kind) if kind in (bool, int) else values


def _pandas_type(values: list[Any], kind: ColumnType) -> Any:
    whole = not any(map(is_missing, values))
    names: dict[ColumnType, str] = {bool: "bool" if whole else "boolean", int: "int64" if whole else "Int64"}
    return names.get(kind, "float64" if kind is float else None if kind is str else object)


def nested_text(value: object) -> str:
    """Lists and dictionaries as JSON, everything else as `str`."""
    return json.dumps(json_safe(value), ensure_ascii=False) if isinstance(value, (list, tuple, dict)) else str(value)


def json_safe(value: object) -> object:
    """The same data with None for numbers that JSON cannot represent."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): json_safe(inner) for key, inner in value.items()}
    return [json_safe(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def _shortened(value: object) -> object:
    if value is None or isinstance(value, (bool, int, float)):
        return value
    text = nested_text(value)
    return text if len(text) <= NOTEBOOK_CHARACTERS else f"{text[: NOTEBOOK_CHARACTERS - 1]}…"
