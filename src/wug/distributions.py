"""Quantiles and tails of the distributions that intervals and tests are made of, in plain Python.

They are the few functions that wug needs of SciPy, which weighs more than all the rest of the core together and takes
longer to import than most commands take. tests/test_distributions.py compares each with SciPy's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

MAX_TERMS = 100_000
"""Terms of the continued fraction: about the root of the larger parameter is what it takes."""


def beta_cdf(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function: the share of a beta distribution below `x`."""
    if x <= 0 or x >= 1:
        return float(x > 0)
    if x > (a + 1) / (a + b + 2):  # the fraction converges quickly on the other side
        return 1 - beta_cdf(b, a, 1 - x)
    front = a * math.log(x) + b * math.log1p(-x) - math.log(a) - _log_beta(a, b)
    return math.exp(front) / _fraction(a, b, x)


def beta_quantile(a: float, b: float, share: float) -> float:
    """The value below which this share of a beta distribution lies."""
    return root(lambda x: beta_cdf(a, b, x) - share, 0.0, 1.0)


def t_cdf(freedom: float, t: float) -> float:
    """The share of Student's t distribution below `t`."""
    if t * t < freedom:  # where the other way takes 1 - x of an x next to 1
        return 0.5 + math.copysign(beta_cdf(0.5, freedom / 2, t * t / (freedom + t * t)) / 2, t)
    tail = beta_cdf(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2
    return 1 - tail if t > 0 else tail


@lru_cache(maxsize=1024)
def t_quantile(freedom: float, share: float) -> float:
    """The value below which this share of Student's t distribution lies."""
    if share < 0.5:
        return -t_quantile(freedom, 1 - share)
    high = 1.0
    while t_cdf(freedom, high) < share:
        high *= 2
    return root(lambda t: t_cdf(freedom, t) - share, 0.0, high)


def sign_test_p(heads: int, tosses: int) -> float:
    """The two-sided p-value of so many heads of a fair coin, exact."""
    fewer = min(heads, tosses - heads)
    if 2 * fewer == tosses:
        return 1.0
    if tosses <= 500:  # in whole numbers
        return sum(math.comb(tosses, k) for k in range(fewer + 1)) / (1 << (tosses - 1))
    return min(1.0, 2 * beta_cdf(tosses - fewer, fewer + 1, 0.5))


def root(rises: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that is of one sign at `low` and of the other at `high` is zero, to the last digits.

    The method is that of Ridders ("A new algorithm for computing a single root of a real continuous function", IEEE
    Trans. Circuits and Systems 26, 1979): it never leaves the interval, and halves it at least.
    """
    at_low, at_high = rises(low), rises(high)
    if at_low == 0 or at_high == 0:
        return low if at_low == 0 else high
    while True:
        middle = (low + high) / 2
        if not low < middle < high or high - low <= 1e-15 * abs(middle):
            return middle
        at_middle = rises(middle)
        step = (middle - low) * math.copysign(at_middle, at_low * at_middle)
        guess = middle + step / math.sqrt(at_middle**2 - at_low * at_high) if at_middle else middle
        for x, at_x in ((middle, at_middle), (guess, rises(guess))):
            if at_x == 0:
                return x
            if low < x < high:
                if (at_x > 0) == (at_low > 0):
                    low, at_low = x, at_x
                else:
                    high, at_high = x, at_x


def _log_beta(a: float, b: float) -> float:
    """The logarithm of the beta function; large parameters cancel in the plain way."""
    small, large = min(a, b), max(a, b)
    if large < 100:
        return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    # Stirling's series of lgamma(large) - lgamma(small + large), whose large terms cancel on paper.
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
    """What Stirling's formula leaves out of lgamma; below 1e-16 of it past 100."""
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
