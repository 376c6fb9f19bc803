"""What all backends that turn text into text share: each source asked once, answers of bounded length.

How long an answer may become depends on its own source alone, never on the others in the batch: otherwise
the same question would get another answer in other company.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

SHORTEST, LONGEST, TIMES = 128, 1024, 8
"""Tokens that an answer may have at least and at most, and for each token of its source.

Of the 56,806 distinct published PCFG SET sources one has a target that is longer than this, word by word.
"""

log = logging.getLogger("wug")


@dataclass(frozen=True, slots=True)
class Written:
    """An answer as its tokens, and whether the model ended it itself."""

    tokens: tuple[int, ...]
    ended: bool


def once(sources: Sequence[str], ask: Callable[[list[str]], list[str]]) -> list[str]:
    """One answer for each source, in order; identical sources are asked together."""
    distinct = list(dict.fromkeys(sources))
    answers = dict(zip(distinct, ask(distinct) if distinct else [], strict=True))
    return [answers[source] for source in sources]


def longest_answer(source: int, wanted: int | None = None) -> int:
    """Tokens that the answer to a source of so many tokens may have: `wanted`, or in steps of powers of two."""
    if wanted is not None:
        return wanted
    bound = SHORTEST
    while bound < min(TIMES * source, LONGEST):
        bound *= 2
    return bound


def batches(lengths: Sequence[int], bounds: Sequence[int], *, tokens: int, padded: bool = True) -> Iterator[list[int]]:
    """The places of sources asked together: of like length, the same bound, within a number of tokens in all.

    Not `padded` means that only sources of exactly the same length go together. A source that is too long
    for the number of tokens goes alone.
    """
    order = sorted(range(len(lengths)), key=lambda place: (bounds[place], lengths[place], place))
    batch: list[int] = []
    for place in order:
        width = lengths[place] + bounds[place]
        first = batch[0] if batch else place
        other = bounds[first] != bounds[place] or (not padded and lengths[first] != lengths[place])
        if batch and (other or (len(batch) + 1) * width > tokens):
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def tell_of_truncated(model: str, cut: int, total: int) -> None:
    """A warning where answers were cut off."""
    if cut:
        log.warning(
            "%s did not come to an end in %s of %s answers, which were cut off; -M max_length=N lets them be longer",
            model, f"{cut:,}", f"{total:,}",
        )  # fmt: skip


def tell_of_unknown(model: str, sources: Sequence[str], total: int) -> None:
    """A warning where sources have words that the model does not know."""
    if sources:
        log.warning(
            "%s does not know all words of %s of %s sources, such as %r",
            model, f"{len(sources):,}", f"{total:,}", sources[0][:100],
        )  # fmt: skip


def tell_of_too_long(model: str, sources: Sequence[str], total: int, limit: int) -> None:
    """A warning where sources could not be asked; their answers are empty."""
    if sources:
        log.warning(
            "%s takes %s tokens, and %s of %s sources have more: their answers are empty; the first is %r…",
            model, f"{limit:,}", f"{len(sources):,}", f"{total:,}", sources[0][:60],
        )  # fmt: skip
