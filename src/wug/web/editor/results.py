"""What the editor shows of a run beside the grid: the chart, each prediction, the bits of each cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wug.errors import StoreError
from wug.families.syntaxgym.checks import SUMMARY, prediction_of
from wug.families.syntaxgym.view.regions import Conditions, conditions
from wug.families.syntaxgym.view.sentences import tenths
from wug.labels import short_names
from wug.results.reader import RunReader
from wug.rows import Filter
from wug.types import Outcome
from wug.views import vega
from wug.views.family_views import figures_of
from wug.views.numbers import headlines
from wug.views.parts import SHADES, Figure

ENOUGH = 5
"""Items from which on an interval says something: below it spans nearly all there is."""


def editor_results(reader: RunReader, run: int) -> dict[str, Any]:
    """The first result of a run, as JSON-able data for the editor."""
    kept = next((one for one in reader.overview([run]) if one.kind == "syntaxgym"), None)
    if kept is None:
        raise StoreError(f"run {run} has no result of a suite")
    result, _ = reader.result(kept.id)
    rows = reader.rows(kept.id)
    try:
        sources: dict[int | None, str] = {i: str(one["source"]) for i, one in enumerate(result.meta["formulas"])}
    except (KeyError, TypeError):
        raise StoreError(f"result {kept.id} of run {run} has no formulas: its row is damaged") from None
    return {
        "run": run,
        "result": kept.id,
        "suite": result.suite,
        "model": result.model,
        "name": short_names(reader.models()).get(result.model, result.model),
        "signature": str(result.signature),
        "warnings": list(result.warnings),
        "few": _few(result.n),
        "checks": [
            {
                "check": row.check,
                "name": row.name,
                "reading": row.reading,
                "formula": sources.get(_index(row.check)),
                "text": row.text,
                "interval": row.interval if row.n >= ENOUGH else "",
                "n": row.n,
            }
            for row in headlines(result)
        ],
        "chart": _chart(next(figures_of(result, rows), None)),
        "items": _items([row.outcome for row in rows.each(Filter())]),
    }


def _few(items: int) -> str:
    """A word about a suite with too few items for intervals; empty where it has enough."""
    if items >= ENOUGH:
        return ""
    said = f"{items} item{'s' * (items != 1)}"
    return f"With {said} there is no interval: {ENOUGH} at least are needed for one."


def _chart(figure: Figure | None) -> dict[str, Any] | None:
    if figure is None:
        return None
    words = {"title": figure.title, "note": figure.note, "columns": figure.columns, "rows": figure.rows}
    return {**words, "spec": vega.page_spec(figure.chart)}


def _index(check: str) -> int | None:
    """The prediction that a check judges by the suite's primary metric."""
    found = prediction_of(check)
    return None if found is None or found.metric else found.index


def _items(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The cells of each item with their bits, and which predictions hold for it."""
    sentences = {outcome.item: conditions(outcome) for outcome in outcomes if outcome.check == SUMMARY}
    regions = (region for item in sentences.values() for row in item.values() for region in row)
    most = max((region.value for region in regions if region.value is not None), default=0.0)
    found: dict[str, Any] = {
        item: {"held": [], "failed": [], "conditions": _cells(sentences.get(item, {}), most)}
        for item in dict.fromkeys(outcome.item for outcome in outcomes)
    }
    for outcome in outcomes:
        if outcome.value is not None and (index := _index(outcome.check)) is not None:
            found[outcome.item]["held" if outcome.value else "failed"].append(index)
    return found


def _cells(sentences: Conditions, most: float) -> dict[str, list[dict[str, str]]]:
    return {
        name: [
            {"content": region.content, "text": tenths(region.value), "shade": _shade(region.value, most)}
            for region in regions
        ]
        for name, regions in sentences.items()
    }


def _shade(bits: float | None, most: float) -> str:
    """The last shade is for the most surprising region of the suite: a region's sum has no bound of its own."""
    share = max(0.0, bits / most) if bits is not None and most > 0 else 0.0
    return "sx" if bits is None else f"s{min(SHADES - 1, int(share * SHADES))}"
