"""Tokenizes each distinct word once.

Test sentences are made of few words. A tokenizer like GPT-2's splits a text before every space and tokenizes each part
separately, so the tokens of a text are those of its words. On an H200, BLiMP with 124M parameters is scored 1.7 × as
fast with this cache and the thread that prepares batches.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from wug.arrays import Ints
from wug.models.tokenization.ragged import Ragged

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MAX_WORDS = 1 << 18
"""Words in the cache; it is cleared when there are more."""
TEXT_START = "\n"
"""Marks the first word of a text in the cache: without a space before it, its tokens are different."""


@dataclass(frozen=True, slots=True)
class Word:
    """The tokens of a word, with the spans of their visible characters."""

    ids: Sequence[int]
    starts: Sequence[int]
    ends: Sequence[int]


class _Numbers(dict[str, int]):
    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


class WordTokenCache:
    """The tokens of words."""

    def __init__(self, tokenise: Callable[[list[str]], list[Word] | None]) -> None:
        """`tokenise` gives the tokens of words, or None if a word cannot be tokenized separately."""
        self._tokenise = tokenise
        self._clear()

    def _clear(self) -> None:
        self._numbers = _Numbers()
        self._words: list[Word] = []
        self._columns: tuple[Ints, Ragged, Ints, Ints] | None = None

    def __call__(self, texts: Sequence[str]) -> tuple[Ragged, Ints, Ints] | None:
        """The tokens of texts, with the start and end of each; None if a text is more than words and single spaces."""
        if len(self._numbers) > MAX_WORDS:
            self._clear()
        if any(TEXT_START in text for text in texts):
            return None
        split_texts = [text.split(" ") for text in texts]
        for words in split_texts:
            words[0] = TEXT_START + words[0]
        numbers = self._numbers
        word_ids = np.array([numbers[word] for word in chain.from_iterable(split_texts)], dtype=np.int64)
        try:
            learned = self._learn()
        except BaseException:
            self._clear()  # words that were numbered have no tokens
            raise
        if not learned:
            self._clear()
            return None
        assert self._columns is not None
        sizes, ids, starts, ends = self._columns
        counts = np.fromiter(map(len, split_texts), np.int64, len(split_texts))
        word_ends = np.cumsum(sizes[word_ids])
        lasts = np.cumsum(counts) - 1
        text_starts = np.append(0, word_ends[lasts[:-1]]) if len(texts) else lasts
        word_starts = word_ends - sizes[word_ids] - np.repeat(text_starts, counts)
        lengths = ids.lengths[word_ids]
        tokens = ids.element_indices(word_ids)
        shift = np.repeat(word_starts, lengths)
        sums = np.append(0, np.cumsum(lengths))
        per_text = np.diff(sums[np.append(0, lasts + 1)])
        return Ragged(ids.flat[tokens], per_text), starts[tokens] + shift, ends[tokens] + shift

    def _learn(self) -> bool:
        """Tokenize new words; False if they cannot be tokenized separately."""
        new = [_in_text(word) for word in list(self._numbers)[len(self._words) :]]
        if not new and self._columns is not None:
            return True
        # A word, perhaps after its space; any other white space is not.
        are_words = all(bare and bare.split() == [bare] for bare in (word.removeprefix(" ") for word in new))
        new_words = self._tokenise(new) if are_words else None
        if new_words is None:
            return False
        self._words += new_words
        self._columns = (
            np.array([len(_in_text(word)) for word in self._numbers]),
            Ragged.of([word.ids for word in self._words]),
            Ragged.of([word.starts for word in self._words]).flat,
            Ragged.of([word.ends for word in self._words]).flat,
        )
        return True


def tokenizes_words_separately(backend: Tokenizer) -> bool:
    """Whether a tokenizer tokenizes each word separately: like GPT-2's, without added tokens that cross spaces."""
    config = json.loads(backend.to_str())
    steps = config.get("pre_tokenizer") or {}
    plain = steps.get("type") == "ByteLevel" and steps.get("use_regex", True) and not steps.get("add_prefix_space")
    added = config["added_tokens"]
    crossing = any(
        token["lstrip"] or token["rstrip"] or token["single_word"] or " " in token["content"] for token in added
    )
    return bool(plain) and not config["normalizer"] and not crossing


def _in_text(word: str) -> str:
    """A word in a text: with its space, unless it is the first."""
    return word.removeprefix(TEXT_START) if word.startswith(TEXT_START) else f" {word}"
