"""The view of a family that has none of its own: estimates by group, and the items that fail with all that is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from wug.rows import Placed, Rows
from wug.types import DATA, Result
from wug.views import charts
from wug.views.grouped import by_field, intervals_are, overall_parts, point, record
from wug.views.numbers import Shown, plain
from wug.views.parts import Facts, Figure, Item, Items, Part, Sample

ROWS = 80
"""Groups that one chart holds; more are in its table."""


def parts(result: Result, rows: Rows) -> Iterator[Part]:
    """Estimates, their groups as charts, what the suite says of itself."""
    yield from overall_parts(result)
    yield from group_figures(result)
    if about := facts(result):
        yield Facts(about, folded="About this suite")


def items(result: Result, rows: Rows) -> Items:
    """Every item with all that is known of it."""
    check = "" if result.headline is None else result.headline.check
    failing = [other for other in rows.checks() if rows.tally(other)["false"]]
    several = len(failing) > 1
    samples = (Sample(f"Items that fail: {plain(c)}" if several else "Items that fail", c) for c in failing)
    return Items(check, _item, tuple(samples))


def group_figures(result: Result) -> list[Figure]:
    """A dot chart for each check and each field that it is broken down by."""
    checks = dict.fromkeys(estimate.check for estimate in result.estimates)
    fields = [(check, field, rows) for check in checks for field, rows in by_field(result, check).items()]
    return [_figure(result, check, field, rows, f"groups-{i}") for i, (check, field, rows) in enumerate(fields)]


def facts(result: Result) -> dict[str, Any]:
    """What the suite says of itself, but for what is empty."""
    return {
        plain(key): value for key, value in result.meta.items() if key != DATA and value not in (None, "", [], (), {})
    }


def _item(row: Placed, judgements: Sequence[Placed]) -> Item:
    failed = [other.outcome.check for other in judgements if other.outcome.value is False]
    known = {**row.outcome.groups, **row.outcome.detail}
    return Item(
        failed=tuple(check for check in failed if check != row.outcome.check), parts=(Facts(known),) if known else ()
    )


def _figure(result: Result, check: str, name: str, rows: list[Shown], id: str) -> Figure:
    points, share = [point(row) for row in rows[:ROWS]], result.check(check).unit == "share"
    more = f" The first {ROWS} of {len(rows)} groups; the table has them all." if len(rows) > ROWS else ""
    return Figure(
        id=id,
        draw=partial(charts.intervals, points, title=plain(check), share=share),
        title=f"{plain(check).capitalize()} by {plain(name)}",
        note=f"{intervals_are(result, check)}{more}".strip(),
        columns=(plain(name), plain(check), "95 % interval", "n"),
        rows=tuple((row.group, row.text, row.interval or "–", f"{row.n:,}") for row in rows),
        records=tuple({plain(name): row.group, **record(point(row), plain(check))} for row in rows),
    )
