"""Which items of a result a page shows, and in which order."""

from __future__ import annotations

import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from wug.identity import Group
from wug.rows import Filter
from wug.types import Outcome
from wug.views.numbers import finite, plain
from wug.views.parts import Key, Sort, sort_by
from wug.web.result_view import ResultView
from wug.web.site import Site, build_url, page_count

MAX_GROUP_CHOICES = 400
VALUE_LABELS = {"": "all", "true": "passing", "false": "failing", "none": "not judged"}
SAMPLED_ROWS = 20
"""Rows that are read to find out which details can be sorted by."""
TEXT_DETAILS = ("sentence", "source", "good", "context", "text")
"""Details that hold an item's text; the first one present defines its length."""
MAX_CACHED_ORDERS = 24
"""Sorted results in memory, so that the next page needs no sorting."""

_cached_orders: OrderedDict[object, Sequence[int]] = OrderedDict()
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class ItemQuery:
    """Query parameters of a page of items."""

    check: str
    value: str
    group: str
    """`field=value`."""
    text: str
    default_check: str
    """The metric that a URL without one means."""
    sort: str = ""
    """Id of a sort option, descending with `-` in front; empty for the order of the suite."""

    @classmethod
    def parse(cls, view: ResultView, query: Mapping[str, str]) -> ItemQuery:
        """Parse query parameters; invalid values are ignored."""
        value = query.get("value", "")
        return cls(
            check=query.get("check") or view.items.check,
            value=value if value in VALUE_LABELS else "",
            group=query.get("group", ""),
            text=query.get("q", "").strip(),
            default_check=view.items.check,
            sort=query.get("sort", ""),
        )

    @property
    def filter(self) -> Filter:
        """The filter for the outcomes."""
        group = Group.parse(self.group)
        return Filter(
            check=self.check or None,
            value=self.value or None,
            group=(group.field, group.value) if "=" in self.group else None,
            text=self.text or None,
        )

    def url(self, path: str, **changed: object) -> str:
        """The URL of this query with some parameters changed."""
        check = "" if self.check == self.default_check else self.check
        own = {"check": check, "value": self.value, "group": self.group, "q": self.text, "sort": self.sort}
        return build_url(path, {**own, **changed})


@dataclass(frozen=True, slots=True)
class ItemPage:
    """Positions of the items on one page."""

    places: Sequence[int]
    first: int
    """Rank of the first of them among all, from 1."""
    total: int
    page: int
    pages: int

    @property
    def last(self) -> int:
        """Rank of the last of them."""
        return self.first + len(self.places) - 1


def group_choices(view: ResultView, check: str) -> dict[str, list[str]]:
    """Groups that the items of a metric can be filtered by: field → values."""
    found: dict[str, list[str]] = {}
    groups = (Group.parse(one.group) for one in view.result.estimates if one.check == check)
    for group in islice((group for group in groups if not group.is_overall), MAX_GROUP_CHOICES):
        found.setdefault(group.field, []).append(group.value)
    # A group of all items filters nothing, and macro averages are not groups of items.
    return {field: values for field, values in found.items() if len(values) > 1 and field != "macro"}


def sort_options(view: ResultView, check: str) -> list[Sort]:
    """Sort options for the items of a metric: those of the family, numeric details, length, groups, name."""
    some = [row.outcome for row in islice(view.rows.each(Filter(check), most=SAMPLED_ROWS), SAMPLED_ROWS)]
    found = {sort.id: sort for sort in view.items.sorts}
    if any(isinstance(one.value, float) for one in some):
        found.setdefault("value", sort_by("value", plain(check), lambda outcome: finite(outcome.value)))
    for name in dict.fromkeys(name for one in some for name, value in one.detail.items() if _is_number(value)):
        found.setdefault(name, sort_by(name, plain(name), _detail_key(name), name))
    if any(isinstance(one.detail.get(name), str) for one in some for name in TEXT_DETAILS):
        found.setdefault("length", sort_by("length", "length (words)", _word_count, *TEXT_DETAILS))
    for field in group_choices(view, check):
        found.setdefault(f"group:{field}", sort_by(f"group:{field}", plain(field), _group_key(field)))
    found.setdefault(
        "item", sort_by("item", f"name of the {view.items.noun}", lambda outcome: _number_or_text(outcome.item))
    )
    return list(found.values())


def ordered_places(site: Site, view: ResultView, query: ItemQuery) -> Sequence[int]:
    """Positions of all items that match a query, in its order."""
    key = (site.reader.identity(), view.id, query.filter, query.sort)
    with _lock:
        if key in _cached_orders:
            _cached_orders.move_to_end(key)
            return _cached_orders[key]
    made = _order(view, query)
    if view.run.status == "complete":  # else it may grow
        with _lock:
            _cached_orders[key] = made
            while len(_cached_orders) > MAX_CACHED_ORDERS:
                _cached_orders.popitem(last=False)
    return made


def item_page(places: Sequence[int], page: int, page_size: int) -> ItemPage:
    """One page of positions; the last one if the number is too high."""
    pages = page_count(len(places), page_size)
    page = min(page, pages)
    start = (page - 1) * page_size
    return ItemPage(places[start : start + page_size], start + 1, len(places), page, pages)


def neighbours(places: Sequence[int], place: int) -> tuple[int | None, int | None]:
    """The previous and the next position; None at the ends, or if the position is not among them."""
    try:
        at = places.index(place)
    except ValueError:
        return None, None
    return places[at - 1] if at else None, places[at + 1] if at + 1 < len(places) else None


def sorted_places(values: Iterable[tuple[int, Key]], *, descending: bool) -> Iterator[int]:
    """Positions sorted by value: numbers, then texts, then those without a value; the sort is stable."""
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
    yield from (place for _, place in sorted(numbers, key=lambda one: one[0], reverse=descending))
    yield from (place for _, place in sorted(texts, key=lambda one: one[0], reverse=descending))
    yield from without


def _order(view: ResultView, query: ItemQuery) -> Sequence[int]:
    name, descending = query.sort.removeprefix("-"), query.sort.startswith("-")
    sort = next((one for one in sort_options(view, query.check) if one.id == name), None) if name else None
    if sort is None:
        return view.rows.places(query.filter)
    values = sort.values(view.rows, replace(query.filter, order="place"))
    return array("q", sorted_places(values, descending=descending))


def _detail_key(name: str) -> Callable[[Outcome], Key]:
    return lambda outcome: finite(outcome.detail.get(name))


def _group_key(field: str) -> Callable[[Outcome], Key]:
    return lambda outcome: _number_or_text(outcome.groups.get(field))


def _word_count(outcome: Outcome) -> Key:
    text = next((text for name in TEXT_DETAILS if isinstance(text := outcome.detail.get(name), str)), None)
    return None if text is None else float(len(text.split()))


def _number_or_text(text: str | None) -> Key:
    try:
        return text if text is None else finite(float(text))
    except ValueError:
        return text


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
