"""A dot for each item along a line, by how much a prediction holds for it: where each stands, in a drawing's units."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from wug.views.numbers import bits
from wug.views.parts import Margin

WIDTH, EDGE, STEP, TALLEST = 320, 8, 7.0, 74.0
"""Of the drawing, free at both ends, between neighbouring dots; and how tall it may be."""


class Dot(NamedTuple):
    """An item of the strip."""

    margin: Margin
    x: float
    y: float
    text: str
    """Such as `item 3: −1.02 bits, fails`."""


@dataclass(frozen=True, slots=True)
class Strip:
    """Dots from the least margin to the greatest, those that fail left of `zero`."""

    dots: tuple[Dot, ...]
    zero: float
    height: float
    least: str
    most: str


def strip(margins: Sequence[Margin], unit: str = "bits") -> Strip | None:
    """The dots of a prediction; None where it has none. Those of about one margin stand above each other."""
    if not margins:
        return None
    low = min(0.0, *(margin.value for margin in margins))
    high = max(0.0, *(margin.value for margin in margins))
    scale = (WIDTH - 2 * EDGE) / ((high - low) or 1.0)
    columns = [int((margin.value - low) * scale / STEP) for margin in margins]
    tallest = max(Counter(columns).values())
    step = min(STEP, TALLEST / tallest)
    height = max(3 * STEP, tallest * step + 2 * STEP)
    met: Counter[int] = Counter()
    dots = []
    for margin, column in zip(margins, columns, strict=True):
        place = met[column]
        met[column] += 1
        y = height / 2 + (place + 1) // 2 * step * (1 if place % 2 else -1)
        verdict = "holds" if margin.holds else "fails"
        text = f"item {margin.item}: {bits(margin.value)} {unit}, {verdict}"
        dots.append(Dot(margin, round(EDGE + (margin.value - low) * scale, 1), round(y, 1), text))
    ends = (bits(low), bits(high))
    return Strip(tuple(dots), round(EDGE - low * scale, 1), round(height, 1), *ends)
