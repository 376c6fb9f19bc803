"""BabyLM's `reading`: how much better surprisal explains the reading times of de Varda et al. (2023)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

import numpy as np

from wug.arrays import Floats
from wug.families.babylm.suite import BabylmSuite
from wug.families.babylm.tasks import MEASURES, BabylmItem, names
from wug.identity import OVERALL
from wug.outcomes import Estimate, Metric, Notice, Outcome, SuiteOutput
from wug.requests import Request, Scorer

SURPRISAL, EYE_TRACKING, SELF_PACED = "surprisal", "eye_tracking", "self_paced"
WITH_SPACE = "reading_with_space"
"""The same with a space before the word, as tokenizers of the GPT-2 kind need it."""
BASE = ("Subtlex_log10", "length", "context_length")
PREVIOUS = ("prev_length", "prev_pred")
R2 = "100 · (R² with surprisal - R² without) / (1 - R² without)"
METRICS = (
    Metric(EYE_TRACKING, "score", meaning=f"{R2}, mean over four eye-tracking measures"),
    Metric(SELF_PACED, "score", meaning=f"{R2}, for self-paced reading times"),
    Metric(SURPRISAL, "nats", "neither", headline=False, meaning="surprisal of the word"),
)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class ReadingTimesSuite(BabylmSuite):
    """Words whose surprisal predicts reading times."""

    @property
    def metrics(self) -> Sequence[Metric]:
        """Two scores, and the surprisal of each word."""
        return METRICS

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
        yield from reading_rows(self.items, surprisals)
        yield from map(Notice, self.notices)

    def _requests(self, item: BabylmItem) -> Iterator[Request]:
        for text, word in zip(item.texts, item.completions, strict=True):
            context = text.removesuffix(word)
            if self.name == WITH_SPACE:
                context, word = context.rstrip(), f" {word.lstrip()}"
            yield Request(context + word, separate_word_start=len(context))


def reading_rows(items: Sequence[BabylmItem], surprisals: Sequence[tuple[float, float]]) -> Iterator[SuiteOutput]:
    """One outcome per word, and the two scores, from the surprisals that `reading_scores` takes."""
    for item, name, (value, previous) in zip(items, names(items), surprisals, strict=True):
        known = {} if math.isnan(previous) else {"prev_surprisal": previous}
        detail = {"options": list(item.predictions), **known}
        yield Outcome(name, SURPRISAL, value, {"paradigm": item.uid}, detail)
    yield from reading_scores(items, surprisals)


def reading_scores(
    items: Sequence[BabylmItem], surprisals: Sequence[tuple[float, float]]
) -> Iterator[Estimate | Notice]:
    """The two scores, from the surprisal of each word and of the one before it (NaN for none), in nats."""
    columns = {name: np.array([item.values[name] for item in items]) for name in items[0].values}
    columns["pred"], columns["prev_pred"] = np.array(surprisals, dtype=np.float64).reshape(-1, 2).T
    gains = [_gain(columns, measure, BASE) for measure in MEASURES[:-1]]
    for metric, measured in ((EYE_TRACKING, gains), (SELF_PACED, [_gain(columns, MEASURES[-1], (*BASE, *PREVIOUS))])):
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
