"""Scoring suites with region values from another program: the command, and the files that it reads."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import click

from wug.errors import InputError
from wug.families.commands import PATH, ScoreCommand, ScoredSuites, model_id, option, predictions
from wug.families.syntaxgym.files import SuiteOptions, choices
from wug.families.syntaxgym.files import region_metrics as region_metrics_of
from wug.families.syntaxgym.lint import describe
from wug.families.syntaxgym.measures import MeasuredSentence, RegionSurprisal, WarningCounts, judge
from wug.families.syntaxgym.parts import Region
from wug.families.syntaxgym.read import conditions_needed, read_suite
from wug.families.syntaxgym.suite import SyntaxGymSuite
from wug.outcomes import Notice, SuiteOutput
from wug.problems import ProblemList, refuse_errors


def score_evaluated(paths: Sequence[Path], *, gold: Path | None, metric: str | None, empty: str) -> ScoredSuites:
    """Score evaluated suites: test the predictions on the region values in a file.

    \b
    wug score syntaxgym --predictions evaluated_suite.json
    wug score syntaxgym --predictions out_grnn.json --gold suite.json --metric mean --format tsv
    """
    for path in paths:
        evaluated = read_evaluated(path, gold, metric, empty)
        yield evaluated.suite, model_id(evaluated.model or path.name, path), evaluated.rows()


SCORE = (
    ScoreCommand(
        "syntaxgym",
        score_evaluated,
        (
            predictions("Evaluated suite (metric_value in each region)"),
            option("--gold", "Suite with the predictions, if the evaluated one has none.", type=PATH),
            option("--metric", "Use only this metric: sum, mean, median, range, max, min."),
            option(
                "--empty",
                "How to treat items with an empty region that a prediction compares.",
                type=click.Choice(["exclude", "zero", "refuse"]),
                default="exclude",
            ),
        ),
        spread=None,
    ),
)


class EvaluatedSuite(NamedTuple):
    """A suite and the surprisal of its regions."""

    suite: SyntaxGymSuite
    """With the name and, if it has none, the predictions of the gold suite."""
    sentences: Mapping[str, Mapping[str, MeasuredSentence]]
    model: str | None
    notices: tuple[Notice, ...] = ()

    def rows(self) -> Iterator[SuiteOutput]:
        """The outcomes of every item, as in a run."""
        yield from self.notices
        tally = WarningCounts()
        for item in self.suite.items:
            yield from judge(self.suite, item, self.sentences[str(item.number)], tally)
        yield from tally.notices(len(self.suite.items))


def read_evaluated(
    path: Path, gold: Path | None = None, region_metric: str | None = None, empty: str = "exclude"
) -> EvaluatedSuite:
    """Read a file with `metric_value` in each region, by `region_metric` or as the file's meta says.

    Predictions come from it or, if it has none, from `gold`.
    """
    chosen = choices({"empty": empty, **({} if region_metric is None else {"metric": region_metric})})
    suite = read_suite(path, chosen, evaluated=True)
    problems = ProblemList()
    sentences, region_metrics = _sentences(suite, problems)
    refuse_errors(problems, path)
    suite = replace(suite, region_metrics=region_metrics)
    model = suite.head.get("model")
    notices: list[Notice] = []
    if gold is not None:
        suite, notices = _with_gold(suite, path, gold, chosen)
    if not suite.predictions:
        fix = "The gold suite has none either" if gold else "Give the suite that has them as the gold suite"
        raise InputError(f"there are no predictions to judge. {fix}", file=path)
    return EvaluatedSuite(suite, sentences, model if isinstance(model, str) else None, tuple(notices))


def _sentences(
    suite: SyntaxGymSuite, problems: ProblemList
) -> tuple[dict[str, dict[str, MeasuredSentence]], tuple[str, ...]]:
    region_metrics, declared = suite.region_metrics, suite.head.get("metric")
    primary = None if declared is None else region_metrics_of([declared] if isinstance(declared, str) else declared)[0]
    sentences: dict[str, dict[str, MeasuredSentence]] = {}
    for item in suite.items:
        measured = sentences.setdefault(str(item.number), {})
        for condition in item.conditions:
            place = f"item {item.number}, condition {condition.name}"
            regions = []
            for region in condition.regions:
                values = _values(region, region_metrics, f"{place}, region {region.number}", problems)
                if not isinstance(region.extra.get("metric_value"), dict) and primary not in (None, region_metrics[0]):
                    message = f"metric_value is the {primary!r}, but {region_metrics[0]!r} was requested"
                    problems.error(f"{place}, region {region.number}", message)
                if len(values) < len(region_metrics):
                    region_metrics = region_metrics[:1]  # a single number has only one metric
                empty = not region.text and not values[region_metrics[0]]
                unknown = region.extra.get("oovs")
                words = list(filter(None, unknown.split(","))) if isinstance(unknown, str) else unknown
                oovs = tuple(map(str, words)) if isinstance(words, list) else ()
                regions.append(RegionSurprisal(region.number, region.text, values, oovs, empty=empty))
            measured[condition.name] = MeasuredSentence(condition.layout(suite.join).text, tuple(regions))
    return sentences, region_metrics


def _values(
    region: Region, region_metrics: tuple[str, ...], place: str, problems: ProblemList
) -> dict[str, float | None]:
    if "metric_value" not in region.extra:
        problems.error(place, "'metric_value' is missing: the file has no results for this region")
        return dict.fromkeys(region_metrics)
    value = region.extra["metric_value"]
    if not isinstance(value, dict):
        return {region_metrics[0]: _value(value, place, problems)}
    values: dict[str, float | None] = {}
    for region_metric in region_metrics:
        if region_metric not in value:
            known = ", ".join(map(str, value)) or "nothing"
            problems.error(place, f"metric_value has no {region_metric!r}, only: {known}")
        values[region_metric] = _value(value.get(region_metric), place, problems)
    return values


def _value(value: object, place: str, problems: ProblemList) -> float | None:
    """A number of bits; None if it is undefined (null, NaN, or empty in a table)."""
    if isinstance(value, str):  # a field of a table
        with suppress(ValueError):
            value = float(value) if value.strip() else None
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool):
        problems.error(place, f"metric_value must be a number of bits, not {describe(value)}")
        return None
    try:
        number = float(value)
    except OverflowError:
        problems.error(place, "metric_value is too large for a floating-point number")
        return None
    return None if math.isnan(number) else number


def _with_gold(
    suite: SyntaxGymSuite, path: Path, gold_path: Path, chosen: SuiteOptions
) -> tuple[SyntaxGymSuite, list[Notice]]:
    """The suite with the name and, if it has none, the predictions of the gold suite."""
    gold = read_suite(gold_path, chosen)
    problems = ProblemList()
    if len(suite.regions) != len(gold.regions):
        problems.error("region_meta", f"has {len(suite.regions)} regions, the gold suite has {len(gold.regions)}")
    by_number = {str(item.number): item for item in suite.items}
    wanted = {str(item.number): item for item in gold.items}
    for number in [number for number in wanted if number not in by_number]:
        problems.error(f"item {number}", "is in the gold suite but not here")
    for number in [number for number in by_number if number not in wanted]:
        problems.error(f"item {number}", "is not in the gold suite")
    predictions = suite.predictions or tuple(gold.predictions)
    if not problems.errors:
        compared = ([name for _, name in prediction.formula.atoms()] for prediction in predictions)
        conditions_needed(compared, suite.items, problems)
    refuse_errors(problems, path)
    different = [
        f"item {number}, condition {condition.name}"
        for number, item in by_number.items()
        for condition in item.conditions
        if (other := wanted[number].condition(condition.name))
        and [region.text for region in other.regions] != [region.text for region in condition.regions]
    ]
    message = f"{len(different)} sentences differ from the gold suite's; the first is"
    head = {**suite.head, "name": gold.name}
    suite = replace(suite, head=head, predictions=predictions, regions=gold.regions).identified()
    return suite, [Notice(f"{message} {first}") for first in different[:1]]
