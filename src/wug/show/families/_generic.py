"""A family without a section of its own: estimates by group, and the items that fail with all that is known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wug.show import charts
from wug.show.families import Figure, Place, Section, Shown, first, overall, plain, shown
from wug.types import Outcome, Result

ROWS = 80
"""Groups that one chart holds; more are in its table."""


@dataclass(slots=True)
class FailedItem:
    """An item with at least one judgement that failed."""

    item: str
    checks: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)


def section(result: Result, place: Place) -> Section:
    """Estimates, their groups as charts, failing items."""
    failed, left = first(failing(result), place.room)
    values = {
        "overall": overall(result),
        "figures": group_figures(result, place),
        "failed": failed,
        "left": left,
        "facts": facts(result),
    }
    return Section("generic.html", values)


def group_figures(result: Result, place: Place) -> list[Figure]:
    """A dot chart for each check and each field that it is broken down by."""
    fields: dict[tuple[str, str], list[Shown]] = {}
    for estimate in result.estimates:
        name, equals, _ = estimate.group.partition("=")
        if equals and math.isfinite(estimate.value):
            row = shown(result, estimate)
            fields.setdefault((estimate.check, name), []).append(row)
    return [
        _figure(check, name, rows, f"{place.id}-groups-{index}")
        for index, ((check, name), rows) in enumerate(fields.items())
    ]


def failing(result: Result) -> list[FailedItem]:
    """The items with a judgement that failed, in their order, with what explains it."""
    items: dict[str, FailedItem] = {}
    for outcome in result.outcomes:
        if outcome.value is False:
            item = items.setdefault(outcome.item, FailedItem(outcome.item))
            item.checks.append(plain(outcome.check))
            item.facts.update(_explanation(outcome))
    return list(items.values())


def facts(result: Result) -> dict[str, Any]:
    """What the suite says of itself, but for what is empty."""
    return {plain(key): value for key, value in result.meta.items() if value not in (None, "", [], (), {})}


def _explanation(outcome: Outcome) -> Mapping[str, Any]:
    return {**outcome.groups, **outcome.detail}


def _figure(check: str, name: str, rows: list[Shown], id: str) -> Figure:
    points = [charts.Point(row.group.partition("=")[2], row.value, row.low, row.high, row.n) for row in rows]
    share = all(row.share for row in rows)
    more = f" The first {ROWS} of {len(rows)} groups; the table has them all." if len(rows) > ROWS else ""
    return Figure(
        id=id,
        chart=charts.intervals(points[:ROWS], title=plain(check), share=share),
        title=f"{plain(check).capitalize()} by {plain(name)}",
        note=f"Dots with 95 % intervals.{more}",
        columns=(plain(name), plain(check), "95 % interval", "n"),
        rows=tuple((row.group.partition("=")[2], row.text, row.interval, str(row.n)) for row in rows),
    )
