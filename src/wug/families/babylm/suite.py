"""The suites of BabyLM, scored as by the evaluation pipeline: completions, reading times and ages of acquisition.

Surprisals at several checkpoints give the age at which a model acquires a word (Chang & Bergen 2022). The curves are
fitted as the pipeline fits them, with the same starting values, bounds and numbers of evaluations.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np

from wug.arrays import Floats
from wug.errors import InputError, MissingExtra, needs_extra
from wug.families.babylm.tasks import MEASURES, MISSING, BabylmItem, finite, names
from wug.families.correlations import spearman
from wug.families.suite import ItemSuite
from wug.files import checksum
from wug.identity import OVERALL
from wug.outcomes import Estimate, Metric, Notice, Outcome, SuiteOutput
from wug.problems import ProblemList, refuse_errors
from wug.record_tables import missing_columns, read_table
from wug.requests import Request, Scored, Scorer
from wug.samples import PLAIN_TEXT

ACCURACY, SPEARMAN, PREFERENCE = "accuracy", "spearman", "preference"
PRIVATE = frozenset({"ewok", "entity_tracking"})
"""Tasks whose authors ask not to publish the items as plain text."""
MACRO = "macro=paradigms"
"""The group of the score of the leaderboard: the mean over UIDs."""
RULES = {
    "ties": "first",
    "normalise": "none",
    "temperature": "1",
    "special": "tokenizer",
    "protocol": "babylm-2025",
}
SURPRISAL, EYE_TRACKING, SELF_PACED = "surprisal", "eye_tracking", "self_paced"
WITH_SPACE = "reading_with_space"
"""Reading times with a space before the word, as tokenizers of the GPT-2 kind need it."""
R2 = "100 · (R² with surprisal - R² without) / (1 - R² without)"
AGE, CORRELATION = "age_of_acquisition", "pearson"
HUMAN = "cdi_human.csv"
MONTHS = range(16, 31)
VOCABULARY = 300_000
"""Chance is one of that many words; the pipeline compares its surprisal in bits with others in nats."""
MIN_POINTS = 3
"""Of a curve, and words of a correlation."""
MULTIPLIERS = {"": 1.0, "K": 1e3, "M": 1e6, "B": 1e9}
AGES_NEED = (
    "ages of acquisition need all checkpoints: wug run FOLDER/aoa --protocol babylm --model 'causal:NAME@chck_*', then "
    "wug export sweep:… --to babylm"
)
Choice: TypeAlias = tuple[int, Sequence[float], float | None]
"""The number of the chosen text, 0 for none; log-probabilities, if known; and the probability of the first text."""


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class BabylmSuite(ItemSuite[BabylmItem]):
    """The items of a task."""

    folder: str
    """The name of the data folder, which the submission repeats."""
    protocol: ClassVar[str] = "babylm"
    kind = "babylm"
    needs: ClassVar[Literal["scores"]] = "scores"

    @classmethod
    def of(cls, name: str, folder: str, items: Sequence[BabylmItem], notices: tuple[str, ...] = ()) -> Self:
        """The suite of these items."""
        columns = ((item.uid, *item.texts, *item.completions, *map(repr, item.values.values())) for item in items)
        return cls(name, tuple(items), checksum(*map("\t".join, columns)), notices, folder=folder)

    @property
    def options(self) -> Mapping[str, str]:
        """The rules of the pipeline, one by one."""
        return {**RULES, **self.selection}

    @property
    def rated(self) -> bool:
        """Whether people's preferences are predicted, and not the right text."""
        return any(item.ratio is not None for item in self.items)

    @property
    def metrics(self) -> Sequence[Metric]:
        """Accuracy, or the correlation with people's preferences."""
        if self.rated:
            meaning = "rank correlation of the probability of the first text with people's preference"
            return (
                Metric(SPEARMAN, "score", meaning=meaning),
                Metric(PREFERENCE, better="neither", headline=False, meaning="probability of the first text"),
            )
        return (Metric(ACCURACY, meaning="the right completion has the highest log-probability; it wins ties"),)

    @property
    def meta(self) -> Mapping[str, Any]:
        """Facts about the suite for the pages and the submission."""
        private = {PLAIN_TEXT: False} if self.name in PRIVATE else {}
        return {"task": self.name, "folder": self.folder, "items": len(self.items), **private}

    def strata(self) -> list[tuple[str, ...]]:
        """The UID."""
        return [(item.uid,) for item in self.items]

    def sample_notices(self, items: Sequence[BabylmItem]) -> tuple[str, ...]:
        """The same: they are about the folder."""
        return self.notices

    def requests(self) -> Sequence[Request]:
        """Every text, in order."""
        return [Request(text) for item in self.items for text in item.texts]

    def run(self, model: Scorer) -> Iterator[SuiteOutput]:
        """One outcome per item, the mean over UIDs or the correlation, and the warnings."""
        ties = 0
        for output in self.judged(self._choices(model)):
            if isinstance(output, Outcome):
                sums = output.detail["logprobs"]
                ties += sums.count(max(sums)) > 1
            yield output
        if ties:
            yield Notice(f"{ties} of {len(self)} items tied, won by the first, as in the pipeline")
        yield from map(Notice, self.notices)

    def judged(self, choices: Iterable[Choice]) -> Iterator[SuiteOutput]:
        """One outcome per item, from the choice that was made, and the score of the leaderboard."""
        verdicts: dict[str, dict[str, list[bool]]] = {}
        preferences: list[float] = []
        for item, name, (chosen, sums, preference) in zip(self.items, names(self.items), choices, strict=True):
            logprobs = {"logprobs": sums} if sums else {}
            detail = {"options": list(item.predictions), **logprobs, "right": 1, "chosen": chosen}
            groups = {"paradigm": item.uid, **item.groups}
            if preference is None:
                verdicts.setdefault(item.groups.get("subset", ""), {}).setdefault(item.uid, []).append(chosen == 1)
                yield Outcome(name, ACCURACY, chosen == 1, groups, detail)
            else:
                preferences.append(preference)
                yield Outcome(name, PREFERENCE, preference, groups, {**detail, "human": item.ratio})
        yield _macro_mean(verdicts) if verdicts else self._rank_correlation(preferences)

    def _choices(self, model: Scorer) -> Iterator[Choice]:
        step = max(1, model.chunk // max(len(item.texts) for item in self.items))
        for first in range(0, len(self), step):
            items = self.items[first : first + step]
            answers = iter(model.score([Request(text) for item in items for text in item.texts]))
            for item in items:
                sums = [completion_logprob(next(answers), completion) for completion in item.completions]
                yield sums.index(max(sums)) + 1, sums, None if item.ratio is None else _probability_of_first(sums)

    def _rank_correlation(self, preferences: Sequence[float]) -> Estimate | Notice:
        """Spearman's correlation of the model's preferences with people's."""
        ratios = np.array([item.ratio for item in self.items], dtype=np.float64)
        rho = spearman(np.array(preferences), ratios)
        if len(preferences) < 3 or rho is None:
            return Notice("no correlation: too few items, or all values are the same")
        return Estimate(SPEARMAN, OVERALL, rho, len(preferences))


def _probability_of_first(sums: Sequence[float]) -> float:
    """In float32, as the pipeline: probabilities near 1 tie."""
    return float(np.float32(1 / (1 + math.exp(min(sums[1] - sums[0], 700)))))


def _macro_mean(verdicts: Mapping[str, Mapping[str, Sequence[bool]]]) -> Estimate:
    """The score of the leaderboard: the mean over UIDs, of subsets the mean of their means."""
    means = [fmean(map(fmean, uids.values())) for uids in verdicts.values()]
    return Estimate(ACCURACY, MACRO, fmean(means), sum(map(len, verdicts.values())), method="none: a mean of means")


def completion_logprob(scored: Scored, completion: str) -> float:
    """The sum over tokens that end after the completion begins; a token across the boundary counts as a whole."""
    start = len(scored.text) - len(completion)
    counted = zip(scored.ends, scored.logprobs, strict=True)
    return math.fsum(value for end, value in counted if value is not None and end > start)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class ReadingTimesSuite(BabylmSuite):
    """Words whose surprisal predicts reading times."""

    @property
    def metrics(self) -> Sequence[Metric]:
        """Two scores, and the surprisal of each word."""
        return (
            Metric(EYE_TRACKING, "score", meaning=f"{R2}, mean over four eye-tracking measures"),
            Metric(SELF_PACED, "score", meaning=f"{R2}, for self-paced reading times"),
            Metric(SURPRISAL, "nats", "neither", headline=False, meaning="surprisal of the word"),
        )

    def requests(self) -> Sequence[Request]:
        """The word of each row after its context, then the previous word after its own, if there is one."""
        return [request for item in self.items for request in self._requests(item)]

    def run(self, model: Scorer) -> Iterator[SuiteOutput]:
        """One outcome per word, and the two scores."""
        answers = iter(model.score(self.requests()))
        surprisals: list[tuple[float, float]] = []
        for item in self.items:
            values = [-next(answers).logprob() for _ in item.texts]
            surprisals.append((values[0], values[1] if len(values) > 1 else math.nan))
        yield from self.scored(surprisals)
        yield from map(Notice, self.notices)

    def scored(self, surprisals: Sequence[tuple[float, float]]) -> Iterator[SuiteOutput]:
        """One outcome per word, and the two scores, from the surprisals that `reading_scores` takes."""
        for item, name, (value, previous) in zip(self.items, names(self.items), surprisals, strict=True):
            known = {} if math.isnan(previous) else {"prev_surprisal": previous}
            yield Outcome(name, SURPRISAL, value, {"paradigm": item.uid}, {"options": list(item.predictions), **known})
        yield from reading_scores(self.items, surprisals)

    def _requests(self, item: BabylmItem) -> Iterator[Request]:
        for text, word in zip(item.texts, item.completions, strict=True):
            context = text.removesuffix(word)
            if self.name == WITH_SPACE:
                context, word = context.rstrip(), f" {word.lstrip()}"
            yield Request(context + word, separate_word_start=len(context))


def reading_scores(
    items: Sequence[BabylmItem], surprisals: Sequence[tuple[float, float]]
) -> Iterator[Estimate | Notice]:
    """The two scores, from the surprisal of each word and of the one before it (NaN for none), in nats."""
    columns = {name: np.array([item.values[name] for item in items]) for name in items[0].values}
    columns["pred"], columns["prev_pred"] = np.array(surprisals, dtype=np.float64).reshape(-1, 2).T
    base = ("Subtlex_log10", "length", "context_length")
    gains = [_gain(columns, measure, base) for measure in MEASURES[:-1]]
    self_paced = _gain(columns, MEASURES[-1], (*base, "prev_length", "prev_pred"))
    for metric, measured in ((EYE_TRACKING, gains), (SELF_PACED, [self_paced])):
        shares = [share for share, _ in measured if share is not None]
        if len(shares) < len(measured):
            yield Notice(f"no {metric} score: too few rows without missing values")
        else:
            rows = min(rows for _, rows in measured)
            yield Estimate(metric, OVERALL, 100 * fmean(shares), rows, method="none: the pipeline has none")


def _gain(columns: dict[str, Floats], measure: str, base: Sequence[str]) -> tuple[float | None, int]:
    """The share of the remaining variance that surprisal explains, and the number of rows; each fit drops its own."""
    terms = [columns[name] for name in base] + [columns[a] * columns[b] for a, b in combinations(base, 2)]
    without, _ = _r_squared(columns[measure], terms)
    with_surprisal, rows = _r_squared(columns[measure], [*terms, columns["pred"]])
    if without is None or with_surprisal is None or without == 1:
        return None, rows
    return (with_surprisal - without) / (1 - without), rows


def _r_squared(y: Floats, terms: Sequence[Floats]) -> tuple[float | None, int]:
    """R² of ordinary least squares with an intercept, over the rows without missing values, and their number."""
    table = np.column_stack([np.ones(len(y)), *terms, y])
    table = table[np.isfinite(table).all(axis=1)]
    x, observed = table[:, :-1], table[:, -1]
    if len(table) <= x.shape[1] or np.ptp(observed) == 0:
        return None, len(table)
    slopes, *_ = np.linalg.lstsq(x, observed, rcond=None)
    residuals, deviations = observed - x @ slopes, observed - observed.mean()
    return 1 - float(residuals @ residuals) / float(deviations @ deviations), len(table)


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
        notices = [AGES_NEED]
        try:
            ages = child_ages(self.proportions)
        except MissingExtra as error:
            ages, notices = {}, [AGES_NEED, str(error)]
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

    The points are the checkpoints and surprisals of each word.
    """
    ages = {}
    for word in (word for word in points if word in children):
        steps = [(words_seen(step), value) for step, value in points[word]]
        if (age := model_age([(step, value) for step, value in steps if step is not None])) is not None:
            ages[word] = (age, children[word])
    return ages


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
