"""The scores that are compared, computed from the log-probabilities of tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import repeat
from typing import NamedTuple

import numpy as np

from wug.families.links import LINKS, PER_TOKEN, LinkedText
from wug.families.pairs.settings import PairsSettings, UnigramScore
from wug.requests import Scored
from wug.scores import Scores

UNKNOWN = frozenset({"<unk>", "[UNK]", "<UNK>", "unk"})
Span = tuple[int, int]


class Measure(NamedTuple):
    """The score of one sentence of a pair, or of its target."""

    logprob: float
    score: float
    """That of the first linking function."""
    tokens: int
    missing: int
    """Tokens without a log-probability."""
    unknown: int
    not_listed: int = 0
    """Words or tokens that are missing from the unigram model."""
    others: tuple[float, ...] = ()
    """The scores of further linking functions."""


def measure(scores: Scores, spans: Sequence[Span | None], settings: PairsSettings) -> list[Measure]:
    """The score of each text, or of the characters of it in a span."""
    first, last = scores.offsets[:-1], scores.offsets[1:]
    if any(span is not None for span in spans):
        full_span = (0, 1 << 30)
        first, last = (scores.before([(span or full_span)[end] for span in spans]) for end in (0, 1))
        last = np.where([span is None for span in spans], scores.offsets[1:], last)
    tokens = last - first
    single = np.flatnonzero(tokens == 1)
    lengths = np.fromiter((len(scores.texts[at]) for at in single.tolist()), np.int64, len(single))
    tokens[single[scores.starts[first[single]] >= lengths]] = 0  # an EOS token only
    unknown = [0] * len(tokens)
    for at, names in scores.token_names.items():
        start = scores.offsets[at]
        unknown[at] = sum(name in UNKNOWN for name in names[first[at] - start : last[at] - start])
    logprobs, missing = scores.sums(first, last), scores.missing(first, last)
    columns = zip(logprobs, logprobs, tokens.tolist(), missing.tolist(), unknown, repeat(0), repeat(()), strict=False)
    measures = list(map(Measure._make, columns))
    if settings.links == ("sum",):
        return measures
    sentence = (int(settings.leading_space), None)  # the space before it is not a part of it
    parts = (text[slice(*(span or sentence))] for text, span in zip(scores.texts, spans, strict=True))
    by_token = settings.unigrams is not None and settings.unigrams.unit == "token"
    for at in scores.token_names if by_token or PER_TOKEN.intersection(settings.links) else ():
        scores[at].require_tokens()
    return [
        _linked(part, measured, settings, _token_texts(scores, at, int(first[at]), int(last[at])) if by_token else ())
        for at, (part, measured) in enumerate(zip(parts, measures, strict=True))
    ]


def _linked(text: str, measured: Measure, settings: PairsSettings, tokens: Sequence[str]) -> Measure:
    unigram = UnigramScore(0.0, 0, 0) if settings.unigrams is None else settings.unigrams.logprob(text, tokens)
    scored = measured.tokens - measured.missing
    linked = LinkedText(text, measured.logprob, scored, unigram.logprob, unigram.words)
    score, *others = (LINKS[name](linked, settings.parameters) for name in settings.links)
    return measured._replace(score=score, not_listed=unigram.unknown, others=tuple(others))


def _token_texts(scores: Scores, at: int, first: int, last: int) -> list[str]:
    """The tokens from `first` to before `last` as the unigram model counts them: by name, or visible text."""
    start = int(scores.offsets[at])
    if at in scores.token_names:
        return list(scores.token_names[at][first - start : last - start])
    ends = zip(scores.starts[first:last].tolist(), scores.ends[first:last].tolist(), strict=True)
    return [scores.texts[at][a:b] for a, b in ends]


def word_logprobs(scored: Scored) -> list[list[str | float | None]]:
    """Every word of a sentence with its log-probability, then the tokens after it, such as `<eos>`."""
    words: list[list[str | float | None]] = [
        [word.group(), _sum(scored.logprobs[scored.slice(*word.span())])] for word in re.finditer(r"\S+", scored.text)
    ]
    end = scored.slice(len(scored.text))
    for piece, logprob in zip((scored.token_names or ())[end], scored.logprobs[end], strict=False):
        words.append([piece, logprob])
    return words


def _sum(logprobs: Sequence[float | None]) -> float | None:
    known = [value for value in logprobs if value is not None]
    return sum(known) if known else None
