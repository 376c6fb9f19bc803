"""CTranslate2 as the engine that writes, greedily, on a CPU.

It computes what PyTorch computes, up to the rounding of float32, and so writes the same tokens except where two of
them are as probable as each other within that rounding. Such answers are found by their margins and written the
plain way instead; whether the two ways differed is said of each.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from wug.errors import ModelError
from wug.models._ahead import Checked
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

FIRST = 128
"""Tokens of an answer that are written one by one; what most answers do not have."""
LONG = 512
"""Tokens of a source that is likely an endless answer itself, and so is what is written for it."""
WORTH = 4096
"""Tokens that answers which go on may have in all below which starting PyTorch, to guess them, is not worth it."""
RIVALS = 8
"""Near ties of an answer above which CTranslate2 writes it, too, rather than being asked about each."""


class Plainly(Protocol):
    """The plain way of writing."""

    @property
    def started(self) -> bool:
        """Whether it is ready, so that it costs nothing to begin with."""

    def settle(
        self, sequences: Sequence[Sequence[int]], bounds: Sequence[int], drafts: Sequence[list[int]]
    ) -> list[Written]:
        """What it writes for sequences with their bounds, given drafts of it; an empty draft is none."""

    def ahead(
        self, sequences: Sequence[Sequence[int]], bounds: Sequence[int], drafts: Sequence[list[int]], near: float
    ) -> list[Checked] | None:
        """The same for long answers of which the drafts are beginnings, with choices nearer than `near`; None where
        it does not write many tokens at a time.
        """


class Translator:
    """Answers to sequences of tokens by a converted model, tokens called by their numbers."""

    def __init__(self, folder: Path, facts: Facts, plainly: Plainly, *, tokens: int | None = None) -> None:
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
        self._plain = facts.forced is None and not facts.banned
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
        begun, near = self._begun(sequences, bounds)
        going = {
            n: begun.pop(n, []) for n, bound in enumerate(bounds) if n not in begun or self._goes_on(begun[n], bound)
        }
        settled = self._ahead(sequences, bounds, going)
        left = [place for place in going if place not in settled]
        drafts, close = self.drafts([sequences[n] for n in left], [bounds[n] for n in left])
        whole = begun | dict(zip(left, drafts, strict=True))
        near = (near - {*going}) | {left[number] for number in close}
        left = [place for place in whole if place not in settled and (place in near or not whole[place])]
        if left:
            plain = self._plainly.settle(
                [sequences[n] for n in left], [bounds[n] for n in left], [whole[n] for n in left]
            )
            settled |= zip(left, plain, strict=True)
        for place in near:
            differs = not _same(settled[place], until_end(whole[place], self._ends))
            settled[place] = replace(settled[place], tied=differs)
        return [settled.get(place) or until_end(whole[place], self._ends) for place in range(len(sequences))]

    def _begun(
        self, sequences: Sequence[Sequence[int]], bounds: Sequence[int]
    ) -> tuple[dict[int, list[int]], set[int]]:
        """What `drafts` gives of the first tokens of answers, by place; without those that are likely to be long."""
        if not self._plain:
            drafts, near = self.drafts(sequences, bounds)
            return dict(enumerate(drafts)), near
        places = [n for n, row in enumerate(sequences) if len(row) < LONG]
        drafts, near = self.drafts([sequences[n] for n in places], [min(bounds[n], FIRST) for n in places])
        return dict(zip(places, drafts, strict=True)), {places[number] for number in near}

    def _goes_on(self, draft: list[int], bound: int) -> bool:
        """Whether an answer is longer than what is written of it."""
        return len(draft) == FIRST < bound and draft[-1] not in self._ends

    def _ahead(
        self, sequences: Sequence[Sequence[int]], bounds: Sequence[int], drafts: Mapping[int, list[int]]
    ) -> dict[int, Written]:
        """The answers that go on beyond their beginnings, guessed ahead and checked by the plain way.

        An answer is left out where the plain way itself is in doubt about it and CTranslate2 has another opinion, or
        where there is more than a few opinions to ask for.
        """
        if not drafts or (sum(bounds[n] for n in drafts) < WORTH and not self._plainly.started):
            return {}
        places = [*drafts]
        asked = [sequences[place] for place in places]
        checked = self._plainly.ahead(asked, [bounds[n] for n in places], [drafts[n] for n in places], self.near)
        if checked is None:
            return {}
        answers: dict[int, Written] = {}
        for place, found, differs in zip(places, checked, self._differ(asked, checked), strict=True):
            if differs is not None and not (differs and found.doubtful):
                written = until_end(found.tokens, self._ends)
                answers[place] = replace(written, tied=differs, doubtful=found.doubtful)
        return answers

    def _differ(self, sequences: Sequence[Sequence[int]], answers: Sequence[Checked]) -> list[bool | None]:
        """Whether CTranslate2 prefers another token somewhere in each answer; None where that is asked too often."""
        asked: list[tuple[int, list[int]]] = []
        for place, answer in enumerate(answers):
            if 0 < len(answer.rivals) <= RIVALS:
                asked.append((place, answer.tokens[: answer.rivals[-1].place + 1]))
                asked += [(place, [*answer.tokens[: rival.place], rival.token]) for rival in answer.rivals]
        scores = iter(self._scores([(sequences[place], tokens) for place, tokens in asked]))
        found: list[bool | None] = []
        for answer in answers:
            if len(answer.rivals) > RIVALS:
                found.append(None)
                continue
            chosen = next(scores) if answer.rivals else []
            others = [next(scores)[rival.place] for rival in answer.rivals]
            found.append(any(one > chosen[rival.place] for one, rival in zip(others, answer.rivals, strict=True)))
        return found

    def _scores(self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[list[float]]:
        """The log-probability of each token of answers to sequences."""
        if not pairs:
            return []
        names = [[[str(token) for token in tokens] for tokens in pair] for pair in pairs]
        try:
            results = self._model.score_batch(
                [source for source, _ in names],
                [target for _, target in names],
                max_batch_size=1,  # one long answer keeps a thread busy, and its score depends on no company
                max_input_length=0,
            )
        except RuntimeError as error:
            raise ModelError(f"CTranslate2 gave up: {str(error).splitlines()[0][:300]}") from error
        return [result.log_probs for result in results]

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
