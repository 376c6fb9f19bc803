"""Finds runs by number, `last`, or the beginning of a name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wug.errors import StoreError, nearest
from wug.files import shortened
from wug.identity import ModelId
from wug.results import sweeps
from wug.results.reader import RunReader
from wug.results.records import Run

LAST = "last"
"""The name of the latest run."""
LISTED = 5
"""Matching runs that an error lists."""


def find(reader: RunReader, word: str, *, removed: bool = False) -> Run:
    """The run with a number, the latest for `last`, or the only one whose name or model begins with `word`.

    Names take precedence over models. With `removed`, only removed runs.
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
    matches = _beginning(runs, word)
    if len(matches) == 1:
        return reader.run(matches[0].id, removed=removed)
    if matches:
        raise StoreError(f"{shortened(word)!r} matches {_listed(matches)}. Write more of the name, or the number")
    near = nearest(word, [name for run in runs for name in _names(run)])
    meant = f" Did you mean {near!r}?" if near else ""
    raise StoreError(
        f"no run {shortened(word)!r} in {reader.path}.{meant} Give the number of a run, {LAST}, or the beginning of a "
        "name (wug list runs)"
    )


def numbers(reader: RunReader, words: Iterable[str]) -> list[int]:
    """The numbers of runs; `sweep:NAME` means all complete runs of a sweep."""
    matching: list[int] = []
    for word in words:
        if word.startswith(sweeps.PREFIX):
            members = sweeps.runs_of(reader, sweeps.find(reader, word))
            matching += [run.id for run in members if run.status == "complete"]
        else:
            matching.append(find(reader, word).id)
    return matching


def side(reader: RunReader, text: str) -> list[int]:
    """The numbers of the runs in `1,2,base`, or of one name that contains commas."""
    if text.startswith(sweeps.PREFIX) or any(run.name == text for run in reader.runs()):
        return numbers(reader, [text])
    return numbers(reader, text.split(","))


def _beginning(runs: Sequence[Run], word: str) -> list[Run]:
    """The runs that match: the exact name, else names that begin with it, else models."""
    if not word:
        return []
    exact = [run for run in runs if run.name == word]
    named = exact or [run for run in runs if run.name is not None and run.name.startswith(word)]
    return named or [run for run in runs if any(name.startswith(word) for name in _models(run))]


def _models(run: Run) -> list[str]:
    """The names of a run's model: `causal/gpt2@607a30d` with and without its kind, and as the user wrote it."""
    written = run.specification or ""
    return [run.model, ModelId.parse(run.model).path, written, written.partition(":")[2]]


def _names(run: Run) -> list[str]:
    return [name for name in (run.name, ModelId.parse(run.model).name) if name]


def _listed(runs: Sequence[Run]) -> str:
    listed = [f"{run.id} ({run.name or run.model})" for run in runs[:LISTED]]
    more = f" and {len(runs) - LISTED} more" if len(runs) > LISTED else ""
    return f"run {', '.join(listed)}{more}"
