"""From a scored sentence to the number that is compared."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
import numpy.typing as npt

from wug.families.pairs.settings import Settings
from wug.scores import Scores
from wug.types import Scored

UNKNOWN = frozenset({"<unk>", "[UNK]", "<UNK>", "unk"})
"""What models call a word that they do not know."""


@dataclass(frozen=True, slots=True)
class Measure:
    """What one sentence of a pair, or its target, comes to."""

    logprob: float
    score: float
    """The log-probability, normalised as asked."""
    tokens: int
    """Those that count."""
    missing: int
    """Those of them without a log-probability."""
    unknown: int
    """Those of them that stand for a word the model does not know."""
    not_listed: int = 0
    """Words that the unigram model does not have."""


class Measures(Sequence[Measure]):
    """What many sentences come to, as columns; a `Measure` is made when someone looks."""

    def __init__(self, scores: Scores, spans: Sequence[tuple[int, int] | None], settings: Settings) -> None:
        """The score of each sentence, or of the characters of it that a span names."""
        first, last = scores.offsets[:-1], scores.offsets[1:]
        if any(span is not None for span in spans):
            whole = (0, 1 << 30)
            first, last = (scores.before([(span or whole)[end] for span in spans]) for end in (0, 1))
            last = np.where([span is None for span in spans], scores.offsets[1:], last)
        self._texts, self._spans, self._settings = scores.texts, spans, settings
        self.logprobs = scores.sums(first, last)
        """The natural log-probability of each."""
        self._tokens = last - first
        lone = np.flatnonzero(self._tokens == 1)
        lengths = np.fromiter((len(scores.texts[at]) for at in lone.tolist()), np.int64, len(lone))
        self._tokens[lone[scores.starts[first[lone]] >= lengths]] = 0  # an end mark alone
        self._missing = scores.missing(first, last)
        self._unknown = {
            at: sum(piece in UNKNOWN for piece in names[first[at] - start : last[at] - start])
            for at, names in scores.pieces.items()
            for start in (scores.offsets[at],)
        }

    @property
    def plain(self) -> npt.NDArray[np.bool_]:
        """Of which sentences the log-probability is the score, and there is nothing else to say of it."""
        if self._settings.unigrams is not None or self._settings.normalise != "none":
            return np.zeros(len(self), bool)
        plain: npt.NDArray[np.bool_] = (self._tokens > 0) & (self._missing == 0)
        plain[[at for at, count in self._unknown.items() if count]] = False
        return plain

    @property
    def several(self) -> npt.NDArray[np.bool_]:
        """Which of them have more than one token."""
        several: npt.NDArray[np.bool_] = self._tokens > 1
        return several

    def __len__(self) -> int:
        return len(self.logprobs)

    @overload
    def __getitem__(self, place: int) -> Measure: ...
    @overload
    def __getitem__(self, place: slice) -> list[Measure]: ...

    def __getitem__(self, place: int | slice) -> Measure | list[Measure]:
        if isinstance(place, slice):
            return [self[at] for at in range(len(self))[place]]
        at = range(len(self))[place]
        total, tokens, missing = self.logprobs[at], int(self._tokens[at]), int(self._missing[at])
        unknown = self._unknown.get(at, 0)
        if self._settings.unigrams is None and self._settings.normalise == "none":
            return Measure(total, total, tokens, missing, unknown)
        return _normalised((self._texts[at], self._spans[at], total, tokens, missing, unknown), self._settings)


def _normalised(row: tuple[str, tuple[int, int] | None, float, int, int, int], settings: Settings) -> Measure:
    text, span, logprob, tokens, missing, unknown = row
    part = text if span is None else text[slice(*span)]
    if settings.unigrams is not None:
        # Lau, Clark & Lappin 2017; Kann, Rothe & Filippova 2018: (ln p(S) - ln p_u(S)) / |S|
        unigram = settings.unigrams.logprob(part if settings.target == "sentence" else text)
        score = (logprob - unigram.logprob) / max(1, unigram.words)
        return Measure(logprob, score, tokens, missing, unknown, unigram.unknown)
    length = _length(part, tokens - missing, settings.normalise)
    return Measure(logprob, logprob / length, tokens, missing, unknown)


def word_logprobs(scored: Scored) -> list[list[str | float | None]]:
    """Every word of a sentence with its log-probability; then the tokens after it, such as `<eos>`, if any."""
    words: list[list[str | float | None]] = [
        [found.group(), _sum(scored.logprobs[scored.slice(*found.span())])]
        for found in re.finditer(r"\S+", scored.text)
    ]
    end = scored.slice(len(scored.text))
    for piece, logprob in zip((scored.pieces or ())[end], scored.logprobs[end], strict=False):
        words.append([piece, logprob])
    return words


def _length(text: str, tokens: int, normalise: str) -> int:
    match normalise:
        case "token":
            return max(1, tokens)
        case "word":
            return max(1, len(text.split()))
        case "character":
            return max(1, len(text))
        case "byte":
            return max(1, len(text.encode()))
    return 1


def _sum(logprobs: Sequence[float | None]) -> float | None:
    known = [value for value in logprobs if value is not None]
    return sum(known) if known else None
