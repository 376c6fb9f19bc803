"""Estimates over many items, with intervals.

Rows with the same source, or of the same item, are not independent: they form one unit, and the method of an interval
computed from units says so (`wilson, by source`).
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist, fmean, pstdev, stdev
from typing import TypeAlias

import numpy as np

from wug.arrays import Floats, Indices, Integers
from wug.distributions import MAX_UNITS, MIN_UNITS, beta_quantile, bootstrap_t, t_quantile
from wug.identity import OVERALL, Group
from wug.outcomes import PROPORTION_METHODS, Derivation, Estimate, Interval, IntervalMethod, Metric, Outcome, Unit
from wug.outcomes import Method as Method

MIN_INTERIOR_VALUES = 20
"""Minimum number of values not at the bound before an interval is reported."""
MIN_BOUND_SHARE = 0.1
"""Minimum proportion of values equal to the minimum or maximum for these to count as a bound."""


@dataclass(frozen=True, slots=True)
class IntervalResult:
    """An interval and its method, or None and the reason."""

    interval: Interval | None
    method: str | None


NONNEGATIVE_UNITS: frozenset[Unit] = frozenset({"share", "tokens", "count", "distance"})


def wilson(successes: float, n: float) -> Interval:
    """The 95% Wilson score interval of a proportion; both counts may be effective numbers, so need not be integers."""
    if n == 0:
        return Interval(0.0, 1.0)
    z = NormalDist().inv_cdf(0.975)
    share = successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # At 0 and n, rounding would give 1e-17 instead of the exact bound.
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    return Interval(low, 1.0 if successes == n else min(1.0, centre + half))


def clopper_pearson(successes: float, n: float, confidence: float = 0.95) -> Interval:
    """The exact (Clopper–Pearson) interval of a proportion; for effective numbers, Korn and Graubard's (1998)."""
    tail = (1 - confidence) / 2
    low = 0.0 if successes <= 0 else beta_quantile(successes, n - successes + 1, tail)
    return Interval(low, 1.0 if successes >= n else beta_quantile(successes + 1, n - successes, 1 - tail))


INTERVALS: Mapping[Method, Callable[[float, float], Interval]] = {"wilson": wilson, "clopper-pearson": clopper_pearson}
"""The intervals of a proportion, by method."""


def mean_of_shares(shares: Sequence[tuple[int, int]]) -> Interval:
    """The 95% interval of the mean of independent proportions, each given by successes and n.

    It combines their Wilson intervals (`mean_of_intervals`), which also holds if some proportions are 0 or 1.
    """
    each = [(right / n, wilson(right, n)) for right, n in shares]
    _, low, high = mean_of_intervals([(share, interval.low, interval.high) for share, interval in each])
    return Interval(max(0.0, low), min(1.0, high))


def mean_of_intervals(values: Sequence[tuple[float, float, float]]) -> tuple[float, float, float]:
    """The mean of independent values and its interval, from each value and the ends of its interval.

    By the method of variance estimates recovery (Zou & Donner, Statistics in Medicine 27, 2008).
    """
    mean = fmean(value for value, _, _ in values)
    below = math.hypot(*(value - low for value, low, _ in values)) / len(values)
    above = math.hypot(*(high - value for value, _, high in values)) / len(values)
    return mean, mean - below, mean + above


def mean_interval(values: Sequence[float]) -> Interval | None:
    """The 95% t interval of a mean; None for fewer than two values."""
    if len(values) < 2:
        return None
    half = t_quantile(len(values) - 1, 0.975) * stdev(values) / math.sqrt(len(values))
    mean = fmean(values)
    return Interval(mean - half, mean + half)


def ratio_interval(tops: Floats, bottoms: Floats) -> IntervalResult:
    """The 95% interval of the ratio of sums `tops` / `bottoms` (a mean if all bottoms are 1), or the reason for none.

    If many values are at a bound (distances that are mostly 0, scores that are mostly 1), few others determine the
    mean: Student's t interval is too short and too low, so Hall's ("On the removal of skewness by transformation", JRSS
    B 54, 1992) is used. With fewer than MIN_INTERIOR_VALUES other values, no interval has the nominal coverage, so none
    is given. benchmarks/compare_coverage.py measures the coverage, also of the bootstrap.
    """
    n, total = len(tops), float(bottoms.sum())
    if n < 2 or total <= 0:
        return IntervalResult(None, None)
    defined = bottoms > 0
    rates = tops[defined] / bottoms[defined]
    ends = [(int(np.count_nonzero(rates == end)), float(end)) for end in (rates.min(), rates.max())]
    pile, end = max(ends, key=lambda pair: pair[0])
    if pile == len(rates):
        return IntervalResult(None, f"none: all values are {end:.4g}")
    at_bound, away = pile > 1 and pile >= MIN_BOUND_SHARE * len(rates), len(rates) - pile
    if at_bound and away < MIN_INTERIOR_VALUES:
        return IntervalResult(None, f"none: only {away} of {len(rates)} values differ from {end:.4g}")
    mean = float(tops.sum()) / total
    left = (tops - mean * bottoms) * (n / total)
    deviation = math.sqrt(float(np.square(left).sum()) / (n - 1))
    quantile, error = t_quantile(n - 1, 0.975), deviation / math.sqrt(n)
    if not at_bound:
        return IntervalResult(Interval(mean - quantile * error, mean + quantile * error), "t")
    skewness = float((left**3).mean()) / deviation**3
    low, high = (mean - _inverse_cubic(end, skewness, n) * error for end in (quantile, -quantile))
    return IntervalResult(Interval(low, high), "hall")


def effective_number(sizes: Floats) -> float:
    """The effective sample size of units of these sizes, if the rows of a unit are equal.

    Kish (Survey Sampling, 1965, §5.4): n / (Σ size² / n), the design effect of an intraclass correlation of 1. The
    correlation is not estimated: near 0 and 1, where it matters, there are too few data to estimate it.
    """
    return float(sizes.sum()) ** 2 / float(np.square(sizes).sum())


def estimate(
    metric: str,
    group: str,
    values: Sequence[bool] | Sequence[float],
    method: Method = "wilson",
    units: Sequence[str] | None = None,
    unit_name: str = "source",
) -> Estimate:
    """The proportion of successes, or the mean of numbers, with its interval.

    `units` names the unit of each value: values of one unit are not independent. `unit_name` says what a unit is.
    """
    of = None if units is None else _numbered(units)
    shares = all(isinstance(value, bool) for value in values)
    return _estimate(metric, group, np.asarray(values, np.float64), of, method if shares else None, unit_name)


def estimates(outcomes: Iterable[Outcome], method: Method = "wilson") -> list[Estimate]:
    """Each metric over all items, then over each group, in order of appearance."""
    collected = EstimateAccumulator()
    for outcome in outcomes:
        collected.add(outcome)
    return collected.estimates(method)


class EstimateAccumulator:
    """Collects the values of outcomes as arrays and computes their estimates."""

    def __init__(self, metrics: Iterable[Metric] = ()) -> None:
        self._derived: dict[str, dict[Derivation, array[float]]] = {}
        """By metric, what is computed from each of its outcomes."""
        self._effects = [(metric.name, metric.derived) for metric in metrics if metric.derived is not None]
        for _, how in self._effects:
            self._derived.setdefault(how.metric, {})[replace(how, standardised=False)] = array("d")
        self._items: list[str] = []
        """The item of each value."""
        self._items_without_value: set[str] = set()
        self._sources: dict[str, str] = {}
        """The source of each item that has one: items with the same source are one unit."""
        self._values = array("d")
        self._cells: dict[str, dict[str, list[int]]] = {}
        """By metric and group, the numbers of their kinds."""
        self._kinds: dict[_Kind, int] = {}
        self._kinds_of = array("i")
        self._unjudged = False
        """Whether an outcome without a value gives the reason."""

    @property
    def items(self) -> int:
        """The number of items with a value; of all items if none has one and no outcome gives a reason."""
        return _distinct(self._items) or (0 if self._unjudged else len(self._items_without_value))

    def __bool__(self) -> bool:
        """Whether any outcome was added, with or without a value."""
        return bool(self._items or self._items_without_value)

    def add(self, row: Outcome) -> None:
        """Add an outcome."""
        source = row.detail.get("source")
        if isinstance(source, str):
            self._sources.setdefault(row.item, source)
        if row.value is None:
            self._unjudged = self._unjudged or "why" in row.detail
            self._items_without_value.add(row.item)
            return
        key = (row.metric, tuple(row.groups.items()), isinstance(row.value, bool))
        kind = self._kinds.get(key)
        self._kinds_of.append(self._new_kind(key) if kind is None else kind)
        self._values.append(row.value)
        self._items.append(row.item)
        if row.metric in self._derived:
            for how, column in self._derived[row.metric].items():
                column.append(how.value(row.detail))

    def estimates(self, method: Method) -> list[Estimate]:
        """Each metric over all items, then over each group, in order of appearance."""
        values, kinds = np.asarray(self._values), np.asarray(self._kinds_of)
        rows_of = np.split(np.argsort(kinds, kind="stable"), np.cumsum(np.bincount(kinds, minlength=1))[:-1])
        repeated = len(set(self._sources.values())) < len(self._sources)
        unit_name = "source" if repeated else "item"
        units = _numbered([self._sources.get(item, item) for item in self._items] if repeated else self._items)
        judged = [is_judged for _, _, is_judged in self._kinds]
        made: list[Estimate] = []
        derived: list[Estimate] = []
        for metric, cells in self._cells.items():
            columns = {how: np.full(len(values), np.nan) for how in self._derived.get(metric, ())}
            for how, column in columns.items():
                column[np.sort(np.concatenate([rows_of[kind] for kind in cells[OVERALL]]))] = self._derived[metric][how]
            for group, kinds_of_cell in cells.items():
                rows = np.sort(np.concatenate([rows_of[kind] for kind in kinds_of_cell]))
                of = None if units is None else _renumbered(units[rows])
                shares = all(judged[kind] for kind in kinds_of_cell)
                made.append(_estimate(metric, group, values[rows], of, method if shares else None, unit_name))
                for name, how in self._effects:
                    if how.metric == metric and (group == OVERALL or not how.standardised):
                        column = columns[replace(how, standardised=False)]
                        known = rows[np.isfinite(column[rows])]
                        if len(known):
                            of = None if units is None else _renumbered(units[known])
                            derived += _effect(name, group, column[known], of, unit_name, how.standardised)
        return [*made, *derived]

    def _new_kind(self, key: _Kind) -> int:
        """A number for a new combination of metric and groups."""
        metric, groups, _ = key
        number = self._kinds[key] = len(self._kinds)
        cells = self._cells.setdefault(metric, {})
        for name in dict.fromkeys((OVERALL, *(str(Group(what, value)) for what, value in groups))):
            cells.setdefault(name, []).append(number)
        return number


_Kind: TypeAlias = tuple[str, tuple[tuple[str, str], ...], bool]
"""The metric and groups of an outcome, and whether it is a judgement."""


def _estimate(
    metric: str, group: str, numbers: Floats, of: Indices | None, method: Method | None, unit_name: str
) -> Estimate:
    """The proportion of successes with its interval by `method`; without a method, the mean of numbers."""
    n = len(numbers)
    unit = "" if of is None else unit_name
    if method is not None:
        successes = int(numbers.sum())
        share = successes / n
        rows = n if of is None else effective_number(np.bincount(of).astype(np.float64))
        interval = INTERVALS[method](successes if of is None else share * rows, rows)
        return Estimate.of(metric, group, share, n, interval, str(IntervalMethod(method, unit)))
    if not np.isfinite(numbers).all():
        return Estimate(metric, group, sum(numbers.tolist()) / n, n, method="none: some values are not finite")
    mean = math.fsum(numbers) / n
    if of is None:
        made = ratio_interval(numbers, np.ones(n))
    else:
        sums, sizes = np.bincount(of, weights=numbers), np.bincount(of)
        made = ratio_interval(sums.astype(np.float64), sizes.astype(np.float64))
    with_unit = str(IntervalMethod(made.method or "", unit)) if made.interval else made.method
    return Estimate.of(metric, group, mean, n, made.interval, with_unit)


def _effect(
    metric: str, group: str, numbers: Floats, of: Indices | None, unit_name: str, standardised: bool
) -> Iterator[Estimate]:
    """The mean of an effect with its bootstrap interval by item; or divided by the standard deviation of items."""
    sums = numbers if of is None else np.bincount(of, weights=numbers).astype(np.float64)
    sizes = np.ones(len(sums)) if of is None else np.bincount(of).astype(np.float64)
    mean = float(numbers.mean())
    if standardised:
        if len(sums) > 1 and (spread := float(np.std(sums / sizes, ddof=1))) > 0:
            yield Estimate(metric, group, mean / spread, len(numbers))
    elif not MIN_UNITS <= len(sums) <= MAX_UNITS or np.ptp(sums / sizes) == 0:
        yield _estimate(metric, group, numbers, of, None, unit_name)
    elif (interval := bootstrap_t(sums, sizes)) is None:
        yield Estimate(metric, group, mean, len(numbers), method="none: too few values differ")
    else:
        made = IntervalMethod("bootstrap-t", "" if of is None else unit_name)
        yield Estimate(metric, group, mean, len(numbers), *interval, str(made))


def with_interval_method(estimate: Estimate, method: Method) -> Estimate:
    """A proportion that a suite computed itself, with its interval recomputed by another method."""
    if estimate.method not in PROPORTION_METHODS or estimate.method == method:
        return estimate
    made = INTERVALS[method](round(estimate.value * estimate.n), estimate.n)
    return replace(estimate, low=made.low, high=made.high, method=method)


def clip_to_unit(estimate: Estimate, unit: Unit | None) -> Estimate:
    """The estimate with its interval clipped at 0 if its unit has no negative values, and at 1 if it is a share."""
    if estimate.low is None or estimate.high is None or unit not in NONNEGATIVE_UNITS:
        return estimate
    high = max(estimate.value, min(1.0, estimate.high)) if unit == "share" else estimate.high
    return replace(estimate, low=max(0.0, estimate.low), high=high)


def mean_over_runs(runs: Sequence[Iterable[Estimate]], *, population: bool = False) -> list[Estimate]:
    """The mean of each estimate over several runs, ± one standard deviation; n is the number of runs that have it.

    The standard deviation is that of a sample (n - 1) unless the runs are the whole `population`. The method says
    which, and whether the values are proportions.
    """
    cells: dict[tuple[str, str], list[Estimate]] = {}
    for run in runs:
        for found in run:
            cells.setdefault((found.metric, found.group), []).append(found)
    name, deviation = ("population sd", pstdev) if population else ("sd", stdev)
    means = []
    for (metric, group), each in cells.items():
        values = [found.value for found in each]
        mean = fmean(values)
        if len(values) < 2:
            means.append(Estimate(metric, group, mean, 1))
            continue
        spread = deviation(values)
        shares = all(IntervalMethod.parse(found.method).of_shares for found in each)
        method = f"{name} of shares" if shares else name
        means.append(Estimate(metric, group, mean, len(values), mean - spread, mean + spread, method))
    return means


def _inverse_cubic(x: float, skewness: float, n: int) -> float:
    """The inverse of Hall's cubic (1992, eq. 3.2: t + γt²/3√n + γ²t³/27n + γ/6√n) at `x`."""
    if abs(skewness) < 1e-9:
        return x
    root, third = math.sqrt(n), skewness / 3
    return root / third * (float(np.cbrt(1 + 3 * third / root * (x - skewness / (6 * root)))) - 1)


def _numbered(units: Sequence[str]) -> Indices | None:
    """The units as numbers from 0; None if each occurs once."""
    if _distinct(units) == len(units):
        return None
    numbers: dict[str, int] = {}
    return _renumbered(np.asarray([numbers.setdefault(unit, len(numbers)) for unit in units], np.intp))


def _distinct(texts: Sequence[str]) -> int:
    """The number of distinct texts; hashes of a million take a tenth of the memory of a set."""
    hashes = np.fromiter(map(hash, texts), np.int64, len(texts))
    hashes.sort()
    return len(set(texts)) if (hashes[1:] == hashes[:-1]).any() else len(texts)


def _renumbered(units: Indices) -> Indices | None:
    """Units as numbers from 0 in order of appearance; None if each occurs once."""
    if (units[1:] > units[:-1]).all():
        return None
    numbers, first = in_order_of_appearance(units)
    return None if len(first) == len(units) else numbers


def in_order_of_appearance(units: Integers) -> tuple[Indices, Indices]:
    """The number of each unit, from 0 in order of appearance, and the index of the first of each."""
    _, first, inverse = np.unique(units, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.intp)
    rank[order] = np.arange(len(order))
    return rank[inverse], first[order]
