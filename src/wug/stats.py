"""Values over many items, with their intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, pstdev, stdev
from typing import Literal, get_args

from wug.types import Estimate, Outcome

Method = Literal["wilson", "clopper-pearson"]


@dataclass(frozen=True, slots=True)
class Interval:
    """From where to where."""

    low: float
    high: float


def wilson(successes: int, n: int, confidence: float = 0.95) -> Interval:
    """The Wilson score interval of a share."""
    if n == 0:
        return Interval(0.0, 1.0)
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share = successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # At the edges rounding would leave 1e-17 instead of the exact end.
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    return Interval(low, 1.0 if successes == n else min(1.0, centre + half))


def clopper_pearson(successes: int, n: int, confidence: float = 0.95) -> Interval:
    """The exact (Clopper–Pearson) interval of a share."""
    from scipy.stats import binomtest

    if n == 0:
        return Interval(0.0, 1.0)
    found = binomtest(successes, n).proportion_ci(confidence, method="exact")
    return Interval(float(found.low), float(found.high))


def mean_interval(values: Sequence[float], confidence: float = 0.95) -> Interval | None:
    """The t interval of a mean; None for fewer than two values."""
    if len(values) < 2:
        return None
    from scipy.special import stdtrit

    half = float(stdtrit(len(values) - 1, 0.5 + confidence / 2)) * stdev(values) / math.sqrt(len(values))
    mean = fmean(values)
    return Interval(mean - half, mean + half)


def estimate(check: str, group: str, values: Sequence[bool] | Sequence[float], method: Method = "wilson") -> Estimate:
    """The share of successes, or the mean of numbers, with its interval."""
    n = len(values)
    if all(isinstance(value, bool) for value in values):
        successes = sum(values)
        found = (wilson if method == "wilson" else clopper_pearson)(int(successes), n)
        return Estimate(check, group, successes / n, n, found.low, found.high, method)
    interval = mean_interval(values)
    if interval is None:
        return Estimate(check, group, fmean(values), n)
    return Estimate(check, group, fmean(values), n, interval.low, interval.high, "t")


def estimates(outcomes: Iterable[Outcome], method: Method = "wilson") -> list[Estimate]:
    """Each check over all items, then over each group, in the order in which they come."""
    cells: dict[str, dict[str, list[bool | float]]] = {}
    for outcome in outcomes:
        if outcome.value is None:
            continue
        groups = cells.setdefault(outcome.check, {"all": []})
        groups["all"].append(outcome.value)
        for field, value in outcome.groups.items():
            groups.setdefault(f"{field}={value}", []).append(outcome.value)
    return [
        estimate(check, group, values, method) for check, groups in cells.items() for group, values in groups.items()
    ]


def over_runs(runs: Sequence[Iterable[Estimate]], *, population: bool = False) -> list[Estimate]:
    """The mean of each value over several runs, give or take one standard deviation; n is the runs that have it.

    The deviation is that of a sample (n - 1) unless the runs are the whole `population`. The method says which,
    and whether the values are shares.
    """
    cells: dict[tuple[str, str], list[Estimate]] = {}
    for run in runs:
        for found in run:
            cells.setdefault((found.check, found.group), []).append(found)
    name, deviation = ("population sd", pstdev) if population else ("sd", stdev)
    means = []
    for (check, group), each in cells.items():
        values = [found.value for found in each]
        mean = fmean(values)
        if len(values) < 2:
            means.append(Estimate(check, group, mean, 1))
            continue
        spread = deviation(values)
        shares = all(found.method in get_args(Method) for found in each)
        method = f"{name} of shares" if shares else name
        means.append(Estimate(check, group, mean, len(values), mean - spread, mean + spread, method))
    return means
