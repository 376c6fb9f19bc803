"""Evaluates one model in another process and sends its results back.

Errors are sent as text, since not all of them can be pickled.
"""

from __future__ import annotations

import functools
import logging
import os
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from wug import stats
from wug.arrays import Indices
from wug.errors import WugError
from wug.evaluation.cache import Cache
from wug.evaluation.cached_model import CachedModel, Progress, cache_key
from wug.evaluation.evaluate import RequestMemo, SuiteTask, evaluate_tasks, prepare
from wug.evaluation.handle import ModelHandle
from wug.evaluation.models import open_model
from wug.interfaces import Suite
from wug.models import ModelSpec
from wug.outcomes import Result
from wug.results.outcomes import OutcomeCollector, PackedOutcomes
from wug.timings import timed

UNREAD_MESSAGES = 2
"""Unread messages before the model pauses."""

CacheRows: TypeAlias = list[tuple[bytes, bytes]]


class RemoteTask(NamedTuple):
    """A model to evaluate."""

    spec: ModelSpec
    folder: str
    """The working directory of the command, entered if it exists there, so that relative paths work."""
    interval: stats.Method


class Outputs(NamedTuple):
    """New outputs for the cache, and the progress of the model."""

    key: bytes
    model: str
    rows: CacheRows
    done: int
    total: int


class Finished(NamedTuple):
    """All results of a model, or its error."""

    model: str = ""
    results: tuple[tuple[Result, PackedOutcomes], ...] = ()
    error: str | None = None
    warnings: tuple[str, ...] = ()


Message: TypeAlias = Outputs | Finished


class ModelDescription(NamedTuple):
    """The properties of a model, as one of its replicas reports them."""

    id: str
    options: Mapping[str, str]
    chunk: int
    ordered: bool
    returns: Literal["scores", "text"]
    bounded: bool
    scores_separate_words: bool = False


class ReplicaReply(NamedTuple):
    """The reply of a replica: a value, or an error as text, and warnings."""

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
    """The results of a model, or its error; no results if it is already `complete`."""
    with collected_warnings() as warnings:
        try:
            _enter(task.folder)
            handle = open_model(task.spec)
            if complete(handle):
                return Finished(handle.id, warnings=tuple(warnings))
            model = CachedModel(handle, cache, progress)
            with timed("load"):
                tasks = prepare(suites, model, memo)
            with timed("evaluate"):
                results = tuple(_packed_results(tasks, model, task.interval))
            if cache is not None:
                cache.report_damage()
            return Finished(model.id, results, None, tuple(warnings))
        except Exception as error:
            return Finished(error=as_text(error), warnings=tuple(warnings))


def _packed_results(
    tasks: Sequence[SuiteTask], model: CachedModel, interval: stats.Method
) -> Iterator[tuple[Result, PackedOutcomes]]:
    """Results without outcomes, each with its outcomes as a Parquet file."""
    with closing(OutcomeCollector()) as collector:
        for result in evaluate_tasks(tasks, model, interval, collector.add):
            yield result, PackedOutcomes.of(collector, result.suite, result.model)


def stream_model(task: RemoteTask, suites: Sequence[Suite], known: CacheRows) -> Iterator[Message]:
    """The messages of a model that is evaluated on another machine: outputs as they are computed, then results."""
    messages: queue.Queue[Message] = queue.Queue(UNREAD_MESSAGES)

    def work() -> None:
        with closing(_ForwardingCache(messages.put, known)) as cache:
            messages.put(evaluate_model(task, suites, cache, progress=cache.send_outputs))

    threading.Thread(target=work, daemon=True).start()
    while not isinstance(message := messages.get(), Finished):
        yield message
    yield message


def known_rows(cache: Cache | None, handle: ModelHandle | None) -> CacheRows:
    """All outputs of a model in the cache, to be sent with its task."""
    if cache is None or handle is None:
        return []
    return cache.rows(cache_key(handle.returns, handle.id, handle.options, handle.given))


def describe_replica(spec: ModelSpec, folder: str) -> ReplicaReply:
    """Load a model and describe it."""
    return _reply(lambda: _description(_loaded_replica(spec, folder)))


def run_replica(spec: ModelSpec, folder: str, requests: Sequence[Any]) -> ReplicaReply:
    """The model's id, then its outputs for a chunk of requests."""

    def outputs() -> list[Any]:
        handle = _loaded_replica(spec, folder)
        return [handle.id, *(handle.score if handle.returns == "scores" else handle.generate)(requests)]

    return _reply(outputs)


class _ForwardingCache(Cache):
    """The cache of a remote task: known outputs, and new ones, which are sent to the coordinator."""

    def __init__(self, send: Callable[[Message], None], known: CacheRows) -> None:
        super().__init__()
        self._send, self._known = send, known
        self._new: list[tuple[bytes, str, CacheRows]] = []

    def missing(self, model: bytes, keys: bytes) -> tuple[Indices, int]:
        """Add the known outputs first, then look up keys."""
        if self._known:
            rows, self._known = self._known, []
            super().write(model, "", rows)
        return super().missing(model, keys)

    def write(self, model: bytes, name: str, rows: Sequence[tuple[bytes, bytes]]) -> None:
        """Store outputs, and queue them for sending."""
        super().write(model, name, rows)
        self._new.append((model, name, list(rows)))

    def send_outputs(self, done: int, total: int) -> None:
        """Send new outputs."""
        new, self._new = self._new, []
        for key, name, rows in new:
            self._send(Outputs(key, name, rows, done, total))


def _loaded_replica(spec: ModelSpec, folder: str) -> ModelHandle:
    return _opened(spec.backend, spec.name, spec.revision, tuple(sorted(spec.options.items())), spec.alias, folder)


@functools.lru_cache(maxsize=1)
def _opened(
    backend: str, name: str, revision: str | None, options: tuple[tuple[str, str], ...], alias: str | None, folder: str
) -> ModelHandle:
    """Open a model and keep it in memory for the next chunk."""
    _enter(folder)
    return open_model(ModelSpec(backend, name, revision, dict(options), alias))


def _description(handle: ModelHandle) -> ModelDescription:
    separate_words = handle.scores_separate_words  # loads the model
    ordered = handle.returns == "scores" and handle.ordered
    options = dict(handle.options)
    return ModelDescription(handle.id, options, handle.chunk, ordered, handle.returns, handle.bounded, separate_words)


def _reply(work: Callable[[], Any]) -> ReplicaReply:
    with collected_warnings() as warnings:
        try:
            return ReplicaReply(work(), None, tuple(warnings))
        except WugError as error:
            return ReplicaReply(None, str(error), tuple(warnings))


def as_text(error: Exception) -> str:
    """An error as text, with its type unless it is a WugError."""
    return str(error) if isinstance(error, WugError) else f"{type(error).__name__}: {error}"


def _enter(folder: str) -> None:
    if Path(folder).is_dir():
        os.chdir(folder)


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collect the warnings logged in a context."""
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
