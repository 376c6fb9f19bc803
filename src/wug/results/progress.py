"""Progress reports of a running run: requests and suites done, rate and remaining time."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from wug.errors import StoreError
from wug.formatting import plural

if TYPE_CHECKING:
    from wug.results.store import Store

WRITE_INTERVAL_SECONDS = 1.0
"""Seconds between two progress reports in the store."""
MIN_RATE_SECONDS = 3.0
"""Seconds of computation before a rate is shown."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How much of a run is done."""

    done: int = 0
    """Requests with an output, including those from the cache."""
    requests: int = 0
    """Requests known so far; a suite whose next request depends on the last output adds more."""
    judged: int = 0
    """Suites that are done."""
    suites: int = 0
    cached: int = 0
    """Requests that the cache could answer at the start."""
    started: float = 0.0
    """When the first request was sent, in seconds since 1970."""
    updated: float = 0.0
    """When this was written."""

    @property
    def share(self) -> float:
        """The proportion of requests that are done."""
        return min(1.0, self.done / self.requests) if self.requests > 0 else 0.0

    @property
    def rate(self) -> float | None:
        """Requests computed per second; None if it is too early to tell."""
        seconds, computed = self.updated - self.started, self.done - self.cached
        return computed / seconds if seconds >= MIN_RATE_SECONDS and computed > 0 else None

    @property
    def left(self) -> float | None:
        """Remaining seconds at this rate; None if it is too early to tell."""
        return None if self.rate is None else (self.requests - self.done) / self.rate


class ProgressReporter:
    """Reports progress to a callback, and to the store about once per second."""

    def __init__(self, send: Callable[[int, int], None] | None = None, clock: Callable[[], float] = time.time) -> None:
        self._send, self._clock = send, clock
        self._store: Store | None = None
        self._run = 0
        self._progress = Progress()

    def begin(self, store: Store, run: int, suites: int, done: int, requests: int) -> None:
        """Report to a store too from now on; `done` requests are cached."""
        self._store, self._run = store, run
        self._progress = Progress(done, requests, suites=suites, cached=done, started=self._clock())
        self._write()

    def computed(self, done: int, requests: int) -> None:
        """Report completed and total requests."""
        self._progress = replace(self._progress, done=done, requests=requests)
        if self._send is not None:
            self._send(done, requests)
        if self._clock() - self._progress.updated >= WRITE_INTERVAL_SECONDS:
            self._write()

    def judged(self) -> None:
        """Report that one more suite is done."""
        self._progress = replace(self._progress, judged=self._progress.judged + 1)
        self._write()

    def _write(self) -> None:
        if self._store is None:
            return
        self._progress = replace(self._progress, updated=self._clock())
        row = {"run": self._run, **asdict(self._progress)}
        # If the store cannot be written, the next result reports it; a progress report is not worth an error.
        with suppress(StoreError):
            self._store.change(
                f"INSERT OR REPLACE INTO progress ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
                *row.values(),
            )


def progress_of(row: Any) -> Progress | None:
    """The last progress report in a row of runs joined with progress; None without one, or if it is damaged.

    The suites done are counted from the results, which are stored before the report about them.
    """
    names = ("done", "requests", "suites", "wanted", "cached", "first_request", "updated")
    values = [row[name] for name in names]
    if not all(isinstance(value, int) and value >= 0 for value in values[:5]):
        return None
    return Progress(*values) if all(isinstance(value, int | float) for value in values[5:]) else None


def duration(seconds: float) -> str:
    """A duration as rounded text: `40 s`, `3 min`, `2 h 10 min`."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes = round(whole / 60)
    hours, minutes = divmod(minutes, 60)
    if not hours:
        return f"{minutes} min"
    return f"{hours:,} h {minutes} min" if minutes else f"{hours:,} h"


def in_words(progress: Progress, *, running: bool = True) -> str:
    """Progress in one line: `1,200 of 4,000 requests · 35 per second · 1 min left · 2 of 6 suites done`.

    Without rate and remaining time if the run is not running.
    """
    parts = [f"{progress.done:,} of {plural(progress.requests, 'request')}"]
    if running and progress.rate is not None and progress.left:
        rate = f"{progress.rate:,.0f}" if progress.rate >= 9.5 else f"{progress.rate:.2g}"
        parts.append(f"{rate} per second")
        parts.append(f"{duration(progress.left)} left")
    parts.append(f"{progress.judged:,} of {plural(progress.suites, 'suite')} done")
    return " · ".join(parts)
