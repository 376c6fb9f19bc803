"""A run as a whole: its suites as a chart, its results by the groups that items belong to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from wug.runs.shelf import Summary
from wug.show import charts
from wug.show.grouped import best_first, in_order, point, record
from wug.show.numbers import Shown, shown
from wug.show.view import Figure
from wug.types import Result

GROUPS = 24
"""Groups of a field that a table shows; a field with more has its chart on the result's page."""
FIELDS = 2
"""Fields of a result that are shown."""


@dataclass(frozen=True, slots=True)
class Grouped:
    """A result's headline by one field."""

    result: int
    suite: str
    field: str
    rows: tuple[Shown, ...]


def by_group(number: int, result: Result) -> Iterator[Grouped]:
    """The headline of a result by the first fields that it is broken down by."""
    check = None if result.headline is None else result.headline.check
    fields: dict[str, list[Shown]] = {}
    for estimate in result.estimates:
        field, equals, value = estimate.group.partition("=")
        if estimate.check == check and equals and field not in ("circuit", "macro"):
            fields.setdefault(field, []).append(replace(shown(result, estimate), group=value))
    fitting = [(field, rows) for field, rows in fields.items() if 1 < len(rows) <= GROUPS]
    for field, rows in fitting[:FIELDS]:
        yield Grouped(number, result.suite, field, tuple(best_first(in_order(rows))))


SUITES = 100
"""Suites that the chart of a run holds."""


def suites_figure(results: Sequence[tuple[Summary, Shown | None]]) -> Figure | None:
    """The headline of every suite that is a share, circuit by circuit; None where there is one alone."""
    shares = [(kept, row) for kept, row in results if row is not None and row.share][:SUITES]
    if len(shares) < 2:
        return None
    grouped = sorted(shares, key=lambda pair: not pair[0].circuit)
    points = [point(row, name=kept.suite, group=kept.circuit or kept.kind) for kept, row in grouped]
    return Figure(
        id="suites",
        draw=partial(charts.accuracy, points),
        title="Every suite",
        note="The headline of each suite with its 95 % interval.",
        columns=("suite", "family", "check", "value", "interval", "n"),
        rows=tuple((k.suite, k.kind, s.name, s.text, s.interval, f"{s.n:,}") for k, s in grouped),
        records=tuple(
            {"suite": k.suite, "family": k.kind, "check": s.check, **record(point(s), "value")} for k, s in grouped
        ),
    )
