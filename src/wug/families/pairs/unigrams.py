"""A unigram model made of a list of words and their counts, for SLOR."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from wug.errors import InputError
from wug.files import checksum, read_lines

SPLITTINGS: Mapping[str, re.Pattern[str]] = {
    "spaces": re.compile(r"\S+"),
    "punctuation": re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]"),
}
"""What parts the words of a sentence: white space alone, or punctuation marks as well, which are then words."""

_MOST_DIGITS = 18
"""Of a count: as many as any corpus needs."""


@dataclass(frozen=True, slots=True)
class Unigrams:
    """How often words occur."""

    counts: Mapping[str, int]
    total: int
    lower: bool
    """No word of the list has a capital: so those of a sentence are not looked at."""
    checksum: str
    words: str = "spaces"
    """Which of SPLITTINGS parts the words of every sentence."""

    def logprob(self, text: str) -> Unigram:
        """The log-probability of a text as a bag of words.

        Add-one smoothed, with one more type for all the words that are not in the list.
        """
        found = SPLITTINGS[self.words].findall(text)
        counts = [self.count(word) for word in found]
        whole = self.total + len(self.counts) + 1
        logprob = math.fsum(math.log((count + 1) / whole) for count in counts)
        return Unigram(logprob, len(found), sum(count == 0 for count in counts))

    def count(self, word: str) -> int:
        """How often a word occurs; 0 where it is not listed."""
        return self.counts.get(word.lower() if self.lower else word, 0)


@dataclass(frozen=True, slots=True)
class Fitted:
    """A unigram model with the one splitting that all sentences of a file get."""

    unigrams: Unigrams
    notice: str | None
    """Which one it is, where the sentences are such that it makes a difference."""


@dataclass(frozen=True, slots=True)
class Unigram:
    """What the unigram model says of a text."""

    logprob: float
    words: int
    unknown: int
    """Words that are not in the list."""


def fit(unigrams: Unigrams, sentences: Iterable[str]) -> Fitted:
    """The splitting that leaves fewest words of all these sentences unlisted, white space where both leave as many.

    It is one for all of them: the scores of two sentences that are split in different ways cannot be compared.
    """
    unlisted = dict.fromkeys(SPLITTINGS, 0)
    differ = False
    for sentence in sentences:
        split = {name: word.findall(sentence) for name, word in SPLITTINGS.items()}
        differ = differ or split["spaces"] != split["punctuation"]
        for name, words in split.items():
            unlisted[name] += sum(unigrams.count(word) == 0 for word in words)
    best = min(SPLITTINGS, key=unlisted.__getitem__)
    counts = " and ".join(f"{count} with {name}" for name, count in unlisted.items())
    notice = f"slor splits all sentences alike, slor_words={best}: words that its list lacks are {counts}"
    return Fitted(replace(unigrams, words=best), notice if differ else None)


def read_unigrams(path: Path) -> Unigrams:
    """The unigram model of a file with a word and its count on each line, a tab or space between them."""
    lines = read_lines(path)
    counts: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        word, _, count = line.replace("\t", " ").strip().rpartition(" ")
        if not word.strip() or not count.isdecimal() or len(count) > _MOST_DIGITS:
            raise InputError(f"{line[:60]!r} is not a word and its count", file=path, place=f"line {number}")
        counts[word.strip()] = counts.get(word.strip(), 0) + int(count)
    if not counts:
        raise InputError("the list of words is empty", file=path)
    lower = all(word == word.lower() for word in counts)
    return Unigrams(counts, sum(counts.values()), lower, checksum("\n".join(lines)))
