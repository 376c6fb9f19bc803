"""Correlations of two columns, with their intervals.

Pearson's correlation has Fisher's interval (atanh r ± z / √(n − 3)). Spearman's, of ranks with ties at their mean, has
that of Bonett & Wright ("Sample size requirements for estimating Pearson, Kendall and Spearman correlations",
Psychometrika 65, 2000): atanh r ± z √((1 + r²/2) / (n − 3)), since Fisher's is too short for ranks.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from wug.arrays import Floats
from wug.outcomes import Interval


def correlation(first: Floats, second: Floats) -> float:
    """Pearson's correlation of two columns that are not constant."""
    a, b = first - first.mean(), second - second.mean()
    # Scaled first: squares of very large or small numbers would overflow or underflow.
    a, b = a / np.abs(a).max(), b / np.abs(b).max()
    return float(np.clip(a @ b / math.sqrt((a @ a) * (b @ b)), -1.0, 1.0))


def ranks(values: Floats) -> Floats:
    """The ranks from 1; equal values have their mean rank."""
    _, ranks_of_values, counts = np.unique(values, return_inverse=True, return_counts=True)
    averages: Floats = (np.cumsum(counts) - (counts - 1) / 2)[ranks_of_values]
    return averages


def pearson(first: Floats, second: Floats) -> float | None:
    """Pearson's correlation; None if a column is constant."""
    if len(first) < 2 or first.min() == first.max() or second.min() == second.max():
        return None
    return correlation(first, second)


def spearman(first: Floats, second: Floats) -> float | None:
    """Spearman's correlation, with mean ranks for ties; None if a column is constant."""
    return pearson(ranks(first), ranks(second))


def correlation_interval(value: float, n: int, factor: float) -> Interval | None:
    """The 95% interval of a correlation, with the factor 0 for Pearson's and 0.5 for Spearman's; None if undefined."""
    if n < 4 or abs(value) == 1:
        return None
    half = NormalDist().inv_cdf(0.975) * math.sqrt((1 + factor * value * value) / (n - 3))
    return Interval(math.tanh(math.atanh(value) - half), math.tanh(math.atanh(value) + half))
