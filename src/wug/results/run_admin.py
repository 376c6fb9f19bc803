"""Finds stored runs by number, `last`, or the beginning of a name; renames, annotates, removes and shares them.

A bundle is a zip file with runs, their results and outcomes, to move them between stores.
"""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from wug.errors import InputError, StoreError, nearest
from wug.files import shortened
from wug.identity import ModelId
from wug.results import sweeps
from wug.results.columns import storable
from wug.results.outcome_folder import NAME
from wug.results.reader import RunReader
from wug.results.records import Run
from wug.results.schema import INDEX, OUTCOMES
from wug.results.store import Store

LAST = "last"
"""The name of the latest run."""
LISTED = 5
"""Matching runs that an error lists."""
MAX_NAME_CHARACTERS = 200
MAX_RATIO = 200
"""How many times larger the content of a bundle may be than the bundle: a real one is compressed already."""
_COMPLETE = "status = 'complete' AND removed IS NULL"


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


def write_bundle(reader: RunReader, runs: Sequence[Run], path: Path) -> None:
    """Write runs to a zip file: a store with these runs only."""
    with tempfile.TemporaryDirectory(prefix="wug-bundle-") as folder:
        with closing(Store(Path(folder) / "store")) as store:
            store.copy_runs(reader, runs)
        members = [store.path / INDEX, *sorted((store.path / OUTCOMES).iterdir())]
        partial = path.with_name(f"{path.name}.part")
        try:
            with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as bundle:
                for member in members:
                    bundle.write(member, member.relative_to(store.path).as_posix())
            partial.replace(path)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=path) from None
        finally:
            partial.unlink(missing_ok=True)


def add_bundle(store: Store, path: Path) -> tuple[list[int], int]:
    """Add the runs of a bundle, all or none; returns their numbers, and how many the store had already."""
    with opened_bundle(path) as reader:
        there = reader.runs()
        known = {row["key"] for row in store.reader.each(f"SELECT key FROM runs WHERE {_COMPLETE}")}
        keys = {row["id"]: row["key"] for row in reader.each(f"SELECT id, key FROM runs WHERE {_COMPLETE}")}
        new = [run for run in reversed(there) if run.id in keys and keys[run.id] not in known]
        return store.copy_runs(reader, new), len(there) - len(new)


@contextmanager
def opened_bundle(path: Path) -> Iterator[RunReader]:
    """The runs of a bundle, extracted to a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="wug-bundle-") as folder:
        try:
            with zipfile.ZipFile(path) as bundle:
                _require_bundle(bundle, path)
                bundle.extractall(folder)
        except (OSError, zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError) as error:
            raise InputError(f"is not a bundle of runs, or is damaged: {error}", file=path) from None
        try:
            with closing(Store(Path(folder))) as store:
                yield store.reader
        except StoreError as error:
            raise StoreError(f"{path}: {error}") from None


def _require_bundle(bundle: zipfile.ZipFile, path: Path) -> None:
    """Refuse an archive with other names than those of a store, or with far more content than it should have."""
    members = bundle.infolist()
    names = [member.filename for member in members]
    allowed = {INDEX, *(name for name in names if NAME.fullmatch(name.removeprefix(f"{OUTCOMES}/")))}
    strange = next((name for name in names if name not in allowed or names.count(name) > 1), None)
    if INDEX not in names or strange is not None:
        what = f"it has no {INDEX}" if strange is None else f"unexpected content {strange!r}"
        raise InputError(f"is not a bundle of runs: {what}", file=path)
    if sum(member.file_size for member in members) > MAX_RATIO * max(1, path.stat().st_size):
        raise InputError("is not a bundle of runs: its content is too large", file=path)
