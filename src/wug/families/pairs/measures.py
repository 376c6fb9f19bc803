"""The scores that are compared, computed from the log-probabilities of tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from wug.arrays import Ints
from wug.families.links import LINKS, PER_TOKEN, LinkedText
from wug.families.pairs.settings import PairsSettings, UnigramScore
from wug.requests import Scored, Span
from wug.scores import Scores

UNKNOWN = frozenset({"<unk>", "[UNK]", "<UNK>", "unk"})


@dataclass(frozen=True, slots=True)
class Measures:
    """The scores of the sentences of pairs, or of their targets: columns with the good and the bad one in turn."""

    logprobs: Sequence[float]
    scores: Sequence[Sequence[float]]
    """By linking function."""
    tokens: Sequence[int]
    missing: Ints
    """Tokens without a log-probability."""
    unknown: Ints
    not_listed: int = 0
    """Words or tokens in all texts that are missing from the unigram model."""


def measure(scores: Scores, spans: Sequence[Span | None], settings: PairsSettings) -> Measures:
    """The scores of all texts, or of the characters of them in spans."""
    first, last = scores.offsets[:-1], scores.offsets[1:]
    if any(span is not None for span in spans):
        full_span = (0, 1 << 30)
        first, last = (scores.before([(span or full_span)[end] for span in spans]) for end in (0, 1))
        last = np.where([span is None for span in spans], scores.offsets[1:], last)
    tokens = last - first
    single = np.flatnonzero(tokens == 1)
    lengths = np.fromiter((len(scores.texts[at]) for at in single.tolist()), np.int64, len(single))
    tokens[single[scores.starts[first[single]] >= lengths]] = 0  # an EOS token only
    unknown = np.zeros(len(tokens), np.int64)
    for at, names in scores.token_names.items():
        start = scores.offsets[at]
        unknown[at] = sum(name in UNKNOWN for name in names[first[at] - start : last[at] - start])
    logprobs, missing = scores.sums(first, last), scores.missing(first, last)
    measures = Measures(logprobs, [logprobs], tokens.tolist(), missing, unknown)
    if settings.links == ("sum",):
        return measures
    sentence = (int(settings.leading_space), None)  # the space before it is not a part of it
    parts = (text[slice(*(span or sentence))] for text, span in zip(scores.texts, spans, strict=True))
    by_token = settings.unigrams is not None and settings.unigrams.unit == "token"
    for at in scores.token_names if by_token or PER_TOKEN.intersection(settings.links) else ():
        scores[at].require_tokens()
    texts, not_listed = list[LinkedText](), 0
    for at, (part, scored) in enumerate(zip(parts, (tokens - missing).tolist(), strict=True)):
        units = _token_texts(scores, at, int(first[at]), int(last[at])) if by_token else ()
        unigram = UnigramScore(0.0, 0, 0) if settings.unigrams is None else settings.unigrams.logprob(part, units)
        texts.append(LinkedText(part, logprobs[at], scored, unigram.logprob, unigram.words))
        not_listed += unigram.unknown
    by_link = [[LINKS[name](text, settings.parameters) for text in texts] for name in settings.links]
    return replace(measures, scores=by_link, not_listed=not_listed)


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
