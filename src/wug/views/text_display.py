"""How texts are displayed: differences between two texts, characters, writing direction, joined letters.

A token may be part of a character (of its bytes, an emoji, a combining mark). It is shown together with the tokens that
the character began with.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby, pairwise
from typing import Literal, TypeAlias

MAX_TEXT_CHARACTERS = 600
"""Characters of a text that a page shows: model outputs may be very long."""
_MAX_COMPARED_WORDS = 400
"""Longer texts are compared only at their beginning and end."""
# Scripts without spaces (Thai, Lao, Burmese, Khmer, Japanese, Chinese) are compared character by character.
_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"([{_UNSPACED}]|(?:(?![{_UNSPACED}])\w)+(?:['’-]\w+)*|[^\w\s])(\s*)")
Direction: TypeAlias = Literal["ltr", "rtl"]
_STRONG: dict[str, Direction] = {"L": "ltr", "R": "rtl", "AL": "rtl"}
_NUMBERS: dict[str, Direction] = {"EN": "ltr", "AN": "ltr"}
"""Numbers are written from left to right in every script."""
JOINER = "\N{ZERO WIDTH JOINER}"


@dataclass(frozen=True, slots=True)
class Piece:
    """A span of a text."""

    text: str
    differs: bool = False
    value: str = ""
    """A number for it, as text."""
    shade: str = ""
    """CSS class, if words are shaded by surprisal."""


@dataclass(frozen=True, slots=True)
class DirectionRun:
    """Neighbours with the same writing direction."""

    direction: Direction
    places: range


Pieces = tuple[Piece, ...]


def marked(one: str, other: str) -> tuple[Pieces, Pieces]:
    """Both texts, split where they differ; whitespace is ignored."""
    ours, theirs = _cut(shortened(one)), _cut(shortened(other))
    differ, differ_there = differing([word for word, _ in ours], [word for word, _ in theirs])
    return _joined(ours, differ), _joined(theirs, differ_there)


def unmarked(text: str) -> Pieces:
    """A text as one piece."""
    return (Piece(shortened(text)),) if text else ()


def differing(one: Sequence[str], other: Sequence[str]) -> tuple[list[bool], list[bool]]:
    """Which words of two lists differ."""
    shorter = min(len(one), len(other))
    first = next((at for at in range(shorter) if one[at] != other[at]), shorter)
    last = next((at for at in range(shorter - first) if one[-1 - at] != other[-1 - at]), shorter - first)
    here, there = one[first : len(one) - last], other[first : len(other) - last]
    marks, marks_there = [True] * len(here), [True] * len(there)
    if len(here) + len(there) <= _MAX_COMPARED_WORDS:
        for a, b, size in SequenceMatcher(None, here, there, autojunk=False).get_matching_blocks():
            marks[a : a + size] = [False] * size
            marks_there[b : b + size] = [False] * size
    return (
        [False] * first + marks + [False] * last,
        [False] * first + marks_there + [False] * last,
    )


def direction_of(pieces: Sequence[Piece]) -> Direction:
    """The writing direction of a text."""
    return direction(" ".join(piece.text for piece in pieces))


def runs_of(pieces: Sequence[Piece]) -> list[tuple[Direction, Sequence[Piece]]]:
    """Pieces grouped by writing direction, since boxes are not reordered by the browser."""
    found = runs([piece.text for piece in pieces])
    return [(run.direction, pieces[run.places.start : run.places.stop]) for run in found]


def shortened(text: str) -> str:
    """A text of at most MAX_TEXT_CHARACTERS."""
    return text if len(text) <= MAX_TEXT_CHARACTERS else f"{text[:MAX_TEXT_CHARACTERS]} …"


def _cut(text: str) -> list[tuple[str, str]]:
    """The words of a text, each with the whitespace after it.

    Regular expressions split at combining marks and inside emoji: these parts are joined again.
    """
    found = [(match[1], match[2]) for match in _WORD.finditer(text)]
    if text.isascii():
        return found
    words: list[tuple[str, str]] = []
    for some in characters([word + space for word, space in found]):
        words.append(("".join(a + b for a, b in found[some.start : some.stop]).rstrip(), found[some.stop - 1][1]))
    return _rejoined(words)


def _rejoined(words: list[tuple[str, str]]) -> list[tuple[str, str]]:
    joined: list[tuple[str, str]] = []
    for word, space in words:
        before, gap = joined[-1] if joined else ("", " ")
        if not gap and unicodedata.combining(before[-1]) and word[0].isalnum():
            joined[-1] = (before + word, space)
        else:
            joined.append((word, space))
    return joined


def _joined(words: list[tuple[str, str]], differ: list[bool]) -> Pieces:
    """Neighbours of one kind as one piece, with the space between two differing words."""
    stretches: list[tuple[str, bool]] = []
    for (word, space), here, after in zip(words, differ, [*differ, False][1:], strict=True):
        stretches += [(word, here), (space, here and after)]
    kept = [stretch for stretch in stretches if stretch[0]]
    return tuple(
        Piece("".join(text for text, _ in run), differs) for differs, run in groupby(kept, key=lambda part: part[1])
    )


def characters(texts: Sequence[str | None]) -> list[range]:
    """Ranges of consecutive texts that share a character, as None does with the text before it."""
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
    """The writing direction of the first letter."""
    return next((_STRONG[kind] for kind in map(unicodedata.bidirectional, text) if kind in _STRONG), "ltr")


def runs(texts: Sequence[str]) -> list[DirectionRun]:
    """Texts grouped by writing direction; punctuation goes with the letters around it."""
    whole = direction(" ".join(texts))
    known = [_own(text) for text in texts]
    found: list[Direction] = []
    for place, own in enumerate(known):
        after = next((other for other in known[place + 1 :] if other is not None), None)
        neutral = found[-1] if found and found[-1] == after else whole
        found.append(own or neutral)
    made: list[DirectionRun] = []
    for way, some in groupby(range(len(texts)), key=found.__getitem__):
        places = list(some)
        made.append(DirectionRun(way, range(places[0], places[-1] + 1)))
    return made


def joining(texts: Sequence[str], together: Sequence[bool]) -> list[str]:
    """Texts whose letters keep their form inside a word; `together` marks those that continue a word.

    An Arabic letter at the end of a separate box would have its final form in the middle of a word.
    """
    shaped = list(texts)
    for place in range(1, len(texts)):
        if together[place] and _joins(texts[place - 1][::-1]) and _joins(texts[place]):
            shaped[place - 1] += JOINER
            shaped[place] = JOINER + shaped[place]
    return shaped


def _own(text: str) -> Direction | None:
    kinds = {**_STRONG, **_NUMBERS}
    return next((kinds[kind] for kind in map(unicodedata.bidirectional, text) if kind in kinds), None)


def _joins(text: str) -> bool:
    """Whether the first letter of a text, without combining marks, may join its neighbour."""
    letter = next((one for one in text if not unicodedata.combining(one)), "")
    return bool(letter) and unicodedata.bidirectional(letter) == "AL" and unicodedata.category(letter) == "Lo"
