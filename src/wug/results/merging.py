"""Runs of one store, put into another."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from wug.results.reader import RunReader
from wug.results.store import Store


def merge(source: Path, target: Path) -> int:
    """How many complete runs of `source` the store `target` got, in their order; those that it has are left out."""
    reader, added = RunReader(source), 0
    with closing(Store(target)) as store:
        for run in reversed(reader.runs()):
            key = reader.one("SELECT key FROM runs WHERE id = ?", run.id)["key"]
            if run.status != "complete" or _has(store, key):
                continue
            number = store.begin(
                key,
                run.model,
                run.command,
                specification=run.specification,
                revision=run.revision,
                origin=run.origin,
            )
            for stored in reader.stored(run.id, outcomes=True):
                store.add(number, stored.result)
            store.finish(number, "complete")
            added += 1
    return added


def _has(store: Store, key: str) -> bool:
    """Whether a run of this key is there, and whole."""
    return any(store.reader.each("SELECT 1 FROM runs WHERE key = ? AND status = 'complete' AND removed IS NULL", key))
