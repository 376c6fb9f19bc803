"""Evaluates one model in another process and sends its results back.

Errors are sent as text, since not all of them can be pickled.
"""

from __future__ import annotations

import functools
import logging
import os
import pickle
import queue
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from logging.handlers import BufferingHandler
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

from wug import stats
from wug.arrays import Indices
from wug.errors import ModelError, WugError
from wug.evaluation.cache import Cache
from wug.evaluation.cached_model import CachedModel, Progress, cache_key
from wug.evaluation.evaluate import RequestMemo, SuiteTask, evaluate_tasks, prepare
from wug.evaluation.handle import ModelHandle
from wug.evaluation.models import open_model
from wug.evaluation.recorder import Recorder
from wug.evaluation.request import ModelTask
from wug.interfaces import Suite
from wug.models import Identity, ModelSpec
from wug.outcomes import Result
from wug.results.outcomes import OutcomeCollector, PackedOutcomes
from wug.timings import timed

UNREAD_MESSAGES = 2
"""Unread messages before the model pauses."""

CacheRows: TypeAlias = list[tuple[bytes, bytes]]
Value = TypeVar("Value")


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
    run: int | None = None
    """The complete run in the store that has the results."""
    warnings: tuple[str, ...] = ()


Message: TypeAlias = Outputs | Finished


class Replica(NamedTuple):
    """The properties of a model, as one of its replicas reports them, and its outputs."""

    identity: Identity
    chunk: int
    ordered: bool
    scores_separate_words: bool
    outputs: Sequence[Any]


def evaluate_model(
    task: RemoteTask,
    suites: Sequence[Suite],
    cache: Cache | None,
    memo: RequestMemo | None = None,
    complete: Callable[[ModelHandle], int | None] = lambda handle: None,
    progress: Progress | None = None,
) -> Finished:
    """The results of a model, its `complete` run, or its error."""

    def evaluated() -> Finished:
        _enter(task.folder)
        handle = open_model(task.spec)
        if (run := complete(handle)) is not None:
            return Finished(handle.id, run=run)
        model = CachedModel(handle, cache, progress)
        with timed("load"):
            tasks = prepare(suites, model, memo)
        with timed("evaluate"):
            results = tuple(_packed_results(tasks, model, task.interval))
        if cache is not None:
            cache.report_damage()
        return Finished(model.id, results)

    done, warnings = _with_warnings(evaluated)
    return (Finished(error=done) if isinstance(done, str) else done)._replace(warnings=warnings)


def _packed_results(
    tasks: Sequence[SuiteTask], model: CachedModel, interval: stats.Method
) -> Iterator[tuple[Result, PackedOutcomes]]:
    """Results without outcomes, each with its outcomes as a Parquet file."""
    with closing(OutcomeCollector()) as collector:
        for result in evaluate_tasks(tasks, model, interval, collector.add):
            yield result, PackedOutcomes.of(collector, result.suite, result.model)


def record_finished(recorder: Recorder, task: ModelTask, finished: Finished) -> None:
    """Store the results of a model that was evaluated elsewhere, or report its error."""
    recorder.warn(finished.warnings)
    with recorder.attempt(task):
        if finished.error is not None:
            raise ModelError(finished.error)
        if finished.run is not None:
            recorder.resume(task, finished.run)
        else:
            recorder.record(task, finished.model, finished.results)


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


def run_replica(spec: ModelSpec, folder: str, requests: Sequence[Any]) -> tuple[Replica | str, tuple[str, ...]]:
    """The model, with its outputs for a chunk of requests, or its error as text; and warnings."""

    def replica() -> Replica:
        handle = _opened(pickle.dumps(spec), folder)
        separate_words = handle.scores_separate_words  # loads the model
        identity = Identity(handle.id, dict(handle.options), handle.returns, handle.bounded)
        compute = handle.score if handle.returns == "scores" else handle.generate
        ordered = handle.returns == "scores" and handle.ordered
        return Replica(identity, handle.chunk, ordered, separate_words, compute(requests) if requests else ())

    return _with_warnings(replica)


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


@functools.lru_cache(maxsize=1)
def _opened(pickled_spec: bytes, folder: str) -> ModelHandle:
    """Open a model and keep it in memory for the next chunk."""
    _enter(folder)
    return open_model(pickle.loads(pickled_spec))


def _enter(folder: str) -> None:
    if Path(folder).is_dir():
        os.chdir(folder)


def _with_warnings(work: Callable[[], Value]) -> tuple[Value | str, tuple[str, ...]]:
    """What a function returns, or its error as text, with its type unless it is a WugError; and logged warnings."""
    handler, logger = BufferingHandler(sys.maxsize), logging.getLogger("wug")
    handler.setLevel(logging.WARNING)
    logger.addHandler(handler)
    try:
        done: Value | str = work()
    except WugError as error:
        done = str(error)
    except Exception as error:
        done = f"{type(error).__name__}: {error}"
    finally:
        logger.removeHandler(handler)
    return done, tuple(record.getMessage() for record in handler.buffer)
