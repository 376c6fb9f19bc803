"""Differences between results without shared items, such as imported aggregates: from their estimates alone.

The interval is made of those of both sides by the method of variance estimates recovery (Zou & Donner 2008), which for
Wilson's intervals is Newcombe's (1998). The p-value is the one at which that interval would just touch 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import NormalDist, fmean

from wug.identity import OVERALL
from wug.outcomes import Estimate, Metric
from wug.patterns import matches
from wug.results.contrasts import Contrast, Side
from wug.results.shared_items import SharedSuite
from wug.stats import mean_of_intervals

UNPAIRED = "unpaired: at least one side has no items, so that intervals are wider than those of paired items"
_Z = NormalDist().inv_cdf(0.975)


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
    low, high = _interval(first, second)
    p = 1.0 if low is None or high is None else _p(difference, low, high)
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


def _interval(first: Estimate, second: Estimate) -> tuple[float | None, float | None]:
    """The 95% interval of the second value minus the first; None if one of them has no interval."""
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return None, None
    difference = second.value - first.value
    below = math.hypot(second.value - second.low, first.high - first.value)
    above = math.hypot(second.high - second.value, first.value - first.low)
    return difference - below, difference + above


def _p(difference: float, low: float, high: float) -> float:
    half = difference - low if difference > 0 else high - difference
    if half <= 0:
        return 1.0 if difference == 0 else 0.0
    return 2 * (1 - NormalDist().cdf(_Z * abs(difference) / half))
