"""A unigram model made of a list of words and their counts, for SLOR."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from wug.errors import InputError
from wug.files import checksum, read_lines

_WORD = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Unigrams:
    """How often words occur."""

    counts: Mapping[str, int]
    total: int
    lower: bool
    """No word of the list has a capital: so those of a sentence are not looked at."""
    checksum: str

    def logprob(self, text: str) -> Unigram:
        """The log-probability of a text as a bag of words.

        Add-one smoothed, with one more type for all the words that are not in the list.
        """
        found = text.split()
        if any(self._count(word) == 0 for word in found):
            found = _WORD.findall(text)
        counts = [self._count(word) for word in found]
        whole = self.total + len(self.counts) + 1
        logprob = math.fsum(math.log((count + 1) / whole) for count in counts)
        return Unigram(logprob, len(found), sum(count == 0 for count in counts))

    def _count(self, word: str) -> int:
        return self.counts.get(word.lower() if self.lower else word, 0)


@dataclass(frozen=True, slots=True)
class Unigram:
    """What the unigram model says of a text."""

    logprob: float
    words: int
    unknown: int
    """Words that are not in the list."""


def read_unigrams(path: Path) -> Unigrams:
    """The unigram model of a file with a word and its count on each line, a tab or space between them."""
    lines = read_lines(path)
    counts: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        word, _, count = line.replace("\t", " ").strip().rpartition(" ")
        if not word.strip() or not count.isdecimal() or len(count) > 15:
            raise InputError(f"{line[:60]!r} is not a word and its count", file=path, place=f"line {number}")
        counts[word.strip()] = counts.get(word.strip(), 0) + int(count)
    if not counts:
        raise InputError("the list of words is empty", file=path)
    lower = all(word == word.lower() for word in counts)
    return Unigrams(counts, sum(counts.values()), lower, checksum("\n".join(lines)))
