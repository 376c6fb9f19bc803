"""What all backends that turn text into text share: each source asked once, answers of bounded length, notices.

How long an answer may become depends on its own source alone, never on the others in the batch: otherwise
the same question would get another answer in other company.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from wug.types import Answer

SHORTEST, LONGEST, TIMES = 128, 1024, 8
"""Tokens that an answer may have at least and at most, and for each token of its source.

Of the 56,806 distinct published PCFG SET sources one has a target that is longer than this, word by word.
"""
Question = TypeVar("Question", bound=Hashable)
Found = TypeVar("Found")
CUT_OFF = "were cut off before the model ended them; -M max_length=N lets them be longer"
BEYOND = "were stopped where they were longer than any right answer"
NEAR_TIE = "have a near tie: two tokens are equally probable up to rounding, and another batch may give the other one"
UNKNOWN_WORDS = "are to sources with words that the model does not know"


@dataclass(frozen=True, slots=True)
class Written:
    """An answer as its tokens, and whether the model ended it itself."""

    tokens: tuple[int, ...]
    ended: bool
    near_tie: bool = False
    """Whether two tokens were equally probable up to rounding, so that another batch may give the other one."""


def once(sources: Sequence[Question], ask: Callable[[list[Question]], list[Found]]) -> list[Found]:
    """One answer for each source, in order; identical sources are asked together."""
    distinct = list(dict.fromkeys(sources))
    answers = dict(zip(distinct, ask(distinct) if distinct else [], strict=True))
    return [answers[source] for source in sources]


def longest_answer(source: int, wanted: int | None = None) -> int:
    """Tokens that the answer to a source of so many tokens may have: `wanted`, or in steps of powers of two."""
    if wanted is not None:
        return wanted
    bound = SHORTEST
    while bound < min(TIMES * source, LONGEST):
        bound *= 2
    return bound


def batches(lengths: Sequence[int], bounds: Sequence[int], *, tokens: int, padded: bool = True) -> Iterator[list[int]]:
    """The places of sources asked together: of like length, the same bound, within a number of tokens in all.

    Without `padded`, only sources of exactly the same length go together. A source that is too long
    for the number of tokens goes alone.
    """
    order = sorted(range(len(lengths)), key=lambda place: (bounds[place], lengths[place], place))
    batch: list[int] = []
    for place in order:
        width = lengths[place] + bounds[place]
        first = batch[0] if batch else place
        other = bounds[first] != bounds[place] or (not padded and lengths[first] != lengths[place])
        if batch and (other or (len(batch) + 1) * width > tokens):
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def until_end(row: Sequence[int], ends: Sequence[int]) -> Written:
    """What was written before the first end mark."""
    for place, token in enumerate(row):
        if token in ends:
            return Written(tuple(row[:place]), ended=True)
    return Written(tuple(row), ended=False)


def answer(text: str, *, ended: bool, known: bool = True, near_tie: bool = False) -> Answer:
    """An answer, with what there is to say of it where the model did not end it or does not know all words."""
    notices = ((UNKNOWN_WORDS, not known), (CUT_OFF, not ended), (NEAR_TIE, near_tie))
    return Answer(text, tuple(notice for notice, holds in notices if holds))


def cut(found: Answer, most: int | None) -> Answer:
    """An answer as far as a suite wants it that knows how many words a right one has at most (`Source.most`).

    One that `max_length` cut off before keeps that notice: it could have become right.
    """
    if most is None or len(words := found.text.split()) <= most + 1:
        return found
    notices = (*(notice for notice in found.notices if notice != CUT_OFF), BEYOND)
    return Answer(" ".join(words[: most + 1]), notices)


def too_long(limit: int) -> Answer:
    """The answer, an empty one, to a source that the model cannot take."""
    return Answer("", (f"are empty because their sources have more than the {limit:,} tokens that the model takes",))
