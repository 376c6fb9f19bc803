"""`wug compare`: models against each other, item by item."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wug.cli import _common as common
from wug.cli import _printing as printing

if TYPE_CHECKING:
    from rich.console import Console

    from wug.results.comparison import Choice, Comparison
    from wug.results.store import Store
    from wug.stats_paired import IntervalKind

CHARTS = (".svg", ".png")
PAGES = (*CHARTS, ".html", ".htm")


@common.having(common.DB, common.FORMAT)
@click.command("compare")
@click.argument("sides", nargs=-1, required=True, metavar="RUN[,RUN]...")
@click.option("--suite", "suites", multiple=True, help="Only this suite; * stands for anything; repeatable.")
@click.option(
    "--check", "checks", multiple=True, help="Only this check; likewise.  [default: those a suite shows first]"
)
@click.option("--all-pairs", is_flag=True, help="Every two; else all against the first.")
@click.option(
    "--pool", is_flag=True, help="Also each suite's right-or-wrong checks together, and all suites, clustered by item."
)
@click.option("--items", type=click.IntRange(min=0), default=0, metavar="N", help="List N items that differ.")
@common.choice(
    "--interval",
    "t",
    "bca",
    help="Interval and test of means: Student's t, or the BCa bootstrap with a permutation test. Right or wrong has "
    "Tango's interval with McNemar's test.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="For drawn signs and samples.")
@click.option("--curve", is_flag=True, help="Instead: each check over the training steps of the runs.")
@click.option("--steps", help="The steps of the runs of --curve, as 0,1000,2000, where their names do not tell.")
@click.option(
    "-o",
    "--output",
    type=common.OUTPUT_FILE,
    help="A file; its suffix says what: .html a report, .svg or .png a chart, .csv .tsv .json .md .tex a table.",
)
def command(
    sides: tuple[str, ...],
    suites: tuple[str, ...],
    checks: tuple[str, ...],
    all_pairs: bool,
    pool: bool,
    items: int,
    interval: IntervalKind,
    seed: int,
    curve: bool,
    steps: str | None,
    output: Path | None,
    db: Path | None,
    form: str,
) -> None:
    """Compare runs item by item: who is ahead, and how surely.

    RUN is a number, the beginning of a name, or last. Runs are compared on the items that they share. Those joined by
    commas are one side: the seeds or checkpoints of a model, as their mean. sweep:NAME are all runs of a sweep; with
    --curve, one sweep over its training steps, or two of them step by step.

    \b
    wug compare 1 2
    wug compare 1 2 3 --all-pairs --suite 'blimp*' --format latex
    wug compare 1,2,3 4,5,6 --items 10
    wug compare --curve 1 2 3 4 -o curve.svg
    wug compare --curve sweep:small sweep:large
    """
    from wug.results.comparison import Choice
    from wug.results.run_names import side
    from wug.views import charts

    if steps is not None and not curve:
        raise click.UsageError("--steps is about --curve")
    if output is not None:
        common.agreed(
            form if common.given("form") else None,
            output,
            {**dict.fromkeys(PAGES, "a page or chart"), **common.SUFFIXES},
        )
        if output.suffix.lower() in PAGES:
            charts.require()
    store = common.open_store(db)
    choice = Choice(suites, checks, all_pairs, pool, items, interval, seed)
    if curve and all(text.startswith("sweep:") for text in sides):
        _sweeps(store, sides, choice, output, form)
        return
    numbers = [side(store.reader, text) for text in sides]
    if curve:
        _curve(store, [number for side in numbers for number in side], suites, checks, steps, output, form)
        return
    _compare(store, numbers, choice, output, form)


def _compare(store: Store, sides: list[list[int]], choice: Choice, output: Path | None, form: str) -> None:
    from wug.results.comparison import compare
    from wug.views import comparison as report

    found = compare(store, sides, choice)
    if output is None and form == "table":
        report.show(found, _console())
        first = found.contrasts[0]
        if not choice.items and any(contrast.disagreeing for contrast in found.contrasts):
            runs = [",".join(map(str, side.runs)) for side in (first.first, first.second)]
            common.say(f"the items that differ: {common.again('compare', *runs, '--items', 10)}")
        return
    suffix = "" if output is None else output.suffix.lower()
    if output is not None and suffix in CHARTS:
        from wug.views import charts
        from wug.views.comparison_chart import chart

        charts.save(chart(found), output)
        common.say(f"wrote {output}")
    elif output is not None and suffix in (".html", ".htm"):
        _page(store, found, output)
    else:
        common.deliver_text(report.FORMATS[_form(output, form)](found), output)


def _curve(
    store: Store,
    runs: list[int],
    suites: tuple[str, ...],
    checks: tuple[str, ...],
    steps: str | None,
    output: Path | None,
    form: str,
) -> None:
    from wug.results.learning_curves import learning_curves
    from wug.views import charts
    from wug.views import learning_curves as learning

    curves = learning_curves(store, runs, suites=suites, checks=checks, steps=None if steps is None else _steps(steps))
    if output is None and form == "table":
        learning.show(curves, _console())
    elif output is not None and output.suffix.lower() in (*CHARTS, ".html"):
        charts.save(learning.chart(curves), output)
        common.say(f"wrote {output}")
    else:
        common.deliver_text(learning.FORMATS[_form(output, form)](curves), output)


def _sweeps(store: Store, names: tuple[str, ...], choice: Choice, output: Path | None, form: str) -> None:
    """One sweep as curves, or two step by step; as a chart, the curves of all of them."""
    from wug.results.sweep_curves import compare_sweeps, sweep_curves
    from wug.results.sweeps import find
    from wug.views import charts, sweep
    from wug.views import learning_curves as learning

    found = [find(store.reader, name) for name in names]
    drawn = output is not None and output.suffix.lower() in (*CHARTS, ".html")
    if len(found) == 1 or drawn:
        curves = sweep_curves(store.reader, found, suites=choice.suites, checks=choice.checks)
        if output is not None and drawn:
            charts.save(sweep.chart(curves), output)
            common.say(f"wrote {output}")
        elif output is None and form == "table":
            sweep.show_curves(curves, _console())
        else:
            common.deliver_text(learning.FORMATS[_form(output, form)](curves), output)
        return
    if len(found) > 2:
        raise click.UsageError("--curve compares two sweeps; for more, -o curves.svg draws them together")
    compared = compare_sweeps(store, found[0], found[1], choice)
    if output is None and form == "table":
        sweep.show_comparison(compared, _console())
    else:
        common.deliver_text(sweep.FORMATS[_form(output, form)](compared), output)


def _page(store: Store, found: Comparison, output: Path) -> None:
    """The report of the runs, with the comparison in it."""
    common.write_page(store, [number for side in found.sides for number in side.runs], found, output)


def _steps(text: str) -> list[float]:
    from wug.errors import InputError

    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--steps {text!r}: write numbers joined by commas, as in 0,1000,2000") from None


def _form(output: Path | None, form: str) -> str:
    """The format of a table: that of the file's suffix, or the one asked for."""
    return form if output is None or common.given("form") else common.SUFFIXES[output.suffix.lower()]


def _console() -> Console:
    return printing.console(width=160)
