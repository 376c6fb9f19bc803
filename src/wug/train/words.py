"""Vocabularies of whole words, the most frequent first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from wug.models import words_of


def frequent_words(texts: Iterable[str], mode: str, *, size: int, lowercase: bool, special: Sequence[str]) -> list[str]:
    """The special tokens and the most frequent words, so many in all; equally frequent ones in alphabetical order."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(words_of(text.lower() if lowercase else text, mode))
    for token in special:
        counts.pop(token, None)
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return [*special, *(word for word, _ in ranked[: size - len(special)])]


def numbers(
    texts: Iterable[str], mode: str, vocabulary: Sequence[str], unknown: str, *, lowercase: bool
) -> Iterator[list[int]]:
    """The numbers of each text's words."""
    index = {word: number for number, word in enumerate(vocabulary)}
    other = index[unknown]
    for text in texts:
        yield [index.get(word, other) for word in words_of(text.lower() if lowercase else text, mode)]
