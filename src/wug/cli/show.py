"""`wug show`: a run again."""

from __future__ import annotations

from pathlib import Path

import click

from wug.cli import _common as common
from wug.cli import _printing as printing


@common.having(common.DB, common.FORMAT)
@click.command("show")
@click.argument("run", type=int)
@click.option("--failing", is_flag=True, help="The items that fail, with their sentences.")
def command(run: int, failing: bool, db: Path | None, form: str) -> None:
    """Print the results of a run that was kept.

    \b
    wug show 7
    wug show 7 --failing
    wug show 7 --format latex
    """
    from wug.runs.store import Store

    store = Store(db or common.default_db())
    record = store.run(run)
    results = store.results(run)
    common.say(f"run {record.id} · {record.status} · {record.started} · {record.command}")
    common.deliver(results, form)
    if failing:
        from wug.show.terminal import failures

        for line in (line for result in results for line in failures(result)):
            printing.echo(line)
