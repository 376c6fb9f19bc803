"""Rename, annotate, remove, restore and purge stored runs."""

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

MAX_NAME_CHARACTERS = 200


def rename(store: Store, run: Run, name: str) -> str | None:
    """Rename a run; an empty name removes its name. Returns the new name."""
    text = _checked(name)
    other = next((one for one in store.runs() if text and one.name == text and one.id != run.id), None)
    if other is not None:
        raise InputError(f"run {other.id} is already called {text!r}. Choose another name")
    store.change("UPDATE runs SET name = ? WHERE id = ?", text or None, run.id)
    return text or None


def rename_sweep(store: Store, sweep: int, name: str) -> str:
    """Rename a sweep; InputError for an empty name, or one that another sweep has."""
    text = _checked(name)
    if not text:
        raise InputError("a sweep needs a name")
    if text in (other for id, other in store.reader.sweep_names().items() if id != sweep):
        raise InputError(f"another sweep is called {text!r}. Give another name")
    store.change("UPDATE sweeps SET name = ? WHERE id = ?", text, sweep)
    return text


def _checked(name: str) -> str:
    """A name without needless whitespace; InputError if it cannot be one."""
    text = " ".join(storable(name).split())
    if len(text) > MAX_NAME_CHARACTERS:
        raise InputError(f"a name has at most {MAX_NAME_CHARACTERS} characters, and this one has {len(text):,}")
    if text == LAST or text.isdecimal():
        raise InputError(f"{text!r} cannot be a name: numbers and 'last' refer to runs")
    return text


def annotate(store: Store, run: Run, note: str) -> str | None:
    """Set the note of a run; an empty note removes it. Returns the new note."""
    text = storable(note).replace("\r\n", "\n").strip()
    store.change("UPDATE runs SET note = ? WHERE id = ?", text or None, run.id)
    return text or None


def remove(store: Store, runs: Sequence[Run], *, force: bool = False) -> None:
    """Mark runs as removed, which can be undone; StoreError if one of them is still running."""
    running = [run for run in runs if run.status == "running"]
    if running and not force:
        raise StoreError(
            f"run {running[0].id} is still running: stop it first (Ctrl-C where it was started). If its machine no "
            f"longer exists: wug runs rm --force {running[0].id}"
        )
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    marks = ", ".join("?" * len(runs))
    store.change(f"UPDATE runs SET removed = ? WHERE removed IS NULL AND id IN ({marks})", now, *(r.id for r in runs))


def restore(store: Store, runs: Sequence[Run]) -> None:
    """Undo the removal of runs."""
    store.change(f"UPDATE runs SET removed = NULL WHERE id IN ({', '.join('?' * len(runs))})", *(r.id for r in runs))


def last_removed(reader: RunReader) -> list[Run]:
    """The runs of the last removal."""
    removed = reader.runs(removed=True)
    latest = max((run.removed or "" for run in removed), default="")
    return [run for run in removed if run.removed == latest]


def purge(store: Store) -> int:
    """Delete removed runs permanently, except running ones; returns how many."""
    gone = [run for run in store.reader.runs(removed=True) if run.status != "running"]
    for run in gone:
        store.change("DELETE FROM runs WHERE id = ?", run.id)
    for sweep in {run.sweep for run in gone} - {None}:  # a running sweep may have no run yet: it stays
        store.change(
            "DELETE FROM sweeps WHERE id = ? AND id NOT IN (SELECT sweep FROM runs WHERE sweep = ?)", sweep, sweep
        )
    if gone:
        with suppress(StoreError):  # another process uses it: the space is reused later
            store.shrink()
    return len(gone)


def missing_runs(reader: RunReader, store: Store) -> list[Run]:
    """The complete runs that another store lacks, oldest first."""
    known = {row["key"] for row in store.reader.each(f"SELECT key FROM runs WHERE {_COMPLETE}")}
    keys = {row["id"]: row["key"] for row in reader.each(f"SELECT id, key FROM runs WHERE {_COMPLETE}")}
    return [run for run in reversed(reader.runs()) if run.id in keys and keys[run.id] not in known]


_COMPLETE = "status = 'complete' AND removed IS NULL"
