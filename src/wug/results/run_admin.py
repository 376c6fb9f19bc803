"""What people do with runs that are kept: name them, note something, remove them, take that back."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime

from wug.errors import InputError, StoreError
from wug.results.columns import storable
from wug.results.reader import RunReader
from wug.results.records import Run
from wug.results.run_names import LAST
from wug.results.store import Store

LONGEST = 200
"""Characters of a name."""


def rename(store: Store, run: Run, name: str) -> str | None:
    """What a run is called from now on; an empty name takes the one it has."""
    given = _checked(name)
    other = next((one for one in store.runs() if given and one.name == given and one.id != run.id), None)
    if other is not None:
        raise InputError(f"run {other.id} is called {given!r} already. Give another name")
    store.change("UPDATE runs SET name = ? WHERE id = ?", given or None, run.id)
    return given or None


def rename_sweep(store: Store, sweep: int, name: str) -> str:
    """Rename a sweep; InputError for an empty name, or one that another sweep has."""
    given = _checked(name)
    if not given:
        raise InputError("a sweep needs a name")
    if given in (other for id, other in store.reader.sweep_names().items() if id != sweep):
        raise InputError(f"another sweep is called {given!r}. Give another name")
    store.change("UPDATE sweeps SET name = ? WHERE id = ?", given, sweep)
    return given


def _checked(name: str) -> str:
    """A name without needless whitespace; InputError if it cannot be one."""
    given = " ".join(storable(name).split())
    if len(given) > LONGEST:
        raise InputError(f"a name has {LONGEST} characters at most, and this one {len(given):,}")
    if given == LAST or given.isdecimal():
        raise InputError(f"{given!r} cannot be a name: numbers and 'last' mean runs already")
    return given


def annotate(store: Store, run: Run, note: str) -> str | None:
    """What is noted about a run from now on; an empty note takes away the one it has."""
    given = storable(note).replace("\r\n", "\n").strip()
    store.change("UPDATE runs SET note = ? WHERE id = ?", given or None, run.id)
    return given or None


def remove(store: Store, runs: Sequence[Run], *, force: bool = False) -> None:
    """Remove runs, which stay in the store so that this can be taken back; none of them where one still goes on."""
    going = [run for run in runs if run.status == "running"]
    if going and not force:
        raise StoreError(
            f"run {going[0].id} goes on: stop it first (Ctrl-C where it was started). Where its machine is gone: "
            f"wug runs rm --force {going[0].id}"
        )
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    marks = ", ".join("?" * len(runs))
    store.change(f"UPDATE runs SET removed = ? WHERE removed IS NULL AND id IN ({marks})", now, *(r.id for r in runs))


def restore(store: Store, runs: Sequence[Run]) -> None:
    """Take back that runs were removed."""
    store.change(f"UPDATE runs SET removed = NULL WHERE id IN ({', '.join('?' * len(runs))})", *(r.id for r in runs))


def last_removed(reader: RunReader) -> list[Run]:
    """The runs that were removed last, all in one go."""
    removed = reader.runs(removed=True)
    latest = max((run.removed or "" for run in removed), default="")
    return [run for run in removed if run.removed == latest]


def purge(store: Store) -> int:
    """How many runs that were removed are deleted for good, with their results; one that goes on stays."""
    gone = [run for run in store.reader.runs(removed=True) if run.status != "running"]
    for run in gone:
        store.change("DELETE FROM runs WHERE id = ?", run.id)
    for sweep in {run.sweep for run in gone} - {None}:  # one that goes on may have no run yet: it stays
        store.change(
            "DELETE FROM sweeps WHERE id = ? AND id NOT IN (SELECT sweep FROM runs WHERE sweep = ?)", sweep, sweep
        )
    if gone:
        with suppress(StoreError):  # another process reads or writes: the room is used for the next runs
            store.shrink()
    return len(gone)


def missing_runs(reader: RunReader, store: Store) -> list[Run]:
    """The complete runs of a store that another one does not have, the oldest first."""
    known = {row["key"] for row in store.reader.each(f"SELECT key FROM runs WHERE {_COMPLETE}")}
    keys = {row["id"]: row["key"] for row in reader.each(f"SELECT id, key FROM runs WHERE {_COMPLETE}")}
    return [run for run in reversed(reader.runs()) if run.id in keys and keys[run.id] not in known]


_COMPLETE = "status = 'complete' AND removed IS NULL"
