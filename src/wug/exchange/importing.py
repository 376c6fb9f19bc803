"""Importing: find the files of other programs, read them all, then store one run per model and checkpoint."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from wug import registry
from wug.errors import InputError, UnknownName
from wug.exchange.imported import ImportedRun
from wug.exchange.json_files import read_strict_object
from wug.files import HEAD_BYTES, content_sha256, head, read_bytes
from wug.identity import IMPORTED
from wug.interfaces import implemented
from wug.outcomes import Result, Signature
from wug.results.learning_curves import step_of
from wug.results.outcomes import OutcomeCollector
from wug.results.store import Store, run_key
from wug.results.sweeps import PlannedModel, plan_text, sweeps

log = logging.getLogger("wug")
READERS = "exchange.readers"
MAX_FILES = 20_000
SUFFIXES = (".json", ".jsonl", ".gz", ".eval")
"""Of files that results are usually in: an empty or damaged one in a folder is an error."""


@dataclass(frozen=True)
class ResultReader:
    """A format of results of other programs: a module in `exchange/readers/`, or `imports` of a family."""

    recognises: Callable[[Path, str], bool]
    read: Callable[[Sequence[Path]], Iterable[ImportedRun]]


class StoredImport(NamedTuple):
    """A run that was imported, now or before."""

    number: int
    results: tuple[Result, ...]
    notice: str = ""
    """Why nothing was added; empty if it is new."""


class _Prepared(NamedTuple):
    run: ImportedRun
    results: tuple[tuple[Result, OutcomeCollector], ...]

    @property
    def key(self) -> str:
        return run_key([result.signature for result, _ in self.results], {IMPORTED: self.run.model})


def readers() -> dict[str, ResultReader]:
    """The readers by the name of their format."""
    formats = ((name.replace("_", "-"), module) for name, module in registry.modules(READERS))
    benchmarks = ((family.name, family.submodule("imports")) for family in registry.families())
    modules = [*formats, *benchmarks]
    return {name: implemented(ResultReader, module) for name, module in modules if module is not None}


def import_files(
    paths: Sequence[Path],
    store: Store,
    *,
    format: str | None = None,
    model: str | None = None,
    sweep: str | None = None,
    command: str = "",
) -> list[StoredImport]:
    """Read files of other programs and store their runs, all or none.

    Args:
        paths: Files and folders; those in a folder that no reader recognises are ignored.
        store: The run store.
        format: The format; recognised by content by default.
        model: The name of the model, with a checkpoint after `@`; as in the files by default.
        sweep: The name of the sweep that the runs become part of.
        command: The command to store with the runs.

    Raises:
        InputError: If a file is damaged or of no known format, or two files contradict each other.
    """
    runs = [run for name, files in _files_by_format(paths, format).items() for run in _read(name, files)]
    if model is not None:
        if len(names := sorted({run.name for run in runs if run.name})) > 1:
            raise InputError(f"--model renames one model, and the files are of several: {', '.join(names)}")
        name, _, revision = model.rpartition("@")  # with a checkpoint after `@`
        runs = [replace(run, name=name, revision=revision) if name else replace(run, name=model) for run in runs]
    for run in runs:
        if not run.name:
            raise InputError("the file does not name the model: give it with --model NAME", file=run.files[0])
    merged = sorted(_merge(runs), key=lambda run: (run.name, run.condition, step_of(run.revision) or 0.0, run.revision))
    prepared = [_prepare(run) for run in merged]
    rows = store.reader.each("SELECT id, key, model FROM runs WHERE status = 'complete' AND removed IS NULL")
    stored = [(row["id"], row["key"], row["model"]) for row in rows]
    checked = [(prepared_run, _find_same(store, stored, prepared_run)) for prepared_run in prepared]
    sweep_id = None if sweep is None else _sweep(store, sweep, merged, command)
    return [_store(store, prepared_run, stored_run, sweep_id, command) for prepared_run, stored_run in checked]


def _read(format: str, files: Sequence[Path]) -> list[ImportedRun]:
    """The runs in some files of a format; values of another type than the format has are an error, too."""
    try:
        return list(readers()[format].read(files))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError) as error:
        log.debug("reading %s failed", format, exc_info=error)
        file = files[0] if len(files) == 1 else f"one of {len(files)} files"
        message = f"a value is not of the type that the format {format} has there ({type(error).__name__}: {error})"
        raise InputError(message, file=file) from None


def _files_by_format(paths: Sequence[Path], format: str | None) -> dict[str, list[Path]]:
    available = readers()
    if format is not None and format not in available:
        raise UnknownName("format", format, available)
    files_by_format: dict[str, list[Path]] = {}
    for path in paths:
        formats = {file: format or _format(file, available) for file in (_files(path) if path.is_dir() else [path])}
        for file, name in formats.items():
            if not name and file.suffix in SUFFIXES and not read_bytes(file, HEAD_BYTES):
                raise InputError("the file is empty: import the others by name, or remove it", file=file)
            if name and file not in files_by_format.setdefault(name, []):
                files_by_format[name].append(file)
        if not any(formats.values()):
            if path.is_file() and ".json" in path.suffixes:
                read_strict_object(path)  # a damaged file says so
            raise InputError(f"no results in a format that wug imports: {', '.join(available)}", file=path)
    return files_by_format


def _files(folder: Path) -> list[Path]:
    files = sorted(file for file in folder.rglob("*") if file.is_file() and not file.name.startswith("."))
    if len(files) > MAX_FILES:
        raise InputError(f"it has more than {MAX_FILES:,} files. Name a folder with fewer", file=folder)
    return files


def _format(path: Path, available: Mapping[str, ResultReader]) -> str | None:
    if not path.is_file():
        raise InputError("no such file", file=path)
    start = head(path)
    return next((name for name, reader in available.items() if reader.recognises(path, start)), None)


def _merge(runs: Sequence[ImportedRun]) -> Iterator[ImportedRun]:
    """One run per model and checkpoint; equal suites once, different ones are an error."""
    merged: dict[tuple[str, str, str, str], ImportedRun] = {}
    for run in runs:
        previous = merged.setdefault((run.format, run.name, run.revision, run.condition), run)
        if previous is run:
            continue
        suites, added = {suite.name: suite for suite in previous.suites}, []
        for suite in run.suites:
            if suite.name not in suites:
                added.append(suite)
            elif not _equal(suites[suite.name].result("", Signature()), suite.result("", Signature())):
                raise InputError(
                    f"{previous.files[0]} and {run.files[0]} have different values of {suite.name} for {run.model}. "
                    "Import one of them, or give it another name with --model"
                )
        if added:
            previous.files = [*previous.files, *run.files]
            previous.suites = [*previous.suites, *added]
    yield from merged.values()


def _equal(first: Result, second: Result) -> bool:
    values = [{(e.metric, e.group): e.value for e in result.estimates} for result in (first, second)]
    return values[0] == values[1]


def _prepare(run: ImportedRun) -> _Prepared:
    digests = sorted({content_sha256(file) for file in run.files})
    digest = digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
    results = [(suite.result(run.model, run.signature(suite, digest)), suite.outcomes) for suite in run.suites]
    for result, _ in results:
        shares = [e for e in result.estimates if result.metric(e.metric).unit == "share"]
        if impossible := [e for e in shares if not -1e-9 <= e.value <= 1 + 1e-9]:
            worst = max(impossible, key=lambda estimate: abs(estimate.value))  # not a mean that it is part of
            place = f"{result.suite}, {worst.metric} ({worst.group})"
            raise InputError(f"{worst.value:g} is not a proportion between 0 and 1", file=run.files[0], place=place)
    return _Prepared(run, tuple(results))


def _find_same(store: Store, runs: Sequence[tuple[int, str, str]], prepared: _Prepared) -> StoredImport | None:
    """The run that was made of the same files, or has the same values; an error if values contradict it."""
    for number, key, model in runs:
        if key == prepared.key:
            reason = "was imported before from the same content"
        elif model == prepared.run.model and _agrees(store, number, prepared):
            reason = "has the same values"
        else:
            continue
        return StoredImport(number, tuple(store.results(number)), f"run {number} {reason}: nothing was added")
    return None


def _agrees(store: Store, number: int, prepared: _Prepared) -> bool:
    """Whether a run has all of these results; an error if it has other values of one."""
    stored = {(r.suite, str(r.signature.without(IMPORTED))): r for r in store.results(number, outcomes=False)}
    agrees = True
    for result, _ in prepared.results:
        earlier = stored.get((result.suite, str(result.signature.without(IMPORTED))))
        equal = earlier is not None and _equal(result, earlier)
        if earlier is not None and not equal and len(result.estimates) == len(earlier.estimates):
            raise InputError(
                f"run {number} has other values of {result.suite} for {result.model}. Give the model another name with "
                "--model",
                file=prepared.run.files[0],
            )
        agrees &= earlier is not None and equal and result.warnings == earlier.warnings
    return agrees


def _sweep(store: Store, name: str, runs: Sequence[ImportedRun], command: str) -> int:
    """The number of the sweep, with these runs as further members."""
    key = f"{IMPORTED}:{name}"
    number = store.reader.one("SELECT id FROM sweeps WHERE key = ?", key)
    earlier = [sweep for sweep in sweeps(store.reader) if number is not None and sweep.id == number["id"]]
    models = [model for sweep in earlier for model in sweep.models]
    suites = [suite for sweep in earlier for suite in sweep.suites]
    models += [PlannedModel(_specification(run)) for run in runs]
    suites += [suite.name for run in runs for suite in run.suites]
    return store.begin_sweep(key, name, command, plan_text(dict.fromkeys(models), dict.fromkeys(suites)))


def _specification(run: ImportedRun) -> str:
    """What a sweep calls the run: its model, with the number of shots unless that is 0, and the checkpoint."""
    shots = f" ({run.condition}-shot)" if run.condition not in ("", "0") else ""
    return f"{IMPORTED}:{run.name}{shots}" + (f"@{run.revision}" if run.revision else "")


def _store(store: Store, run: _Prepared, stored: StoredImport | None, sweep: int | None, command: str) -> StoredImport:
    if stored is not None:
        for _, outcomes in run.results:
            outcomes.close()
        if sweep is not None:
            store.change("UPDATE runs SET sweep = ? WHERE id = ?", sweep, stored.number)
        return stored
    fields = {"specification": _specification(run.run), "revision": run.run.revision or None, "sweep": sweep}
    with store.writing(run.key, run.run.model, command, **fields) as (number, add):
        results = []
        for result, outcomes in run.results:
            with closing(outcomes):
                results.append(add(result, outcomes))
    return StoredImport(number, tuple(results))
