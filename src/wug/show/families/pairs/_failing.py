"""Pairs that fail, with the place where their sentences differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wug.show.families import bits
from wug.show.families._marked import Piece, Pieces, differing, marked, shortened
from wug.show.families._spread import spread
from wug.show.families.pairs._judged import Judged

WORDS = 80
"""Words of a sentence that are shown with their log-probabilities."""


@dataclass(frozen=True, slots=True)
class FailedPair:
    """A pair as the page shows it."""

    item: str
    good: Pieces
    bad: Pieces
    score_good: str
    score_bad: str
    margin: str
    note: str
    """`tie` or `identical`, where it is that."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Pairs of one kind that fail, and how many there are."""

    name: str
    failed: int
    judged: int
    pairs: tuple[FailedPair, ...]


@dataclass(frozen=True, slots=True)
class HardPair:
    """A pair that many of several columns fail."""

    item: str
    good: str
    bad: str
    failed: int
    columns: int


def batches(judged: Sequence[Judged], room: int) -> tuple[list[Batch], int]:
    """A sample of the failing pairs by kind, and how many are left out."""
    failed = [one for one in judged if one.value is False]
    counts, sizes = Counter(one.name for one in failed), Counter(one.name for one in judged if one.value is not None)
    shown = spread(failed, room, lambda one: one.name)
    found = [Batch(name, counts[name], sizes[name], tuple(map(_shown, some))) for name, some in shown.items()]
    return found, len(failed) - sum(len(batch.pairs) for batch in found)


def hardest(judged: Sequence[Judged], room: int) -> tuple[list[HardPair], int]:
    """The pairs that the most columns fail, and how many are left out."""
    failed, columns = Counter[str](), Counter[str]()
    known: dict[str, Judged] = {}
    for one in judged:
        known.setdefault(one.item, one)
        columns[one.item] += one.value is not None
        failed[one.item] += one.value is False
    ranked = sorted((item for item in known if failed[item]), key=lambda item: -failed[item] / columns[item])
    rows = [HardPair(item, known[item].good, known[item].bad, failed[item], columns[item]) for item in ranked[:room]]
    return rows, len(ranked) - len(rows)


def _shown(one: Judged) -> FailedPair:
    good, bad = _with_words(*one.words) if all(one.words) else marked(one.good, one.bad)
    return FailedPair(
        item=one.item,
        good=good,
        bad=bad,
        score_good="" if one.score_good is None else bits(one.score_good),
        score_bad="" if one.score_bad is None else bits(one.score_bad),
        margin="" if one.margin is None or one.margin == 0 else bits(one.margin),
        note="identical sentences" if one.identical else "tie" if one.tied else "",
    )


def _with_words(good: Sequence[Any], bad: Sequence[Any]) -> tuple[Pieces, Pieces]:
    """Both sentences word by word, each word with its log-probability."""
    ours, theirs = good[:WORDS], bad[:WORDS]
    marks = differing([str(word) for word, _ in ours], [str(word) for word, _ in theirs])
    return _words(ours, marks[0]), _words(theirs, marks[1])


def _words(words: Sequence[Any], marks: Sequence[bool]) -> Pieces:
    pieces: list[Piece] = []
    for (word, logprob), differs in zip(words, marks, strict=True):
        pieces += [Piece(" ")] if pieces else []
        pieces.append(Piece(shortened(str(word)), differs, bits(logprob) if isinstance(logprob, float) else "–"))
    return tuple(pieces)
