"""The next model of a sweep, fetched and loaded by a thread while the present one is asked."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Protocol

from wug import registry
from wug.files import existing
from wug.models import ModelSpec, hub_is_away
from wug.runs import room
from wug.runs.cache import Cache
from wug.runs.deferred import Deferred
from wug.runs.evaluate import ask_through
from wug.runs.opening import Opened, open_model, open_unloaded
from wug.stages import stage
from wug.types import Suite

NAME = "wug-ahead"
"""What the thread is called: an interrupted command does not wait for it."""

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
    """Each model with a function that gives it, ready; while it is used, a thread works on the next one."""
    line = _Line(models, suites, cache, known)
    for place, spec in enumerate(models):
        yield spec, partial(line.ready, place)


class _Line:
    """The models of a sweep, as they are made ready: the first where it is asked, the next one ahead where it may."""

    def __init__(self, models: Sequence[ModelSpec], suites: Sequence[Suite], cache: Cache | None, known: Known) -> None:
        self._models, self._suites, self._cache, self._known = models, suites, cache, known
        self._next: Future[Ready | None] | None = None

    def ready(self, place: int) -> Ready:
        """The model of a place, whose turn it is."""
        made, self._next = self._next, None
        try:
            with stage("wait"):
                return (None if made is None else made.result()) or self._made(place)
        finally:
            if place + 1 < len(self._models):
                self._next = self._begun(place + 1)

    def _begun(self, place: int) -> Future[Ready | None]:
        """What a thread makes of the next model: None where it has to be made in its turn."""
        future: Future[Ready | None] = Future()
        threads = _threads_here()

        def work() -> None:
            try:
                future.set_result(self._ahead(place, threads))
            except BaseException as error:  # whatever it is, it is told in its turn
                future.set_exception(error)

        threading.Thread(target=work, name=NAME, daemon=True).start()
        return future

    def _ahead(self, place: int, threads: int | None) -> Ready | None:
        spec = self._models[place]
        if (run := self._known.at_commit(spec)) is not None:
            return Ready(None, run)
        fetch(spec)
        opened = open_unloaded(spec)
        if opened is not None:
            ready = Ready(opened, self._known.finished(opened))
            if ready.run is not None or not self._has_to_answer(opened):
                return ready
        if not room.may_be_beside(spec):
            return None
        with room.loading(spec, threads):
            return self._made(place) if opened is None else _loaded(ready)

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
        if self._cache is None or self._cache.path is None:
            return True
        if any(suite.needs != opened.can for suite in self._suites):
            return False  # it will be refused
        with closing(Cache(self._cache.path)) as own:  # the other connection is in use
            questions: list[Any] = list(chain.from_iterable(suite.requests() for suite in self._suites))
            return ask_through(opened, own).model.missing(questions) > 0


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


def fetch(spec: ModelSpec) -> None:
    """Bring the files of a model of the hub onto this machine, if it is one and they are not here.

    A fault is left for loading to tell.
    """
    local = existing(spec.name) or spec.name.startswith((".", "/", "~"))
    if local or not registry.traits(spec.kind).on_hub or hub_is_away():
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
