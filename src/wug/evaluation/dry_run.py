"""`wug run --dry-run`: what a plan would compute, and how much of it is cached."""

from __future__ import annotations

from itertools import chain
from typing import Any, NamedTuple

from wug.errors import WugError
from wug.evaluation.cache import Cache
from wug.evaluation.cached_model import CachedModel
from wug.evaluation.evaluate import run_key_for
from wug.evaluation.models import identify_model
from wug.evaluation.recorder import sweep_key
from wug.evaluation.request import ModelTask, Plan, planned_model
from wug.formatting import plural
from wug.interfaces import AdaptableSuite
from wug.results.store import Store
from wug.results.sweeps import PlannedModel, finished


class ModelEstimate(NamedTuple):
    """What a model would compute."""

    model: PlannedModel
    cached: int | None = None
    """Requests with an output in the cache; None if the model has to be loaded to know."""
    requests: int = 0
    run: int | None = None
    """Its complete run in the sweep, which is not repeated."""
    error: str = ""
    """Why it cannot be evaluated."""

    @property
    def state(self) -> str:
        """One line of text."""
        if self.error:
            return f"cannot be evaluated: {self.error}"
        if self.run is not None:
            return f"done, run {self.run}"
        known = "cached outputs are known only after loading" if self.cached is None else f"{self.cached:,} cached"
        return f"{plural(self.requests, 'request')} · {known}"


class DryRun(NamedTuple):
    """What a command would compute."""

    models: tuple[ModelEstimate, ...]
    suites: tuple[str, ...]
    items: int
    requests: int
    """Distinct requests per model that are known before the run."""

    @property
    def heading(self) -> str:
        """The numbers of models, suites, items and requests, in one line."""
        return (
            f"{plural(len(self.models), 'model')} × {plural(len(self.suites), 'suite')} "
            f"({plural(self.items, 'item')}), {plural(self.requests, 'request')} each"
        )

    @property
    def requests_to_compute(self) -> int:
        """Requests of all models without an output in the cache."""
        return sum(estimate.requests - (estimate.cached or 0) for estimate in self._pending)

    @property
    def total(self) -> str:
        """How much there is to compute, in one line."""
        done = sum(estimate.run is not None for estimate in self.models)
        errors = sum(bool(estimate.error) for estimate in self.models)
        unknown = any(estimate.cached is None for estimate in self._pending)
        parts = [
            f"{'at most ' if unknown else ''}{plural(self.requests_to_compute, 'request')} to compute",
            *([f"{plural(done, 'model')} done"] if done else []),
            *([f"{plural(errors, 'model')} cannot be evaluated"] if errors else []),
        ]
        return " · ".join(parts)

    @property
    def _pending(self) -> list[ModelEstimate]:
        return [estimate for estimate in self.models if estimate.run is None and not estimate.error]

    def as_data(self) -> dict[str, Any]:
        """The same as JSON data."""
        return {
            "suites": list(self.suites),
            "items": self.items,
            "requests": self.requests,
            "requests_to_compute": self.requests_to_compute,
            "models": [
                {**estimate._asdict(), "model": str(estimate.model), "error": estimate.error or None}
                for estimate in self.models
            ],
        }


def dry_run(plan: Plan, store: Store | None, cache: Cache | None) -> DryRun:
    """What a plan would compute; no model is loaded."""
    number = None
    if store is not None and plan.sweep is not None:
        row = store.reader.one("SELECT id FROM sweeps WHERE key = ?", sweep_key(plan))
        number = None if row is None else row["id"]
    models = tuple(_estimate(task, plan, store, cache, number) for task in plan.tasks)
    count = max((model.requests for model in models), default=0)
    return DryRun(models, tuple(suite.name for suite in plan.suites), sum(map(len, plan.suites)), count)


def _estimate(
    task: ModelTask, plan: Plan, store: Store | None, cache: Cache | None, sweep: int | None
) -> ModelEstimate:
    requests: list[Any] = list(chain.from_iterable(suite.requests() for suite in task.suites))
    count = len(set(requests))
    assert task.spec is not None
    name = planned_model(task.spec)
    try:
        handle = identify_model(task.spec)
        if handle is None:
            return ModelEstimate(name, None, count)
        model = CachedModel(handle, cache)
        if any(isinstance(suite, AdaptableSuite) for suite in task.suites):
            adapted = (suite.for_model(model) if isinstance(suite, AdaptableSuite) else suite for suite in task.suites)
            requests = list(chain.from_iterable(suite.requests() for suite in adapted))
        run = None
        if store is not None and sweep is not None:
            run = finished(store.reader, sweep, run_key_for(task.suites, handle, plan.interval), str(task.spec))
        missing = count if cache is None else model.missing(requests)
        return ModelEstimate(name, max(0, count - missing), count, run)
    except WugError as error:
        return ModelEstimate(name, None, count, None, str(error))
