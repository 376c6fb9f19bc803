"""Data and an R script for the same rows, folds and σ: `lm` checks the numbers, `lmer` and `gam` go further."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from wug.families.reading.analysis import MeasureFit
from wug.families.reading.design import PredictorSet, term_values
from wug.families.reading.prepare import PreparedTable
from wug.families.reading.terms import Factor, RegressionTerm
from wug.files import ASSETS, read_text, write_text
from wug.tables import Table

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
    for number, (predictors, model_fits) in enumerate(zip(sets, fits, strict=True), 1):
        for fit in model_fits:
            name = f"{_name(fit.measure)}_{number}"
            while folder / f"{name}.R" in written:
                name += "_"
            data, script = folder / f"{name}.csv", folder / f"{name}.R"
            keys = _keys(prepared, fit)
            factors = dict.fromkeys(factor for term in fit.terms for factor in term.factors)
            columns = {
                _variable(factor): term_values(prepared, RegressionTerm((factor,)), predictors.columns)[fit.rows]
                for factor in factors
            }
            arrays = {"fold": fit.folds + 1, "y": fit.y, **columns}
            table = Table({**keys, **{name: values.tolist() for name, values in arrays.items()}})
            write_text(data, table.text("csv", raw=True))
            write_text(script, _script(prepared, predictors, fit, keys, data.name))
            written += [data, script]
    return written


def _keys(prepared: PreparedTable, fit: MeasureFit) -> dict[str, list[str]]:
    """The item, text, participant and word of each row used; empty where the table has none."""
    settings, table, rows = prepared.settings, prepared.table, fit.rows.tolist()
    keys = {}
    for name in ("text", "subject", "word", "position"):
        column = getattr(settings, name)
        texts = None if column is None else table.texts(column)
        keys[name] = [""] * len(rows) if texts is None else [texts[row] for row in rows]
    positions = keys.pop("position")
    if settings.position is not None:
        items = [f"{text}/{position}" for text, position in zip(keys["text"], positions, strict=True)]
    else:
        items = [text or f"row {row + 1}" for text, row in zip(keys["text"], rows, strict=True)]
    return {"item": items, **keys}


def _script(
    prepared: PreparedTable, predictors: PredictorSet, fit: MeasureFit, keys: Mapping[str, Sequence[str]], data: str
) -> str:
    settings = prepared.settings
    head = fit.predictors[0]
    first, others = _formula([head]), [term for term in fit.terms if term != head]
    smooth = first if len(head.factors) == 1 else f"I({' * '.join(map(_variable, head.factors))})"
    wanted = ("text", "word") if settings.subject is None or settings.aggregate else ("subject", "item")
    grouping = [name for name in wanted if 1 < len(set(keys[name])) < len(fit.rows)]
    random = [f" + ({f'1 + {first}' if name == 'subject' else '1'} | {name})" for name in grouping]
    rest = f" + {_formula(others)}" if others else ""
    script = read_text(ASSETS / "reading" / "mixed_models.R.template")
    return script.format(
        characters=", ".join(f'{name} = "character"' for name in RESERVED[:4]),
        measure=fit.measure,
        label=re.sub(r"[\r\n]", " ", predictors.label),
        delta=float(fit.delta.mean()),
        data=data,
        baseline=f"y ~ {_formula(fit.controls)}",
        target=f"y ~ {_formula(fit.terms)}",
        sigma=SIGMA[settings.sigma],
        train="rep(TRUE, nrow(d))" if settings.split == "none" else "!test",
        grouped=str(bool(random)).upper(),
        mixed=f"y ~ {_formula(fit.terms)}{''.join(random)}",
        mixed_baseline=f"y ~ {_formula(fit.controls)}{''.join(random)}",
        first=first,
        linear=f"y ~ {first}{rest}",
        smooth=f'y ~ s({smooth}, bs = "cr", k = 20){rest}',
    )


def _formula(terms: Iterable[RegressionTerm]) -> str:
    return " + ".join(":".join(map(_variable, term.factors)) for term in terms) or "1"


def _variable(factor: Factor) -> str:
    """An R name: `surprisal_1` for the previous word's surprisal."""
    lag = f"_{factor.lag}" if factor.lag > 0 else f"_next{-factor.lag}" if factor.lag else ""
    name = f"{_name(factor.column)}{lag}"
    return f"x_{name}" if name in RESERVED else name


def _name(text: str) -> str:
    name = re.sub(r"[^A-Za-z0-9_.]", "_", text)
    return name if re.match(r"[A-Za-z]", name) else f"x{name}"
