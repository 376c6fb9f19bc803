"""Scores of predictions: estimates over the corpus, outcomes, and a table line by line."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wug.errors import FormulaError
from wug.families.cogs.estimates import SCORES, MetricColumns, estimates
from wug.families.cogs.logical_form import errors, parse, violations
from wug.families.cogs.metrics import MetricOptions, score_lines
from wug.families.cogs.predictions import Predictions
from wug.families.cogs.read import KNOWN_TYPES, SLOG_TYPES, Gold
from wug.files import write_text
from wug.types import Estimate, Notice, Outcome, Row

OUTCOME_METRICS = ("exact_match", "semantic_match")
"""The metrics with an outcome for every line."""
DETAILS = (
    *("sentence", "gold", "prediction", "edit_distance", "order_invariant_match"),
    *("well_formed", "well_formed_strict", "terms_f1", "smatch_f1", "violations", "errors"),
)
"""The details of a line's first outcome; a prediction that equals the gold form is left out."""


@dataclass(frozen=True, slots=True)
class ScoredPredictions:
    """One system's predictions with their metrics."""

    gold: Gold
    predictions: Predictions
    options: MetricOptions
    columns: MetricColumns
    warnings: tuple[str, ...]

    def estimates(self) -> list[Estimate]:
        """Every value over all lines, each kind, each type."""
        return estimates(self.columns, lines_by_group(self.gold))

    def rows(self, *, lines: bool = True) -> Iterator[Row]:
        """One outcome per line and metric of OUTCOME_METRICS, then estimates of the other metrics, then warnings.

        Without `lines`, which take as long as scoring does, all values are estimates.
        """
        metrics = [metric for metric in OUTCOME_METRICS if metric in self.columns.flags] if lines else []
        for number, line in enumerate(self.per_line() if lines else ()):
            groups = self.gold.groups(number)
            detail = {key: line[key] for key in DETAILS if key in line}
            if line["gold"] == line["prediction"]:
                del detail["prediction"]
            yield Outcome(str(line["line"]), metrics[0], line[metrics[0]], groups, detail)
            for metric in metrics[1:]:
                yield Outcome(str(line["line"]), metric, line[metric], groups)
        for estimate in self.estimates():
            if estimate.metric not in metrics or estimate.group.startswith("macro="):
                yield estimate
        yield from map(Notice, self.warnings)

    def per_line(self) -> Iterator[dict[str, Any]]:
        """Every metric of each line, in the order of the gold file."""
        columns: dict[str, list[Any]] = {name: values.tolist() for name, values in self.columns.flags.items()}
        for name, values in self.columns.numbers.items():
            columns[name] = values.astype(int).tolist() if name == "edit_distance" else values.tolist()
        for feature in self.columns.main:
            scores = self.columns.scores(feature)
            columns |= {f"{feature}_{name}": scores[name].tolist() for name in SCORES}
        gold, forms = self.gold, self.predictions.forms
        for number in range(len(gold)):
            line: dict[str, Any] = {
                "line": gold.number(number),
                "type": gold.types[number],
                "sentence": gold.sentences[number],
                "gold": gold.forms[number],
                "prediction": forms[number],
            }
            line |= {name: values[number] for name, values in columns.items()}
            if not self.options.reference_compat:
                line["violations"] = [] if line.get("well_formed_strict") else self._violations(forms[number])
                line["errors"] = _errors(line, gold)
            yield line

    def _violations(self, prediction: str) -> list[str]:
        try:
            return [violation.rule for violation in violations(parse(prediction, self.gold.dialect))]
        except FormulaError as error:
            return [f"unreadable: {error.message}"]


def score_predictions(gold: Gold, predictions: Predictions, options: MetricOptions) -> ScoredPredictions:
    """All metrics of one system's predictions."""
    columns, warnings = score_lines(gold, predictions.forms, options)
    warnings = [*gold.warnings, *predictions.warnings, *warnings]
    if empty := sum(not form.strip() for form in predictions.forms):
        warnings.append(f"{empty} of {len(gold)} predictions are empty")
    return ScoredPredictions(gold, predictions, options, columns, tuple(warnings))


def lines_by_group(gold: Gold) -> dict[str, NDArray[np.intp]]:
    """The lines of each group: all, lexical and structural, classes of SLOG, types in the order of the paper."""
    by_type: dict[str, list[int]] = {}
    for line, name in enumerate(gold.types):
        by_type.setdefault(name, []).append(line)
    known = [name for name in KNOWN_TYPES if name in by_type]
    larger: dict[str, list[int]] = {"kind=lexical": [], "kind=structural": []}
    for name in known:
        larger[f"kind={KNOWN_TYPES[name].kind}"] += by_type[name]
        if name in SLOG_TYPES:
            larger.setdefault(f"class={SLOG_TYPES[name].section}", []).extend(by_type[name])
    found = {"all": np.arange(len(gold))} | {group: np.array(lines) for group, lines in larger.items() if lines}
    for name in (*known, *(name for name in by_type if name not in KNOWN_TYPES)):
        found[f"type={name}"] = np.array(by_type[name])
    return found


def per_line(systems: Sequence[ScoredPredictions]) -> Iterator[dict[str, Any]]:
    """Every metric of each line of each system, which is named if there are several."""
    for scored in systems:
        for line in scored.per_line():
            yield {"system": scored.predictions.file, **line} if len(systems) > 1 else line


def write_per_line(lines: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write the metrics of each line: JSON Lines if the name ends in .jsonl, else a TSV file."""
    if path.suffix.lower() == ".jsonl":
        write_text(path, "".join(json.dumps(dict(line), ensure_ascii=False) + "\n" for line in lines))
        return
    out: list[str] = []
    for line in lines:
        if not out:
            out.append("\t".join(line))
        out.append("\t".join(map(_cell, line.values())))
    write_text(path, "".join(f"{row}\n" for row in out))


def _errors(line: Mapping[str, Any], gold: Gold) -> list[str]:
    """The kinds of error in a line; the forms are compared only if its metrics do not decide."""
    if line["exact_match"]:
        return []
    if not line["well_formed"]:
        return ["ill-formed"]
    if line["order_invariant_match"]:
        return ["order"]
    if line["semantic_match"] and line["well_formed_strict"]:
        return ["index"]
    return list(errors(line["gold"], line["prediction"], gold.dialect))


def _cell(value: object) -> str:
    match value:
        case bool():
            return str(int(value))
        case float():
            return f"{value:.6g}" if math.isfinite(value) else ""
        case list():
            return ",".join(map(_cell, value))
    return str(value).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
