"""Scores of a suite as the editor shows them: the chart, each prediction, the surprisal of each cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wug.errors import StoreError
from wug.families.syntaxgym.checks import SUMMARY, prediction_of
from wug.families.syntaxgym.view.regions import ENOUGH, Conditions, conditions
from wug.families.syntaxgym.view.sentences import tenths
from wug.rows import Filter, Rows
from wug.types import Outcome, Result
from wug.views import vega
from wug.views.family_views import figures_of
from wug.views.numbers import headlines
from wug.views.parts import SHADES, Figure


def scores(result: Result, rows: Rows) -> dict[str, Any]:
    """The scores of a suite as JSON data."""
    try:
        sources: dict[int | None, str] = {i: str(one["source"]) for i, one in enumerate(result.meta["formulas"])}
    except (KeyError, TypeError):
        raise StoreError(f"the result of {result.suite} has no formulas: its row is damaged") from None
    return {
        "few": _too_few(result.n),
        "checks": [
            {
                "check": row.check,
                "name": row.name,
                "reading": row.reading,
                "formula": sources.get(_prediction_index(row.check)),
                "text": row.text,
                "interval": row.interval if row.n >= ENOUGH else "",
                "n": row.n,
            }
            for row in headlines(result)
        ],
        "chart": _chart(next(figures_of(result, rows), None)),
        "items": _items([row.outcome for row in rows.each(Filter())]),
    }


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


def _prediction_index(check: str) -> int | None:
    """The prediction that a metric judges by the suite's primary metric."""
    found = prediction_of(check)
    return None if found is None or found.metric else found.index


def _items(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """For each item its cells with their surprisal, and which predictions hold."""
    sentences = {outcome.item: conditions(outcome) for outcome in outcomes if outcome.check == SUMMARY}
    regions = (region for item in sentences.values() for row in item.values() for region in row)
    highest = max((region.value for region in regions if region.value is not None), default=0.0)
    found: dict[str, Any] = {
        item: {"held": [], "failed": [], "conditions": _cells(sentences.get(item, {}), highest)}
        for item in dict.fromkeys(outcome.item for outcome in outcomes)
    }
    for outcome in outcomes:
        if outcome.value is not None and (index := _prediction_index(outcome.check)) is not None:
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
    return "sx" if bits is None else f"s{min(SHADES - 1, int(share * SHADES))}"
