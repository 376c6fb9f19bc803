"""From a scored sentence to the surprisal of each region."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import Any

from wug.alignment import SPACE_MARKS, is_unknown
from wug.families.syntaxgym.parts import Eos, Layout, Region
from wug.types import LN2, Notice, Scored
from wug.views.scripts import first_texts

METRICS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "sum": math.fsum,
    "mean": fmean,
    "median": median,
    "range": lambda bits: 0.0 if max(bits) == min(bits) else max(bits) - min(bits),
    "max": max,
    "min": min,
}
"""Each makes one number of the surprisals of a region's tokens."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The surprisal of one region of one sentence."""

    number: int
    content: str
    values: Mapping[str, float | None]
    """Bits by metric; None where the region has no token and the metric no value."""
    oovs: tuple[str, ...] = ()
    """The words that the model does not know."""
    tokens: tuple[tuple[str | None, float | None], ...] = ()
    """Each token with its bits; None for a further part of the character before it."""
    empty: bool = False
    """Whether it has no token with a probability, so that there is nothing to compare."""

    def detail(self, primary: str) -> dict[str, Any]:
        """The same as JSON-able data; an infinite surprisal is null there."""
        return {
            "number": self.number,
            "content": self.content,
            "value": plain(self.values[primary]),
            "values": {metric: plain(value) for metric, value in self.values.items()},
            "oovs": list(self.oovs),
            "tokens": [[text, plain(bits)] for text, bits in self.tokens],
        }


@dataclass(slots=True)
class Tally:
    """What was odd about the answers, counted, each with one example."""

    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, str] = field(default_factory=dict)

    def add(self, oddity: str, example: str) -> None:
        """Count one more."""
        self.counts[oddity] = self.counts.get(oddity, 0) + 1
        self.examples.setdefault(oddity, example)

    def notices(self, items: int) -> list[Notice]:
        """A sentence about each oddity of a suite of so many items."""
        return [
            Notice(f"{_sentence(oddity, count, items)}; the first is {self.examples[oddity]}")
            for oddity, count in sorted(self.counts.items())
        ]


def _sentence(oddity: str, count: int, items: int) -> str:
    if oddity in _ODDITIES:
        return _ODDITIES[oddity][count != 1].format(count)
    return f"{oddity} in {count} of {items} items, as a region that it compares {NO_TOKEN}"


NO_TOKEN = "has no token with a probability"


_ODDITIES = {
    "first": (
        "{} sentence begins with a token that has no probability, as the model has no start mark: it counts as 0 bits",
        "{} sentences begin with a token that has no probability, as the model has no start mark: it counts as 0 bits",
    ),
    "infinite": ("{} token has probability 0", "{} tokens have probability 0"),
    "spanning": (
        "{} token spans two regions and counts in the first",
        "{} tokens span two regions and count in the first",
    ),
    "tokenless": (
        "{} region has text but no token begins in it: its sum is 0 bits",
        "{} regions have text but no token begins in them: their sum is 0 bits",
    ),
    "unknown": ("{} word is unknown to the model", "{} words are unknown to the model"),
    "unscored": (
        "{} token inside a sentence has no probability: it counts as 0 bits",
        "{} tokens inside sentences have no probability: they count as 0 bits",
    ),
}


def measure(
    scored: Scored,
    layout: Layout,
    regions: Sequence[Region],
    *,
    eos: Eos,
    metrics: Sequence[str],
    tally: Tally,
    place: str,
) -> list[Measured]:
    """The surprisal of each region, by every metric.

    A token belongs to the region that holds its first visible character. A start token belongs to none,
    an end token to none or, with `eos=last_region`, to the last region that has text.
    """
    slices = _slices(scored, layout, eos)
    pieces = scored.pieces or tuple(scored.text[a:b] for a, b in zip(scored.starts, scored.ends, strict=True))
    shown = first_texts(scored)
    opening = slices[0][0] if slices else 0
    measured = []
    for region, (_, stop), (first, last) in zip(regions, layout.spans, slices, strict=True):
        where = f"{place}, region {region.number}"
        bits = [None if p is None else 0.0 - p / LN2 for p in scored.logprobs[first:last]]
        counted = [0.0 if value is None else value for value in bits]
        values = {m: METRICS[m](counted) if counted or m == "sum" else None for m in metrics}
        oovs = []
        for i in range(first, last):
            _note(tally, scored, i, f"{pieces[i]!r} in {where}", stop=stop, opens=i == opening)
            if is_unknown(pieces[i]):
                oovs.append(scored.text[scored.starts[i] : scored.ends[i]].strip())
                tally.add("unknown", f"{oovs[-1]!r} in {where}")
        if not counted and region.text:
            tally.add("tokenless", where)
        tokens = tuple(zip(shown[first:last], bits, strict=True))
        empty = all(value is None for value in bits)
        measured.append(Measured(region.number, region.text, values, tuple(oovs), tokens, empty))
    return measured


def plain(value: float | None) -> float | None:
    """The value as JSON can hold it: None for an infinite one."""
    return value if value is not None and math.isfinite(value) else None


def _slices(scored: Scored, layout: Layout, eos: Eos) -> list[tuple[int, int]]:
    """The tokens of each region, as the first and the one after the last."""
    length = len(scored.text)
    end = bisect_left(scored.starts, length)
    first = 0
    if scored.pieces is not None:
        while first < end and scored.ends[first] == 0 and scored.pieces[first].strip(SPACE_MARKS):
            first += 1  # a start mark; a lone space mark belongs to the word after it
    slices = []
    for _, stop in layout.spans:
        # Up to the region's end, not from its start: a token that begins with the space before
        # a region is then counted in it even if a model's offsets include that space.
        last = bisect_left(scored.starts, stop, first, end) if stop < length else end
        slices.append((first, last))
        first = last
    if eos == "last_region":
        last_with_text = max((i for i, (start, stop) in enumerate(layout.spans) if stop > start), default=0)
        slices[last_with_text] = (slices[last_with_text][0], len(scored.starts))
    return slices


def _note(tally: Tally, scored: Scored, i: int, example: str, *, stop: int, opens: bool) -> None:
    """Count what is odd about token `i` of a region that ends at `stop`."""
    logprob = scored.logprobs[i]
    if logprob is None:
        tally.add("first" if opens else "unscored", example)
    elif math.isinf(logprob):
        tally.add("infinite", example)
    if scored.starts[i] < stop and scored.text[stop : scored.ends[i]].strip():
        tally.add("spanning", example)
