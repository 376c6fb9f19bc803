"""Paired comparison of two models: the difference with its interval and p-value, and Holm's correction.

Each test has the interval that inverts it: Tango's for McNemar's score test, Student's for the t test. So a 95%
interval excludes 0 exactly if the unadjusted p-value is below 0.05.

Differences are second minus first. Dependent outcomes (several metrics or sentences of one item) are clusters, given by
the sum of their differences and their number.

Powers are those of two-sided tests at 5%: McNemar's by the normal approximation of Connor ("Sample size for testing
differences in proportions for the paired-sample design", Biometrics 43, 1987), the paired t test with the critical
value of Student's t.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, TypeAlias

import numpy as np

from wug.arrays import Floats, Indices
from wug.distributions import DRAWS, beta_cdf, root, sign_test_p, t_quantile
from wug.outcomes import Interval
from wug.stats import wilson

IntervalKind: TypeAlias = Literal["t", "bca"]

DRAWS_PER_TEST = 200
"""Random sign flips per test of a comparison, if that is more; the smallest adjusted p-value is then 0.005."""
MIN_HITS = 10
"""Random sums that reach the observed one at which drawing stops, since p is known well enough."""
MAX_EXACT_CLUSTERS = 20
"""Clusters with a difference up to which all sign flips (a million) are enumerated."""
MAX_PERMUTED_SIZES = 20_000
"""Distinct sizes of differences up to which signs are drawn at random; beyond that, the normal limit is used."""
MAX_BOOTSTRAP_CLUSTERS = 5_000
"""Clusters up to which a BCa interval is computed; the cost grows with their square."""


@dataclass(frozen=True, slots=True)
class SignificanceTest:
    """A two-sided p-value and the name of the test."""

    p: float
    method: str


def mcnemar(only_first: int, only_second: int) -> SignificanceTest:
    """McNemar's test of the items that only one model has right: asymptotic, without continuity correction.

    It is the score test of a difference of 0 that `tango` inverts. Fagerland, Lydersen and Laake (BMC Medical Research
    Methodology 13, 2013) recommend it over the exact test, which rejects too rarely.
    """
    discordant = only_first + only_second
    z = abs(only_second - only_first) / math.sqrt(discordant) if discordant else 0.0
    return SignificanceTest(math.erfc(z / math.sqrt(2)), "McNemar (score)")


def tango(only_first: int, only_second: int, n: int, confidence: float = 0.95) -> Interval:
    """Tango's score interval of the difference of two paired proportions.

    Tango, "Equivalence test and confidence interval for the difference in proportions for the paired-sample design",
    Statistics in Medicine 17 (1998), eq. 13–14: the differences that a score test, with the nuisance parameter at its
    restricted maximum likelihood estimate, does not reject. Fagerland, Lydersen and Laake (Statistics in Medicine 33,
    2014) find its coverage close to nominal where Wald's is too low, and recommend it; `benchmarks/compare_coverage.py`
    finds the same. It stays within [-1, 1] and has a positive width even if the two never differ.
    """
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    difference = (only_second - only_first) / n

    def excess(delta: float, sign: int) -> float:
        return only_second - only_first - n * delta - sign * z * math.sqrt(_tango_variance(delta, *counts))

    counts = (only_first, only_second, n)
    # At the observed difference the score may be 0 / 0, so the search starts next to it.
    epsilon = 1e-10
    low = -1.0 if difference - epsilon <= -1 else root(lambda delta: excess(delta, 1), -1.0, difference - epsilon)
    high = 1.0 if difference + epsilon >= 1 else root(lambda delta: excess(delta, -1), difference + epsilon, 1.0)
    return Interval(low, high)


def flip_signs(sums: Floats, seed: int = 0, tests: int = 1) -> SignificanceTest:
    """The paired permutation test: under H0, each cluster's sign is exchangeable.

    Exact for few clusters that differ, and for differences of one size. With random signs for more: enough draws for
    Holm's correction of `tests` tests, and the observed signs count as one draw, so p is never 0. For very many, by the
    normal limit of the sum.
    """
    values = np.abs(sums[sums != 0])
    observed = abs(float(sums.sum()))
    # Sums that differ only by rounding are equal, as in scipy.stats.permutation_test.
    reached = observed - 1e-12 * float(values.sum())
    if len(values) <= MAX_EXACT_CLUSTERS:
        flipped = np.zeros(1)
        for value in values:
            flipped = np.concatenate((flipped + value, flipped - value))
        return SignificanceTest(float(np.mean(np.abs(flipped) >= reached)), "exact permutation")
    levels, counts = np.unique(values, return_counts=True)
    if len(levels) == 1:
        return SignificanceTest(sign_test_p(int((sums > 0).sum()), len(values)), "exact permutation")
    if len(levels) > MAX_PERMUTED_SIZES:
        z = observed / math.sqrt(float((values**2).sum()))
        return SignificanceTest(math.erfc(z / math.sqrt(2)), "permutation (normal limit)")
    rng = np.random.default_rng(seed)
    few = 20 * len(levels) < len(values)
    hits = drawn = 0
    wanted = max(DRAWS, DRAWS_PER_TEST * tests - 1)
    while drawn < wanted and (drawn == 0 or hits < MIN_HITS):
        count = min(DRAWS, wanted - drawn)
        flipped = _flip_equal(levels, counts, rng, count) if few else _flip_each(values, rng, count)
        hits += int(np.sum(np.abs(flipped) >= reached))
        drawn += count
    return SignificanceTest((1 + hits) / (drawn + 1), f"permutation ({drawn:,} draws)")


def t_test(sums: Floats, sizes: Floats) -> SignificanceTest | None:
    """Student's t test of the mean difference, by clusters; None if `t_interval` gives none."""
    error = _standard_error(sums, sizes)
    if error is None:
        return None
    df, t = len(sums) - 1, float(sums.sum()) / float(sizes.sum()) / error
    return SignificanceTest(beta_cdf(df / 2, 0.5, df / (df + t * t)), "t test")


def t_interval(sums: Floats, sizes: Floats) -> Interval | None:
    """Student's t interval of the mean difference, by clusters; None if they do not vary.

    The mean is a ratio, the sum of differences over their number, with the variance of a ratio between clusters
    (Cochran, Sampling Techniques, 1977, §6.3). For clusters of one outcome it is the paired t interval.
    """
    error = _standard_error(sums, sizes)
    if error is None:
        return None
    mean = float(sums.sum()) / float(sizes.sum())
    half = t_quantile(len(sums) - 1, 0.975) * error
    return Interval(mean - half, mean + half)


def _standard_error(sums: Floats, sizes: Floats) -> float | None:
    """The standard error of the mean difference between clusters; None if they do not vary."""
    clusters, total = len(sums), float(sizes.sum())
    if clusters < 2:
        return None
    mean = float(sums.sum()) / total
    left = sums - mean * sizes
    error = math.sqrt(clusters / (clusters - 1) * float((left**2).sum())) / total
    return error if error > 1e-14 * max(1.0, abs(mean)) else None


def bca_interval(sums: Floats, sizes: Floats, seed: int = 0, confidence: float = 0.95) -> Interval | None:
    """The bias-corrected and accelerated (BCa) bootstrap interval of the mean difference, resampling clusters.

    None if they do not vary, or if the bootstrap distribution is degenerate.
    """
    if t_interval(sums, sizes) is None:
        return None
    estimate = _ratio(sums, sizes)
    drawn = _bootstrap_means(sums, sizes, seed)
    below = (np.count_nonzero(drawn < estimate) + np.count_nonzero(drawn <= estimate)) / (2 * DRAWS)
    # The jackknife estimates the acceleration.
    jackknife = (sums.sum() - sums) / (sizes.sum() - sizes)
    jackknife = jackknife.mean() - jackknife
    spread = float(np.square(jackknife).sum()) ** 1.5
    if not 0 < below < 1 or spread == 0:
        return None
    normal = NormalDist()
    bias, acceleration = normal.inv_cdf(below), float((jackknife**3).sum()) / (6 * spread)
    ends = []
    for z in (normal.inv_cdf((1 - confidence) / 2), normal.inv_cdf((1 + confidence) / 2)):
        probability = normal.cdf(bias + (bias + z) / (1 - acceleration * (bias + z)))
        ends.append(float(np.percentile(drawn, 100 * probability)))
    return Interval(*ends)


def holm(ps: Sequence[float]) -> list[float]:
    """The p-values adjusted by Holm's step-down method, in the same order.

    It controls the family-wise error rate, whatever the dependence between the tests (Holm 1979).
    """
    order = sorted(range(len(ps)), key=ps.__getitem__)
    corrected = [0.0] * len(ps)
    highest = 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(ps) - rank) * ps[index]))
        corrected[index] = highest
    return corrected


def _tango_variance(delta: float, only_first: int, only_second: int, n: int) -> float:
    """n² times the variance of the difference of proportions, if `delta` is the true difference."""
    a = 2 * n
    b = -only_first - only_second + (2 * n - only_second + only_first) * delta
    c = -only_first * delta * (1 - delta)
    # b * b - 4 * a * c is not negative, except by rounding.
    p21 = (math.sqrt(max(0.0, b * b - 4 * a * c)) - b) / (2 * a)
    return max(0.0, n * (2 * p21 + delta * (1 - delta)))


def _flip_each(values: Floats, rng: np.random.Generator, draws: int) -> Floats:
    rows = max(1, 8_000_000 // len(values))
    drawn: list[Floats] = []
    for start in range(0, draws, rows):
        count = min(rows, draws - start)
        bits = np.unpackbits(np.frombuffer(rng.bytes((count * len(values) + 7) // 8), np.uint8))
        drawn.append(bits[: count * len(values)].reshape(count, -1) @ values)
    total: Floats = values.sum() - 2 * np.concatenate(drawn)
    return total


def _flip_equal(levels: Floats, counts: Indices, rng: np.random.Generator, draws: int) -> Floats:
    """Sums with random signs, if many clusters have the same difference: `counts` have that of each level."""
    rows = max(1, 8_000_000 // len(levels))
    sizes = (min(rows, draws - start) for start in range(0, draws, rows))
    return np.concatenate([(2 * rng.binomial(counts, 0.5, (n, len(levels))) - counts) @ levels for n in sizes])


def _bootstrap_means(sums: Floats, sizes: Floats, seed: int) -> Floats:
    """The mean difference of each bootstrap sample of clusters."""
    rng = np.random.default_rng(seed)
    rows = max(1, 4_000_000 // len(sums))
    means = []
    for start in range(0, DRAWS, rows):
        choices = rng.integers(0, len(sums), (min(rows, DRAWS - start), len(sums)))
        means.append(_ratio(sums[choices], sizes[choices]))
    return np.concatenate(means)


def _ratio(sums: Floats, sizes: Floats) -> Floats:
    ratio: Floats = sums.sum(axis=-1) / sizes.sum(axis=-1)
    return ratio


ALPHA = 0.05
MAX_ITEMS = 100_000_000
"""More items are not counted."""
_normal = NormalDist()


def share_width(share: float, items: int) -> float:
    """The width of the 95% Wilson interval of a proportion."""
    interval = wilson(share * items, items)
    return interval.high - interval.low


def mean_width(deviation: float, items: int) -> float:
    """The width of the 95% t interval of a mean, given the standard deviation of items."""
    return math.inf if items < 2 else 2 * t_quantile(items - 1, 1 - ALPHA / 2) * deviation / math.sqrt(items)


def mcnemar_power(difference: float, discordant: float, items: int) -> float:
    """The probability that McNemar's test finds a difference of proportions.

    Args:
        difference: The true difference.
        discordant: The proportion of items that one model has right and the other wrong; at least the difference.
        items: The number of items.
    """
    effect, most = abs(difference), max(abs(difference), discordant)
    spread = math.sqrt(max(most - effect * effect, 1e-12))
    return _normal.cdf((effect * math.sqrt(items) - _normal.inv_cdf(1 - ALPHA / 2) * math.sqrt(most)) / spread)


def paired_power(difference: float, deviation: float, items: int) -> float:
    """The probability that a paired t test finds a mean difference, given the standard deviation of differences."""
    if items < 2:
        return 0.0
    if deviation == 0:
        return 1.0 if difference else ALPHA
    return _normal.cdf(abs(difference) * math.sqrt(items) / deviation - t_quantile(items - 1, 1 - ALPHA / 2))


def min_items(enough: Callable[[int], bool], least: int = 2) -> int | None:
    """The smallest number of items that is enough, if more are enough, too; None if `MAX_ITEMS` are not."""
    items = least + bisect_left(range(least, MAX_ITEMS + 1), True, key=enough)
    return items if items <= MAX_ITEMS else None
