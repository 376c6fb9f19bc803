"""Scored texts as rows of a table: one per token, word, region or sentence."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from wug.alignment import is_unknown
from wug.requests import LN2, Scored, Span


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


def token_rows(
    text: str, scores: TokenScores, words: Sequence[Span], sentences: Sequence[Span]
) -> Iterator[dict[str, object]]:
    """One row per token, including special tokens after the text."""
    word_starts, sentence_starts = [start for start, _ in words], [start for start, _ in sentences]
    for index, (start, end) in enumerate(zip(scores.starts, scores.ends, strict=True)):
        yield {
            "sentence_id": _number(sentence_starts, start),
            "word_id": _number(word_starts, start) if start < len(text) else None,
            "token_id": index + 1,
            "token": scores.tokens[index],
            "start": start,
            "end": end,
            "surprisal": scores.surprisals[index],
            "surprisal_boundary": scores.with_word_end[index],
            "entropy": scores.entropies[index],
            "rank": scores.ranks[index],
            "unknown": scores.unknown[index],
        }


def span_rows(
    name: str, text: str, scores: TokenScores, spans: Sequence[Span], sentences: Sequence[Span]
) -> Iterator[dict[str, object]]:
    """One row per word or region; `name` is the name of the column."""
    sentence_starts = [start for start, _ in sentences]
    for number, ((start, end), covered) in enumerate(zip(spans, _slices(text, scores, spans), strict=True), 1):
        has_tokens = covered.stop > covered.start
        yield {
            "sentence_id": _number(sentence_starts, start),
            f"{name}_id": number,
            name: text[start:end],
            "start": start,
            "end": end,
            "surprisal": _sum(scores.surprisals[covered], empty=start == end),
            "surprisal_boundary": _sum(scores.with_word_end[covered], empty=start == end),
            "entropy": scores.entropies[covered.start] if has_tokens else None,
            "rank": scores.ranks[covered.start] if has_tokens else None,
            "tokens": covered.stop - covered.start,
            "unknown": any(scores.unknown[covered]),
        }


def sentence_rows(
    text: str, scores: TokenScores, words: Sequence[Span], sentences: Sequence[Span]
) -> Iterator[dict[str, object]]:
    """One row per sentence; a token without a probability is not counted."""
    word_starts = [start for start, _ in words]
    for number, ((start, end), covered) in enumerate(zip(sentences, _slices(text, scores, sentences), strict=True), 1):
        if number == len(sentences):
            covered = slice(covered.start, len(scores.starts))  # with special tokens after the text
        known = [value for value in scores.surprisals[covered] if value is not None]
        with_ends = [value for value in scores.with_word_end[covered] if value is not None]
        yield {
            "sentence_id": number,
            "sentence": text[start:end],
            "start": start,
            "end": end,
            "surprisal": math.fsum(known) if known else None,
            "surprisal_boundary": math.fsum(with_ends) if with_ends else None,
            "words": bisect_left(word_starts, end) - bisect_left(word_starts, start),
            "tokens": len(known),
            "unknown": any(scores.unknown[covered]),
        }


def tokenless(text: str, scores: TokenScores, words: Sequence[Span]) -> int:
    """The number of words, or regions with text, in which no token begins."""
    shared = zip(words, _slices(text, scores, words), strict=True)
    return sum(start < end and covered.start == covered.stop for (start, end), covered in shared)


def _slices(text: str, scores: TokenScores, spans: Sequence[Span]) -> Iterator[slice]:
    """For each span the tokens that begin in it, or before the next one; not those after the text."""
    last = bisect_left(scores.starts, len(text))
    bounds = [0]
    # An empty region starts where the next one does, and has no tokens.
    for index, (start, end) in enumerate(spans):
        follows = spans[index + 1][0] if index + 1 < len(spans) else len(text)
        bounds.append(bounds[-1] if start == end else min(last, bisect_left(scores.starts, max(follows, end))))
    yield from (slice(low, high) for low, high in pairwise(bounds))


def _number(starts: Sequence[int], position: int) -> int:
    """The number of the span that a position belongs to, from 1."""
    return max(1, bisect_right(starts, position))


def _sum(values: Sequence[float | None], *, empty: bool) -> float | None:
    """The sum; 0 for an empty region, None if there are no values or one is unknown."""
    if not values:
        return 0.0 if empty else None
    known = [value for value in values if value is not None]
    return math.fsum(known) if len(known) == len(values) else None


def _bits(nats: float | None, sign: int = 1) -> float | None:
    return None if nats is None else sign * nats / LN2 + 0.0
