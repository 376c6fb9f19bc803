"""Some rows of many, spread evenly: a quick look at a suite sees all of its parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

Row = TypeVar("Row")


def spread(rows: Sequence[Row], count: int) -> tuple[Row, ...]:
    """`count` of the rows, in their order and evenly spread; all of them where there are fewer."""
    if count >= len(rows):
        return tuple(rows)
    return tuple(rows[place * len(rows) // count] for place in range(count))
