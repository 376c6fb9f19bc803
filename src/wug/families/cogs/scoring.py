"""What predictions are worth: values over the corpus, rows, a table line by line."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wug.errors import FormulaError
from wug.families.cogs.logical_form import errors, parse, violations
from wug.families.cogs.measures import groups_of, measured
from wug.families.cogs.predictions import Predictions
from wug.families.cogs.read import Gold
from wug.families.cogs.settings import Settings
from wug.families.cogs.table import SCORES, Table, estimates
from wug.files import write_text
from wug.types import Estimate, Notice, Outcome, Row

JUDGED = ("exact_match", "semantic_match")
"""The checks of which every line's outcome is a row."""
DETAILS = (
    *("sentence", "gold", "prediction", "edit_distance", "order_invariant_match"),
    *("well_formed", "well_formed_strict", "terms_f1", "smatch_f1", "violations", "errors"),
)
"""What goes with a line's first outcome; a prediction that is the gold form is left out."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One system's predictions with all that was found out about them."""

    gold: Gold
    predictions: Predictions
    settings: Settings
    table: Table
    notices: tuple[str, ...]

    def estimates(self) -> list[Estimate]:
        """Every value over all lines, each kind, each type."""
        return estimates(self.table, groups_of(self.gold))

    def rows(self, *, lines: bool = True) -> Iterator[Row]:
        """An outcome a line for each check of JUDGED; all other values as estimates; notices.

        An estimate of JUDGED is left out where it can be made of the outcomes. Without `lines`, which take as long
        as judging does, all values are estimates.
        """
        checks = [check for check in JUDGED if check in self.table.flags] if lines else []
        for number, line in enumerate(self.per_line() if lines else ()):
            groups = self.gold.groups(number)
            detail = {key: line[key] for key in DETAILS if key in line}
            if line["gold"] == line["prediction"]:
                del detail["prediction"]
            yield Outcome(str(line["line"]), checks[0], line[checks[0]], groups, detail)
            for check in checks[1:]:
                yield Outcome(str(line["line"]), check, line[check], groups)
        for estimate in self.estimates():
            if estimate.check not in checks or estimate.group.startswith("macro="):
                yield estimate
        yield from map(Notice, self.notices)

    def per_line(self) -> Iterator[dict[str, Any]]:
        """All there is to say about each line, in the order of the gold file."""
        columns: dict[str, list[Any]] = {name: values.tolist() for name, values in self.table.flags.items()}
        for name, values in self.table.numbers.items():
            columns[name] = values.astype(int).tolist() if name == "edit_distance" else values.tolist()
        for feature in self.table.main:
            scores = self.table.scores(feature)
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
            if not self.settings.reference_compat:
                line["violations"] = [] if line.get("well_formed_strict") else self._violations(forms[number])
                line["errors"] = _errors(line, gold)
            yield line

    def _violations(self, prediction: str) -> list[str]:
        try:
            return [violation.rule for violation in violations(parse(prediction, self.gold.dialect))]
        except FormulaError as fault:
            return [f"unreadable: {fault.message}"]


def _errors(line: Mapping[str, Any], gold: Gold) -> list[str]:
    """The kinds of error in a line; where its measures tell, the forms need not be read again."""
    if line["exact_match"]:
        return []
    if not line["well_formed"]:
        return ["ill-formed"]
    if line["order_invariant_match"]:
        return ["order"]
    if line["semantic_match"] and line["well_formed_strict"]:
        return ["index"]
    return list(errors(line["gold"], line["prediction"], gold.dialect))


def judge_predictions(gold: Gold, predictions: Predictions, settings: Settings) -> Judged:
    """All measures of one system's predictions."""
    table, notices = measured(gold, predictions.forms, settings)
    found = [*gold.notices, *predictions.notices, *notices]
    empty = sum(not form.strip() for form in predictions.forms)
    if empty:
        found.append(f"{empty} of {len(gold)} predictions are empty")
    return Judged(gold, predictions, settings, table, tuple(found))


def per_line(systems: Sequence[Judged]) -> Iterator[dict[str, Any]]:
    """All there is to say about each line of each system, which is named where there are several."""
    for judged in systems:
        for line in judged.per_line():
            yield {"system": judged.predictions.file, **line} if len(systems) > 1 else line


def write_per_line(lines: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write what there is to say about each line: JSON Lines if the name ends in .jsonl, else a TSV file."""
    if path.suffix.lower() == ".jsonl":
        write_text(path, "".join(json.dumps(dict(line), ensure_ascii=False) + "\n" for line in lines))
        return
    out: list[str] = []
    for line in lines:
        if not out:
            out.append("\t".join(line))
        out.append("\t".join(map(_cell, line.values())))
    write_text(path, "".join(f"{row}\n" for row in out))


def _cell(value: object) -> str:
    match value:
        case bool():
            return str(int(value))
        case float():
            return f"{value:.6g}" if math.isfinite(value) else ""
        case list():
            return ",".join(map(_cell, value))
    return str(value).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
