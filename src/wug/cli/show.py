"""`wug show`: a run again."""

from __future__ import annotations

from pathlib import Path

import click

from wug.cli import _common as common
from wug.cli import _printing as printing


@common.having(common.SUMMARY, common.BY, common.DB, common.FORMAT)
@click.command("show")
@click.argument("run", default="last")
@click.option("--failing", is_flag=True, help="Instead: the items that fail, with their sentences.")
def command(run: str, failing: bool, summary: bool, by: tuple[str, ...], db: Path | None, form: str) -> None:
    """Print the results of a run that was kept.

    RUN is a number, the beginning of a name, or last, which is the latest and need not be said.

    \b
    wug show
    wug show 7 --by phenomenon
    wug show 7 --failing
    wug show base --format latex
    """
    from wug.cli.runs import about
    from wug.runs.naming import find
    from wug.show import failing as failures

    common.refuse_both(summary, by)
    if failing and (summary or by):
        raise click.UsageError("--failing is about items: --summary and --by do not go with it")
    store = common.open_store(db)
    record = find(store.shelf, run)
    results = store.results(record.id)
    for line in about(record):
        common.say(line)
    if not failing:
        common.deliver(results, form, summary=summary, by=by)
    elif form == "table":
        for line in failures.as_lines(results):
            printing.echo(line)
    else:
        printing.emit(failures.as_text(results, form))
