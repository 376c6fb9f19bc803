"""A sample that is the same every time: some rows of every group, spread over its length."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

Row = TypeVar("Row")
Key = TypeVar("Key")


def spread(rows: Iterable[Row], room: int, group: Callable[[Row], str]) -> dict[str, list[Row]]:
    """No more rows than there is room for, by group: as many of each as can be, evenly spaced.

    Groups stand as first met; where there are more of them than room, those shown are evenly spaced too.
    """
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(group(row), []).append(row)
    counts = allotted({name: len(members) for name, members in groups.items()}, room)
    return {name: _evenly(members, counts[name]) for name, members in groups.items() if counts[name]}


def allotted(sizes: Mapping[Key, int], room: int) -> dict[Key, int]:
    """How many of each group there is room for: what a small one leaves is for the others."""
    counts = dict.fromkeys(sizes, 0)
    left = min(room, sum(sizes.values()))
    while left > 0:
        open_groups = [name for name in sizes if counts[name] < sizes[name]]
        share = left // len(open_groups)
        for name in open_groups if share else _evenly(open_groups, left):
            taken = min(max(1, share), sizes[name] - counts[name])
            counts[name] += taken
            left -= taken
    return counts


def _evenly(rows: list[Row], count: int) -> list[Row]:
    """`count` rows, evenly spaced from the first on."""
    return [rows[place * len(rows) // count] for place in range(count)]
