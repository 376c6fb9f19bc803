"""Scored texts as the rows of a table: a row a token, a word, a region or a sentence."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from wug.alignment import is_unknown
from wug.texts.text import Span
from wug.types import LN2, Scored


@dataclass(frozen=True, slots=True)
class Scores:
    """The tokens of a text in columns, in bits; made of one answer, or of an answer for each of its sentences."""

    starts: list[int]
    ends: list[int]
    tokens: list[str]
    surprisals: list[float | None]
    entropies: list[float | None]
    ranks: list[int | None]
    closed: list[float | None]
    unknown: list[bool]

    @classmethod
    def of(cls, answers: Sequence[tuple[int, Scored]]) -> Scores:
        """From answers with the place in the text where each begins; one that does not tell something has None."""
        scores = cls([], [], [], [], [], [], [], [])
        for first, scored in answers:
            nothing: tuple[None, ...] = (None,) * len(scored.starts)
            spans = zip(scored.starts, scored.ends, strict=True)
            pieces = scored.pieces or [scored.text[a:b] for a, b in spans]
            scores.starts.extend(start + first for start in scored.starts)
            scores.ends.extend(end + first for end in scored.ends)
            scores.tokens.extend(pieces)
            scores.surprisals.extend(_bits(p, -1) for p in scored.logprobs)
            scores.entropies.extend(_bits(value) for value in scored.entropies or nothing)
            scores.ranks.extend(scored.ranks or nothing)
            scores.closed.extend(_bits(p, -1) for p in scored.closed or nothing)
            scores.unknown.extend([False] * len(pieces) if scored.pieces is None else map(is_unknown, pieces))
        return scores


def token_rows(text: str, scores: Scores, words: Sequence[Span], sentences: Sequence[Span]) -> Iterator[dict[str, Any]]:
    """A row for each token, marks behind the text included."""
    word_starts, sentence_starts = [start for start, _ in words], [start for start, _ in sentences]
    for place, (start, end) in enumerate(zip(scores.starts, scores.ends, strict=True)):
        yield {
            "sentence_id": _number(sentence_starts, start),
            "word_id": _number(word_starts, start) if start < len(text) else None,
            "token_id": place + 1,
            "token": scores.tokens[place],
            "start": start,
            "end": end,
            "surprisal": scores.surprisals[place],
            "surprisal_boundary": scores.closed[place],
            "entropy": scores.entropies[place],
            "rank": scores.ranks[place],
            "unknown": scores.unknown[place],
        }


def stretch_rows(
    name: str, text: str, scores: Scores, stretches: Sequence[Span], sentences: Sequence[Span]
) -> Iterator[dict[str, Any]]:
    """A row for each word or region: `name` says what they are called."""
    sentence_starts = [start for start, _ in sentences]
    for number, ((start, end), here) in enumerate(zip(stretches, _shared_out(text, scores, stretches), strict=True), 1):
        some = here.stop > here.start
        yield {
            "sentence_id": _number(sentence_starts, start),
            f"{name}_id": number,
            name: text[start:end],
            "start": start,
            "end": end,
            "surprisal": _sum(scores.surprisals[here], empty=start == end),
            "surprisal_boundary": _sum(scores.closed[here], empty=start == end),
            "entropy": scores.entropies[here.start] if some else None,
            "rank": scores.ranks[here.start] if some else None,
            "tokens": here.stop - here.start,
            "unknown": any(scores.unknown[here]),
        }


def sentence_rows(
    text: str, scores: Scores, words: Sequence[Span], sentences: Sequence[Span]
) -> Iterator[dict[str, Any]]:
    """A row for each sentence; a token without a probability is not in its sum, and not counted."""
    word_starts = [start for start, _ in words]
    for number, ((start, end), here) in enumerate(zip(sentences, _shared_out(text, scores, sentences), strict=True), 1):
        if number == len(sentences):
            here = slice(here.start, len(scores.starts))  # with the marks behind the text
        known = [value for value in scores.surprisals[here] if value is not None]
        closed = [value for value in scores.closed[here] if value is not None]
        yield {
            "sentence_id": number,
            "sentence": text[start:end],
            "start": start,
            "end": end,
            "surprisal": math.fsum(known) if known else None,
            "surprisal_boundary": math.fsum(closed) if closed else None,
            "words": bisect_left(word_starts, end) - bisect_left(word_starts, start),
            "tokens": len(known),
            "unknown": any(scores.unknown[here]),
        }


def tokenless(text: str, scores: Scores, words: Sequence[Span]) -> int:
    """How many words, or regions with text, no token begins in."""
    shared = zip(words, _shared_out(text, scores, words), strict=True)
    return sum(start < end and here.start == here.stop for (start, end), here in shared)


def _shared_out(text: str, scores: Scores, stretches: Sequence[Span]) -> Iterator[slice]:
    """For each stretch the tokens that begin in it, or before the next one; what is behind the text is nobody's."""
    last = bisect_left(scores.starts, len(text))
    bounds = [0]
    # An empty region stands where the next one does, and has nothing of it.
    for place, (start, end) in enumerate(stretches):
        follows = stretches[place + 1][0] if place + 1 < len(stretches) else len(text)
        bounds.append(bounds[-1] if start == end else min(last, bisect_left(scores.starts, max(follows, end))))
    yield from (slice(low, high) for low, high in pairwise(bounds))


def _number(starts: Sequence[int], place: int) -> int:
    """Which of the stretches a place belongs to, from 1."""
    return max(1, bisect_right(starts, place))


def _sum(values: Sequence[float | None], *, empty: bool) -> float | None:
    """The sum; 0 of an empty region, and None where there is nothing to add, or something that is not known."""
    if not values:
        return 0.0 if empty else None
    known = [value for value in values if value is not None]
    return math.fsum(known) if len(known) == len(values) else None


def _bits(nats: float | None, sign: int = 1) -> float | None:
    return None if nats is None else sign * nats / LN2 + 0.0
