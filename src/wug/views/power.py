"""The number of items that metrics need, as a table and as a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from wug.formatting import plain, value_text
from wug.results.power import NeededItems
from wug.stats_power import MAX_ITEMS
from wug.tables import Display, FormattedTable, RowTable
from wug.views import charts

if TYPE_CHECKING:
    import altair

POINTS = 24
"""Of a curve."""
MAX_CURVES = 8


def power_table(found: Sequence[NeededItems], power: float) -> RowTable:
    """One row per suite and metric: the value, what these items give, and how many are needed."""
    paired = found[0].paired
    value, now = ("difference", "power_now") if paired else ("value", "width_now")
    wanted = "wanted_difference" if paired else "wanted_width"
    names = ("suite", "metric", value, "n", now, wanted, "items_needed")
    rows = [(one.suite, one.metric, one.value, one.items, one.now, one.wanted, one.needed) for one in found]
    shown = [
        (
            one.suite,
            plain(one.metric),
            value_text(one.value, share=one.share),
            f"{one.items:,}",
            value_text(one.now, share=one.share or paired),
            value_text(one.wanted, share=one.share),
            f"more than {MAX_ITEMS:,}" if one.needed is None else f"{one.needed:,}",
        )
        for one in found
    ]
    head = (
        ("suite", "metric", "difference", "n", "power", "wanted difference", f"items for a power of {power:g}")
        if paired
        else ("suite", "metric", "value", "n", "interval width", "wanted width", "items")
    )
    kinds = {name: str if name in ("suite", "metric") else float for name in names} | {"n": int, "items_needed": int}
    return RowTable(names, rows, kinds, display=Display([FormattedTable(head, shown, "llrrrrr")]))


def power_chart(found: Sequence[NeededItems]) -> altair.LayerChart:
    """The power, or the width of the interval, over the number of items."""
    drawn = found[:MAX_CURVES]
    paired = drawn[0].paired
    largest = max(max(one.items, one.needed or one.items) for one in drawn)
    points = [
        charts.LinePoint(float(items), one.curve(items), series=f"{one.suite}, {plain(one.metric)}")
        for one in drawn
        for items in sorted({int(n) for n in np.geomspace(5, max(10, 2 * largest), POINTS)})
    ]
    share = paired or all(one.share for one in drawn)
    what = "power" if paired else "width of the 95% interval"
    about = "items in the runs: " + ", ".join(dict.fromkeys(f"{one.suite} {one.items:,}" for one in drawn))
    made: altair.LayerChart = charts.curves(points, x="items", title=what, share=share).properties(
        title=charts.title(f"{what.capitalize()} by number of items", about)
    )
    return made
