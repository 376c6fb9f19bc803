"""A pair: both sentences with what differs in them, their scores, and by how much one is ahead."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from wug.families.pairs.view.judged import Judged, judged
from wug.rows import Placed
from wug.types import LN2, Outcome, Result
from wug.views.marked import Piece, Pieces, differing, marked, shortened, unmarked
from wug.views.numbers import bits
from wug.views.parts import Facts, Item, Line, Lines, Part, shade

WORDS = 120
"""Words of a sentence that are shown with their surprisals."""
NATS = 6
"""A margin at which the bar is three quarters of its length."""
Words = list[tuple[str, float | None]]
"""Words with their log-probabilities in nats; None for one that is not known."""


def pair(row: Placed, judgements: Sequence[Placed]) -> Item:
    """A pair with both sentences; one that has neither sentences nor scores, with all that is known of it."""
    found = judged(row.outcome)
    parts: tuple[Part, ...] = (Lines(tuple(_lines(row.outcome, found))),)
    if not (found.good or found.bad) and found.score_good is None and found.score_bad is None:
        parts = (Facts(row.outcome.detail),) if row.outcome.detail else ()
    return Item(
        note=_note(found),
        fails=found.value is False,
        parts=parts,
        sentences=(found.good, found.bad) if found.good and found.bad else (),
    )


def word_probabilities(result: Result) -> Iterator[str]:
    """The log-probability of every word of every pair, a line a sentence, in nats; `*` before the wrong one."""
    for outcome in result.outcomes:
        for key, mark in (("words_good", " "), ("words_bad", "*")):
            if words := _words(outcome, key):
                shown = (f"{word} {'–' if logprob is None else format(logprob, '.3f')}" for word, logprob in words)
                yield f"{outcome.item} {mark} {'  '.join(shown)}"


def _lines(outcome: Outcome, found: Judged) -> Iterator[Line]:
    good, bad = marked(found.good, found.bad)
    words_good, words_bad = _words(outcome, "words_good"), _words(outcome, "words_bad")
    if words_good and words_bad:
        differ = differing([word for word, _ in words_good], [word for word, _ in words_bad])
        good, bad = _shaded(words_good, differ[0]), _shaded(words_bad, differ[1])
    yield Line("grammatical", good or unmarked(found.good), "ins", _score(found.score_good))
    yield Line("ungrammatical", bad or unmarked(found.bad), "del", _score(found.score_bad))
    if found.margin is not None:
        yield Line("difference", (), value=bits(found.margin), side=math.tanh(found.margin / NATS))


def _shaded(words: Words, differ: Sequence[bool]) -> Pieces:
    """A sentence word by word, each in the shade of its surprisal in bits."""
    pieces: list[Piece] = []
    for (word, logprob), differs in zip(words[:WORDS], differ, strict=False):
        surprisal = None if logprob is None or not math.isfinite(logprob) else -logprob / LN2
        value = "–" if surprisal is None else f"{surprisal:.1f}".replace("-", "−")
        pieces += [Piece(" "), Piece(shortened(word), differs, value, shade(surprisal))]
    return (*pieces[1:], *([Piece(" …")] if len(words) > WORDS else []))


def _words(outcome: Outcome, key: str) -> Words:
    kept = outcome.detail.get(key)
    words = kept if isinstance(kept, list | tuple) else ()
    pairs = (word for word in words if isinstance(word, list | tuple) and len(word) == 2)
    return [(str(word), float(logprob) if isinstance(logprob, int | float) else None) for word, logprob in pairs]


def _score(value: float | None) -> str:
    return "" if value is None else bits(value)


def _note(found: Judged) -> str:
    if found.identical:
        return "identical sentences"
    if found.tied:
        return "tie"
    return found.why or ("" if found.margin is None else f"by {bits(found.margin)}")
