"""The next model of a sweep, fetched and loaded by a thread while the present one is asked."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

from wug.files import existing
from wug.models import ModelSpec, hub_is_away, pick_device
from wug.runs.cache import Cache
from wug.runs.deferred import Deferred
from wug.runs.evaluate import ask_through
from wug.runs.opening import Opened, open_model, open_unloaded
from wug.types import Suite

AHEAD = ("causal", "masked", "lstm", "ngram", "replay")
"""Kinds that may be loaded while another model is asked: they neither record GPU steps nor start programs."""
HUB = ("causal", "masked", "seq2seq", "prompt")
"""Kinds whose models may come from the hub."""
WEIGHTS = (".safetensors", ".bin", ".pt", ".arpa", ".gz", ".jsonl", ".tsv")
ROOM = 4
"""Times the size of its files that must be free for a model to be loaded beside another: float32 made of 16 bits is
twice as large, and the other needs room to work."""

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


def one_ahead(
    models: Sequence[ModelSpec], suites: Sequence[Suite], cache: Cache | None, known: Known
) -> Iterator[tuple[ModelSpec, Callable[[], Ready]]]:
    """Each model with a function that gives it, ready; while it is used, a thread works on the next one."""
    waiting: Future[Ready | None] | None = None
    for place, spec in enumerate(models):
        now, waiting = waiting, None
        if now is not None:
            now.exception()  # waits: two loads at a time would only be in each other's way
        following = models[place + 1] if place + 1 < len(models) else None

        def ready(spec: ModelSpec = spec, now: Future[Ready | None] | None = now, following: Any = following) -> Ready:
            nonlocal waiting
            try:
                made = None if now is None else now.result()
                return made or _made_ready(spec, suites, cache, known)
            finally:
                if following is not None:
                    waiting = _started(following, suites, cache, known)

        yield spec, ready
        del ready, now


def _started(spec: ModelSpec, suites: Sequence[Suite], cache: Cache | None, known: Known) -> Future[Ready | None]:
    """What a thread makes of the next model: None where it has to wait for the present one to go."""
    future: Future[Ready | None] = Future()

    def work() -> None:
        try:
            future.set_result(_ahead(spec, suites, cache, known))
        except BaseException as error:  # whatever it is, it is told where the model would have been asked
            future.set_exception(error)

    threading.Thread(target=work, name="wug-ahead", daemon=True).start()
    return future


def _ahead(spec: ModelSpec, suites: Sequence[Suite], cache: Cache | None, known: Known) -> Ready | None:
    if (run := known.at_commit(spec)) is not None:
        return Ready(None, run)
    fetch(spec)
    opened = open_unloaded(spec)
    if opened is None:
        return _made_ready(spec, suites, cache, known) if _may_load(spec) else None
    ready = Ready(opened, known.finished(opened))
    if ready.run is None and _has_to_answer(opened, suites, cache) and _may_load(spec):
        _load(opened)
    return ready


def _made_ready(spec: ModelSpec, suites: Sequence[Suite], cache: Cache | None, known: Known) -> Ready:
    """A model that is loaded if it has anything to answer."""
    if (run := known.at_commit(spec)) is not None:
        return Ready(None, run)
    opened = open_model(spec)
    ready = Ready(opened, known.finished(opened))
    if ready.run is None and isinstance(opened.model, Deferred) and _has_to_answer(opened, suites, cache):
        _load(opened)
    return ready


def _load(opened: Opened) -> None:
    if isinstance(opened.model, Deferred):
        opened.model.loaded()


def _has_to_answer(opened: Opened, suites: Sequence[Suite], cache: Cache | None) -> bool:
    """Whether the cache lacks an answer."""
    if cache is None or cache.path is None:
        return True
    if any(suite.needs != opened.can for suite in suites):
        return False  # it will be refused
    with closing(Cache(cache.path)) as own:  # the other connection is in use
        questions: list[Any] = list(chain.from_iterable(suite.requests() for suite in suites))
        return ask_through(opened, own).model.missing(questions) > 0


def _may_load(spec: ModelSpec) -> bool:
    """Whether the model may be loaded beside another, by its kind, its number format and the room there is.

    transformers sets the number format of all threads while it loads: one that is not the usual would get into the
    other model's work.
    """
    if spec.kind not in AHEAD or spec.options.get("dtype", "float32") != "float32":
        return False
    size = _size(spec)
    free = _free(spec)
    return size is not None and free is not None and ROOM * size < free


def _size(spec: ModelSpec) -> int | None:
    """Bytes of the model's files; None where they are not here."""
    path = existing(spec.name) or _snapshot(spec)
    if path is None:
        return None
    files = [path] if path.is_file() else [file for file in path.iterdir() if file.suffix in WEIGHTS]
    return sum(file.stat().st_size for file in files)


def _free(spec: ModelSpec) -> int | None:
    """Bytes that are free where the model will be; None where that is not known."""
    if spec.kind in ("causal", "masked", "lstm") and pick_device(spec.options.get("device", "auto")) != "cpu":
        import torch

        if not torch.cuda.is_available():
            return None
        free, _ = torch.cuda.mem_get_info()
        return int(free + torch.cuda.memory_reserved() - torch.cuda.memory_allocated())
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):  # not on every system
        return None


def fetch(spec: ModelSpec) -> None:
    """Bring the files of a model of the hub onto this machine, if it is one and they are not here.

    A fault is left for loading to tell.
    """
    if spec.kind not in HUB or existing(spec.name) or spec.name.startswith((".", "/", "~")) or hub_is_away():
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


def _snapshot(spec: ModelSpec) -> Path | None:
    """The folder in which the hub's programs keep the model."""
    if spec.kind not in HUB:
        return None
    try:
        from huggingface_hub import try_to_load_from_cache
    except ImportError:
        return None
    config = try_to_load_from_cache(spec.name, "config.json", revision=spec.revision)
    return Path(config).parent if isinstance(config, str) else None
