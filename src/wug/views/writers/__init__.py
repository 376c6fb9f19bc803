"""Formats of tables: the module `csv` here writes CSV. A new format is a new module, and its test.

It offers
    SUFFIXES: tuple[str, ...]                     of its files, such as (".csv",); empty if it has none
    MEDIA_TYPE: str                               of a download
    BINARY = True                                 optional: its files are not text
    require() -> None                             optional: raises MissingExtra if packages are missing
    write(table: Tabular, *, raw: bool = False)   the file in chunks: `str`, or `bytes` if it is binary

Formats for programs write `table.names` and `table.values()`, those for people the `Display` from `display_of`. Other
packages add formats with the entry point `wug.views.writers`.
"""

from __future__ import annotations

import csv as _csv  # this package has modules of the names csv and json
import json as _json
from collections.abc import Iterator
from itertools import chain

from wug.formatting import bits, percent
from wug.tables import Display, FormattedTable, Tabular, escape_formula, is_missing, json_safe, nested_text


def display_of(table: Tabular) -> Display:
    """What formats for people write: the table's own display, or its columns without nested ones."""
    if table.display is not None:
        return table.display
    flat_columns = [(index, name) for index, name in enumerate(table.names) if table.kinds.get(name) is not object]
    units = [table.units.get(name, "") for _, name in flat_columns]
    rows = [
        [_cell_text(row[i], unit) for (i, _), unit in zip(flat_columns, units, strict=True)] for row in table.values()
    ]
    align = "".join("r" if table.kinds.get(name) in (int, float) else "l" for _, name in flat_columns)
    return Display([FormattedTable([table.labels.get(name, name) for _, name in flat_columns], rows, align)], long=True)


def _cell_text(value: object, unit: str) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    if is_missing(value):
        return ""
    if not isinstance(value, float):
        return nested_text(value)
    return percent(value) if unit == "share" else bits(value) if unit == "bits" else f"{value:.6g}"


def delimited_lines(table: Tabular, delimiter: str, *, raw: bool = False) -> Iterator[str]:
    """The lines of a delimited file; text that a spreadsheet would evaluate gets an apostrophe, unless `raw`."""
    out = _Line()
    # The writer quotes the characters of its line terminator: with CR LF, a lone CR in a value is quoted.
    writer = _csv.writer(out, delimiter=delimiter, lineterminator="\r\n")
    cell = _cell if raw else _escape_formula
    for row in chain((table.names,), table.values()):
        writer.writerow(map(cell, row))
        yield out.text


class _Line:
    """Takes one row at a time from a CSV writer."""

    text = ""

    def write(self, row: str) -> None:
        self.text = row.removesuffix("\r\n") + "\n"


def _cell(value: object) -> object:
    if is_missing(value):
        return ""
    return value if isinstance(value, (str, int, float)) else nested_text(value)


def _escape_formula(value: object) -> object:
    return escape_formula(value) if isinstance(value, str) else _cell(value)


def records(table: Tabular) -> Iterator[str]:
    """Each row as a JSON object."""
    names = list(table.names)
    for row in table.values():
        record = json_safe(dict(zip(names, row, strict=True)))
        yield _json.dumps(record, ensure_ascii=False, allow_nan=False)
