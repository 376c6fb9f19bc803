"""Samples of a suite: every group has its share, and a larger sample contains every smaller one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from wug.errors import InputError

Row = TypeVar("Row")
Levels: TypeAlias = Callable[[int], Sequence[Hashable]]
"""Of the row at a place: what it belongs to, the coarsest group first, the same number of levels for all rows."""
Group: TypeAlias = tuple[Hashable, ...]
GOLDEN = 0x9E3779B97F4A7C15
"""The golden ratio less 1, as a part of 2 ** 64."""


def spread(rows: Sequence[Row], count: int) -> tuple[Row, ...]:
    """`count` of the rows, in their order and evenly spread; all of them where there are fewer."""
    if count >= len(rows):
        return tuple(rows)
    return tuple(rows[place * len(rows) // count] for place in range(count))


def sampled(size: int, count: int, levels: Levels = lambda place: ()) -> tuple[int, ...]:
    """The places of `count` of `size` rows, in their order: the first `count` of an order that does not depend on it.

    First comes a row of each of the coarsest groups, then one of each group of the next level that has none yet, down
    to the finest; the largest groups come first. Then each of the finest groups has rows in proportion to its size, by
    the method of Webster and Sainte-Laguë. The rows of a group are evenly spread.
    """
    if not isinstance(count, int) or count < 1:
        raise InputError(f"{count!r} items: write a whole number, 1 or more")
    if count >= size:
        return tuple(range(size))
    groups = [tuple(levels(place)) for place in range(size)]
    depth = len(groups[0])
    members: list[dict[Group, list[int]]] = [{} for _ in range(depth + 1)]
    for place, group in enumerate(groups):
        for level, some in enumerate(members):
            some.setdefault(group[:level], []).append(place)
    ties = [dict(zip(some, _turns(len(some)), strict=True)) for some in members]
    order: dict[int, tuple[int, float, int]] = {}
    for group, places in members[depth].items():
        for place, turn in zip(places, _turns(len(places)), strict=True):
            order[place] = depth + 1, (2 * turn + 1) / len(places), ties[depth][group]
    for level in range(depth, 0, -1):  # coarser groups take from what stands for the finer ones
        for group, places in members[level].items():
            first = min(places, key=order.__getitem__)
            order[first] = level, 1 / len(places), ties[level][group]
    return tuple(sorted(sorted(order, key=order.__getitem__)[:count]))


def limited(count: int | None, groups: int) -> dict[str, str]:
    """The option that says in a signature how many items were taken, and how where they are of several groups."""
    if count is None:
        return {}
    return {"limit": f"{count} by group" if groups > 1 else str(count)}


def levels_of(groups: Mapping[str, str], names: Sequence[str]) -> tuple[str, ...]:
    """The values of groups by their names, empty where one is not there."""
    return tuple(groups.get(name, "") for name in names)


def of_whole_file(notices: Iterable[str]) -> tuple[str, ...]:
    """Warnings about a file, as a sample of it gives them: what they count may not be in the sample."""
    return tuple(f"in the whole file: {notice}" for notice in notices)


def _turns(size: int) -> list[int]:
    """When each of `size` rows is taken: however many are, they are evenly spread, by steps of the golden ratio."""
    taken: dict[int, None] = {}
    number = 0
    while len(taken) < size:
        taken.setdefault((number * GOLDEN % (1 << 64)) * size >> 64)
        number += 1
    turns = [0] * size
    for turn, place in enumerate(taken):
        turns[place] = turn
    return turns
