"""JSON Lines: one object per row."""

from __future__ import annotations

from collections.abc import Iterator

from wug.tables import Tabular
from wug.views.writers import records

SUFFIXES = (".jsonl",)
MEDIA_TYPE = "application/jsonl"


def write(table: Tabular, *, raw: bool = False) -> Iterator[str]:
    """One line per row."""
    return (f"{record}\n" for record in records(table))
