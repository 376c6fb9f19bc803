"""`wug show`: a run again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wug.cli import _common as common
from wug.cli import _printing as printing

if TYPE_CHECKING:
    from wug.results.store import Store


@common.having(common.SUMMARY, common.BY, common.DB, common.FORMAT)
@click.command("show")
@click.argument("run", default="last")
@click.option("--failing", is_flag=True, help="Instead: the items that fail, with their sentences.")
@click.option("--matrix", "as_matrix", is_flag=True, help="Of a sweep, models by suites instead of curves.")
def command(
    run: str, failing: bool, as_matrix: bool, summary: bool, by: tuple[str, ...], db: Path | None, form: str
) -> None:
    """Print the results of a run that was kept, or a sweep.

    A sweep, sweep:NAME, is printed as values over training steps, or as models by suites.

    RUN is a number, the beginning of a name, or last, which is the latest and need not be said.

    \b
    wug show
    wug show 7 --by phenomenon
    wug show 7 --failing
    wug show base --format latex
    wug show sweep:NAME --matrix
    """
    from wug.cli.runs import about
    from wug.results.run_names import find
    from wug.views import failing as failures

    common.refuse_both(summary, by)
    if failing and (summary or by):
        raise click.UsageError("--failing is about items: --summary and --by do not go with it")
    store = common.open_store(db)
    if run.startswith("sweep:"):
        _sweep(store, run, as_matrix, form)
        return
    record = find(store.reader, run)
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


def _sweep(store: Store, name: str, as_matrix: bool, form: str) -> None:
    """Print a sweep: its learning curves, or where names tell no steps, models by suites."""
    from wug.errors import InputError
    from wug.results.sweep_curves import sweep_curves, sweep_matrix
    from wug.results.sweeps import counts, find, members
    from wug.views import learning_curves as learning
    from wug.views import matrix, sweep

    found = find(store.reader, name)
    status = counts(members(store.reader, found))
    said = ", ".join(f"{number} {word}" for word, number in status.items())
    common.say(f"sweep {found.id} · {found.name} · {len(found.models)} models: {said} · {found.started}")
    common.say(found.command)
    try:
        curves = None if as_matrix else sweep_curves(store.reader, [found])
    except InputError:
        curves = None
    console = printing.console(width=160)
    if curves is not None and form == "table":
        sweep.show_curves(curves, console)
    elif curves is not None:
        printing.emit(learning.FORMATS[form](curves))
    elif form == "table":
        matrix.show(matrix.of(sweep_matrix(store.reader, found)), console)
    else:
        printing.emit(matrix.FORMATS[form](matrix.of(sweep_matrix(store.reader, found))))
