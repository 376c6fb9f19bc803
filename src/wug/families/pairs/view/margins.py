"""By how much the grammatical one of a pair is ahead: a histogram."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import partial
from statistics import median

from wug.views import charts
from wug.views.numbers import number, percent
from wug.views.parts import Figure

BARS = 40
"""About how many bars there are."""
CROWD = 200
"""Pairs from which on the farthest hundredth is put into the outermost bars."""
RIGHT, WRONG = "right", "wrong or tied"


def margins_figure(margins: Sequence[float], scale: str) -> Figure | None:
    """The histogram; None where there is nothing to show. `scale` is what the scores are, with their unit."""
    if not margins:
        return None
    bins, beyond = _bins(sorted(margins))
    width = bins[0].high - bins[0].low
    close = sum(abs(margin) <= width for margin in margins) / len(margins)
    outer = " The outermost bars hold all that is farther out." if beyond else ""
    return Figure(
        id="margins",
        draw=partial(
            charts.histogram, bins, title=f"difference of {scale}", what="pairs", colours={RIGHT: 1, WRONG: 2}
        ),
        title="Margins",
        note=(
            f"The {scale} of the grammatical one less that of the ungrammatical one. The median is "
            f"{number(median(margins))}; {percent(close)} of the pairs are within {number(width)} of a tie.{outer}"
        ),
        columns=("from", "to", "pairs", "which are"),
        rows=tuple((number(one.low), number(one.high), f"{one.count:,}", one.series) for one in bins),
        records=tuple({"from": b.low, "to": b.high, "pairs": b.count, "which are": b.series} for b in bins),
    )


def _bins(margins: Sequence[float]) -> tuple[list[charts.Bin], bool]:
    """Bars of one width that meet at 0, and whether the outermost hold what is beyond them.

    A bar has its upper end in it and not its lower, so that a tie is on the side of the wrong ones.
    """
    low, high = margins[0], margins[-1]
    if len(margins) >= CROWD:
        low, high = margins[len(margins) // 200], margins[-1 - len(margins) // 200]
    width = _round_width((max(high, 0) - min(low, 0)) / BARS)
    first, last = _place(min(low, 0), width), _place(max(high, width / 2), width)
    counts = Counter(min(last, max(first, _place(margin, width))) for margin in margins)
    bins = [
        charts.Bin(place * width, (place + 1) * width, counts[place], RIGHT if place >= 0 else WRONG)
        for place in range(first, last + 1)
    ]
    return bins, margins[0] < first * width or margins[-1] > (last + 1) * width


def _place(margin: float, width: float) -> int:
    """The number of the bar that a margin is in; that of the first one beyond a tie is 0."""
    place = math.ceil(margin / width) - 1
    # However little a margin is, it is not rounded to a tie.
    return max(0, place) if margin > 0 else place


def _round_width(width: float) -> float:
    """The nearest of 1, 2, 5, 10, … times a power of ten."""
    if width <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(width))
    return min((step * power for step in (1, 2, 5, 10)), key=lambda step: abs(math.log(step / width)))
