"""`wug power`: how many items an interval or a difference takes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wug.cli import _common as common
from wug.errors import InputError
from wug.families.commands import OUTPUT_FILE
from wug.formatting import metric_label, value_text
from wug.tables import Display, FormattedTable, RowTable
from wug.views import chart_files, charts

if TYPE_CHECKING:
    import altair

    from wug.results.power import NeededItems

POINTS = 24
"""Of a curve."""
MAX_CURVES = 8


@common.with_options(common.STORE, common.TABLE_FORMAT)
@click.command("power")
@click.argument("words", nargs=-1, required=True, metavar="RUN [RUN]")
@common.suite_filter
@click.option(
    "--metric", "metrics", multiple=True, help="Only this metric, such as margin; repeatable.  [default: headlines]"
)
@click.option(
    "--width",
    type=float,
    help="Target width of the 95% interval, in the unit of the metric.  [default: 0.1 for proportions, else 1]",
)
@click.option("--difference", type=float, help="Difference to detect between two runs.  [default: the observed one]")
@click.option("--power", type=float, default=0.8, show_default=True, help="Probability of finding the difference.")
@click.option("-o", "--output", type=OUTPUT_FILE, help="Also write a chart: .svg, .png or .pdf.")
def command(words: tuple[str, ...], output: Path | None, store_path: Path, format: str, **values: Any) -> None:
    """Compute how many items a suite needs, from stored results.

    With one run: the number of items for an interval of a given width. With two: the number of items with which a
    two-sided test at 5% detects their difference with a given power.

    \b
    wug power 1
    wug power 1 --metric margin --width 0.5
    wug power 1 2 --difference 0.05 -o power.svg
    """
    from wug.results.power import PowerWanted, needed_items
    from wug.results.run_admin import numbers

    target = PowerWanted(**values)
    store = common.open_store(store_path)
    runs = numbers(store.reader, words)
    if len(runs) == 1 and target.difference is not None:
        raise click.UsageError("--difference is for two runs")
    if len(runs) > 1 and target.width is not None:
        raise click.UsageError("--width is for one run")
    if output is not None:
        if output.suffix.lower() not in common.CHARTS:
            raise InputError(f"write a chart: one of {', '.join(common.CHARTS)}", file=output)
        chart_files.require(output)
    needs = needed_items(store, runs, target)
    common.deliver_table(_table(needs, target.power), format, None)
    if output is not None:
        chart_files.save(_chart(needs), output)
        common.notify(f"wrote {output}")


def _table(needs: Sequence[NeededItems], power: float) -> RowTable:
    from wug.stats_paired import MAX_ITEMS

    is_paired = needs[0].paired
    value, now_name = ("difference", "power_now") if is_paired else ("value", "width_now")
    target = "wanted_difference" if is_paired else "wanted_width"
    names = ("suite", "metric", value, "n", now_name, target, "items_needed")
    rows = [(e.suite, e.metric, e.value, e.items, e.now, e.wanted, e.needed) for e in needs]
    cells = [
        (
            e.suite,
            metric_label(e.metric, e.kind),
            value_text(e.value, share=e.share),
            f"{e.items:,}",
            value_text(e.now, share=e.share or is_paired),
            value_text(e.wanted, share=e.share),
            f"more than {MAX_ITEMS:,}" if e.needed is None else f"{e.needed:,}",
        )
        for e in needs
    ]
    head = (
        ("suite", "metric", "difference", "n", "power", "wanted difference", f"items for a power of {power:g}")
        if is_paired
        else ("suite", "metric", "value", "n", "interval width", "wanted width", "items")
    )
    kinds = {name: str if name in ("suite", "metric") else float for name in names} | {"n": int, "items_needed": int}
    return RowTable(names, rows, kinds, display=Display([FormattedTable(head, cells, "llrrrrr")]))


def _chart(needs: Sequence[NeededItems]) -> altair.LayerChart:
    import numpy as np

    drawn_needs = needs[:MAX_CURVES]
    is_paired = drawn_needs[0].paired
    largest = max(max(e.items, e.needed or e.items) for e in drawn_needs)
    points = [
        charts.LinePoint(float(items), e.curve(items), series=f"{e.suite}, {metric_label(e.metric, e.kind)}")
        for e in drawn_needs
        for items in sorted({int(n) for n in np.geomspace(5, max(10, 2 * largest), POINTS)})
    ]
    share = is_paired or all(e.share for e in drawn_needs)
    label = "power" if is_paired else "width of the 95% interval"
    subtitle = "items in the runs: " + ", ".join(dict.fromkeys(f"{e.suite} {e.items:,}" for e in drawn_needs))
    chart: altair.LayerChart = charts.curves(points, x="items", title=label, share=share).properties(
        title=chart_files.title(f"{label.capitalize()} by number of items", subtitle)
    )
    return chart
