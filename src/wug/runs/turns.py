"""Things that threads make ready, in order, while the one whose turn it is is used."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

Made = TypeVar("Made")

NAME = "wug-ahead"
"""What the threads are called: an interrupted command does not wait for them."""


class Stopped(Exception):
    """Nobody waits any more for what is being made."""


class Turns(Generic[Made]):
    """Places of a line, whose turn comes one after the other; `make` is called for those ahead, by threads.

    `make` gets its place, and asks `may_take` before it takes up room. That is granted in the order of the places, so
    that one for which there is no room yet does not have it taken away by those behind it; where there is none until
    its turn has come, the answer is no. None stands for what has to be made by whoever waits for it in its turn.
    """

    def __init__(self, count: int, threads: int, make: Callable[[int], Made | None]) -> None:
        self._count, self._ahead, self._make = count, threads, make
        self._changed = threading.Condition()
        self._futures: dict[int, Future[Made | None]] = {}
        self._turn = 0
        self._begun = 1  # the first is made where it is used
        self._undecided = 1
        self._decided: set[int] = set()
        self._taken: dict[int, int] = {}
        self._loading: dict[int, int] = {}
        self._open = self._closed = False

    def __enter__(self) -> None:
        """Start the threads."""
        for _ in range(min(self._ahead, self._count - 1)):
            threading.Thread(target=self._work, name=NAME, daemon=True).start()

    def open(self) -> None:
        """Let room be taken from now on: the first is made."""
        with self._changed:
            self._open = True
            self._changed.notify_all()

    def wait(self, place: int) -> Made | None:
        """What was made for the place whose turn it is now; None where it has to be made."""
        with self._changed:
            self._turn = place
            self._changed.notify_all()
            future = None if place == 0 else self._future(place)
        try:
            return None if future is None else future.result()
        finally:
            with self._changed:
                self._futures.pop(place, None)
                self._taken.pop(place, None)
                self._changed.notify_all()

    def __exit__(self, *error: object) -> None:
        """Have the threads end with what they are at."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def opened(self) -> None:
        """Wait until the first is made."""
        with self._changed:
            while not (self._open or self._closed):
                self._changed.wait()
            if self._closed:
                raise Stopped

    def may_take(self, place: int, size: int, allows: Callable[[int, int], bool]) -> bool:
        """Whether `size` bytes may be taken: now, or as soon as there is room; not where the turn has come before.

        `allows` is told for how many places ahead room was taken, and how many bytes of it are still being filled.
        """
        with self._changed:
            while not self._closed:
                first = self._open and place == self._undecided
                if first and allows(len(self._taken), sum(self._loading.values())):
                    self._taken[place] = self._loading[place] = size
                    self._decide(place)
                    return True
                if place <= self._turn:
                    return False
                self._changed.wait()
            raise Stopped

    def _work(self) -> None:
        while (place := self._next()) is not None:
            self._fill(place)

    def _next(self) -> int | None:
        """The next place to make; None where there are no more, or nobody waits."""
        with self._changed:
            while not self._closed and self._begun < self._count and self._begun > self._turn + self._ahead:
                self._changed.wait()
            if self._closed or self._begun >= self._count:
                return None
            self._begun += 1
            return self._begun - 1

    def _fill(self, place: int) -> None:
        with self._changed:
            future = self._future(place)
        try:
            made = self._make(place)
        except BaseException as error:  # whatever it is, it is told in its turn
            self._ended(place)
            future.set_exception(error)
        else:
            self._ended(place)  # before the next has its turn
            future.set_result(made)

    def _ended(self, place: int) -> None:
        with self._changed:
            self._loading.pop(place, None)
            self._decide(place)

    def _future(self, place: int) -> Future[Made | None]:
        return self._futures.setdefault(place, Future())

    def _decide(self, place: int) -> None:
        if place >= self._undecided:
            self._decided.add(place)
        while self._undecided in self._decided:
            self._decided.remove(self._undecided)
            self._undecided += 1
        self._changed.notify_all()
