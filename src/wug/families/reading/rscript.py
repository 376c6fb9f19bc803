"""Data and an R script for the same rows, folds and σ: `lm` checks the numbers, `lmer` and `gam` go further."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np

from wug.families.reading.analysis import MeasureFit
from wug.families.reading.design import PredictorSet, term_values
from wug.families.reading.prepare import PreparedTable
from wug.families.reading.terms import Factor, RegressionTerm
from wug.files import write_text

RESERVED = ("item", "text", "subject", "word", "fold", "y")
SIGMA = {
    "train": "sigma(fit)",
    "train-ml": "sqrt(mean(residuals(fit)^2))",
    "test-sd": "sd(test$y - predict(fit, test))",
}


def write_r(
    folder: Path, prepared: PreparedTable, sets: Sequence[PredictorSet], fits: Sequence[Sequence[MeasureFit]]
) -> list[Path]:
    """Write one data file and one script per measure and predictor set; their paths."""
    written: list[Path] = []
    for number, (predictors, own) in enumerate(zip(sets, fits, strict=True), 1):
        for fit in own:
            name = f"{_name(fit.measure)}_{number}"
            while folder / f"{name}.R" in written:
                name += "_"
            data, script = folder / f"{name}.csv", folder / f"{name}.R"
            write_text(data, _data(prepared, predictors, fit))
            write_text(script, _script(prepared, predictors, fit, data.name))
            written += [data, script]
    return written


def _data(prepared: PreparedTable, predictors: PredictorSet, fit: MeasureFit) -> str:
    """The rows used, in order, with a column per factor."""
    settings, table = prepared.settings, prepared.table
    factors = list(dict.fromkeys(factor for term in fit.terms for factor in term.factors))
    columns = [
        term_values(prepared, RegressionTerm((factor,)), predictors.columns)[fit.rows].tolist() for factor in factors
    ]
    keys = {"text": settings.text, "subject": settings.subject, "word": settings.word}
    texts = {name: table.texts(column) for name, column in keys.items() if column is not None}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*RESERVED, *map(_variable, factors)])
    for place, row in enumerate(fit.rows.tolist()):
        given = [texts[name][row] if name in texts else "" for name in ("text", "subject", "word")]
        position = "" if settings.position is None else f"/{table.texts(settings.position)[row]}"
        item = f"{given[0]}{position}" if position or given[0] else f"row {row + 1}"
        values = [repr(values[place]) for values in columns]
        writer.writerow([item, *given, int(fit.folds[place]) + 1, repr(float(fit.y[place])), *values])
    return out.getvalue()


def _script(prepared: PreparedTable, predictors: PredictorSet, fit: MeasureFit, data: str) -> str:
    settings = prepared.settings
    below = [term for term in fit.terms if term not in fit.predictors]
    first = _formula([fit.predictors[0]])
    others = [term for term in fit.terms if term != fit.predictors[0]]
    if settings.subject is not None and not settings.aggregate:
        random = f"(1 + {first} | subject) + (1 | item)"
    else:
        found = [name for name in ("text", "word") if getattr(settings, name) is not None]
        random = " + ".join(f"(1 | {name})" for name in found) or "(1 | item)"
    rest = f" + {_formula(others)}" if others else ""
    script = files("wug").joinpath("assets", "reading", "mixed_models.R.template").read_text(encoding="utf-8")
    return script.format(
        characters=", ".join(f'{name} = "character"' for name in RESERVED[:4]),
        measure=fit.measure,
        label=re.sub(r"[\r\n]", " ", predictors.label),
        delta=float(np.mean(fit.delta)),
        data=data,
        baseline=f"y ~ {_formula(below)}",
        target=f"y ~ {_formula(fit.terms)}",
        sigma=SIGMA[settings.sigma],
        train="rep(TRUE, nrow(d))" if settings.split == "none" else "!test",
        mixed=f"y ~ {_formula(fit.terms)} + {random}",
        mixed_baseline=f"y ~ {_formula(below)} + {random}",
        first=first,
        linear=f"y ~ {first}{rest}",
        smooth=f'y ~ s({first}, bs = "cr", k = 20){rest}',
    )


def _formula(terms: Iterable[RegressionTerm]) -> str:
    return " + ".join(":".join(map(_variable, term.factors)) for term in terms) or "1"


def _variable(factor: Factor) -> str:
    """An R name: `surprisal_1` for the previous word's surprisal."""
    lag = f"_{factor.lag}" if factor.lag > 0 else f"_next{-factor.lag}" if factor.lag else ""
    name = f"{_name(factor.column)}{lag}"
    return f"x_{name}" if name in RESERVED else name


def _name(text: str) -> str:
    made = re.sub(r"[^A-Za-z0-9_.]", "_", text)
    return made if re.match(r"[A-Za-z]", made) else f"x{made}"
