"""Many values as a line of the height of a letter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT, POINTS = 48, 14, 24
"""Pixels, and how many values the line goes through."""


@dataclass(frozen=True, slots=True)
class Sparkline:
    """A line through values, between the least and the greatest that they could be."""

    points: str
    """As SVG has them."""
    count: int
    least: float
    greatest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Sparkline | None:
        """A line through as many of the values as can be seen; None through one."""
        if len(values) < 2:
            return None
        last = len(values) - 1
        taken = sorted({round(place * last / (POINTS - 1)) for place in range(POINTS)}) if last >= POINTS else None
        places = range(len(values)) if taken is None else taken
        # Shares stand between 0 and 1, so that lines beside each other can be compared; numbers fill their own room.
        share = all(0 <= value <= 1 for value in values)
        low, high = (0.0, 1.0) if share else (min(values), max(values))
        room = (high - low) or 1.0
        heights = {place: 1 + (HEIGHT - 2) * (1 - (values[place] - low) / room) for place in places}
        drawn = [f"{WIDTH * place / last:.0f},{height:.1f}" for place, height in heights.items()]
        return cls(" ".join(drawn), len(values), min(values), max(values))
