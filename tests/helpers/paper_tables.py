"""Tables of `wug reproduce` in the documentation, from their records."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from wug.reproduce.recipe import PublishedValue
from wug.reproduce.table import TableRow, cells
from wug.views.writers.markdown import markdown_table


def from_json(text: str) -> list[TableRow]:
    """The rows of a table that was written as JSON."""

    def row(entry: dict[str, Any]) -> TableRow:
        value, sd = entry.pop("published"), entry.pop("published_sd")
        del entry["difference"]
        published = None if value is None else PublishedValue(value, sd)
        seeds, signatures = tuple(entry.pop("seeds")), tuple(entry.pop("signatures"))
        return TableRow(published=published, seeds=seeds, signatures=signatures, **entry)

    return [row(entry) for entry in json.loads(text)]


def as_matrix(rows: Sequence[TableRow]) -> str:
    """Tests by models in Markdown, the fewer as columns: our value, and the published one in brackets."""
    tests, models = (
        list(dict.fromkeys(names)) for names in zip(*((row.row, row.network) for row in rows), strict=True)
    )
    found = {(row.row, row.network): _both(row) for row in rows}
    if len(models) > len(tests):
        lines = [(model, *(found.get((test, model), "") for test in tests)) for model in models]
        return markdown_table(("model", *tests), lines, "l" + "r" * len(tests))
    lines = [(test, *(found.get((test, model), "") for model in models)) for test in tests]
    return markdown_table(("test", *models), lines, "l" + "r" * len(models))


def _both(row: TableRow) -> str:
    _, _, published, here, *_ = cells(row)
    return " ".join(filter(None, (here, published and f"({published})")))
