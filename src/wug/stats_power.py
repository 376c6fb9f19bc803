"""Sample sizes: how many items an interval of a wanted width takes, or a difference between two models.

Powers are those of two-sided tests at 5%: McNemar's by the normal approximation of Connor ("Sample size for testing
differences in proportions for the paired-sample design", Biometrics 43, 1987), the paired t test with the critical
value of Student's t.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

from wug.distributions import t_quantile
from wug.stats import wilson

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
    found, most = abs(difference), max(abs(difference), discordant)
    spread = math.sqrt(max(most - found * found, 1e-12))
    return _normal.cdf((found * math.sqrt(items) - _normal.inv_cdf(1 - ALPHA / 2) * math.sqrt(most)) / spread)


def paired_power(difference: float, deviation: float, items: int) -> float:
    """The probability that a paired t test finds a mean difference, given the standard deviation of differences."""
    if items < 2:
        return 0.0
    if deviation == 0:
        return 1.0 if difference else ALPHA
    return _normal.cdf(abs(difference) * math.sqrt(items) / deviation - t_quantile(items - 1, 1 - ALPHA / 2))


def fewest(enough: Callable[[int], bool], least: int = 2) -> int | None:
    """The smallest number of items that is enough; None if `MAX_ITEMS` are not."""
    high = least
    while not enough(high):
        if high >= MAX_ITEMS:
            return None
        high *= 2
    low = high // 2
    while high - low > 1 and high > least:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
