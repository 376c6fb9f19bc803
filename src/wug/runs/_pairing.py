"""Outcomes of two sides brought together, item by item, and what the numbers say about them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from wug import stats_paired as paired
from wug.rows import Placed
from wug.stats import same_source

if TYPE_CHECKING:
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"


@dataclass(frozen=True, slots=True)
class Column:
    """The values of one check, outcome by outcome; those with nothing to judge left out."""

    judged: bool
    """Right or wrong, as 1 and 0; else numbers."""
    items: tuple[str, ...]
    """What each belongs to: its item, or the first item that was asked the same source."""
    keys: tuple[tuple[str, int], ...]
    """The item, and which of its outcomes it is: no two are the same."""
    places: tuple[int, ...]
    """Which outcome of the result."""
    values: Floats
    non_finite: int
    """Values that are no finite numbers, left out."""


@dataclass(frozen=True, slots=True)
class Paired:
    """Outcomes that both sides have, in the order of the first side's first run."""

    items: tuple[str, ...]
    judged: bool
    first: Floats
    """A row for each run of the side."""
    second: Floats
    places: tuple[tuple[int, int], ...]
    """Where in the first run of each side an outcome stands."""
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

    names: tuple[str, ...]
    sums: Floats
    apart: Floats
    """The sum of the differences without their signs: 0 where the sides agree on all of an item's outcomes."""
    sizes: Floats
    firsts: NDArray[np.int64]
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


def columns(rows: Iterable[Placed]) -> dict[str, Column]:
    """The column of each check among outcomes."""
    found: dict[str, list[tuple[int, str, float]]] = {}
    non_finite: Counter[str] = Counter()
    sources: list[tuple[str, object]] = []
    for row in rows:
        outcome = row.outcome
        sources.append((outcome.item, outcome.detail.get("source")))
        if outcome.value is not None and math.isfinite(outcome.value):
            found.setdefault(outcome.check, []).append((row.place, outcome.item, outcome.value))
        elif outcome.value is not None:
            non_finite[outcome.check] += 1
    first = same_source(sources)
    return {check: _column(each, non_finite[check], first) for check, each in found.items()}


def _column(rows: Sequence[tuple[int, str, float]], non_finite: int, first: Mapping[str, str]) -> Column:
    """The outcomes of a check; `first` has the item that stands for another."""
    places, items, values = zip(*rows, strict=True)
    times: Counter[str] = Counter()
    keys = []
    for item in items:
        keys.append((item, times[item]))
        times[item] += 1
    judged = all(isinstance(value, bool) for value in values)
    units = tuple(first.get(item, item) for item in items)
    return Column(judged, units, tuple(keys), places, np.asarray(values, np.float64), non_finite)


def pair(first: Sequence[Column], second: Sequence[Column]) -> Paired:
    """The outcomes that all runs of both sides have."""
    indexes = [{key: place for place, key in enumerate(column.keys)} for column in (*first, *second)]
    keys = [key for key in first[0].keys if all(key in index for index in indexes[1:])]
    rows = np.asarray([[index[key] for key in keys] for index in indexes], np.intp).reshape(len(indexes), len(keys))
    values = np.stack([column.values[row] for column, row in zip((*first, *second), rows, strict=True)])
    left, right = rows[0].tolist(), rows[len(first)].tolist()
    shared = len(keys)
    return Paired(
        items=tuple(first[0].items[place] for place in left),
        judged=all(column.judged for column in (*first, *second)),
        first=values[: len(first)],
        second=values[len(first) :],
        places=tuple((first[0].places[a], second[0].places[b]) for a, b in zip(left, right, strict=True)),
        left_out=(max(len(c.keys) for c in first) - shared, max(len(c.keys) for c in second) - shared),
    )


def pooled(parts: Sequence[tuple[str, Paired]]) -> Paired:
    """Several checks taken together; items of different suites, which the names tell apart, stay different."""
    several = len({suite for suite, _ in parts}) > 1
    return Paired(
        items=tuple(f"{suite}: {item}" if several else item for suite, part in parts for item in part.items),
        judged=all(part.judged for _, part in parts),
        first=np.concatenate([part.first for _, part in parts], axis=1),
        second=np.concatenate([part.second for _, part in parts], axis=1),
        places=tuple(place for _, part in parts for place in part.places),
        left_out=(sum(part.left_out[0] for _, part in parts), sum(part.left_out[1] for _, part in parts)),
    )


def cluster(rows: Paired) -> Clusters:
    """The outcomes of a pairing by item, the items in the order in which they come."""
    numbers: dict[str, int] = {}
    of = np.asarray([numbers.setdefault(item, len(numbers)) for item in rows.items], np.intp)
    differences = rows.differences
    if len(numbers) == len(rows.items):
        return Clusters(rows.items, differences, np.abs(differences), np.ones(len(of)), np.arange(len(of)), True)
    sums: Floats = np.bincount(of, weights=differences).astype(np.float64)
    apart: Floats = np.bincount(of, weights=np.abs(differences)).astype(np.float64)
    sizes: Floats = np.bincount(of).astype(np.float64)
    firsts = np.zeros(len(numbers), np.int64)
    firsts[of[::-1]] = np.arange(len(of))[::-1]
    return Clusters(tuple(numbers), sums, apart, sizes, firsts, False)


def judge(rows: Paired, clusters: Clusters, interval: paired.IntervalKind, seed: int) -> Verdict:
    """The interval and the p-value of the difference.

    McNemar's test and Tango's interval for right or wrong, one run against one, one outcome an item; for all else
    (numbers, means over runs, several outcomes an item) sign flips and an interval by items.
    """
    if rows.judged and clusters.single and len(rows.first) == len(rows.second) == 1:
        only_first = int(np.sum(rows.first[0] > rows.second[0]))
        only_second = int(np.sum(rows.first[0] < rows.second[0]))
        found = paired.tango(only_first, only_second, len(rows.items))
        return Verdict(found.low, found.high, "tango", paired.mcnemar(only_first, only_second))
    # A sum over runs that is 0 but for rounding is 0.
    sums = np.where(np.abs(clusters.sums) < 1e-12, 0.0, clusters.sums)
    tested = paired.flip_signs(sums, seed)
    kind = "bca" if interval == "bca" and len(sums) <= paired.DRAWN else "t"
    made = paired.bca_interval(sums, clusters.sizes, seed) if kind == "bca" else paired.t_interval(sums, clusters.sizes)
    if made is None:
        return Verdict(None, None, "", tested)
    return Verdict(made.low, made.high, kind if clusters.single else f"cluster {kind}", tested)
