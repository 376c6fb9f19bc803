"""Correlations against scipy, and the beta mixed regression against a plain implementation of it."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy import optimize, special, stats

from wug.families.correlations import pearson, spearman
from wug.families.morphology import statistics as own
from wug.families.morphology.item import Form, WugItem
from wug.families.morphology.metrics import ScoredItem, score_rows
from wug.outcomes import Estimate, Notice


def test_correlations_agree_with_scipy() -> None:
    draw = np.random.default_rng(0)
    one, other = draw.integers(0, 5, 40).astype(float), draw.normal(size=40)
    assert spearman(one, other) == pytest.approx(stats.spearmanr(one, other)[0], abs=1e-12)
    assert pearson(one, other) == pytest.approx(stats.pearsonr(one, other)[0], abs=1e-12)
    assert pearson(one, np.ones(40)) is None


def laplace(point: np.ndarray, shares: np.ndarray, x: np.ndarray, groups: np.ndarray) -> float:
    """The negative log-likelihood, with a general minimiser for each random intercept and numerical curvature."""
    intercept, slope, precision, deviation = point[0], point[1], np.exp(point[2]), np.exp(point[3])
    total = 0.0
    for group in range(groups.max() + 1):
        rows = groups == group

        def joint(u: float, rows: np.ndarray = rows) -> float:
            mean = special.expit(intercept + slope * x[rows] + u)
            a, b, y = mean * precision, (1 - mean) * precision, shares[rows]
            beta = (a - 1) * np.log(y) + (b - 1) * np.log1p(-y) - special.betaln(a, b)
            return float(u**2 / deviation**2 / 2 + np.log(deviation * np.sqrt(2 * np.pi)) - beta.sum())

        mode = optimize.minimize_scalar(joint, bounds=(-8, 8), method="bounded", options={"xatol": 1e-10}).x
        h = 1e-4
        curvature = (joint(mode + h) - 2 * joint(mode) + joint(mode - h)) / h**2
        total += -joint(mode) + 0.5 * np.log(2 * np.pi / curvature)
    return -total


def test_the_regression_finds_a_random_intercept_as_a_plain_implementation_does() -> None:
    draw = np.random.default_rng(7)
    lemmas, forms = 20, 4
    groups = np.repeat(np.arange(lemmas), forms)
    x = draw.normal(size=len(groups))
    mean = special.expit(0.3 + 0.8 * x + draw.normal(0, 1.0, lemmas)[groups])
    shares = np.clip(draw.beta(12 * mean, 12 * (1 - mean)), 1e-3, 1 - 1e-3)
    fit = own.fit_beta_regression(shares, x, [str(group) for group in groups])
    standard = (x - x.mean()) / x.std()
    found = optimize.minimize(
        laplace,
        [0.3, 0.8, 2.5, 0.0],
        (shares, standard, groups),
        method="Nelder-Mead",
        options={"xatol": 1e-4, "fatol": 1e-6},
    )
    assert fit.log_likelihood == pytest.approx(-found.fun, abs=1e-4)
    assert fit.deviation == pytest.approx(np.exp(found.x[3]), rel=1e-2)
    assert fit.slope == pytest.approx(found.x[1], rel=1e-2)
    assert fit.aic == 8 - 2 * fit.log_likelihood


def test_without_scipy_there_is_a_notice_instead_of_an_aic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    forms = tuple(Form(text, text, rating) for text, rating in (("a", 2.0), ("b", 5.0), ("c", 3.0)))
    items = [WugItem(name, name, name, "V;PST", "past", "eng", forms) for name in ("pint", "rell")]
    scored = [ScoredItem(item, (-1.0, -2.0 - place, -4.0)) for place, item in enumerate(items)]
    rows = list(score_rows(scored))
    assert not any(isinstance(row, Estimate) and row.metric == "aic" for row in rows)
    notices = [row.text for row in rows if isinstance(row, Notice)]
    assert any("no aic" in text and "wug[scipy]" in text for text in notices)
