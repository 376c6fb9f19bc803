"""Durations of the steps of a run, for benchmarks, in the log `wug.timings`."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

MESSAGE = "%s took %.4f s"

log = logging.getLogger("wug.timings")


@dataclass(frozen=True, slots=True)
class Timing:
    """The duration of a step."""

    name: str
    seconds: float
    ended: float
    """When, in seconds since 1970."""


@contextmanager
def timed(name: str) -> Iterator[None]:
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
    """Whether durations are logged."""
    return log.isEnabledFor(logging.DEBUG)


@contextmanager
def collected() -> Iterator[list[Timing]]:
    """Collect the durations in a context in a list instead of logging them."""
    timings: list[Timing] = []
    handler, before = _Collector(timings), (log.level, log.propagate)
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    log.propagate = False
    try:
        yield timings
    finally:
        log.removeHandler(handler)
        log.setLevel(before[0])
        log.propagate = before[1]


def pass_on(timings: Iterable[Timing]) -> None:
    """Log durations of another process."""
    for one in timings:
        record = log.makeRecord(log.name, logging.DEBUG, __file__, 0, MESSAGE, (one.name, one.seconds), None)
        record.created = one.ended
        log.handle(record)


class _Collector(logging.Handler):
    def __init__(self, timings: list[Timing]) -> None:
        super().__init__(logging.DEBUG)
        self._timings = timings

    def emit(self, record: logging.LogRecord) -> None:
        if isinstance(record.args, tuple):
            name, seconds = record.args
            self._timings.append(Timing(str(name), float(str(seconds)), record.created))
