"""Texts as words of a closed vocabulary, with their spans."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise, repeat
from pathlib import Path

import numpy as np

from wug.errors import InputError, ModelError
from wug.files import read_lines, write_text
from wug.models.tokenization.ragged import Ragged, flatten
from wug.models.tokenization.tokens import TokenizedTexts
from wug.requests import Request

UNKNOWN = "<unk>"
"""The name of words that are not in the vocabulary."""

SPLITTINGS = ("spaces", "punctuation")
"""How texts are split: at white space, or also around punctuation marks, which are then words themselves."""

_WORD = {
    "spaces": re.compile(r"\S+"),
    # Letters and digits, apostrophes and combining accents between and behind them; a mark; any one character.
    "punctuation": re.compile(r"[^\W_]+(?:['’][^\W_]+|[\u0300-\u036f]+[^\W_]*)*|<(?:eos|unk)>|\S"),
}


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words that a model knows."""

    names: Sequence[str]
    index: Mapping[str, int]
    unknown: int | None
    """The number of unknown words; None if the model has none."""
    end: int | None
    """The number of the end token."""
    lowercase: bool
    words: str = "spaces"
    """How texts are split: one of SPLITTINGS."""


@dataclass(frozen=True, slots=True)
class WordIds:
    """The words of a request."""

    ids: list[int]
    """The whole text, and perhaps the end token."""
    starts: list[int]
    ends: list[int]
    scored: int
    """How many of them are scored: those that begin before the end of the span."""
    has_end: bool


def split_words(text: str, mode: str) -> list[tuple[int, int]]:
    """The spans of the words of a text.

    With "punctuation", letters and digits stay together, with the apostrophes between them; every other character is
    a word, except in `<eos>` and `<unk>`.
    """
    return [match.span() for match in _WORD[mode].finditer(text)]


def words_of(text: str, mode: str) -> list[str]:
    """The words that `split_words` finds, without spans: faster, for long texts."""
    return _WORD[mode].findall(text)


def to_word_ids(request: Request, vocabulary: Vocabulary, *, end: bool) -> WordIds:
    """The words of a request; with `end`, followed by the end token if the text does not have it."""
    text, span = request.text, request.span
    spans = split_words(text, vocabulary.words)
    names = [text[start:stop].lower() if vocabulary.lowercase else text[start:stop] for start, stop in spans]
    ids = [vocabulary.index.get(name, -1) for name in names]
    if -1 in ids:
        if vocabulary.unknown is None:
            raise ModelError(
                f"{names[ids.index(-1)]!r} is not in the vocabulary, which has no {UNKNOWN} for such words: {text!r}"
            )
        ids = [vocabulary.unknown if number < 0 else number for number in ids]
    starts, ends = [start for start, _ in spans], [stop for _, stop in spans]
    has_end = bool(ids) and ids[-1] == vocabulary.end
    if end and not has_end and vocabulary.end is not None:
        ids.append(vocabulary.end)
        starts.append(len(text))
        ends.append(len(text))
        has_end = True
    if span is None:
        return WordIds(ids, starts, ends, len(ids), has_end)
    return WordIds(ids, starts, ends, sum(start < span[1] for start in starts), has_end)


class SpacedWords:
    """Reads texts of known words with single spaces, which most texts are, by the thousand."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        simple = vocabulary.words == "spaces" and not vocabulary.lowercase
        self._index = {
            name: number
            for name, number in vocabulary.index.items()
            # A name with white space in it is never a word of a text.
            if simple and number != vocabulary.unknown and name.split() == [name]
        }
        self._sizes = np.zeros(max(self._index.values(), default=0) + 1, np.int32)
        self._sizes[list(self._index.values())] = list(map(len, self._index))

    def read(self, texts: Sequence[str]) -> tuple[list[int], TokenizedTexts]:
        """The indices of such texts, and these texts; others need `to_word_ids`."""
        lengths = np.fromiter(map(str.count, texts, repeat(" ")), np.int64, len(texts)) + 1
        words = " ".join(texts).split(" ")
        ids = np.fromiter(map(self._index.get, words, repeat(-1)), np.int64, int(lengths.sum()))
        first = np.cumsum(lengths) - lengths
        is_other = np.zeros(len(texts), bool)
        is_other[np.repeat(np.arange(len(texts)), lengths)[ids < 0]] = True
        if is_other.any():
            ids, lengths = ids[np.repeat(~is_other, lengths)], lengths[~is_other]
            first = np.cumsum(lengths) - lengths
        sizes = self._sizes[ids]
        running = np.cumsum(sizes + 1, dtype=np.int64)
        ends = running - 1 - np.repeat(running[first] - sizes[first] - 1, lengths)
        return np.flatnonzero(~is_other).tolist(), TokenizedTexts(Ragged(ids, lengths), ends - sizes, ends, {})


def scored_tokens(requests: Sequence[Request], words: Sequence[WordIds], vocabulary: Vocabulary) -> TokenizedTexts:
    """The words that are scored, as tokens."""
    ids = Ragged.of([text_words.ids[: text_words.scored] for text_words in words])
    starts = flatten((text_words.starts[: text_words.scored] for text_words in words), len(ids.flat))
    ends = flatten((text_words.ends[: text_words.scored] for text_words in words), len(ids.flat))
    names = (word_names(request.text, words[index], vocabulary) for index, request in enumerate(requests))
    pieces = {index: text_names for index, text_names in enumerate(names) if text_names is not None}
    return TokenizedTexts(ids, starts, ends, pieces)


def word_names(text: str, words: WordIds, vocabulary: Vocabulary) -> tuple[str, ...] | None:
    """The vocabulary's names of the scored words; None if they are those in the text."""
    ids = words.ids[: words.scored]
    if vocabulary.unknown in ids:
        return tuple(UNKNOWN if number == vocabulary.unknown else vocabulary.names[number] for number in ids)
    names = tuple(map(vocabulary.names.__getitem__, ids))
    surface_forms = (text[start:stop] for start, stop in zip(words.starts, words.ends, strict=True))
    return None if names == tuple(islice(surface_forms, words.scored)) else names


def read_words(path: Path) -> tuple[list[str], dict[str, int]]:
    """The words of a file, one per line, and the number of each."""
    names = [line.strip() for line in read_lines(path)]
    while names and not names[-1]:
        names.pop()
    return names, _numbered(names, path)


def write_words(path: Path, names: Sequence[str]) -> None:
    """Write a file that `read_words` reads."""
    _numbered(names, path)
    write_text(path, "\n".join(names) + "\n")


def alternatives(requests: Sequence[Request]) -> list[list[int]]:
    """The indices of the requests, grouped by runs at the same position."""
    groups: list[list[int]] = [[0]] if requests else []
    for index, (before, after) in enumerate(pairwise(request.position for request in requests), 1):
        if before is not None and after is not None and before.number == after.number:
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups


def _numbered(names: Sequence[str], path: Path) -> dict[str, int]:
    index: dict[str, int] = {}
    for number, name in enumerate(names):
        problem = ""
        if name.split() != [name]:
            problem = f"expected one word, found {name!r}" if name.strip() else "is empty, but every line is a word"
        elif name in index:
            problem = f"{name!r} is there already, in line {index[name] + 1}"
        if problem:
            raise InputError(problem, file=path, place=f"line {number + 1}")
        index[name] = number
    return index
