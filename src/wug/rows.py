"""What views and families see of a result's outcomes: rows that can be filtered, searched and read.

`wug.results.queries` implements it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from wug.errors import InputError
from wug.outcomes import Outcome

VALUES = ("true", "false", "none")


@dataclass(frozen=True, slots=True)
class Filter:
    """Which outcomes to read."""

    metric: str | None = None
    value: str | None = None
    """`true`, `false` or `none`; None for all."""
    group: tuple[str, str] | None = None
    """Field and value."""
    text: str | None = None
    """What the item's name or a text in its details contains; case is ignored."""

    def __post_init__(self) -> None:
        if self.value is not None and self.value not in VALUES:
            raise InputError(f"{self.value!r} is not a value to filter by. Use one of {', '.join(VALUES)}")


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    """An outcome with its position in the result."""

    position: int
    outcome: Outcome


class Rows(Protocol):
    """The outcomes of a result as a table."""

    def metrics(self) -> list[str]:
        """The metrics of the outcomes, sorted."""

    def tally(self, metric: str) -> dict[str, int]:
        """The number of outcomes of a metric by value: `true`, `false`, `none`, and "" for all."""

    def each(
        self, filter: Filter, *, keys: Collection[str] | None = None, limit: int | None = None
    ) -> Iterator[OutcomeRow]:
        """The outcomes that match a filter; with `keys`, others of their details may be missing."""

    def numbers(self, filter: Filter, keys: Collection[str]) -> Mapping[str, np.ma.MaskedArray[Any, Any]]:
        """The fields among `keys` whose details are all numbers, for the outcomes that match a filter."""

    def kinds(self, metric: str) -> list[tuple[Outcome, list[int]]]:
        """The outcomes of a metric by groups and value: the first of each kind, and the positions of all of it."""

    def positions(self, filter: Filter) -> Sequence[int]:
        """The positions of the outcomes that match a filter, ascending."""

    def at(self, position: int) -> OutcomeRow:
        """The outcome at a position."""

    def read(self, positions: Sequence[int]) -> list[OutcomeRow]:
        """The outcomes at these positions, in this order."""

    def of_item(self, name: str) -> tuple[OutcomeRow, ...]:
        """All outcomes of an item; none if there is no such item."""

    def same_item(self, row: OutcomeRow) -> tuple[OutcomeRow, ...]:
        """All outcomes of a row's item, its own among them."""

    def same_items(self, rows: Sequence[OutcomeRow]) -> list[tuple[OutcomeRow, ...]]:
        """For each row, all outcomes of its item, read together."""
