"""How texts are displayed: differences between two texts, characters, writing direction, joined letters.

A token may be part of a character (of its bytes, an emoji, a combining mark). It is shown together with the tokens that
the character began with.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from itertools import groupby, pairwise
from typing import Literal, NamedTuple, Protocol, TypeAlias, TypeVar

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


class Piece(NamedTuple):
    """A span of a text."""

    text: str
    differs: bool = False
    value: str = ""
    """A number for it, as text."""
    shade: str = ""
    """CSS class, if words are shaded by surprisal."""


class HasText(Protocol):
    """A span of a text, as here or as a page shows it."""

    @property
    def text(self) -> str:
        """The characters."""


Pieces = tuple[Piece, ...]
AnyPiece = TypeVar("AnyPiece", bound=HasText)


def mark_differences(first: str, second: str) -> tuple[Pieces, Pieces]:
    """Both texts, split where they differ; whitespace is ignored."""
    sides = [_split_words(shorten_text(text)) for text in (first, second)]
    differ = word_differences(*([word for word, _ in words] for words in sides))
    return _as_pieces(sides[0], differ[0]), _as_pieces(sides[1], differ[1])


def single_piece(text: str) -> Pieces:
    """A text as one piece."""
    return (Piece(shorten_text(text)),) if text else ()


def word_differences(first_words: Sequence[str], second_words: Sequence[str]) -> tuple[list[bool], list[bool]]:
    """Which words of two lists differ."""
    shorter = min(len(first_words), len(second_words))
    prefix = next((index for index in range(shorter) if first_words[index] != second_words[index]), shorter)
    suffix = next((i for i in range(shorter - prefix) if first_words[-1 - i] != second_words[-1 - i]), shorter - prefix)
    first_middle, second_middle = (words[prefix : len(words) - suffix] for words in (first_words, second_words))
    first_marks, second_marks = [True] * len(first_middle), [True] * len(second_middle)
    if len(first_middle) + len(second_middle) <= _MAX_COMPARED_WORDS:
        for a, b, size in SequenceMatcher(None, first_middle, second_middle, autojunk=False).get_matching_blocks():
            first_marks[a : a + size] = [False] * size
            second_marks[b : b + size] = [False] * size
    same_start, same_end = [False] * prefix, [False] * suffix
    return same_start + first_marks + same_end, same_start + second_marks + same_end


def direction_of(pieces: Sequence[HasText]) -> Direction:
    """The writing direction of a text: that of its first letter."""
    return _first_direction(" ".join(piece.text for piece in pieces), _STRONG) or "ltr"


def shorten_text(text: str) -> str:
    """A text of at most MAX_TEXT_CHARACTERS."""
    return text if len(text) <= MAX_TEXT_CHARACTERS else f"{text[:MAX_TEXT_CHARACTERS]} …"


def _split_words(text: str) -> list[tuple[str, str]]:
    """The words of a text, each with the whitespace after it.

    Regular expressions split at combining marks and inside emoji: these parts are joined again.
    """
    words = [(match[1], match[2]) for match in _WORD.finditer(text)]
    if text.isascii():
        return words
    grouped_words: list[tuple[str, str]] = []
    for span in characters([word + space for word, space in words]):
        part = "".join(word + space for word, space in words[span.start : span.stop])
        grouped_words.append((part.rstrip(), words[span.stop - 1][1]))
    return _rejoin_marks(grouped_words)


def _rejoin_marks(words: list[tuple[str, str]]) -> list[tuple[str, str]]:
    joined_words: list[tuple[str, str]] = []
    for word, space in words:
        previous_word, previous_gap = joined_words[-1] if joined_words else ("", " ")
        if not previous_gap and unicodedata.combining(previous_word[-1]) and word[0].isalnum():
            joined_words[-1] = (previous_word + word, space)
        else:
            joined_words.append((word, space))
    return joined_words


def _as_pieces(words: list[tuple[str, str]], differ: list[bool]) -> Pieces:
    """Neighbours of one kind as one piece, with the space between two differing words."""
    stretches: list[tuple[str, bool]] = []
    for (word, space), word_differs, next_differs in zip(words, differ, [*differ, False][1:], strict=True):
        stretches += [(word, word_differs), (space, word_differs and next_differs)]
    nonempty = [stretch for stretch in stretches if stretch[0]]
    return tuple(
        Piece("".join(text for text, _ in run), differs) for differs, run in groupby(nonempty, key=lambda part: part[1])
    )


def characters(texts: Sequence[str | None]) -> list[range]:
    """Ranges of consecutive texts that share a character, as None does with the text before it."""
    from wcwidth import iter_graphemes

    bounds, end = set(), 0
    for character in iter_graphemes("".join(text or " " for text in texts if text is not None)):
        bounds.add(end)
        end += len(character)
    starts: list[int] = []
    offset = 0
    for index, text in enumerate(texts):
        if index == 0 or (text is not None and offset in bounds):
            starts.append(index)
        offset += 0 if text is None else len(text) or 1
    return [range(a, b) for a, b in pairwise([*starts, len(texts)])]


def _first_direction(text: str, kinds: Mapping[str, Direction]) -> Direction | None:
    return next((kinds[kind] for kind in map(unicodedata.bidirectional, text) if kind in kinds), None)


def runs_of(pieces: Sequence[AnyPiece]) -> list[tuple[Direction, list[AnyPiece]]]:
    """Pieces grouped by writing direction, since boxes are not reordered by the browser.

    Punctuation goes with the letters around it.
    """
    base, kinds = direction_of(pieces), {**_STRONG, **_NUMBERS}
    own_directions = [_first_direction(piece.text, kinds) for piece in pieces]
    directions: list[Direction] = []
    for index, own_direction in enumerate(own_directions):
        next_direction = next(filter(None, own_directions[index + 1 :]), None)
        neutral = directions[-1] if directions and directions[-1] == next_direction else base
        directions.append(own_direction or neutral)
    runs = groupby(zip(directions, pieces, strict=True), key=lambda pair: pair[0])
    return [(run_direction, [piece for _, piece in run]) for run_direction, run in runs]


def join_letters(texts: Sequence[str], continues_word: Sequence[bool]) -> list[str]:
    """Texts whose letters keep their form inside a word; `continues_word` marks those that do.

    An Arabic letter at the end of a separate box would have its final form in the middle of a word.
    """
    shaped_texts = list(texts)
    for index in range(1, len(texts)):
        if continues_word[index] and _joins(texts[index - 1][::-1]) and _joins(texts[index]):
            shaped_texts[index - 1] += JOINER
            shaped_texts[index] = JOINER + shaped_texts[index]
    return shaped_texts


def _joins(text: str) -> bool:
    """Whether the first letter of a text, without combining marks, may join its neighbour."""
    letter = next((character for character in text if not unicodedata.combining(character)), "")
    return bool(letter) and unicodedata.bidirectional(letter) == "AL" and unicodedata.category(letter) == "Lo"
