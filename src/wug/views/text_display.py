"""How texts are displayed: differences between two texts, characters, writing direction, joined letters.

A token may be part of a character (of its bytes, an emoji, a combining mark). It is shown together with the tokens that
the character began with.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import groupby, pairwise
from typing import Literal, NamedTuple, TypeAlias

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


class DirectionRun(NamedTuple):
    """Neighbours with the same writing direction."""

    direction: Direction
    positions: range


Pieces = tuple[Piece, ...]


def mark_differences(first: str, second: str) -> tuple[Pieces, Pieces]:
    """Both texts, split where they differ; whitespace is ignored."""
    first_words, second_words = _split_words(shorten_text(first)), _split_words(shorten_text(second))
    sides = ([word for word, _ in words] for words in (first_words, second_words))
    first_differs, second_differs = word_differences(*sides)
    return _as_pieces(first_words, first_differs), _as_pieces(second_words, second_differs)


def single_piece(text: str) -> Pieces:
    """A text as one piece."""
    return (Piece(shorten_text(text)),) if text else ()


def word_differences(first_words: Sequence[str], second_words: Sequence[str]) -> tuple[list[bool], list[bool]]:
    """Which words of two lists differ."""
    shorter = min(len(first_words), len(second_words))
    prefix = next((index for index in range(shorter) if first_words[index] != second_words[index]), shorter)
    suffix = next((i for i in range(shorter - prefix) if first_words[-1 - i] != second_words[-1 - i]), shorter - prefix)
    first_middle, second_middle = (
        first_words[prefix : len(first_words) - suffix],
        second_words[prefix : len(second_words) - suffix],
    )
    first_marks, second_marks = [True] * len(first_middle), [True] * len(second_middle)
    if len(first_middle) + len(second_middle) <= _MAX_COMPARED_WORDS:
        for a, b, size in SequenceMatcher(None, first_middle, second_middle, autojunk=False).get_matching_blocks():
            first_marks[a : a + size] = [False] * size
            second_marks[b : b + size] = [False] * size
    return (
        [False] * prefix + first_marks + [False] * suffix,
        [False] * prefix + second_marks + [False] * suffix,
    )


def direction_of(pieces: Sequence[Piece]) -> Direction:
    """The writing direction of a text."""
    return direction(" ".join(piece.text for piece in pieces))


def runs_of(pieces: Sequence[Piece]) -> list[tuple[Direction, Sequence[Piece]]]:
    """Pieces grouped by writing direction, since boxes are not reordered by the browser."""
    spans = direction_runs([piece.text for piece in pieces])
    return [(run.direction, pieces[run.positions.start : run.positions.stop]) for run in spans]


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


def direction(text: str) -> Direction:
    """The writing direction of the first letter."""
    return next((_STRONG[kind] for kind in map(unicodedata.bidirectional, text) if kind in _STRONG), "ltr")


def direction_runs(texts: Sequence[str]) -> list[DirectionRun]:
    """Texts grouped by writing direction; punctuation goes with the letters around it."""
    base = direction(" ".join(texts))
    directions = [_text_direction(text) for text in texts]
    resolved_directions: list[Direction] = []
    for index, text_direction in enumerate(directions):
        next_direction = next((direction for direction in directions[index + 1 :] if direction is not None), None)
        neutral_direction = (
            resolved_directions[-1] if resolved_directions and resolved_directions[-1] == next_direction else base
        )
        resolved_directions.append(text_direction or neutral_direction)
    spans: list[DirectionRun] = []
    for run_direction, indices in groupby(range(len(texts)), key=resolved_directions.__getitem__):
        positions = list(indices)
        spans.append(DirectionRun(run_direction, range(positions[0], positions[-1] + 1)))
    return spans


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


def _text_direction(text: str) -> Direction | None:
    kinds = {**_STRONG, **_NUMBERS}
    return next((kinds[kind] for kind in map(unicodedata.bidirectional, text) if kind in kinds), None)


def _joins(text: str) -> bool:
    """Whether the first letter of a text, without combining marks, may join its neighbour."""
    letter = next((character for character in text if not unicodedata.combining(character)), "")
    return bool(letter) and unicodedata.bidirectional(letter) == "AL" and unicodedata.category(letter) == "Lo"
