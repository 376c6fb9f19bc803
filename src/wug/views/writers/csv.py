"""Comma-separated values."""

from __future__ import annotations

from collections.abc import Iterator

from wug.tables import Tabular
from wug.views.writers import delimited_lines

SUFFIXES = (".csv",)
MEDIA_TYPE = "text/csv; charset=utf-8"


def write(table: Tabular, *, raw: bool = False) -> Iterator[str]:
    """One line per row below the names of the columns; see `delimited_lines` for `raw`."""
    return delimited_lines(table, ",", raw=raw)
