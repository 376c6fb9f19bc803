"""Models on a Ray cluster: a task a model where there are more models than GPUs, copies of one where there are fewer.

Ray decides where tasks run, starts those of lost machines anew, and holds back what nobody has taken yet. Here is what
travels (`errand.py` has what happens there), and the one writer: answers and results come to this process, which keeps
them as a run on this machine would. Tasks rather than actors: an actor that Ray starts anew may wait for ever for a
machine that is gone.
"""

from __future__ import annotations

import importlib
import io
import logging
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wug.errors import MissingExtra, ModelError, WugError
from wug.models import ModelSpec
from wug.runs import errand
from wug.runs.cache import Block, Cache
from wug.runs.errand import Answered, Begun, Described, Ended, Errand, Found, Message
from wug.runs.evaluate import Recorded, named, record
from wug.runs.opening import Opened, open_unloaded
from wug.runs.remembered import whose
from wug.runs.store import Store, run_key
from wug.runs.sweep import Keeping, Plan, Swept, Tell, Told, failing, planned
from wug.types import Answer, Request, Result, Scored

RETRIES = 5
"""How often Ray starts a task anew whose process or machine was lost."""
ROUND = 2
"""Chunks that each copy of a model gets in a round, after which the answers are kept."""
AHEAD = 2
"""Tasks for each place to run: while one runs, the next is on its way."""
UNREAD = 1
"""Messages of a task that may wait here: it does not ask its model before this process knows that it has begun."""

log = logging.getLogger("wug")


def sweep_on_ray(
    plan: Plan,
    *,
    workers: int | None = None,
    store: Store | None = None,
    cache: Cache | None = None,
    tell: Tell | None = None,
) -> Swept:
    """Ask every model on the cluster that Ray finds or starts; each run is in the store once its model is done."""
    with joined() as ray:
        cluster = _Cluster(ray, workers)
        work = _Sweeping(plan, cluster, Keeping(plan, store), cache, tell or (lambda told: None))
        missing = work.missing()
        work.in_copies(missing) if len(missing) < cluster.copies else work.a_task_each(missing)
        return work.ended()


@contextmanager
def spread(spec: ModelSpec, workers: int | None = None) -> Iterator[Opened]:
    """The model in copies on the cluster that Ray finds or starts, asked as if they were one."""
    with joined() as ray:
        yield _spread(_Cluster(ray, workers), spec)


@dataclass(slots=True)
class _Cluster:
    """What Ray has, and what a task needs of it."""

    ray: Any
    workers: int | None

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers > (there := self.gpus or self.cpus):
            raise ModelError(f"--workers {self.workers}: the cluster has {there} {'GPUs' if self.gpus else 'CPUs'}")

    @property
    def gpus(self) -> int:
        """Machines come and go: as many as there are now."""
        return int(self.ray.cluster_resources().get("GPU", 0))

    @property
    def cpus(self) -> int:
        return int(self.ray.cluster_resources().get("CPU", 0))

    @property
    def places(self) -> int:
        """Tasks that can run at a time."""
        return self.workers or self.gpus or max(1, self.cpus)

    @property
    def copies(self) -> int:
        """Copies of one model that are worth having: one a GPU, or as many as the user says."""
        return self.workers or self.gpus or 1

    def task(self, function: Any, **more: Any) -> Any:
        needs = {"num_gpus": 1, "num_cpus": 0} if self.gpus else {"num_cpus": 1}
        return self.ray.remote(max_retries=RETRIES, **needs, **more)(function)


@dataclass(slots=True)
class _UnderWay:
    """A model whose task is somewhere on the cluster."""

    spec: ModelSpec
    results: list[Result] = field(default_factory=list)
    attempt: str | None = None
    """The attempt that this process was told of first."""
    ended: Ended | None = None


class _Sweeping:
    """A sweep on a cluster."""

    def __init__(self, plan: Plan, cluster: _Cluster, keeping: Keeping, cache: Cache | None, tell: Tell) -> None:
        self._plan, self._cluster, self._keeping, self._cache, self._tell = plan, cluster, keeping, cache, tell
        self._swept = Swept()
        self._warned: set[str] = set()

    def missing(self) -> list[ModelSpec]:
        """The models that are not done, as far as that can be told here."""
        left = []
        for spec in self._plan.models:
            run = self._keeping.done(spec)
            if run is None:
                left.append(spec)
            else:
                self._swept.before += 1
                self._swept.found[str(planned(spec))] = self._keeping.recorded(run)
        return left

    def ended(self) -> Swept:
        """What came of it, in the order of the models."""
        names = [str(planned(spec)) for spec in self._plan.models]
        self._swept.found = {name: self._swept.found[name] for name in names if name in self._swept.found}
        self._told("")
        return self._swept

    def a_task_each(self, models: Sequence[ModelSpec]) -> None:
        """One task a model; Ray places them, and starts those of lost machines anew."""
        ray = self._cluster.ray
        task = self._cluster.task(
            errand.ask_model, max_calls=0, num_returns="streaming", _generator_backpressure_num_objects=UNREAD
        )
        suites = ray.put(list(self._plan.suites))
        waiting = iter(models)
        under_way: dict[Any, _UnderWay] = {}
        while True:
            while len(under_way) < self._most() and (spec := next(waiting, None)) is not None:
                what = Errand(spec, str(Path.cwd()), self._plan.interval)
                under_way[task.remote(what, suites, ray.put(self._known(spec)))] = _UnderWay(spec)
            if not under_way:
                return
            (stream, *_), _ = ray.wait(list(under_way), num_returns=1, fetch_local=False)
            model = under_way[stream]
            try:
                self._heed(model, ray.get(next(stream)))
            except StopIteration:
                del under_way[stream]
                self._keep(model)
            except ray.exceptions.RayError as error:
                del under_way[stream]
                with failing(str(planned(model.spec)), self._swept):
                    raise ModelError(f"Ray gave it up: {_first(error)}") from None

    def in_copies(self, models: Sequence[ModelSpec]) -> None:
        """One model after the other, each in copies on all of the cluster."""
        for spec in models:
            name = str(planned(spec))
            self._told(name)
            with failing(name, self._swept):
                opened = _spread(self._cluster, spec)
                self._swept.found[name] = record(
                    self._plan.suites,
                    opened,
                    command=self._plan.command,
                    store=self._keeping.store,
                    cache=self._cache,
                    interval=self._plan.interval,
                    tell=lambda done, total, name=name: self._told(name, (done, total)),  # type: ignore[misc]
                    sweep=self._keeping.number,
                )

    def _most(self) -> int:
        """Tasks that are submitted: not more than the user allows; else enough for those machines that are there."""
        return self._cluster.workers or AHEAD * self._cluster.places

    def _known(self, spec: ModelSpec) -> list[tuple[bytes, Block]]:
        """The answers that the cache has of a model whose files are here."""
        if self._cache is None:
            return []
        try:
            opened = open_unloaded(spec)
        except WugError:
            return []  # asking it will tell what is wrong
        if opened is None:
            return []
        owner = whose(opened.can, opened.id, opened.options, opened.given)
        blocks = (self._cache.block(owner, number) for number, _ in self._cache.keys(owner))
        return [(owner, block) for block in blocks if block is not None]

    def _heed(self, model: _UnderWay, message: Message) -> None:
        match message:
            case Begun(attempt):
                model.attempt = attempt
                self._told(str(planned(model.spec)))
            case Answered(owner, blocks, done, total):
                if self._cache is not None and blocks:
                    self._cache.write(owner, blocks)
                self._told(str(planned(model.spec)), (done, total))
            case Found(result):
                model.results.append(result)
            case Ended():
                model.ended = message

    def _keep(self, model: _UnderWay) -> None:
        """Put what a model found into the store, all at once."""
        name = str(planned(model.spec))
        ended = model.ended or Ended(error="its task ended without a word")
        if model.ended is not None and model.attempt not in (None, ended.attempt):
            log.warning("%s was begun again, because the machine or the process that had it was lost", name)
        for warning in ended.warnings:
            if warning not in self._warned:
                log.warning("%s", warning)
                self._warned.add(warning)
        with failing(name, self._swept):
            if ended.error is not None:
                raise ModelError(ended.error)
            self._swept.found[name] = self._recorded(model, ended)
        self._told(name)

    def _recorded(self, model: _UnderWay, ended: Ended) -> Recorded:
        store, results = self._keeping.store, model.results
        if store is None:
            return Recorded(None, tuple(results))
        given = dict(model.spec.options)
        key = run_key([result.signature for result in results], {"interval": self._plan.interval, "given": given})
        if (run := self._keeping.complete(key, model.spec)) is not None:
            self._swept.before += 1
            return self._keeping.recorded(run)
        spoken = named(Opened(None, model.spec))
        number = store.begin(key, ended.model, self._plan.command, sweep=self._keeping.number, **spoken)
        kept = tuple(store.add(number, result) for result in results)
        store.finish(number, "failed" if any(result.status == "failed" for result in results) else "complete")
        return Recorded(number, kept)

    def _told(self, name: str, questions: tuple[int, int] = (0, 0)) -> None:
        self._tell(Told(self._swept.done, len(self._plan.models), name, questions, self._swept.before))


class Spread:
    """A model of many copies."""

    ordered = False

    def __init__(self, cluster: _Cluster, spec: ModelSpec, copy: Described) -> None:
        self.id, self.options, self.bounded = copy.id, copy.options, copy.bounded
        self._cluster, self._spec, self._copy = cluster, spec, copy
        self._size = copy.chunk
        self.chunk = copy.chunk * cluster.copies * ROUND
        self._told: set[str] = set()

    def _answers(self, questions: Sequence[Any]) -> list[Any]:
        ray, most = self._cluster.ray, self._cluster.workers
        task = self._cluster.task(errand.ask_copy, max_calls=0)
        chunks = [questions[first : first + self._size] for first in range(0, len(questions), self._size)]
        under_way: list[Any] = []
        for chunk in chunks:
            if most is not None and len(under_way) >= most:
                ray.wait(under_way, num_returns=len(under_way) - most + 1)
            under_way.append(task.remote(self._spec, str(Path.cwd()), chunk))
        return [answer for reply in under_way for answer in self._answer_of(ray, reply)]

    def _answer_of(self, ray: Any, reply: Any) -> list[Any]:
        answers: list[Any] = _reported(ray, reply, self._told)
        if answers[0] != self._copy.id:
            raise ModelError(
                f"the copies of the model are not the same everywhere: {self._copy.id}, {answers[0]}. Put one on all "
                "machines"
            )
        return answers[1:]


class SpreadScorer(Spread):
    """A scorer of many copies."""

    def score(self, requests: Sequence[Request]) -> Sequence[Scored]:
        """One answer for each request, in order."""
        return self._answers(requests)


class SpreadGenerator(Spread):
    """A generator of many copies."""

    def generate(self, sources: Sequence[str]) -> list[Answer | str]:
        """One answer for each source, in order."""
        return self._answers(sources)


def _spread(cluster: _Cluster, spec: ModelSpec) -> Opened:
    task = cluster.task(errand.describe_copy, max_calls=0)
    copy: Described = _reported(cluster.ray, task.remote(spec, str(Path.cwd())), set())
    if copy.ordered:
        raise ModelError(f"{copy.id}: its answers depend on one another and cannot be spread: --engine local")
    return Opened((SpreadScorer if copy.scores else SpreadGenerator)(cluster, spec, copy), spec)


def _reported(ray: Any, reply: Any, told: set[str]) -> Any:
    """What a copy says, once its warnings are passed on; its errors are raised here."""
    try:
        report: errand.Report = ray.get(reply)
    except ray.exceptions.RayError as error:
        raise ModelError(f"Ray cannot go on: {_first(error)}") from None
    for warning in report.warnings:
        if warning not in told:
            log.warning("%s", warning)
            told.add(warning)
    if report.error is not None:
        raise ModelError(report.error)
    return report.answer


@contextmanager
def joined() -> Iterator[Any]:
    """Ray, joined or started, and left again if it was started for this."""
    os.environ.setdefault("RAY_DEDUP_LOGS", "0")  # what it holds back it would print when this is over
    try:
        ray = importlib.import_module("ray")
    except ImportError:
        raise MissingExtra("--engine ray", "ray") from None
    started = not ray.is_initialized()
    with redirect_stdout(_News()):
        if started:
            _start(ray)
        try:
            yield ray
        finally:
            if started:
                ray.shutdown()


class _News(io.TextIOBase):
    """Where Ray prints: pages about a lost machine, which become a line, and have no place among the results."""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if "marked dead" in text:
            log.warning("a machine of the cluster was lost; what it was doing is done again")
        elif text.strip():
            log.debug("Ray: %s", text.rstrip())
        return len(text)


def _start(ray: Any) -> None:
    """Join the cluster that RAY_ADDRESS names or that runs on this machine, or start one here."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ends = signal.getsignal(signal.SIGTERM)
    try:
        # What a copy prints would come out on this program's standard output, among the results.
        ray.init(log_to_driver=False, include_dashboard=False, configure_logging=True, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise ModelError(f"Ray cannot be started: {error}. RAY_ADDRESS names the cluster that is asked") from None
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, ends)  # Ray puts its own in the place of the one that makes a run resumable


def _first(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).split("\n")[0][:300]
