"""What is counted around words: the token before each text (`bos`), and the end of a word with that word (`boundary`).

Pimentel & Meister (2024), "How to Compute the Probability of a Word". Where a token with a leading space follows, the
model spends probability on the ending of the word before; the correction takes it from the next word and gives it to
the word that ends. The first word of a text has no space before it: its first token comes from those without one.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wug.arrays import Floats, Ints, Mask
from wug.errors import ModelError
from wug.models.causal.tree import TokenBatch
from wug.models.spec import ModelSpec
from wug.models.tokenization.tokens import SpecialTokens
from wug.models.weights.fingerprints import Folder

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


SPACES = ("Ġ", "▁", " ")
"""First characters of the names of tokens with a leading space."""
GENERIC_TOKENIZERS = ("TokenizersBackend", "PreTrainedTokenizerFast")
"""Tokenizer classes that take everything from their files."""

BY_TOKENIZER = ("tokenizer", "lm-eval")
"""Values of `bos` with which the tokenizer decides about texts with a context."""

log = logging.getLogger("wug")


@dataclass(frozen=True, slots=True)
class WordStarts:
    """The tokens with which words begin; a token that occurs twice counts twice."""

    later: Ints
    """After another word: those with a leading space, and the end tokens."""
    first: Ints | None
    """At the beginning of a text: those without, and the end token. None if no token comes before a text."""

    def opens(self, vocabulary: int) -> Mask:
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
    vocabulary = set(range(tokenizer.vocab_size if published else len(tokenizer)))
    first = sorted(vocabulary - opening - ends) + sorted(ends) * (2 if published and ends <= vocabulary else 1)
    return WordStarts(np.array(sorted(opening | ends)), np.array(first) if has_bos else None)


def text_starts(batch: TokenBatch) -> Mask:
    """For each query, whether it is the first of its sequence."""
    first = np.zeros(len(batch.targets), dtype=bool)
    first[(np.cumsum(batch.counts) - batch.counts)[batch.counts > 0]] = True
    return first


def add_word_ends(
    batch: TokenBatch, begins: Mask, starts: Mask, values: Floats, openings: Floats,
    leaves: Floats,
) -> Floats:  # fmt: skip
    """The log-probabilities with the end of each word counted with that word.

    `begins` says which tokens open a word after another, `starts` which open a text and are corrected for it.
    `openings` has for each query the log-probability of such a token, `leaves` that of a new word after each sequence.
    """
    final = np.zeros(len(values), dtype=bool)
    has_any = batch.counts > 0
    final[np.cumsum(batch.counts)[has_any] - 1] = True
    next_openings = np.append(openings[1:], 0.0)  # the node of a token is that of the next query
    next_openings[final] = leaves[has_any]
    ends_word = final | np.append(begins[1:], False)
    corrected: Floats = values - np.where(begins | starts, openings, 0.0) + np.where(ends_word, next_openings, 0.0)
    return corrected


def bos_id(tokenizer: PreTrainedTokenizerBase, policy: str, spec: ModelSpec) -> int | None:
    """The token before a text; None for none."""
    if policy == "no":
        return None
    if policy in BY_TOKENIZER:
        prefix = SpecialTokens.of(tokenizer.backend_tokenizer).before
        if len(prefix) > 1:
            raise ModelError(
                f"{spec}: bos={policy}: the tokenizer puts {len(prefix)} tokens before a text. Use bos=TOKEN"
            )
        return prefix[0] if prefix else None
    if policy in ("auto", "yes"):
        bos: int | None = tokenizer.bos_token_id
        if bos is None and policy == "yes":
            raise ModelError(f"{spec}: bos=yes, but the tokenizer has no BOS token. Use bos=no, or name a token")
        return bos
    index: int = tokenizer.convert_tokens_to_ids(policy)
    if index is None or (index == tokenizer.unk_token_id and policy != tokenizer.unk_token):
        raise ModelError(f"{spec}: bos={policy}: the tokenizer has no such token")
    return index


def first_id(tokenizer: PreTrainedTokenizerBase, spec: ModelSpec) -> int:
    """The BOS token, or else the EOS token."""
    token: int | None = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    if token is None:
        raise ModelError(f"{spec}: bos=lm-eval, but the tokenizer has neither a BOS nor an EOS token")
    return token


def compare_with_default(tokenizer: PreTrainedTokenizerBase, bos: int | None) -> None:
    """Warn if texts do not begin as by the tokenizer's default, which most other programs use."""
    default = SpecialTokens.of(tokenizer.backend_tokenizer).before
    if default == (() if bos is None else (bos,)):
        return
    names = ", ".join(map(repr, tokenizer.convert_ids_to_tokens(list(default)))) or "no token"
    log.warning(
        "texts are scored %s, but by default the tokenizer (%s) puts %s before a text: other programs may give other "
        "numbers. bos=%s scores them so, bos=%s as now and without this warning",
        "without a BOS token" if bos is None else f"after the BOS token {tokenizer.convert_ids_to_tokens(bos)!r}",
        type(tokenizer).__name__,
        names,
        "TOKEN" if default else "no",
        "no" if bos is None else "yes",
    )


def has_bos_token(folder: Folder, policy: str) -> bool | None:
    """Whether texts will begin with a BOS token; None if only the tokenizer tells."""
    if policy != "auto":
        return policy != "no"
    settings = folder.settings("tokenizer_config.json")
    if settings.get("bos_token") is not None:
        return True
    # Other classes may have a BOS token that no file names.
    generic = settings.get("tokenizer_class") in GENERIC_TOKENIZERS
    return False if generic and "bos_token" not in folder.settings("special_tokens_map.json") else None
