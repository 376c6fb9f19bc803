"""The atlas: published results on the same suite, among which a result's page places the model."""

from __future__ import annotations

import functools
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from wug.formatting import format_estimate, percent
from wug.identity import OVERALL
from wug.labels import short_names
from wug.types import Result
from wug.views.parts import TableCell, TableColumn, TablePart, TablePartRow

COLUMNS = (TableColumn("model"), TableColumn("value", numeric=True), TableColumn("source"))


@dataclass(frozen=True, slots=True)
class AtlasValue:
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
    found = []
    for table in tables:
        if table["metric"] == metric and suite in table["suites"]:
            place = table["suites"].index(suite)
            for model, value in zip(table["models"], table["values"][place], strict=True):
                if not math.isnan(value):
                    size = table["sizes"][place]
                    found.append(AtlasValue(model, value, size, table["source"], table["origin"]))
    return tuple(found)


def atlas_part(result: Result) -> TablePart | None:
    """The model among published ones, the best first; None if nothing is published on its suite."""
    estimate = next(
        (one for one in result.estimates if one.group == OVERALL and published(result.suite, one.metric)), None
    )
    if estimate is None:
        return None
    values = published(result.suite, estimate.metric)
    rows = [(one.value, _row(one.model, TableCell(percent(one.value)), one.source)) for one in values]
    own = TableCell(shown=format_estimate(result, estimate))
    rows.append((estimate.value, _row(short_names([result.model])[result.model], own, "this result", quiet=False)))
    ordered = tuple(row for _, row in sorted(rows, key=lambda pair: -pair[0]))
    sizes = {one.n for one in values}
    other = "" if sizes == {estimate.n} else f" They are of {max(sizes):,} items, and this result of {estimate.n:,}."
    origins = "; ".join(dict.fromkeys(one.origin for one in values))
    return TablePart(
        "atlas",
        "Among published models",
        COLUMNS,
        (("", ordered),),
        note=f"Other programs computed the published values, by their own rules.{other} Sources: {origins}.",
    )


def _row(model: str, value: TableCell, source: str, *, quiet: bool = True) -> TablePartRow:
    return TablePartRow((TableCell(model), value, TableCell(source)), quiet)
