"""What a masked model's tokenizer knows beside tokens: its special tokens, and which pieces make up a word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wug.models._ragged import Ints, Ragged, flatten
from wug.models._tokens import Tokenised, splits_words


@dataclass(frozen=True, slots=True)
class Frame:
    """The special tokens that stand before and after a text: `[CLS]` … `[SEP]`."""

    before: tuple[int, ...]
    after: tuple[int, ...]

    @classmethod
    def of(cls, backend: Any) -> Frame:
        """As the tokenizer adds them."""
        encoded = backend.encode("a", add_special_tokens=True)
        text_tokens = [place for place, special in enumerate(encoded.special_tokens_mask) if not special]
        if not text_tokens:
            return cls(tuple(encoded.ids), ())
        return cls(tuple(encoded.ids[: text_tokens[0]]), tuple(encoded.ids[text_tokens[-1] + 1 :]))

    def around(self, texts: Ragged) -> Ragged:
        """The texts with the special tokens."""
        sides = np.stack([texts.starts, texts.starts + texts.lengths], axis=1)
        places = np.repeat(sides, [len(self.before), len(self.after)], axis=1).ravel()
        special = np.tile(np.array(self.before + self.after, dtype=np.int64), len(texts))
        return Ragged(np.insert(texts.flat, places, special), texts.lengths + len(self.before) + len(self.after))


def word_ends(backend: Any, texts: Sequence[str], tokens: Tokenised) -> Ints:
    """For each token, the number, in its text, of the first token after its word.

    A word is what the tokenizer's pre-tokenizer takes for one: for BERT a run of letters or one mark of
    punctuation, for RoBERTa a match of GPT-2's pattern. Where it splits nothing, words are parted by white space.
    """
    if splits_words(backend):
        encoded = backend.encode_batch(list(texts), add_special_tokens=False)
        numbers = ([-1 if w is None else w for w in encoding.word_ids] for encoding in encoded)
        words = flatten(numbers, len(tokens.ids.flat))
    else:
        words = _by_white_space(texts, tokens)
    of_text = np.repeat(np.arange(len(texts)), tokens.ids.lengths)
    opens = np.ones(len(words), dtype=bool)
    # A token without a word (-1) is one of its own.
    opens[1:] = (words[1:] != words[:-1]) | (of_text[1:] != of_text[:-1]) | (words[1:] < 0)
    ends = np.append(np.flatnonzero(opens)[1:], len(words))[np.cumsum(opens) - 1]
    found: Ints = ends - np.repeat(tokens.ids.starts, tokens.ids.lengths)
    return found


def _by_white_space(texts: Sequence[str], tokens: Tokenised) -> Ints:
    """For each token, the number of the word that its first visible character stands in."""
    words = []
    for text in texts:
        opens = [not char.isspace() and (at == 0 or text[at - 1].isspace()) for at, char in enumerate(text)]
        words.append(np.append(np.cumsum(opens), sum(opens) + 1))
    sizes = np.array([len(column) for column in words], dtype=np.int64)
    first = np.repeat(np.cumsum(sizes) - sizes, tokens.ids.lengths)
    found: Ints = np.concatenate([*words, np.zeros(0, dtype=np.int64)])[first + tokens.starts]
    return found
