"""A model's copies on a Ray cluster, one a GPU, asked as if they were one model.

Questions come in the very chunks in which a model on this machine would get them, so the answers are the same;
several chunks are under way at once, one a copy. A copy that dies is started anew and its chunk asked again.
"""

from __future__ import annotations

import importlib
import logging
import os
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wug.errors import MissingExtra, ModelError
from wug.models import ModelSpec
from wug.runs.opening import Opened, open_model
from wug.types import Answer, Request, Scored

TRIES = 3
"""How often a chunk is asked whose copy dies each time, and how often a copy is started."""
ROUND = 2
"""Chunks that each copy gets in a round, after which the answers are kept."""

log = logging.getLogger("wug")


@dataclass(frozen=True, slots=True)
class Report:
    """What a copy sends back: an answer, or an error as its text, and its warnings.

    Errors travel as texts, since not every one of them can be pickled.
    """

    answer: Any = None
    error: str | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Described:
    """What a model is, as one of its copies says."""

    id: str
    options: Mapping[str, str]
    chunk: int
    ordered: bool
    scores: bool


class Copy:
    """The model on one GPU; lives in a process of Ray's."""

    def __init__(self, spec: ModelSpec, folder: str) -> None:
        self._spec, self._folder = spec, folder
        self._model: Any = None
        self._warnings: list[str] = []
        logging.getLogger("wug").addHandler(_Collecting(self._warnings))

    def describe(self) -> Report:
        """Load the model and say what it is."""
        return self._tried(self._load)

    def ask(self, questions: Sequence[Any]) -> Report:
        """The answers to a chunk."""
        return self._tried(lambda: self._load() and self._answer(questions))

    def _load(self) -> Described:
        if self._model is None:
            if Path(self._folder).is_dir():  # a relative path means the same as where the command was given
                os.chdir(self._folder)
            self._model = open_model(self._spec)
        model = self._model
        scores = model.can == "scorer"
        return Described(model.id, dict(model.options), model.chunk, scores and model.ordered, scores)

    def _answer(self, questions: Sequence[Any]) -> list[Any]:
        return list((self._model.score if self._load().scores else self._model.generate)(questions))

    def _tried(self, work: Any) -> Report:
        from wug.errors import WugError

        try:
            answer, error = work(), None
        except WugError as fault:
            answer, error = None, str(fault)
        warnings = tuple(self._warnings)
        self._warnings.clear()
        return Report(answer, error, warnings)


class _Collecting(logging.Handler):
    """Keeps messages to be passed on."""

    def __init__(self, messages: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._messages = messages

    def emit(self, record: logging.LogRecord) -> None:
        self._messages.append(record.getMessage())


class Crew:
    """The copies, and what is under way."""

    def __init__(self, ray: Any, kind: Any, arguments: tuple[Any, ...], size: int) -> None:
        self._ray, self._kind, self._arguments = ray, kind, arguments
        self._copies: list[Any] = [self._start() for _ in range(size)]
        self._told: set[str] = set()

    def __len__(self) -> int:
        return len(self._copies)

    def describe(self) -> Described:
        """What the model is; all copies have to say the same."""
        copies: list[Described] = self._each("describe", [()] * len(self), spread=True)
        if any(copy != copies[0] for copy in copies):
            names = ", ".join(sorted({copy.id for copy in copies}))
            raise ModelError(f"the copies of the model are not the same everywhere: {names}. Put one on all machines")
        return copies[0]

    def answers(self, chunks: Sequence[Sequence[Any]]) -> list[Any]:
        """The answers to some chunks, in order."""
        return [answer for found in self._each("ask", [(chunk,) for chunk in chunks]) for answer in found]

    def stop(self) -> None:
        """End all copies."""
        for copy in self._copies:
            self._ray.kill(copy)

    def _each(self, method: str, tasks: Sequence[tuple[Any, ...]], *, spread: bool = False) -> list[Any]:
        """The results of tasks, in order; a free copy takes the next one, or, `spread`, each copy its own."""
        found: dict[int, Any] = {}
        waiting = list(range(len(tasks)))
        tries = [0] * len(tasks)
        free = list(range(len(self)))
        under_way: dict[Any, tuple[int, int]] = {}
        while len(found) < len(tasks):
            while free and waiting:
                copy = free.pop(0)
                task = waiting.pop(waiting.index(copy)) if spread else waiting.pop(0)
                tries[task] += 1
                asked = getattr(self._copies[copy], method).remote(*tasks[task])
                under_way[asked] = (copy, task)
            ready, _ = self._ray.wait(list(under_way), num_returns=1)
            for asked in ready:
                copy, task = under_way.pop(asked)
                try:
                    report: Report = self._ray.get(asked)
                except self._ray.exceptions.RayActorError as error:
                    if tries[task] == TRIES:
                        raise ModelError(
                            f"a copy of the model died {TRIES} times over the same work: {error}"
                        ) from None
                    log.warning("a copy of the model died; it is started anew and asked again")
                    self._copies[copy] = self._start()
                    waiting.insert(0, task)
                except self._ray.exceptions.RayError as error:
                    raise ModelError(f"Ray cannot go on: {error}") from None
                else:
                    found[task] = self._answer_of(report)
                free.append(copy)
        return [found[task] for task in range(len(tasks))]

    def _answer_of(self, report: Report) -> Any:
        for warning in report.warnings:
            if warning not in self._told:
                log.warning("%s", warning)
                self._told.add(warning)
        if report.error is not None:
            raise ModelError(report.error)
        return report.answer

    def _start(self) -> Any:
        return self._kind.remote(*self._arguments)


class Spread:
    """A model of many copies."""

    ordered = False

    def __init__(self, crew: Crew, copy: Described) -> None:
        self.id, self.options = copy.id, copy.options
        self._crew, self._size = crew, copy.chunk
        self.chunk = copy.chunk * len(crew) * ROUND

    def _answers(self, questions: Sequence[Any]) -> list[Any]:
        return self._crew.answers(_chunks(questions, self._size))


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


@contextmanager
def spread(spec: ModelSpec, workers: int | None = None) -> Iterator[Opened]:
    """The model in copies on the cluster that Ray finds or starts; they end with the context."""
    ray = _ray()
    started = not ray.is_initialized()
    if started:
        _start(ray)
    try:
        crew = _crew(ray, (spec, str(Path.cwd())), workers)
        try:
            copy = crew.describe()
            if copy.ordered:
                raise ModelError(f"{copy.id}: its answers depend on one another and cannot be spread: --engine local")
            yield Opened(SpreadScorer(crew, copy) if copy.scores else SpreadGenerator(crew, copy), spec)
        finally:
            crew.stop()
    finally:
        if started:
            ray.shutdown()


def _ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError:
        raise MissingExtra("--engine ray", "ray") from None


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


def _crew(ray: Any, arguments: tuple[Any, ...], workers: int | None) -> Crew:
    resources = ray.cluster_resources()
    gpus = int(resources.get("GPU", 0))
    size = workers or gpus or 1
    if size > (gpus or int(resources.get("CPU", 0))):
        have = f"{gpus} GPUs" if gpus else f"{int(resources.get('CPU', 0))} CPUs"
        raise ModelError(f"--workers {size}: the cluster has {have}")
    needs = {"num_gpus": 1} if gpus else {"num_cpus": 1}
    return Crew(ray, ray.remote(max_restarts=0, **needs)(Copy), arguments, size)


def _chunks(questions: Sequence[Any], size: int) -> list[Sequence[Any]]:
    return [questions[first : first + size] for first in range(0, len(questions), size)]
