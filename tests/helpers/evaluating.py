"""Evaluates one model and records the run, without the command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wug import stats
from wug.evaluation.cache import Cache
from wug.evaluation.cached_model import CachedModel
from wug.evaluation.handle import ModelHandle
from wug.evaluation.recorder import Recorder
from wug.evaluation.request import ModelTask, Plan, RecordedRun
from wug.interfaces import Suite
from wug.results.store import Store


def handle_of(model: Any) -> ModelHandle:
    return model if isinstance(model, ModelHandle) else ModelHandle.from_loaded(model)


def cached(model: Any, cache: Cache | None = None, progress: Callable[[int, int], None] | None = None) -> CachedModel:
    return CachedModel(handle_of(model), cache, progress)


def record(
    suites: Sequence[Suite],
    model: Any,
    *,
    command: str = "x",
    store: Store | None = None,
    cache: Cache | None = None,
    interval: stats.Method = "wilson",
    tell: Callable[[int, int], None] | None = None,
    origin: str | None = None,
) -> RecordedRun:
    handle = handle_of(model)
    task = ModelTask(handle, tuple(suites))
    plan = Plan((task,), command, interval, origin=origin)
    recorder = Recorder(plan, store, cache, None if tell is None else lambda event: tell(*event.requests))
    recorder.evaluate(task, handle)
    return recorder.report.recorded[task.name]
