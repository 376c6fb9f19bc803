"""Judgements by people beside the model's: how the margins of pairs go with how much better people find the good one.

Pearson's correlation has Fisher's interval (atanh r ± z / √(n − 3)); Spearman's, of the ranks with ties at their mean,
that of Bonett & Wright ("Sample size requirements for estimating Pearson, Kendall and Spearman correlations",
Psychometrika 65, 2000): atanh r ± z √((1 + r²/2) / (n − 3)), since Fisher's is too short for ranks.
"""

from __future__ import annotations

import functools
import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np

from wug.families.pairs.view.judged import judged
from wug.stats import Floats
from wug.types import Check, Estimate, Notice, Outcome, Row, Scorer
from wug.views.numbers import finite

PEARSON, SPEARMAN = "pearson", "spearman"
CHECKS = (
    Check(PEARSON, "score", meaning="correlation of the model's margin with people's judgement, pair by pair"),
    Check(SPEARMAN, "score", meaning="the same of their ranks"),
)
FEWEST = 3
"""Pairs without which there is no correlation: two points always lie on a line."""


@dataclass(slots=True)
class Agreement:
    """The margins of the pairs that people judged, with those judgements: two columns of numbers."""

    margins: array[float] = field(default_factory=lambda: array("d"))
    judgements: array[float] = field(default_factory=lambda: array("d"))
    left_out: int = 0
    """Pairs that people judged and the model did not, or not with a finite score."""

    def add(self, outcome: Outcome) -> None:
        """Take a pair in, where people judged it."""
        given = outcome.detail.get("human")
        human = None if given is None else finite(given)
        if human is None:
            return
        margin = judged(outcome).margin
        if margin is None or outcome.value is None:
            self.left_out += 1
        else:
            self.margins.append(margin)
            self.judgements.append(human)

    def rows(self) -> Iterator[Row]:
        """Both correlations, or why there is none; nothing where nobody was asked."""
        n = len(self.margins)
        if not n and not self.left_out:
            return
        margins, judgements = np.array(self.margins), np.array(self.judgements)
        why = _why_none(margins, judgements)
        if why is None:
            yield _estimate(PEARSON, correlation(margins, judgements), n, factor=0.0, method="fisher z")
            yield _estimate(SPEARMAN, correlation(ranks(margins), ranks(judgements)), n, 0.5, "bonett-wright")
        else:
            yield Notice(f"no correlation with people's judgements: {why}")
        if self.left_out:
            pairs = f"{self.left_out} pair{'s' * (self.left_out != 1)}"
            yield Notice(f"{pairs} that people judged left out of the correlations: the model gives no finite margin")


def correlation(one: Floats, other: Floats) -> float:
    """Pearson's correlation of two columns that are not constant."""
    a, b = one - one.mean(), other - other.mean()
    # Each by itself first: squares of very large or small numbers would overflow or vanish.
    a, b = a / np.abs(a).max(), b / np.abs(b).max()
    return float(np.clip(a @ b / math.sqrt((a @ a) * (b @ b)), -1.0, 1.0))


def ranks(values: Floats) -> Floats:
    """The ranks from 1; equal values have the mean of theirs."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    found: Floats = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return found


Run = Callable[[Any, Scorer], Iterator[Row]]


def with_correlations(run: Run) -> Run:
    """A suite's `run` that ends with the correlations, where people judged its `pairs`."""

    @functools.wraps(run)
    def rows(suite: Any, model: Scorer) -> Iterator[Row]:
        if all(pair.human is None for pair in suite.pairs):
            yield from run(suite, model)
            return
        agreement = Agreement()
        for row in run(suite, model):
            if isinstance(row, Outcome):
                agreement.add(row)
            yield row
        yield from agreement.rows()

    return rows


def with_correlation_checks(checks: Callable[[Any], Sequence[Check]]) -> Callable[[Any], Sequence[Check]]:
    """A suite's `checks` with the correlations behind them, where people judged its pairs."""

    @functools.wraps(checks)
    def more(suite: Any) -> Sequence[Check]:
        asked = any(pair.human is not None for pair in suite.pairs)
        return (*checks(suite), *(CHECKS if asked else ()))

    return more


def _why_none(margins: Floats, judgements: Floats) -> str | None:
    if len(margins) < FEWEST:
        return f"it takes {FEWEST} pairs that both people and the model judged, and there are {len(margins)}"
    for name, column in (("people's judgements", judgements), ("the model's margins", margins)):
        if column.min() == column.max():
            return f"{name} are all {column[0]:.4g}"
    return None


def _estimate(check: str, value: float, n: int, factor: float, method: str) -> Estimate:
    if n < 4:
        return Estimate(check, "all", value, n, method=f"none: {n} pairs are too few")
    if abs(value) == 1:
        return Estimate(check, "all", value, n, method="none: all points lie on a line")
    half = NormalDist().inv_cdf(0.975) * math.sqrt((1 + factor * value * value) / (n - 3))
    low, high = math.tanh(math.atanh(value) - half), math.tanh(math.atanh(value) + half)
    return Estimate(check, "all", value, n, low, high, method)
