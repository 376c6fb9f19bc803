"""Pairs the outcomes of two sides item by item, and tests the difference.

Without shared items, as with imported aggregates, the difference is that of estimates. Its interval is made of those of
both sides by the method of variance estimates recovery (Zou & Donner 2008), which for Wilson's intervals is Newcombe's
(1998). The p-value is the one at which that interval would just touch 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import NormalDist, fmean
from typing import NamedTuple

import numpy as np

from wug import stats_paired as paired
from wug.arrays import Floats, Integers
from wug.identity import OVERALL
from wug.outcomes import Estimate, Metric
from wug.patterns import matches
from wug.results.contrasts import Contrast, Side
from wug.results.result_loader import MIX, MetricColumn
from wug.results.shared_items import SharedSuite
from wug.stats import in_order_of_appearance, mean_of_intervals

UNPAIRED = "unpaired: at least one side has no items, so that intervals are wider than those of paired items"
_Z = NormalDist().inv_cdf(0.975)


class Paired(NamedTuple):
    """Outcomes that both sides have, in the order of the first side's first run."""

    units: Integers
    judged: bool
    first: Floats
    """One row per run of the side, or per step."""
    second: Floats
    positions: Integers
    """Position of each outcome in the first run of each side: two columns."""
    left_out: tuple[int, int]
    """Outcomes of the first and of the second side that the other lacks."""

    @property
    def binary(self) -> bool:
        """Whether every value is right or wrong, and none a mean of several outcomes of an item."""
        return self.judged and all(bool(np.isin(side, (0, 1)).all()) for side in (self.first, self.second))

    @property
    def differences(self) -> Floats:
        """The difference of each outcome's mean over runs, second minus first."""
        difference: Floats = self.second.mean(axis=0) - self.first.mean(axis=0)
        return difference

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """Outcomes that both have right, only the first, only the second, neither, in the first runs."""
        first, second = self.first[0] > 0, self.second[0] > 0
        each = (first & second, first & ~second, ~first & second, ~first & ~second)
        both, only_first, only_second, neither = (int(np.sum(flags)) for flags in each)
        return both, only_first, only_second, neither


class Clusters(NamedTuple):
    """The items of paired outcomes, with the sum and the number of their differences."""

    units: Integers
    """Hashes of the items, in order of appearance."""
    sums: Floats
    absolute_difference: Floats
    """The sum of absolute differences: 0 if the sides agree on all outcomes of an item."""
    sizes: Floats
    firsts: Integers
    """The index of each item's first outcome."""
    single: bool
    """Whether each item has one outcome."""


class Verdict(NamedTuple):
    """The interval and the test of a difference."""

    low: float | None
    high: float | None
    interval_method: str
    tested: paired.SignificanceTest


def pair(
    first: Sequence[MetricColumn],
    second: Sequence[MetricColumn],
    steps: tuple[Sequence[float], Sequence[float]] | None = None,
) -> Paired:
    """The outcomes that all runs of both sides have; with `steps`, one row per step, the mean of its runs."""
    every = _same_unit([*first, *second])
    first, second = every[: len(first)], every[len(first) :]
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


def _same_unit(columns: Sequence[MetricColumn]) -> Sequence[MetricColumn]:
    """The columns; those of item means if the columns have different numbers of outcomes per item."""
    if len({len(column.keys) for column in columns}) == 1:
        return columns
    most = {int(np.unique(column.units, return_counts=True)[1].max(initial=0)) for column in columns}
    return columns if len(most) == 1 else [item_means(column) for column in columns]


def item_means(column: MetricColumn) -> MetricColumn:
    """The column with the mean of each item's values."""
    units, firsts, inverse, sizes = np.unique(column.units, return_index=True, return_inverse=True, return_counts=True)
    means = np.bincount(inverse, weights=column.values) / sizes
    return MetricColumn(column.judged, units, units, column.positions[firsts], means, column.non_finite)


def _by_step(rows: Floats, steps: Sequence[float]) -> Floats:
    """The mean of the rows of each step."""
    of = np.asarray(steps)
    return np.stack([rows[of == step].mean(axis=0) for step in np.unique(of)])


def pooled(parts: Sequence[tuple[str, Paired]]) -> Paired:
    """Several metrics pooled; items of different suites stay different."""
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
    """The paired outcomes by item, in order of appearance."""
    differences = rows.differences
    of, firsts = in_order_of_appearance(rows.units)
    sums, absolute_difference, sizes = (
        np.bincount(of, weights=weights).astype(np.float64)
        for weights in (differences, np.abs(differences), np.ones(len(of)))
    )
    return Clusters(rows.units[firsts], sums, absolute_difference, sizes, firsts, len(firsts) == len(of))


def judge(rows: Paired, clusters: Clusters, interval: paired.IntervalKind, seed: int, tests: int) -> Verdict:
    """The interval and the p-value of the difference, in a comparison with this number of `tests`.

    McNemar's test and Tango's interval for right or wrong with one run per side and one outcome per item. Otherwise
    (numbers, means over runs, several outcomes per item) Student's t test and interval, clustered by item. The
    permutation test accompanies a bootstrap interval, and tests differences without variance, which have no interval.
    """
    if rows.binary and clusters.single and len(rows.first) == len(rows.second) == 1:
        only_first = int(np.sum(rows.first[0] > rows.second[0]))
        only_second = int(np.sum(rows.first[0] < rows.second[0]))
        tango = paired.tango(only_first, only_second, len(rows.units))
        return Verdict(tango.low, tango.high, "tango", paired.mcnemar(only_first, only_second))
    # Sums that differ from 0 only by rounding are 0.
    sums = np.where(np.abs(clusters.sums) < 1e-12, 0.0, clusters.sums)
    by = "" if clusters.single else "cluster "
    if interval == "bca" and len(sums) <= paired.MAX_BOOTSTRAP_CLUSTERS:
        flipped, bounds = paired.flip_signs(sums, seed, tests), paired.bca_interval(sums, clusters.sizes, seed)
        if bounds is None:
            return Verdict(None, None, "", flipped)
        return Verdict(bounds.low, bounds.high, f"{by}bca", flipped)
    bounds, tested = paired.t_interval(sums, clusters.sizes), paired.t_test(sums, clusters.sizes)
    if bounds is None or tested is None:
        return Verdict(None, None, "", paired.flip_signs(sums, seed, tests))
    return Verdict(bounds.low, bounds.high, f"{by}t", paired.SignificanceTest(tested.p, f"{by}{tested.method}"))


def unpaired_contrasts(
    suite: SharedSuite, sides: Sequence[Side], side_pair: tuple[int, int], patterns: Sequence[str]
) -> Iterator[Contrast]:
    """The contrasts on the metrics that all results of both sides have: those that patterns name, or the headlines."""
    if not all(side in suite.results for side in side_pair):
        return
    results = [stored.result for side in side_pair for stored in suite.results[side]]
    shared = set.intersection(*({one.metric for one in result.estimates if one.group == OVERALL} for result in results))
    for metric in results[0].metrics:
        if metric.name in shared and (matches(metric.name, patterns) if patterns else metric.headline):
            yield _contrast(suite, sides, side_pair, metric)


def _contrast(suite: SharedSuite, sides: Sequence[Side], side_pair: tuple[int, int], metric: Metric) -> Contrast:
    first, second = (_mean(suite, side, metric.name) for side in side_pair)
    difference = second.value - first.value
    low, high, p = _interval(first, second)
    results = [stored.result for side in side_pair for stored in suite.results[side]]
    return Contrast(
        suite=suite.name,
        kind=suite.kind,
        metric=metric.name,
        meaning=metric.meaning,
        better=metric.better,
        share=metric.unit == "share",
        n=min(first.n, second.n),
        items=min(first.n, second.n),
        first=sides[side_pair[0]],
        second=sides[side_pair[1]],
        value_first=first.value,
        value_second=second.value,
        difference=difference,
        low=low,
        high=high,
        interval_method="" if low is None else "newcombe, unpaired",
        p=p,
        p_holm=p,
        method="none: an interval is missing" if low is None else "unpaired, from the intervals",
        signatures=tuple(dict.fromkeys(result.signature for result in results)),
        warnings=(UNPAIRED,),
    )


def _mean(suite: SharedSuite, side: int, metric: str) -> Estimate:
    """The estimate of a side: that of its run, or the mean over its runs."""
    estimates = [
        estimate
        for stored in suite.results[side]
        for estimate in stored.result.estimates
        if (estimate.metric, estimate.group) == (metric, OVERALL)
    ]
    if len(estimates) == 1:
        return estimates[0]
    n = sum(estimate.n for estimate in estimates)
    known = [(each.value, each.low, each.high) for each in estimates if each.low is not None and each.high is not None]
    if len(known) < len(estimates):
        return Estimate(metric, OVERALL, fmean(estimate.value for estimate in estimates), n)
    value, low, high = mean_of_intervals(known)
    return Estimate(metric, OVERALL, value, n, low, high)


def _interval(first: Estimate, second: Estimate) -> tuple[float | None, float | None, float]:
    """The 95% interval of the second value minus the first, and the p-value; None if one of them has no interval."""
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return None, None, 1.0
    difference = second.value - first.value
    low = difference - math.hypot(second.value - second.low, first.high - first.value)
    high = difference + math.hypot(second.high - second.value, first.value - first.low)
    half = difference - low if difference > 0 else high - difference
    if half <= 0:
        return low, high, 1.0 if difference == 0 else 0.0
    return low, high, 2 * (1 - NormalDist().cdf(_Z * abs(difference) / half))
