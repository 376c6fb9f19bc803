"""Two models on the same items: the difference, its interval, its p-value, and Holm's correction for many.

A test and its interval belong together: McNemar's test is the score test that Tango's interval inverts, and Student's
test has Student's interval. So a 95 % interval excludes 0 exactly where the p-value, unadjusted, is below 0.05.

Differences are always those of the second from the first. Outcomes that belong together (several metrics or several
sentences of one item) come as clusters: the sum of a cluster's differences, and how many there are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from wug.distributions import beta_cdf, root, sign_test_p, t_quantile
from wug.stats import Interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

IntervalKind: TypeAlias = Literal["t", "bca"]
Floats: TypeAlias = "NDArray[np.float64]"

DRAWS = 9999
"""Sign flips, or samples drawn anew, where not all can be gone through."""
DRAWS_PER_TEST = 200
"""Sign flips per test of a comparison, if that is more: the smallest p-value is then 0.005 after Holm's correction."""
MIN_HITS = 10
"""Drawn sums that reach the observed one: with as many, p is known well enough and no further signs are drawn."""
MAX_EXACT_CLUSTERS = 20
"""Clusters with a difference up to which all sign flips are gone through: a million."""
MAX_PERMUTED_CLUSTERS = 20_000
"""Clusters with a difference up to which signs are drawn; beyond, the sum of flipped differences is normal."""
MAX_BOOTSTRAP_CLUSTERS = 5_000
"""Clusters up to which samples are drawn anew for a BCa interval, whose work grows with their square."""


@dataclass(frozen=True, slots=True)
class SignificanceTest:
    """A two-sided p-value and the name of the test."""

    p: float
    method: str


def mcnemar(only_first: int, only_second: int) -> SignificanceTest:
    """McNemar's test: are the items that only one has right as often the one's as the other's?

    It is asymptotic and has no continuity correction, as the score test of a difference of 0 that `tango` inverts.
    Fagerland, Lydersen and Laake (BMC Medical Research Methodology 13, 2013) recommend it over the exact one, which
    rejects too rarely.
    """
    discordant = only_first + only_second
    z = abs(only_second - only_first) / math.sqrt(discordant) if discordant else 0.0
    return SignificanceTest(math.erfc(z / math.sqrt(2)), "McNemar (score)")


def tango(only_first: int, only_second: int, n: int, confidence: float = 0.95) -> Interval:
    """Tango's score interval of the difference of two paired shares.

    Tango, "Equivalence test and confidence interval for the difference in proportions for the paired-sample design",
    Statistics in Medicine 17 (1998), eq. 13–14: the differences that a score test, with the nuisance parameter at its
    restricted maximum of likelihood, does not reject. Fagerland, Lydersen and Laake (Statistics in Medicine 33, 2014)
    find its coverage close to nominal where Wald's falls short, and recommend it; `benchmarks/compare_coverage.py`
    finds the same. It stays within [-1, 1] and has a width even where the two never differ.
    """
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    found = (only_second - only_first) / n

    def excess(delta: float, sign: int) -> float:
        return only_second - only_first - n * delta - sign * z * math.sqrt(_tango_variance(delta, *counts))

    counts = (only_first, only_second, n)
    # At the difference itself the score is 0 over what may be 0 as well: look beside it.
    beside = 1e-10
    low = -1.0 if found - beside <= -1 else root(lambda delta: excess(delta, 1), -1.0, found - beside)
    high = 1.0 if found + beside >= 1 else root(lambda delta: excess(delta, -1), found + beside, 1.0)
    return Interval(low, high)


def flip_signs(sums: Floats, seed: int = 0, tests: int = 1) -> SignificanceTest:
    """The paired permutation test: were the models alike, each cluster's difference might as well have the other sign.

    Exact for few clusters that differ, and for differences of one size; with drawn signs for more (the p-value counts
    the observed ones, so it is never 0), as many as Holm's correction for so many `tests` takes; for very many by the
    normal limit of the sum.
    """
    values = np.abs(sums[sums != 0])
    observed = abs(float(sums.sum()))
    # Sums that differ by rounding alone are equal, as in scipy.stats.permutation_test.
    reached = observed - 1e-12 * float(values.sum())
    if len(values) <= MAX_EXACT_CLUSTERS:
        flipped = np.zeros(1)
        for value in values:
            flipped = np.concatenate((flipped + value, flipped - value))
        return SignificanceTest(float(np.mean(np.abs(flipped) >= reached)), "exact permutation")
    levels, counts = np.unique(values, return_counts=True)
    if len(levels) == 1:
        return SignificanceTest(sign_test_p(int((sums > 0).sum()), len(values)), "exact permutation")
    if len(levels) > MAX_PERMUTED_CLUSTERS:
        z = observed / math.sqrt(float((values**2).sum()))
        return SignificanceTest(math.erfc(z / math.sqrt(2)), "permutation (normal limit)")
    rng = np.random.default_rng(seed)
    few = 20 * len(levels) < len(values)
    hits = drawn = 0
    wanted = max(DRAWS, DRAWS_PER_TEST * tests - 1)
    while drawn < wanted and (drawn == 0 or hits < MIN_HITS):
        count = min(DRAWS, wanted - drawn)
        flipped = _flip_levels(levels, counts, rng, count) if few else _flip_each(values, rng, count)
        hits += int(np.sum(np.abs(flipped) >= reached))
        drawn += count
    return SignificanceTest((1 + hits) / (drawn + 1), f"permutation ({drawn:,} draws)")


def t_test(sums: Floats, sizes: Floats) -> SignificanceTest | None:
    """Student's test of the mean difference, by clusters; None where `t_interval` gives none."""
    error = _standard_error(sums, sizes)
    if error is None:
        return None
    freedom, t = len(sums) - 1, float(sums.sum()) / float(sizes.sum()) / error
    return SignificanceTest(beta_cdf(freedom / 2, 0.5, freedom / (freedom + t * t)), "t test")


def t_interval(sums: Floats, sizes: Floats, confidence: float = 0.95) -> Interval | None:
    """Student's t interval of the mean difference, by clusters; None where they do not vary.

    The mean is the ratio of all differences to their number, with the variance of a ratio between clusters
    (Cochran, Sampling Techniques, 1977, §6.3). For clusters of one outcome that is the paired t interval.
    """
    error = _standard_error(sums, sizes)
    if error is None:
        return None
    mean = float(sums.sum()) / float(sizes.sum())
    half = t_quantile(len(sums) - 1, 0.5 + confidence / 2) * error
    return Interval(mean - half, mean + half)


def _standard_error(sums: Floats, sizes: Floats) -> float | None:
    """Of the mean difference between clusters; None where they do not vary."""
    clusters, total = len(sums), float(sizes.sum())
    if clusters < 2:
        return None
    mean = float(sums.sum()) / total
    left = sums - mean * sizes
    error = math.sqrt(clusters / (clusters - 1) * float((left**2).sum())) / total
    return error if error > 1e-14 * max(1.0, abs(mean)) else None


def bca_interval(sums: Floats, sizes: Floats, seed: int = 0, confidence: float = 0.95) -> Interval | None:
    """The bias-corrected and accelerated bootstrap interval of the mean difference, clusters drawn anew.

    None where they do not vary, or where drawing the same again and again gives no end.
    """
    if t_interval(sums, sizes) is None:
        return None
    found = _ratio(sums, sizes)
    drawn = _bootstrap_means(sums, sizes, seed)
    below = (np.count_nonzero(drawn < found) + np.count_nonzero(drawn <= found)) / (2 * DRAWS)
    # Each cluster left out in turn tells how the statistic leans.
    leaning = (sums.sum() - sums) / (sizes.sum() - sizes)
    leaning = leaning.mean() - leaning
    spread = float(np.square(leaning).sum()) ** 1.5
    if not 0 < below < 1 or spread == 0:
        return None
    normal = NormalDist()
    bias, acceleration = normal.inv_cdf(below), float((leaning**3).sum()) / (6 * spread)
    ends = []
    for z in (normal.inv_cdf((1 - confidence) / 2), normal.inv_cdf((1 + confidence) / 2)):
        share = normal.cdf(bias + (bias + z) / (1 - acceleration * (bias + z)))
        ends.append(float(np.percentile(drawn, 100 * share)))
    return Interval(*ends)


def holm(ps: Sequence[float]) -> list[float]:
    """Each p-value corrected for all of them by Holm's step-down method, in the same order.

    The chance of calling any two equal models different is then at most that of one test, however the tests depend
    on each other (Holm 1979).
    """
    order = sorted(range(len(ps)), key=ps.__getitem__)
    corrected = [0.0] * len(ps)
    highest = 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(ps) - rank) * ps[place]))
        corrected[place] = highest
    return corrected


def _tango_variance(delta: float, only_first: int, only_second: int, n: int) -> float:
    """n² times the variance of the difference of shares, were `delta` the true one."""
    a = 2 * n
    b = -only_first - only_second + (2 * n - only_second + only_first) * delta
    c = -only_first * delta * (1 - delta)
    # b * b - 4 * a * c is a square of real numbers; rounding may leave it below 0.
    share = (math.sqrt(max(0.0, b * b - 4 * a * c)) - b) / (2 * a)
    return max(0.0, n * (2 * share + delta * (1 - delta)))


def _flip_levels(levels: Floats, counts: NDArray[np.int64], rng: np.random.Generator, draws: int) -> Floats:
    """Sums under drawn signs where few different values are there, each many times."""
    return (2 * rng.binomial(counts, 0.5, (draws, len(levels))) - counts) @ levels


def _flip_each(values: Floats, rng: np.random.Generator, draws: int) -> Floats:
    """Sums under drawn signs."""
    rows = max(1, 8_000_000 // len(values))
    drawn: list[Floats] = []
    for start in range(0, draws, rows):
        count = min(rows, draws - start)
        bits = np.unpackbits(np.frombuffer(rng.bytes((count * len(values) + 7) // 8), np.uint8))
        drawn.append(bits[: count * len(values)].reshape(count, -1) @ values)
    total: Floats = values.sum() - 2 * np.concatenate(drawn)
    return total


def _bootstrap_means(sums: Floats, sizes: Floats, seed: int) -> Floats:
    """The mean difference of samples of the clusters, drawn with replacement."""
    rng = np.random.default_rng(seed)
    rows = max(1, 4_000_000 // len(sums))
    found = []
    for start in range(0, DRAWS, rows):
        places = rng.integers(0, len(sums), (min(rows, DRAWS - start), len(sums)))
        found.append(_ratio(sums[places], sizes[places]))
    return np.concatenate(found)


def _ratio(sums: Floats, sizes: Floats) -> Floats:
    ratio: Floats = sums.sum(axis=-1) / sizes.sum(axis=-1)
    return ratio
