"""Words out of tokens with a leading space: the end of a word counts with that word, not with the next.

Pimentel & Meister (2024), "How to Compute the Probability of a Word". Where a token with a leading space follows, the
model spends probability on the ending of the word before; the correction takes it from the next word and gives it to
the word that ends. The first word of a text has no space before it: its first token comes from those without one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wug.errors import ModelError
from wug.models._spec import ModelSpec
from wug.models.causal.tree import Batch

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SPACES = ("Ġ", "▁", " ")
"""How the names of tokens begin that have a leading space."""


@dataclass(frozen=True, slots=True)
class WordStarts:
    """The tokens with which words begin; a token that stands twice counts twice."""

    later: Ints
    """After another word: those with a leading space, and the marks that end a text."""
    first: Ints | None
    """At the beginning of a text: those without, and the mark that ends one. None: no token comes before it."""

    def opens(self, vocabulary: int) -> npt.NDArray[np.bool_]:
        """For each token of the vocabulary, whether it opens a word after another."""
        return np.isin(np.arange(vocabulary), self.later)


def word_starts(tokenizer: Any, spec: ModelSpec, *, published: bool, marked: bool) -> WordStarts:
    """The word starts of a vocabulary; `marked` says that a BOS token comes before each text.

    As `published`: in the released code (wordsprobability) the mark that ends a text counts twice among the tokens
    that may open a text, tokens that were added to the vocabulary count as none, and only Ġ is a space.
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
    return WordStarts(np.array(sorted(opening | ends)), np.array(first) if marked else None)


def text_starts(batch: Batch) -> npt.NDArray[np.bool_]:
    """For each question, whether it is the first of its sequence."""
    first = np.zeros(len(batch.targets), dtype=bool)
    first[(np.cumsum(batch.counts) - batch.counts)[batch.counts > 0]] = True
    return first


def close_words(
    batch: Batch, begins: npt.NDArray[np.bool_], starts: npt.NDArray[np.bool_], values: Floats, openings: Floats,
    leaves: Floats,
) -> Floats:  # fmt: skip
    """The log-probabilities with the end of each word counted with that word.

    `begins` says which tokens open a word after another, `starts` which open a text and are corrected for it.
    `openings` has for each question the log-probability that such a token comes, `leaves` that a word opens after
    the last token of each sequence.
    """
    final = np.zeros(len(values), dtype=bool)
    has_any = batch.counts > 0
    final[np.cumsum(batch.counts)[has_any] - 1] = True
    after = np.append(openings[1:], 0.0)  # the node of a token is the one that the next question asks
    after[final] = leaves[has_any]
    closes = final | np.append(begins[1:], False)
    closed: Floats = values - np.where(begins | starts, openings, 0.0) + np.where(closes, after, 0.0)
    return closed
