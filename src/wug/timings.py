"""Durations of the steps of a run, for benchmarks, in the log `wug.timings`."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from logging.handlers import BufferingHandler

log = logging.getLogger("wug.timings")


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
        log.debug("%s took %.4f s", name, time.monotonic() - began)


def is_enabled() -> bool:
    """Whether durations are logged."""
    return log.isEnabledFor(logging.DEBUG)


@contextmanager
def collected() -> Iterator[list[logging.LogRecord]]:
    """Collect the records of a context in a list instead of logging them, for another process."""
    handler, before = BufferingHandler(sys.maxsize), (log.level, log.propagate)
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    log.propagate = False
    try:
        yield handler.buffer
    finally:
        log.removeHandler(handler)
        log.setLevel(before[0])
        log.propagate = before[1]
