"""`wug compare`: compare runs item by item."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from wug.cli import _common as common
from wug.cli import _printing as printing
from wug.errors import InputError
from wug.families.commands import OUTPUT_FILE
from wug.tables import Tabular, format_suffixes
from wug.views import chart_files

if TYPE_CHECKING:
    import altair
    from rich.console import Console

    from wug.results.comparison import ComparisonSettings
    from wug.results.store import Store

Show: TypeAlias = "Callable[[Console], None]"
Draw: TypeAlias = "Callable[[], altair.LayerChart | altair.VConcatChart]"
PAGES = (*common.CHARTS, ".html", ".htm")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """The options of the command that are not about statistics."""

    protocols: bool
    curve: bool
    steps: str | None
    output: Path | None
    format: str

    @property
    def suffix(self) -> str:
        """The suffix of the output file, in lower case."""
        return "" if self.output is None else self.output.suffix.lower()

    @property
    def in_terminal(self) -> bool:
        """Whether to print a table for people."""
        return self.output is None and self.format == "table"

    @property
    def table_format(self) -> str:
        """The format of --format, or of the file."""
        chosen = self.output is None or common.on_command_line("format")
        return self.format if chosen else format_suffixes()[self.suffix]

    def deliver(self, table: Callable[[], Tabular], show: Show | None = None, draw: Draw | None = None) -> None:
        """Print or write a table: by `show` in a terminal, by `draw` as a chart."""
        if show and self.in_terminal:
            show(printing.console(width=160))
        elif draw and self.output is not None and self.suffix in PAGES:
            chart_files.save(draw(), self.output)
            common.notify(f"wrote {self.output}")
        else:
            common.deliver_table(table(), self.table_format, self.output)


@common.with_options(
    common.choice(
        "--interval",
        "t",
        "bca",
        help="Interval and test of means: Student's t, or the BCa bootstrap with a permutation test. Right-or-wrong "
        "metrics have Tango's interval and McNemar's test.",
    ),
    common.STORE,
    common.TABLE_FORMAT,
)
@click.command("compare")
@click.argument("sides", nargs=-1, required=True, metavar="RUN[,RUN]...")
@common.suite_filter
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    help="Compare only this metric (repeatable).  [default: the headline metrics of each suite]",
)
@click.option("--all-pairs", is_flag=True, help="Compare all pairs, not only each with the first.")
@click.option(
    "--pool",
    is_flag=True,
    help="Also pool the right-or-wrong metrics per suite and over all suites, clustered by item.",
)
@click.option("--items", type=click.IntRange(min=0), default=0, metavar="N", help="List N items that differ.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Random seed for permutation and bootstrap.",
)
@click.option("--protocols", is_flag=True, help="Show how the protocol changes the score: one row per run and suite.")
@click.option("--curve", is_flag=True, help="Show each metric over the training steps of the runs instead.")
@click.option("--steps", help="Steps of the runs of --curve, as 0,1000,2000, if their names do not contain them.")
@click.option(
    "-o",
    "--output",
    type=OUTPUT_FILE,
    help="Output file; its suffix selects a report (.html), a chart (.svg, .png, .pdf) or a table (.csv, .md, .tex, "
    ".parquet, …).",
)
def command(sides: tuple[str, ...], store_path: Path, **values: Any) -> None:
    """Compare runs item by item, with intervals and p-values.

    RUN is a number, the beginning of a name, or last. Runs are compared on shared items. Runs joined by commas are one
    side, such as the seeds or checkpoints of a model, and their mean is compared. sweep:NAME means all runs of a
    sweep; with --curve, one sweep over its training steps, or two of them step by step. A single RUN is enough if it
    has several results of a suite, such as those of -S method=direct,in_template.

    \b
    wug compare 1 2
    wug compare 1 2 3 --all-pairs --suite 'blimp*' --format latex
    wug compare 1,2,3 4,5,6 --items 10
    wug compare --protocols 1 2 3         one model under different protocols
    wug compare --curve 1 2 3 4 -o curve.svg
    wug compare --curve sweep:small sweep:large
    """
    from wug.results.comparison import ComparisonSettings
    from wug.results.run_admin import side

    options = CompareOptions(**{name: values.pop(name) for name in CompareOptions.__slots__})
    if options.steps is not None and not options.curve:
        raise click.UsageError("--steps is for --curve")
    if options.output is not None:
        formats = {**format_suffixes(), **dict.fromkeys(common.CHARTS, "a chart"), ".html": "html", ".htm": "html"}
        common.resolve_format(options.format if common.on_command_line("format") else None, options.output, formats)
        if options.suffix in PAGES:
            chart_files.require()
        else:
            common.require_format(options.table_format, options.output)
    store = common.open_store(store_path)
    settings = ComparisonSettings(**values)
    if options.curve and all(text.startswith("sweep:") for text in sides):
        _sweeps(store, sides, settings, options)
        return
    numbers = [side(store.reader, text) for text in sides]
    if options.protocols:
        _protocols(store, [number for side in numbers for number in side], settings, options)
    elif options.curve:
        _curve(store, [number for side in numbers for number in side], settings, options)
    else:
        _compare(store, numbers, settings, options)


def _compare(store: Store, sides: list[list[int]], settings: ComparisonSettings, options: CompareOptions) -> None:
    from wug.results.comparison import compare
    from wug.views import comparison as comparison_view
    from wug.views.comparison_charts import chart

    comparison = compare(store, sides, settings)
    if options.output is not None and options.suffix in PAGES and options.suffix not in common.CHARTS:
        common.write_page(store, [run for side in comparison.sides for run in side.runs], comparison, options.output)
        return
    show, draw = partial(comparison_view.show, comparison), partial(chart, comparison)
    options.deliver(partial(comparison_view.table, comparison), show, draw)
    if options.in_terminal and not settings.items and any(contrast.disagreeing for contrast in comparison.contrasts):
        first = comparison.contrasts[0]
        runs = [",".join(map(str, side.runs)) for side in (first.first, first.second)]
        command_text = common.suggested_command("compare", *dict.fromkeys(runs), "--items", 10)
        common.notify(f"the items that differ: {command_text}")


def _protocols(store: Store, runs: list[int], settings: ComparisonSettings, options: CompareOptions) -> None:
    """The score under each protocol, and the items whose judgement differs from the first run with the same model."""
    from wug.views.result_tables import protocol_table

    if options.suffix in PAGES:
        raise click.UsageError("--protocols is a table: write .csv, .md, .tex or .json")
    results = [(run, result) for run in runs for result in store.results(run)]
    options.deliver(partial(protocol_table, results, settings.suites))


def _curve(store: Store, runs: list[int], settings: ComparisonSettings, options: CompareOptions) -> None:
    from wug.results.learning_curves import learning_curves
    from wug.views import sweeps

    steps = None if options.steps is None else _steps(options.steps)
    curves = learning_curves(store, runs, suites=settings.suites, metrics=settings.metrics, steps=steps)
    show = partial(sweeps.show_points, curves)
    options.deliver(
        partial(sweeps.curve_table, curves), show, lambda: chart_files.stack_figures(sweeps.curve_figures(curves))
    )


def _sweeps(store: Store, names: tuple[str, ...], settings: ComparisonSettings, options: CompareOptions) -> None:
    """One sweep as curves, or two step by step; as a chart, the curves of all."""
    from wug.results.sweep_curves import compare_sweeps, sweep_curves
    from wug.results.sweeps import find
    from wug.views import sweeps

    found_sweeps = [find(store.reader, name) for name in names]
    if len(found_sweeps) == 1 or options.suffix in PAGES:
        curves = sweep_curves(store.reader, found_sweeps, suites=settings.suites, metrics=settings.metrics)
        show = partial(sweeps.show_curves, curves)
        draw = partial(chart_files.stack_figures, sweeps.sweep_figures(curves))
        options.deliver(partial(sweeps.curve_table, curves), show, draw)
        return
    if len(found_sweeps) > 2:
        raise click.UsageError("--curve compares two sweeps; to draw more, use -o curves.svg")
    sweep_comparison = compare_sweeps(store, found_sweeps[0], found_sweeps[1], settings)
    options.deliver(
        partial(sweeps.comparison_table, sweep_comparison), partial(sweeps.show_comparison, sweep_comparison)
    )


def _steps(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--steps {text!r}: write numbers joined by commas, as in 0,1000,2000") from None
