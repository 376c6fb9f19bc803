"""Suites that come with results: region values computed elsewhere, judged here."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from wug.errors import InputError
from wug.families.syntaxgym.faults import Faults, kind
from wug.families.syntaxgym.measures import Measured, Tally
from wug.families.syntaxgym.options import Choices, choices
from wug.families.syntaxgym.options import metrics as metrics_of
from wug.families.syntaxgym.parts import Region
from wug.families.syntaxgym.read import conditions_needed, read_suite
from wug.families.syntaxgym.suite import SyntaxGymSuite
from wug.families.syntaxgym.verdicts import Sentence
from wug.types import Notice, Row


@dataclass(frozen=True, slots=True)
class EvaluatedSuite:
    """A suite and the surprisal of its regions."""

    suite: SyntaxGymSuite
    """Named, and with predictions, as the gold suite where there is one."""
    sentences: Mapping[str, Mapping[str, Sentence]]
    """Item → condition → measured sentence."""
    model: str | None
    """As the file says."""
    notices: tuple[Notice, ...] = ()

    def rows(self) -> Iterator[Row]:
        """The verdicts on every item, as a run gives them."""
        yield from self.notices
        tally = Tally()
        for item in self.suite.items:
            yield from self.suite.judge(item, self.sentences[str(item.number)], tally)
        yield from tally.notices(len(self.suite.items))


def read_evaluated(
    path: Path, gold: Path | None = None, metric: str | None = None, empty: str = "exclude"
) -> EvaluatedSuite:
    """A file with `metric_value` in each region; by `metric`, or by what the file's meta says.

    Predictions come from it, or from `gold` where it has none.
    """
    chosen = choices({"empty": empty, **({} if metric is None else {"metric": metric})})
    suite = read_suite(path, chosen, evaluated=True)
    faults = Faults()
    sentences, metrics = _sentences(suite, faults)
    faults.raise_any(path)
    suite = replace(suite, metrics=metrics)
    model = suite.head.get("model")
    notices: list[Notice] = []
    if gold is not None:
        suite, notices = _with_gold(suite, path, gold, chosen)
    if not suite.predictions:
        remedy = "The gold suite has none either" if gold else "Give the suite that has them as the gold suite"
        raise InputError(f"there are no predictions to judge. {remedy}", file=path)
    return EvaluatedSuite(suite, sentences, model if isinstance(model, str) else None, tuple(notices))


def _sentences(suite: SyntaxGymSuite, faults: Faults) -> tuple[dict[str, dict[str, Sentence]], tuple[str, ...]]:
    metrics, said = suite.metrics, suite.head.get("metric")
    own = None if said is None else metrics_of([said] if isinstance(said, str) else said)[0]
    found: dict[str, dict[str, Sentence]] = {}
    for item in suite.items:
        measured = found.setdefault(str(item.number), {})
        for condition in item.conditions:
            place = f"item {item.number}, condition {condition.name}"
            regions = []
            for region in condition.regions:
                values = _values(region, metrics, f"{place}, region {region.number}", faults)
                if not isinstance(region.extra.get("metric_value"), dict) and own not in (None, metrics[0]):
                    message = f"metric_value is a number by {own!r}, and {metrics[0]!r} is asked for"
                    faults.error(f"{place}, region {region.number}", message)
                if len(values) < len(metrics):
                    metrics = metrics[:1]  # a single number says nothing about further metrics
                empty = not region.text and not values[metrics[0]]
                regions.append(Measured(region.number, region.text, values, _oovs(region), empty=empty))
            measured[condition.name] = Sentence(condition.layout(suite.join).text, tuple(regions))
    return found, metrics


def _values(region: Region, metrics: tuple[str, ...], place: str, faults: Faults) -> dict[str, float | None]:
    if "metric_value" not in region.extra:
        faults.error(place, "'metric_value' is missing: the file has no results for this region")
        return dict.fromkeys(metrics)
    given = region.extra["metric_value"]
    if not isinstance(given, dict):
        return {metrics[0]: _value(given, place, faults)}
    values: dict[str, float | None] = {}
    for metric in metrics:
        if metric not in given:
            known = ", ".join(map(str, given)) or "nothing"
            faults.error(place, f"metric_value has no {metric!r}. There is: {known}")
        values[metric] = _value(given.get(metric), place, faults)
    return values


def _value(given: Any, place: str, faults: Faults) -> float | None:
    """A number of bits; None where the file leaves it undefined (null, NaN, or nothing in a table)."""
    if isinstance(given, str):
        given = _from_text(given)
    if given is None:
        return None
    if not isinstance(given, int | float) or isinstance(given, bool):
        faults.error(place, f"metric_value must be a number of bits, not {kind(given)}")
        return None
    try:
        number = float(given)
    except OverflowError:
        faults.error(place, "metric_value is a whole number beyond all floating-point numbers")
        return None
    return None if math.isnan(number) else number


def _from_text(given: str) -> float | str | None:
    """The number that a table's field says; the text itself where it is none."""
    if not given.strip():
        return None
    try:
        return float(given)
    except ValueError:
        return given


def _oovs(region: Region) -> tuple[str, ...]:
    given = region.extra.get("oovs")
    if isinstance(given, str):
        return tuple(word for word in given.split(",") if word)
    return tuple(map(str, given)) if isinstance(given, list) else ()


def _with_gold(
    suite: SyntaxGymSuite, path: Path, gold_path: Path, chosen: Choices
) -> tuple[SyntaxGymSuite, list[Notice]]:
    """The suite under the gold suite's name, with its predictions where it has none itself."""
    gold = read_suite(gold_path, chosen)
    faults = Faults()
    if len(suite.regions) != len(gold.regions):
        faults.error("region_meta", f"has {len(suite.regions)} regions, the gold suite has {len(gold.regions)}")
    given = {str(item.number): item for item in suite.items}
    wanted = {str(item.number): item for item in gold.items}
    for number in [number for number in wanted if number not in given]:
        faults.error(f"item {number}", "is in the gold suite but not here")
    for number in [number for number in given if number not in wanted]:
        faults.error(f"item {number}", "is not in the gold suite")
    predictions = suite.predictions or tuple(gold.predictions)
    if not faults.errors:
        compared = {index: [name for _, name in one.formula.atoms()] for index, one in enumerate(predictions)}
        conditions_needed(compared, suite.items, faults)
    faults.raise_any(path)
    different = [
        f"item {number}, condition {condition.name}"
        for number, item in given.items()
        for condition in item.conditions
        if (other := wanted[number].condition(condition.name))
        and [region.text for region in other.regions] != [region.text for region in condition.regions]
    ]
    notices = (
        [Notice(f"{len(different)} sentences differ from the gold suite's; the first is {different[0]}")]
        if different
        else []
    )
    head = {**suite.head, "name": gold.name}
    return replace(suite, head=head, predictions=predictions, regions=gold.regions), notices
