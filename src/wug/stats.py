"""Values over many items, with their intervals.

Rows that ask the same source, or that belong to the same item, are not independent: they are one unit, and the
method of an interval that was made of units says so (`wilson, by source`).
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist, fmean, pstdev, stdev
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from wug.distributions import beta_quantile, t_quantile
from wug.identity import OVERALL, Group
from wug.types import Estimate, Outcome, Unit

if TYPE_CHECKING:
    from numpy.typing import NDArray

Method = Literal["wilson", "clopper-pearson"]
Floats: TypeAlias = "NDArray[np.float64]"

ENOUGH = 20
"""Values away from the bound at which the others lie that it takes for an interval of the mean to hold."""
PILE = 0.1
"""The share of values at an end of the range from which on they are said to lie at a bound."""


@dataclass(frozen=True, slots=True)
class Interval:
    """From where to where."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Made:
    """An interval and how it was made; or none, and why."""

    interval: Interval | None
    method: str | None


BELOW_NOTHING: frozenset[Unit] = frozenset({"share", "tokens", "count", "distance"})
"""Units whose values are never less than 0."""


def wilson(successes: float, n: float, confidence: float = 0.95) -> Interval:
    """The Wilson score interval of a share; both counts may be effective numbers, which need not be whole."""
    if n == 0:
        return Interval(0.0, 1.0)
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share = successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # At the edges rounding would leave 1e-17 instead of the exact end.
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    return Interval(low, 1.0 if successes == n else min(1.0, centre + half))


def clopper_pearson(successes: float, n: float, confidence: float = 0.95) -> Interval:
    """The exact (Clopper–Pearson) interval of a share; of effective numbers, Korn and Graubard's (1998)."""
    tail = (1 - confidence) / 2
    low = 0.0 if successes <= 0 else beta_quantile(successes, n - successes + 1, tail)
    return Interval(low, 1.0 if successes >= n else beta_quantile(successes + 1, n - successes, 1 - tail))


INTERVALS: Mapping[Method, Callable[[float, float], Interval]] = {"wilson": wilson, "clopper-pearson": clopper_pearson}
"""How the interval of a share is made, by its name."""


def mean_of_shares(shares: Sequence[tuple[int, int]]) -> Interval:
    """The 95 % interval of the mean of independent shares, each given by its successes and its number.

    Made of the Wilson intervals of the shares by the method of variance estimates recovery (Zou & Donner, "Construction
    of confidence limits about effect measures", Statistics in Medicine 27, 2008), which holds where some are 0 or 1.
    """
    each = [(right / n, wilson(right, n)) for right, n in shares]
    _, low, high = mean_of_intervals([(share, interval.low, interval.high) for share, interval in each])
    return Interval(max(0.0, low), min(1.0, high))


def mean_of_intervals(values: Sequence[tuple[float, float, float]]) -> tuple[float, float, float]:
    """The mean of independent values and its interval, from each value and the ends of its interval.

    By the method of variance estimates recovery, as in `mean_of_shares`.
    """
    mean = fmean(value for value, _, _ in values)
    below = math.hypot(*(value - low for value, low, _ in values)) / len(values)
    above = math.hypot(*(high - value for value, _, high in values)) / len(values)
    return mean, mean - below, mean + above


def mean_interval(values: Sequence[float], confidence: float = 0.95) -> Interval | None:
    """The t interval of a mean; None for fewer than two values."""
    if len(values) < 2:
        return None
    half = t_quantile(len(values) - 1, 0.5 + confidence / 2) * stdev(values) / math.sqrt(len(values))
    mean = fmean(values)
    return Interval(mean - half, mean + half)


def ratio_interval(tops: Floats, bottoms: Floats) -> Made:
    """The 95 % interval of the sum of `tops` over the sum of `bottoms`, or why there is none.

    With bottoms of 1 that is a mean. Where values lie at a bound (distances that are mostly 0, scores that are mostly
    1), few others decide the mean: Student's t interval is too short there and ends too low, and the one of Hall
    ("On the removal of skewness by transformation", JRSS B 54, 1992) is used. Fewer than ENOUGH such values tell too
    little about the ones not seen for any interval to hold: none is given. benchmarks/compare_coverage.py has the
    figures, the bootstrap's among them.
    """
    n, total = len(tops), float(bottoms.sum())
    if n < 2 or total <= 0:
        return Made(None, None)
    defined = bottoms > 0
    rates = tops[defined] / bottoms[defined]
    ends = [(int(np.count_nonzero(rates == end)), float(end)) for end in (rates.min(), rates.max())]
    pile, end = max(ends, key=lambda pair: pair[0])
    if pile == len(rates):
        return Made(None, f"none: all values are {end:.4g}")
    at_bound, away = pile > 1 and pile >= PILE * len(rates), len(rates) - pile
    if at_bound and away < ENOUGH:
        return Made(None, f"none: only {away} of {len(rates)} values differ from {end:.4g}")
    mean = float(tops.sum()) / total
    left = (tops - mean * bottoms) * (n / total)
    deviation = math.sqrt(float(np.square(left).sum()) / (n - 1))
    quantile, error = t_quantile(n - 1, 0.975), deviation / math.sqrt(n)
    if not at_bound:
        return Made(Interval(mean - quantile * error, mean + quantile * error), "t")
    skewness = float((left**3).mean()) / deviation**3
    low, high = (mean - _unskewed(end, skewness, n) * error for end in (quantile, -quantile))
    return Made(Interval(low, high), "hall")


def effective_number(sizes: Floats) -> float:
    """How many independent rows units of these sizes are worth, if the rows of a unit are all alike.

    Kish (Survey Sampling, 1965, §5.4): n / (Σ size² / n), the design effect of an intraclass correlation of 1. The
    correlation is not estimated: at shares near 0 or 1, where it matters, there is nothing to estimate it from.
    """
    return float(sizes.sum()) ** 2 / float(np.square(sizes).sum())


def estimate(
    metric: str,
    group: str,
    values: Sequence[bool] | Sequence[float],
    method: Method = "wilson",
    units: Sequence[str] | None = None,
    by: str = "source",
) -> Estimate:
    """The share of successes, or the mean of numbers, with its interval.

    `units` names what each value belongs to; values of one unit are not independent, and `by` says what a unit is.
    """
    of = None if units is None else _numbered(units)
    shares = all(isinstance(value, bool) for value in values)
    return _estimate(metric, group, np.asarray(values, np.float64), of, method if shares else None, by)


def estimates(outcomes: Iterable[Outcome], method: Method = "wilson") -> list[Estimate]:
    """Each metric over all items, then over each group, in the order in which they come."""
    collected = Collected()
    for outcome in outcomes:
        collected.add(outcome)
    return collected.estimates(method)


LATELY = 1_024
"""Groups that are known by their identity."""


class Collected:
    """The values of outcomes as arrays, however many there are: what estimates are made of."""

    def __init__(self) -> None:
        self._names: list[str] = []
        """The items as they came; one whose outcomes do not come in a row is there several times."""
        self._sources: dict[str, int] = {}
        """The place of the first item that was asked each source."""
        self._repeating: dict[int, int] = {}
        """Of items that repeat another's source, the first item that has it; both by their places."""
        self._values = array("d")
        self._items_of = array("i")
        """The place of each value's item."""
        self._cells: dict[str, dict[str, _Cell]] = {}
        self._kinds: dict[_Kind, int] = {}
        self._lately: dict[tuple[str, int, bool], tuple[int, Mapping[str, str]]] = {}
        """The kinds of outcomes that came lately, by metric and the identity of their groups, with a copy of these."""
        self._kinds_of = array("i")
        """The kind of each value."""
        self._unjudged = False
        """Whether an outcome has no value, and says why."""

    @property
    def items(self) -> int:
        """How many items have a value; all of them where none has, and no outcome says why it was not judged."""
        numbers = self._numbers()
        judged = len(np.unique(numbers[np.asarray(self._items_of, np.intp)]))
        return judged if judged or self._unjudged else int(numbers.max(initial=-1)) + 1

    def __bool__(self) -> bool:
        """Whether there was any outcome, with a value or without one."""
        return bool(self._names)

    def add(self, row: Outcome) -> None:
        """Take in one more."""
        if not self._names or self._names[-1] != row.item:
            self._names.append(row.item)
        item = len(self._names) - 1
        source = row.detail.get("source")
        if isinstance(source, str) and self._sources.setdefault(source, item) != item:
            self._repeating[item] = self._sources[source]
        if row.value is None:
            self._unjudged = self._unjudged or "why" in row.detail
            return
        # Many outcomes share their groups; those that were changed since, or came to stand in the same place, do not.
        known = self._lately.get((row.metric, id(row.groups), isinstance(row.value, bool)))
        self._kinds_of.append(self._kind(row) if known is None or known[1] != row.groups else known[0])
        self._values.append(row.value)
        self._items_of.append(item)

    def estimates(self, method: Method) -> list[Estimate]:
        """Each metric over all items, then over each group, in the order in which they came."""
        numbers = self._numbers()
        same = ((numbers[item], numbers[other]) for item, other in self._repeating.items())
        repeating = {item: other for item, other in same if item != other}
        first = np.arange(len(numbers))
        first[list(repeating)] = list(repeating.values())
        first = first[numbers]
        values, items, kinds = (np.asarray(each) for each in (self._values, self._items_of, self._kinds_of))
        rows_of = np.split(np.argsort(kinds, kind="stable"), np.cumsum(np.bincount(kinds, minlength=1))[:-1])
        by = "source" if repeating else "item"
        made = []
        for metric, cells in self._cells.items():
            for group, cell in cells.items():
                rows = np.sort(np.concatenate([rows_of[kind] for kind in cell.kinds]))
                units = _renumbered(first[items[rows]])
                made.append(_estimate(metric, group, values[rows], units, method if cell.shares else None, by))
        return made

    def _numbers(self) -> NDArray[np.intp]:
        """The number of the item at each place: from 0, in the order in which they come."""
        count = len(self._names)
        hashes = np.fromiter(map(hash, self._names), np.int64, count)
        if len(np.unique(hashes)) == count:  # as of any suite that judges an item in one go
            return np.arange(count)
        known: dict[str, int] = {}
        return np.fromiter((known.setdefault(name, len(known)) for name in self._names), np.intp, count)

    def _kind(self, row: Outcome) -> int:
        """The number of the kind of an outcome whose groups did not come lately."""
        judged = isinstance(row.value, bool)
        key = (row.metric, tuple(row.groups.items()), judged)
        kind = self._kinds.get(key)
        kind = self._new_kind(key) if kind is None else kind
        if len(self._lately) >= LATELY:
            self._lately.clear()
        self._lately[row.metric, id(row.groups), judged] = (kind, dict(row.groups))
        return kind

    def _new_kind(self, key: _Kind) -> int:
        """The number of outcomes of one metric with the same groups, which it is seen in for the first time."""
        metric, groups, judged = key
        number = self._kinds[key] = len(self._kinds)
        cells = self._cells.setdefault(metric, {OVERALL: _Cell()})
        for name in dict.fromkeys((OVERALL, *(str(Group(what, value)) for what, value in groups))):
            cell = cells.setdefault(name, _Cell())
            cell.kinds.append(number)
            cell.shares = cell.shares and judged
        return number


_Kind: TypeAlias = tuple[str, tuple[tuple[str, str], ...], bool]
"""Metric and groups of an outcome, and whether it is a judgement."""


@dataclass(slots=True)
class _Cell:
    """Which values a metric has in a group."""

    kinds: list[int] = field(default_factory=list)
    shares: bool = True
    """Whether all are judgements."""


def _estimate(
    metric: str, group: str, numbers: Floats, of: NDArray[np.intp] | None, method: Method | None, by: str
) -> Estimate:
    """The share of successes with its interval by `method`; without one, the mean of numbers with its own."""
    n = len(numbers)
    note = "" if of is None else f", by {by}"
    if method is not None:
        successes = int(numbers.sum())
        share = successes / n
        rows = n if of is None else effective_number(np.bincount(of).astype(np.float64))
        interval = INTERVALS[method](share * rows if note else successes, rows)
        return Estimate(metric, group, share, n, interval.low, interval.high, f"{method}{note}")
    mean = fmean(numbers.tolist())
    if of is None:
        made = ratio_interval(numbers, np.ones(n))
    else:
        sums, sizes = np.bincount(of, weights=numbers), np.bincount(of)
        made = ratio_interval(sums.astype(np.float64), sizes.astype(np.float64))
    if made.interval is None:
        return Estimate(metric, group, mean, n, method=made.method)
    return Estimate(metric, group, mean, n, made.interval.low, made.interval.high, f"{made.method}{note}")


def remade(estimate: Estimate, method: Method) -> Estimate:
    """A share that a suite counted itself, with its interval made by the method that is asked for."""
    if estimate.method not in get_args(Method) or estimate.method == method:
        return estimate
    made = INTERVALS[method](round(estimate.value * estimate.n), estimate.n)
    return replace(estimate, low=made.low, high=made.high, method=method)


def within(estimate: Estimate, unit: Unit) -> Estimate:
    """The estimate with an interval that ends where its unit does: no distance is less than 0.

    An interval of a mean knows nothing of that; what is cut off holds no value that the mean could have.
    """
    if estimate.low is None or estimate.high is None or unit not in BELOW_NOTHING or estimate.low >= 0:
        return estimate
    return replace(estimate, low=0.0)


def of_shares(method: str | None) -> bool:
    """Whether an interval of this method is one of shares."""
    return (method or "").partition(",")[0] in get_args(Method) or (method or "").endswith("sd of shares")


def over_runs(runs: Sequence[Iterable[Estimate]], *, population: bool = False) -> list[Estimate]:
    """The mean of each value over several runs, give or take one standard deviation; n is the runs that have it.

    The deviation is that of a sample (n - 1) unless the runs are the whole `population`. The method says which,
    and whether the values are shares.
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
        shares = all(of_shares(found.method) for found in each)
        method = f"{name} of shares" if shares else name
        means.append(Estimate(metric, group, mean, len(values), mean - spread, mean + spread, method))
    return means


def _unskewed(x: float, skewness: float, n: int) -> float:
    """The t that Hall's cubic (1992, eq. 3.2: t + γt²/3√n + γ²t³/27n + γ/6√n) takes to `x`."""
    if abs(skewness) < 1e-9:
        return x
    root, third = math.sqrt(n), skewness / 3
    return root / third * (float(np.cbrt(1 + 3 * third / root * (x - skewness / (6 * root)))) - 1)


def _numbered(units: Sequence[str]) -> NDArray[np.intp] | None:
    """The units as numbers from 0; None where each stands once."""
    numbers: dict[str, int] = {}
    return _renumbered(np.asarray([numbers.setdefault(unit, len(numbers)) for unit in units], np.intp))


def _renumbered(units: NDArray[np.intp]) -> NDArray[np.intp] | None:
    """Units by numbers from 0 in the order in which they come; None where each stands once."""
    if (units[1:] > units[:-1]).all():
        return None
    unique, first, inverse = np.unique(units, return_index=True, return_inverse=True)
    if len(unique) == len(units):
        return None
    rank = np.empty(len(unique), np.intp)
    rank[np.argsort(first)] = np.arange(len(unique))
    return rank[inverse]
