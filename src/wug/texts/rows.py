"""Scored texts as columns of a table with a row per token, word, region or sentence."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from wug.alignment import is_unknown
from wug.requests import LN2, Scored, Span

Columns: TypeAlias = Mapping[str, Sequence[object]]


class TokenScores(NamedTuple):
    """The tokens of a text in columns, in bits."""

    starts: list[int]
    ends: list[int]
    tokens: list[str]
    surprisals: list[float | None]
    entropies: list[float | None]
    ranks: list[int | None]
    with_word_end: list[float | None]
    unknown: list[bool]

    @classmethod
    def of(cls, outputs: Sequence[tuple[int, Scored]]) -> TokenScores:
        """From outputs, each with its start in the text; what an output lacks is None."""
        scores = cls([], [], [], [], [], [], [], [])
        for first, scored in outputs:
            scored.require_tokens()
            nothing: tuple[None, ...] = (None,) * len(scored.starts)
            spans = zip(scored.starts, scored.ends, strict=True)
            pieces = scored.token_names or [scored.text[a:b] for a, b in spans]
            scores.starts.extend(start + first for start in scored.starts)
            scores.ends.extend(end + first for end in scored.ends)
            scores.tokens.extend(pieces)
            scores.surprisals.extend(_bits(p, -1) for p in scored.logprobs)
            scores.entropies.extend(_bits(value) for value in scored.entropies or nothing)
            scores.ranks.extend(scored.ranks or nothing)
            scores.with_word_end.extend(_bits(p, -1) for p in scored.logprobs_with_word_end or nothing)
            scores.unknown.extend([False] * len(pieces) if scored.token_names is None else map(is_unknown, pieces))
        return scores


def token_columns(text: str, scores: TokenScores, words: Sequence[Span], sentences: Sequence[Span]) -> Columns:
    """One row per token, including special tokens after the text."""
    word_ids = zip(scores.starts, _numbers(words, scores.starts), strict=True)
    return {
        "sentence_id": _numbers(sentences, scores.starts),
        "word_id": [number if start < len(text) else None for start, number in word_ids],
        "token_id": range(1, len(scores.starts) + 1),
        "token": scores.tokens,
        "start": scores.starts,
        "end": scores.ends,
        "surprisal": scores.surprisals,
        "surprisal_boundary": scores.with_word_end,
        "entropy": scores.entropies,
        "rank": scores.ranks,
        "unknown": scores.unknown,
    }


def span_columns(
    name: str, text: str, scores: TokenScores, spans: Sequence[Span], sentences: Sequence[Span]
) -> Columns:
    """One row per word or region; `name` is the name of the column."""
    parts = _slices(text, scores, spans)
    firsts = [part.start if part.stop > part.start else None for part in parts]
    starts = [start for start, _ in spans]
    return {
        "sentence_id": _numbers(sentences, starts),
        f"{name}_id": range(1, len(spans) + 1),
        name: [text[start:end] for start, end in spans],
        "start": starts,
        "end": [end for _, end in spans],
        "surprisal": _sums(scores.surprisals, spans, parts),
        "surprisal_boundary": _sums(scores.with_word_end, spans, parts),
        "entropy": [None if first is None else scores.entropies[first] for first in firsts],
        "rank": [None if first is None else scores.ranks[first] for first in firsts],
        "tokens": [part.stop - part.start for part in parts],
        "unknown": [any(scores.unknown[part]) for part in parts],
    }


def sentence_columns(text: str, scores: TokenScores, words: Sequence[Span], sentences: Sequence[Span]) -> Columns:
    """One row per sentence; a token without a probability is not counted."""
    word_starts, parts = [start for start, _ in words], _slices(text, scores, sentences)
    parts[-1:] = [slice(part.start, len(scores.starts)) for part in parts[-1:]]  # with special tokens after the text
    known, with_ends = (
        [[value for value in values[part] if value is not None] for part in parts]
        for values in (scores.surprisals, scores.with_word_end)
    )
    return {
        "sentence_id": range(1, len(sentences) + 1),
        "sentence": [text[start:end] for start, end in sentences],
        "start": [start for start, _ in sentences],
        "end": [end for _, end in sentences],
        "surprisal": [math.fsum(values) if values else None for values in known],
        "surprisal_boundary": [math.fsum(values) if values else None for values in with_ends],
        "words": [bisect_left(word_starts, end) - bisect_left(word_starts, start) for start, end in sentences],
        "tokens": list(map(len, known)),
        "unknown": [any(scores.unknown[part]) for part in parts],
    }


def tokenless(text: str, scores: TokenScores, words: Sequence[Span]) -> int:
    """The number of words, or regions with text, in which no token begins."""
    shared = zip(words, _slices(text, scores, words), strict=True)
    return sum(start < end and part.start == part.stop for (start, end), part in shared)


def _slices(text: str, scores: TokenScores, spans: Sequence[Span]) -> list[slice]:
    """For each span the tokens that begin in it, or before the next one; not those after the text."""
    last = bisect_left(scores.starts, len(text))
    bounds = [0]
    # An empty region starts where the next one does, and has no tokens.
    for index, (start, end) in enumerate(spans):
        follows = spans[index + 1][0] if index + 1 < len(spans) else len(text)
        bounds.append(bounds[-1] if start == end else min(last, bisect_left(scores.starts, max(follows, end))))
    return [slice(low, high) for low, high in pairwise(bounds)]


def _numbers(spans: Sequence[Span], positions: Sequence[int]) -> list[int]:
    """The number of the span that each position belongs to, from 1."""
    starts = [start for start, _ in spans]
    return [max(1, bisect_right(starts, position)) for position in positions]


def _sums(values: Sequence[float | None], spans: Sequence[Span], parts: Sequence[slice]) -> list[float | None]:
    """The sum for each span; 0 for an empty region, None if there are no values or one is unknown."""
    sums: list[float | None] = []
    for (start, end), part in zip(spans, parts, strict=True):
        known = [value for value in values[part] if value is not None]
        has_all = len(known) == part.stop - part.start and (known or start == end)
        sums.append(math.fsum(known) if has_all else None)
    return sums


def _bits(nats: float | None, sign: int = 1) -> float | None:
    return None if nats is None else sign * nats / LN2 + 0.0
