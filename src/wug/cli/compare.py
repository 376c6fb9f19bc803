"""`wug compare`: models against each other, item by item."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wug.cli import _common as common
from wug.cli import _printing as printing

if TYPE_CHECKING:
    from rich.console import Console

    from wug.runs.compare import Choice, Comparison
    from wug.runs.store import Store
    from wug.stats_paired import IntervalKind

CHARTS = (".svg", ".png")


@common.having(common.DB, common.FORMAT)
@click.command("compare")
@click.argument("sides", nargs=-1, required=True, metavar="RUN[,RUN...]...")
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
    help="The interval of means: Student's t, or the BCa bootstrap. Right or wrong has Tango's score interval.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="For drawn signs and samples.")
@click.option("--curve", is_flag=True, help="Instead: each check over the training steps of the runs.")
@click.option("--steps", help="The steps of the runs of --curve, as 0,1000,2000, where their names do not tell.")
@click.option(
    "-o",
    "--output",
    type=common.FILE,
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
    """Compare runs on the items that they share: who is ahead, by how much, how surely.

    Runs joined by commas are one side: the seeds or checkpoints of a model, as their mean.

    \b
    wug compare 1 2
    wug compare 1 2 3 --all-pairs --suite 'blimp*' --format latex
    wug compare 1,2,3 4,5,6 --items 10
    wug compare --curve 1 2 3 4 -o curve.svg
    """
    from wug.runs.compare import Choice
    from wug.runs.store import Store
    from wug.show import charts

    if output is not None and output.suffix.lower() in (*CHARTS, ".html", ".htm"):
        charts.require()
    store = Store(db or common.default_db())
    numbers = [_side(text) for text in sides]
    if steps is not None and not curve:
        raise click.UsageError("--steps is about --curve")
    if curve:
        _curve(store, [number for side in numbers for number in side], suites, checks, steps, output, form)
        return
    choice = Choice(suites, checks, all_pairs, pool, items, interval, seed)
    _compare(store, numbers, choice, output, form)


def _compare(store: Store, sides: list[list[int]], choice: Choice, output: Path | None, form: str) -> None:
    from wug.runs.compare import compare
    from wug.show import comparison as report

    found = compare(store, sides, choice)
    if output is None and form == "table":
        report.show(found, _console())
        first = found.contrasts[0]
        if not choice.items and any(contrast.disagreeing for contrast in found.contrasts):
            runs = " ".join(",".join(map(str, side.runs)) for side in (first.first, first.second))
            common.say(f"the items that differ: wug compare {runs} --items 10")
        return
    suffix = "" if output is None else output.suffix.lower()
    if output is not None and suffix in CHARTS:
        from wug.show import charts
        from wug.show.comparison_chart import chart

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
    from wug.runs.learning import learning_curves
    from wug.show import charts, learning

    curves = learning_curves(store, runs, suites=suites, checks=checks, steps=None if steps is None else _steps(steps))
    if output is None and form == "table":
        learning.show(curves, _console())
    elif output is not None and output.suffix.lower() in (*CHARTS, ".html"):
        charts.save(learning.chart(curves), output)
        common.say(f"wrote {output}")
    else:
        common.deliver_text(learning.FORMATS[_form(output, form)](curves), output)


def _page(store: Store, found: Comparison, output: Path) -> None:
    """The report of the runs, with the comparison in it."""
    common.write_page(store, [number for side in found.sides for number in side.runs], found, output)


def _side(text: str) -> list[int]:
    """The numbers of the runs in `1,2,3`."""
    from wug.errors import InputError
    from wug.files import shortened

    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 19 for part in parts):
        raise InputError(
            f"{shortened(text)!r} is no run: give its number, or several joined by commas, as in 1,2,3 (wug list runs)"
        )
    return [int(part) for part in parts]


def _steps(text: str) -> list[float]:
    from wug.errors import InputError

    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--steps {text!r}: write numbers joined by commas, as in 0,1000,2000") from None


def _form(output: Path | None, form: str) -> str:
    """The format: that of the file's suffix, or the one asked for."""
    from wug.errors import InputError

    if output is None:
        return form
    known = {".csv": "csv", ".tsv": "tsv", ".json": "json", ".md": "md", ".tex": "latex"}
    suffix = output.suffix.lower()
    if form != "table":
        return form
    if suffix not in known:
        every = ", ".join([*CHARTS, ".html", *known])
        raise InputError(f"unknown kind of file {suffix!r}. Use one of {every}, or say --format", file=output)
    return known[suffix]


def _console() -> Console:
    return printing.console(width=160)
