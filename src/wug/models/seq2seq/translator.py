"""CTranslate2 as the engine that writes, greedily, on a CPU.

It computes what PyTorch computes, up to the rounding of float32, and so writes the same tokens except where two of
them are as probable as each other within that rounding. Such answers are found by their margins and written the
plain way instead; whether the two ways differed is said of each.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from wug.errors import ModelError
from wug.models._asking import Written, until_end
from wug.models._hardware import threads
from wug.models.seq2seq.facts import Facts

CERTAIN = -0.69
"""Log-probability of a whole answer above which no token of it had a rival: each was more probable than one half."""
NEAR = 1e-4
"""Nats between the two best tokens below which rounding could have chosen: ten times what float32 makes of most."""
TOKENS = 4096
"""Source tokens of a batch."""
LOOKED_AT = 1 << 25
"""Logits that are kept at a time when margins are looked at."""
ENOUGH = 64
"""Answers of which all logits must fit into that, or else only those of doubtful ones are kept, in a second go."""

Settles = Callable[[Sequence[Sequence[int]], Sequence[int], Sequence[list[int]]], list[Written]]
"""What the plain way writes for sequences with their bounds, given drafts of it; an empty draft is none."""


class Translator:
    """Answers to sequences of tokens by a converted model, tokens called by their numbers."""

    def __init__(self, folder: Path, facts: Facts, plainly: Settles, *, tokens: int | None = None) -> None:
        ctranslate2: Any = importlib.import_module("ctranslate2")
        self._threads = threads()
        self._model = ctranslate2.Translator(
            str(folder),
            device="cpu",
            compute_type="float32",
            # Batches side by side: threads that share one wait for each other, the more so on a busy machine.
            inter_threads=self._threads,
            intra_threads=1,
        )
        self._plainly = plainly
        self.near = NEAR
        self._tokens = tokens or TOKENS
        self._ends = facts.ends
        self._vocabulary = facts.vocabulary
        self._prefix = None if facts.forced is None else [str(facts.forced)]
        self._settings: dict[str, Any] = {
            "beam_size": 1,
            "batch_type": "tokens",
            "max_input_length": 0,  # else a long source would be cut without a word
            "end_token": [str(token) for token in facts.ends],
            "return_end_token": True,
            "suppress_sequences": [[str(token) for token in banned] for banned in facts.banned] or None,
            "return_scores": True,
            "length_penalty": 0,  # so that the score is the log-probability
        }
        self.chunk = int(min(4096, max(16, 2e4 / max(facts.millions, 1.0))))

    def write(self, sequences: Sequence[Sequence[int]], bounds: Sequence[int]) -> list[Written]:
        """What the model writes for each sequence, at most as many tokens as its bound says."""
        drafts, near = self.drafts(sequences, bounds)
        left = [place for place, draft in enumerate(drafts) if place in near or not draft]
        settled: dict[int, Written] = {}
        if left:
            plain = self._plainly([sequences[n] for n in left], [bounds[n] for n in left], [drafts[n] for n in left])
            settled = dict(zip(left, plain, strict=True))
        for place in near:
            differs = not _same(settled[place], until_end(drafts[place], self._ends))
            settled[place] = replace(settled[place], tied=differs)
        return [settled.get(place) or until_end(draft, self._ends) for place, draft in enumerate(drafts)]

    def drafts(self, sequences: Sequence[Sequence[int]], bounds: Sequence[int]) -> tuple[list[list[int]], set[int]]:
        """What CTranslate2 writes, end marks included, and the places of answers that rounding may have decided.

        Nothing stands for a source that it takes for empty, such as a lone end mark, and does not ask the model about.
        """
        found: dict[int, list[int]] = {}
        near: set[int] = set()
        doubtful: list[int] = []
        order = sorted(range(len(sequences)), key=lambda place: len(sequences[place]))
        for bound in sorted(set(bounds)):
            places = [place for place in order if bounds[place] == bound]
            rows = LOOKED_AT // (self._vocabulary * bound)
            logits = rows >= min(ENOUGH, len(places))
            for some in _slices(places, rows if logits else len(places)):
                results = self.ask([sequences[n] for n in some], bound, logits=logits)
                for place, result in zip(some, results, strict=True):
                    found[place] = numbers(result)
                    if result.scores[0] > CERTAIN:
                        continue
                    if not logits:
                        doubtful.append(place)
                    elif self._is_near_tie(result, found[place]):
                        near.add(place)
        near |= self._near_ties(doubtful, sequences, found)
        return [found[place] for place in range(len(sequences))], near

    def ask(self, sequences: Sequence[Sequence[int]], most: int, least: int = 0, *, logits: bool = False) -> list[Any]:
        """CTranslate2's results, each with `least` to `most` tokens."""
        tokens = sum(map(len, sequences))
        try:
            results: list[Any] = self._model.translate_batch(
                [[str(token) for token in sequence] for sequence in sequences],
                None if self._prefix is None else [self._prefix] * len(sequences),
                max_batch_size=max(1, min(self._tokens, -(-tokens // self._threads))),
                max_decoding_length=most,
                min_decoding_length=least,  # 0: an empty answer is an answer
                return_logits_vocab=logits,
                **self._settings,
            )
        except RuntimeError as error:
            raise ModelError(f"CTranslate2 gave up: {str(error).splitlines()[0][:300]}") from error
        return results

    def _near_ties(
        self, places: Sequence[int], sequences: Sequence[Sequence[int]], found: dict[int, list[int]]
    ) -> set[int]:
        """Of answers that are written once more, with their logits, those with two tokens that are about equal."""
        near: set[int] = set()
        left = sorted(places, key=lambda place: len(found[place]), reverse=True)
        while left:
            most = len(found[left[0]])
            some, left = left[: (rows := max(1, LOOKED_AT // (self._vocabulary * most)))], left[rows:]
            for place, result in zip(some, self.ask([sequences[n] for n in some], most, logits=True), strict=True):
                if self._is_near_tie(result, found[place]):
                    near.add(place)
        return near

    def _is_near_tie(self, result: Any, tokens: list[int]) -> bool:
        """Whether two tokens were about equal somewhere in an answer, or it was another on another occasion."""
        steps = result.logits[0][len(self._prefix or ()) : len(tokens)]
        return numbers(result)[: len(tokens)] != tokens or any(_margin(np.array(step)) < self.near for step in steps)


def _same(mine: Written, theirs: Written) -> bool:
    return (mine.tokens, mine.ended) == (theirs.tokens, theirs.ended)


def numbers(result: Any) -> list[int]:
    """The tokens of a result, its end mark included."""
    return [int(token) for token in result.hypotheses[0]]


def _slices(places: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    for first in range(0, len(places), size):
        yield places[first : first + size]


def _margin(logits: Any) -> float:
    """Nats between the best and the second token."""
    return float(np.diff(np.partition(logits, -2)[-2:])[0])
