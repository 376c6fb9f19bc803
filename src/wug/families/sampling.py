"""Some rows of many, spread evenly: a quick look at a suite sees all of its parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

Row = TypeVar("Row")


def spread(rows: Sequence[Row], count: int) -> tuple[Row, ...]:
    """So many of the rows, in their order, as far from each other as can be; all where there are no more."""
    if count >= len(rows):
        return tuple(rows)
    return tuple(rows[place * len(rows) // count] for place in range(count))
