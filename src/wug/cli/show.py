"""`wug show`: print the results of a stored run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wug.cli import _common as common
from wug.cli import _printing as printing
from wug.errors import InputError

if TYPE_CHECKING:
    from wug.results.records import Run
    from wug.results.store import Store


@common.with_options(common.SUMMARY, common.BY, common.EFFECTS, common.STORE, common.FORMAT)
@click.command("show")
@click.argument("words", nargs=-1, metavar="[RUN]...")
@click.option("--pool", "pooled", is_flag=True, help="Print means over runs that differ in their seed alone, ± 1 SD.")
@click.option("--failing", is_flag=True, help="List the failing items with their sentences instead.")
@click.option("--matrix", "as_matrix", is_flag=True, help="Show a sweep as models by suites instead of curves.")
def command(
    words: tuple[str, ...], pooled: bool, failing: bool, as_matrix: bool, store_path: Path, **values: Any
) -> None:
    """Print the results of stored runs, or a sweep.

    RUN is a number, the beginning of a name, or last (the default). A sweep, sweep:NAME, is printed as values over
    training steps, or as models by suites; with --pool, all its runs are pooled.

    \b
    wug show
    wug show 1 --by phenomenon
    wug show 1 --effects
    wug show 1 --failing
    wug show base --format latex
    wug show sweep:NAME --by phenomenon
    wug show sweep:NAME --matrix
    wug show 3 4 5 --pool
    """
    from wug.results.average import pool
    from wug.results.run_admin import side
    from wug.views.text import failing_lines, failing_table

    options = common.ResultOptions.from_values(values)
    if failing and (options.summary or options.by or options.effects):
        raise click.UsageError("--failing lists items: it excludes --summary, --by and --effects")
    if failing and pooled:
        raise click.UsageError("--failing lists items: it excludes --pool")
    store, format = common.open_store(store_path), options.format
    words = words or ("last",)
    if words[0].startswith("sweep:") and len(words) == 1 and not pooled:
        if failing or options.effects:
            raise click.UsageError("--failing and --effects are of runs: name some runs of the sweep")
        if as_matrix and options.by:
            raise click.UsageError("--matrix has headline values: it excludes --by")
        show_sweep(store, words[0], format, as_matrix=as_matrix, by=options.by)
        return
    runs = list(dict.fromkeys(number for word in words for number in side(store.reader, word)))
    results = [result for number in runs for result in store.results(number)]
    for number in runs:
        for line in _describe_run(store.reader.run(number)):
            common.notify(line)
    if pooled:
        common.deliver(pool(results), options)
    elif not failing:
        common.deliver(results, options)
    elif format == "table":
        for line in failing_lines(results):
            printing.print_text(line)
    else:
        common.deliver_table(failing_table(results), format, None)


def _describe_run(run: Run) -> Iterator[str]:
    """What there is to know of a run, line by line."""
    from wug.results.progress import in_words

    name = f" · {run.name}" if run.name else ""
    yield f"run {run.id}{name} · {run.status} · {run.started} · {run.command}"
    if run.note:
        yield f"note: {run.note}"
    if run.status in ("running", "interrupted") and run.progress is not None:
        yield in_words(run.progress, running=run.status == "running")
    if run.status == "interrupted":
        yield "the same command resumes it"
    if run.message:
        yield f"it failed: {run.message}"


def show_sweep(store: Store, name: str, format: str, *, as_matrix: bool = False, by: Sequence[str] = ()) -> None:
    """Print a sweep as learning curves, by a field if one is named; without training steps as models by suites."""
    from wug.results.sweep_curves import sweep_curves, sweep_matrix
    from wug.results.sweeps import counts, find, members, runs_of
    from wug.views import sweeps
    from wug.views.result_tables import ALL_FIELDS, fields

    sweep = find(store.reader, name)
    status = counts(members(store.reader, sweep))
    statuses = ", ".join(f"{number} {word}" for word, number in status.items())
    common.notify(f"sweep {sweep.id} · {sweep.name} · {len(sweep.models)} models: {statuses} · {sweep.started}")
    common.notify(sweep.command)
    if ALL_FIELDS in by:
        results = [stored.result for run in runs_of(store.reader, sweep) for stored in store.reader.stored(run.id)]
        by = list(dict.fromkeys(field for result in results for field in fields(result)))
    try:
        by_field = [] if as_matrix else [sweep_curves(store.reader, [sweep], by=field) for field in by or ("",)]
    except InputError:
        by_field = []
        if by:
            raise
    console = printing.console(width=160)
    if by_field:
        curves = replace(by_field[0], curves=tuple(curve for field_curves in by_field for curve in field_curves.curves))
        if format == "table":
            sweeps.show_curves(curves, console, by_field=bool(by))
        else:
            common.deliver_table(sweeps.curve_table(curves), format, None)
    elif format == "table":
        sweeps.show_matrix(sweep_matrix(store.reader, sweep), console)
    else:
        common.deliver_table(sweeps.matrix_table(sweep_matrix(store.reader, sweep)), format, None)
