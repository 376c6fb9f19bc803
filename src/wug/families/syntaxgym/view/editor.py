"""What the suite editor shows of a result: scores of a suite, and the suite of a single item."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wug.errors import StoreError
from wug.families.syntaxgym.suite import SUMMARY, prediction_of
from wug.families.syntaxgym.view import tenths
from wug.families.syntaxgym.view.regions import ENOUGH, Conditions, conditions, metric_of, names_of
from wug.families.syntaxgym.write import Document, one_item_document
from wug.formatting import headlines
from wug.rows import Filter, OutcomeRow, Rows
from wug.types import Outcome, Result
from wug.views import vega
from wug.views.family_views import figures_of
from wug.views.parts import SHADE_COUNT, Figure, ItemView, carrier

GOOD, BAD = "grammatical", "ungrammatical"


def scores(result: Result, rows: Rows) -> dict[str, Any]:
    """The scores of a suite as JSON data."""
    try:
        sources: dict[int | None, str] = {i: str(one["source"]) for i, one in enumerate(result.meta["formulas"])}
    except (KeyError, TypeError):
        raise StoreError(f"the result of {result.suite} has no formulas: its row is damaged") from None
    return {
        "few": _too_few(result.n),
        "metrics": [
            {
                "metric": row.metric,
                "name": row.name,
                "reading": row.reading,
                "formula": sources.get(_prediction_index(row.metric)),
                "text": row.text,
                "interval": row.interval if row.n >= ENOUGH else "",
                "n": row.n,
            }
            for row in headlines(result)
        ],
        "chart": _chart(next(figures_of(result, rows), None)),
        "items": _items([row.outcome for row in rows.each(Filter())]),
    }


def suite_of_item(result: Result, judgements: Sequence[OutcomeRow], item: ItemView) -> Document | None:
    """A suite of one item, of any family; None if its sentences are unknown.

    A pair becomes an item with two conditions and three regions: the common beginning, the difference, the common end.
    """
    name = f"{result.suite}, item {judgements[0].outcome.item}"
    sentences = conditions(carrier(judgements, "conditions"))
    if sentences:
        formulas = [str(known.get("source") or "") for known in result.meta.get("formulas") or ()]
        names = names_of(result, [sentences])
        predictions = [{"type": "formula", "formula": formula} for formula in formulas if formula]
        return one_item_document(name, metric_of(result), names, _contents(sentences, list(names)), predictions)
    if len(item.sentences) != 2:
        return None
    regions = {1: "beginning", 2: "difference", 3: "end"}
    contents = dict(zip((GOOD, BAD), _split_at_difference(*item.sentences), strict=True))
    return one_item_document(
        name, "sum", regions, contents, [{"type": "formula", "formula": f"(*;%{BAD}%) > (*;%{GOOD}%)"}]
    )


def _too_few(items: int) -> str:
    """A remark about a suite with too few items for intervals; empty if it has enough."""
    if items >= ENOUGH:
        return ""
    return f"With {items} item{'s' * (items != 1)} there is no interval: it needs at least {ENOUGH}."


def _chart(figure: Figure | None) -> dict[str, Any] | None:
    if figure is None:
        return None
    words = {"title": figure.title, "note": figure.note, "columns": figure.columns, "rows": figure.rows}
    return {**words, "spec": vega.page_spec(figure.chart)}


def _prediction_index(metric: str) -> int | None:
    """The prediction that a metric judges by the suite's primary metric."""
    found = prediction_of(metric)
    return None if found is None or found.region_metric else found.index


def _items(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """For each item its cells with their surprisal, and which predictions hold."""
    sentences = {outcome.item: conditions(outcome) for outcome in outcomes if outcome.metric == SUMMARY}
    regions = (region for item in sentences.values() for row in item.values() for region in row)
    highest = max((region.value for region in regions if region.value is not None), default=0.0)
    found: dict[str, Any] = {
        item: {"held": [], "failed": [], "conditions": _cells(sentences.get(item, {}), highest)}
        for item in dict.fromkeys(outcome.item for outcome in outcomes)
    }
    for outcome in outcomes:
        if outcome.value is not None and (index := _prediction_index(outcome.metric)) is not None:
            found[outcome.item]["held" if outcome.value else "failed"].append(index)
    return found


def _cells(sentences: Conditions, highest: float) -> dict[str, list[dict[str, str]]]:
    return {
        name: [
            {"content": region.content, "text": tenths(region.value), "shade": _shade(region.value, highest)}
            for region in regions
        ]
        for name, regions in sentences.items()
    }


def _shade(bits: float | None, highest: float) -> str:
    """CSS class of a cell; relative to the most surprising region, since a region's sum has no bound."""
    share = max(0.0, bits / highest) if bits is not None and highest > 0 else 0.0
    return "sx" if bits is None else f"s{min(SHADE_COUNT - 1, int(share * SHADE_COUNT))}"


def _contents(sentences: Conditions, numbers: Sequence[int]) -> dict[str, list[str]]:
    by_number = {name: {region.number: region.content for region in regions} for name, regions in sentences.items()}
    return {name: [contents.get(number, "") for number in numbers] for name, contents in by_number.items()}


def _split_at_difference(good: str, bad: str) -> tuple[list[str], list[str]]:
    """Both sentences in three parts: their common beginning, the difference, their common end."""
    one, other = good.split(), bad.split()
    shortest = min(len(one), len(other))
    front = next((at for at in range(shortest) if one[at] != other[at]), shortest)
    rest = shortest - front
    back = next((at for at in range(rest) if one[-1 - at] != other[-1 - at]), rest)
    return _three_parts(one, front, back), _three_parts(other, front, back)


def _three_parts(words: list[str], front: int, back: int) -> list[str]:
    end = len(words) - back
    return [" ".join(part) for part in (words[:front], words[front:end], words[end:])]
