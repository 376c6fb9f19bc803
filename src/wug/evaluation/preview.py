"""What a command for many models would ask: whom, what, and how much of it is answered already."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any

from wug.errors import WugError
from wug.evaluation.cache import Cache
from wug.evaluation.cached_model import CachedModel
from wug.evaluation.evaluate import key_of
from wug.evaluation.opening import identify_model
from wug.evaluation.recorder import sweep_key
from wug.evaluation.request import ModelTask, Plan, planned
from wug.results.store import Store
from wug.results.sweeps import Planned, finished
from wug.types import AdaptableSuite


@dataclass(frozen=True, slots=True)
class Expected:
    """What would be asked of a model."""

    model: Planned
    cached: int | None = None
    """Questions that the cache answers; None where only loading the model tells."""
    questions: int = 0
    run: int | None = None
    """Its complete run in the sweep, which is not made again."""
    fault: str = ""
    """Why it cannot be asked."""

    @property
    def state(self) -> str:
        """In words."""
        if self.fault:
            return f"cannot be asked: {self.fault}"
        if self.run is not None:
            return f"done, run {self.run}"
        known = "only loading it tells what is cached" if self.cached is None else f"{self.cached:,} cached"
        return f"{self.questions:,} questions · {known}"


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a command would ask."""

    models: tuple[Expected, ...]
    suites: tuple[str, ...]
    items: int
    questions: int
    """Of each model, that can be asked up front, each counted once."""

    @property
    def heading(self) -> str:
        """Models, suites and questions, in a line."""
        return (
            f"{_counted(len(self.models), 'model')} × {_counted(len(self.suites), 'suite')} "
            f"({self.items:,} items), {self.questions:,} questions each"
        )

    @property
    def to_ask(self) -> int:
        """Questions that models would have to answer."""
        return sum(one.questions - (one.cached or 0) for one in self.models if one.run is None and not one.fault)

    @property
    def total(self) -> str:
        """How much there is to do, in a line."""
        done = sum(one.run is not None for one in self.models)
        faults = sum(bool(one.fault) for one in self.models)
        unknown = sum(one.cached is None and one.run is None and not one.fault for one in self.models)
        parts = [
            f"{self.to_ask:,} questions to ask" + (" at most" if unknown else ""),
            *([f"{_counted(done, 'model')} done"] if done else []),
            *([f"{_counted(faults, 'model')} cannot be asked"] if faults else []),
        ]
        return " · ".join(parts)

    def as_data(self) -> dict[str, Any]:
        """The same for a program."""
        return {
            "suites": list(self.suites),
            "items": self.items,
            "questions": self.questions,
            "to_ask": self.to_ask,
            "models": [
                {
                    "model": str(one.model),
                    "questions": one.questions,
                    "cached": one.cached,
                    "run": one.run,
                    "fault": one.fault or None,
                }
                for one in self.models
            ],
        }


def outlook(plan: Plan, store: Store | None, cache: Cache | None) -> Outlook:
    """What a plan would compute; no model is loaded."""
    number = None
    if store is not None and plan.sweep is not None:
        row = store.reader.one("SELECT id FROM sweeps WHERE key = ?", sweep_key(plan))
        number = None if row is None else row["id"]
    models = tuple(_expected(task, plan, store, cache, number) for task in plan.tasks)
    count = max((one.questions for one in models), default=0)
    return Outlook(models, tuple(suite.name for suite in plan.suites), sum(map(len, plan.suites)), count)


def _expected(task: ModelTask, plan: Plan, store: Store | None, cache: Cache | None, sweep: int | None) -> Expected:
    requests: list[Any] = list(chain.from_iterable(suite.requests() for suite in task.suites))
    count = len(set(requests))
    assert task.spec is not None
    name = planned(task.spec)
    try:
        handle = identify_model(task.spec)
        if handle is None:
            return Expected(name, None, count)
        model = CachedModel(handle, cache)
        if any(isinstance(suite, AdaptableSuite) for suite in task.suites):
            adapted = (one.for_model(model) if isinstance(one, AdaptableSuite) else one for one in task.suites)
            requests = list(chain.from_iterable(suite.requests() for suite in adapted))
        run = None
        if store is not None and sweep is not None:
            run = finished(store.reader, sweep, key_of(task.suites, handle, plan.interval), str(task.spec))
        missing = count if cache is None else model.missing(requests)
        return Expected(name, max(0, count - missing), count, run)
    except WugError as error:
        return Expected(name, None, count, None, str(error))


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
