"""Which items of a result are wanted: what the address says, and what there is to choose from."""

from __future__ import annotations

import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from wug.rows import Filter
from wug.show.numbers import finite, plain
from wug.show.view import Key, Sort, sort_by
from wug.types import Outcome
from wug.web.result_view import Look
from wug.web.site import Site, address

GROUPS = 400
"""Groups that a list to choose from holds."""
VALUES = {"": "all", "true": "passing", "false": "failing", "none": "not judged"}


@dataclass(frozen=True, slots=True)
class Choice:
    """What the address asks for."""

    check: str
    value: str
    group: str
    """`field=value`."""
    text: str
    usual: str
    """The check that is meant where the address names none."""
    sort: str = ""
    """What they are sorted by, behind a `-` the highest first; empty for the order of the suite."""

    @property
    def wanted(self) -> Filter:
        """As the store is asked."""
        field, equals, value = self.group.partition("=")
        return Filter(
            check=self.check or None,
            value=self.value or None,
            group=(field, value) if equals else None,
            text=self.text or None,
        )

    def query(self, **changed: object) -> dict[str, object]:
        """As the address has it."""
        check = "" if self.check == self.usual else self.check
        return {"check": check, "value": self.value, "group": self.group, "q": self.text, "sort": self.sort, **changed}

    def link(self, path: str, **changed: object) -> str:
        """The address of the same with something changed."""
        return address(path, self.query(**changed))


def choice(look: Look, query: Mapping[str, str]) -> Choice:
    """The wishes in an address; a value that makes no sense is as if it were not there."""
    usual = look.items.check
    value = query.get("value", "")
    return Choice(
        check=query.get("check") or usual,
        value=value if value in VALUES else "",
        group=query.get("group", ""),
        text=query.get("q", "").strip(),
        usual=usual,
        sort=query.get("sort", ""),
    )


def groups(look: Look, check: str) -> dict[str, list[str]]:
    """The groups of a check that items can be chosen by: field → values."""
    found: dict[str, list[str]] = {}
    room = GROUPS
    for estimate in look.result.estimates:
        field, equals, value = estimate.group.partition("=")
        if estimate.check == check and equals and room > 0:
            found.setdefault(field, []).append(value)
            room -= 1
    # A group of everything chooses nothing; `macro` and the like are no groups of items.
    return {field: values for field, values in found.items() if len(values) > 1 and field != "macro"}


FEW = 20
"""Rows that are looked at to see what they carry."""
TEXTS = ("sentence", "source", "good", "context", "text")
"""The parts of a detail that an item's length is that of, the first that it has."""
KEPT = 24
"""Orders that are remembered: the next page of one needs no sorting."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """The places on one page of items."""

    places: Sequence[int]
    first: int
    """The number of the first of them among all, from 1 on."""
    total: int
    page: int
    pages: int

    @property
    def last(self) -> int:
        """The number of the last of them."""
        return self.first + len(self.places) - 1


def sorts(look: Look, check: str) -> list[Sort]:
    """What the items of a check can be sorted by: as their family says, by numbers that they carry, by group."""
    some = [row.outcome for row in islice(look.rows.each(Filter(check), most=FEW), FEW)]
    found = {sort.id: sort for sort in look.items.sorts}
    if any(isinstance(one.value, float) for one in some):
        found.setdefault("value", sort_by("value", plain(check), lambda outcome: finite(outcome.value)))
    for name in dict.fromkeys(name for one in some for name, value in one.detail.items() if _is_number(value)):
        found.setdefault(name, sort_by(name, plain(name), _part(name), name))
    if any(isinstance(one.detail.get(name), str) for one in some for name in TEXTS):
        found.setdefault("length", sort_by("length", "length (words)", _words, *TEXTS))
    for field in groups(look, check):
        found.setdefault(f"group:{field}", sort_by(f"group:{field}", plain(field), _group(field)))
    found.setdefault("item", sort_by("item", f"name of the {look.items.noun}", lambda outcome: _number(outcome.item)))
    return list(found.values())


def places(site: Site, look: Look, chosen: Choice) -> Sequence[int]:
    """The places of all items that are wanted, in the order that is chosen."""
    key = (site.shelf.identity(), look.id, chosen.wanted, chosen.sort)
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    made = _ordered(look, chosen)
    if look.run.status == "complete":  # else there may be more of them at the next look
        with _lock:
            _kept[key] = made
            while len(_kept) > KEPT:
                _kept.popitem(last=False)
    return made


def stretch(found: Sequence[int], page: int, size: int) -> Stretch:
    """A page of them; the last one where there is none of that number."""
    pages = max(1, -(-len(found) // size))
    page = min(page, pages)
    start = (page - 1) * size
    return Stretch(found[start : start + size], start + 1, len(found), page, pages)


def neighbours(found: Sequence[int], place: int) -> tuple[int | None, int | None]:
    """The places in front of and behind one; none where it is not among them."""
    try:
        at = found.index(place)
    except ValueError:
        return None, None
    return found[at - 1] if at else None, found[at + 1] if at + 1 < len(found) else None


def _ordered(look: Look, chosen: Choice) -> Sequence[int]:
    name, falls = chosen.sort.removeprefix("-"), chosen.sort.startswith("-")
    sort = next((one for one in sorts(look, chosen.check) if one.id == name), None) if name else None
    if sort is None:
        return look.rows.places(chosen.wanted)
    return array("q", sorted_places(sort.values(look.rows, replace(chosen.wanted, order="place")), falls=falls))


def sorted_places(values: Iterable[tuple[int, Key]], *, falls: bool) -> Iterator[int]:
    """Places by their values, numbers before texts, those without one last; of one value, as they stand."""
    numbers: list[tuple[float, int]] = []
    texts: list[tuple[str, int]] = []
    without: list[int] = []
    for place, value in values:
        if value is None:
            without.append(place)
        elif isinstance(value, str):
            texts.append((value, place))
        else:
            numbers.append((value, place))
    yield from (place for _, place in sorted(numbers, key=lambda one: one[0], reverse=falls))
    yield from (place for _, place in sorted(texts, key=lambda one: one[0], reverse=falls))
    yield from without


_kept: OrderedDict[object, Sequence[int]] = OrderedDict()
_lock = threading.Lock()


def _part(name: str) -> Callable[[Outcome], Key]:
    return lambda outcome: finite(outcome.detail.get(name))


def _group(field: str) -> Callable[[Outcome], Key]:
    return lambda outcome: _number(outcome.groups.get(field))


def _words(outcome: Outcome) -> Key:
    """How many words the first text of an item has."""
    text = next((text for name in TEXTS if isinstance(text := outcome.detail.get(name), str)), None)
    return None if text is None else float(len(text.split()))


def _number(text: str | None) -> Key:
    """A text that is a number as one."""
    try:
        return text if text is None else finite(float(text))
    except ValueError:
        return text


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
