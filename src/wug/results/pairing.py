"""Outcomes of two sides brought together, item by item, and what the numbers say about them."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from wug import stats_paired as paired
from wug.rows import Placed

if TYPE_CHECKING:
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"
Ints: TypeAlias = "NDArray[np.int64]"


@dataclass(frozen=True, slots=True)
class Column:
    """The values of one check, outcome by outcome; those with nothing to judge left out."""

    judged: bool
    """Right or wrong, as 1 and 0; else numbers."""
    units: Ints
    """The number of what each belongs to: its item, or the first item that was asked the same source."""
    keys: Ints
    """The number of the item, and which of its outcomes it is: no two are the same."""
    places: Ints
    """Which outcome of the result."""
    values: Floats
    non_finite: int
    """Values that are no finite numbers, left out."""


@dataclass(frozen=True, slots=True)
class Paired:
    """Outcomes that both sides have, in the order of the first side's first run."""

    units: Ints
    names: Sequence[str]
    """What the units are called, by their numbers."""
    judged: bool
    first: Floats
    """A row for each run of the side, or for each of its steps."""
    second: Floats
    places: Ints
    """Where in the first run of each side an outcome stands: two columns."""
    left_out: tuple[int, int]
    """Outcomes of the first and of the second side that the other lacks."""

    @property
    def differences(self) -> Floats:
        """Of each outcome's mean over runs, the second side's from the first's."""
        found: Floats = self.second.mean(axis=0) - self.first.mean(axis=0)
        return found


@dataclass(frozen=True, slots=True)
class Clusters:
    """The items of paired outcomes: the sum of each one's differences, and how many there are."""

    units: Ints
    """Their numbers, in the order in which they come."""
    sums: Floats
    apart: Floats
    """The sum of the differences without their signs: 0 where the sides agree on all of an item's outcomes."""
    sizes: Floats
    firsts: Ints
    """The place of each one's first outcome in the pairing."""
    single: bool
    """Whether each has one outcome."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The difference of two sides, as the tests see it."""

    low: float | None
    high: float | None
    interval_method: str
    tested: paired.Tested


class Names:
    """The items of a suite by numbers, the same for all runs of it."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, item: str) -> int:
        """The number of an item."""
        return self._numbers.setdefault(item, len(self._numbers))

    def all(self) -> list[str]:
        """The items in the order of their numbers."""
        return list(self._numbers)


@dataclass(slots=True)
class _Rows:
    """The outcomes of a check as they come."""

    places: array[int] = field(default_factory=lambda: array("q"))
    items: array[int] = field(default_factory=lambda: array("q"))
    values: array[float] = field(default_factory=lambda: array("d"))
    judged: bool = True
    non_finite: int = 0


def columns(rows: Iterable[Placed], names: Names) -> dict[str, Column]:
    """The column of each check among outcomes."""
    found: dict[str, _Rows] = {}
    first: dict[str, int] = {}
    repeating: dict[int, int] = {}
    for row in rows:
        outcome, value = row.outcome, row.outcome.value
        item = names.number(outcome.item)
        source = outcome.detail.get("source")
        if isinstance(source, str) and first.setdefault(source, item) != item:
            repeating[item] = first[source]
        if value is None:
            continue
        some = found.setdefault(outcome.check, _Rows())
        if math.isfinite(value):
            some.places.append(row.place)
            some.items.append(item)
            some.values.append(value)
            some.judged = some.judged and isinstance(value, bool)
        else:
            some.non_finite += 1
    stands = np.arange(len(names))
    stands[list(repeating)] = list(repeating.values())
    return {check: _column(some, stands) for check, some in found.items() if some.values}


def _column(rows: _Rows, stands: Ints) -> Column:
    """The outcomes of a check; `stands` has for each item the one that stands for it."""
    items = np.asarray(rows.items)
    values = np.asarray(rows.values)
    return Column(rows.judged, stands[items], _keys(items), np.asarray(rows.places), values, rows.non_finite)


def _keys(items: Ints) -> Ints:
    """The number of each outcome's item, and above it which of the item's outcomes it is."""
    order = np.argsort(items, kind="stable")
    ordered = items[order]
    begins = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    times = np.arange(len(items)) - np.repeat(begins, np.diff([*begins, len(items)]))
    keys = items.copy()
    keys[order] += times << 40
    return keys


def pair(
    first: Sequence[Column],
    second: Sequence[Column],
    names: Sequence[str],
    steps: tuple[Sequence[float], Sequence[float]] | None = None,
) -> Paired:
    """The outcomes that all runs of both sides have; with `steps`, the runs of one step as one row, their mean."""
    every = (*first, *second)
    keys = first[0].keys
    for column in every[1:]:
        keys = keys[np.isin(keys, column.keys)]
    rows = []
    for column in every:
        order = np.argsort(column.keys)
        rows.append(order[np.searchsorted(column.keys, keys, sorter=order)])
    values = np.stack([column.values[row] for column, row in zip(every, rows, strict=True)])
    left, right = rows[0], rows[len(first)]
    ours, theirs = values[: len(first)], values[len(first) :]
    if steps is not None:
        ours, theirs = _by_step(ours, steps[0]), _by_step(theirs, steps[1])
    shared = len(keys)
    return Paired(
        units=first[0].units[left],
        names=names,
        judged=all(column.judged for column in every),
        first=ours,
        second=theirs,
        places=np.stack([first[0].places[left], second[0].places[right]], axis=1),
        left_out=(max(len(c.keys) for c in first) - shared, max(len(c.keys) for c in second) - shared),
    )


def _by_step(rows: Floats, steps: Sequence[float]) -> Floats:
    """The mean of the rows of each step."""
    of = np.asarray(steps)
    return np.stack([rows[of == step].mean(axis=0) for step in np.unique(of)])


def pooled(parts: Sequence[tuple[str, Paired]]) -> Paired:
    """Several checks taken together; items of different suites, which the names tell apart, stay different."""
    several = len({suite for suite, _ in parts}) > 1
    numbers = Names()
    units = []
    for suite, part in parts:
        unique, inverse = np.unique(part.units, return_inverse=True)
        named = (f"{suite}: {part.names[unit]}" if several else part.names[unit] for unit in unique.tolist())
        units.append(np.asarray([numbers.number(name) for name in named], np.int64)[inverse])
    return Paired(
        units=np.concatenate(units),
        names=numbers.all(),
        judged=all(part.judged for _, part in parts),
        first=np.concatenate([part.first for _, part in parts], axis=1),
        second=np.concatenate([part.second for _, part in parts], axis=1),
        places=np.concatenate([part.places for _, part in parts]),
        left_out=(sum(part.left_out[0] for _, part in parts), sum(part.left_out[1] for _, part in parts)),
    )


def cluster(rows: Paired) -> Clusters:
    """The outcomes of a pairing by item, the items in the order in which they come."""
    differences = rows.differences
    unique, firsts, inverse = np.unique(rows.units, return_index=True, return_inverse=True)
    if len(unique) == len(rows.units):
        places = np.arange(len(unique))
        return Clusters(rows.units, differences, np.abs(differences), np.ones(len(places)), places, True)
    order = np.argsort(firsts)
    rank = np.empty(len(unique), np.intp)
    rank[order] = np.arange(len(unique))
    of = rank[inverse]
    sums: Floats = np.bincount(of, weights=differences).astype(np.float64)
    apart: Floats = np.bincount(of, weights=np.abs(differences)).astype(np.float64)
    sizes: Floats = np.bincount(of).astype(np.float64)
    return Clusters(unique[order], sums, apart, sizes, firsts[order], False)


def judge(rows: Paired, clusters: Clusters, interval: paired.IntervalKind, seed: int, tests: int) -> Verdict:
    """The interval and the p-value of the difference, one of so many `tests`.

    McNemar's test and Tango's interval for right or wrong, one run against one, one outcome an item; for all else
    (numbers, means over runs, several outcomes an item) Student's test and interval, by items. Sign flips go with a
    bootstrap interval, and test differences that do not vary, which have no interval.
    """
    if rows.judged and clusters.single and len(rows.first) == len(rows.second) == 1:
        only_first = int(np.sum(rows.first[0] > rows.second[0]))
        only_second = int(np.sum(rows.first[0] < rows.second[0]))
        found = paired.tango(only_first, only_second, len(rows.units))
        return Verdict(found.low, found.high, "tango", paired.mcnemar(only_first, only_second))
    # A sum over runs that is 0 but for rounding is 0.
    sums = np.where(np.abs(clusters.sums) < 1e-12, 0.0, clusters.sums)
    by = "" if clusters.single else "cluster "
    if interval == "bca" and len(sums) <= paired.DRAWN:
        flipped, made = paired.flip_signs(sums, seed, tests), paired.bca_interval(sums, clusters.sizes, seed)
        return Verdict(None, None, "", flipped) if made is None else Verdict(made.low, made.high, f"{by}bca", flipped)
    made, tested = paired.t_interval(sums, clusters.sizes), paired.t_test(sums, clusters.sizes)
    if made is None or tested is None:
        return Verdict(None, None, "", paired.flip_signs(sums, seed, tests))
    return Verdict(made.low, made.high, f"{by}t", paired.Tested(tested.p, f"{by}{tested.method}"))
