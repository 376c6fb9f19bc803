"""Comma-separated values."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import chain

from wug.tables import Tabular, is_missing, nested_text, no_formula

SUFFIXES = (".csv",)
MEDIA_TYPE = "text/csv; charset=utf-8"


def write(table: Tabular, *, raw: bool = False) -> Iterator[str]:
    """One line per row below the names of the columns; see `delimited_lines` for `raw`."""
    return delimited_lines(table, ",", raw=raw)


def delimited_lines(table: Tabular, delimiter: str, *, raw: bool = False) -> Iterator[str]:
    """The lines of a delimited file; text that a spreadsheet would evaluate gets an apostrophe, unless `raw`."""
    out = _Line()
    # The writer quotes the characters of its line terminator: with CR LF, a lone CR in a value is quoted.
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\r\n")
    cell = _cell if raw else _guarded
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


def _guarded(value: object) -> object:
    return no_formula(value) if isinstance(value, str) else _cell(value)
