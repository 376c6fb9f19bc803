"""What another process does for a command: asks a model, and sends back what it has found.

Errors travel as texts, since not every one of them can be pickled.
"""

from __future__ import annotations

import functools
import logging
import os
import queue
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from wug import stats
from wug.errors import WugError
from wug.models import ModelSpec
from wug.runs.cache import Block, Cache
from wug.runs.evaluate import ask_through, judged, prepare
from wug.runs.opening import Opened, open_model
from wug.runs.remembered import whose
from wug.stages import Stage, stage
from wug.types import Result, Suite

WAITING = 2
"""Messages that wait to be taken before the model goes on."""


@dataclass(frozen=True, slots=True)
class Errand:
    """A model to ask."""

    spec: ModelSpec
    folder: str
    """Where the command was given: a relative path means the same there, if that folder is here too."""
    interval: stats.Method


@dataclass(frozen=True, slots=True)
class Begun:
    """That a task has begun, before its model is asked."""

    attempt: str
    """Its own name, which another attempt at the same task does not have."""


@dataclass(frozen=True, slots=True)
class Answered:
    """Answers, to be kept, and how far that is."""

    owner: bytes
    blocks: Sequence[Block]
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a suite, with its outcomes."""

    result: Result


@dataclass(frozen=True, slots=True)
class Done:
    """That the model was asked before, and its run in the store."""

    run: int


@dataclass(frozen=True, slots=True)
class Ended:
    """That all is done, or why it is not."""

    attempt: str = ""
    model: str = ""
    error: str | None = None
    warnings: tuple[str, ...] = ()
    stages: tuple[Stage, ...] = ()
    """What took how long, where somebody measures."""


Message: TypeAlias = Begun | Answered | Found | Done | Ended


class Before(Protocol):
    """What was found of models before, as far as it is known where they are asked."""

    def run(self, opened: Opened) -> int | None:
        """The complete run of a model; None where it is to be asked."""

    def answers(self, opened: Opened) -> Sequence[tuple[bytes, Block]]:
        """Answers of a model that need not be asked for."""


@dataclass(frozen=True, slots=True)
class Sent:
    """Answers that came with the errand."""

    known: Sequence[tuple[bytes, Block]]

    def run(self, opened: Opened) -> None:
        """Nothing: who sent the errand has looked."""

    def answers(self, opened: Opened) -> Sequence[tuple[bytes, Block]]:
        """Those that were sent."""
        return self.known


@dataclass(frozen=True, slots=True)
class Described:
    """What a model is, as one of its copies says."""

    id: str
    options: Mapping[str, str]
    chunk: int
    ordered: bool
    scores: bool
    bounded: bool


@dataclass(frozen=True, slots=True)
class Report:
    """What a copy sends back: an answer, or an error as its text, and its warnings."""

    answer: Any = None
    error: str | None = None
    warnings: tuple[str, ...] = ()


def ask_model(errand: Errand, suites: Sequence[Suite], known: Sequence[tuple[bytes, Block]]) -> Iterator[Message]:
    """What a model says to some suites, as it is found; `known` are answers of its that need not be asked for."""
    yield from run_errand(errand, suites, Sent(known))  # Ray wants a generator


def run_errand(errand: Errand, suites: Sequence[Suite], before: Before) -> Iterator[Message]:
    """The same; what was found before is looked up when it is known what the model is."""
    messages: queue.Queue[Message] = queue.Queue(WAITING)
    attempt = uuid.uuid4().hex
    yield Begun(attempt)

    def work() -> None:
        with _warnings() as said:
            name, error = "", None
            try:
                _go_to(errand.folder)
                name = _ask(errand, suites, before, messages.put)
            except Exception as fault:
                error = _spoken(fault)
            messages.put(Ended(attempt, name, error, tuple(said)))

    threading.Thread(target=work, daemon=True).start()
    while not isinstance(message := messages.get(), Ended):
        yield message
    yield message


def known_answers(cache: Cache, opened: Opened) -> list[tuple[bytes, Block]]:
    """All answers that a cache has of a model."""
    owner = whose(opened.can, opened.id, opened.options, opened.given)
    blocks = (cache.block(owner, number) for number, _ in cache.keys(owner))
    return [(owner, block) for block in blocks if block is not None]


def describe_copy(spec: ModelSpec, folder: str) -> Report:
    """Load the model, and say what it is."""
    return _report(lambda: _described(_held(spec, folder)))


def ask_copy(spec: ModelSpec, folder: str, questions: Sequence[Any]) -> Report:
    """The model's id, then its answers to a chunk."""

    def answers() -> list[Any]:
        opened = _held(spec, folder)
        return [opened.id, *(opened.score if opened.can == "scorer" else opened.generate)(questions)]

    return _report(answers)


def _ask(errand: Errand, suites: Sequence[Suite], before: Before, pass_on: Callable[[Message], None]) -> str:
    """The model's id, once all that it was asked is passed on."""
    opened = open_model(errand.spec)
    if (run := before.run(opened)) is not None:
        pass_on(Done(run))
        return str(opened.id)
    with closing(_Told(pass_on, before.answers(opened))) as cache:
        asker = ask_through(opened, cache, cache.tell)
        with stage("load"):
            tasks = prepare(suites, asker)
        with stage("ask"):
            for result in judged(tasks, asker, errand.interval):
                pass_on(Found(result))
        return str(asker.model.id)


class _Told(Cache):
    """Answers of one task: those that were known, and those that are new, which are passed on."""

    def __init__(self, pass_on: Callable[[Message], None], known: Sequence[tuple[bytes, Block]]) -> None:
        super().__init__()
        self._pass_on = pass_on
        self._new: list[tuple[bytes, Sequence[Block]]] = []
        for owner, block in known:
            super().write(owner, [block])

    def write(self, model: bytes, blocks: Sequence[Block]) -> None:
        """Keep blocks, and have them ready to be passed on."""
        super().write(model, blocks)
        self._new.append((model, blocks))

    def tell(self, done: int, total: int) -> None:
        """Pass on what is new."""
        new, self._new = self._new, []
        for owner, blocks in new:
            self._pass_on(Answered(owner, blocks, done, total))


def _held(spec: ModelSpec, folder: str) -> Opened:
    return _model(spec.kind, spec.name, spec.revision, tuple(sorted(spec.options.items())), folder)


@functools.lru_cache(maxsize=1)
def _model(kind: str, name: str, revision: str | None, options: tuple[tuple[str, str], ...], folder: str) -> Opened:
    """The model that this process has in memory: the next question may be for it too."""
    _go_to(folder)
    return open_model(ModelSpec(kind, name, revision, dict(options)))


def _described(model: Opened) -> Described:
    scores = model.can == "scorer"
    ordered, bounded = scores and model.ordered, getattr(model.model, "bounded", False)
    return Described(model.id, dict(model.options), model.chunk, ordered, scores, bounded)


def _report(work: Callable[[], Any]) -> Report:
    with _warnings() as said:
        try:
            return Report(work(), None, tuple(said))
        except WugError as error:
            return Report(None, str(error), tuple(said))


def _spoken(error: Exception) -> str:
    return str(error) if isinstance(error, WugError) else f"{type(error).__name__}: {error}"


def _go_to(folder: str) -> None:
    if Path(folder).is_dir():
        os.chdir(folder)


@contextmanager
def _warnings() -> Iterator[list[str]]:
    """The warnings that are given within."""
    said: list[str] = []
    handler = _Collecting(said)
    logger = logging.getLogger("wug")
    logger.addHandler(handler)
    try:
        yield said
    finally:
        logger.removeHandler(handler)


class _Collecting(logging.Handler):
    """Keeps messages to be passed on."""

    def __init__(self, messages: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._messages = messages

    def emit(self, record: logging.LogRecord) -> None:
        self._messages.append(record.getMessage())
