"""The first lines about a result: the question in English, an example, and a verdict."""

from __future__ import annotations

from typing import NamedTuple

from wug import registry
from wug.formatting import format_estimate, percent
from wug.outcomes import IntervalMethod, Result
from wug.rows import Filter, Rows
from wug.views.chance import result_chance
from wug.views.family_views import view_of
from wug.views.parts import ItemsView, LabelledText, LinesPart
from wug.views.text_display import single_piece

MAX_EXAMPLE_LINES = 4
HALF = 0.5


class Intro(NamedTuple):
    """The first lines about a result; each may be empty."""

    question: str
    example: LinesPart | None
    note: str
    """What the numbers of the example are."""
    verdict: str


def intro_of(result: Result, rows: Rows, items: ItemsView) -> Intro:
    """The first lines about a result.

    The module `view` of a family may offer `question(result)`, `example(result, rows)` and `verdict(result)`. Without
    them, the question is that of the family's docstring, and the example is the first item, or its sentence.
    """
    view = view_of(result.kind)
    question = view.question(result) if view.question else ""
    example = view.example(result, rows) if view.example else _first_item(rows, items)
    family_verdict = view.verdict(result) if view.verdict else ""
    numbers = example is not None and any(line.value for line in example.lines)
    note = items.samples[0].note if numbers and items.samples else ""
    return Intro(question or _family_question(result.kind), example, note, family_verdict or verdict(result))


def verdict(result: Result) -> str:
    """Whether the headline is above chance or, if it has no chance level, whether most items pass.

    Empty if it is not a proportion, has no interval, or higher values are not better.
    """
    if not result.measurable:
        return "Not measurable: the items do not distinguish anything, as the warnings say."
    estimate = result.headline
    if estimate is None or estimate.low is None or estimate.high is None:
        return ""
    if IntervalMethod.parse(estimate.method).is_deviation:
        return ""
    metric, chance = result.metric(estimate.metric), result_chance(result, estimate.metric)
    if metric.unit != "share" or metric.better != "higher":
        return ""
    interval = f"its 95% interval {format_estimate(result, estimate).interval}"
    if chance is None:
        if estimate.low <= HALF <= estimate.high:
            return f"It is not clear whether most items pass: 50% is in {interval}."
        return f"{'Most' if estimate.low > HALF else 'Few'} items pass: 50% is outside {interval}."
    if estimate.low <= chance <= estimate.high:
        return f"Not distinguishable from chance ({percent(chance)}), which is in {interval}."
    side = "Above" if estimate.low > chance else "Below"
    return f"{side} chance ({percent(chance)}), which is outside {interval}."


def _family_question(kind: str) -> str:
    question, mark, _ = registry.family_of(kind).title.partition(": ")[2].partition("?")
    return f"{question[:1].upper()}{question[1:]}?" if mark else ""


def _first_item(rows: Rows, items: ItemsView) -> LinesPart | None:
    for row in rows.each(Filter(items.metric), limit=1):
        item = items.show(row, rows.same_item(row))
        for part in item.parts:
            if isinstance(part, LinesPart):
                text_lines = [line for line in part.lines if line.side is None]
                return LinesPart(tuple(text_lines[:MAX_EXAMPLE_LINES]), part.symbols)
        if item.sentence:
            return LinesPart((LabelledText(items.noun, single_piece(item.sentence)),))
    return None
