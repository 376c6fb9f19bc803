"""Scripts of the world: what a reader takes for one character, which way a text runs, letters that join.

A token may be a part of a character (of its bytes, of an emoji, a mark on a letter). Shown by itself it would be the
whole character again, or a mark on nothing: it is shown with the tokens that the character began with.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Literal, TypeAlias

from wug.types import Scored

Direction: TypeAlias = Literal["ltr", "rtl"]
_STRONG: dict[str, Direction] = {"L": "ltr", "R": "rtl", "AL": "rtl"}
_NUMBERS: dict[str, Direction] = {"EN": "ltr", "AN": "ltr"}
"""Numbers are written from left to right in every script."""
JOINER = "\N{ZERO WIDTH JOINER}"


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbours that run the same way."""

    direction: Direction
    places: range


def first_texts(scored: Scored) -> list[str | None]:
    """Of each token the characters that no token before it has: None for a further part of a character.

    A token of white space alone has an empty text.
    """
    texts: list[str | None] = []
    reached = 0
    for place, (start, end) in enumerate(zip(scored.starts, scored.ends, strict=True)):
        covered = scored.text[start:end]
        name = covered if scored.pieces is None else scored.pieces[place]
        # A name of its own (`<unk>`, `</s>`) stands for the token whatever the text has there.
        part = name == covered and start < end <= reached
        texts.append(None if part else scored.text[max(start, reached) : end] if name == covered else name)
        reached = max(reached, end)
    return texts


def characters(texts: Sequence[str | None]) -> list[range]:
    """Texts that follow one another, taken together where a character goes on from one to the next, as None does."""
    from wcwidth import iter_graphemes

    bounds, end = set(), 0
    for character in iter_graphemes("".join(text or " " for text in texts if text is not None)):
        bounds.add(end)
        end += len(character)
    starts: list[int] = []
    at = 0
    for place, text in enumerate(texts):
        if place == 0 or (text is not None and at in bounds):
            starts.append(place)
        at += 0 if text is None else len(text) or 1
    return [range(a, b) for a, b in pairwise([*starts, len(texts)])]


def direction(text: str) -> Direction:
    """Which way a text runs: that of its first letter."""
    return next((_STRONG[kind] for kind in map(unicodedata.bidirectional, text) if kind in _STRONG), "ltr")


def runs(texts: Sequence[str]) -> list[Run]:
    """Neighbours of one direction together; punctuation goes with letters on both sides of it, or with the whole."""
    whole = direction(" ".join(texts))
    known = [_own(text) for text in texts]
    found: list[Direction] = []
    for place, own in enumerate(known):
        after = next((other for other in known[place + 1 :] if other is not None), None)
        neutral = found[-1] if found and found[-1] == after else whole
        found.append(own or neutral)
    made: list[Run] = []
    for way, some in groupby(range(len(texts)), key=found.__getitem__):
        places = list(some)
        made.append(Run(way, range(places[0], places[-1] + 1)))
    return made


def joining(texts: Sequence[str], together: Sequence[bool]) -> list[str]:
    """Texts whose letters keep the form that they have inside a word; `together` says which go on with a word.

    An Arabic letter at the end of a box of its own would have its final form in the middle of a word.
    """
    shaped = list(texts)
    for place in range(1, len(texts)):
        if together[place] and _joins(texts[place - 1][::-1]) and _joins(texts[place]):
            shaped[place - 1] += JOINER
            shaped[place] = JOINER + shaped[place]
    return shaped


def _own(text: str) -> Direction | None:
    """The direction of a text's first letter or number; None for punctuation."""
    kinds = {**_STRONG, **_NUMBERS}
    return next((kinds[kind] for kind in map(unicodedata.bidirectional, text) if kind in kinds), None)


def _joins(text: str) -> bool:
    """Whether the first letter of a text, marks aside, may join with its neighbour."""
    letter = next((one for one in text if not unicodedata.combining(one)), "")
    return bool(letter) and unicodedata.bidirectional(letter) == "AL" and unicodedata.category(letter) == "Lo"
