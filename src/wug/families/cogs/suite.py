"""The suite: asks a model for the logical form of every sentence, and scores its predictions."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wug.arrays import Indices
from wug.families.cogs import read as gold_file
from wug.families.cogs.logical_form import ERRORS, Dialect, recognise
from wug.families.cogs.metrics import METRICS, CogsMetricOptions, MetricColumns, estimates, score_lines
from wug.families.suite import GenerationSuite, generated
from wug.files import write_text
from wug.outcomes import Estimate, Notice, Outcome, Result, SuiteOutput
from wug.record_tables import stem
from wug.requests import Generator, Source
from wug.samples import Sample, plain_sample, text_sample

_OLD_GEN = "this is gen as of 2020: 51 of its forms (obj_pp_to_subj_pp) were corrected in 2022"


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class CogsSuite(GenerationSuite[gold_file.GoldLine]):
    """A gold file as a test of a model."""

    kind = "cogs"
    metrics = METRICS
    file: str = ""
    dialect: Dialect = "cogs"
    sound: bool = False
    """Whether all forms are known to be well-formed and to make sense."""
    metric_options: CogsMetricOptions = field(default_factory=CogsMetricOptions)

    @property
    def sources(self) -> Mapping[str, int]:
        """The number of lines of the file."""
        return {Path(self.file).name: len(self)}

    @property
    def meta(self) -> Mapping[str, Any]:
        """What pages show with the outcomes."""
        edition = self.options["edition"]
        return {"dialect": self.dialect, "edition": edition, "errors": ERRORS, **gold_file.meta_of(self.items)}

    def requests(self) -> list[str | Source]:
        """The sentences, in the order of the file."""
        return [line.sentence for line in self.items]

    def run(self, model: Generator) -> Iterator[SuiteOutput]:
        """Generate the form of every sentence and score them all, with their white space."""
        yield from score_forms(self, model.id, generated(model, self.requests())).rows()

    def strata(self) -> list[tuple[str, ...]]:
        """Lexical or structural, and the type."""
        return [(line.groups.get("kind", ""), line.type) for line in self.items]


def read_gold(path: Path, dialect: str | None = None, options: CogsMetricOptions | None = None) -> CogsSuite:
    """The suite of a gold file; InputError at the first line that cannot be read."""
    options = options or CogsMetricOptions()
    lines, identity = gold_file.read_lines_of(path)
    chosen = gold_file.known_dialect(dialect)
    edition, published = gold_file.EDITIONS.get(identity, ("unpublished", None))
    used = chosen or published or recognise(line.form for line in lines)
    if used == published:  # its forms are known to be well-formed
        warnings = [_OLD_GEN] if edition == "cogs-gen-2020" else []
    else:
        warnings = gold_file.checked(lines, used, path)
    name = stem(path)
    signature = {"dialect": used, "edition": edition, **options.signature}
    name = f"cogs-{name}" if name in gold_file.SPLITS else name
    return CogsSuite(
        name,
        tuple(lines),
        identity,
        tuple(warnings),
        settings=signature,
        file=str(path),
        dialect=used,
        sound=warnings in ([], [_OLD_GEN]),
        metric_options=options,
    )


OUTCOME_METRICS = ("exact_match", "semantic_match")
DETAILS = (
    *("sentence", "gold", "prediction", "edit_distance", "order_invariant_match"),
    *("well_formed", "well_formed_strict", "terms_f1", "smatch_f1", "violations", "errors"),
)
"""The details of a line's first outcome; a prediction that equals the gold form is left out."""


class ScoredPredictions(NamedTuple):
    """One system's predictions with their metrics."""

    suite: CogsSuite
    file: str
    forms: Sequence[str]
    columns: MetricColumns
    warnings: tuple[str, ...]

    def estimates(self) -> list[Estimate]:
        """Every value over all lines, each kind, each type."""
        return estimates(self.columns, lines_by_group(self.suite.items))

    def rows(self, *, lines: bool = True) -> Iterator[SuiteOutput]:
        """One outcome per line and metric of OUTCOME_METRICS, then estimates of the other metrics, then warnings.

        Without `lines`, which take as long as scoring does, all values are estimates.
        """
        columns = self.columns_per_line() if lines else {}
        metrics = [metric for metric in OUTCOME_METRICS if metric in columns]
        details = [name for name in DETAILS if name in columns]
        judgements = zip(*(columns[metric] for metric in metrics), strict=True)
        cells_by_line = zip(*(columns[name] for name in details), strict=True)
        for gold, values, cells in zip(self.suite.items if lines else (), judgements, cells_by_line, strict=True):
            item, groups, detail = str(gold.number), gold.groups, dict(zip(details, cells, strict=True))
            if detail["gold"] == detail["prediction"]:
                del detail["prediction"]
            for metric, value in zip(metrics, values, strict=True):
                yield Outcome(item, metric, value, groups, detail if metric == metrics[0] else {})
        for estimate in self.estimates():
            if estimate.metric not in metrics or estimate.group.startswith("macro="):
                yield estimate
        yield from map(Notice, self.warnings)

    def per_line(self) -> Iterator[dict[str, Any]]:
        """Every metric of each line, in the order of the gold file."""
        columns = self.columns_per_line()
        for cells in zip(*columns.values(), strict=True):
            yield dict(zip(columns, cells, strict=True))

    def columns_per_line(self) -> dict[str, Sequence[Any]]:
        """The same as columns."""
        numbers, sentences, gold, types = zip(*self.suite.items, strict=True)
        columns: dict[str, Sequence[Any]] = {"line": numbers, "type": types, "sentence": sentences, "gold": gold}
        columns["prediction"] = self.forms
        columns |= {name: values.tolist() for name, values in self.columns.flags.items()}
        for name, values in self.columns.numbers.items():
            columns[name] = values.astype(int).tolist() if name == "edit_distance" else values.tolist()
        for feature in self.columns.main:
            columns |= {f"{feature}_{name}": values.tolist() for name, values in self.columns.scores(feature).items()}
        return columns | {name: list(map(list, values)) for name, values in self.columns.details.items()}


def score_forms(suite: CogsSuite, file: str, forms: Sequence[str], warnings: Sequence[str] = ()) -> ScoredPredictions:
    """All metrics of one system's predictions."""
    columns, more = score_lines(suite.items, forms, suite.dialect, suite.metric_options, sound=suite.sound)
    empty = sum(not form.strip() for form in forms)
    more += [f"{empty} of {len(suite)} predictions are empty"] if empty else []
    return ScoredPredictions(suite, file, forms, columns, (*suite.notices, *warnings, *more))


def lines_by_group(items: Sequence[gold_file.GoldLine]) -> dict[str, Indices]:
    """The lines of each group: all, lexical and structural, classes of SLOG, types in the order of the paper."""
    types = {name: place for place, name in enumerate(gold_file.KNOWN_TYPES)}
    numbers: dict[str, list[int]] = {}
    for number in sorted(range(len(items)), key=lambda number: types.get(items[number].type, len(types))):
        for name, value in items[number].groups.items():
            numbers.setdefault(f"{name}={value}", []).append(number)
    ordered = sorted(numbers, key=lambda group: (not group.startswith("kind="), not group.startswith("class=")))
    kinds = sorted(group for group in numbers if group.startswith("kind="))  # lexical before structural
    return {"all": np.arange(len(items)), **{group: np.array(numbers[group]) for group in (*kinds, *ordered)}}


def per_line(systems: Sequence[ScoredPredictions]) -> Iterator[dict[str, Any]]:
    """Every metric of each line of each system, which is named if there are several."""
    for scored in systems:
        for line in scored.per_line():
            yield {"system": scored.file, **line} if len(systems) > 1 else line


def write_per_line(lines: Iterable[dict[str, Any]], path: Path) -> None:
    """Write the metrics of each line: JSON Lines if the name ends in .jsonl, else a TSV file."""
    rows = list(lines)
    if path.suffix.lower() == ".jsonl":
        written = [json.dumps(line, ensure_ascii=False) for line in rows]
    else:
        written = ["\t".join(line) for line in rows[:1]] + ["\t".join(map(_cell, line.values())) for line in rows]
    write_text(path, "".join(f"{row}\n" for row in written))


def _cell(value: object) -> str:
    match value:
        case bool():
            return str(int(value))
        case float():
            return f"{value:.6g}" if math.isfinite(value) else ""
        case list():
            return ",".join(map(_cell, value))
    return str(value).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def to_sample(outcome: Outcome, result: Result) -> Sample:
    """A sentence with its logical form; a prediction that equals the gold form is not in the details."""
    detail = outcome.detail
    if "gold" not in detail:  # a test of syntax
        return plain_sample(outcome, result)
    return text_sample(outcome, detail.get("sentence"), detail["gold"], detail.get("prediction", detail["gold"]))
