"""The suite: does a model's surprisal improve the prediction of reading times?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from wug.families.reading.analysis import MeasureFit, analyse
from wug.families.reading.design import PredictorSet
from wug.families.reading.prepare import PreparedTable
from wug.families.reading.surprisals import predict
from wug.families.reading.terms import parse, written
from wug.identity import Group
from wug.labels import suite_line
from wug.outcomes import Estimate, Metric, Notice, Outcome, SuiteOutput
from wug.requests import Request, Scorer

AT_ONCE = 10_000
"""Outcomes that are taken from arrays at once."""
DELTA = "delta_ll"
MEASURE = "measure"
METRICS = (
    Metric(DELTA, "nats", meaning="gain in log-likelihood per row over the baseline, on test rows", split_by=MEASURE),
    Metric("delta_ll_sum", "nats", headline=False, meaning="the same, summed over the rows"),
    Metric("p", "score", "lower", headline=False, meaning="p-value of ΔLL by sign flips"),
    Metric("ll_baseline", "nats", headline=False, meaning="log-likelihood of the baseline per row"),
    Metric("ll_target", "nats", headline=False, meaning="log-likelihood of the target model per row"),
    Metric("partial_r2", "score", headline=False, meaning="percent of the remaining variance, in-sample"),
    Metric("perplexity", "score", "lower", headline=False, meaning="per word, on the rows used"),
    Metric("slope", "score", "neither", headline=False, meaning="change of the measure per unit of the term"),
    Metric("lag_delta_ll", "nats", headline=False, meaning="ΔLL of the predictor at one word alone"),
    Metric("lag_slope", "score", "neither", headline=False, meaning="slope of the predictor at one word alone"),
)


@dataclass(frozen=True, slots=True)
class ReadingSuite:
    """Reading times, and how a model's predictors are tested on them."""

    name: str
    prepared: PreparedTable
    checksum: str
    limit: int | None = None
    kind: str = "reading"
    needs: Literal["scores"] = "scores"

    @property
    def options(self) -> Mapping[str, str]:
        """Every setting, for the signature."""
        settings = self.prepared.settings
        rows = np.flatnonzero(self.prepared.targets)
        split = settings.split
        if split is None:
            column = self.prepared.split_column(rows)
            split = "contiguous" if column is None else f"by:{column}"
        units, _ = self.prepared.units(rows)
        cluster = "none" if units is None else settings.cluster or settings.text or "none"
        return {
            **settings.signature(),
            "baseline": written(self.prepared.baseline),
            "predictors": settings.predictors or settings.use,
            "split": split,
            "cluster": cluster,
            "frequency": self.prepared.frequency,
            **({} if self.limit is None else {"limit": str(self.limit)}),
        }

    @property
    def metrics(self) -> Sequence[Metric]:
        """ΔLL and what explains it."""
        return METRICS

    @property
    def meta(self) -> Mapping[str, Any]:
        """What pages show with the rows."""
        settings = self.prepared.settings
        return {"measures": list(settings.measure), "unit": "log ms" if settings.transform == "log" else "ms"}

    __repr__ = suite_line

    def __len__(self) -> int:
        return int(np.count_nonzero(self.prepared.targets))

    def sample(self, items: int) -> ReadingSuite:
        """The same suite with its first rows only."""
        if items >= len(self):
            return self
        targets = self.prepared.targets & (np.cumsum(self.prepared.targets) <= items)
        return replace(self, prepared=self.prepared._replace(targets=targets), limit=items)

    def requests(self) -> Sequence[Request]:
        """Nothing up front: whether texts or sentences are scored depends on the model."""
        return []

    def run(self, model: Scorer) -> Iterator[SuiteOutput]:
        """Compute the surprisal of every word, fit both models, and compare them."""
        settings = self.prepared.settings
        predictors = predict(self.prepared, model, settings.predictors or settings.use)
        if settings.predictors is not None:
            predictors = replace(predictors, terms=parse(settings.predictors))
        (fits,) = analyse(self.prepared, [predictors])
        yield from result_rows(self.prepared, predictors, fits)


def result_rows(prepared: PreparedTable, predictors: PredictorSet, fits: Sequence[MeasureFit]) -> Iterator[SuiteOutput]:
    """One outcome per row and measure, the estimates, and warnings."""
    yield from FitOutcomes(prepared, fits)
    for fit in fits:
        yield from estimates(fit, only=len(fits) == 1)
    if (surprisals := predictors.columns.get("surprisal")) is not None and len(fits):
        rows = fits[0].rows
        if not np.isnan(surprisals[rows]).any():
            yield Estimate("perplexity", "all", float(2 ** surprisals[rows].mean()), len(rows))
    notices = [*prepared.warnings, *predictors.warnings]
    notices += [warning for fit in fits for warning in fit.warnings]
    for fit in fits:
        if dropped := dropped_text(prepared, fit):
            notices.append(f"{fit.measure}: {len(fit.rows):,} rows used; removed {dropped}")
    yield from (Notice(text) for text in dict.fromkeys(notices))


def estimates(fit: MeasureFit, *, only: bool) -> Iterator[Estimate]:
    """The estimates of a measure that are not means of outcomes; `only`: it is the only measure."""
    group, n = str(Group(MEASURE, fit.measure)), len(fit.rows)
    yield Estimate("p", group, fit.p, n)
    if only:
        yield Estimate("p", "all", fit.p, n)
    yield Estimate("delta_ll_sum", group, float(fit.delta.sum()), n)
    yield Estimate("ll_baseline", group, float(fit.baseline.loglik.mean()), n)
    yield Estimate("ll_target", group, float(fit.target.loglik.mean()), n)
    yield Estimate("partial_r2", group, fit.partial_r2, n)
    for term in (*fit.predictors, *fit.controls):
        slope = fit.slope(term)
        yield Estimate(f"slope:{term}", group, slope.value, n, slope.low, slope.high, "t")
    for effect in fit.lags:
        name, slope = f"{effect.term}@{effect.word}", effect.slope
        yield Estimate(f"lag_delta_ll:{name}", group, effect.delta_ll, effect.n)
        yield Estimate(f"lag_slope:{name}", group, slope.value, effect.n, slope.low, slope.high, "t")


def dropped_text(prepared: PreparedTable, fit: MeasureFit) -> str:
    """The rows dropped, by reason; empty if none were dropped."""
    removed = {**prepared.removed, "exclude zero": fit.zeros}
    reasons = [f"{count:,} by {kind}" for kind, count in removed.items() if count]
    if fit.missing:
        lacking = ", ".join(f"{name} {count:,}" for name, count in fit.dropped.items())
        reasons.append(f"{fit.missing:,} without a value ({lacking})")
    return ", ".join(reasons)


@dataclass(frozen=True, slots=True)
class FitOutcomes(Sequence[Outcome]):
    """One outcome per row and measure, made on access to save memory."""

    prepared: PreparedTable
    fits: Sequence[MeasureFit]

    def __len__(self) -> int:
        return sum(len(fit.rows) for fit in self.fits)

    def __iter__(self) -> Iterator[Outcome]:
        for fit in self.fits:
            for first in range(0, len(fit.rows), AT_ONCE):
                yield from _outcomes(self.prepared, fit, slice(first, first + AT_ONCE))

    def __getitem__(self, key: Any) -> Any:
        return list(self)[key]


def _outcomes(prepared: PreparedTable, fit: MeasureFit, at: slice) -> Iterator[Outcome]:
    groups, words, units = {MEASURE: fit.measure}, prepared.words, fit.units
    below, above = fit.baseline.loglik[at], fit.target.loglik[at]
    arrays = (fit.y[at], fit.x[at], fit.target.predicted[at], fit.folds[at] + 1, below, above, above - below)
    rows = fit.rows[at].tolist()
    columns = zip(rows, prepared.items(rows), *(array.tolist() for array in arrays), strict=True)
    for index, (row, item, y, x, predicted, fold, low, high, delta) in enumerate(columns, at.start):
        detail: dict[str, Any] = {} if words is None else {"word": words[row]}
        detail |= {"y": y, "x": x, "predicted": predicted, "fold": fold, "ll_baseline": low, "ll_target": high}
        if units is not None:
            detail["source"] = units[index]
        yield Outcome(item, DELTA, delta, groups, detail)
