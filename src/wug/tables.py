"""Tables of results: columns with names, for data frames, files and notebooks.

A missing value is None: null, NaN or an empty cell in what is made of the table. Whole numbers stay whole beside it.
"""

from __future__ import annotations

import csv
import html
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from wug.arguments import checked, members
from wug.errors import InputError, MissingExtra, UnknownName
from wug.files import user_path, write_bytes, write_text, writing

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Kind: TypeAlias = type[bool] | type[int] | type[float] | type[str] | type[object]
"""What the values of a column are; `object` for lists, dictionaries and columns of several kinds."""

FORMATS = ("csv", "tsv", "json", "jsonl", "parquet")
SHOWN = 10
"""Rows that a notebook shows."""
LONG = 80
"""Characters of a value that a notebook shows."""


@members(checked)
class Table:
    """Columns of equal length, in order, each with its name."""

    __slots__ = ("_columns", "_kinds")

    def __init__(self, columns: Mapping[str, Iterable[Any]], kinds: Mapping[str, Kind] | None = None) -> None:
        """Make a table of columns; `kinds` says what those hold whose values may all be missing."""
        self._columns: dict[str, list[Any]] = {
            name: values if isinstance(values, list) else list(values) for name, values in columns.items()
        }
        lengths = {name: len(values) for name, values in self._columns.items()}
        if len(set(lengths.values())) > 1:
            raise InputError(f"columns of different lengths: {lengths}")
        given = kinds or {}
        self._kinds: dict[str, Kind] = {name: given.get(name) or _kind(self._columns[name]) for name in self._columns}

    @classmethod
    def of_rows(cls, rows: Iterable[Mapping[str, Any]], kinds: Mapping[str, Kind] | None = None) -> Table:
        """The table of rows that are dictionaries: a column for each name, in the order in which they are met."""
        kept = list(rows)
        names = dict.fromkeys(name for row in kept for name in row)
        return cls({name: [row.get(name) for row in kept] for name in names}, kinds)

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
        return f"<Table of {_counted(len(self), 'row')}: {', '.join(self._columns)}>"

    def _repr_html_(self) -> str:
        """The first rows and the count, for a notebook."""
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self._columns)
        first = zip(*(values[:SHOWN] for values in self._columns.values()), strict=True)
        body = "".join(f"<tr>{''.join(_html_cell(value) for value in row)}</tr>" for row in first)
        left = f"the first {SHOWN} of " if len(self) > SHOWN else ""
        return (
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            f"<p>{left}{_counted(len(self), 'row')} × {_counted(len(self._columns), 'column')}</p>"
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows as dictionaries, one after the other."""
        names = tuple(self._columns)
        for row in zip(*self._columns.values(), strict=True):
            yield dict(zip(names, row, strict=True))

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        return list(self.rows())

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame of pandas; whole numbers and truth values beside missing ones are `Int64` and `boolean`."""
        try:
            import pandas
        except ImportError:
            raise MissingExtra("a data frame of pandas", "pandas") from None
        series = {
            name: pandas.Series(_filled(values, kind), dtype=_pandas_type(values, kind), name=name)
            for name, kind, values in self._typed()
        }
        return pandas.DataFrame(series, columns=self.names)

    def to_polars(self) -> polars.DataFrame:
        """A data frame of Polars."""
        try:
            import polars
        except ImportError:
            raise MissingExtra("a data frame of Polars", "polars") from None
        types = {bool: polars.Boolean, int: polars.Int64, float: polars.Float64, str: polars.String}
        return polars.DataFrame(
            [
                polars.Series(name, _converted(values, kind), dtype=types.get(kind, polars.String))
                for name, kind, values in self._typed()
            ]
        )

    def to_arrow(self) -> pyarrow.Table:
        """A table of Apache Arrow."""
        try:
            import pyarrow
        except ImportError:
            raise MissingExtra("a table of Arrow", "parquet") from None
        types = {bool: pyarrow.bool_(), int: pyarrow.int64(), float: pyarrow.float64(), str: pyarrow.string()}
        return pyarrow.table(
            {
                name: pyarrow.array(_converted(values, kind), type=types.get(kind, pyarrow.string()))
                for name, kind, values in self._typed()
            }
        )

    def write(self, path: str | Path, format: str | None = None, *, raw: bool = False) -> None:
        """Write a file as CSV, TSV, JSON, JSON Lines or Parquet: by its suffix, or as `format` says.

        In CSV and TSV, text that a spreadsheet would evaluate (`=1+1`, `-`) gets a leading apostrophe, unless `raw`.
        """
        target = user_path(path)
        suffix = target.suffix.lower().removeprefix(".")
        form = format or suffix
        if suffix in FORMATS and suffix != form:
            raise InputError(
                f"its suffix stands for {suffix}, and {form} is asked for: change one of them", file=target
            )
        if form not in FORMATS:
            raise InputError(
                f"no format is known for {form!r}. Name the file {', '.join(f'.{name}' for name in FORMATS[:-1])} or "
                f".{FORMATS[-1]}, or give the format",
                file=target,
            )
        if form == "parquet":
            self._write_parquet(target)
        else:
            write_text(target, self.text(form, raw=raw))

    def text(self, format: str, *, raw: bool = False) -> str:
        """The whole table as text: csv, tsv, json or jsonl; `raw` as in `write`."""
        match format:
            case "csv" | "tsv":
                lines = delimited_lines(self._columns, self._cells(), "," if format == "csv" else "\t", raw=raw)
                return "".join(f"{line}\n" for line in lines)
            case "json":
                return json.dumps([finite(row) for row in self.rows()], ensure_ascii=False, indent=1) + "\n"
            case "jsonl":
                return "".join(json.dumps(finite(row), ensure_ascii=False) + "\n" for row in self.rows())
        raise UnknownName("format", format, [name for name in FORMATS if name != "parquet"])

    def _cells(self) -> Iterator[list[Any]]:
        """The rows as a delimited file has them."""
        return ([_cell(value) for value in row] for row in zip(*self._columns.values(), strict=True))

    def _write_parquet(self, path: Path) -> None:
        table = self.to_arrow()
        import pyarrow
        import pyarrow.parquet

        out = pyarrow.BufferOutputStream()
        pyarrow.parquet.write_table(table, out)
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, out.getvalue().to_pybytes())

    def _typed(self) -> Iterator[tuple[str, Kind, list[Any]]]:
        return ((name, self._kinds[name], values) for name, values in self._columns.items())


def _kind(values: Sequence[Any]) -> Kind:
    """What all values of a column are; of numbers of several kinds, the widest. Nothing but missing ones: numbers."""
    found: set[type[Any]] = {type(value) for value in values if value is not None}
    if found <= {bool, int, float}:
        return bool if found == {bool} else int if found and float not in found else float
    return str if found == {str} else object


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _converted(values: list[Any], kind: Kind) -> list[Any]:
    """The values as all of one kind, None where one is missing; what is of several kinds as text."""
    if kind in (bool, int, float):
        return [None if _missing(value) else kind(value) for value in values]
    return values if kind is str else [None if value is None else _text(value) for value in values]


def _filled(values: list[Any], kind: Kind) -> list[Any]:
    """As a data frame of pandas holds them: lists and dictionaries stay what they are."""
    if kind is float:
        return [math.nan if value is None else float(value) for value in values]
    return _converted(values, kind) if kind in (bool, int) else values


def _pandas_type(values: list[Any], kind: Kind) -> Any:
    whole = not any(map(_missing, values))
    names: dict[Kind, str] = {bool: "bool" if whole else "boolean", int: "int64" if whole else "Int64"}
    return names.get(kind, "float64" if kind is float else None if kind is str else object)


def _text(value: Any) -> str:
    """Lists and dictionaries as JSON, everything else as it is written."""
    return json.dumps(finite(value), ensure_ascii=False) if isinstance(value, (list, tuple, dict)) else str(value)


def _cell(value: Any) -> Any:
    """A cell of a delimited file."""
    if _missing(value):
        return ""
    return value if isinstance(value, (str, int, float)) else _text(value)


def _html_cell(value: Any) -> str:
    if isinstance(value, (bool, int)):
        return f'<td style="text-align:right">{value}</td>'
    if isinstance(value, float):
        return f'<td style="text-align:right">{"" if math.isnan(value) else format(value, ".4g")}</td>'
    text = "" if value is None else _text(value)
    return f'<td style="text-align:left">{html.escape(text if len(text) <= LONG else text[: LONG - 1] + "…")}</td>'


def finite(value: Any) -> Any:
    """The same data with None for numbers that JSON cannot represent."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): finite(inner) for key, inner in value.items()}
    return [finite(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def delimited_lines(
    columns: Iterable[str], rows: Iterable[Sequence[Any]], delimiter: str, *, raw: bool = False
) -> Iterator[str]:
    """The lines of a CSV or TSV file; text that a spreadsheet would evaluate is guarded, unless `raw`."""
    out = _Line()
    # The writer quotes the characters of its own line end: with CR LF, a lone CR in a value is quoted.
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\r\n")
    cell = _as_is if raw else no_formula
    for row in chain((columns,), rows):
        writer.writerow(map(cell, row))
        yield out.text


class _Line:
    """Takes one row at a time from a CSV writer."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, row: str) -> None:
        """Keep a row, without its line end."""
        self.text = row.removesuffix("\r\n")


def no_formula(value: Any) -> Any:
    """The value of a cell; text that a spreadsheet would evaluate as a formula gets a leading apostrophe."""
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return _as_is(value)


def _as_is(value: Any) -> Any:
    return "" if value is None else value


_NUMBER = re.compile(r"-?[0-9.]+(?:[eE][+-]?[0-9]+)?")


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
