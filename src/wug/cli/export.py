"""`wug export`: runs for other programs, for papers, as charts."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wug.cli import _common as common

if TYPE_CHECKING:
    from wug.results.store import Store
    from wug.types import Result

FORMATS = ("csv", "tsv", "json", "parquet", "md", "latex")
WHAT = ("outcomes", "estimates", "surprisals", "suite", "comparison")
BATCH = 20_000
"""Rows of a Parquet file that are put together in memory."""
SUFFIXES = {**common.SUFFIXES, ".parquet": "parquet"}
CHARTS = (".svg", ".png", ".html", ".json")


@common.having(common.DB)
@click.command("export")
@click.argument("words", nargs=-1, metavar="[RUN]...")
@click.option(
    "--to", "form", type=click.Choice(FORMATS), help="The format.  [default: as the file's name ends, or csv]"
)
@click.option(
    "--what",
    type=click.Choice(WHAT),
    help="A row a judgement; a row an estimate; a row a region (SyntaxGym); the evaluated suite as JSON (SyntaxGym); "
    "a row a difference of two runs.  [default: outcomes; as md or latex, estimates]",
)
@click.option("--suite", "suites", multiple=True, help="Only this suite; * stands for anything; repeatable.")
@click.option("--chart", is_flag=True, help="A chart instead, as the file's name ends: .svg, .png, .html, .json.")
@click.option("--figure", help="Which of a suite's charts: a word of its title.  [default: the first]")
@click.option("-o", "--output", type=common.OUTPUT_FILE, help="A file.  [default: stdout]")
@click.option(
    "--raw", is_flag=True, help="In csv and tsv, no apostrophe before text that a spreadsheet would take for a formula."
)
def command(
    words: tuple[str, ...],
    form: str | None,
    what: str | None,
    suites: tuple[str, ...],
    chart: bool,
    figure: str | None,
    output: Path | None,
    raw: bool,
    db: Path | None,
) -> None:
    """Write the rows of runs for other programs, or a chart of them.

    RUN is a number, the beginning of a name, or last, which need not be said.

    \b
    wug export 7 --to csv -o judgements.csv
    wug export 7 8 --what comparison --to latex
    wug export 7 --what surprisals --to tsv        SyntaxGym's table of region surprisals
    wug export 7 --what suite -o evaluated.json    the suite with the values written in
    wug export 7 --chart --suite number_prep -o chart.svg
    """
    from wug.results.run_names import numbers

    drawn = chart or bool(figure)
    if drawn and form:
        raise click.UsageError("the suffix of a chart's file says how it is written: leave --to out")
    if what == "suite" and (form := common.agreed(form, output, {".json": "json"})) not in (None, "json"):
        raise click.UsageError(f"--what suite writes JSON, not {form}: leave --to out")
    form = common.agreed(form, output, dict.fromkeys(CHARTS, "chart") if drawn else SUFFIXES)
    if drawn:
        _require_charts(output)
    elif form == "parquet":
        _require_parquet(output)
    store = common.open_store(db)
    runs = numbers(store.reader, words or ("last",))
    if drawn:
        _chart(store, runs, suites, what, figure, output)
        return
    form = form or "csv"
    what = what or ("estimates" if form in ("md", "latex") else "outcomes")
    if what == "comparison":
        columns, rows, text = _compared(store, runs, suites, form)
    else:
        results = _results(store, runs, suites)
        columns, rows = ([], []) if what == "suite" else _rows(results, what)
        text = _evaluated(results) if what == "suite" else _text(results, what, form)
    if text is not None:
        common.deliver_text(text, output)
    elif form == "parquet" and output is not None:
        _write_parquet(columns, rows, output, strings=what == "outcomes")
    else:
        common.deliver_lines(_lines(columns, rows, form, raw), output)


def _results(store: Store, runs: Sequence[int], suites: Sequence[str], *, outcomes: bool = True) -> list[Result]:
    """The results of the runs, of the suites that are asked for."""
    from wug.errors import UnknownName

    results = [result for number in runs for result in store.results(number, outcomes=outcomes)]
    for pattern in suites:
        if not any(fnmatchcase(result.suite, pattern) for result in results):
            raise UnknownName("suite", pattern, {result.suite for result in results})
    return [one for one in results if not suites or any(fnmatchcase(one.suite, pattern) for pattern in suites)]


def _rows(results: list[Result], what: str) -> tuple[list[str], Iterable[tuple[Any, ...]]]:
    from wug.views import table

    if what == "estimates":
        return list(table.COLUMNS), table.estimate_rows(results)
    if what == "surprisals":
        return _surprisals(results)
    return table.outcome_rows(results)


def _surprisals(results: list[Result]) -> tuple[list[str], Iterable[tuple[Any, ...]]]:
    """The table of surprisals by region, of the family of the results that makes one."""
    from wug import registry
    from wug.errors import WugError

    makers = {result.kind: registry.offered("families", result.kind, "surprisals") for result in results}
    made = [kind for kind, make in makers.items() if make]
    if len(made) != 1:
        raise WugError(f"--what surprisals needs suites of one family that has regions, not {len(made)}: use --suite")
    columns, rows = makers[made[0]]([result for result in results if result.kind == made[0]])
    return list(columns), rows


def _text(results: list[Result], what: str, form: str) -> str | None:
    """The text of estimates in a form that is made for them; None for plain rows."""
    from wug.views import table

    return table.FORMATS[form](results) if what == "estimates" and form in ("md", "latex") else None


def _compared(
    store: Store, runs: Sequence[int], suites: Sequence[str], form: str
) -> tuple[list[str], Iterable[tuple[Any, ...]], str | None]:
    """The columns and rows of a comparison of runs with the first; its text where a form is made for it."""
    from wug.results.comparison import Choice, compare
    from wug.views import comparison

    found = compare(store, [[number] for number in runs], Choice(suites))
    text = comparison.FORMATS[form](found) if form in ("json", "md", "latex") else None
    return list(comparison.COLUMNS), comparison.rows(found), text


def _lines(columns: Sequence[str], rows: Iterable[Sequence[Any]], form: str, raw: bool) -> Iterator[str]:
    """Plain rows as lines of text, one after the other."""
    from wug.views import markup, table

    if form == "json":
        yield from _json_lines(dict(zip(columns, row, strict=True)) for row in rows)
        return
    if form in ("csv", "tsv"):
        yield from table.delimited_lines(columns, rows, "," if form == "csv" else "\t", raw=raw)
        return
    # What explains a judgement is JSON, too wide for a table that is read.
    kept = [place for place, name in enumerate(columns) if name != "detail"]
    lines = [["" if row[place] is None else _cell(row[place]) for place in kept] for row in rows]
    head, align = [columns[place] for place in kept], "l" * len(kept)
    if form == "md":
        yield markup.markdown_table(head, lines, align)
    else:
        yield markup.latex_table(head, lines, align, long=True)


def _json_lines(records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """A list of records as `json.dumps` writes it with an indent of 1."""
    from wug.views import table

    before = None
    for record in records:
        yield "[" if before is None else f"{before},"
        text = json.dumps(table.finite(record), ensure_ascii=False, indent=1, allow_nan=False)
        before = " " + text.replace("\n", "\n ")
    yield "[]" if before is None else f"{before}\n]"


def _cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _evaluated(results: list[Result]) -> str:
    from wug import registry
    from wug.errors import WugError

    writers = [(result, registry.offered("families", result.kind, "evaluated_json")) for result in results]
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
) -> None:
    """Write a chart: of a comparison, of one suite, or of all results together."""
    from wug.views import charts, figures

    assert output is not None
    if what == "comparison":
        from wug.results.comparison import Choice, compare
        from wug.views.comparison_chart import chart

        charts.save(chart(compare(store, [[number] for number in runs], Choice(suites))), output)
    else:
        results = _results(store, runs, suites)
        charts.save(figures.choose(results, figure).chart, output)
    common.say(f"wrote {output}")


def _require_charts(output: Path | None) -> None:
    from wug.errors import InputError
    from wug.views import charts

    if output is None:
        raise InputError("a chart is no text: name a file with -o, such as -o chart.svg")
    charts.require(output)


def _require_parquet(path: Path | None) -> None:
    from wug.errors import InputError, MissingExtra

    if path is None:
        raise InputError("Parquet is no text: name a file with -o")
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise MissingExtra("Parquet", "parquet") from None


def _write_parquet(columns: list[str], rows: Iterable[tuple[Any, ...]], path: Path, *, strings: bool) -> None:
    """Write rows batch by batch where all columns but `value` are `strings`; others all at once, by their types."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from wug.files import write_pieces, writing

    kinds = {name: pa.float64() if name == "value" else pa.string() for name in columns}
    known = pa.schema(kinds) if strings else None
    source = iter(rows)
    first = _batch(pa, columns, list(islice(source, BATCH if strings else None)), known)
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile() as out:
        with pq.ParquetWriter(out, first.schema) as writer:
            writer.write_table(first)
            del first
            while some := list(islice(source, BATCH)):
                writer.write_table(_batch(pa, columns, some, known))
        out.seek(0)
        write_pieces(path, iter(lambda: out.read(1 << 20), b""))
    common.say(f"wrote {path}")


def _batch(pa: Any, columns: list[str], rows: list[tuple[Any, ...]], schema: Any) -> Any:
    return pa.table({name: [row[place] for row in rows] for place, name in enumerate(columns)}, schema=schema)
