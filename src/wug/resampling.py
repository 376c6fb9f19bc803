"""Bootstrap intervals of a mean, with items drawn with replacement."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

DRAWS = 9_999
SEED = 0
MIN_UNITS, MAX_UNITS = 5, 200
"""Below, too many samples consist of one item; above, Student's interval is as good (benchmarks/effect_coverage.py)."""


def bootstrap_t(sums: NDArray[np.float64], sizes: NDArray[np.float64]) -> tuple[float, float] | None:
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
def _weights(n: int) -> NDArray[np.float64]:
    """How often each of `n` units is in each sample."""
    drawn = np.random.default_rng(SEED).integers(0, n, (DRAWS, n))
    drawn += np.arange(DRAWS)[:, None] * n
    return np.bincount(drawn.ravel(), minlength=DRAWS * n).reshape(DRAWS, n).astype(np.float64)
