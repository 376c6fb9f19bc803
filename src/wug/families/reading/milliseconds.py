"""From bits to milliseconds: slopes fitted on filler sentences turn surprisals of test items into predicted effects.

van Schijndel & Linzen (2021); Huang et al. (2024). The effect at a region is Σ_k β_k·Δs_{t−k}, where k counts regions
back. It is correct where the two conditions have the same words at the region and at those before it that count.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from wug.arrays import Floats
from wug.distributions import t_quantile
from wug.errors import InputError, UnknownName
from wug.families.reading.analysis import MeasureFit
from wug.families.reading.terms import Factor, RegressionTerm
from wug.stats import mean_interval

Surprisals = Mapping[tuple[str, str], Mapping[int, float]]
"""Bits by region, for each item and condition."""


class ConditionEffect(NamedTuple):
    """A difference between two conditions, averaged over items."""

    region: int
    ms: float
    low: float | None
    high: float | None
    items: int
    bits: float | None = None
    """The difference in surprisal at the region itself; None for an effect that was measured."""


def by_region(rows: Iterable[tuple[Any, Any, Any, Any]]) -> dict[tuple[str, str], dict[int, float]]:
    """Surprisals by region, from rows of item, condition, region and bits."""
    surprisals: dict[tuple[str, str], dict[int, float]] = {}
    for item, condition, region, value in rows:
        if value is not None:
            surprisals.setdefault((str(item), str(condition)), {})[int(region)] = float(value)
    if not surprisals:
        raise InputError("these results have no surprisals of regions: pass results of a SyntaxGym suite")
    return surprisals


def predicted_effect(
    fit: MeasureFit, surprisals: Surprisals, conditions: tuple[str, str], region: int, term: str = "surprisal"
) -> ConditionEffect:
    """The predicted effect of the first condition against the second at a region, in the unit of the measure.

    The interval has the uncertainty of the slopes and the variation between items.
    """
    single = [place.factors[0] for place in fit.terms if len(place.factors) == 1]
    lags = [factor.lag for factor in single if factor.column == term]
    if not lags:
        raise InputError(f"the model has no term {term!r}: fit it with that predictor")
    columns = [1 + fit.terms.index(RegressionTerm((Factor(term, lag),))) for lag in lags]
    coefficients = fit.target.coefficients
    slopes, covariance = coefficients.values[columns], coefficients.covariance[np.ix_(columns, columns)]
    differences = _differences(surprisals, conditions, region, lags)
    effects = differences @ slopes
    mean = differences.mean(axis=0)
    n = len(effects)
    between = float(effects.var(ddof=1)) / n if n > 1 else 0.0
    half = t_quantile(max(1, n - 1), 0.975) * math.sqrt(between + float(mean @ covariance @ mean))
    value = float(effects.mean())
    bits = float(mean[lags.index(0)]) if 0 in lags else None
    return ConditionEffect(region, value, value - half, value + half, n, bits)


def measured_effect(
    rows: Iterable[tuple[str, str, int, float]], conditions: tuple[str, str], region: int
) -> ConditionEffect:
    """The effect in people, from items, conditions, regions and mean times: that of the first condition."""
    times: dict[tuple[str, str], list[float]] = {}
    for item, condition, where, value in rows:
        if where == region:
            times.setdefault((item, condition), []).append(value)
    differences = [
        fmean(values) - fmean(times[item, conditions[1]])
        for (item, condition), values in times.items()
        if condition == conditions[0] and (item, conditions[1]) in times
    ]
    if not differences:
        raise InputError(f"no item has both conditions {conditions[0]!r} and {conditions[1]!r} at region {region}")
    interval = mean_interval(differences)
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    return ConditionEffect(region, fmean(differences), low, high, len(differences))


def _differences(surprisals: Surprisals, conditions: tuple[str, str], region: int, lags: Sequence[int]) -> Floats:
    """One row per item: the difference in surprisal at the region and at earlier ones; 0 before the first region."""
    known = {condition for _, condition in surprisals}
    for condition in conditions:
        if condition not in known:
            raise UnknownName("condition", condition, known)
    rows = []
    for item in dict.fromkeys(item for item, _ in surprisals):
        first, second = surprisals.get((item, conditions[0])), surprisals.get((item, conditions[1]))
        if first is None or second is None:
            continue
        if region not in first or region not in second:
            raise InputError(f"item {item} has no region {region}. Regions: {', '.join(map(str, sorted(first)))}")
        rows.append([first.get(region - lag, 0.0) - second.get(region - lag, 0.0) for lag in lags])
    if not rows:
        raise InputError(f"no item has both conditions {conditions[0]!r} and {conditions[1]!r}")
    return np.array(rows)
