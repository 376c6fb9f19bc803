"""Helpers for tests of jobs: one shared worker, and checks of processes."""

from __future__ import annotations

import contextlib
import functools
import os
import select
from pathlib import Path

from timeouts import PATIENCE
from wug.web.jobs import Job, JobQueue


@functools.cache
def shared() -> JobQueue:
    """The jobs of every site in a test run: the real worker is slow to start, and one will do."""
    return JobQueue()


def ended(job: Job) -> Job:
    """A job that has ended."""
    assert job.ended.wait(PATIENCE), job.state()
    return job


def heard(pipe: Path) -> int:
    """The number of the process that writes it to a named pipe."""
    source = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert _readable(source), "nothing was written"
        return int(os.read(source, 20))
    finally:
        os.close(source)


def gone(pid: int) -> bool:
    """Whether a process has ended, or ends soon."""
    with contextlib.suppress(ProcessLookupError):
        watched = os.pidfd_open(pid)
        try:
            return _readable(watched)
        finally:
            os.close(watched)
    return True


def _readable(handle: int) -> bool:
    """Whether there is something to read before patience ends; of any number, which `select` does not take."""
    waiting = select.poll()
    waiting.register(handle, select.POLLIN)
    return bool(waiting.poll(1000 * PATIENCE))
