"""Importing: find the files of other programs, read them all, then store one run per model and checkpoint."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from wug import registry
from wug.errors import InputError, UnknownName
from wug.exchange.imported import ImportedRun, renamed
from wug.exchange.json_files import read_object
from wug.files import HEAD_BYTES, content_sha256, head, read_bytes
from wug.identity import IMPORTED
from wug.results.learning_curves import step_of
from wug.results.outcomes import OutcomeCollector
from wug.results.store import Store, run_key
from wug.results.sweeps import Planned, plan_text, sweeps
from wug.types import Result, Signature

log = logging.getLogger("wug")
READERS = "exchange.readers"
OF_FAMILIES = "imports"
"""The module of a family that reads the results of its benchmark."""
MAX_FILES = 20_000
SUFFIXES = (".json", ".jsonl", ".gz", ".eval")
"""Of files that results are usually in: an empty or damaged one in a folder is an error."""
NOT_SIGNED = Signature()


class StoredImport(NamedTuple):
    """A run that was imported, now or before."""

    number: int
    results: tuple[Result, ...]
    notice: str = ""
    """Why nothing was added; empty if it is new."""


class _Prepared(NamedTuple):
    run: ImportedRun
    digest: str
    results: tuple[tuple[Result, OutcomeCollector], ...]

    @property
    def key(self) -> str:
        return run_key([result.signature for result, _ in self.results], {IMPORTED: self.run.model})


def readers() -> dict[str, ModuleType]:
    """The readers by the name of their format."""
    own = {name.replace("_", "-"): module for name, module in registry.modules(READERS)}
    families = ((name, registry.submodule(module, OF_FAMILIES)) for name, module in registry.modules("families"))
    return {**own, **{name: module for name, module in families if module is not None}}


def import_files(
    paths: Sequence[Path],
    store: Store,
    *,
    form: str | None = None,
    model: str | None = None,
    sweep: str | None = None,
    command: str = "",
) -> list[StoredImport]:
    """Read files of other programs and store their runs, all or none.

    Args:
        paths: Files and folders; those in a folder that no reader recognises are ignored.
        store: The run store.
        form: The format; recognised by content by default.
        model: The name of the model, with a checkpoint after `@`; as in the files by default.
        sweep: The name of the sweep that the runs become part of.
        command: The command to store with the runs.

    Raises:
        InputError: If a file is damaged or of no known format, or two files contradict each other.
    """
    found = [run for name, files in _recognised(paths, form).items() for run in _read(name, files)]
    if model is not None:
        if len({run.name for run in found if run.name}) > 1:
            names = ", ".join(sorted({run.name for run in found}))
            raise InputError(f"--model renames one model, and the files are of several: {names}")
        found = [renamed(run, model) for run in found]
    for run in found:
        if not run.name:
            raise InputError("the file does not name the model: give it with --model NAME", file=run.files[0])
    prepared = [_prepare(run) for run in sorted(_merged(found), key=_place)]
    stored = _Stored(store)
    checked = [(one, stored.same(one)) for one in prepared]
    place = None if sweep is None else _sweep(store, sweep, [one.run for one in prepared], command)
    return [_store(store, one, known, place, command) for one, known in checked]


def _read(form: str, files: Sequence[Path]) -> list[ImportedRun]:
    """The runs in some files of a format; values of another type than the format has are an error, too."""
    try:
        return list(readers()[form].read(files))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError) as error:
        log.debug("reading %s failed", form, exc_info=error)
        where = files[0] if len(files) == 1 else f"one of {len(files)} files"
        message = f"a value is not of the type that the format {form} has there ({type(error).__name__}: {error})"
        raise InputError(message, file=where) from None


def _recognised(paths: Sequence[Path], form: str | None) -> dict[str, list[Path]]:
    known = readers()
    if form is not None and form not in known:
        raise UnknownName("format", form, known)
    found: dict[str, list[Path]] = {}
    for path in paths:
        inside = [path] if not path.is_dir() else _files(path)
        formats = {file: form or _format(file, known) for file in inside}
        for file, name in formats.items():
            if not name and file.suffix in SUFFIXES and not read_bytes(file, HEAD_BYTES):
                raise InputError("the file is empty: import the others by name, or remove it", file=file)
        if not any(formats.values()):
            if path.is_file() and ".json" in path.suffixes:
                read_object(path)  # a damaged file says so
            raise InputError(f"no results in a format that wug imports: {', '.join(known)}", file=path)
        for file, name in formats.items():
            if name and file not in found.setdefault(name, []):
                found[name].append(file)
    return found


def _files(folder: Path) -> list[Path]:
    files = sorted(file for file in folder.rglob("*") if file.is_file() and not file.name.startswith("."))
    if len(files) > MAX_FILES:
        raise InputError(f"it has more than {MAX_FILES:,} files. Name a folder with fewer", file=folder)
    return files


def _format(path: Path, known: Mapping[str, ModuleType]) -> str | None:
    if not path.is_file():
        raise InputError("no such file", file=path)
    start = head(path)
    return next((name for name, reader in known.items() if reader.recognises(path, start)), None)


def _merged(runs: Sequence[ImportedRun]) -> Iterator[ImportedRun]:
    """One run per model and checkpoint; equal suites once, different ones are an error."""
    found: dict[tuple[str, str, str, str], ImportedRun] = {}
    for run in runs:
        key = (run.format, run.name, run.revision, run.condition)
        known = found.get(key)
        if known is None:
            found[key] = run
            continue
        suites = {suite.name: suite for suite in known.suites}
        added = [suite for suite in run.suites if suite.name not in suites]
        for suite in run.suites:
            if suite.name in suites and not _equal(
                suites[suite.name].result("", NOT_SIGNED), suite.result("", NOT_SIGNED)
            ):
                raise InputError(
                    f"{known.files[0]} and {run.files[0]} have different values of {suite.name} for {run.model}. "
                    "Import one of them, or give it another name with --model"
                )
        if added:
            found[key] = replace(known, files=[*known.files, *run.files], suites=[*known.suites, *added])
    yield from found.values()


def _place(run: ImportedRun) -> tuple[str, str, float, str]:
    """The models by name, and the checkpoints of each by training step."""
    return run.name, run.condition, step_of(run.revision) or 0.0, run.revision


def _equal(first: Result, second: Result) -> bool:
    values = [{(one.metric, one.group): one.value for one in result.estimates} for result in (first, second)]
    return values[0] == values[1]


def _prepare(run: ImportedRun) -> _Prepared:
    digests = sorted({content_sha256(file) for file in run.files})
    digest = digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
    results = [(suite.result(run.model, run.signature(suite, digest)), suite.outcomes) for suite in run.suites]
    for result, _ in results:
        shares = [one for one in result.estimates if result.metric(one.metric).unit == "share"]
        if impossible := [one for one in shares if not -1e-9 <= one.value <= 1 + 1e-9]:
            one = max(impossible, key=lambda each: abs(each.value))  # not a mean that it is part of
            where = f"{result.suite}, {one.metric} ({one.group})"
            raise InputError(f"{one.value:g} is not a proportion between 0 and 1", file=run.files[0], place=where)
    return _Prepared(run, digest, tuple(results))


class _Stored:
    def __init__(self, store: Store) -> None:
        self._store = store
        rows = store.reader.each("SELECT id, key, model FROM runs WHERE status = 'complete' AND removed IS NULL")
        self._runs = [(row["id"], row["key"], row["model"]) for row in rows if row["model"].startswith(f"{IMPORTED}/")]

    def same(self, one: _Prepared) -> StoredImport | None:
        """The run that was made of the same files, or has the same values; an error if values contradict it."""
        for number, key, model in self._runs:
            if key == one.key:
                return self._known(number, "was imported before from the same content")
            if model == one.run.model and self._agrees(number, one):
                return self._known(number, "has the same values")
        return None

    def _known(self, number: int, why: str) -> StoredImport:
        return StoredImport(number, tuple(self._store.results(number)), f"run {number} {why}: nothing was added")

    def _agrees(self, number: int, one: _Prepared) -> bool:
        """Whether a run has all of these results; an error if it has other values of one."""
        known = {(r.suite, str(r.signature.without(IMPORTED))): r for r in self._store.results(number, outcomes=False)}
        found = [known.get((result.suite, str(result.signature.without(IMPORTED)))) for result, _ in one.results]
        for (result, _), other in zip(one.results, found, strict=True):
            if other is not None and not _equal(result, other) and len(result.estimates) == len(other.estimates):
                raise InputError(
                    f"run {number} has other values of {result.suite} for {result.model}. Give the model another name "
                    "with --model",
                    file=one.run.files[0],
                )
        return all(
            other is not None and _equal(result, other) and result.warnings == other.warnings
            for (result, _), other in zip(one.results, found, strict=True)
        )


def _sweep(store: Store, name: str, runs: Sequence[ImportedRun], command: str) -> int:
    """The number of the sweep, with these runs as further members."""
    key = f"{IMPORTED}:{name}"
    known = next((one for one in sweeps(store.reader) if one.name == name and _is_imported(store, one.id)), None)
    models = dict.fromkeys([*(known.models if known else ()), *(Planned(_specification(run)) for run in runs)])
    suites = dict.fromkeys([*(known.suites if known else ()), *(suite.name for run in runs for suite in run.suites)])
    return store.begin_sweep(key, name, command, plan_text(models, suites))


def _is_imported(store: Store, sweep: int) -> bool:
    row = store.reader.one("SELECT key FROM sweeps WHERE id = ?", sweep)
    return row is not None and str(row["key"]).startswith(f"{IMPORTED}:")


def _specification(run: ImportedRun) -> str:
    """What a sweep calls the run: its model, with the number of shots unless that is 0, and the checkpoint."""
    shots = f" ({run.condition}-shot)" if run.condition not in ("", "0") else ""
    return f"{IMPORTED}:{run.name}{shots}" + (f"@{run.revision}" if run.revision else "")


def _store(store: Store, one: _Prepared, known: StoredImport | None, sweep: int | None, command: str) -> StoredImport:
    if known is not None:
        for _, outcomes in one.results:
            outcomes.close()
        if sweep is not None:
            store.change("UPDATE runs SET sweep = ? WHERE id = ?", sweep, known.number)
        return known
    named = {"specification": _specification(one.run), "revision": one.run.revision or None, "sweep": sweep}
    with store.writing(one.key, one.run.model, command, **named) as (number, add):
        results = []
        for result, outcomes in one.results:
            with closing(outcomes):
                results.append(add(result, outcomes))
    return StoredImport(number, tuple(results))
