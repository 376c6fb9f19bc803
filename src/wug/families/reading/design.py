"""The columns of regressions: terms of a baseline and of target models, and the rows that have every value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from wug.arrays import Floats, Indices, Mask
from wug.errors import InputError
from wug.families.reading.prepare import FREQUENCY, PreparedTable
from wug.families.reading.terms import Factor, RegressionTerm, distinct, spread, written


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


@dataclass(slots=True)
class Design:
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


def design_of(prepared: PreparedTable, sets: Sequence[PredictorSet]) -> Design:
    """The columns of the baseline and of each target model, each once."""
    design = Design([], [], [], [], [], [])
    known: dict[tuple[int, tuple[Factor, ...]], int] = {}

    def column(term: RegressionTerm, predictors: PredictorSet | None, owner: int) -> int:
        own = predictors is not None and any(factor.column in predictors.columns for factor in term.factors)
        key = (owner if own else -1, term.key)
        if key not in known:
            known[key] = len(design.columns)
            own_columns = predictors.columns if predictors is not None else {}
            design.columns.append(term_values(prepared, term, own_columns))
            for factor in term.factors:
                _note_absent(design.absent, prepared, factor, own_columns)
            design.names.append(str(term))
        return known[key]

    baseline = prepared.baseline
    design.baseline = [column(term, None, -1) for term in baseline]
    words = prepared.settings.spillover_words
    for owner, predictors in enumerate(sets):
        own = spread(predictors.terms, words if predictors.with_spillover else 0, prepared.settings.position)
        terms = distinct([*baseline, *own])
        added = terms[len(baseline) :]
        if not added:
            raise InputError(f"predictors {written(predictors.terms)!r} are all in the baseline: nothing to compare")
        design.terms.append(terms)
        design.added.append(added)
        design.targets.append([*design.baseline, *(column(term, predictors, owner) for term in added)])
    return design


def _note_absent(absent: dict[str, Mask], prepared: PreparedTable, factor: Factor, own: Mapping[str, Floats]) -> None:
    values = _column(prepared, factor.column, own)
    if factor.lag == 0 or prepared.keys is None:
        absent[factor.column] = absent.get(factor.column, False) | np.isnan(values)
        return
    at = prepared.keys.neighbour(factor.lag)
    absent[f"no word at t{-factor.lag:+d}"] = at < 0
    if (lacking := (at >= 0) & np.isnan(values[at])).any():
        absent[str(factor)] = absent.get(str(factor), False) | lacking


def _column(prepared: PreparedTable, name: str, own: Mapping[str, Floats]) -> Floats:
    if name in own:
        return own[name]
    prepared.table.require(name, "column or term", _hint(name))
    return prepared.table.numbers(name)


def _hint(name: str) -> str:
    """What to do instead of a term that is not a column."""
    if name == FREQUENCY:
        return " Make it with --frequency wordfreq:LANGUAGE, such as wordfreq:en"
    if "|" in name:
        return " Random effects are for R: --r FOLDER writes the data and a script with lmer"
    if "(" in name:
        return " A term is a column, not a function: add a column. For the logarithm of the measure: --transform log"
    return ""


def term_values(prepared: PreparedTable, term: RegressionTerm, own: Mapping[str, Floats]) -> Floats:
    """The product of a term's factors in every row."""
    return reduce(
        np.multiply,
        (prepared.values_at(_column(prepared, factor.column, own), factor.lag, str(factor)) for factor in term.factors),
    )


def complete_rows(
    prepared: PreparedTable, design: Design, y: Floats, targets: Mask, measure: str
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


def _other_columns(prepared: PreparedTable, design: Design, measure: str) -> list[str]:
    """Numeric columns that are not in use, where they must have a value too."""
    if prepared.settings.complete == "used":
        return []
    table, used = prepared.table, {measure, *design.absent}
    return [name for name in table.columns if name not in used and table.is_numeric(name)]
