"""`wug export`: runs for other programs, for papers, as charts."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wug import registry
from wug.cli import _common as common
from wug.cli import _printing as printing
from wug.configuration import config
from wug.errors import InputError, UnknownName, WugError
from wug.families.commands import OUTPUT_FOLDER
from wug.files import write_pieces, writing
from wug.outcomes import Result
from wug.patterns import matches, require_matches
from wug.tables import RowTable, format_named, format_names, format_suffixes
from wug.views import chart_files
from wug.views.chart_files import ChartStyle

if TYPE_CHECKING:
    from wug.results.contrasts import RunComparison
    from wug.results.store import Store

CONTENTS = ("outcomes", "estimates", "surprisals", "suite", "comparison")
FOR_PEOPLE = ("table", "markdown", "latex", "html")
"""Formats in which estimates are exported by default."""
CHARTS = (".svg", ".png", ".pdf", ".html", ".json")
STYLE_OPTIONS = ("width", "height", "font_size", "palette")
"""Options of charts."""
EXPORTED_BY_DUCKDB = ("csv", "tsv", "json", "jsonl", "parquet")
"""Formats in which DuckDB writes outcomes, however many there are."""
PIECE_BYTES = 1 << 20


@common.with_options(common.STORE)
@click.command("export")
@click.argument("words", nargs=-1, metavar="[RUN]...")
@click.option(
    "--to",
    "format",
    metavar="FORMAT",
    help=f"The format: {', '.join(format_names())}; or, into the folder -o, a format of another program (eee, lm-eval, "
    "hf, model-index) or the submission of a benchmark, such as babylm.  [default: the suffix of -o, or csv]",
)
@click.option(
    "--what",
    type=click.Choice(CONTENTS),
    help="Content to write: outcomes, estimates, surprisals by region (SyntaxGym), the evaluated suite as JSON "
    "(SyntaxGym), or differences between runs.  [default: outcomes; estimates for table, md, latex and html]",
)
@click.option(
    "--wide", is_flag=True, help="Write headline values, one row per model and one column per suite; the best in bold."
)
@click.option(
    "--label", "labels", multiple=True, metavar="MODEL=NAME", help="With --wide or --chart, name a model; repeatable."
)
@common.suite_filter
@click.option("--chart", is_flag=True, help="Write a chart instead; suffix of -o: .svg, .png, .pdf, .html or .json.")
@click.option("--figure", help="Chart to write, by a word of its title.  [default: the first]")
@click.option("--width", type=int, help="Width of a chart in pixels.  [default: 760]")
@click.option("--height", type=int, help="Height of a chart in pixels.  [default: as its rows need]")
@click.option("--font-size", type=int, help="Font size of a chart.  [default: 12]")
@click.option("--palette", help="Colours of a chart: default, grey, okabe-ito, or #0072b2,#d55e00,…")
@click.option("-o", "--output", type=OUTPUT_FOLDER, help="Output file or folder.  [default: stdout]")
@click.option("--raw", is_flag=True, help="In csv and tsv, do not escape cells that a spreadsheet would evaluate.")
@click.option("--organization", default="unknown", metavar="NAME", help="With --to eee, name who evaluated the model.")
@click.option(
    "--relationship",
    type=click.Choice(["first_party", "third_party", "collaborative", "other"]),
    default="other",
    help="With --to eee, relation of the evaluator to the model.",
)
@click.option("--with-samples", is_flag=True, help="With --to eee or lm-eval, fail if the items cannot be written.")
@click.option("--dataset", metavar="ID", help="With --to hf or model-index, the data set's id on the Hugging Face Hub.")
@click.option("--task-id", metavar="ID", help="With --to hf, the task's id in that data set.  [default: the suite]")
@click.option("--collate", is_flag=True, help="With a submission, also write the file for the leaderboard.")
def command(
    words: tuple[str, ...],
    format: str | None,
    what: str | None,
    suites: tuple[str, ...],
    output: Path | None,
    store_path: Path,
    **options: Any,
) -> None:
    """Write the rows of runs for other programs, or a chart of them.

    RUN is a number, the beginning of a name, sweep:NAME for all runs of a sweep, or last (the default).

    \b
    wug export 1 --to csv -o judgements.csv
    wug export 1 2 --what comparison --to latex
    wug export 1 2 --to latex --wide --label wug-lstm=LSTM
    wug export 1 --what surprisals --to tsv        SyntaxGym's table of region surprisals
    wug export 1 --what suite -o evaluated.json    the suite with its region values
    wug export 1 --chart --suite wug_npi_licensing -o chart.svg
    wug export 1 2 --chart --width 400 --font-size 10 --palette grey -o chart.pdf
    wug export 1 --to lm-eval -o results           for other programs: eee, lm-eval, hf, model-index
    """
    selection = _Selection(store_path, words, suites)
    table_format = None if format is None else format_named(format)
    if format is not None and table_format is None:
        _to_program(format, selection, output, options)
        return
    if output is not None and output.is_dir():
        raise InputError("is a folder: name a file", file=output)
    if wrong_labels := [label for label in options["labels"] if not all(label.partition("="))]:
        raise click.UsageError(f"--label {wrong_labels[0]}: write MODEL=NAME")
    options["labels"] = dict(label.split("=", 1) for label in options["labels"])
    if options["chart"] or options["figure"]:
        if table_format:
            raise click.UsageError("the suffix of a chart's file says how it is written: leave --to out")
        _to_chart(selection, what, output, options)
    else:
        _to_table(selection, what, table_format, output, options)


class _Selection:
    """The runs and suites that are exported; the store is opened when they are read, after all options are checked."""

    def __init__(self, store_path: Path, words: Sequence[str], patterns: Sequence[str]) -> None:
        self._store_path = store_path
        self._words = words
        self._patterns = patterns

    @cached_property
    def store(self) -> Store:
        return common.open_store(self._store_path)

    @cached_property
    def runs(self) -> list[int]:
        from wug.results.run_admin import numbers

        return numbers(self.store.reader, self._words or ("last",))

    def results(self, *, outcomes: bool = True) -> list[Result]:
        results = [result for number in self.runs for result in self.store.results(number, outcomes=outcomes)]
        require_matches("suite", self._patterns, (result.suite for result in results))
        return self.matching(results)

    def matching(self, results: Sequence[Result]) -> list[Result]:
        return [result for result in results if matches(result.suite, self._patterns)]

    def compared(self) -> RunComparison:
        from wug.results.comparison import ComparisonSettings, compare

        return compare(self.store, [[number] for number in self.runs], ComparisonSettings(self._patterns))


def _to_program(format: str, selection: _Selection, output: Path | None, options: Mapping[str, Any]) -> None:
    """Write runs in a format of another program."""
    from wug.exchange.export import ExportedRun, ExportOptions, formats, write

    if format not in formats():
        raise UnknownName("format", format, [*format_names(), *formats()])
    selection.results(outcomes=False)  # refuses unknown suites
    store = selection.store
    runs = [ExportedRun(store.run(run), tuple(selection.matching(store.results(run)))) for run in selection.runs]
    about = ExportOptions(**{name: options[name] for name in ExportOptions._fields})
    for line in write(format, runs, output, about):
        common.notify(line)


def _to_chart(selection: _Selection, what: str | None, output: Path | None, options: Mapping[str, Any]) -> None:
    """Draw a comparison, or a figure of results."""
    from wug.views.comparison_charts import chart
    from wug.views.report import choose_figure

    if output is None:
        raise InputError("a chart is not text: name a file with -o, such as -o chart.svg")
    common.resolve_format(None, output, dict.fromkeys(CHARTS, "chart"))
    chart_files.require(output)
    style = ChartStyle(**{name: options[name] for name in STYLE_OPTIONS}, labels=options["labels"])
    if what == "comparison":
        if style.labels:
            raise click.UsageError("--label is not for the chart of a comparison")
        chart_files.save(chart(selection.compared()), output, style.apply)
    else:
        results = selection.results()
        style = replace(style, labels={**config().labels_for(results), **style.labels})
        figure = choose_figure(style.relabelled(results), options["figure"])
        chart_files.save(chart_files.titled_chart(figure, style.title_characters), output, style.apply)
    common.notify(f"wrote {output}")


def _to_table(
    selection: _Selection, what: str | None, format: str | None, output: Path | None, options: Mapping[str, Any]
) -> None:
    """Write rows, or a suite as JSON."""
    is_wide, labels = options["wide"], options["labels"]
    if style_option := next((name for name in STYLE_OPTIONS if options[name] is not None), None):
        raise click.UsageError(f"--{style_option.replace('_', '-')} is for --chart")
    if (is_wide or labels) and (what not in (None, "estimates") or not is_wide):
        raise click.UsageError("--wide is a table of estimates" if is_wide else "--label is for --wide and --chart")
    if what == "suite":
        if common.resolve_format(format, output, {".json": "json"}) not in (None, "json"):
            raise click.UsageError(f"--what suite writes JSON, not {format}: leave --to out")
        common.deliver_text(_evaluated_suite(selection.results()), output)
        return
    format = common.resolve_format(format, output, format_suffixes()) or ("table" if is_wide else "csv")
    what = what or ("estimates" if is_wide or format in FOR_PEOPLE else "outcomes")
    if what == "outcomes" and format in EXPORTED_BY_DUCKDB:
        if format == "parquet" and output is None:
            raise InputError("parquet is not text: name a file with -o")
        _write_outcomes(selection.results(), format, output, raw=options["raw"])
        return
    common.require_format(format, output)
    table = _wide_table(selection, labels) if is_wide else _table(selection, what, format)
    common.deliver_table(table, format, output, raw=options["raw"])


def _wide_table(selection: _Selection, names: Mapping[str, str]) -> RowTable:
    from wug.views.result_tables import wide_table

    results = selection.results(outcomes=False)
    return wide_table(results, {**config().labels_for(results), **names})


def _table(selection: _Selection, what: str, format: str) -> RowTable:
    """The rows to export: a comparison, estimates, surprisals by region, or outcomes."""
    from wug.results.export import outcome_table
    from wug.views import comparison, result_tables

    if what == "comparison":
        return comparison.table(selection.compared())
    results = selection.results()
    if what == "surprisals":
        return _surprisals(results)
    if what == "outcomes":
        return outcome_table(results)
    estimates = result_tables.estimate_table(results)
    return estimates if format in FOR_PEOPLE else replace(estimates, document=None)


def _write_outcomes(results: Sequence[Result], format: str, output: Path | None, *, raw: bool) -> None:
    from wug.results.export import export_outcomes

    with tempfile.TemporaryDirectory(prefix="wug-export-") as folder:
        path = Path(folder) / "outcomes"
        export_outcomes(results, path, format, raw=raw)  # type: ignore[arg-type]
        if output is None:
            with path.open(encoding="utf-8", newline="") as file:
                while text := file.read(PIECE_BYTES):
                    printing.print_data(text, end="")
            return
        with writing(output):
            output.parent.mkdir(parents=True, exist_ok=True)
        with path.open("rb") as source:
            write_pieces(output, iter(lambda: source.read(PIECE_BYTES), b""))
    common.notify(f"wrote {output}")


def _surprisals(results: list[Result]) -> RowTable:
    families = [registry.family_of(kind) for kind in {result.kind for result in results}]
    makers = {family.name: family.surprisals for family in families if family.surprisals}
    if len(makers) != 1:
        raise WugError(f"--what surprisals needs suites of one family that has regions, not {len(makers)}: use --suite")
    [(kind, make)] = makers.items()
    return RowTable(*make([result for result in results if result.kind == kind]))


def _evaluated_suite(results: list[Result]) -> str:
    writers = [(result, registry.family_of(result.kind).evaluated_json) for result in results]
    evaluated = [(result, write) for result, write in writers if write]
    if len(evaluated) != 1:
        raise WugError(f"--what suite writes one suite with regions, not {len(evaluated)}: choose one with --suite")
    [(result, write)] = evaluated
    return json.dumps(write(result), ensure_ascii=False, indent=2)
