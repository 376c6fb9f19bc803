"""How far a run is: what it says of itself while it goes on, and what follows from that."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from wug.errors import StoreError

if TYPE_CHECKING:
    from wug.results.store import Store

WRITE_INTERVAL_SECONDS = 1.0
"""Seconds between two words in the store about how far a run is."""
MIN_RATE_SECONDS = 3.0
"""Seconds of asking after which a rate is worth telling."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run came."""

    done: int = 0
    """Questions answered, those that the cache knew among them."""
    questions: int = 0
    """All that are known to be asked; a suite whose next question depends on the last answer adds to them."""
    judged: int = 0
    """Suites that are done."""
    suites: int = 0
    cached: int = 0
    """Questions that the cache could answer at the start."""
    began: float = 0.0
    """When asking began, in seconds since 1970."""
    told: float = 0.0
    """When this was said."""

    @property
    def share(self) -> float:
        """Of the questions that are answered."""
        return min(1.0, self.done / self.questions) if self.questions > 0 else 0.0

    @property
    def rate(self) -> float | None:
        """Questions that the model answered a second; None while that cannot be told."""
        seconds, answered = self.told - self.began, self.done - self.cached
        return answered / seconds if seconds >= MIN_RATE_SECONDS and answered > 0 else None

    @property
    def left(self) -> float | None:
        """Seconds that the rest will take at this rate; None while that cannot be told."""
        return None if self.rate is None else (self.questions - self.done) / self.rate


class ProgressReporter:
    """What a run says of itself: to whoever started it, and to the store, there at most about once a second."""

    def __init__(self, tell: Callable[[int, int], None] | None = None, clock: Callable[[], float] = time.time) -> None:
        self._tell, self._clock = tell, clock
        self._store: Store | None = None
        self._run = 0
        self._suites = self._judged = self._cached = self._done = self._questions = 0
        self._began = self._told = 0.0

    def begin(self, store: Store, run: int, suites: int, done: int, questions: int) -> None:
        """From now on the store is told too; so many questions the cache could answer."""
        self._store, self._run, self._suites = store, run, suites
        self._cached, self._done, self._questions, self._began = done, done, questions, self._clock()
        self._write()

    def answered(self, done: int, questions: int) -> None:
        """So many of so many questions are answered."""
        self._done, self._questions = done, questions
        if self._tell is not None:
            self._tell(done, questions)
        if self._clock() - self._told >= WRITE_INTERVAL_SECONDS:
            self._write()

    def judged(self) -> None:
        """One more suite is done."""
        self._judged += 1
        self._write()

    def _write(self) -> None:
        if self._store is None:
            return
        self._told = self._clock()
        said = Progress(self._done, self._questions, self._judged, self._suites, self._cached, self._began, self._told)
        row = {"run": self._run, **asdict(said)}
        # Where the store cannot be written, the next result says so; what is told here is worth no error.
        with suppress(StoreError):
            self._store.change(
                f"INSERT OR REPLACE INTO progress ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
                *row.values(),
            )


def progress_of(row: Any) -> Progress | None:
    """What a run said last, of a row of runs joined with what they said; None where it said nothing, or is damaged.

    How many suites are done is counted rather than believed: a result is there before the run says so.
    """
    names = ("done", "questions", "suites", "wanted", "cached", "began", "told")
    values = [row[name] for name in names]
    if not all(isinstance(value, int) and value >= 0 for value in values[:5]):
        return None
    return Progress(*values) if all(isinstance(value, int | float) for value in values[5:]) else None


def duration(seconds: float) -> str:
    """A time in words, no more exact than it can be: `40 s`, `3 min`, `2 h 10 min`."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes = round(whole / 60)
    hours, minutes = divmod(minutes, 60)
    if not hours:
        return f"{minutes} min"
    return f"{hours:,} h {minutes} min" if minutes else f"{hours:,} h"


def in_words(progress: Progress, *, going: bool = True) -> str:
    """How far a run is, in one line: `1,200 of 4,000 questions · 35 a second · 1 min left · 2 of 6 suites done`.

    Of one that does not go on any more, without rate and time.
    """
    parts = [f"{progress.done:,} of {progress.questions:,} questions"]
    if going and progress.rate is not None and progress.left:
        parts.append(f"{progress.rate:,.0f} a second" if progress.rate >= 9.5 else f"{progress.rate:.2g} a second")
        parts.append(f"{duration(progress.left)} left")
    parts.append(f"{progress.judged:,} of {progress.suites:,} {'suite' if progress.suites == 1 else 'suites'} done")
    return " · ".join(parts)
