"""What the editor shows of a run beside the grid: the chart, each prediction, the bits of each cell."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from wug.errors import StoreError
from wug.rows import Filter
from wug.runs.shelf import Shelf
from wug.show import _vega
from wug.show.families import Place, overall, syntaxgym
from wug.show.families.syntaxgym._regions import conditions
from wug.types import Outcome, Result

SHADES = 10
"""The last is for the most surprising region of the suite: a region's sum has no bound of its own."""


def outlook(shelf: Shelf, run: int) -> dict[str, Any]:
    """The first result of a run, as JSON-able data for the editor."""
    kept = next((one for one in shelf.overview([run]) if one.kind == "syntaxgym"), None)
    if kept is None:
        raise StoreError(f"run {run} has no result of a suite")
    bare, _ = shelf.result(kept.id)
    result = replace(bare, outcomes=tuple(placed.outcome for placed in shelf.rows(kept.id).each(Filter())))
    section = syntaxgym.section(result, Place(id="regions", room=0, export=""))
    figure = section.values["figure"]
    try:
        sources = [str(formula["source"]) for formula in result.meta["formulas"]]
    except (KeyError, TypeError):
        raise StoreError(f"result {kept.id} of run {run} has no formulas: its row is damaged") from None
    return {
        "run": run,
        "result": kept.id,
        "suite": result.suite,
        "model": result.model,
        "signature": str(result.signature),
        "warnings": list(result.warnings),
        "checks": [
            {
                "check": row.check,
                "name": row.name,
                "reading": row.reading,
                "formula": _formula(row.check, sources),
                "text": row.text,
                "interval": row.interval,
                "n": row.n,
            }
            for row in overall(result)
        ],
        "chart": None
        if figure is None
        else {
            "title": figure.title,
            "note": figure.note,
            "spec": _vega.page_spec(figure.chart),
            "columns": figure.columns,
            "rows": figure.rows,
        },
        "items": _items(result),
    }


def _formula(check: str, sources: list[str]) -> str | None:
    """The formula that a check judges, by the suite's primary metric."""
    index = check.removeprefix("prediction_")
    return sources[int(index)] if index.isdigit() and int(index) < len(sources) else None


def _items(result: Result) -> dict[str, Any]:
    """The cells of each item with their bits, and which predictions hold for it."""
    found: dict[str, Any] = {}
    most = max((value for outcome in result.outcomes for value in _values(outcome)), default=0.0)
    for outcome in result.outcomes:
        item = found.setdefault(outcome.item, {"held": [], "failed": [], "conditions": {}})
        index = outcome.check.removeprefix("prediction_")
        if index.isdigit():
            item["held" if outcome.value else "failed"].append(int(index))
        if outcome.check == "all_predictions":
            item["conditions"] = _cells(outcome, most)
    return found


def _cells(outcome: Outcome, most: float) -> dict[str, list[dict[str, str]]]:
    return {
        name: [{"content": region.content, **_value(region.value, most)} for region in regions]
        for name, regions in conditions(outcome).items()
    }


def _values(outcome: Outcome) -> list[float]:
    """The values of all regions that an outcome carries."""
    regions = [region for row in conditions(outcome).values() for region in row]
    return [region.value for region in regions if region.value is not None]


def _value(bits: float | None, most: float) -> dict[str, str]:
    if bits is None:
        return {"text": "–", "shade": "sx"}
    share = max(0.0, bits / most) if most > 0 else 0.0
    return {"text": f"{bits:.1f}".replace("-", "−"), "shade": f"s{min(SHADES - 1, int(share * SHADES))}"}
