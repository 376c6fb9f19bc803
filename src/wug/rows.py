"""The outcomes of one result, however many there are and wherever they are kept: filtered, sorted, page by page."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, TypeAlias

from wug.errors import InputError
from wug.types import Outcome, Result, Value

PAGE = 50
"""Outcomes on a page."""
Order: TypeAlias = Literal["place", "lowest", "highest"]
"""As the suite has them, or by their values, those without one last."""
VALUES = ("true", "false", "none")


@dataclass(frozen=True, slots=True)
class Filter:
    """Which outcomes are wanted, and in which order."""

    check: str | None = None
    value: str | None = None
    """`true`, `false` or `none`; None for all."""
    group: tuple[str, str] | None = None
    """Field and value."""
    text: str | None = None
    """What the item's name or its sentences contain, in capital letters or small ones."""
    order: Order = "place"

    def __post_init__(self) -> None:
        if self.value is not None and self.value not in VALUES:
            raise InputError(f"{self.value!r} is no value to look for. Use one of {', '.join(VALUES)}")


@dataclass(frozen=True, slots=True)
class Placed:
    """An outcome with its place in the result."""

    place: int
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Page:
    """Some outcomes, and where the pages beside it begin."""

    rows: tuple[Placed, ...]
    before: int | None = None
    """Give it as `before` for the page in front; None where there is none."""
    after: int | None = None
    """Give it as `after` for the next page; None where there is none."""


class Rows(Protocol):
    """The outcomes of a result."""

    def checks(self) -> list[str]:
        """The checks that there are outcomes of."""

    def tally(self, check: str) -> dict[str, int]:
        """How many outcomes a check has: all of them under ``, those `true`, `false` and `none`."""

    def count(self, wanted: Filter) -> int:
        """How many outcomes are wanted."""

    def each(self, wanted: Filter, *, keys: Collection[str] | None = None, most: int | None = None) -> Iterator[Placed]:
        """All outcomes that are wanted, one after the other; with `keys`, these parts of their detail alone."""

    def places(self, wanted: Filter) -> Sequence[int]:
        """The places of all outcomes that are wanted, in the order of places, without reading them."""

    def page(self, wanted: Filter, *, after: int | None = None, before: int | None = None, size: int = PAGE) -> Page:
        """Outcomes in the order that is wanted behind the one at the place `after`, or in front of `before`."""

    def at(self, place: int) -> Placed:
        """The outcome at a place."""

    def same_item(self, row: Placed) -> tuple[Placed, ...]:
        """All judgements of an outcome's item, its own among them."""

    def groups(self, check: str, field: str) -> list[Mapping[str, str]]:
        """The groups of one outcome for each value of a field."""


class Elsewhere(Sequence[Outcome], ABC):
    """The outcomes of a result that are not in memory, and are read when someone looks."""

    @abstractmethod
    def rows(self) -> Rows:
        """The same, filtered, sorted, page by page."""

    @abstractmethod
    def fields(self) -> list[str]:
        """What they are grouped by, in the order in which it comes."""


def fields_of(result: Result) -> list[str]:
    """What the outcomes of a result are grouped by, in the order in which it comes."""
    if isinstance(result.outcomes, Elsewhere):
        return result.outcomes.fields()
    return list(dict.fromkeys(field for outcome in result.outcomes for field in outcome.groups))


def rows_of(result: Result) -> Rows:
    """The outcomes of a result, wherever they are."""
    return result.outcomes.rows() if isinstance(result.outcomes, Elsewhere) else InMemory(result.outcomes)


@dataclass(frozen=True, slots=True)
class InMemory:
    """The outcomes of a result that has them with it."""

    outcomes: Sequence[Outcome]
    _items: dict[str, list[Placed]] = field(default_factory=dict, init=False, compare=False, repr=False)

    def checks(self) -> list[str]:
        """The checks that there are outcomes of."""
        return sorted({outcome.check for outcome in self.outcomes})

    def tally(self, check: str) -> dict[str, int]:
        """How many outcomes a check has: all of them under ``, those `true`, `false` and `none`."""
        found = Counter(_word(outcome) for outcome in self.outcomes if outcome.check == check)
        return {"": found.total(), **{value: found[value] for value in VALUES}}

    def count(self, wanted: Filter) -> int:
        """How many outcomes are wanted."""
        return sum(fits(outcome, wanted) for outcome in self.outcomes)

    def each(self, wanted: Filter, *, keys: Collection[str] | None = None, most: int | None = None) -> Iterator[Placed]:
        """All outcomes that are wanted, one after the other."""
        for row in self._sorted(wanted)[:most]:
            detail = row.outcome.detail
            shown = detail if keys is None else {key: detail[key] for key in detail if key in keys}
            yield Placed(row.place, replace(row.outcome, detail=shown))

    def places(self, wanted: Filter) -> Sequence[int]:
        """The places of all outcomes that are wanted."""
        return [place for place, outcome in enumerate(self.outcomes) if fits(outcome, wanted)]

    def page(self, wanted: Filter, *, after: int | None = None, before: int | None = None, size: int = PAGE) -> Page:
        """Outcomes behind the one at the place `after`, or in front of `before`."""
        rows = self._sorted(wanted)
        keys = [_key(row.place, row.outcome.value, wanted.order) for row in rows]
        if before is not None:
            end = bisect_left(keys, self._bound(before, wanted.order))
            first = max(0, end - size)
        else:
            first = 0 if after is None else bisect_right(keys, self._bound(after, wanted.order))
            end = min(len(rows), first + size)
        found = tuple(rows[first:end])
        if not found:
            return Page(())
        return Page(found, found[0].place if first > 0 else None, found[-1].place if end < len(rows) else None)

    def at(self, place: int) -> Placed:
        """The outcome at a place."""
        if not 0 <= place < len(self.outcomes):
            raise InputError(f"there is no outcome {place}")
        return Placed(place, self.outcomes[place])

    def same_item(self, row: Placed) -> tuple[Placed, ...]:
        """All judgements of an outcome's item, its own among them."""
        if not self._items:
            for place, outcome in enumerate(self.outcomes):
                self._items.setdefault(outcome.item, []).append(Placed(place, outcome))
        return tuple(self._items[row.outcome.item])

    def groups(self, check: str, field: str) -> list[Mapping[str, str]]:
        """The groups of one outcome for each value of a field."""
        found: dict[str | None, Mapping[str, str]] = {}
        for outcome in self.outcomes:
            if outcome.check == check:
                found.setdefault(outcome.groups.get(field), outcome.groups)
        return list(found.values())

    def _sorted(self, wanted: Filter) -> list[Placed]:
        rows = [Placed(place, outcome) for place, outcome in enumerate(self.outcomes) if fits(outcome, wanted)]
        if wanted.order == "place":
            return rows
        return sorted(rows, key=lambda row: _key(row.place, row.outcome.value, wanted.order))

    def _bound(self, place: int, order: Order) -> tuple[bool, float, int]:
        """The key of a place; in the order of places it may be one that no outcome has."""
        return _key(place, None if order == "place" else self.at(place).outcome.value, order)


def fits(outcome: Outcome, wanted: Filter) -> bool:
    """Whether an outcome is wanted."""
    if wanted.check is not None and outcome.check != wanted.check:
        return False
    if wanted.value is not None and _word(outcome) != wanted.value:
        return False
    if wanted.group is not None and outcome.groups.get(wanted.group[0]) != wanted.group[1]:
        return False
    return not wanted.text or mentions(outcome, wanted.text)


def mentions(outcome: Outcome, text: str) -> bool:
    """Whether the item's name, or a text anywhere in the detail, contains `text`, in capital letters or small ones."""
    sought = text.casefold()
    return any(sought in found.casefold() for found in (outcome.item, *_texts(outcome.detail)))


def _texts(detail: Any) -> Iterator[str]:
    """Every text in JSON-able data; names of fields are none."""
    waiting = [detail]
    while waiting:
        match waiting.pop():
            case str(text):
                yield text
            case Mapping() as fields:
                waiting.extend(fields.values())
            case list() | tuple() as parts:
                waiting.extend(parts)


def _word(outcome: Outcome) -> str:
    """`true`, `false`, `none`, or nothing for a measurement."""
    if outcome.value is None or math.isnan(outcome.value):  # a store, too, takes NaN for nothing to judge
        return "none"
    return str(outcome.value).lower() if isinstance(outcome.value, bool) else ""


def _key(place: int, value: Value, order: Order) -> tuple[bool, float, int]:
    """What an order sorts by; outcomes of one value stand as the suite has them."""
    if order == "place" or value is None or math.isnan(value):
        return order != "place", 0.0, place
    return False, float(value) if order == "lowest" else -float(value), place
