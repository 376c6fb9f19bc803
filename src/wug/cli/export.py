"""`wug export`: runs for other programs, for papers, as charts."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
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
from wug.tables import RowTable, format_names, format_suffixes
from wug.types import Result
from wug.views import charts

if TYPE_CHECKING:
    from wug.results.store import Store

WHAT = ("outcomes", "estimates", "surprisals", "suite", "comparison")
FOR_PEOPLE = ("table", "md", "latex", "html")
"""Formats in which estimates are exported by default."""
CHARTS = (".svg", ".png", ".pdf", ".html", ".json")
EXPORTED_BY_DUCKDB = ("csv", "tsv", "json", "jsonl", "parquet")
"""Formats in which DuckDB writes outcomes, however many there are."""
PIECE_BYTES = 1 << 20


@common.with_options(common.STORE)
@click.command("export")
@click.argument("words", nargs=-1, metavar="[RUN]...")
@click.option(
    "--to",
    "form",
    metavar="FORMAT",
    help=f"The format: {', '.join(format_names())}; or, into the folder -o, a format of another program (eee, lm-eval, "
    "hf, model-index) or the submission of a benchmark, such as babylm.  [default: the suffix of -o, or csv]",
)
@click.option(
    "--what",
    type=click.Choice(WHAT),
    help="Content to write: outcomes, estimates, surprisals by region (SyntaxGym), the evaluated suite as JSON "
    "(SyntaxGym), or differences between runs.  [default: outcomes; estimates for table, md, latex and html]",
)
@click.option(
    "--wide", is_flag=True, help="Write headline values, one row per model and one column per suite; the best in bold."
)
@click.option(
    "--label", "labels", multiple=True, metavar="MODEL=NAME", help="With --wide or --chart, name a model; repeatable."
)
@click.option("--suite", "suites", multiple=True, help="Only this suite; * matches anything; repeatable.")
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
    form: str | None,
    what: str | None,
    wide: bool,
    labels: tuple[str, ...],
    suites: tuple[str, ...],
    chart: bool,
    figure: str | None,
    output: Path | None,
    raw: bool,
    store_path: Path | None,
    **more: Any,
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
    from wug.results.run_names import numbers
    from wug.views.result_tables import wide_table

    look = {name: more.pop(name) for name in ("width", "height", "font_size", "palette")}
    if form is not None and form not in format_names():
        _exchange(form, common.open_store(store_path), (words, suites), output, more)
        return
    if output is not None and output.is_dir():
        raise InputError("is a folder: name a file", file=output)
    drawn = chart or bool(figure)
    if drawn and form:
        raise click.UsageError("the suffix of a chart's file says how it is written: leave --to out")
    if what == "suite" and (form := common.resolve_format(form, output, {".json": "json"})) not in (None, "json"):
        raise click.UsageError(f"--what suite writes JSON, not {form}: leave --to out")
    form = common.resolve_format(form, output, dict.fromkeys(CHARTS, "chart") if drawn else format_suffixes())
    if drawn:
        _require_charts(output)
    elif form == "parquet" and what in (None, "outcomes"):  # DuckDB writes it, without further packages
        if output is None:
            raise InputError("parquet is not text: name a file with -o")
    elif form is not None:
        common.require_format(form, output)
    store = common.open_store(store_path)
    runs = numbers(store.reader, words or ("last",))
    if unnamed := [one for one in labels if not all(one.partition("="))]:
        raise click.UsageError(f"--label {unnamed[0]}: write MODEL=NAME")
    named = {model: name for model, _, name in (one.partition("=") for one in labels)}
    if drawn:
        _chart(store, runs, suites, what, figure, output, {**look, "labels": named})
        return
    if given := next((name for name, value in look.items() if value is not None), None):
        raise click.UsageError(f"--{given.replace('_', '-')} is for --chart")
    if wide or labels:
        if what not in (None, "estimates") or not wide:
            raise click.UsageError("--wide is a table of estimates" if wide else "--label is for --wide and --chart")
        results = _results(store, runs, suites, outcomes=False)
        table = wide_table(results, {**config().labels_for(results), **named})
        common.deliver_table(table, form or "table", output, raw=raw)
        return
    form = form or "csv"
    what = what or ("estimates" if form in FOR_PEOPLE else "outcomes")
    if what == "comparison":
        common.deliver_table(_compared(store, runs, suites), form, output, raw=raw)
        return
    results = _results(store, runs, suites)
    if what == "suite":
        common.deliver_text(_evaluated(results), output)
    elif what == "outcomes" and form in EXPORTED_BY_DUCKDB:
        _write_outcomes(results, form, output, raw)
    else:
        common.deliver_table(_table(results, what, form), form, output, raw=raw)


def _exchange(
    form: str,
    store: Store,
    chosen: tuple[Sequence[str], Sequence[str]],
    output: Path | None,
    about: Mapping[str, Any],
) -> None:
    from wug.exchange.export import ExportedRun, ExportOptions, formats, write
    from wug.results.run_names import numbers

    if form not in formats():
        raise UnknownName("format", form, [*format_names(), *formats()])
    words, suites = chosen
    found = numbers(store.reader, words or ("last",))
    _results(store, found, suites, outcomes=False)  # refuses unknown suites
    runs = [ExportedRun(store.run(number), tuple(_matching(store.results(number), suites))) for number in found]
    for line in write(form, runs, output, ExportOptions(**about)):
        common.say(line)


def _results(store: Store, runs: Sequence[int], suites: Sequence[str], *, outcomes: bool = True) -> list[Result]:
    results = [result for number in runs for result in store.results(number, outcomes=outcomes)]
    for pattern in suites:
        if not any(fnmatchcase(result.suite, pattern) for result in results):
            raise UnknownName("suite", pattern, {result.suite for result in results})
    return _matching(results, suites)


def _matching(results: Sequence[Result], suites: Sequence[str]) -> list[Result]:
    return [one for one in results if not suites or any(fnmatchcase(one.suite, pattern) for pattern in suites)]


def _table(results: list[Result], what: str, form: str) -> RowTable:
    """The rows to export: estimates, surprisals by region, or outcomes."""
    from wug.views import result_tables

    if what == "surprisals":
        return _surprisals(results)
    if what == "outcomes":
        return result_tables.outcome_table(results)
    found = result_tables.estimate_table(results)
    return found if form in FOR_PEOPLE else replace(found, document=None)


def _write_outcomes(results: Sequence[Result], form: str, output: Path | None, raw: bool) -> None:
    from wug.results.export import export_outcomes

    with tempfile.TemporaryDirectory(prefix="wug-export-") as folder:
        path = Path(folder) / "outcomes"
        export_outcomes(results, path, form, raw=raw)  # type: ignore[arg-type]
        if output is None:
            with path.open(encoding="utf-8", newline="") as file:
                while text := file.read(PIECE_BYTES):
                    printing.emit(text, end="")
            return
        with writing(output):
            output.parent.mkdir(parents=True, exist_ok=True)
        with path.open("rb") as source:
            write_pieces(output, iter(lambda: source.read(PIECE_BYTES), b""))
    common.say(f"wrote {output}")


def _surprisals(results: list[Result]) -> RowTable:
    makers = {result.kind: registry.attribute("families", result.kind, "surprisals") for result in results}
    made = [kind for kind, make in makers.items() if make]
    if len(made) != 1:
        raise WugError(f"--what surprisals needs suites of one family that has regions, not {len(made)}: use --suite")
    return RowTable(*makers[made[0]]([result for result in results if result.kind == made[0]]))


def _compared(store: Store, runs: Sequence[int], suites: Sequence[str]) -> RowTable:
    from wug.results.comparison import ComparisonSettings, compare
    from wug.views import comparison

    return comparison.table(compare(store, [[number] for number in runs], ComparisonSettings(suites)))


def _evaluated(results: list[Result]) -> str:
    writers = [(result, registry.attribute("families", result.kind, "evaluated_json")) for result in results]
    kept = [(result, write) for result, write in writers if write]
    if len(kept) != 1:
        raise WugError(f"--what suite writes one suite with regions, not {len(kept)}: choose one with --suite")
    [(result, write)] = kept
    return json.dumps(write(result), ensure_ascii=False, indent=2)


def _chart(
    store: Store,
    runs: Sequence[int],
    suites: Sequence[str],
    what: str | None,
    figure: str | None,
    output: Path | None,
    look: Mapping[str, Any],
) -> None:
    from wug.views.chart_style import ChartStyle
    from wug.views.report import choose_figure

    assert output is not None
    style = ChartStyle(**look)
    if what == "comparison":
        from wug.results.comparison import ComparisonSettings, compare
        from wug.views.comparison_page import chart

        if style.labels:
            raise click.UsageError("--label is not for the chart of a comparison")
        charts.save(
            chart(compare(store, [[number] for number in runs], ComparisonSettings(suites))), output, style.apply
        )
    else:
        results = _results(store, runs, suites)
        style = replace(style, labels={**config().labels_for(results), **style.labels})
        shown = choose_figure(style.named(results), figure)
        charts.save(charts.titled(shown, style.title_characters), output, style.apply)
    common.say(f"wrote {output}")


def _require_charts(output: Path | None) -> None:
    if output is None:
        raise InputError("a chart is not text: name a file with -o, such as -o chart.svg")
    charts.require(output)
