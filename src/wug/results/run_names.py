"""The run that a user's word stands for: its number, `last`, or the beginning of a name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wug.errors import StoreError, nearest
from wug.files import shortened
from wug.identity import ModelId
from wug.results import sweeps
from wug.results.reader import RunReader
from wug.results.records import Run

LAST = "last"
"""The word for the latest run."""
LISTED = 5
"""Runs that a word could stand for, listed at most."""


def find(reader: RunReader, word: str, *, removed: bool = False) -> Run:
    """The run of a number, the latest for `last`, or the only one whose name, or else whose model, begins so.

    Of runs that were removed where `removed` says so.
    """
    word = word.strip()
    if word.isascii() and word.isdigit() and len(word) < 19:
        return reader.run(int(word), removed=removed)
    runs = reader.runs(removed=removed)
    if not runs and removed:
        raise StoreError(f"no run {shortened(word)!r} was removed")
    if not runs:
        raise StoreError(f"no run {shortened(word)!r} in {reader.path}; there is none yet: wug run SUITE --model MODEL")
    if word == LAST:
        return reader.run(runs[0].id, removed=removed)
    found = _beginning(runs, word)
    if len(found) == 1:
        return reader.run(found[0].id, removed=removed)
    if found:
        raise StoreError(f"{shortened(word)!r} could be {_listed(found)}. Write more of the name, or the number")
    near = nearest(word, [name for run in runs for name in _names(run)])
    meant = f" Did you mean {near!r}?" if near else ""
    raise StoreError(
        f"no run {shortened(word)!r} in {reader.path}.{meant} Give the number of a run, {LAST}, or the beginning of a "
        "name (wug list runs)"
    )


def numbers(reader: RunReader, words: Iterable[str]) -> list[int]:
    """The numbers of the runs that words stand for."""
    return [find(reader, word).id for word in words]


def side(reader: RunReader, text: str) -> list[int]:
    """The numbers of the runs of `1,2,base`: words joined by commas, or one name that has commas itself.

    `sweep:NAME` stands for all runs of a sweep that are complete.
    """
    if text.startswith(sweeps.PREFIX):
        return [run.id for run in sweeps.runs_of(reader, sweeps.find(reader, text)) if run.status == "complete"]
    if any(run.name == text for run in reader.runs()):
        return numbers(reader, [text])
    return numbers(reader, text.split(","))


def _beginning(runs: Sequence[Run], word: str) -> list[Run]:
    """The runs that a word may stand for: one called exactly so, those called nearly so, those of a model."""
    if not word:
        return []
    exact = [run for run in runs if run.name == word]
    named = exact or [run for run in runs if run.name is not None and run.name.startswith(word)]
    return named or [run for run in runs if any(name.startswith(word) for name in _models(run))]


def _models(run: Run) -> list[str]:
    """What a run's model is called: `causal/gpt2@607a30d` as a whole and without its kind, and as the user named it."""
    written = run.specification or ""
    return [run.model, ModelId.parse(run.model).path, written, written.partition(":")[2]]


def _names(run: Run) -> list[str]:
    return [name for name in (run.name, ModelId.parse(run.model).name) if name]


def _listed(runs: Sequence[Run]) -> str:
    some = [f"{run.id} ({run.name or run.model})" for run in runs[:LISTED]]
    more = f" and {len(runs) - LISTED} more" if len(runs) > LISTED else ""
    return f"run {', '.join(some)}{more}"
