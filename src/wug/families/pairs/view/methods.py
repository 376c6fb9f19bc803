"""Charts of questions about pairs, and of methods compared on one model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from wug.families.pairs.outcomes import ACCURACY, CHANCE
from wug.families.pairs.replies import FIRST_OPTION_RATE, YES_RATE
from wug.formatting import spaced_name
from wug.labels import short_names
from wug.outcomes import Result
from wug.views import charts
from wug.views.grouped import by_field, dots, overall_of, point
from wug.views.parts import Figure

BIAS = (FIRST_OPTION_RATE, YES_RATE)
"""Shares of one answer, whatever the sentence: 0.5 means no bias."""
SHOWN = ("accuracy_both_orders", "accuracy_either_order", "accuracy_mean_margin", "balanced_accuracy", *BIAS, "invalid")
NOTE = "Dots with 95% intervals. A share of first options, or of Yes, far from 50% is a bias."


def is_question(result: Result) -> bool:
    """Whether a result is of a question about pairs."""
    return any(estimate.metric in BIAS for estimate in result.estimates)


def question_figure(result: Result) -> Figure:
    """Accuracy over all and by order, and the bias towards one answer."""
    fields = by_field(result, ACCURACY)
    points = [point(row, name="accuracy", chance=CHANCE) for row in overall_of(result, ACCURACY)]
    points += [point(row, name=f"accuracy, {spaced_name(row.group)}", chance=CHANCE) for row in fields.get("order", ())]
    for metric in SHOWN:
        chance = CHANCE if metric in BIAS else None
        points += [point(row, name=spaced_name(metric), chance=chance) for row in overall_of(result, metric)]
    return dots("answers", "Answers and their biases", points, note=NOTE, value="share", row="metric")


def across(results: Sequence[Result]) -> Iterator[Figure]:
    """Methods compared, for each suite and model that was asked with several."""
    groups: dict[tuple[str, str], dict[str, Result]] = {}
    for result in results:
        method, suite = result.signature.get("method"), result.signature.get("suite") or result.suite
        if method is not None and result.status == "complete":
            groups.setdefault((suite, result.model), {}).setdefault(method, result)
    names = short_names(model for _, model in groups)
    for number, ((suite, model), by_method) in enumerate(groups.items()):
        if len(by_method) > 1:
            yield _methods_figure(
                f"methods-{number}", f"Methods on {suite.partition('@')[0]}, {names[model]}", by_method
            )


def _methods_figure(id: str, title: str, by_method: Mapping[str, Result]) -> Figure:
    points: list[charts.Point] = []
    first, *others = by_method
    verdicts = {method: _verdicts(result) for method, result in by_method.items()}
    for method, result in by_method.items():
        points += [point(row, name=method, series="accuracy", chance=CHANCE) for row in overall_of(result, ACCURACY)]
        points += [point(row, name=method, series="bias") for row in overall_of(result, *BIAS)]
        shared = verdicts[first].keys() & verdicts[method].keys()
        if method in others and shared:
            same = fmean(1 - abs(verdicts[first][item] - verdicts[method][item]) for item in shared)
            points.append(charts.Point(method, same, n=len(shared), series=f"agreement with {first}"))
    note = (
        f"Bias is the share of first options, or of Yes: 50% is none. Agreement is the share of pairs on which a "
        f"method and {first} have the same verdict; a pair that is right in one of two orders counts half."
    )
    return dots(id, title, points, note=note, value="share", row="method", series="measure")


def _verdicts(result: Result) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for outcome in result.outcomes:
        if outcome.metric == ACCURACY and outcome.value is not None:
            values.setdefault(outcome.item, []).append(float(outcome.value))
    return {item: fmean(shares) for item, shares in values.items()}
