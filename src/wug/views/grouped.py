"""Estimates by group, as charts and tables show them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from wug.identity import Group
from wug.types import Result
from wug.views import charts
from wug.views.numbers import Shown, headlines, interval_text, is_deviation, others, percent, shown
from wug.views.parts import Figure, Numbers, Part, Prose

FEW = 10
"""Items without which a point of a curve says little."""
ROWS, TABLE = 100, 1000
"""Rows that a chart holds, and its table."""


def overall_parts(result: Result) -> Iterator[Part]:
    """The estimates over all items: those for a first look, a word on deviations, those for a second look."""
    yield Numbers(headlines(result))
    if note := spread_note(result):
        yield Prose(note)
    if more := others(result):
        yield Numbers(more, folded=f"{len(more)} more measure{'s' * (len(more) != 1)}")


def overall_of(result: Result, *checks: str) -> list[Shown]:
    """These shares over all items, those that there are."""
    found = {e.check: e for e in result.estimates if e.group == "all"}
    return [shown(result, found[check]) for check in checks if check in found]


def by_field(result: Result, check: str) -> dict[str, list[Shown]]:
    """For each field that a share is broken down by, its rows; `group` is the value of the field alone."""
    fields: dict[str, list[Shown]] = {}
    for estimate in result.estimates:
        group = Group.parse(estimate.group)
        if estimate.check == check and not group.is_overall and math.isfinite(estimate.value):
            fields.setdefault(group.field, []).append(replace(shown(result, estimate), group=group.value))
    return {name: in_order(rows) for name, rows in fields.items()}


def in_order(rows: Sequence[Shown]) -> list[Shown]:
    """Rows by their numbers where all are numbers; else as they are."""
    if all(_is_number(row.group) for row in rows):
        return sorted(rows, key=lambda row: float(row.group))
    return list(rows)


def best_first(rows: Sequence[Shown]) -> list[Shown]:
    """Rows from the highest value down; numbers stay in their order."""
    if all(_is_number(row.group) for row in rows):
        return list(rows)
    return sorted(rows, key=lambda row: -row.value)


def intervals_are(result: Result, check: str) -> str:
    """What the intervals of a check are, as a sentence."""
    if _over_runs(result, check):
        return "Means, with one standard deviation either side."
    known = any(e.low is not None for e in result.estimates if e.check == check)
    return "Dots with 95 % intervals." if known else ""


def point(row: Shown, *, name: str | None = None, series: str = "", group: str = "") -> charts.Point:
    """A row as a dot."""
    low, high = _within(row)
    name = row.group if name is None else name
    return charts.Point(name, row.value, low, high, row.n, series, group, row.interval)


def curve_points(rows: Iterable[Shown], series: str = "") -> list[charts.CurvePoint]:
    """Rows as the points of a curve; those of no number are left out."""
    return [
        charts.CurvePoint(float(row.group), row.value, *_within(row), row.n, series, row.interval)
        for row in rows
        if _is_number(row.group)
    ]


def dots(
    id: str, title: str, points: Sequence[charts.Point], *, note: str, what: str, first: str, series: str = ""
) -> Figure:
    """A dot chart of shares with its table; `first` names the rows, `series` what tells dots of a row apart."""
    grouped = any(one.group for one in points)
    names = list(dict.fromkeys((one.group, one.row) for one in points))
    drawn, listed = set(names[:ROWS]), set(names[:TABLE])
    more = f" The chart has the first {ROWS} of {len(names):,}." if len(names) > ROWS else ""
    more += f" The table has the first {TABLE:,}." if len(names) > TABLE else ""
    return Figure(
        id=id,
        draw=partial(
            charts.intervals,
            [one for one in points if (one.group, one.row) in drawn],
            title=what,
            share=True,
            series_are=series or "model",
        ),
        title=title,
        note=f"{note}{more}".strip(),
        columns=(*(["group"] if grouped else []), first, *([series] if series else []), what, "interval", "n"),
        rows=tuple(
            (*([one.group] if grouped else []), one.row, *([one.series] if series else []), *_cells(one))
            for one in points
            if (one.group, one.row) in listed
        ),
        records=tuple(
            {
                **({"group": one.group} if grouped else {}),
                first: one.row,
                **({series: one.series} if series else {}),
                **record(one, what),
            }
            for one in points
        ),
    )


def curve(
    id: str,
    title: str,
    points: Sequence[charts.CurvePoint],
    *,
    note: str,
    x: str,
    what: str,
    peak: charts.CurvePoint | None = None,
) -> Figure:
    """A line chart of shares with its table; where most points have many items, those with few are left out."""
    several = any(one.series for one in points)
    drawn = [one for one in points if one.n is None or one.n >= FEW]
    if len(drawn) < len(points) / 4:
        drawn = list(points)
    few = f" Where there are fewer than {FEW}, the values are in the table alone." if len(drawn) < len(points) else ""
    return Figure(
        id=id,
        draw=partial(charts.curves, drawn, x=x, title=what, peak=peak),
        title=title,
        note=f"{note}{few}".strip(),
        columns=(*(["of"] if several else []), x, what, "interval", "n"),
        rows=tuple((*([one.series] if several else []), f"{one.x:g}", *_cells(one)) for one in points[:TABLE]),
        records=tuple({**({"of": one.series} if several else {}), x: one.x, **record(one, what)} for one in points),
    )


def record(one: charts.Point | charts.CurvePoint, what: str) -> dict[str, Any]:
    """Value, interval and n of a dot, for a program."""
    return {what: one.value, "low": one.low, "high": one.high, "n": one.n}


def counts_items(result: Result, check: str) -> bool:
    """Whether the n of a check counts items, and not runs or columns."""
    return not _over_runs(result, check)


def spread_note(result: Result) -> str:
    """What the intervals are where they are none; empty where they are."""
    found = [e for e in result.estimates if is_deviation(e.method)]
    return f"Means of {max(e.n for e in found)}, with one standard deviation either side." if found else ""


def _over_runs(result: Result, check: str) -> bool:
    return any(is_deviation(e.method) for e in result.estimates if e.check == check)


def _cells(one: charts.Point | charts.CurvePoint) -> tuple[str, str, str]:
    """Value, interval and n of a dot in a table."""
    interval = one.interval or interval_text(one.low, one.high, None, share=True)
    return percent(one.value), interval or "–", "–" if one.n is None else f"{one.n:,}"


def _within(row: Shown) -> tuple[float | None, float | None]:
    """The ends of an interval; a deviation from the mean may go beyond what a share can be."""
    if not row.share or row.low is None or row.high is None:
        return row.low, row.high
    return max(0.0, row.low), min(1.0, row.high)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
