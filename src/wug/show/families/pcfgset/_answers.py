"""Answers beside what they should be, by function or by pair of functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from wug.show.families._marked import Piece, Pieces, shortened
from wug.show.families._spread import spread
from wug.types import Outcome


@dataclass(frozen=True, slots=True)
class Line:
    """A labelled string of symbols; `mark` says what a difference in it is: `ins` right, `del` wrong."""

    label: str
    pieces: Pieces
    mark: str = "del"


@dataclass(frozen=True, slots=True)
class Answer:
    """An item as the page shows it."""

    item: str
    note: str
    lines: tuple[Line, ...]
    fails: bool = True
    """Whether the note is about a failure."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Items of one kind, some of which are shown."""

    name: str
    count: int
    """Those that a sentence such as `12 of 40 wrong` speaks of."""
    total: int
    answers: tuple[Answer, ...]
    left: int


def batches(
    chosen: Sequence[Outcome],
    every: Iterable[Outcome],
    room: int,
    field: str,
    show: Callable[[Outcome], Answer],
    *,
    counted: Callable[[Outcome], bool] = lambda outcome: True,
) -> tuple[list[Batch], int]:
    """A sample of the chosen outcomes by the value of a field, and how many are left out."""

    def value(outcome: Outcome) -> str:
        return str(outcome.groups.get(field, ""))

    counts, sizes = Counter(value(o) for o in chosen if counted(o)), Counter(map(value, every))
    there = Counter(map(value, chosen))
    found = [
        Batch(name, counts[name], sizes[name], tuple(map(show, some)), there[name] - len(some))
        for name, some in spread(chosen, room, value).items()
    ]
    return found, sum(there.values()) - sum(len(batch.answers) for batch in found)


def as_it_is(text: str) -> Pieces:
    """A string with nothing marked."""
    return (Piece(shortened(text)),) if text else ()


def text_of(outcome: Outcome, key: str) -> str:
    """A string of an outcome's detail; empty where it has none."""
    return str(outcome.detail.get(key) or "")
