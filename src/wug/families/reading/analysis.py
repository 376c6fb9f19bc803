"""Target models against a baseline, on the same rows and folds: ΔLL, partial R², slopes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np

from wug.arrays import Floats, Indices
from wug.errors import InputError, WugError
from wug.families.reading import regression
from wug.families.reading.design import Design, PredictorSet, complete_rows, design_of
from wug.families.reading.prepare import FREQUENCY, PreparedTable, flagged
from wug.families.reading.regression import Coefficients, Regression, Validated
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

    lag: int
    term: str
    delta_ll: float
    slope: float
    low: float
    high: float
    t: float
    n: int
    """Rows that have all of these words."""

    @property
    def name(self) -> str:
        """Such as `t-1` for the previous word."""
        return "t" if self.lag == 0 else f"t{-self.lag:+d}"


class MeasureFit(NamedTuple):
    """One measure and one predictor set: both models on the same rows."""

    measure: str
    rows: Indices
    """Rows of the table, in the order of the folds."""
    y: Floats
    folds: Indices
    baseline: Validated
    target: Validated
    terms: tuple[RegressionTerm, ...]
    """Of the target model: those of the baseline first."""
    predictors: tuple[RegressionTerm, ...]
    coefficients: Coefficients
    """Of the target model on all rows."""
    x: Floats
    """The first predictor at the word itself."""
    units: Sequence[str] | None
    p: float
    dropped: Mapping[str, int]
    """Rows without a value, by column; a row may lack several."""
    missing: int
    zeros: int = 0
    lags: tuple[LagEffect, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def delta(self) -> Floats:
        """ΔLL of every row, in nats."""
        return self.target.loglik - self.baseline.loglik

    @property
    def partial_r2(self) -> float:
        """Percent of the variance that the baseline leaves, in-sample."""
        return 100 * (1 - self.target.coefficients.rss / self.baseline.coefficients.rss)

    def slope_of(self, term: RegressionTerm) -> int:
        """The column of a term."""
        return self.terms.index(term)


def analyse(prepared: PreparedTable, sets: Sequence[PredictorSet]) -> list[list[MeasureFit]]:
    """For each predictor set, one fit per measure. All sets share their rows."""
    if not sets:
        raise InputError("no predictors: name terms (--predictors), a model (--model) or a table (--surprisals)")
    each = [_fit_measure(prepared, sets, measure) for measure in prepared.settings.measure]
    unused = tuple(_unused_frequency(prepared, sets))
    fits = [[fit._replace(warnings=(*fit.warnings, *unused)) for fit in fits_of_model] for fits_of_model in each]
    return [list(measure_fits) for measure_fits in zip(*fits, strict=True)]


def _unused_frequency(prepared: PreparedTable, sets: Sequence[PredictorSet]) -> Iterator[str]:
    terms = (*prepared.baseline, *(term for predictors in sets for term in predictors.terms))
    used = {factor.column for term in terms for factor in term.factors}
    if prepared.settings.frequency is not None and FREQUENCY not in used:
        yield f"--frequency makes {FREQUENCY}, which no term uses: add it to --baseline"


def _fit_measure(prepared: PreparedTable, sets: Sequence[PredictorSet], measure: str) -> list[MeasureFit]:
    times, targets = prepared.measured(measure), prepared.targets
    if "zero" in prepared.settings.exclude:
        targets = targets & (times != 0)
    zeros = int(np.count_nonzero(prepared.targets & ~targets))
    y = prepared.transformed(times, targets, measure)
    design = design_of(prepared, sets)
    _refuse_measure_as_term(prepared, design, measure)
    rows, dropped, missing = complete_rows(prepared, design, y, targets, measure)
    results = _fit(prepared, design, y, rows)
    units, unclustered = prepared.units(rows)
    general = [prepared.fold_warning(rows), unclustered, *_implausible(prepared, times[rows], measure)]
    codes = None if units is None else np.unique(units, return_inverse=True)[1]
    draws, seed = prepared.settings.permutations, prepared.settings.seed
    fits = []
    for index, (predictors, (folds, baseline, target, coefficients)) in enumerate(zip(sets, results, strict=True)):
        first = design.columns[design.targets[index][len(design.baseline)]]
        fit = MeasureFit(
            measure=measure,
            rows=rows,
            y=y[rows],
            folds=folds,
            baseline=baseline,
            target=target,
            terms=design.terms[index],
            predictors=design.added[index],
            coefficients=coefficients,
            x=first[rows],
            units=units,
            p=regression.sign_flip_p(target.loglik - baseline.loglik, codes, draws, seed),
            dropped=dropped,
            missing=missing,
            zeros=zeros,
        )
        lags = (
            lag_effects(prepared, predictors, measure) if prepared.settings.lags and predictors.with_spillover else ()
        )
        warnings = [*filter(None, general), *_lag_warnings(lags, fit)]
        if predictors.with_spillover:
            warnings += _warn_influential_rows(prepared, design, y, predictors, index, fit)
        fits.append(fit._replace(lags=lags, warnings=tuple(warnings)))
    return fits


Fitted: TypeAlias = tuple[Indices, Validated, Validated, Coefficients]


def _fit(prepared: PreparedTable, design: Design, y: Floats, rows: Indices) -> list[Fitted]:
    settings = prepared.settings
    if not len(rows):
        raise InputError("no rows are left", file=prepared.table.file)
    folds = _folds(prepared, rows)
    x = np.empty((len(rows), len(design.columns)), order="F")
    for index, values in enumerate(design.columns):
        x[:, index] = values[rows]
    try:
        model = Regression(x, y[rows], None if settings.split == "none" else folds, design.names)
        baseline = model.validate(design.baseline, settings.sigma)
        results = []
        for columns in design.targets:
            target = model.validate(columns, settings.sigma)
            coefficients = model.fit(columns, scaled=True) if settings.scale else target.coefficients
            results.append((folds, baseline, target, coefficients))
    except InputError as error:
        raise InputError(error.message, file=prepared.table.file) from None
    return results


def _folds(prepared: PreparedTable, rows: Indices) -> Indices:
    settings = prepared.settings
    if settings.split == "none":
        return np.zeros(len(rows), np.intp)
    column = prepared.split_column(rows)
    count = settings.folds
    if column is not None:
        groups = prepared.table.codes(column)[rows]
        if (values := len(np.unique(groups))) < count:
            raise InputError(
                f"{column!r} has {values} values in {len(rows):,} rows, fewer than the {count} folds. Use --folds "
                f"{values}",
                file=prepared.table.file,
            )
        return regression.grouped(groups, count)
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
    fits = _fit_measure(quiet, alone, measure)
    effects = []
    for lag, fit in zip(LAGS, fits, strict=True):
        for term in fit.predictors:
            column = fit.slope_of(term)
            interval = fit.coefficients.interval(column)
            slope = float(fit.coefficients.values[column + 1])
            t = fit.coefficients.t(column)
            delta = float(fit.delta.mean())
            n = len(fit.rows)
            effects.append(LagEffect(lag, str(term.at(-lag)), delta, slope, interval.low, interval.high, t, n))
    return tuple(effects)


def _lag_warnings(lags: Sequence[LagEffect], fit: MeasureFit) -> Iterator[str]:
    measure = fit.measure
    if lags and lags[0].n != len(fit.rows):
        yield (
            f"{measure}: words alone (lags) are fitted on the {lags[0].n:,} rows that have all words from t+2 to t-3, "
            f"not on the {len(fit.rows):,} rows of ΔLL above"
        )
    for effect in lags:
        if effect.lag == -1 and abs(effect.t) > SUSPICIOUS_T:
            yield (
                f"{effect.term} of the next word predicts {measure} (slope {effect.slope:.3g}, t = {effect.t:.1f}). In "
                "self-paced reading that is impossible: the times may belong to the next word (--shift 1 moves them)"
            )


def _warn_influential_rows(
    prepared: PreparedTable, design: Design, y: Floats, predictors: PredictorSet, index: int, fit: MeasureFit
) -> Iterator[str]:
    """Warnings about rows that may carry an effect by themselves, with ΔLL without them."""
    rows, measure = fit.rows, fit.measure
    kinds = dict(predictors.suspicious)
    for term in design.added[index]:
        if len(term.factors) == 1 and term.factors[0].lag == 0:
            name = term.factors[0].column
            values = predictors.columns[name] if name in predictors.columns else prepared.table.numbers(name)
            kinds[f"{name} is 0"] = values == 0
    if "unknown" in prepared.table.columns and "unknown word" not in kinds:
        kinds["unknown word"] = flagged(prepared.table)
    if prepared.words is not None and "punctuation" not in prepared.settings.exclude:
        kinds["word with punctuation"] = np.array([has_punctuation(word) for word in prepared.words], bool)
    single = replace(design, targets=[design.targets[index]])
    for kind, mask in kinds.items():
        count = int(np.count_nonzero(mask[rows]))
        if not count:
            continue
        what = f"{measure}: {count:,} of {len(rows):,} rows: {kind}"
        try:
            _, baseline, target, _ = _fit(prepared, single, y, rows[~mask[rows]])[0]
        except WugError:  # too few rows are left
            yield what
        else:
            units = None if fit.units is None else [fit.units[at] for at in np.flatnonzero(~mask[rows]).tolist()]
            delta = estimate("", "", (target.loglik - baseline.loglik).tolist(), units=units)
            interval = interval_text(delta.low, delta.high, delta.method, share=False)
            yield f"{what}; refitted without them, ΔLL is {delta.value:.6f} {interval}".rstrip()


def _refuse_measure_as_term(prepared: PreparedTable, design: Design, measure: str) -> None:
    if prepared.settings.shift == 0 and measure in design.absent:
        raise InputError(f"measure {measure!r} is also a term of the model: leave it out", file=prepared.table.file)


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
