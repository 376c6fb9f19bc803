"""JSON: the table's document, or a list with one object per row."""

from __future__ import annotations

import json
from collections.abc import Iterator

from wug.tables import Tabular, json_safe
from wug.views.writers import records

SUFFIXES = (".json",)
MEDIA_TYPE = "application/json"


def write(table: Tabular, *, raw: bool = False) -> Iterator[str]:
    """The document with indentation, or one row per line."""
    if table.document is not None:
        yield json.dumps(json_safe(table.document), ensure_ascii=False, indent=2, allow_nan=False) + "\n"
        return
    prefix = "["
    for record in records(table):
        yield f"{prefix}\n{record}"
        prefix = ","
    yield "[]\n" if prefix == "[" else "\n]\n"
