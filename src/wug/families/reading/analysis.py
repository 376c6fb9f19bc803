"""Target models against a baseline, on the same rows and folds: ΔLL, partial R², slopes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from wug.errors import InputError, WugError
from wug.families.reading import regression
from wug.families.reading.prepare import FREQUENCY, PreparedTable, flagged
from wug.families.reading.regression import Coefficients, Floats, Indices, Regression, Validated
from wug.families.reading.table import Mask, has_punctuation
from wug.families.reading.terms import Factor, RegressionTerm, distinct, spread, written

LAGS = (-2, -1, 0, 1, 2, 3)
"""Words back at which predictors are fitted alone: from the word after the next to three words back."""
SUSPICIOUS_T = 3.29
"""Absolute t of the next word's slope (p < .001) from which on times may belong to other words."""


@dataclass(frozen=True, slots=True)
class PredictorSet:
    """What a target model adds to the baseline."""

    label: str
    terms: tuple[RegressionTerm, ...]
    columns: Mapping[str, Floats] = field(default_factory=dict)
    """Columns that are not in the table, such as a model's surprisals."""
    suspicious: Mapping[str, Mask] = field(default_factory=dict)
    """Rows to warn about, by what is wrong with them."""
    options: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    with_spillover: bool = True


@dataclass(frozen=True, slots=True)
class LagEffect:
    """A predictor at one word, alone beside the baseline."""

    lag: int
    term: str
    delta_ll: float
    slope: float
    low: float
    high: float
    t: float

    @property
    def name(self) -> str:
        """Such as `t-1` for the previous word."""
        return "t" if self.lag == 0 else f"t{-self.lag:+d}"


@dataclass(frozen=True, slots=True)
class MeasureFit:
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


@dataclass(slots=True)
class _Design:
    """The columns of a baseline and several target models, over all rows of the table."""

    columns: list[Floats]
    names: list[str]
    baseline: list[int]
    targets: list[list[int]]
    terms: list[tuple[RegressionTerm, ...]]
    added: list[tuple[RegressionTerm, ...]]
    """Those that the baseline does not have."""
    absent: dict[str, Mask] = field(default_factory=dict)
    """Rows without a value, by column; `no word at t-1` for rows without an earlier word."""


def analyse(prepared: PreparedTable, sets: Sequence[PredictorSet]) -> list[list[MeasureFit]]:
    """For each predictor set, one fit per measure. All sets share their rows."""
    if not sets:
        raise InputError("no predictors: name terms (--predictors), a model (--model) or a table (--surprisals)")
    each = [_fit_measure(prepared, sets, measure) for measure in prepared.settings.measure]
    return [list(fits) for fits in zip(*each, strict=True)]


def _fit_measure(prepared: PreparedTable, sets: Sequence[PredictorSet], measure: str) -> list[MeasureFit]:
    y = prepared.measured(measure)
    targets = prepared.targets
    if "zero" in prepared.settings.exclude:
        targets = targets & (prepared.table.numbers(measure) != 0)
    design = _design(prepared, sets)
    rows, dropped, missing = _complete_rows(prepared, design, y, targets, measure)
    found = _fit(prepared, design, y, rows)
    units, warning = prepared.units(rows)
    codes = None if units is None else np.unique(units, return_inverse=True)[1]
    draws, seed = prepared.settings.permutations, prepared.settings.seed
    fits = []
    for place, (one, (folds, baseline, target, coefficients)) in enumerate(zip(sets, found, strict=True)):
        first = design.columns[design.targets[place][len(design.baseline)]]
        made = MeasureFit(
            measure=measure,
            rows=rows,
            y=y[rows],
            folds=folds,
            baseline=baseline,
            target=target,
            terms=design.terms[place],
            predictors=design.added[place],
            coefficients=coefficients,
            x=first[rows],
            units=units,
            p=regression.flip_signs(target.loglik - baseline.loglik, codes, draws, seed),
            dropped=dropped,
            missing=missing,
        )
        lags = lag_effects(prepared, one, measure) if prepared.settings.lags and one.with_spillover else ()
        warnings = [*([warning] if warning else []), *_lag_warnings(lags, measure)]
        if one.with_spillover:
            warnings += _suspicious(prepared, design, one, place, made)
        fits.append(replace(made, lags=lags, warnings=tuple(warnings)))
    return fits


def _design(prepared: PreparedTable, sets: Sequence[PredictorSet]) -> _Design:
    made = _Design([], [], [], [], [], [])
    known: dict[tuple[int, tuple[Factor, ...]], int] = {}

    def column(term: RegressionTerm, one: PredictorSet | None, owner: int) -> int:
        own = one is not None and any(factor.column in one.columns for factor in term.factors)
        key = (owner if own else -1, term.key)
        if key not in known:
            known[key] = len(made.columns)
            own_columns = one.columns if one is not None else {}
            made.columns.append(term_values(prepared, term, own_columns))
            for factor in term.factors:
                _note_absent(made.absent, prepared, factor, own_columns)
            made.names.append(str(term))
        return known[key]

    baseline = prepared.baseline
    made.baseline = [column(term, None, -1) for term in baseline]
    words = prepared.settings.spillover_words
    for owner, one in enumerate(sets):
        own = spread(one.terms, words if one.with_spillover else 0, prepared.settings.position)
        terms = distinct([*baseline, *own])
        added = terms[len(baseline) :]
        if not added:
            raise InputError(f"predictors {written(one.terms)!r} are all in the baseline: nothing to compare")
        made.terms.append(terms)
        made.added.append(added)
        made.targets.append([*made.baseline, *(column(term, one, owner) for term in added)])
    return made


def _note_absent(absent: dict[str, Mask], prepared: PreparedTable, factor: Factor, own: Mapping[str, Floats]) -> None:
    """Add the rows in which a factor has no value."""
    values = _column(prepared, factor.column, own)
    if factor.lag == 0 or prepared.keys is None:
        absent[factor.column] = absent.get(factor.column, False) | np.isnan(values)
        return
    at = prepared.keys.neighbour(factor.lag)
    absent[f"no word at t{-factor.lag:+d}"] = at < 0
    if (lacking := (at >= 0) & np.isnan(values[at])).any():
        absent[str(factor)] = absent.get(str(factor), False) | lacking


def _column(prepared: PreparedTable, name: str, own: Mapping[str, Floats]) -> Floats:
    """A column of a predictor set or of the table."""
    if name in own:
        return own[name]
    hint = " Make it with --frequency wordfreq:LANGUAGE, such as wordfreq:en" if name == FREQUENCY else ""
    prepared.table.require(name, "column or term", hint)
    return prepared.table.numbers(name)


def term_values(prepared: PreparedTable, term: RegressionTerm, own: Mapping[str, Floats]) -> Floats:
    """The product of a term's factors in every row."""
    product = np.ones(len(prepared.table))
    for factor in term.factors:
        values = _column(prepared, factor.column, own)
        product = product * prepared.values_at(values, factor.lag, str(factor))
    return product


def _complete_rows(
    prepared: PreparedTable, design: _Design, y: Floats, targets: Mask, measure: str
) -> tuple[Indices, dict[str, int], int]:
    """Rows that have every value, in order; how many lack each column, and how many lack any."""
    table = prepared.table
    lacking = np.zeros(len(table), bool)
    dropped: dict[str, int] = {}
    for name, absent in (
        (measure, np.isnan(y)),
        *design.absent.items(),
        *((name, np.isnan(table.numbers(name))) for name in _other_columns(prepared, design, measure)),
    ):
        lacking |= targets & absent
        if count := int(np.count_nonzero(targets & absent)):
            dropped[name] = count
    missing, wanted = int(np.count_nonzero(lacking)), int(np.count_nonzero(targets))
    if not wanted:
        raise InputError("no row meets the conditions. Remove a --where or --exclude", file=table.file)
    reasons = ", ".join(f"{name} {count:,}" for name, count in dropped.items())
    if 2 * missing > wanted and not prepared.settings.allow_missing:
        raise table.error(
            f"{missing:,} of {wanted:,} rows lack a value ({reasons}). Check these columns, or accept it with "
            "--allow-missing",
            np.flatnonzero(lacking),
        )
    return prepared.order(np.flatnonzero(targets & ~lacking)), dropped, missing


def _other_columns(prepared: PreparedTable, design: _Design, measure: str) -> list[str]:
    """Numeric columns that are not in use, where they must have a value too."""
    if prepared.settings.complete == "used":
        return []
    table, used = prepared.table, {measure, *design.absent}
    return [name for name in table.columns if name not in used and table.is_numeric(name)]


Fitted: TypeAlias = tuple[Indices, Validated, Validated, Coefficients]


def _fit(prepared: PreparedTable, design: _Design, y: Floats, rows: Indices) -> list[Fitted]:
    """Folds, baseline, target and reported coefficients of each target model."""
    settings = prepared.settings
    if not len(rows):
        raise InputError("no rows are left", file=prepared.table.file)
    folds = _folds(prepared, rows)
    x = np.empty((len(rows), len(design.columns)), order="F")
    for place, values in enumerate(design.columns):
        x[:, place] = values[rows]
    try:
        model = Regression(x, y[rows], None if settings.split == "none" else folds, design.names)
        baseline = model.validate(design.baseline, settings.sigma)
        found = []
        for columns in design.targets:
            target = model.validate(columns, settings.sigma)
            shown = model.fit(columns, scaled=True) if settings.scale else target.coefficients
            found.append((folds, baseline, target, shown))
    except InputError as error:
        raise InputError(error.message, file=prepared.table.file) from None
    return found


def _folds(prepared: PreparedTable, rows: Indices) -> Indices:
    """The fold of each row, from 0."""
    settings = prepared.settings
    if settings.split == "none":
        return np.zeros(len(rows), np.intp)
    column = prepared.split_column(rows)
    count = settings.folds
    if column is not None:
        groups = prepared.table.codes(column)[rows]
        if (found := len(np.unique(groups))) < count:
            raise InputError(
                f"{column!r} has {found} values in {len(rows):,} rows, fewer than the {count} folds. Use --folds "
                f"{found}",
                file=prepared.table.file,
            )
        return regression.grouped(groups, count)
    if len(rows) < count:
        raise InputError(f"{len(rows)} rows are fewer than {count} folds: some test folds are empty")
    if settings.split == "cut":
        return regression.cut(len(rows), count)
    if settings.split == "random":
        return regression.shuffled(len(rows), count, settings.seed)
    return regression.contiguous(len(rows), count)


def lag_effects(prepared: PreparedTable, one: PredictorSet, measure: str) -> tuple[LagEffect, ...]:
    """The predictors at each of the words t+2 to t-3 alone, on the same rows."""
    alone = [replace(one, terms=tuple(term.at(lag) for term in one.terms), with_spillover=False) for lag in LAGS]
    quiet = replace(prepared, settings=replace(prepared.settings, lags=False, allow_missing=True))
    fits = _fit_measure(quiet, alone, measure)
    found = []
    for lag, fit in zip(LAGS, fits, strict=True):
        for term in fit.predictors:
            column = fit.slope_of(term)
            interval = fit.coefficients.interval(column)
            slope = float(fit.coefficients.values[column + 1])
            t = fit.coefficients.t(column)
            delta = float(fit.delta.mean())
            found.append(LagEffect(lag, str(term.at(-lag)), delta, slope, interval.low, interval.high, t))
    return tuple(found)


def _lag_warnings(lags: Sequence[LagEffect], measure: str) -> Iterator[str]:
    for effect in lags:
        if effect.lag == -1 and abs(effect.t) > SUSPICIOUS_T:
            yield (
                f"{effect.term} of the next word predicts {measure} (slope {effect.slope:.3g}, t = {effect.t:.1f}). In "
                "self-paced reading that is impossible: the times may belong to the next word (--shift 1 moves them)"
            )


def _suspicious(
    prepared: PreparedTable, design: _Design, one: PredictorSet, place: int, fit: MeasureFit
) -> Iterator[str]:
    """Warnings about rows that may carry an effect by themselves, with ΔLL without them."""
    rows, measure = fit.rows, fit.measure
    y = prepared.measured(measure)
    kinds = dict(one.suspicious)
    for term in design.added[place]:
        if len(term.factors) == 1 and term.factors[0].lag == 0:
            name = term.factors[0].column
            values = one.columns[name] if name in one.columns else prepared.table.numbers(name)
            kinds[f"{name} is 0"] = values == 0
    if "unknown" in prepared.table.columns and "unknown word" not in kinds:
        kinds["unknown word"] = flagged(prepared.table)
    if prepared.words is not None and "punctuation" not in prepared.settings.exclude:
        kinds["word with punctuation"] = np.array([has_punctuation(word) for word in prepared.words], bool)
    single = replace(design, targets=[design.targets[place]])
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
            yield f"{what}; ΔLL without them is {float((target.loglik - baseline.loglik).mean()):.6f}"
