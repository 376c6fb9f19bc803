"""The outcomes of one result, however many there are and wherever they are kept: filtered, sorted, page by page."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, TypeAlias

from wug.errors import InputError
from wug.types import Outcome

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
    """What the item's name or its sentences contain."""
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

    def page(self, wanted: Filter, *, after: int | None = None, before: int | None = None, size: int = PAGE) -> Page:
        """Outcomes in the order that is wanted behind the one at the place `after`, or in front of `before`."""

    def at(self, place: int) -> Placed:
        """The outcome at a place."""

    def same_item(self, row: Placed) -> tuple[Placed, ...]:
        """All judgements of an outcome's item, its own among them."""

    def groups(self, check: str, field: str) -> list[Mapping[str, str]]:
        """The groups of one outcome for each value of a field."""


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
            yield row if keys is None else Placed(row.place, _only(row.outcome, keys))

    def page(self, wanted: Filter, *, after: int | None = None, before: int | None = None, size: int = PAGE) -> Page:
        """Outcomes behind the one at the place `after`, or in front of `before`."""
        rows = self._sorted(wanted)
        bound = after if before is None else before
        keys = [_key(row, wanted.order) for row in rows]
        limit = None if bound is None else _key(self.at(bound), wanted.order)
        if before is not None and limit is not None:
            end = sum(key < limit for key in keys)
            first = max(0, end - size)
        else:
            first = 0 if limit is None else sum(key <= limit for key in keys)
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
        return rows if wanted.order == "place" else sorted(rows, key=lambda row: _key(row, wanted.order))


def fits(outcome: Outcome, wanted: Filter) -> bool:
    """Whether an outcome is wanted."""
    if wanted.check is not None and outcome.check != wanted.check:
        return False
    if wanted.value is not None and _word(outcome) != wanted.value:
        return False
    if wanted.group is not None and outcome.groups.get(wanted.group[0]) != wanted.group[1]:
        return False
    if not wanted.text:
        return True
    text = wanted.text.lower()
    return text in outcome.item.lower() or text in json.dumps(outcome.detail, ensure_ascii=False).lower()


def _word(outcome: Outcome) -> str:
    """`true`, `false`, `none`, or nothing for a measurement."""
    if outcome.value is None:
        return "none"
    return str(outcome.value).lower() if isinstance(outcome.value, bool) else ""


def _only(outcome: Outcome, keys: Collection[str]) -> Outcome:
    return replace(outcome, detail={key: value for key, value in outcome.detail.items() if key in keys})


def _key(row: Placed, order: Order) -> tuple[bool, float, int]:
    """What an order sorts by; outcomes of one value stand as the suite has them."""
    value = row.outcome.value
    if order == "place" or value is None:
        return order != "place", 0.0, row.place
    return False, float(value) if order == "lowest" else -float(value), row.place
