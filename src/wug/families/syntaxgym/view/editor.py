"""What the suite editor shows of a result: scores of a suite, and the suite of a single item."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from wug.alignment import common_start
from wug.errors import StoreError
from wug.families.syntaxgym.suite import SUMMARY, prediction_of
from wug.families.syntaxgym.view import tenths
from wug.families.syntaxgym.view.regions import ENOUGH, Conditions, conditions, metric_of, names_of
from wug.families.syntaxgym.write import Document, one_item_document
from wug.formatting import headlines, plural
from wug.outcomes import Outcome, Result
from wug.rows import Filter, OutcomeRow, Rows
from wug.views import vega
from wug.views.family_views import figures_of
from wug.views.parts import SHADE_COUNT, Figure, ItemView, carrier

GOOD, BAD = "grammatical", "ungrammatical"
NEEDED = f"it needs at least {ENOUGH}"


def scores(result: Result, rows: Rows) -> dict[str, Any]:
    """The scores of a suite as JSON data."""
    try:
        sources: dict[int | None, str] = dict(enumerate(str(each["source"]) for each in result.meta["formulas"]))
    except (KeyError, TypeError):
        raise StoreError(f"the result of {result.suite} has no formulas: its row is damaged") from None
    return {
        "few": "" if result.n >= ENOUGH else f"With {plural(result.n, 'item')} there is no interval: {NEEDED}.",
        "metrics": [
            {
                "metric": row.metric,
                "name": row.name,
                "meaning": row.meaning,
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
        contents = {}
        for condition, parts in sentences.items():
            texts = {region.number: region.content for region in parts}
            contents[condition] = [texts.get(number, "") for number in names]
        return one_item_document(name, metric_of(result), names, contents, predictions)
    if len(item.sentences) != 2:
        return None
    regions = {1: "beginning", 2: "difference", 3: "end"}
    contents = dict(zip((GOOD, BAD), _split_at_difference(item.sentences), strict=True))
    prediction = {"type": "formula", "formula": f"(*;%{BAD}%) > (*;%{GOOD}%)"}
    return one_item_document(name, "sum", regions, contents, [prediction])


def _chart(figure: Figure | None) -> dict[str, Any] | None:
    if figure is None:
        return None
    words = {"title": figure.title, "note": figure.note, "columns": figure.columns, "rows": figure.rows}
    return {**words, "spec": vega.page_spec(figure.chart)}


def _prediction_index(metric: str) -> int | None:
    prediction = prediction_of(metric)
    return None if prediction is None or prediction.region_metric else prediction.index


def _items(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    sentences = {outcome.item: conditions(outcome) for outcome in outcomes if outcome.metric == SUMMARY}
    regions = (region for item in sentences.values() for row in item.values() for region in row)
    highest = max((region.value for region in regions if region.value is not None), default=0.0)
    items: dict[str, Any] = {
        item: {"held": [], "failed": [], "conditions": _cells(sentences.get(item, {}), highest)}
        for item in dict.fromkeys(outcome.item for outcome in outcomes)
    }
    for outcome in outcomes:
        if outcome.value is not None and (index := _prediction_index(outcome.metric)) is not None:
            items[outcome.item]["held" if outcome.value else "failed"].append(index)
    return items


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


def _split_at_difference(sentences: Sequence[str]) -> Iterator[list[str]]:
    split = [sentence.split() for sentence in sentences]
    front = common_start(*split)
    back = common_start(*(words[front:][::-1] for words in split))
    for words in split:
        end = len(words) - back
        yield [" ".join(part) for part in (words[:front], words[front:end], words[end:])]
