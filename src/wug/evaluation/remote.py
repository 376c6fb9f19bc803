"""What another process does for a run: evaluate one model and send back what it found.

Errors travel as text, since not all of them can be pickled.
"""

from __future__ import annotations

import functools
import logging
import os
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from wug import stats
from wug.errors import WugError
from wug.evaluation.cache import Cache
from wug.evaluation.cached_model import CachedModel, Progress, cache_key
from wug.evaluation.evaluate import RequestMemo, SuiteTask, evaluate_tasks, prepare
from wug.evaluation.handle import ModelHandle
from wug.evaluation.opening import open_model
from wug.models import ModelSpec
from wug.results.outcomes import OutcomeCollector, PackedOutcomes
from wug.stages import stage
from wug.types import Result, Suite

UNREAD_MESSAGES = 2
"""Messages that may wait to be taken before the model continues."""

CacheRows: TypeAlias = list[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class RemoteTask:
    """A model to evaluate."""

    spec: ModelSpec
    folder: str
    """Where the command was given: a relative path means the same, if that folder exists there."""
    interval: stats.Method


@dataclass(frozen=True, slots=True)
class Outputs:
    """New outputs for the cache, and how far the model is."""

    key: bytes
    model: str
    rows: CacheRows
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Finished:
    """All results of a model, or why there are none."""

    model: str = ""
    results: tuple[tuple[Result, PackedOutcomes], ...] = ()
    error: str | None = None
    warnings: tuple[str, ...] = ()


Message: TypeAlias = Outputs | Finished


@dataclass(frozen=True, slots=True)
class Described:
    """What a model is, as one of its copies reports."""

    id: str
    options: Mapping[str, str]
    chunk: int
    ordered: bool
    scores: bool
    bounded: bool


@dataclass(frozen=True, slots=True)
class Reply:
    """What a copy sends back: a value, or an error as its text, and its warnings."""

    value: Any = None
    error: str | None = None
    warnings: tuple[str, ...] = ()


def evaluate_model(
    task: RemoteTask,
    suites: Sequence[Suite],
    cache: Cache | None,
    memo: RequestMemo | None = None,
    complete: Callable[[ModelHandle], bool] = lambda handle: False,
    progress: Progress | None = None,
) -> Finished:
    """The results of a model, or its error; without results where it is `complete` already."""
    with collected_warnings() as warnings:
        try:
            _enter(task.folder)
            handle = open_model(task.spec)
            if complete(handle):
                return Finished(handle.id, warnings=tuple(warnings))
            model = CachedModel(handle, cache, progress)
            with stage("load"):
                tasks = prepare(suites, model, memo)
            with stage("ask"):
                results = tuple(_packed_results(tasks, model, task.interval))
            if cache is not None:
                cache.report_damage()
            return Finished(model.id, results, None, tuple(warnings))
        except Exception as error:
            return Finished(error=as_text(error), warnings=tuple(warnings))


def _packed_results(
    tasks: Sequence[SuiteTask], model: CachedModel, interval: stats.Method
) -> Iterator[tuple[Result, PackedOutcomes]]:
    """Results without their outcomes, each with these as a Parquet file."""
    with closing(OutcomeCollector()) as collector:
        for result in evaluate_tasks(tasks, model, interval, collector.add):
            yield result, PackedOutcomes.of(collector, result.suite, result.model)


def stream_model(task: RemoteTask, suites: Sequence[Suite], known: CacheRows) -> Iterator[Message]:
    """The messages of a model that is evaluated on another machine: its outputs as they come, then its results."""
    messages: queue.Queue[Message] = queue.Queue(UNREAD_MESSAGES)

    def work() -> None:
        with closing(_ForwardingCache(messages.put, known)) as cache:
            messages.put(evaluate_model(task, suites, cache, progress=cache.tell))

    threading.Thread(target=work, daemon=True).start()
    while not isinstance(message := messages.get(), Finished):
        yield message
    yield message


def known_rows(cache: Cache | None, handle: ModelHandle | None) -> CacheRows:
    """All outputs of a model that the cache has, to be sent along with its task."""
    if cache is None or handle is None:
        return []
    return cache.rows(cache_key(handle.returns, handle.id, handle.options, handle.given))


def describe_copy(spec: ModelSpec, folder: str) -> Reply:
    """Load a model and describe it."""
    return _reply(lambda: _described(_held(spec, folder)))


def run_copy(spec: ModelSpec, folder: str, requests: Sequence[Any]) -> Reply:
    """The model's id, then its outputs for a chunk of requests."""

    def outputs() -> list[Any]:
        handle = _held(spec, folder)
        return [handle.id, *(handle.score if handle.returns == "scores" else handle.generate)(requests)]

    return _reply(outputs)


class _ForwardingCache(Cache):
    """The cache of one remote task: what was known, and what is new, which is sent home."""

    def __init__(self, send: Callable[[Message], None], known: CacheRows) -> None:
        super().__init__()
        self._send, self._known = send, known
        self._new: list[tuple[bytes, str, CacheRows]] = []

    def missing(self, model: bytes, keys: Sequence[bytes]) -> list[int]:
        """As in any cache, once the known outputs are in it."""
        if self._known:
            known, self._known = self._known, []
            super().write(model, "", known)
        return super().missing(model, keys)

    def write(self, model: bytes, name: str, rows: Sequence[tuple[bytes, bytes]]) -> None:
        """Store outputs, and hold them ready to be sent."""
        super().write(model, name, rows)
        self._new.append((model, name, list(rows)))

    def tell(self, done: int, total: int) -> None:
        """Send what is new."""
        new, self._new = self._new, []
        for key, name, rows in new:
            self._send(Outputs(key, name, rows, done, total))


def _held(spec: ModelSpec, folder: str) -> ModelHandle:
    return _opened(spec.kind, spec.name, spec.revision, tuple(sorted(spec.options.items())), spec.alias, folder)


@functools.lru_cache(maxsize=1)
def _opened(
    kind: str, name: str, revision: str | None, options: tuple[tuple[str, str], ...], alias: str | None, folder: str
) -> ModelHandle:
    """The model that this process has in memory: the next chunk may be for it too."""
    _enter(folder)
    return open_model(ModelSpec(kind, name, revision, dict(options), alias))


def _described(handle: ModelHandle) -> Described:
    _ = handle.backend
    scores = handle.returns == "scores"
    return Described(handle.id, dict(handle.options), handle.chunk, scores and handle.ordered, scores, handle.bounded)


def _reply(work: Callable[[], Any]) -> Reply:
    with collected_warnings() as warnings:
        try:
            return Reply(work(), None, tuple(warnings))
        except WugError as error:
            return Reply(None, str(error), tuple(warnings))


def as_text(error: Exception) -> str:
    """An error as its text, with its type where it is not one of ours."""
    return str(error) if isinstance(error, WugError) else f"{type(error).__name__}: {error}"


def _enter(folder: str) -> None:
    if Path(folder).is_dir():
        os.chdir(folder)


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """The warnings that are logged within."""
    warnings: list[str] = []
    handler = _Collector(warnings)
    logger = logging.getLogger("wug")
    logger.addHandler(handler)
    try:
        yield warnings
    finally:
        logger.removeHandler(handler)


class _Collector(logging.Handler):
    """Collects messages in a list."""

    def __init__(self, messages: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._messages = messages

    def emit(self, record: logging.LogRecord) -> None:
        self._messages.append(record.getMessage())
