"""A process beside the command that takes models from it, asks them whole, and sends home what it finds.

It ends with the command, however that ends: the line between them breaks, which a thread listens for.
"""

from __future__ import annotations

import atexit
import gc
import logging
import os
import pickle
import queue
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NoReturn

from wug import stats
from wug.errors import WugError
from wug.models import ModelSpec
from wug.runs.cache import Block, Cache
from wug.runs.errand import Ended, Errand, Message, known_answers, run_errand
from wug.runs.evaluate import key_of
from wug.runs.opening import Opened, open_unloaded
from wug.runs.shelf import Shelf
from wug.runs.sweeps import finished
from wug.stages import collected
from wug.types import Suite

GRACE = 10.0
"""Seconds that a process has to end by itself what it has begun, such as programs of `command:`."""
UNSENDABLE = (pickle.PicklingError, AttributeError, TypeError)
"""What pickle says of things that it cannot take."""

log = logging.getLogger("wug")


@dataclass(frozen=True, slots=True)
class Orders:
    """What a process is told when it is started."""

    threads: int | None
    """Threads to compute with; None for as many as anybody would."""
    garbage: tuple[int, int, int]
    """How often Python looks for garbage."""
    measured: bool
    """Whether what stages take is sent home."""


@dataclass(frozen=True, slots=True)
class Ready:
    """That a process can be given work."""


@dataclass(frozen=True, slots=True)
class Hint:
    """The model that will probably come next: its files are read while the present one is asked."""

    spec: ModelSpec


@dataclass(frozen=True, slots=True)
class Here:
    """What was found before, in the files of this machine."""

    suites: Sequence[Suite]
    interval: stats.Method
    store: Path | None
    sweep: int | None
    cache: Path | None

    def run(self, opened: Opened) -> int | None:
        """The complete run of a model in the sweep; None where it is to be asked."""
        if self.store is None or self.sweep is None or opened.spec is None:
            return None
        key = key_of(self.suites, opened, self.interval)
        return finished(Shelf(self.store), self.sweep, key, str(opened.spec))

    def answers(self, opened: Opened) -> Sequence[tuple[bytes, Block]]:
        """Answers of a model that the cache has."""
        if self.cache is None:
            return []
        with closing(Cache(self.cache)) as cache:
            found = known_answers(cache, opened)
            if cache.damaged:
                log.warning("%s answers in the cache were damaged, and asked anew", f"{cache.damaged:,}")
            return found


def work(line: Connection, orders: Orders) -> None:
    """Do errands until the line breaks: what was found before comes first, then one model after the other."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever presses Ctrl-C means the command, which then breaks the line
    gc.set_threshold(*orders.garbage)
    if orders.threads is not None:  # read by torch and by tokenizers when they are imported
        os.environ["OMP_NUM_THREADS"] = os.environ["RAYON_NUM_THREADS"] = str(orders.threads)
    _send(line, Ready())
    received: queue.SimpleQueue[Errand] = queue.SimpleQueue()
    try:
        before, fault = _unpacked(line.recv_bytes())
    except (EOFError, OSError):
        _leave()
    threading.Thread(target=_listen, args=(line, received), daemon=True).start()
    while True:
        errand = received.get()
        if before is None:
            _send(line, Ended(error=fault))
            continue
        messages = run_errand(errand, before.suites, before)
        for message in _sendable(_measured(messages) if orders.measured else messages):
            _send(line, message)


def _unpacked(data: bytes) -> tuple[Here | None, str]:
    """What was found before and the suites, or why they cannot be had here."""
    try:
        found: Here = pickle.loads(data)
    except Exception as error:  # whatever the code of a plugin raises
        return None, f"a suite cannot be had in another process ({error}): --workers 1 does without"
    return found, ""


def _measured(messages: Iterator[Message]) -> Iterator[Message]:
    """The messages of an errand, the last with what its stages took."""
    with collected() as stages:
        for message in messages:
            yield replace(message, stages=tuple(stages)) if isinstance(message, Ended) else message


def _sendable(messages: Iterator[Message]) -> Iterator[bytes]:
    """Messages as bytes; where one cannot be such, the last says so instead."""
    fault = ""
    for message in messages:
        try:
            if not fault or isinstance(message, Ended):
                last = replace(message, error=message.error or fault or None) if isinstance(message, Ended) else message
                yield pickle.dumps(last, pickle.HIGHEST_PROTOCOL)
        except UNSENDABLE as error:
            fault = f"what was found cannot be sent from one process to another ({error}): --workers 1 does without"


def _send(line: Connection, message: object) -> None:
    try:
        line.send_bytes(message if isinstance(message, bytes) else pickle.dumps(message))
    except OSError:
        _leave()


def _listen(line: Connection, received: queue.SimpleQueue[Errand]) -> None:
    try:
        while True:
            message: Errand | Hint = line.recv()
            if isinstance(message, Hint):
                threading.Thread(target=_look_at, args=(message.spec,), daemon=True).start()
            else:
                received.put(message)
    except (EOFError, OSError):
        _leave()


def _look_at(spec: ModelSpec) -> None:
    """Know the fingerprint of a model's files; a fault is left for its errand to tell."""
    with suppress(WugError):
        open_unloaded(spec)


def _leave() -> NoReturn:
    """End at once: torch would abort the process where Python ended it amid its work."""
    late = threading.Timer(GRACE, os._exit, (1,))
    late.daemon = True
    late.start()
    atexit._run_exitfuncs()
    os._exit(0)
