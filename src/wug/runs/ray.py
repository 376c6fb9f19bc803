"""Models on a Ray cluster: a task a model where there are more models than GPUs, copies of one where there are fewer.

Ray decides where tasks run, starts those of lost machines anew, and holds back what nobody has taken yet. Here is what
travels (`errand.py` has what happens there): answers and results come to this process, the one writer (`gathering.py`).
Tasks rather than actors: an actor that Ray starts anew may wait for ever for a machine that is gone.
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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wug.errors import MissingExtra, ModelError, WugError
from wug.models import ModelSpec
from wug.runs import errand
from wug.runs.cache import Block, Cache
from wug.runs.errand import Described, Errand, known_answers
from wug.runs.gathering import Gathering, UnderWay
from wug.runs.opening import Opened, open_unloaded
from wug.runs.store import Store
from wug.runs.sweep import Plan, Swept, Tell
from wug.types import Answer, Request, Scored

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
        gathering = Gathering(plan, store, cache, tell)
        missing = gathering.missing(gathering.keeping.done)
        work = _Sweeping(cluster, gathering)
        work.in_copies(missing) if len(missing) < cluster.copies else work.a_task_each(missing)
        return gathering.ended()


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


class _Sweeping:
    """A sweep on a cluster."""

    def __init__(self, cluster: _Cluster, gathering: Gathering) -> None:
        self._cluster, self._gathering, self._plan = cluster, gathering, gathering.plan

    def a_task_each(self, models: Sequence[ModelSpec]) -> None:
        """One task a model; Ray places them, and starts those of lost machines anew."""
        ray = self._cluster.ray
        task = self._cluster.task(
            errand.ask_model, max_calls=0, num_returns="streaming", _generator_backpressure_num_objects=UNREAD
        )
        suites = ray.put(list(self._plan.suites))
        waiting = iter(models)
        under_way: dict[Any, UnderWay] = {}
        while True:
            while len(under_way) < self._most() and (spec := next(waiting, None)) is not None:
                what = Errand(spec, str(Path.cwd()), self._plan.interval)
                under_way[task.remote(what, suites, ray.put(self._known(spec)))] = UnderWay(spec)
            if not under_way:
                return
            (stream, *_), _ = ray.wait(list(under_way), num_returns=1, fetch_local=False)
            model = under_way[stream]
            try:
                self._gathering.heed(model, ray.get(next(stream)))
            except StopIteration:
                del under_way[stream]
                self._gathering.keep(model)
            except ray.exceptions.RayError as error:
                del under_way[stream]
                self._gathering.give_up(model, f"Ray gave it up: {_first(error)}")

    def in_copies(self, models: Sequence[ModelSpec]) -> None:
        """One model after the other, each in copies on all of the cluster."""
        for spec in models:
            self._gathering.ask(spec, lambda spec=spec: _spread(self._cluster, spec))  # type: ignore[misc]

    def _most(self) -> int:
        """Tasks that are submitted: not more than the user allows; else enough for those machines that are there."""
        return self._cluster.workers or AHEAD * self._cluster.places

    def _known(self, spec: ModelSpec) -> list[tuple[bytes, Block]]:
        """The answers that the cache has of a model whose files are here."""
        if self._gathering.cache is None:
            return []
        try:
            opened = open_unloaded(spec)
        except WugError:
            return []  # asking it will tell what is wrong
        return [] if opened is None else known_answers(self._gathering.cache, opened)


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
