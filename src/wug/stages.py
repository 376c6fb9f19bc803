"""Durations of the stages of a run, for benchmarks, in the log `wug.stages`."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

MESSAGE = "%s took %.4f s"

log = logging.getLogger("wug.stages")


@dataclass(frozen=True, slots=True)
class Stage:
    """A finished stage."""

    name: str
    seconds: float
    ended: float
    """When, in seconds since 1970."""


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Log the duration of a context, if the log is enabled."""
    if not is_enabled():
        yield
        return
    began = time.monotonic()
    try:
        yield
    finally:
        log.debug(MESSAGE, name, time.monotonic() - began)


def is_enabled() -> bool:
    """Whether stages are logged."""
    return log.isEnabledFor(logging.DEBUG)


@contextmanager
def collected() -> Iterator[list[Stage]]:
    """Collect the stages of a context in a list instead of logging them."""
    found: list[Stage] = []
    handler, before = _Collecting(found), (log.level, log.propagate)
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    log.propagate = False
    try:
        yield found
    finally:
        log.removeHandler(handler)
        log.setLevel(before[0])
        log.propagate = before[1]


def pass_on(stages: Iterable[Stage]) -> None:
    """Log stages of another process."""
    for one in stages:
        record = log.makeRecord(log.name, logging.DEBUG, __file__, 0, MESSAGE, (one.name, one.seconds), None)
        record.created = one.ended
        log.handle(record)


class _Collecting(logging.Handler):
    def __init__(self, found: list[Stage]) -> None:
        super().__init__(logging.DEBUG)
        self._found = found

    def emit(self, record: logging.LogRecord) -> None:
        if isinstance(record.args, tuple):
            name, seconds = record.args
            self._found.append(Stage(str(name), float(str(seconds)), record.created))
