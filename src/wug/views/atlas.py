"""The atlas: published results on the same suite, among which a result's page places the model."""

from __future__ import annotations

import functools
import math
import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any, NamedTuple

from wug.formatting import format_estimate, percent
from wug.identity import OVERALL
from wug.labels import short_names
from wug.types import Result
from wug.views.parts import TableCell, TableColumn, TablePart, TablePartRow

COLUMNS = (TableColumn("model"), TableColumn("value", numeric=True), TableColumn("source"))


class AtlasValue(NamedTuple):
    """A value that was published."""

    model: str
    value: float
    n: int
    source: str
    origin: str
    """Repository, commit and file."""


@functools.cache
def published(suite: str, metric: str) -> tuple[AtlasValue, ...]:
    """The published values of a metric on a suite."""
    text = (resources.files("wug") / "assets" / "atlas.toml").read_text(encoding="utf-8")
    tables: Sequence[Mapping[str, Any]] = tomllib.loads(text)["tables"]
    values = []
    for table in tables:
        if table["metric"] == metric and suite in table["suites"]:
            position = table["suites"].index(suite)
            for model, value in zip(table["models"], table["values"][position], strict=True):
                if not math.isnan(value):
                    size = table["sizes"][position]
                    values.append(AtlasValue(model, value, size, table["source"], table["origin"]))
    return tuple(values)


def atlas_part(result: Result) -> TablePart | None:
    """The model among published ones, the best first; None if nothing is published on its suite."""
    estimate = next(
        (
            estimate
            for estimate in result.estimates
            if estimate.group == OVERALL and published(result.suite, estimate.metric)
        ),
        None,
    )
    if estimate is None:
        return None
    values = published(result.suite, estimate.metric)
    rows = [(entry.value, _row(entry.model, TableCell(percent(entry.value)), entry.source)) for entry in values]
    own = format_estimate(result, estimate)
    source = f"this result, {own.interval}" if own.interval else "this result"
    name = short_names([result.model])[result.model]
    rows.append((estimate.value, _row(name, TableCell(own.text), source, quiet=False)))
    ordered = tuple(row for _, row in sorted(rows, key=lambda pair: -pair[0]))
    sizes = {entry.n for entry in values}
    size_note = (
        "" if sizes == {estimate.n} else f" They are of {max(sizes):,} items, and this result of {estimate.n:,}."
    )
    origins = "; ".join(dict.fromkeys(entry.origin for entry in values))
    return TablePart(
        "atlas",
        "Among published models",
        COLUMNS,
        (("", ordered),),
        note=f"Other programs computed the published values, by their own rules.{size_note} Sources: {origins}.",
    )


def _row(model: str, value: TableCell, source: str, *, quiet: bool = True) -> TablePartRow:
    return TablePartRow((TableCell(model), value, TableCell(source)), quiet)
