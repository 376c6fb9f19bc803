"""A sweep whose models are asked elsewhere: what comes home is kept here, by one writer, as a plain sweep keeps it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from wug.errors import ModelError
from wug.models import ModelSpec
from wug.runs.cache import Cache
from wug.runs.errand import Answered, Begun, Done, Ended, Found, Message
from wug.runs.evaluate import Recorded, named, record
from wug.runs.opening import Opened
from wug.runs.store import Store, run_key
from wug.runs.sweep import Keeping, Plan, Swept, Tell, Told, failing, planned
from wug.types import Result

log = logging.getLogger("wug")


@dataclass(slots=True, eq=False)
class UnderWay:
    """A model that is asked elsewhere."""

    spec: ModelSpec
    results: list[Result] = field(default_factory=list)
    attempt: str | None = None
    """The attempt that this process was told of first."""
    before: int | None = None
    """Its run, where it was asked already."""
    ended: Ended | None = None
    lost: int = 0
    """Processes that had it and are gone."""

    @property
    def name(self) -> str:
        """What the sweep calls it."""
        return str(planned(self.spec))


class Gathering:
    """What comes of the models of a sweep, wherever they are asked."""

    def __init__(self, plan: Plan, store: Store | None, cache: Cache | None, tell: Tell | None) -> None:
        self.plan, self.cache, self.keeping = plan, cache, Keeping(plan, store)
        self._tell: Tell = tell or (lambda told: None)
        self._swept = Swept()
        self._warned: set[str] = set()

    def missing(self, done: Callable[[ModelSpec], int | None]) -> list[ModelSpec]:
        """The models that are not done; `done` gives the run of one that is, as far as that can be told here."""
        left = []
        for spec in self.plan.models:
            run = done(spec)
            if run is None:
                left.append(spec)
            else:
                self._found_before(str(planned(spec)), run)
        return left

    def heed(self, model: UnderWay, message: Message) -> None:
        """Take a message about a model: answers are kept at once, results when all are there."""
        match message:
            case Begun(attempt):
                model.attempt = model.attempt or attempt
                self._told(model.name)
            case Answered(owner, blocks, done, total):
                if self.cache is not None and blocks:
                    self.cache.write(owner, blocks)
                self._told(model.name, (done, total))
            case Found(result):
                model.results.append(result)
            case Done(run):
                model.before = run
            case Ended():
                model.ended = message

    def keep(self, model: UnderWay) -> None:
        """Put what a model found into the store, all at once."""
        ended = model.ended or Ended(error="its task ended without a word")
        if model.ended is not None and model.attempt not in (None, ended.attempt):
            log.warning("%s was begun again, because the machine or the process that had it was lost", model.name)
        for warning in ended.warnings:
            if warning not in self._warned:
                log.warning("%s", warning)
                self._warned.add(warning)
        if ended.error is not None:
            self.give_up(model, ended.error)
            return
        with failing(model.name, self._swept):
            if model.before is not None:
                self._found_before(model.name, model.before)
            else:
                self._swept.found[model.name] = self._recorded(model, ended)
        self._told_unless_last(model.name)

    def give_up(self, model: UnderWay, why: str) -> None:
        """Note that a model could not be asked."""
        with failing(model.name, self._swept):
            raise ModelError(why)
        self._told_unless_last(model.name)

    def ask(self, spec: ModelSpec, opened: Callable[[], Opened]) -> None:
        """Ask a model from here, however it is opened."""
        name = str(planned(spec))
        self._told(name)
        with failing(name, self._swept):
            self._swept.found[name] = record(
                self.plan.suites,
                opened(),
                command=self.plan.command,
                store=self.keeping.store,
                cache=self.cache,
                interval=self.plan.interval,
                tell=lambda done, total: self._told(name, (done, total)),
                sweep=self.keeping.number,
            )

    def ended(self) -> Swept:
        """What came of it, in the order of the models."""
        places = {str(planned(spec)): place for place, spec in enumerate(self.plan.models)}
        self._swept.found = {name: self._swept.found[name] for name in places if name in self._swept.found}
        self._swept.failures.sort(key=lambda failure: places[failure.model])
        self._told("")
        return self._swept

    def _found_before(self, name: str, run: int) -> None:
        self._swept.before += 1
        self._swept.found[name] = self.keeping.recorded(run)

    def _recorded(self, model: UnderWay, ended: Ended) -> Recorded:
        store, results = self.keeping.store, model.results
        if store is None:
            return Recorded(None, tuple(results))
        given = dict(model.spec.options)
        key = run_key([result.signature for result in results], {"interval": self.plan.interval, "given": given})
        if (run := self.keeping.complete(key, model.spec)) is not None:
            self._swept.before += 1
            return self.keeping.recorded(run)
        spoken = named(Opened(None, model.spec))
        number = store.begin(key, ended.model, self.plan.command, sweep=self.keeping.number, **spoken)
        kept = tuple(store.add(number, result) for result in results)
        store.finish(number, "failed" if any(result.status == "failed" for result in results) else "complete")
        return Recorded(number, kept)

    def _told_unless_last(self, name: str) -> None:
        """Tell how far it is; that all is done is told once, at the end."""
        if self._swept.done < len(self.plan.models):
            self._told(name)

    def _told(self, name: str, questions: tuple[int, int] = (0, 0)) -> None:
        self._tell(Told(self._swept.done, len(self.plan.models), name, questions, self._swept.before))
