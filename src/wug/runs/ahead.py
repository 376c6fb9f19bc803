"""The next models of a sweep, fetched and loaded by threads while the present one is asked."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Protocol

from wug.files import existing
from wug.models import ModelSpec, hub_is_away
from wug.runs import room
from wug.runs.cache import Cache
from wug.runs.deferred import Deferred, DeferredScorer
from wug.runs.evaluate import ask_through, first_questions
from wug.runs.opening import Opened, open_model, open_unloaded
from wug.runs.turns import Turns
from wug.stages import stage
from wug.types import Suite

SWITCH = 0.0005
"""Seconds after which a thread hands on Python's lock that another waits for. Each step of asking a GPU waits for it
while models are loaded: ten times as long as a step takes, by Python's own setting."""

ASKED = 2
"""Models that are asked ahead at a time: while the answers of one are put together, the GPU works on the other."""

log = logging.getLogger("wug")


@dataclass(slots=True)
class Ready:
    """A model that can be asked, or its run where it was asked already."""

    opened: Opened | None
    """None only where there is a run."""
    run: int | None


class Known(Protocol):
    """Which models were asked already."""

    def finished(self, opened: Opened) -> int | None:
        """The complete run of a model; None where it has to be asked."""

    def at_commit(self, spec: ModelSpec) -> int | None:
        """The same of a model of the hub, before it is opened."""


def made_ahead(
    models: Sequence[ModelSpec], suites: Sequence[Suite], cache: Cache | None, known: Known
) -> Iterator[tuple[ModelSpec, Callable[[], Ready]]]:
    """Each model with a function that gives it, ready; while it is used, threads work on those that follow."""
    line = _Line(models, suites, cache, known)
    with line.turns, _switching():
        for place, spec in enumerate(models):
            yield spec, partial(line.ready, place)


class _Line:
    """The models of a sweep, as they are made ready: the first where it is asked, the others ahead where they may."""

    def __init__(self, models: Sequence[ModelSpec], suites: Sequence[Suite], cache: Cache | None, known: Known) -> None:
        self._models, self._suites, self._cache, self._known = models, suites, cache, known
        self._threads: int | None = None
        self._asking = threading.Semaphore(ASKED)
        self.turns: Turns[Ready] = Turns(len(models), room.threads_ahead(), self._ahead)

    def ready(self, place: int) -> Ready:
        """The model of a place, whose turn it is."""
        try:
            with stage("wait"):
                return self.turns.wait(place) or self._made(place)
        finally:
            if place == 0:
                self._threads = _threads_here()
                self.turns.open()

    def _ahead(self, place: int) -> Ready | None:
        """What a thread makes of a model: None where it has to be made in its turn."""
        spec = self._models[place]
        if (run := self._known.at_commit(spec)) is not None:
            return Ready(None, run)
        if existing(spec.name) is None:
            self.turns.opened()  # the hub's programs are not to be imported by two threads at a time
            fetch(spec)
        opened = open_unloaded(spec)
        if opened is not None:
            ready = Ready(opened, self._known.finished(opened))
            if ready.run is not None or not self._has_to_answer(opened):
                return ready
        if not self._may_load(place):
            return None
        with room.loading(spec, self._threads):
            made = self._made(place) if opened is None else _loaded(ready)
        if room.may_ask_ahead(spec):
            self._ask_ahead(made)
        return made

    def _ask_ahead(self, ready: Ready) -> None:
        """Ask a model what it will be asked first; a fault is left for its turn to tell."""
        if ready.run is not None or ready.opened is None or not isinstance(ready.opened.model, DeferredScorer):
            return
        with self._asking, stage("ask"), self._own_cache() as cache:
            try:
                questions = first_questions(self._suites, ready.opened, cache)
                if len(questions):
                    ready.opened.model.ask_ahead(questions)
            except Exception as error:
                log.debug("%s is not asked ahead", ready.opened.spec, exc_info=error)

    def _may_load(self, place: int) -> bool:
        """Whether a model may be loaded while others are asked: waits until there is room, or until its turn."""
        spec = self._models[place]
        if not room.may_be_beside(spec) or (size := room.size_of(spec)) is None:
            return False
        return self.turns.may_take(place, size, partial(room.allows, spec, size))

    def _made(self, place: int) -> Ready:
        """A model that is loaded if it has anything to answer."""
        spec = self._models[place]
        if (run := self._known.at_commit(spec)) is not None:
            return Ready(None, run)
        opened = open_model(spec)
        ready = Ready(opened, self._known.finished(opened))
        waits = ready.run is None and isinstance(opened.model, Deferred)
        return _loaded(ready) if waits and self._has_to_answer(opened) else ready

    def _has_to_answer(self, opened: Opened) -> bool:
        """Whether the cache lacks an answer."""
        with self._own_cache() as cache:
            if cache is None:
                return True
            if any(suite.needs != opened.can for suite in self._suites):
                return False  # it will be refused
            questions: list[Any] = list(chain.from_iterable(suite.requests() for suite in self._suites))
            return ask_through(opened, cache).model.missing(questions) > 0

    @contextmanager
    def _own_cache(self) -> Iterator[Cache | None]:
        """The cache by a connection for this thread, since the other is in use; None where there is no cache."""
        if self._cache is None or self._cache.path is None:
            yield None
            return
        with closing(Cache(self._cache.path)) as own:
            yield own


def _loaded(ready: Ready) -> Ready:
    """The same, its model loaded."""
    if ready.opened is not None and isinstance(ready.opened.model, Deferred):
        with stage("load"):
            ready.opened.model.loaded()
    return ready


def _threads_here() -> int | None:
    """Threads that torch computes with where this is called; None where nobody needed it yet."""
    torch = sys.modules.get("torch")
    return None if torch is None else int(torch.get_num_threads())


@contextmanager
def _switching() -> Iterator[None]:
    """A context in which threads take turns more often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, SWITCH))
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def fetch(spec: ModelSpec) -> None:
    """Bring the files of a model of the hub onto this machine, if it is one and they are not here.

    A fault is left for loading to tell.
    """
    if spec.kind not in room.HUB or existing(spec.name) or spec.name.startswith((".", "/", "~")) or hub_is_away():
        return
    try:
        import huggingface_hub

        files = huggingface_hub.HfApi().list_repo_files(spec.name, revision=spec.revision)
        huggingface_hub.snapshot_download(spec.name, revision=spec.revision, allow_patterns=needed(files))
    except Exception as error:  # without a network, or without the package
        log.debug("%s is not fetched ahead: %s", spec, error)


def needed(files: Sequence[str]) -> list[str]:
    """The files of a model of the hub that loading it takes: of weights in two formats, the safe one."""
    own = [name for name in files if "/" not in name]
    safe = any(name.endswith(".safetensors") for name in own)
    endings = (".json", ".txt", ".model", ".safetensors" if safe else ".bin")
    return [name for name in own if name.endswith(endings) and not name.startswith(("optimizer", "training_args"))]
