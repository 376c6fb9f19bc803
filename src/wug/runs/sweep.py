"""Many models asked the same suites: what fails is told at the end, what is done is not done again.

The next model is made ready by a thread while the present one is asked (`ahead.py`). On a GPU models are shared out to
processes instead (`processes.py`), with `--engine ray` over a cluster (`ray.py`); what is kept is the same.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from wug import stats
from wug.errors import StoreError, WugError
from wug.files import checksum
from wug.models import ModelSpec
from wug.runs.ahead import Ready, made_ahead
from wug.runs.cache import Cache
from wug.runs.evaluate import Recorded, key_of, record
from wug.runs.opening import Opened, open_unloaded
from wug.runs.store import Store
from wug.runs.sweeps import Planned, finished, finished_at, plan_text
from wug.stages import stage
from wug.types import Request, Result, Source, Suite

log = logging.getLogger("wug")


class Once:
    """A suite that makes its questions once, however many models it asks."""

    def __init__(self, suite: Suite) -> None:
        self._suite = suite

    @cached_property
    def _questions(self) -> Sequence[Request] | Sequence[str | Source]:
        return self._suite.requests()

    def requests(self) -> Sequence[Request] | Sequence[str | Source]:
        """What can be asked up front."""
        return self._questions

    def __len__(self) -> int:
        return len(self._suite)

    def __getattr__(self, name: str) -> Any:
        if name == "_suite":  # while a copy is being made
            raise AttributeError(name)
        return getattr(self._suite, name)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked of whom."""

    models: tuple[ModelSpec, ...]
    suites: tuple[Suite, ...]
    command: str
    name: str | None = None
    """Of the sweep in the store; None for runs that stand for themselves."""
    scope: tuple[str, ...] = ()
    """What the user wrote for the models: with the suites it makes two commands the same sweep."""
    interval: stats.Method = "wilson"
    commits: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """The commits of models of the hub, by name and revision, as far as they are known."""

    @property
    def planned(self) -> tuple[Planned, ...]:
        """The models as the store names them."""
        return tuple(planned(spec) for spec in self.models)


@dataclass(frozen=True, slots=True)
class Failure:
    """A model that could not be asked, and why."""

    model: str
    message: str


@dataclass(slots=True)
class Swept:
    """What came of a sweep."""

    found: dict[str, Recorded] = field(default_factory=dict)
    """What each model's run found, in the order of the models."""
    failures: list[Failure] = field(default_factory=list)
    before: int = 0
    """Models that were done already."""

    @property
    def results(self) -> list[Result]:
        """The results of all models."""
        return [result for recorded in self.found.values() for result in recorded.results]

    @property
    def runs(self) -> dict[str, int]:
        """The numbers of the runs that were kept, by model."""
        return {name: recorded.number for name, recorded in self.found.items() if recorded.number is not None}

    @property
    def failed(self) -> bool:
        """Whether a model or a result failed."""
        return bool(self.failures) or any(result.status == "failed" for result in self.results)

    @property
    def done(self) -> int:
        """Models that were asked, or could not be."""
        return len(self.found) + len(self.failures)


@dataclass(frozen=True, slots=True)
class Told:
    """How far a sweep is."""

    done: int
    """Models that were asked, were done before, or failed."""
    models: int
    model: str
    """The one that is asked, or was last."""
    questions: tuple[int, int] = (0, 0)
    """Of this model: answered, and all."""
    before: int = 0


Tell = Callable[[Told], None]


class Keeping:
    """Where a sweep's runs are kept, and which of them are complete already."""

    def __init__(self, plan: Plan, store: Store | None) -> None:
        self.plan, self.store = plan, store
        self.number: int | None = None
        if store is not None and plan.name is not None:
            names = [suite.name for suite in plan.suites]
            self.number = store.begin_sweep(sweep_key(plan), plan.name, plan.command, plan_text(plan.planned, names))

    def finished(self, opened: Opened) -> int | None:
        """The complete run of a model in the sweep; None where it is to be asked."""
        if self.number is None or opened.spec is None:
            return None
        return self.complete(key_of(self.plan.suites, opened, self.plan.interval), opened.spec)

    def at_commit(self, spec: ModelSpec) -> int | None:
        """The same of a model of the hub whose commit is known: such a model need not be loaded to be told."""
        commit = self.plan.commits.get((spec.name, spec.revision or ""))
        if commit is None or self.store is None or self.number is None:
            return None
        return finished_at(self.store.shelf, self.number, planned(spec), commit)

    def done(self, spec: ModelSpec) -> int | None:
        """The same as far as it can be told without loading the model."""
        if (run := self.at_commit(spec)) is not None:
            return run
        try:
            opened = None if self.number is None else open_unloaded(spec)
            return None if opened is None else self.finished(opened)
        except WugError:
            return None  # asking it will tell what is wrong

    def complete(self, key: str, spec: ModelSpec) -> int | None:
        """The complete run in the sweep with this key."""
        if self.store is None or self.number is None:
            return None
        return finished(self.store.shelf, self.number, key, str(spec))

    def recorded(self, run: int) -> Recorded:
        """What a run found that is in the store."""
        assert self.store is not None
        return Recorded(run, tuple(stored.result for stored in self.store.shelf.stored(run)))


def sweep(plan: Plan, *, store: Store | None = None, cache: Cache | None = None, tell: Tell | None = None) -> Swept:
    """Ask every model on this machine; each run is in the store as it is made."""
    say = tell or (lambda told: None)
    keeping = Keeping(plan, store)
    swept = Swept()
    for spec, ready in made_ahead(plan.models, plan.suites, cache, keeping):
        name = str(planned(spec))
        say(Told(swept.done, len(plan.models), name, before=swept.before))
        with failing(name, swept):
            made = ready()
            _ask(plan, keeping, made, name, swept, cache, say)
            del made  # the next one may need the room
    say(Told(swept.done, len(plan.models), "", before=swept.before))
    return swept


def _ask(plan: Plan, keeping: Keeping, ready: Ready, name: str, swept: Swept, cache: Cache | None, say: Tell) -> None:
    if ready.run is not None or ready.opened is None:
        assert ready.run is not None
        swept.before += 1
        swept.found[name] = keeping.recorded(ready.run)
        return
    done = swept.done
    with stage("ask"):
        swept.found[name] = record(
            plan.suites,
            ready.opened,
            command=plan.command,
            store=keeping.store,
            cache=cache,
            interval=plan.interval,
            tell=lambda some, all_: say(Told(done, len(plan.models), name, (some, all_), swept.before)),
            sweep=keeping.number,
        )


class failing:  # noqa: N801 (reads as a phrase where it is used)
    """A context in which a model may fail: what went wrong is noted, and the others go on."""

    def __init__(self, name: str, swept: Swept) -> None:
        self._name, self._swept = name, swept

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        if error is None or not isinstance(error, Exception) or isinstance(error, StoreError):
            return False  # without a store there is no going on
        log.debug("%s failed", self._name, exc_info=error)
        message = str(error) if isinstance(error, WugError) else f"{type(error).__name__}: {error}"
        self._swept.failures.append(Failure(self._name, message))
        return True


def planned(spec: ModelSpec) -> Planned:
    """A model as the store names it."""
    return Planned(str(spec), tuple(sorted(spec.options.items())))


def sweep_key(plan: Plan) -> str:
    """What makes two commands the same sweep: what was written for the models, the suites, and how they are scored.

    A pattern that fits more models than before is the same sweep, which then goes on with the new ones.
    """
    suites = [f"{suite.name}@{suite.checksum}?{dict(suite.options)}" for suite in plan.suites]
    return checksum(plan.name or "", *plan.scope, "\0", *suites, plan.interval)


def shared_once(suites: Sequence[Suite]) -> tuple[Suite, ...]:
    """The suites, each of which makes its questions once."""
    made: list[Any] = [Once(suite) for suite in suites]
    return tuple(made)
