"""CTranslate2 as the engine that decodes, greedily, on a CPU.

It computes what PyTorch computes up to the rounding of float32, so it writes the same tokens except where two of them
are equally probable within that rounding. Such near ties are counted.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from wug.errors import ModelError
from wug.models._hardware import threads
from wug.models.decoding.outputs import NEAR_TIE_NATS, Decoded, trim_at_end
from wug.models.seq2seq.facts import Facts

CERTAIN_LOGPROB = -0.69
"""Log-probability of an answer above which it has no near tie: each token was more probable than one half."""
BATCH_TOKENS = 4096
"""Source tokens per batch."""
MAX_LOGITS = 1 << 25
"""Logits kept in memory at a time."""
MIN_ROWS = 64
"""Answers whose logits must fit in `MAX_LOGITS`; otherwise, uncertain answers are decoded again for their logits."""

Fallback = Callable[[Sequence[Sequence[int]], Sequence[int]], list[Decoded]]
"""Decodes sequences, each up to its own number of tokens."""


class Translator:
    """A converted model that decodes token sequences; tokens are named by their numbers.

    CTranslate2 takes some sources for empty, such as a lone end mark; those go to `fallback`.
    """

    def __init__(self, folder: Path, facts: Facts, fallback: Fallback, *, batch_tokens: int | None = None) -> None:
        ctranslate2: Any = importlib.import_module("ctranslate2")
        self._threads = threads()
        self._model = ctranslate2.Translator(
            str(folder),
            device="cpu",
            compute_type="float32",
            # Batches in parallel: threads that share one wait for each other, the more so on a busy machine.
            inter_threads=self._threads,
            intra_threads=1,
        )
        self._fallback = fallback
        self.near_tie_nats = NEAR_TIE_NATS
        self._batch_tokens = batch_tokens or BATCH_TOKENS
        self._ends = facts.ends
        self._vocabulary = facts.vocabulary
        self._prefix = None if facts.forced is None else [str(facts.forced)]
        self._settings: dict[str, Any] = {
            "beam_size": 1,
            "batch_type": "tokens",
            "max_input_length": 0,  # otherwise long sources are truncated silently
            "end_token": [str(token) for token in facts.ends],
            "return_end_token": True,
            "suppress_sequences": [[str(token) for token in banned] for banned in facts.banned] or None,
            "return_scores": True,
            "length_penalty": 0,  # so that the score is the log-probability
        }
        self.chunk = int(min(4096, max(16, 2e4 / max(facts.millions, 1.0))))

    def decode(self, sequences: Sequence[Sequence[int]], limits: Sequence[int]) -> list[Decoded]:
        """Decode each sequence, up to its limit of tokens."""
        found: dict[int, Decoded] = {}
        by_length = sorted(range(len(sequences)), key=lambda place: len(sequences[place]))
        for limit in sorted(set(limits)):
            places = [place for place in by_length if limits[place] == limit]
            found |= zip(places, self._decode([sequences[place] for place in places], limit), strict=True)
        empty = [place for place in range(len(sequences)) if not (found[place].tokens or found[place].ended)]
        if empty:
            found |= zip(empty, self._fallback([sequences[n] for n in empty], [limits[n] for n in empty]), strict=True)
        return [found[place] for place in range(len(sequences))]

    def _decode(self, sequences: Sequence[Sequence[int]], limit: int) -> list[Decoded]:
        """Decode sequences of ascending length, with near ties marked."""
        rows = MAX_LOGITS // (self._vocabulary * limit)
        fits = rows >= min(MIN_ROWS, len(sequences))
        found: list[Decoded] = []
        for first in range(0, len(sequences), size := rows if fits else len(sequences)):
            some = sequences[first : first + size]
            results = self.translate(some, limit, logits=fits)
            near = self._near_ties(results) if fits else self._near_ties_again(some, results)
            answers = (trim_at_end(tokens(result), self._ends) for result in results)
            found += [replace(answer, near_tie=place in near) for place, answer in enumerate(answers)]
        return found

    def _near_ties(self, results: Sequence[Any]) -> set[int]:
        """The places of near ties among results with logits."""
        uncertain = (place for place, result in enumerate(results) if result.scores[0] <= CERTAIN_LOGPROB)
        return {place for place in uncertain if self._is_near_tie(results[place], tokens(results[place]))}

    def _near_ties_again(self, sequences: Sequence[Sequence[int]], results: Sequence[Any]) -> set[int]:
        """The places of near ties among results without logits: uncertain ones are decoded again."""
        near: set[int] = set()
        left = [place for place, result in enumerate(results) if result.scores[0] <= CERTAIN_LOGPROB]
        left.sort(key=lambda place: len(tokens(results[place])), reverse=True)
        while left:
            most = len(tokens(results[left[0]]))
            some, left = left[: (rows := max(1, MAX_LOGITS // (self._vocabulary * most)))], left[rows:]
            again = self.translate([sequences[place] for place in some], most, logits=True)
            pairs = zip(some, again, strict=True)
            near |= {place for place, result in pairs if self._is_near_tie(result, tokens(results[place]))}
        return near

    def _is_near_tie(self, result: Any, answer: list[int]) -> bool:
        """Whether two tokens were nearly equally probable somewhere in an answer, or it differs this time."""
        steps = result.logits[0][len(self._prefix or ()) : len(answer)]
        different = tokens(result)[: len(answer)] != answer
        return different or any(_margin(np.array(step)) < self.near_tie_nats for step in steps)

    def translate(
        self, sequences: Sequence[Sequence[int]], most: int, least: int = 0, *, logits: bool = False
    ) -> list[Any]:
        """CTranslate2's results, each with `least` to `most` tokens."""
        source_tokens = sum(map(len, sequences))
        try:
            results: list[Any] = self._model.translate_batch(
                [[str(token) for token in sequence] for sequence in sequences],
                None if self._prefix is None else [self._prefix] * len(sequences),
                max_batch_size=max(1, min(self._batch_tokens, -(-source_tokens // self._threads))),
                max_decoding_length=most,
                min_decoding_length=least,  # 0: an empty answer is valid
                return_logits_vocab=logits,
                **self._settings,
            )
        except RuntimeError as error:
            raise ModelError(f"CTranslate2 failed: {str(error).splitlines()[0][:300]}") from error
        return results


def tokens(result: Any) -> list[int]:
    """The tokens of a result, its end mark included."""
    return [int(token) for token in result.hypotheses[0]]


def _margin(logits: Any) -> float:
    """Nats between the best and the second token."""
    return float(np.diff(np.partition(logits, -2)[-2:])[0])
