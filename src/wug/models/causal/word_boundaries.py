"""Word ends: counts the end of a word with that word, not with the next one.

Pimentel & Meister (2024), "How to Compute the Probability of a Word". Where a token with a leading space follows, the
model spends probability on the ending of the word before; the correction takes it from the next word and gives it to
the word that ends. The first word of a text has no space before it: its first token comes from those without one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from wug.errors import ModelError
from wug.models.causal.tree import TokenBatch
from wug.models.spec import ModelSpec
from wug.models.tokenization.ragged import Ints

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Floats = npt.NDArray[np.float64]

SPACES = ("Ġ", "▁", " ")
"""First characters of the names of tokens with a leading space."""


@dataclass(frozen=True, slots=True)
class WordStarts:
    """The tokens with which words begin; a token that occurs twice counts twice."""

    later: Ints
    """After another word: those with a leading space, and the end tokens."""
    first: Ints | None
    """At the beginning of a text: those without, and the end token. None if no token comes before a text."""

    def opens(self, vocabulary: int) -> npt.NDArray[np.bool_]:
        """For each token of the vocabulary, whether it opens a word after another."""
        return np.isin(np.arange(vocabulary), self.later)


def word_starts(tokenizer: PreTrainedTokenizerBase, spec: ModelSpec, *, published: bool, has_bos: bool) -> WordStarts:
    """The word starts of a vocabulary; `has_bos` says that a BOS token comes before each text.

    As `published`: in the released code (wordsprobability) the end token counts twice among the tokens that may open
    a text, tokens that were added to the vocabulary do not count, and only Ġ is a space.
    """
    names = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    spaces = SPACES[:1] if published else SPACES
    opening = {index for index, name in enumerate(names) if name is not None and name.startswith(spaces)}
    if not opening:
        kind = "with Ġ before a word (GPT-2, Pythia)" if published else "that marks the space before a word"
        raise ModelError(f"{spec}: boundary={'published' if published else 'yes'} needs a tokenizer {kind}")
    ends = {tokenizer.eos_token_id} if published else {tokenizer.eos_token_id, tokenizer.bos_token_id}
    ends -= {None}
    usual = set(range(tokenizer.vocab_size if published else len(tokenizer)))
    first = sorted(usual - opening - ends) + sorted(ends) * (2 if published and ends <= usual else 1)
    return WordStarts(np.array(sorted(opening | ends)), np.array(first) if has_bos else None)


def text_starts(batch: TokenBatch) -> npt.NDArray[np.bool_]:
    """For each query, whether it is the first of its sequence."""
    first = np.zeros(len(batch.targets), dtype=bool)
    first[(np.cumsum(batch.counts) - batch.counts)[batch.counts > 0]] = True
    return first


def add_word_ends(
    batch: TokenBatch, begins: npt.NDArray[np.bool_], starts: npt.NDArray[np.bool_], values: Floats, openings: Floats,
    leaves: Floats,
) -> Floats:  # fmt: skip
    """The log-probabilities with the end of each word counted with that word.

    `begins` says which tokens open a word after another, `starts` which open a text and are corrected for it.
    `openings` has for each query the log-probability of such a token, `leaves` that of a new word after each sequence.
    """
    final = np.zeros(len(values), dtype=bool)
    has_any = batch.counts > 0
    final[np.cumsum(batch.counts)[has_any] - 1] = True
    after = np.append(openings[1:], 0.0)  # the node of a token is that of the next query
    after[final] = leaves[has_any]
    closes = final | np.append(begins[1:], False)
    closed: Floats = values - np.where(begins | starts, openings, 0.0) + np.where(closes, after, 0.0)
    return closed
