"""Records a run: results in the store, outputs in the cache, failures in the report."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

from wug.errors import ModelError, StoreError, WugError
from wug.evaluation.cache import Cache
from wug.evaluation.cached_model import CachedModel
from wug.evaluation.evaluate import RequestMemo, evaluate_tasks, prepare, run_key_for, run_key_for_tasks
from wug.evaluation.handle import ModelHandle
from wug.evaluation.models import identify_model
from wug.evaluation.request import Failure, Listener, ModelTask, Plan, RecordedRun, RunEvent, RunReport, planned_model
from wug.files import checksum
from wug.models import ModelSpec
from wug.outcomes import Result
from wug.results.outcomes import OutcomeCollector, PackedOutcomes
from wug.results.progress import ProgressReporter
from wug.results.queries import unpack
from wug.results.store import Store, run_key
from wug.results.sweeps import finished, finished_at, plan_text

log = logging.getLogger("wug")


class Recorder:
    """Stores the results of executors, and finds models that are already complete."""

    def __init__(self, plan: Plan, store: Store | None, cache: Cache | None, listen: Listener | None = None) -> None:
        self.plan, self.store, self.cache = plan, store, cache
        self.report = RunReport()
        self.memo: RequestMemo = {}
        self.sweep: int | None = None
        """The number of the sweep in the store."""
        self._listen = listen or (lambda event: None)
        self._warned: set[str] = set()
        if store is not None and plan.sweep is not None:
            models = [planned_model(task.spec) for task in plan.tasks if task.spec is not None]
            text = plan_text(models, [suite.name for suite in plan.suites])
            self.sweep = store.begin_sweep(sweep_key(plan), plan.sweep, plan.command, text)

    def pending(self, *, identify: bool = False) -> list[ModelTask]:
        """The tasks that are not complete; the others are taken from the store.

        With `identify`, models in files are identified here; otherwise only known commits are compared.
        """
        left = []
        for task in self.plan.tasks:
            run = self._complete_before(task, identify=identify)
            if run is None:
                left.append(task)
            else:
                self.resume(task, run)
        return left

    def complete_run(self, task: ModelTask, handle: ModelHandle) -> int | None:
        """The complete run of an opened model in this sweep, or None."""
        if self.sweep is None or not handle.cacheable:
            return None
        return self._complete(run_key_for(task.suites, handle, self.plan.interval, self.memo), handle.spec)

    def resume(self, task: ModelTask, run: int) -> None:
        """Take the results of a complete run from the store."""
        assert self.store is not None
        self.report.resumed += 1
        results = tuple(stored.result for stored in self.store.reader.stored(run))
        self.report.recorded[task.name] = RecordedRun(run, results)

    def notify(self, task: ModelTask, requests: tuple[int, int] = (0, 0)) -> None:
        """Notify the listener of the current model and its progress."""
        done, resumed = self.report.done, self.report.resumed
        event = RunEvent("loading", done, len(self.plan.tasks), task.name, requests, resumed)
        self._listen(event._replace(stage="running") if requests[1] else event)

    def evaluate(self, task: ModelTask, handle: ModelHandle) -> None:
        """Evaluate a model in this process; each result is stored before the next is computed.

        An interrupted run keeps its results in the store, and the same command resumes it.
        """
        report = ProgressReporter(lambda done, total: self.notify(task, (done, total)))
        model = CachedModel(handle, self.cache, report.computed)
        # Before the run begins, so that a model that cannot be loaded has none in the store.
        tasks = prepare(task.suites, model, self.memo)
        try:
            if self.store is None:
                self.report.recorded[task.name] = RecordedRun(
                    None, tuple(evaluate_tasks(tasks, model, self.plan.interval))
                )
                return
            key = run_key_for_tasks(tasks, handle, self.plan.interval)
            results = []
            with self.store.writing(key, handle.id, self.plan.command, **self._described(handle.spec)) as (number, add):
                report.begin(self.store, number, len(tasks), model.done, model.total)
                with closing(OutcomeCollector()) as collector:
                    for result in evaluate_tasks(tasks, model, self.plan.interval, collector.add):
                        results.append(add(result, collector))
                        report.judged()
            self.report.recorded[task.name] = RecordedRun(number, tuple(results))
        finally:
            if self.cache is not None:
                self.cache.report_damage()

    def record(self, task: ModelTask, model: str, packed: Sequence[tuple[Result, PackedOutcomes]]) -> None:
        """Store the results of a model that was evaluated elsewhere."""
        results = [result for result, _ in packed]
        if self.store is None:
            unpacked = (replace(result, outcomes=unpack(outcomes)) for result, outcomes in packed)
            self.report.recorded[task.name] = RecordedRun(None, tuple(unpacked))
            return
        options = {} if task.spec is None else dict(task.spec.options)
        key = run_key([result.signature for result in results], {"interval": self.plan.interval, "given": options})
        if (run := self._complete(key, task.spec)) is not None:  # a model that had to be loaded to be identified
            self.resume(task, run)
            return
        with self.store.writing(key, model, self.plan.command, **self._described(task.spec)) as (number, add):
            stored = tuple(add(result, outcomes) for result, outcomes in packed)
        self.report.recorded[task.name] = RecordedRun(number, stored)

    def warn(self, warnings: Sequence[str]) -> None:
        """Log warnings from another process, each once."""
        for warning in warnings:
            if warning not in self._warned:
                self._warned.add(warning)
                log.warning("%s", warning)

    @contextmanager
    def attempt(self, task: ModelTask) -> Iterator[None]:
        """A context in which one model may fail while the others continue; a single model's error is raised."""
        try:
            yield
        except StoreError:
            raise  # nothing can be stored
        except Exception as error:
            if len(self.plan.tasks) == 1:
                raise
            log.debug("%s failed", task.name, exc_info=error)
            expected = error if isinstance(error, WugError) else None
            message = str(error) if expected else f"{type(error).__name__}: {error}"
            self.report.failures.append(Failure(task.name, message, expected))
        if self.report.done < len(self.plan.tasks):
            self.notify(task)

    def fail(self, task: ModelTask, message: str) -> None:
        """Record that a model failed elsewhere."""
        with self.attempt(task):
            raise ModelError(message)

    def finish(self) -> RunReport:
        """The report, in the order of the models."""
        order = {task.name: position for position, task in enumerate(self.plan.tasks)}
        self.report.recorded = {name: self.report.recorded[name] for name in order if name in self.report.recorded}
        self.report.failures.sort(key=lambda failure: order[failure.model])
        self._listen(RunEvent("finished", self.report.done, len(self.plan.tasks), resumed=self.report.resumed))
        return self.report

    def _complete_before(self, task: ModelTask, *, identify: bool) -> int | None:
        spec = task.spec
        if self.store is None or self.sweep is None or spec is None:
            return None
        if task.commit is not None:
            run = finished_at(self.store.reader, self.sweep, planned_model(spec), task.commit)
            if run is not None:
                return run
        if not identify or not isinstance(task.model, ModelSpec):
            return None
        handle = known_model(task.model)
        return None if handle is None else self.complete_run(task, handle)

    def _complete(self, key: str, spec: ModelSpec | None) -> int | None:
        """The complete run with this key in the sweep, or None."""
        if self.store is None or self.sweep is None or spec is None:
            return None
        return finished(self.store.reader, self.sweep, key, str(spec))

    def _described(self, spec: ModelSpec | None) -> dict[str, Any]:
        """The columns of a run that say where it comes from."""
        names = {} if spec is None else {"specification": str(spec), "revision": spec.revision}
        return {**names, "origin": self.plan.origin, "sweep": self.sweep}


def sweep_key(plan: Plan) -> str:
    """The key of a sweep: the names of the models as written, the suites, and the scoring options.

    A pattern that matches more models than before has the same key, so the sweep continues with the new ones.
    """
    suites = [f"{suite.name}@{suite.checksum}?{dict(suite.options)}" for suite in plan.suites]
    return checksum(plan.sweep or "", *plan.scope, "\0", *suites, plan.interval)


def known_model(spec: ModelSpec) -> ModelHandle | None:
    """The handle of a model that can be identified without loading it; None if that fails."""
    try:
        return identify_model(spec)
    except WugError:
        return None  # reported when it is evaluated
