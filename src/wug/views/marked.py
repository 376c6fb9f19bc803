"""Two texts beside each other: the words in which they differ."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby

from wug.views.scripts import Direction, characters, direction, runs

LONGEST = 600
"""Characters of a text that a page shows: a model may go on for ever."""

_FAR = 400
"""Words beyond which no finer comparison is worth its time."""
# Scripts without spaces (Thai, Lao, Burmese, Khmer, Japanese, Chinese) are compared character by character.
_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"([{_UNSPACED}]|(?:(?![{_UNSPACED}])\w)+(?:['’-]\w+)*|[^\w\s])(\s*)")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a text."""

    text: str
    differs: bool = False
    value: str = ""
    """A number that belongs to it, as it is shown."""
    shade: str = ""
    """The shade that it stands in, where words are shaded by their surprisal."""


Pieces = tuple[Piece, ...]


def marked(one: str, other: str) -> tuple[Pieces, Pieces]:
    """Both texts, cut where they differ from each other; white space does not count."""
    ours, theirs = _cut(shortened(one)), _cut(shortened(other))
    differ, differ_there = differing([word for word, _ in ours], [word for word, _ in theirs])
    return _joined(ours, differ), _joined(theirs, differ_there)


def unmarked(text: str) -> Pieces:
    """A text with nothing marked."""
    return (Piece(shortened(text)),) if text else ()


def differing(one: Sequence[str], other: Sequence[str]) -> tuple[list[bool], list[bool]]:
    """Which words of two lists differ."""
    shorter = min(len(one), len(other))
    first = next((at for at in range(shorter) if one[at] != other[at]), shorter)
    last = next((at for at in range(shorter - first) if one[-1 - at] != other[-1 - at]), shorter - first)
    here, there = one[first : len(one) - last], other[first : len(other) - last]
    marks, marks_there = [True] * len(here), [True] * len(there)
    if len(here) + len(there) <= _FAR:
        for a, b, size in SequenceMatcher(None, here, there, autojunk=False).get_matching_blocks():
            marks[a : a + size] = [False] * size
            marks_there[b : b + size] = [False] * size
    return (
        [False] * first + marks + [False] * last,
        [False] * first + marks_there + [False] * last,
    )


def direction_of(pieces: Sequence[Piece]) -> Direction:
    """Which way a text runs."""
    return direction(" ".join(piece.text for piece in pieces))


def runs_of(pieces: Sequence[Piece]) -> list[tuple[Direction, Sequence[Piece]]]:
    """The pieces of a text that run the same way together, for boxes, which do not turn round by themselves."""
    found = runs([piece.text for piece in pieces])
    return [(run.direction, pieces[run.places.start : run.places.stop]) for run in found]


def shortened(text: str) -> str:
    """A text of no more characters than a page shows."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


def _cut(text: str) -> list[tuple[str, str]]:
    """The words of a text, each with the white space after it.

    Marks on letters are no letters to a regular expression: what they part is put together again, and so are the parts
    of an emoji.
    """
    found = [(match[1], match[2]) for match in _WORD.finditer(text)]
    if text.isascii():
        return found
    words: list[tuple[str, str]] = []
    for some in characters([word + space for word, space in found]):
        words.append(("".join(a + b for a, b in found[some.start : some.stop]).rstrip(), found[some.stop - 1][1]))
    return _rejoined(words)


def _rejoined(words: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Words with those that only a mark on a letter parted them from."""
    joined: list[tuple[str, str]] = []
    for word, space in words:
        before, gap = joined[-1] if joined else ("", " ")
        if not gap and unicodedata.combining(before[-1]) and word[0].isalnum():
            joined[-1] = (before + word, space)
        else:
            joined.append((word, space))
    return joined


def _joined(words: list[tuple[str, str]], differ: list[bool]) -> Pieces:
    """Neighbours of one kind as one piece; the space between two words that differ is part of it."""
    stretches: list[tuple[str, bool]] = []
    for (word, space), here, after in zip(words, differ, [*differ, False][1:], strict=True):
        stretches += [(word, here), (space, here and after)]
    kept = [stretch for stretch in stretches if stretch[0]]
    return tuple(
        Piece("".join(text for text, _ in run), differs) for differs, run in groupby(kept, key=lambda part: part[1])
    )
