"""Linear regressions that share rows and folds, from one pass over the data.

Cross-products of centred columns are summed per fold. Those of a training set are the total less those of its test
fold, so K folds and any number of models cost about as much as one fit. Needs numpy alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from wug.arrays import Floats, Indices
from wug.distributions import beta_cdf, t_quantile
from wug.errors import InputError
from wug.families.reading.settings import Sigma
from wug.outcomes import Interval

BLOCK_PRODUCTS = 2**17
"""Multiplications per matrix product: BLAS starts no threads for so few, which cost more than they gain here."""
MIN_ROWS_PER_COEFFICIENT = 10
COLLINEAR = 1e-12
"""Share of a column's variance that earlier columns leave unexplained, below which it is collinear."""
MAX_REFINED_ROWS = 200_000
"""Up to this many rows, solutions are always refined with their residuals; beyond, if columns are nearly collinear."""
NEARLY_COLLINEAR = 1e-3
MAX_FLIPPED_UNITS = 50_000
"""Units up to which signs are drawn; beyond, the sum of flipped differences is normal."""


class Coefficients(NamedTuple):
    """A fit on all rows, the intercept first."""

    values: Floats
    covariance: Floats
    rss: float
    n: int

    @property
    def freedom(self) -> int:
        """Residual degrees of freedom."""
        return self.n - len(self.values)

    @property
    def errors(self) -> Floats:
        """Standard errors."""
        deviations: Floats = np.sqrt(np.diag(self.covariance))
        return deviations

    def t(self, column: int) -> float:
        """The t value of a column's slope; the intercept is column -1."""
        return float(self.values[column + 1] / self.errors[column + 1])

    def p(self, column: int) -> float:
        """The two-sided p-value of a slope."""
        return beta_cdf(self.freedom / 2, 0.5, self.freedom / (self.freedom + self.t(column) ** 2))

    def interval(self, column: int) -> Interval:
        """The 95% interval of a slope."""
        half = t_quantile(self.freedom, 0.975) * float(self.errors[column + 1])
        value = float(self.values[column + 1])
        return Interval(value - half, value + half)


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
        self._y, self._names, self._folds = y, names, folds
        self._means = x.mean(axis=0)
        x -= self._means
        self._x = x
        self._block = max(1, BLOCK_PRODUCTS // (x.shape[1] + 2) ** 2)
        self._middle = float(y.mean())
        count = 1 if folds is None else int(folds.max()) + 1
        self._rows: list[Indices | slice] = [slice(0, len(y))] if folds is None else _rows_by_fold(folds, count)
        self._sums = [self._products(part) for part in self._rows]
        self._total: Floats = np.sum(self._sums, axis=0)
        self._spread = np.sqrt(np.diag(self._total)[1:-1] / max(1, len(x)))
        """Standard deviation of each column."""

    def validate(self, columns: Sequence[int], sigma: Sigma) -> Validated:
        """Fit the columns in every training set and evaluate the test rows."""
        chosen = list(columns)
        self._require_rows(len(chosen) + 1)
        predicted, loglik = np.empty(len(self._y)), np.empty(len(self._y))
        for fold, rows in enumerate(self._rows):
            products = self._total if self._folds is None else self._total - self._sums[fold]
            train = None if self._folds is None else fold
            solution = self._solve(products, chosen, train)
            fitted = self._predict(solution.slopes, solution.intercept, chosen, rows)
            residuals = self._y[rows] - fitted
            scale = _scale(sigma, solution.rss, solution.n, len(chosen) + 1, residuals)
            predicted[rows] = fitted
            loglik[rows] = -0.5 * np.square(residuals / scale) - math.log(scale) - 0.5 * math.log(2 * math.pi)
        return Validated(predicted, loglik, self.fit(chosen))

    def fit(self, columns: Sequence[int], *, scaled: bool = False) -> Coefficients:
        """Fit on all rows; with `scaled`, slopes per standard deviation of each column."""
        chosen = list(columns)
        solution = self._solve(self._total, chosen, None)
        n, width = solution.n, len(chosen) + 1
        variance = solution.rss / max(1, n - width)
        # From centred columns to the columns as they are. R's scale() divides by the standard deviation with n - 1.
        back = np.zeros((width, width))
        spread = self._spread[chosen] * math.sqrt(n / (n - 1)) if scaled else np.ones(len(chosen))
        back[0, 0] = 1.0
        back[0, 1:] = 0.0 if scaled else -self._means[chosen]
        back[1:, 1:] = np.diag(spread)
        within = np.zeros((width, width))
        within[0, 0] = 1 / n
        within[1:, 1:] = solution.inverse
        values = back @ np.concatenate(([solution.intercept], solution.slopes))
        return Coefficients(values, variance * (back @ within @ back.T), solution.rss, n)

    def _products(self, rows: Indices | slice) -> Floats:
        """Cross-products of 1, the columns and the centred dependent variable."""
        width = self._x.shape[1] + 2
        total = np.zeros((width, width))
        buffer = np.ones((self._block, width))
        for block in self._blocks(rows):
            y = self._y[block]
            block_rows = buffer[: len(y)]
            block_rows[:, 1:-1] = self._x[block]
            block_rows[:, -1] = y - self._middle
            total += block_rows.T @ block_rows
        return total

    def _solve(self, products: Floats, columns: list[int], fold: int | None) -> _Solution:
        """Least squares from the cross-products of the training rows, refined with their residuals."""
        n = round(float(products[0, 0]))
        at = [column + 1 for column in columns]
        sums = products[0, at]
        square = products[np.ix_(at, at)] - np.outer(sums, sums) / n
        right = products[at, -1] - sums * products[0, -1] / n
        norms = np.sqrt(np.maximum(np.diag(square), 0.0))
        lower, smallest = self._factor(square, norms, columns, fold)
        slopes = _solve_normal_equations(lower, norms, right)
        middle = self._middle + float(products[0, -1]) / n
        intercept = middle - float(sums @ slopes) / n
        rss = float(products[-1, -1] - products[0, -1] ** 2 / n - right @ slopes)
        if len(self._y) <= MAX_REFINED_ROWS or smallest < NEARLY_COLLINEAR:
            train = np.ones(n, bool) if self._folds is None or fold is None else self._folds != fold
            x = self._x[train][:, columns] - sums / n
            centred = self._y[train] - middle
            for _ in range(2):
                slopes = slopes + _solve_normal_equations(lower, norms, x.T @ (centred - x @ slopes))
            rss = float(np.square(centred - x @ slopes).sum())
            intercept = middle - float(sums @ slopes) / n
        inverse = _solve_normal_equations(lower, norms, np.eye(len(columns)))
        return _Solution(slopes, intercept, max(rss, 0.0), n, inverse)

    def _factor(self, square: Floats, norms: Floats, columns: list[int], fold: int | None) -> tuple[Floats, float]:
        """The Cholesky factor of the correlations, and the smallest variance that a column has left."""
        where = "" if fold is None else f" in the training set of fold {fold + 1}"
        limit = math.sqrt(len(self._y)) * np.maximum(1e-6 * self._spread, 1e-13 * np.abs(self._means))
        for index, column in enumerate(columns):
            if norms[index] <= limit[column]:
                raise InputError(f"term {self._names[column]!r} is constant{where}: leave it out, or use other folds")
        correlations = square / np.outer(norms, norms)
        lower = np.zeros_like(correlations)
        smallest = 1.0
        for index, column in enumerate(columns):
            row: Floats = np.zeros(0)
            if index:
                row = np.asarray(np.linalg.solve(lower[:index, :index], correlations[:index, index]), np.float64)
                lower[index, :index] = row
            unexplained = float(correlations[index, index] - row @ row)
            if unexplained < COLLINEAR:
                others = [self._names[other] for other in columns[:index]]
                raise InputError(
                    f"term {self._names[column]!r} is collinear with {_closest(correlations[index], others)}{where}: "
                    "leave one of them out"
                )
            lower[index, index] = math.sqrt(unexplained)
            smallest = min(smallest, unexplained)
        return lower, smallest

    def _predict(self, slopes: Floats, intercept: float, columns: list[int], rows: Indices | slice) -> Floats:
        every = np.zeros(self._x.shape[1])
        every[columns] = slopes
        return np.concatenate([self._x[block] @ every for block in self._blocks(rows)]) + intercept

    def _blocks(self, rows: Indices | slice) -> Iterator[Indices | slice]:
        start, stop = (rows.start, rows.stop) if isinstance(rows, slice) else (0, len(rows))
        for first in range(start, stop, self._block):
            block = slice(first, min(first + self._block, stop))
            yield block if isinstance(rows, slice) else rows[block]

    def _require_rows(self, coefficients: int) -> None:
        """Enough training rows for each coefficient, and a test row in each fold."""
        for fold, rows in enumerate(self._rows):
            tested = len(self._y[rows])
            train = len(self._y) if self._folds is None else len(self._y) - tested
            if not tested:
                raise InputError(
                    f"fold {fold + 1} of {len(self._rows)} has no test rows ({len(self._y):,} rows in all)"
                )
            if train < MIN_ROWS_PER_COEFFICIENT * coefficients:
                where = "" if self._folds is None else f" for fold {fold + 1}"
                raise InputError(
                    f"{train:,} training rows{where} for {coefficients} coefficients: at least "
                    f"{MIN_ROWS_PER_COEFFICIENT} per coefficient are needed. Use fewer terms, a smaller spillover, or "
                    "more data"
                )


class _Solution(NamedTuple):
    slopes: Floats
    intercept: float
    rss: float
    n: int
    inverse: Floats


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


def _rows_by_fold(folds: Indices, count: int) -> list[Indices | slice]:
    if (folds[1:] >= folds[:-1]).all():  # slices need no copies
        edges = np.searchsorted(folds, np.arange(count + 1))
        return [slice(int(first), int(last)) for first, last in pairwise(edges)]
    order = np.argsort(folds, kind="stable")
    return list(np.split(order, np.cumsum(np.bincount(folds, minlength=count))[:-1]))


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


def _solve_normal_equations(lower: Floats, norms: Floats, right: Floats) -> Floats:
    """Solve the normal equations given the factor of their correlations."""
    scale = norms if right.ndim == 1 else norms[:, None]
    solved: Floats = np.linalg.solve(lower.T, np.linalg.solve(lower, right / scale)) / scale
    return solved


def _closest(correlations: Floats, names: Sequence[str]) -> str:
    """The earlier term that correlates most, and whether there are others."""
    best = max(range(len(names)), key=lambda index: abs(float(correlations[index])))
    return f"{names[best]!r}" if abs(correlations[best]) > 1 - 1e-9 else ", ".join(map(repr, names))


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
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return contiguous(len(first), folds)[rank[inverse]]
