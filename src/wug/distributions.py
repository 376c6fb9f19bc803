"""Quantiles, cumulative distribution functions and the bootstrap, for intervals and tests.

SciPy has them too, but it is larger than the rest of the core and takes longer to import than most commands run.
tests/test_distributions.py compares each function with SciPy's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from wug.arrays import Floats

MAX_TERMS = 100_000
"""Maximum number of terms of the continued fraction; it needs about the square root of the larger parameter."""

DRAWS = 9_999
"""Random sign flips or bootstrap samples, if not all can be enumerated."""
SEED = 0
MIN_UNITS, MAX_UNITS = 5, 200
"""Below, too many samples consist of one item; above, Student's interval is as good (benchmarks/effect_coverage.py)."""


def beta_cdf(a: float, b: float, x: float) -> float:
    """The cumulative distribution function of a beta distribution (the regularised incomplete beta function)."""
    if x <= 0 or x >= 1:
        return float(x > 0)
    if x > (a + 1) / (a + b + 2):  # the fraction converges quickly on the other side
        return 1 - beta_cdf(b, a, 1 - x)
    front = a * math.log(x) + b * math.log1p(-x) - math.log(a) - _log_beta(a, b)
    return math.exp(front) / _fraction(a, b, x)


def beta_quantile(a: float, b: float, probability: float) -> float:
    """The quantile of a beta distribution."""
    return root(lambda x: beta_cdf(a, b, x) - probability, 0.0, 1.0)


def t_cdf(df: float, t: float) -> float:
    """The cumulative distribution function of Student's t distribution."""
    if t * t < df:  # the other formula would lose digits here
        return 0.5 + math.copysign(beta_cdf(0.5, df / 2, t * t / (df + t * t)) / 2, t)
    tail = beta_cdf(df / 2, 0.5, df / (df + t * t)) / 2
    return 1 - tail if t > 0 else tail


@lru_cache(maxsize=1024)
def t_quantile(df: float, probability: float) -> float:
    """The quantile of Student's t distribution."""
    if probability < 0.5:
        return -t_quantile(df, 1 - probability)
    high = 1.0
    while t_cdf(df, high) < probability:
        high *= 2
    return root(lambda t: t_cdf(df, t) - probability, 0.0, high)


def sign_test_p(positive: int, n: int) -> float:
    """The exact two-sided p-value of a sign test (binomial test with probability 1/2)."""
    fewer = min(positive, n - positive)
    if 2 * fewer == n:
        return 1.0
    if n <= 500:  # in integers
        return sum(math.comb(n, k) for k in range(fewer + 1)) / (1 << (n - 1))
    return min(1.0, 2 * beta_cdf(n - fewer, fewer + 1, 0.5))


def root(function: Callable[[float], float], low: float, high: float) -> float:
    """The root of a function that has opposite signs at `low` and `high`, to machine precision.

    By Ridders' method ("A new algorithm for computing a single root of a real continuous function", IEEE Trans.
    Circuits and Systems 26, 1979), which stays in the interval and at least halves it at each step.
    """
    at_low, at_high = function(low), function(high)
    if at_low == 0 or at_high == 0:
        return low if at_low == 0 else high
    while True:
        middle = (low + high) / 2
        if not low < middle < high or high - low <= 1e-15 * abs(middle):
            return middle
        at_middle = function(middle)
        step = (middle - low) * math.copysign(at_middle, at_low * at_middle)
        guess = middle + step / math.sqrt(at_middle**2 - at_low * at_high) if at_middle else middle
        for x, at_x in ((middle, at_middle), (guess, function(guess))):
            if at_x == 0:
                return x
            if low < x < high:
                if (at_x > 0) == (at_low > 0):
                    low, at_low = x, at_x
                else:
                    high, at_high = x, at_x


def _log_beta(a: float, b: float) -> float:
    """The logarithm of the beta function, without cancellation for large parameters."""
    small, large = min(a, b), max(a, b)
    if large < 100:
        return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    # Stirling's series of lgamma(large) - lgamma(small + large), with the large terms cancelled analytically.
    total = small + large
    difference = (
        (large - 0.5) * math.log1p(-small / total)
        - small * math.log(total)
        + small
        + _correction(large)
        - _correction(total)
    )
    return math.lgamma(small) + difference


def _correction(x: float) -> float:
    """The remainder of Stirling's formula for lgamma, to a relative error below 1e-16 for x > 100."""
    return 1 / (12 * x) - 1 / (360 * x**3) + 1 / (1260 * x**5)


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method."""
    tiny = 1e-300
    value, c, d = 1.0, 1.0, 0.0
    for term in range(1, MAX_TERMS):
        m, odd = divmod(term, 2)
        if odd:
            factor = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            factor = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / ((1 + factor * d) or tiny)
        c = (1 + factor / c) or tiny
        value *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return value


def bootstrap_t(sums: Floats, sizes: Floats) -> tuple[float, float] | None:
    """The 95% bootstrap-t interval of the sum of `sums` over the sum of `sizes`; None if too few values differ.

    With sizes of 1 that is a mean. Efron & Tibshirani, An Introduction to the Bootstrap (1993), §12.5. Coverage is
    closer to 95% than that of BCa and of Student's t for the skewed margins of few items.
    """
    n, mean = len(sums), float(sums.sum() / sizes.sum())
    left = sums - mean * sizes  # around 0, so that rounding does not matter
    columns = np.stack([left, left * left, sizes, left * sizes, sizes * sizes], axis=1)
    total_left, of_left, totals, products, of_sizes = (_weights(n) @ columns).T
    means = total_left / totals
    squares = of_left - 2 * means * products + means**2 * of_sizes
    constant = squares <= 1e-12 * float(left @ left)
    factor = math.sqrt(n / (n - 1))
    errors = factor * np.sqrt(np.where(constant, 1.0, squares)) / totals
    studentised = np.where(constant, np.copysign(np.inf, means), means / errors)
    low, high = np.quantile(studentised, (0.025, 0.975), method="inverted_cdf").tolist()
    error = factor * math.sqrt(float(left @ left)) / float(sizes.sum())
    return (mean - high * error, mean - low * error) if math.isfinite(high - low) else None


@lru_cache(maxsize=8)
def _weights(n: int) -> Floats:
    """How often each of `n` units is in each sample."""
    drawn = np.random.default_rng(SEED).integers(0, n, (DRAWS, n))
    drawn += np.arange(DRAWS)[:, None] * n
    return np.bincount(drawn.ravel(), minlength=DRAWS * n).reshape(DRAWS, n).astype(np.float64)
