"""Linear regressions that share rows and folds, from one pass over the data.

Each fold is reduced to the triangular factor of its QR decomposition. That of a training set is the factor of those of
its folds, so K folds and any number of models cost about as much as one fit. Needs numpy alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from wug.arrays import Floats, Indices
from wug.distributions import beta_cdf, t_quantile
from wug.errors import InputError
from wug.families.reading.settings import Sigma
from wug.stats import in_order_of_appearance

MIN_ROWS_PER_COEFFICIENT = 10
COLLINEAR = 1e-12
"""Share of a column's variance that earlier columns leave unexplained, below which it is collinear."""
MAX_FLIPPED_UNITS = 50_000
"""Units up to which signs are drawn; beyond, the sum of flipped differences is normal."""


class Coefficient(NamedTuple):
    """An intercept or a slope, with its t test and its 95% interval."""

    value: float
    error: float
    t: float
    p: float
    low: float
    high: float


class Coefficients(NamedTuple):
    """A fit on all rows, the intercept first."""

    values: Floats
    covariance: Floats
    rss: float
    n: int

    def test(self, index: int) -> Coefficient:
        """A coefficient with its test; the intercept is number 0."""
        freedom = self.n - len(self.values)
        value, error = float(self.values[index]), math.sqrt(self.covariance[index, index])
        t, half = value / error, t_quantile(freedom, 0.975) * error
        p = beta_cdf(freedom / 2, 0.5, freedom / (freedom + t**2))
        return Coefficient(value, error, t, p, value - half, value + half)


class Validated(NamedTuple):
    """A model evaluated on the test rows of every fold."""

    predicted: Floats
    loglik: Floats
    """Gaussian log density of each row, in nats."""
    coefficients: Coefficients


class Regression:
    """Columns, a dependent variable and folds, for any number of models that use some of the columns."""

    def __init__(self, x: Floats, y: Floats, folds: Indices | None, names: Sequence[str]) -> None:
        """One column of `x` per term, which is centred in place; without folds, all rows are fitted and evaluated."""
        self._x, self._y, self._names, self._has_folds = x, y, names, folds is not None
        self._means = x.mean(axis=0)
        x -= self._means
        self._middle = float(y.mean())
        fold_of_row = np.zeros(len(y), np.intp) if folds is None else folds
        self._rows = [np.flatnonzero(fold_of_row == fold) for fold in range(int(fold_of_row.max()) + 1)]
        self._factors = [self._factor(rows) for rows in self._rows]
        norms = np.linalg.norm(np.concatenate(self._factors), axis=0)
        self._deviations: Floats = norms[1:-1] / math.sqrt(len(y))
        """Standard deviation of each column."""

    def validate(self, columns: Sequence[int], sigma: Sigma, *, scaled: bool = False) -> Validated:
        """Fit the columns in every training set and evaluate the test rows; `scaled` coefficients are per SD."""
        coefficients = len(columns) + 1
        self._require_rows(coefficients)
        predicted, loglik = np.empty(len(self._y)), np.empty(len(self._y))
        slopes = np.zeros(self._x.shape[1])
        for fold, rows in enumerate(self._rows):
            training = self._factors[:fold] + self._factors[fold + 1 :] if self._has_folds else self._factors
            solution = self._solve(training, columns, fold if self._has_folds else None)
            slopes[list(columns)] = solution.values[1:]
            predicted[rows] = self._x[rows] @ slopes + solution.values[0] + self._middle
            residuals = self._y[rows] - predicted[rows]
            n = len(self._y) - len(rows) if self._has_folds else len(rows)
            scale = _scale(sigma, solution.rss, n, coefficients, residuals)
            if not scale:
                raise InputError("no residuals are left: the measure is constant, or the terms determine it")
            loglik[rows] = -0.5 * np.square(residuals / scale) - math.log(scale) - 0.5 * math.log(2 * math.pi)
        return Validated(predicted, loglik, self._fit(list(columns), scaled=scaled))

    def _fit(self, columns: list[int], *, scaled: bool) -> Coefficients:
        """Fit on all rows."""
        solution = self._solve(self._factors, columns, None)
        n, width = len(self._y), len(columns) + 1
        back = np.eye(width)  # from centred columns to the columns as they are
        if scaled:  # R's scale() divides by the standard deviation with n - 1
            back[1:, 1:] = np.diag(self._deviations[columns] * math.sqrt(n / (n - 1)))
        else:
            back[0, 1:] = -self._means[columns]
        values = back @ solution.values
        values[0] += self._middle
        root = back @ np.linalg.inv(solution.factor)
        return Coefficients(values, solution.rss / max(1, n - width) * (root @ root.T), solution.rss, n)

    def _factor(self, rows: Indices) -> Floats:
        """The triangular factor of 1, the columns and the centred dependent variable."""
        table = np.column_stack([np.ones(len(rows)), self._x[rows], self._y[rows] - self._middle])
        return np.asarray(np.linalg.qr(table, mode="r"), np.float64)

    def _solve(self, factors: Sequence[Floats], columns: Sequence[int], fold: int | None) -> _Solution:
        """Least squares on the rows of these factors; `fold` is the one whose training set they are."""
        at = [0, *(column + 1 for column in columns), -1]
        factor = np.asarray(np.linalg.qr(np.concatenate(factors)[:, at], mode="r"), np.float64)
        names = [self._names[column] for column in columns]
        self._refuse_dependent(factor[1:, 1:-1], list(columns), names, fold)
        triangle = factor[:-1, :-1]
        values = np.asarray(np.linalg.solve(triangle, factor[:-1, -1]), np.float64)
        return _Solution(values, float(factor[-1, -1] ** 2), triangle)

    def _refuse_dependent(self, factor: Floats, columns: list[int], names: Sequence[str], fold: int | None) -> None:
        """InputError for a column that is constant, or a combination of earlier ones."""
        where = "" if fold is None else f" in the training set of fold {fold + 1}"
        norms = np.linalg.norm(factor, axis=0)
        least = np.maximum(1e-6 * self._deviations, 1e-13 * np.abs(self._means))[columns] * math.sqrt(len(self._y))
        for index, name in enumerate(names):
            if norms[index] <= least[index]:
                raise InputError(f"term {name!r} is constant{where}: leave it out, or use other folds")
            if factor[index, index] ** 2 < COLLINEAR * norms[index] ** 2:
                correlations = np.abs(factor[:, index] @ factor[:, :index]) / (norms[index] * norms[:index])
                equal = [names[int(np.argmax(correlations))]] if correlations.max() > 1 - 1e-9 else names[:index]
                others = ", ".join(map(repr, equal))
                raise InputError(f"term {name!r} is collinear with {others}{where}: leave one of them out")

    def _require_rows(self, coefficients: int) -> None:
        """Enough training rows for each coefficient, and a test row in each fold."""
        for fold, rows in enumerate(self._rows, 1):
            if not len(rows):
                raise InputError(f"fold {fold} of {len(self._rows)} has no test rows ({len(self._y):,} rows in all)")
            train = len(self._y) - len(rows) if self._has_folds else len(rows)
            if train < MIN_ROWS_PER_COEFFICIENT * coefficients:
                where = f" for fold {fold}" if self._has_folds else ""
                raise InputError(
                    f"{train:,} training rows{where} for {coefficients} coefficients: at least "
                    f"{MIN_ROWS_PER_COEFFICIENT} per coefficient are needed. Use fewer terms, a smaller spillover, or "
                    "more data"
                )


class _Solution(NamedTuple):
    values: Floats
    """The intercept and the slopes, of centred columns."""
    rss: float
    factor: Floats


def sign_flip_p(differences: Floats, units: Indices | None, draws: int, seed: int) -> float:
    """The two-sided p-value of a mean difference by sign flips: (1 + flips that reach it) / (1 + draws).

    Whole units are flipped where rows belong to some. Very many units have the normal limit of the sum.
    """
    sums = differences if units is None else np.bincount(units, weights=differences).astype(np.float64)
    observed = abs(float(sums.sum())) - 1e-12 * float(np.abs(sums).sum())
    if len(sums) > MAX_FLIPPED_UNITS:
        return math.erfc(observed / math.sqrt(2 * float(sums @ sums)))
    rng = np.random.default_rng(seed)
    reached = 0
    at_once = max(1, 4_000_000 // max(1, len(sums)))
    for first in range(0, draws, at_once):
        count = min(at_once, draws - first)
        signs = rng.integers(0, 2, (count, len(sums)), dtype=np.int8).astype(np.float64) * 2 - 1
        reached += int(np.count_nonzero(np.abs(signs @ sums) >= observed))
    return (1 + reached) / (1 + draws)


def _scale(sigma: Sigma, rss: float, n: int, coefficients: int, residuals: Floats) -> float:
    match sigma:
        case "train":
            return math.sqrt(rss / (n - coefficients))
        case "train-ml":
            return math.sqrt(rss / n)
        case "test-sd":
            if len(residuals) < 2:
                raise InputError("sigma test-sd needs two test rows in every fold: use fewer folds")
            return float(residuals.std(ddof=1))


def contiguous(rows: int, folds: int) -> Indices:
    """Blocks in row order, the first `rows % folds` one row longer."""
    sizes = [rows // folds + (fold < rows % folds) for fold in range(folds)]
    return np.repeat(np.arange(folds), sizes)


def r_cut(rows: int, folds: int) -> Indices:
    """R's `cut(seq(1, n), breaks = K)`: row r is in fold ⌈(r − 1)·K/(n − 1)⌉, and row 1 in fold 1."""
    if rows < 2:
        return np.zeros(rows, np.intp)
    fold_numbers = -(-np.arange(rows) * folds // (rows - 1)) - 1
    return np.maximum(fold_numbers, 0).astype(np.intp)


def shuffled(rows: int, folds: int, seed: int) -> Indices:
    """Contiguous folds of the rows in a random order."""
    fold_numbers = np.empty(rows, np.intp)
    fold_numbers[np.random.default_rng(seed).permutation(rows)] = contiguous(rows, folds)
    return fold_numbers


def grouped(groups: Indices, folds: int) -> Indices:
    """Whole groups, in order of first appearance, cut like `contiguous`."""
    numbers, first = in_order_of_appearance(groups)
    return contiguous(len(first), folds)[numbers]
