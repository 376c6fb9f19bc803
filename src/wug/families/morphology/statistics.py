"""Correlations between scores and ratings, and the beta mixed regression of the SIGMORPHON shared task.

The regression is that of `sigmorphon_evaluation_part2.R`: rating / 7 on the score, logit link, beta errors, a random
intercept per lemma, fitted by maximum likelihood with the Laplace approximation, as glmmTMB does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from wug.arrays import Floats, Indices
from wug.errors import needs_extra
from wug.outcomes import Interval

PARAMETERS = 4
"""Intercept, slope, precision, and the standard deviation of the random intercept."""
START_DEVIATIONS = (0.3, 1.0, 4.0)
"""Standard deviations of the random intercept, times the root of the precision, from which the fit starts besides 0."""
MAX_LOG_PRECISION = 25.0
MAX_INNER_STEPS = 100
BOOTSTRAP_SAMPLES = 2_000


class MixedFit(NamedTuple):
    """A fitted beta mixed regression."""

    log_likelihood: float
    slope: float
    """On the logit scale, per standard deviation of the scores."""
    deviation: float

    @property
    def aic(self) -> float:
        """Akaike's information criterion."""
        return 2 * PARAMETERS - 2 * self.log_likelihood


def bootstrap_correlation(
    statistic: Callable[[Floats, Floats], float | None], first: Floats, second: Floats, units: Sequence[str]
) -> Interval | None:
    """The 95% percentile interval of a correlation, resampling units (lemmas), whose rows are not independent."""
    groups = _group_numbers(units)
    clusters = [np.flatnonzero(groups == group) for group in range(int(groups.max()) + 1)]
    if len(clusters) < 4:
        return None
    draw = np.random.default_rng(1958)
    resampled = []
    for _ in range(BOOTSTRAP_SAMPLES):
        chosen = np.concatenate([clusters[n] for n in draw.integers(0, len(clusters), len(clusters))])
        value = statistic(first[chosen], second[chosen])
        if value is not None:
            resampled.append(value)
    return percentile_interval(resampled) if resampled else None


def percentile_interval(resampled: Sequence[float] | Floats) -> Interval:
    """The 95% interval of values from bootstrap samples."""
    low, high = np.quantile(resampled, (0.025, 0.975))
    return Interval(float(low), float(high))


def _group_numbers(units: Sequence[str]) -> Indices:
    numbers: dict[str, int] = {}
    return np.asarray([numbers.setdefault(unit, len(numbers)) for unit in units], np.intp)


def fit_beta_regression(shares: Floats, scores: Floats, units: Sequence[str]) -> MixedFit:
    """Fit shares, all between 0 and 1, on scores, with a random intercept per unit.

    The surface is flat where the random intercept vanishes, so the fit starts there and from several deviations.
    """
    with needs_extra("the beta regression", "scipy"):
        from scipy import optimize
    x = (scores - scores.mean()) / (float(scores.std()) or 1.0)
    groups = _group_numbers(units)
    model = _Laplace(shares, x, groups, np.zeros(int(groups.max()) + 1))
    logits = np.log(shares / (1 - shares))
    slope = float(x @ logits) / max(float(x @ x), 1e-12)
    residual = logits - logits.mean() - slope * x
    precision = math.log(max(1.0, 4 / max(float(residual.var()), 1e-9)))

    def loss(point: Floats) -> float:
        return -model.value(np.append(point, np.zeros(PARAMETERS - len(point))))

    flat = optimize.minimize(loss, [float(logits.mean()), slope, precision])
    fits = [(flat.fun, np.append(flat.x, 0.0))]
    for deviation in START_DEVIATIONS:
        solution = optimize.minimize(loss, [*flat.x, deviation])
        fits.append((solution.fun, solution.x))
    worst, point = min(fits, key=lambda fit: fit[0])
    return MixedFit(-float(worst), float(point[1]), abs(float(point[3])) / math.exp(point[2] / 2))


@dataclass(slots=True)
class _Laplace:
    """The log-likelihood of the regression, with the random intercepts integrated out approximately."""

    shares: Floats
    x: Floats
    groups: Indices
    effects: Floats
    """The last modes of the standardised random intercepts, from which the next search starts."""

    def value(self, point: Floats) -> float:
        """At intercept, slope, log precision, and deviation of the random intercept times the root of the precision.

        It is even in the last one, so that a deviation of 0 is an ordinary maximum.
        """
        intercept, slope, log_precision, scaled = map(float, point)
        if not math.isfinite(intercept + slope) or abs(log_precision) > MAX_LOG_PRECISION:
            return -math.inf
        fixed, precision = intercept + slope * self.x, math.exp(log_precision)
        deviation = scaled / math.sqrt(precision)
        if deviation == 0.0:
            return float(self._log_density(fixed, precision).sum())
        effects = self.effects = self._modes(fixed, precision, deviation)
        _, second = self._derivatives(fixed + deviation * effects[self.groups], precision)
        curvature = 1 - deviation**2 * self._sum(second)
        if (curvature <= 0).any():
            return -math.inf
        joint = self._joint(effects, fixed, precision, deviation)
        return float(joint.sum() - 0.5 * np.log(curvature).sum())

    def _modes(self, fixed: Floats, precision: float, deviation: float) -> Floats:
        """The standardised random intercepts of highest density, by Newton's method with halved steps."""
        effects = self.effects
        value = self._joint(effects, fixed, precision, deviation)
        for _ in range(MAX_INNER_STEPS):
            first, second = self._derivatives(fixed + deviation * effects[self.groups], precision)
            gradient = deviation * self._sum(first) - effects
            step = gradient / np.maximum(1 - deviation**2 * self._sum(second), 1.0)
            if np.abs(step).max() < 1e-9:
                break
            for _ in range(40):
                moved = self._joint(effects + step, fixed, precision, deviation)
                worse = moved < value - 1e-12 * np.abs(value)
                if not worse.any():
                    break
                step = np.where(worse, step / 2, step)
            effects, value = effects + step, moved
        return effects

    def _joint(self, effects: Floats, fixed: Floats, precision: float, deviation: float) -> Floats:
        return self._sum(self._log_density(fixed + deviation * effects[self.groups], precision)) - effects**2 / 2

    def _sum(self, values: Floats) -> Floats:
        return np.bincount(self.groups, weights=values, minlength=len(self.effects)).astype(np.float64)

    def _log_density(self, predictor: Floats, precision: float) -> Floats:
        from scipy.special import betaln

        mean = _logistic(predictor)
        a, b = mean * precision, (1 - mean) * precision
        densities: Floats = (a - 1) * np.log(self.shares) + (b - 1) * np.log1p(-self.shares) - betaln(a, b)
        return densities

    def _derivatives(self, predictor: Floats, precision: float) -> tuple[Floats, Floats]:
        """Of the log density of each row with respect to its linear predictor: the first and the second."""
        from scipy.special import digamma, polygamma

        mean = _logistic(predictor)
        a, b = mean * precision, (1 - mean) * precision
        slope = mean * (1 - mean)
        excess: Floats = np.log(self.shares) - np.log1p(-self.shares) - digamma(a) + digamma(b)
        first, curve = precision * excess * slope, polygamma(1, a) + polygamma(1, b)
        return first, first * (1 - 2 * mean) - (precision * slope) ** 2 * curve


def _logistic(x: Floats) -> Floats:
    probabilities: Floats = np.clip(1 / (1 + np.exp(-np.clip(x, -700, 700))), 1e-15, 1 - 1e-15)
    return probabilities
