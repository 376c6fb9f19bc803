"""From a scored sentence to the number that is compared."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from wug.families.pairs.settings import Settings
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


def measure(scored: Scored, span: tuple[int, int] | None, settings: Settings) -> Measure:
    """The score of a sentence, or of the characters `span` of it."""
    where = scored.slice() if span is None else scored.slice(*span)
    logprobs = scored.logprobs[where]
    missing = sum(value is None for value in logprobs)
    unknown = 0 if scored.pieces is None else sum(piece in UNKNOWN for piece in scored.pieces[where])
    logprob = scored.logprob() if span is None else scored.logprob(*span)
    text = scored.text if span is None else scored.text[slice(*span)]
    if settings.unigrams is not None:
        # Lau, Clark & Lappin 2017; Kann, Rothe & Filippova 2018: (ln p(S) - ln p_u(S)) / |S|
        unigram = settings.unigrams.logprob(text if settings.target == "sentence" else scored.text)
        score = (logprob - unigram.logprob) / max(1, unigram.words)
        return Measure(logprob, score, len(logprobs), missing, unknown, unigram.unknown)
    length = _length(text, len(logprobs) - missing, settings.normalise)
    return Measure(logprob, logprob / length, len(logprobs), missing, unknown)


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
