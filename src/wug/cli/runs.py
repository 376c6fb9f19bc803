"""`wug runs`: the runs that are kept, to list, name, note, remove and bring back."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wug.cli import _common as common
from wug.cli import _printing as printing
from wug.cli import show
from wug.cli.list import print_runs, run_rows
from wug.cli.main import SuggestingGroup
from wug.errors import InputError
from wug.families.commands import OUTPUT_FILE
from wug.formatting import plural
from wug.tables import Table

if TYPE_CHECKING:
    from wug.results.records import Run
    from wug.results.store import Store


@click.group("runs", cls=SuggestingGroup)
def command() -> None:
    """List, name, remove, restore and share the runs in the store.

    \b
    wug runs list
    wug runs rename 2 "GPT-2, first try"
    wug runs rm sweep:NAME

    RUN is a number, a name, the beginning of a name that no other run has, or last. For rm and undo, sweep:NAME
    means all runs of a sweep.
    """


def _subcommand(name: str, *options: click.Option) -> Callable[[Callable[..., None]], click.Command]:
    """A subcommand with the option --store, whose function takes the open store and the other options."""

    def decorate(function: Callable[..., None]) -> click.Command:
        @functools.wraps(function)
        def run(*, store_path: Path, **values: Any) -> None:
            from wug.results.store import Store

            with closing(Store(store_path)) as store:
                function(store, **values)

        return common.with_options(common.STORE, *options)(command.command(name)(run))

    return decorate


@_subcommand("list", common.TABLE_FORMAT)
@click.option("--removed", is_flag=True, help="List removed runs instead.")
def list_(store: Store, removed: bool, format: str) -> None:
    """List the runs, latest first, with the progress of running ones.

    \b
    wug runs list
    """
    rows = run_rows(store.reader.runs(removed=removed))
    if format == "table":
        print_runs(rows, gap=False, max_rows=None)
    else:
        common.deliver_table(Table.of_rows(rows), format, None)


command.add_command(show.command, "show")


@_subcommand("rename")
@click.argument("run")
@click.argument("name")
def rename(store: Store, run: str, name: str) -> None:
    """Give a run a name, or remove its name with "".

    \b
    wug runs rename 2 "GPT-2, first try"
    """
    from wug.results import run_admin

    stored_run = run_admin.find(store.reader, run)
    new_name = run_admin.rename(store, stored_run, name)
    state = "has no name" if new_name is None else f"is called {new_name}"
    common.notify(f"run {stored_run.id} {state} now")


@_subcommand("note")
@click.argument("run")
@click.argument("text")
def note(store: Store, run: str, text: str) -> None:
    """Add a note to a run, or remove its note with "".

    \b
    wug runs note last "with the corrected suite"
    """
    from wug.results import run_admin

    stored_run = run_admin.find(store.reader, run)
    new_note = run_admin.annotate(store, stored_run, text)
    common.notify(f"run {stored_run.id} has {'no' if new_note is None else 'this'} note now")


@_subcommand("rm")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("--force", is_flag=True, help="Also remove runs that seem to be running, such as on a lost machine.")
def rm(store: Store, runs: tuple[str, ...], force: bool) -> None:
    """Remove runs from every list and page; `wug runs undo` restores them.

    \b
    wug runs rm 1 2
    """
    from wug.results import run_admin

    selected_runs = _select(store, runs)
    run_admin.remove(store, selected_runs, force=force)
    common.notify(f"removed {_names_of_runs(runs, selected_runs)}. To restore: wug runs undo")


@_subcommand("undo")
@click.argument("runs", nargs=-1, metavar="[RUN...]")
def undo(store: Store, runs: tuple[str, ...]) -> None:
    """Restore removed runs: those that you name, or those that were removed last.

    \b
    wug runs undo
    """
    from wug.results import run_admin

    selected_runs = _select(store, runs, removed=True) if runs else run_admin.last_removed(store.reader)
    if not selected_runs:
        common.notify("no run was removed")
        return
    run_admin.restore(store, selected_runs)
    common.notify(f"restored {_names_of_runs(runs, selected_runs)}")


@_subcommand("purge")
def purge(store: Store) -> None:
    """Delete removed runs for good, with their results.

    \b
    wug runs purge
    """
    from wug.results import run_admin

    count = run_admin.purge(store)
    common.notify(f"{plural(count, 'removed run')} deleted for good" if count else "no run was removed")


@_subcommand("path")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
def path(store: Store, runs: tuple[str, ...]) -> None:
    """Print the Parquet files with the outcomes of runs, for other programs.

    \b
    wug runs path last
    """
    results = [result for run in _select(store, runs) for result in store.reader.stored(run.id)]
    files = [store.reader.outcome_file(result.id) for result in results]
    for file in dict.fromkeys(file.path for file in files if file.path is not None):
        printing.print_data(str(file))


@_subcommand("share")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("-o", "--output", type=OUTPUT_FILE, required=True, help="The zip file to write.")
def share(store: Store, runs: tuple[str, ...], output: Path) -> None:
    """Write runs with their results and outcomes to one file, for `wug runs add` on another machine.

    \b
    wug runs share 1 2 -o bundle.zip
    """
    from wug.results.run_admin import write_bundle

    selected_runs = _select(store, runs)
    unfinished_run = next((run for run in selected_runs if run.status != "complete"), None)
    if unfinished_run is not None:
        raise InputError(f"run {unfinished_run.id} is {unfinished_run.status}: only complete runs can be shared")
    write_bundle(store.reader, selected_runs, output)
    common.notify(f"wrote {_numbers_of_runs(selected_runs)} to {output}")


@_subcommand("add")
@click.argument("bundle", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def add(store: Store, bundle: Path) -> None:
    """Add the runs of a file that `wug runs share` wrote; skip those already in the store.

    \b
    wug runs add bundle.zip
    """
    from wug.results.run_admin import add_bundle

    numbers, skip_count = add_bundle(store, bundle)
    runs = [store.run(number) for number in numbers]
    left_out = (
        f"; {skip_count:,} left out, since the store has {'it' if skip_count == 1 else 'them'}" if skip_count else ""
    )
    common.notify(f"{f'added as {_numbers_of_runs(runs)}' if runs else 'nothing added'}{left_out}")


def _select(store: Store, words: Sequence[str], *, removed: bool = False) -> list[Run]:
    from wug.results import run_admin, sweeps

    runs: dict[int, Run] = {}
    for word in words:
        if word.startswith(sweeps.PREFIX):
            runs |= {run.id: run for run in sweeps.every_run(store.reader, word, removed=removed)}
        else:
            run = run_admin.find(store.reader, word, removed=removed)
            runs[run.id] = run
    return list(runs.values())


def _names_of_runs(words: Sequence[str], runs: Sequence[Run]) -> str:
    """Runs as the user named them: sweeps by their names, others by number."""
    from wug.results.sweeps import PREFIX

    if words and all(word.startswith(PREFIX) for word in words):
        return f"{' and '.join(dict.fromkeys(words))} ({plural(len(runs), 'run')})"
    return _numbers_of_runs(runs)


def _numbers_of_runs(runs: Sequence[Run]) -> str:
    numbers = [str(run.id) for run in runs]
    return f"run {numbers[0]}" if len(numbers) == 1 else f"runs {', '.join(numbers[:-1])} and {numbers[-1]}"
