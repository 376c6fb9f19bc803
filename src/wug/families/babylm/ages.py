"""BabyLM's `aoa`: whether a model acquires words in the order of children (Chang & Bergen 2022).

Surprisals at several checkpoints give the age of acquisition of a word. The curves are fitted as the pipeline fits
them, with the same starting values, bounds and numbers of evaluations.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from wug.arrays import Floats
from wug.errors import InputError, MissingExtra, needs_extra
from wug.families.babylm.suite import BabylmSuite, completion_logprob
from wug.families.babylm.tasks import MISSING, finite, names
from wug.identity import OVERALL
from wug.outcomes import Estimate, Metric, Notice, Outcome, SuiteOutput
from wug.problems import ProblemList, refuse_errors
from wug.record_tables import missing_columns, read_table
from wug.requests import Request, Scorer

SURPRISAL, AGE, CORRELATION = "surprisal", "age_of_acquisition", "pearson"
HUMAN = "cdi_human.csv"
MONTHS = range(16, 31)
VOCABULARY = 300_000
"""Chance is one of that many words; the pipeline compares its surprisal in bits with others in nats."""
MIN_POINTS = 3
"""Of a curve, and words of a correlation."""
MULTIPLIERS = {"": 1.0, "K": 1e3, "M": 1e6, "B": 1e9}
HOW = (
    "ages of acquisition need all checkpoints: wug run FOLDER/aoa --protocol babylm --model 'causal:NAME@chck_*', then "
    "wug export sweep:… --to babylm"
)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class AgesSuite(BabylmSuite):
    """Words in contexts, whose surprisals at the checkpoints of a training give ages of acquisition."""

    proportions: Mapping[str, Floats] = field(default_factory=dict)
    """Proportion of children who know a word, by month; NaN if unknown."""

    @property
    def metrics(self) -> Sequence[Metric]:
        """The surprisal of each word in context."""
        return (Metric(SURPRISAL, "nats", "lower", meaning="surprisal of a word in context"),)

    def run(self, model: Scorer) -> Iterator[SuiteOutput]:
        """One outcome per context of a word, with the age at which children know the word."""
        answers = model.score([Request(item.texts[0]) for item in self.items])
        notices = [HOW]
        try:
            ages = child_ages(self.proportions)
        except MissingExtra as error:
            ages, notices = {}, [HOW, str(error)]
        for item, name, scored in zip(self.items, names(self.items), answers, strict=True):
            age = {"child_age": ages[item.uid]} if item.uid in ages else {}
            surprisal = -completion_logprob(scored, item.completions[0])
            yield Outcome(name, SURPRISAL, surprisal, {"paradigm": item.uid}, {"context": item.predictions[0], **age})
        if not self.proportions:
            notices.append(f"no ages of children: {HUMAN} is not in the folder")
        yield from map(Notice, (*notices, *self.notices))


def word_ages(
    points: Mapping[str, Sequence[tuple[str, float]]], children: Mapping[str, float]
) -> dict[str, tuple[float, float]]:
    """The age of a model, in log10 of its training words, and of children, in months, of each word that has both.

    Args:
        points: The checkpoints and surprisals of each word.
        children: The ages of children.
    """
    ages = {}
    for word in points.keys() & children.keys():
        steps = [(words_seen(step), value) for step, value in points[word]]
        if (age := model_age([(step, value) for step, value in steps if step is not None])) is not None:
            ages[word] = (age, children[word])
    return {word: ages[word] for word in points if word in ages}


def age_correlation(ages: Mapping[str, tuple[float, float]]) -> Estimate:
    """Pearson's correlation of the ages; 0 for fewer than three words, as in the pipeline."""
    columns = np.array([*ages.values()]).reshape(-1, 2).T
    varied = len(ages) >= MIN_POINTS and np.ptp(columns, axis=1).all()
    value = float(np.corrcoef(columns)[0, 1]) if varied else 0.0
    return Estimate(CORRELATION, OVERALL, value, len(ages), method="none: ages are estimates themselves")


def words_seen(checkpoint: str) -> float | None:
    """The number of words in the name of a checkpoint, such as chck_10M; None if it has none."""
    match = re.search(r"(\d+(?:\.\d+)?)\s*([KMB]?)", checkpoint, re.IGNORECASE)
    return None if match is None else float(match[1]) * MULTIPLIERS[match[2].upper()]


def child_age(proportions: Floats) -> float | None:
    """The month in which half of the children know a word; None if the curve does not tell."""
    known = ~np.isnan(proportions)
    if known.sum() < MIN_POINTS:
        return None
    months = np.array(MONTHS, dtype=np.float64)[known]
    first, last = float(months[0]), float(months[-1])
    bounds = ([0, 0, first, -0.5], [2.0, 1.0, last, 0.5])
    start = [1.0, 0.1, float(months.mean()), 0.0]
    age = _crossing_point(months, proportions[known], start, 0.5, bounds=bounds)
    return age if age is not None and first <= age <= last else None


def model_age(points: Sequence[tuple[float, float]]) -> float | None:
    """Log10 of the training words at which surprisal is half-way between chance and its minimum; None if unknown."""
    steps, surprisals = np.array([point for point in points if not math.isnan(point[1])]).reshape(-1, 2).T
    if len(points) < MIN_POINTS or not len(steps):
        return None
    chance = math.log2(VOCABULARY)
    threshold = chance - 0.5 * (chance - float(surprisals.min()))
    seen, learned = np.log10(steps + 1), -surprisals
    start = [float(np.ptp(learned)), 1.0, float(seen.mean()), float(learned.min())]
    age = _crossing_point(seen, learned, start, -threshold)
    return age if age is not None and seen[0] <= age <= seen[-1] else None


def _crossing_point(x: Floats, y: Floats, start: Sequence[float], level: float, **more: Any) -> float | None:
    """Where a sigmoid fitted to the points reaches a level; None if it does not fit or reach it."""
    with needs_extra("ages of acquisition", "scipy"):
        from scipy.optimize import curve_fit

    def sigmoid(x: Floats, a: float, b: float, c: float, d: float) -> Floats:
        heights: Floats = a / (1 + np.exp(-b * (x - c))) + d
        return heights

    with (
        np.errstate(all="ignore"),
        warnings.catch_warnings(action="ignore"),
        suppress(RuntimeError, ValueError, TypeError),
    ):
        a, b, c, d = map(float, curve_fit(sigmoid, x, y, p0=start, maxfev=1000, **more)[0])
        if a > 0 and b > 0 and d < level < a + d:
            return float(c - np.log(a / (level - d) - 1) / b)
    return None


def read_children(folder: Path) -> dict[str, Floats]:
    """The proportion of children who know each word, by month; empty if the folder has no such table."""
    path = next((path for path in (folder / HUMAN, folder / f"{HUMAN}.gz") if path.is_file()), None)
    if path is None:
        return {}
    table = read_table(path)
    refuse_errors(ProblemList.of(table.problems, missing_columns(table.header, ["word"])), path)
    months = [str(month) for month in MONTHS if str(month) in table.header]
    if not months:
        raise InputError(f"no columns {MONTHS[0]} to {MONTHS[-1]}, the months of age", file=path, place="header")
    proportions: dict[str, Floats] = {}
    for place, row in table.records:
        try:
            values = [math.nan if row.get(str(m), "") in MISSING else finite(row[str(m)]) for m in MONTHS]
        except ValueError as error:
            raise InputError(str(error), file=path, place=place) from None
        proportions.setdefault(row["word"], np.array(values))
    return proportions


def child_ages(proportions: Mapping[str, Floats]) -> dict[str, float]:
    """The age of acquisition of each word that children acquire in these months."""
    return {word: age for word, shares in proportions.items() if (age := child_age(shares)) is not None}
