"""Vocabularies of whole words, the most frequent first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from wug.models._words import words_of


def frequent_words(texts: Iterable[str], mode: str, *, size: int, lowercase: bool, marks: Sequence[str]) -> list[str]:
    """The marks, then the most frequent words, so many in all; words equally frequent in alphabetical order."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(words_of(text.lower() if lowercase else text, mode))
    for mark in marks:
        counts.pop(mark, None)
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return [*marks, *(word for word, _ in ranked[: size - len(marks)])]


def numbers(
    texts: Iterable[str], mode: str, vocabulary: Sequence[str], unknown: str, *, lowercase: bool
) -> Iterator[list[int]]:
    """The numbers of each text's words."""
    index = {word: number for number, word in enumerate(vocabulary)}
    other = index[unknown]
    for text in texts:
        yield [index.get(word, other) for word in words_of(text.lower() if lowercase else text, mode)]
