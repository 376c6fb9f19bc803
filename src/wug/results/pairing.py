"""Outcomes of two sides brought together, item by item, and what the numbers say about them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from wug import stats_paired as paired
from wug.results.outcomes import OutcomeFile
from wug.results.queries import PairingArrays
from wug.results.reader import RunReader
from wug.results.records import StoredResult

if TYPE_CHECKING:
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"
Ints: TypeAlias = "NDArray[Any]"
"""Positions (int64) or hashes (uint64)."""
MIX = 0x9E3779B97F4A7C15
"""A large odd number that spreads hashes (2**64 divided by the golden ratio)."""


@dataclass(frozen=True, slots=True)
class MetricColumn:
    """The values of one metric, outcome by outcome; those with nothing to judge left out."""

    judged: bool
    """Right or wrong, as 1 and 0; else numbers."""
    units: Ints
    """Hash of the item, or of the first item with the same source."""
    keys: Ints
    """Hash of the item and of which of its outcomes it is: all different."""
    positions: Ints
    """Positions in the result."""
    values: NDArray[np.float64] | NDArray[np.int8]
    non_finite: int
    """Number of infinite values, which are left out."""


@dataclass(frozen=True, slots=True)
class Paired:
    """Outcomes that both sides have, in the order of the first side's first run."""

    units: Ints
    judged: bool
    first: Floats
    """A row for each run of the side, or for each of its steps."""
    second: Floats
    positions: Ints
    """Position of each outcome in the first run of each side: two columns."""
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


class ColumnLoader:
    """Reads the columns of results, each file once; runs on the same items share what depends on the items alone."""

    def __init__(self, reader: RunReader) -> None:
        self._reader = reader
        self._columns: dict[int, dict[str, MetricColumn]] = {}
        self._layouts: dict[object, _Layout] = {}

    def load(self, results: Iterable[StoredResult]) -> None:
        """Read the files of these results."""
        located = [
            (stored, self._reader.outcome_file(stored.id)) for stored in results if stored.id not in self._columns
        ]
        files: dict[Path | None, list[tuple[StoredResult, OutcomeFile]]] = {}
        for stored, file in located:
            files.setdefault(file.path, []).append((stored, file))
        for some in files.values():
            by = {metric.name: metric.by for stored, _ in some for metric in stored.result.metrics if metric.by}
            arrays = PairingArrays.read([file for _, file in some], by)
            for (stored, _), part in zip(some, arrays, strict=True):
                result = stored.result
                self._columns[stored.id] = self._made((result.kind, result.suite), part)

    def columns(self, stored: StoredResult) -> dict[str, MetricColumn]:
        """The column of each metric of a result, in the order in which metrics occur."""
        if stored.id not in self._columns:
            self.load([stored])
        return self._columns[stored.id]

    def _made(self, suite: object, arrays: PairingArrays) -> dict[str, MetricColumn]:
        layout = self._layouts.get(suite)
        if layout is None or not layout.fits(arrays):
            layout = self._layouts[suite] = _Layout(arrays)
        return {
            metric: column for metric, place in layout.metrics.items() if (column := _column(place, arrays)) is not None
        }


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the outcomes of a metric are in a result."""

    rows: Ints
    units: Ints
    keys: Ints


class _Layout:
    """What the outcomes of a result are about: metrics, items and sources, without their values."""

    def __init__(self, arrays: PairingArrays) -> None:
        self._arrays = arrays
        units = _units(arrays)
        self.metrics: dict[str, _Place] = {}
        for name, number in arrays.metrics.items():
            rows = np.flatnonzero((arrays.metric == number) & ~arrays.missing)
            self.metrics[name] = _Place(rows, units[rows], _keys(arrays.item[rows]))

    def fits(self, arrays: PairingArrays) -> bool:
        """Whether another result is about the same, in the same order."""
        mine = self._arrays
        return mine.metrics == arrays.metrics and all(
            np.array_equal(getattr(mine, name), getattr(arrays, name))
            for name in ("item", "metric", "missing", "source", "has_source")
        )


def _column(place: _Place, arrays: PairingArrays) -> MetricColumn | None:
    """The values of a metric; None if there are no finite ones."""
    values, judged = arrays.value[place.rows], arrays.judged[place.rows]
    finite = np.isfinite(values)
    if not finite.any():
        return None
    all_judged = bool(judged[finite].all())
    if finite.all():
        kept = values.astype(np.int8) if all_judged else values
        return MetricColumn(all_judged, place.units, place.keys, place.rows, kept, 0)
    rows = place.rows[finite]
    keys = _keys(arrays.item[rows])
    return MetricColumn(all_judged, place.units[finite], keys, rows, values[finite], int((~finite).sum()))


def _units(arrays: PairingArrays) -> Ints:
    """The item of each outcome, or the first item with the same source: such outcomes are not independent."""
    if not arrays.has_source.any():
        return arrays.item
    rows = np.flatnonzero(arrays.has_source)
    _, first, inverse = np.unique(arrays.source[rows], return_index=True, return_inverse=True)
    items, representative = arrays.item[rows], arrays.item[rows][first][inverse]
    repeats = items != representative
    # The last source of an item counts.
    replaced = dict(zip(items[repeats].tolist(), representative[repeats].tolist(), strict=True))
    if not replaced:
        return arrays.item
    return np.array([replaced.get(item, item) for item in arrays.item.tolist()], arrays.item.dtype)


def _keys(items: Ints) -> Ints:
    """A number for each outcome that depends on its item and on which of the item's outcomes it is."""
    order = np.argsort(items, kind="stable")
    ordered = items[order]
    if (ordered[1:] != ordered[:-1]).all():
        return items
    begins = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    times = np.arange(len(items)) - np.repeat(begins, np.diff([*begins, len(items)]))
    keys = items.copy()
    keys[order] += times.astype(np.uint64) * np.uint64(MIX)
    return keys


def pair(
    first: Sequence[MetricColumn],
    second: Sequence[MetricColumn],
    steps: tuple[Sequence[float], Sequence[float]] | None = None,
) -> Paired:
    """The outcomes that all runs of both sides have; with `steps`, the runs of one step as one row, their mean."""
    every = (*first, *second)
    keys = first[0].keys
    for column in every[1:]:
        keys = keys if column.keys is keys else keys[np.isin(keys, column.keys)]
    rows = []
    for column in every:
        order = np.arange(len(keys)) if column.keys is keys else np.argsort(column.keys)
        rows.append(order if column.keys is keys else order[np.searchsorted(column.keys, keys, sorter=order)])
    values = np.stack([column.values[row] for column, row in zip(every, rows, strict=True)]).astype(np.float64)
    left, right = rows[0], rows[len(first)]
    ours, theirs = values[: len(first)], values[len(first) :]
    if steps is not None:
        ours, theirs = _by_step(ours, steps[0]), _by_step(theirs, steps[1])
    shared = len(keys)
    return Paired(
        units=first[0].units[left],
        judged=all(column.judged for column in every),
        first=ours,
        second=theirs,
        positions=np.stack([first[0].positions[left], second[0].positions[right]], axis=1),
        left_out=(max(len(c.keys) for c in first) - shared, max(len(c.keys) for c in second) - shared),
    )


def _by_step(rows: Floats, steps: Sequence[float]) -> Floats:
    """The mean of the rows of each step."""
    of = np.asarray(steps)
    return np.stack([rows[of == step].mean(axis=0) for step in np.unique(of)])


def pooled(parts: Sequence[tuple[str, Paired]]) -> Paired:
    """Several metrics taken together; items of different suites stay different."""
    suites = list(dict.fromkeys(suite for suite, _ in parts))
    return Paired(
        units=np.concatenate([part.units + np.uint64(suites.index(suite) * MIX % 2**64) for suite, part in parts]),
        judged=all(part.judged for _, part in parts),
        first=np.concatenate([part.first for _, part in parts], axis=1),
        second=np.concatenate([part.second for _, part in parts], axis=1),
        positions=np.concatenate([part.positions for _, part in parts]),
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
