"""Samples of a suite: proportional to the groups, and a larger sample contains every smaller one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from wug.errors import InputError

Row = TypeVar("Row")
Levels: TypeAlias = Callable[[int], Sequence[Hashable]]
"""Returns the groups of the row with an index, the coarsest first; all rows have the same number of levels."""
_Group: TypeAlias = tuple[Hashable, ...]
_GOLDEN = 0x9E3779B97F4A7C15
"""The fractional part of the golden ratio, times 2 ** 64."""


def evenly_spaced(rows: Sequence[Row], count: int) -> tuple[Row, ...]:
    """`count` evenly spaced rows, in order; all rows if there are fewer."""
    if count >= len(rows):
        return tuple(rows)
    return tuple(rows[index * len(rows) // count] for index in range(count))


def sampled(size: int, count: int, levels: Levels = lambda index: ()) -> tuple[int, ...]:
    """The indices of `count` of `size` rows, in order: the first `count` of an order that does not depend on it.

    The order begins with one row of each of the coarsest groups. One row of each group of the next level that has none
    yet follows, down to the finest; the largest groups come first. After that, rows are taken from the finest groups in
    proportion to their sizes, by the method of Webster and Sainte-Laguë. The rows of a group are evenly spread.
    """
    if not isinstance(count, int) or count < 1:
        raise InputError(f"{count!r} items: write a whole number, 1 or more")
    if count >= size:
        return tuple(range(size))
    groups = [tuple(levels(index)) for index in range(size)]
    depth = len(groups[0])
    members: list[dict[_Group, list[int]]] = [{} for _ in range(depth + 1)]
    for index, group in enumerate(groups):
        for level, by_group in enumerate(members):
            by_group.setdefault(group[:level], []).append(index)
    ties = [dict(zip(by_group, _turns(len(by_group)), strict=True)) for by_group in members]
    order: dict[int, tuple[int, float, int]] = {}
    for group, indices in members[depth].items():
        for index, turn in zip(indices, _turns(len(indices)), strict=True):
            order[index] = depth + 1, (2 * turn + 1) / len(indices), ties[depth][group]
    for level in range(depth, 0, -1):  # a coarser group takes its first row from those of its finer groups
        for group, indices in members[level].items():
            first = min(indices, key=order.__getitem__)
            order[first] = level, 1 / len(indices), ties[level][group]
    return tuple(sorted(sorted(order, key=order.__getitem__)[:count]))


def strata_of(groups: Sequence[Mapping[str, str]], names: Sequence[str] | None = None) -> list[tuple[str, ...]]:
    """The values of the groups with these names, by default of all groups, of each item."""
    chosen = dict.fromkeys(name for item_groups in groups for name in item_groups) if names is None else names
    return [tuple(item_groups.get(name, "") for name in chosen) for item_groups in groups]


def _turns(size: int) -> list[int]:
    """The turn of each of `size` rows. Rows taken up to any turn are evenly spread, by steps of the golden ratio."""
    taken: dict[int, None] = {}
    number = 0
    while len(taken) < size:
        taken.setdefault((number * _GOLDEN % (1 << 64)) * size >> 64)
        number += 1
    turns = [0] * size
    for turn, index in enumerate(taken):
        turns[index] = turn
    return turns
