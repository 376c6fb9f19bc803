"""Some rows of many: every group has its share, so that a quick look at a suite sees all of its parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias, TypeVar

Row = TypeVar("Row")
Levels: TypeAlias = Callable[[int], Sequence[Hashable]]
"""Of the row at a place: what it belongs to, the coarsest group first, the same number of levels for all rows."""


def spread(rows: Sequence[Row], count: int) -> tuple[Row, ...]:
    """`count` of the rows, in their order and evenly spread; all of them where there are fewer."""
    if count >= len(rows):
        return tuple(rows)
    return tuple(rows[place * len(rows) // count] for place in range(count))


def shared(size: int, count: int, levels: Levels) -> tuple[int, ...]:
    """The places of `count` of `size` rows, in their order: each group has its share, and is evenly spread in itself.

    Groups are those of the finest level on which `count` suffices for one row of each; finer ones share what theirs has
    got. Where `count` does not suffice even for the coarsest groups, the largest have a row.
    """
    if count >= size:
        return tuple(range(size))
    return tuple(sorted(_chosen(range(size), count, {place: tuple(levels(place)) for place in range(size)}, 0)))


def shares(sizes: Sequence[int], count: int) -> list[int]:
    """How many of `count` rows each group gets: in proportion to its size, the largest remainders first.

    None gets less than one where `count` suffices for that, and none more than it has. Of equal remainders, those that
    have a place more are spread evenly over the groups.
    """
    least = min(1, count // max(1, len(sizes)))
    small: set[int] = set()
    while True:
        others = [group for group in range(len(sizes)) if group not in small]
        left, whole = count - len(small), sum(sizes[group] for group in others)
        quotas = {group: Fraction(left * sizes[group], whole) for group in others}
        below = {group for group, quota in quotas.items() if quota < least}
        if not below:
            break
        small |= below
    found = [1 if group in small else int(quotas[group]) for group in range(len(sizes))]
    for group in _largest_remainders({group: quota % 1 for group, quota in quotas.items()}, count - sum(found)):
        found[group] += 1
    return found


def limited(count: int | None, groups: int) -> dict[str, str]:
    """The option that says in a signature how many items were taken, and how where they are of several groups."""
    if count is None:
        return {}
    return {"limit": f"{count} by group" if groups > 1 else str(count)}


def levels_of(groups: Mapping[str, str], names: Sequence[str]) -> tuple[str, ...]:
    """The values of groups by their names, empty where one is not there."""
    return tuple(groups.get(name, "") for name in names)


def _chosen(places: Sequence[int], count: int, levels: Mapping[int, tuple[Hashable, ...]], level: int) -> list[int]:
    """So many of some rows that are alike above a level."""
    if count == 0:
        return []
    depth = len(levels[places[0]])
    fitting = [below for below in range(level, depth) if len(_sizes(places, levels, below)) <= count]
    chosen = max(fitting, default=level)
    if chosen >= depth or count >= len(places):
        return list(spread(places, count))
    members: dict[tuple[Hashable, ...], list[int]] = {}
    for place in places:
        members.setdefault(levels[place][: chosen + 1], []).append(place)
    parts = zip(members.values(), shares([len(some) for some in members.values()], count), strict=True)
    return [place for some, share in parts for place in _chosen(some, share, levels, chosen + 1)]


def _sizes(places: Sequence[int], levels: Mapping[int, tuple[Hashable, ...]], level: int) -> Counter[Hashable]:
    """How many rows each group of a level has."""
    return Counter(levels[place][: level + 1] for place in places)


def _largest_remainders(remainders: Mapping[int, Fraction], count: int) -> list[int]:
    """`count` of the groups, those with the largest remainders; of equal ones, evenly spread."""
    found: list[int] = []
    for remainder in sorted(set(remainders.values()), reverse=True):
        equal = [group for group, own in remainders.items() if own == remainder]
        found += spread(equal, count - len(found))
        if len(found) == count:
            break
    return found
