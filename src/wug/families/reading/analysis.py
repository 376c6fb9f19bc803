"""Target models against a baseline, on the same rows and folds: ΔLL, partial R², slopes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from wug.arrays import Floats, Indices, Mask
from wug.errors import InputError, WugError
from wug.families.reading import regression
from wug.families.reading.design import Design, PredictorSet, complete_rows, design_of
from wug.families.reading.prepare import FREQUENCY, PreparedTable, flagged
from wug.families.reading.regression import Coefficient, Regression, Validated, sign_flip_p
from wug.families.reading.table import has_punctuation
from wug.families.reading.terms import RegressionTerm
from wug.formatting import interval_text
from wug.stats import estimate

LAGS = (-2, -1, 0, 1, 2, 3)
"""Words back at which predictors are fitted alone: from the word after the next to three words back."""
MAX_NEGATIVE_SHARE = 0.05
"""Share of negative values up to which a measure counts as a time."""
MAX_MEDIANS = 20
"""Medians beyond which a time is implausible."""
SUSPICIOUS_T = 3.29
"""Absolute t of the next word's slope (p < .001) from which on times may belong to other words."""


class LagEffect(NamedTuple):
    """A predictor at one word, added alone to the baseline."""

    word: str
    """Such as `t-1` for the previous word."""
    term: str
    delta_ll: float
    slope: Coefficient
    n: int
    """Rows that have all of these words."""


class MeasureFit(NamedTuple):
    """One measure and one predictor set: both models on the same rows."""

    measure: str
    rows: Indices
    """Rows of the table, in the order of the folds."""
    y: Floats
    folds: Indices
    baseline: Validated
    target: Validated
    controls: tuple[RegressionTerm, ...]
    """The terms of the baseline."""
    predictors: tuple[RegressionTerm, ...]
    """The terms that the target model has in addition."""
    x: Floats
    """The first predictor at the word itself."""
    units: Sequence[str] | None
    p: float
    dropped: Mapping[str, int]
    """Rows without a value, by column; a row may lack several."""
    missing: int
    zeros: int
    lags: tuple[LagEffect, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def terms(self) -> tuple[RegressionTerm, ...]:
        """Of the target model."""
        return (*self.controls, *self.predictors)

    @property
    def delta(self) -> Floats:
        """ΔLL of every row, in nats."""
        return self.target.loglik - self.baseline.loglik

    @property
    def partial_r2(self) -> float:
        """Percent of the variance that the baseline leaves, in-sample."""
        return 100 * (1 - self.target.coefficients.rss / self.baseline.coefficients.rss)

    def slope(self, term: RegressionTerm) -> Coefficient:
        """The slope of a term in the target model, on all rows."""
        return self.target.coefficients.test(1 + self.terms.index(term))


def analyse(prepared: PreparedTable, sets: Sequence[PredictorSet]) -> list[list[MeasureFit]]:
    """For each predictor set, one fit per measure. All sets share their rows."""
    if not sets:
        raise InputError("no predictors: name terms (--predictors), a model (--model) or a table (--surprisals)")
    terms = (*prepared.baseline, *(term for predictors in sets for term in predictors.terms))
    unused: tuple[str, ...] = ()
    if prepared.settings.frequency and all(factor.column != FREQUENCY for term in terms for factor in term.factors):
        unused = (f"--frequency makes {FREQUENCY}, which no term uses: add it to --baseline",)
    by_measure = [_fit_measure(prepared, sets, measure) for measure in prepared.settings.measure]
    return [[fit._replace(warnings=fit.warnings + unused) for fit in fits] for fits in zip(*by_measure, strict=True)]


def _fit_measure(prepared: PreparedTable, sets: Sequence[PredictorSet], measure: str) -> list[MeasureFit]:
    settings, targets = prepared.settings, prepared.targets
    times = prepared.values_at(prepared.table.numbers(measure), settings.shift, measure)
    if "zero" in settings.exclude:
        targets = targets & (times != 0)
    y = times if settings.transform == "none" else _logarithms(prepared, times, targets, measure)
    design = design_of(prepared, sets)
    if settings.shift == 0 and measure in design.absent:
        raise InputError(f"measure {measure!r} is also a term of the model: leave it out", file=prepared.table.file)
    rows, dropped, missing = complete_rows(prepared, design, y, targets, measure)
    folds, (baseline, *models) = _fit(prepared, design, design.added, y, rows)
    units, unclustered = prepared.units(rows)
    general = [prepared.fold_warning(rows), unclustered, *_implausible(prepared, times[rows], measure)]
    codes = None if units is None else np.unique(units, return_inverse=True)[1]
    fits = []
    for index, (predictors, target) in enumerate(zip(sets, models, strict=True)):
        fit = MeasureFit(
            measure=measure,
            rows=rows,
            y=y[rows],
            folds=folds,
            baseline=baseline,
            target=target,
            controls=prepared.baseline,
            predictors=design.added_terms[index],
            x=design.columns[design.added[index][0]][rows],
            units=units,
            p=sign_flip_p(target.loglik - baseline.loglik, codes, settings.permutations, settings.seed),
            dropped=dropped,
            missing=missing,
            zeros=int(np.count_nonzero(prepared.targets & ~targets)),
        )
        warnings = [warning for warning in general if warning is not None]
        if predictors.with_spillover:
            lags = lag_effects(prepared, predictors, measure) if settings.lags else ()
            influential = _warn_influential_rows(prepared, design, y, predictors, index, fit)
            warnings += [*_lag_warnings(lags, fit), *influential]
            fit = fit._replace(lags=lags)
        fits.append(fit._replace(warnings=tuple(warnings)))
    return fits


def _logarithms(prepared: PreparedTable, times: Floats, targets: Mask, measure: str) -> Floats:
    low = np.flatnonzero(targets & (times <= 0))
    if len(low):
        raise prepared.table.error(
            f"{len(low):,} values are zero or negative and have no logarithm. Remove them with --where "
            f"{measure + ' > 0'!r}",
            low,
            measure,
        )
    return np.log(np.where(times > 0, times, np.nan))


def _fit(
    prepared: PreparedTable, design: Design, added: Sequence[Sequence[int]], y: Floats, rows: Indices
) -> tuple[Indices, list[Validated]]:
    """The folds; and the baseline and the models with these columns in addition."""
    settings = prepared.settings
    if not len(rows):
        raise InputError("no rows are left", file=prepared.table.file)
    folds = _folds(prepared, rows)
    x = np.column_stack([values[rows] for values in design.columns])
    try:
        model = Regression(x, y[rows], None if settings.split == "none" else folds, design.names)
        models = [
            model.validate([*design.baseline, *columns], settings.sigma, scaled=settings.scale)
            for columns in ((), *added)
        ]
    except InputError as error:
        raise InputError(error.message, file=prepared.table.file) from None
    return folds, models


def _folds(prepared: PreparedTable, rows: Indices) -> Indices:
    settings, count, column = prepared.settings, prepared.settings.folds, prepared.split_column(rows)
    if column is not None:
        groups = prepared.table.codes(column)[rows]
        if (values := len(np.unique(groups))) < count:
            raise InputError(
                f"{column!r} has {values} values in {len(rows):,} rows, fewer than the {count} folds. Use --folds "
                f"{values}",
                file=prepared.table.file,
            )
        return regression.grouped(groups, count)
    if settings.split == "none":
        return np.zeros(len(rows), np.intp)
    if len(rows) < count:
        raise InputError(f"{len(rows)} rows are fewer than {count} folds: some test folds are empty")
    if settings.split == "cut":
        return regression.r_cut(len(rows), count)
    if settings.split == "random":
        return regression.shuffled(len(rows), count, settings.seed)
    return regression.contiguous(len(rows), count)


def lag_effects(prepared: PreparedTable, predictors: PredictorSet, measure: str) -> tuple[LagEffect, ...]:
    """The predictors at each of the words t+2 to t-3 alone, on the rows that have all of these words."""
    alone = [
        replace(predictors, terms=tuple(term.at(lag) for term in predictors.terms), with_spillover=False)
        for lag in LAGS
    ]
    quiet = prepared._replace(settings=replace(prepared.settings, lags=False, allow_missing=True))
    effects = []
    for lag, fit in zip(LAGS, _fit_measure(quiet, alone, measure), strict=True):
        for term in fit.predictors:
            slope, delta = fit.slope(term), float(fit.delta.mean())
            name = "t" if lag == 0 else f"t{-lag:+d}"
            effects.append(LagEffect(name, str(term.at(-lag)), delta, slope, len(fit.rows)))
    return tuple(effects)


def _lag_warnings(lags: Sequence[LagEffect], fit: MeasureFit) -> Iterator[str]:
    measure = fit.measure
    if lags and lags[0].n != len(fit.rows):
        yield (
            f"{measure}: words alone (lags) are fitted on the {lags[0].n:,} rows that have all words from t+2 to t-3, "
            f"not on the {len(fit.rows):,} rows of ΔLL above"
        )
    for effect in lags:
        slope = effect.slope
        if effect.word == "t+1" and abs(slope.t) > SUSPICIOUS_T:
            yield (
                f"{effect.term} of the next word predicts {measure} (slope {slope.value:.3g}, t = {slope.t:.1f}). In "
                "self-paced reading that is impossible: the times may belong to the next word (--shift 1 moves them)"
            )


def _warn_influential_rows(
    prepared: PreparedTable, design: Design, y: Floats, predictors: PredictorSet, index: int, fit: MeasureFit
) -> Iterator[str]:
    """Warnings about rows that may carry an effect by themselves, with ΔLL without them."""
    rows, kinds = fit.rows, dict(predictors.suspicious)
    for term in fit.predictors:
        if len(term.factors) == 1 and term.factors[0].lag == 0:
            name = term.factors[0].column
            values = predictors.columns[name] if name in predictors.columns else prepared.table.numbers(name)
            kinds[f"{name} is 0"] = values == 0
    if "unknown" in prepared.table.columns and "unknown word" not in kinds:
        kinds["unknown word"] = flagged(prepared.table)
    if prepared.words is not None and "punctuation" not in prepared.settings.exclude:
        kinds["word with punctuation"] = np.array([has_punctuation(word) for word in prepared.words], bool)
    for kind, mask in kinds.items():
        others = np.flatnonzero(~mask[rows])
        if len(others) == len(rows):
            continue
        what = f"{fit.measure}: {len(rows) - len(others):,} of {len(rows):,} rows: {kind}"
        try:
            _, (baseline, target) = _fit(prepared, design, [design.added[index]], y, rows[others])
        except WugError:  # too few rows are left
            yield what
        else:
            units = None if fit.units is None else [fit.units[at] for at in others.tolist()]
            delta = estimate("", "", (target.loglik - baseline.loglik).tolist(), units=units)
            interval = interval_text(delta.low, delta.high, delta.method, share=False)
            yield f"{what}; refitted without them, ΔLL is {delta.value:.6f} {interval}".rstrip()


def _implausible(prepared: PreparedTable, times: Floats, measure: str) -> Iterator[str]:
    """Warnings about a measure that is a key, and about values that are not times where nearly all are."""
    for key in ("text", "position", "sentence", "subject"):
        if getattr(prepared.settings, key) == measure:
            yield f"measure {measure!r} is the {key} column, not a reading time"
    below = int(np.count_nonzero(times < 0))
    if below > MAX_NEGATIVE_SHARE * len(times):  # such as amplitudes
        return
    zeros = int(np.count_nonzero(times == 0))
    positive = times[times > 0]
    large = int(np.count_nonzero(positive > MAX_MEDIANS * np.median(positive))) if len(positive) else 0
    for count, what, fix in (
        (below, "negative, which a time cannot be", f"--where '{measure} > 0' leaves them out"),
        (zeros, "0 and count as times of 0", "--exclude zero leaves them out"),
        (large, f"more than {MAX_MEDIANS} times the median", "--where with a maximum leaves them out"),
    ):
        if count:
            yield f"{measure}: {count:,} of {len(times):,} values are {what}: {fix}"
