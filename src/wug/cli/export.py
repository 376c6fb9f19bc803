"""`wug export`: a run for other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wug.cli import _common as common

if TYPE_CHECKING:
    from wug.types import Result

FORMATS = ("csv", "tsv", "json", "parquet", "md", "latex")
WHAT = ("outcomes", "estimates", "surprisals", "suite")


@click.command("export")
@click.argument("run", type=int)
@click.option("--to", "form", type=click.Choice(FORMATS), default="csv", show_default=True, help="The format.")
@click.option(
    "--what",
    type=click.Choice(WHAT),
    default="outcomes",
    show_default=True,
    help="A row a judgement; a row an estimate; a row a region (SyntaxGym); the evaluated suite as JSON (SyntaxGym).",
)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="A file.  [default: stdout]")
@common.db_option
def command(run: int, form: str, what: str, output: Path | None, db: Path | None) -> None:
    """Write a run's rows for other programs.

    \b
    wug export 7 --to csv -o judgements.csv
    wug export 7 --what surprisals --to tsv        SyntaxGym's table of region surprisals
    wug export 7 --what suite -o evaluated.json    the suite with the values written in
    """
    from wug.errors import InputError
    from wug.files import write_text
    from wug.report import table
    from wug.runs.store import Store

    results = Store(db or common.default_db()).results(run)
    if what == "suite":
        text = _evaluated(results)
    elif form in ("md", "latex"):
        text = table.FORMATS[form](results)
    else:
        columns, rows = _rows(results, what)
        if form == "parquet":
            if output is None:
                raise InputError("Parquet is no text: name a file with -o")
            _write_parquet(columns, rows, output)
            return
        if form == "json":
            records = [dict(zip(columns, row, strict=True)) for row in rows]
            text = json.dumps(table.finite(records), ensure_ascii=False, indent=1, allow_nan=False)
        else:
            text = table.delimited(columns, rows, "," if form == "csv" else "\t")
    if output is None:
        click.echo(text)
    else:
        write_text(output, text + "\n")
        common.say(f"wrote {output}")


def _rows(results: list[Result], what: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    from wug.report import table

    if what == "estimates":
        return list(table.COLUMNS), table.estimate_rows(results)
    if what == "surprisals":
        return table.surprisal_rows(results)
    return table.outcome_rows(results)


def _evaluated(results: list[Result]) -> str:
    from wug.errors import WugError
    from wug.suites import syntaxgym

    kept = [result for result in results if result.kind == "syntaxgym"]
    if len(kept) != 1:
        raise WugError(f"--what suite writes one SyntaxGym suite, and this run has {len(kept)}")
    return json.dumps(syntaxgym.evaluated_json(kept[0]), ensure_ascii=False, indent=2)


def _write_parquet(columns: list[str], rows: list[tuple[Any, ...]], path: Path) -> None:
    from wug.errors import MissingExtra

    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtra("Parquet", "parquet") from None
    data = {name: [row[place] for row in rows] for place, name in enumerate(columns)}
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(data), path)
    common.say(f"wrote {path}")
