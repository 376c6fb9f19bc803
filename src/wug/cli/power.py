"""`wug power`: how many items an interval or a difference takes."""

from __future__ import annotations

from pathlib import Path

import click

from wug.cli import _common as common
from wug.errors import InputError
from wug.families.commands import OUTPUT_FILE
from wug.views import charts

CHARTS = (".svg", ".png", ".pdf")


@common.with_options(common.STORE, common.TABLE_FORMAT)
@click.command("power")
@click.argument("words", nargs=-1, required=True, metavar="RUN [RUN]")
@click.option("--suite", "suites", multiple=True, help="Only this suite; * matches anything; repeatable.")
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
def command(
    words: tuple[str, ...],
    suites: tuple[str, ...],
    metrics: tuple[str, ...],
    width: float | None,
    difference: float | None,
    power: float,
    output: Path | None,
    store_path: Path | None,
    form: str,
) -> None:
    """Compute how many items a suite needs, from stored results.

    With one run: the number of items for an interval of a given width. With two: the number of items with which a
    two-sided test at 5% detects their difference with a given power.

    \b
    wug power 1
    wug power 1 --metric margin --width 0.5
    wug power 1 2 --difference 0.05 -o power.svg
    """
    from wug.results.power import PowerWanted, needed_items
    from wug.results.run_names import numbers
    from wug.views.power import power_chart, power_table

    if len(words) == 1 and difference is not None:
        raise click.UsageError("--difference is for two runs")
    if len(words) > 1 and width is not None:
        raise click.UsageError("--width is for one run")
    if output is not None:
        if output.suffix.lower() not in CHARTS:
            raise InputError(f"write a chart: one of {', '.join(CHARTS)}", file=output)
        charts.require(output)
    store = common.open_store(store_path)
    wanted = PowerWanted(width, difference, power, suites, metrics)
    found = needed_items(store, numbers(store.reader, words), wanted)
    common.deliver_table(power_table(found, power), form, None)
    if output is not None:
        charts.save(power_chart(found), output)
        common.say(f"wrote {output}")
