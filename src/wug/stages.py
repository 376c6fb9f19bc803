"""What the stages of a long piece of work took, for programs that measure: lines of the log `wug.stages`."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

log = logging.getLogger("wug.stages")


@contextmanager
def stage(name: str) -> Iterator[None]:
    """A context whose duration is logged at its end, in seconds; it costs nothing where nobody listens."""
    if not log.isEnabledFor(logging.DEBUG):
        yield
        return
    began = time.monotonic()
    try:
        yield
    finally:
        log.debug("%s took %.4f s", name, time.monotonic() - began)
