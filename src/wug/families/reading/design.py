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

    columns: list[Floats] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    baseline: list[int] = field(default_factory=list)
    added: list[list[int]] = field(default_factory=list)
    """The columns that each target model has in addition."""
    added_terms: list[tuple[RegressionTerm, ...]] = field(default_factory=list)
    absent: dict[str, Mask] = field(default_factory=dict)
    """Rows without a value, by column; `no word at t-1` for rows without an earlier word."""


def design_of(prepared: PreparedTable, sets: Sequence[PredictorSet]) -> Design:
    """The columns of the baseline and of each target model, each once."""
    design = Design()
    known: dict[tuple[int, tuple[Factor, ...]], int] = {}

    def column(term: RegressionTerm, own: Mapping[str, Floats], owner: int) -> int:
        key = (owner if any(factor.column in own for factor in term.factors) else -1, term.key)
        if key not in known:
            known[key] = len(design.columns)
            design.columns.append(term_values(prepared, term, own))
            design.names.append(str(term))
            for factor in term.factors:
                _note_absent(design.absent, prepared, factor, own)
        return known[key]

    baseline = prepared.baseline
    design.baseline = [column(term, {}, -1) for term in baseline]
    for owner, predictors in enumerate(sets):
        words = prepared.settings.spillover_words if predictors.with_spillover else 0
        own = spread(predictors.terms, words, prepared.settings.position)
        added = distinct([*baseline, *own])[len(baseline) :]
        if not added:
            raise InputError(f"predictors {written(predictors.terms)!r} are all in the baseline: nothing to compare")
        design.added_terms.append(added)
        design.added.append([column(term, predictors.columns, owner) for term in added])
    return design


def _note_absent(absent: dict[str, Mask], prepared: PreparedTable, factor: Factor, own: Mapping[str, Floats]) -> None:
    lacking = np.isnan(_column(prepared, factor.column, own))
    if factor.lag and prepared.keys is not None:
        at = prepared.keys.neighbour(factor.lag)
        absent[f"no word at t{-factor.lag:+d}"] = at < 0
        lacking = (at >= 0) & lacking[at]
        if not lacking.any():
            return
    name = str(factor) if factor.lag else factor.column
    absent[name] = absent.get(name, False) | lacking


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
    factors = (prepared.values_at(_column(prepared, f.column, own), f.lag, str(f)) for f in term.factors)
    return reduce(np.multiply, factors)


def complete_rows(
    prepared: PreparedTable, design: Design, y: Floats, targets: Mask, measure: str
) -> tuple[Indices, dict[str, int], int]:
    """Rows that have every value, in order; how many lack each column, and how many lack any."""
    table = prepared.table
    absent: dict[str, Mask] = {measure: np.isnan(y), **design.absent}
    absent[measure] = absent[measure] | np.isnan(y)
    if prepared.settings.complete == "all":
        others = (name for name in table.columns if name not in absent and table.is_numeric(name))
        absent |= {name: np.isnan(table.numbers(name)) for name in others}
    lacking = targets & np.any(list(absent.values()), axis=0)
    dropped = {name: count for name, rows in absent.items() if (count := int(np.count_nonzero(targets & rows)))}
    missing, wanted = int(np.count_nonzero(lacking)), int(np.count_nonzero(targets))
    if not wanted:
        raise InputError("no row meets the conditions. Remove a --where or --exclude", file=table.file)
    if 2 * missing > wanted and not prepared.settings.allow_missing:
        reasons = ", ".join(f"{name} {count:,}" for name, count in dropped.items())
        raise table.error(
            f"{missing:,} of {wanted:,} rows lack a value ({reasons}). Check these columns, or accept it with "
            "--allow-missing",
            np.flatnonzero(lacking),
        )
    return prepared.order(np.flatnonzero(targets & ~lacking)), dropped, missing
