"""SyntaxGym suites: surprisal region by region, predictions as cards, items with their tokens shaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from wug.runs.browse import Filter
from wug.show import charts
from wug.show.families import Figure, bits, number
from wug.show.families.syntaxgym import WHOLE, region_means
from wug.show.families.syntaxgym._cards import Card, cards, is_prediction, spoken_of
from wug.show.families.syntaxgym._items import Item as Drawn
from wug.show.families.syntaxgym._items import items as drawn_items
from wug.show.families.syntaxgym._regions import Conditions, conditions, finite
from wug.types import Result
from wug.web.families import Item, Look, Query
from wug.web.shown import overall_shown

SIZE = 12
LATER: Mapping[str, str] = {}
MOST = 1000
"""Items that the chart of regions is made of; of more, the first."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The two sides of a comparison on one item."""

    holds: bool
    formula: str
    left: str
    operator: str
    right: str


@dataclass(frozen=True, slots=True)
class Row:
    """An item with its sentences as a table."""

    drawn: Drawn | None
    margin: str
    comparisons: tuple[Comparison, ...]
    failed: tuple[tuple[str, str], ...]
    """Predictions that fail on it: check and name."""
    columns: tuple[tuple[int, str, bool], ...]


@dataclass(frozen=True, slots=True)
class Prediction:
    """A prediction with how many items pass and fail it."""

    card: Card
    check: str
    passed: int
    failed: int


def check(look: Look) -> str:
    """All predictions at once: these outcomes carry the sentences."""
    checks = [e.check for e in look.result.estimates if e.group == "all"]
    return WHOLE if WHOLE in checks or not checks else checks[0]


def figures(look: Look, query: Query) -> list[Figure]:
    """The chart of regions: means over items, or the item that the address names."""
    wanted = query.get("item", "")
    measured = _one(look, wanted) or measured_items(look)
    names = region_names(look.result, measured)
    means = region_means(measured.values(), names)
    if not means:
        return []
    spoken = spoken_of(look.result, names)
    drawn = [
        replace(m, low=m.value if m.low is None else m.low, high=m.value if m.high is None else m.high) for m in means
    ]
    one = wanted in measured
    metric = _metric(look.result)
    unit = "surprisal (bits)" if metric == "sum" else f"{metric} of token surprisals (bits)"
    tinted = " The tinted regions are those that the predictions compare." if spoken else ""
    less = f" Of the first {MOST:,} items." if len(measured) >= MOST and not one else ""
    note = f"Item {wanted}." if one else f"Means over {len(measured):,} items with 95 % t intervals.{less}"
    return [
        Figure(
            id="f-regions",
            chart=charts.regions(drawn, marked=spoken, title=unit if one else f"mean {unit}"),
            title="Surprisal region by region",
            note=f"{note}{tinted} Choose a condition in the legend to see it alone.",
            columns=("region", "condition", "bits" if one else "mean (bits)", "95 % interval", "items"),
            rows=tuple(map(_numbers, sorted(means, key=lambda mean: mean.number))),
        )
    ]


def later(look: Look, name: str, query: Query) -> Figure | None:
    """There are none."""
    return None


def values(look: Look) -> dict[str, Any]:
    """Predictions, the items to choose from, what the suite says of itself."""
    result = look.result
    measured = measured_items(look)
    names = region_names(result, measured)
    made = []
    order = [row for row in overall_shown(result) if is_prediction(row.check)]
    for row, card in zip(order, cards(result, {}, names, 0), strict=False):
        counts = look.shelf.tally(look.id, row.check)
        made.append(Prediction(replace(card, estimate=row), row.check, counts["true"], counts["false"]))
    return {
        "description": result.meta.get("description") or "",
        "predictions": made,
        "whole": [row for row in overall_shown(result) if not is_prediction(row.check)],
        "choices": list(measured),
        "about": {key: result.meta[key] for key in ("author", "reference", "tags") if result.meta.get(key)},
    }


def rows(look: Look, items: Sequence[Item]) -> list[Row]:
    """Every item with its sentences, region by region and token by token."""
    measured = {item.outcome.item: conditions(item.detail("conditions")) for item in items}
    names = region_names(look.result, measured)
    marks = spoken_of(look.result, names)
    columns = tuple((region, name, region in marks) for region, name in names.items())
    drawn = {
        one.item: one
        for one in drawn_items(look.result, {i: c for i, c in measured.items() if c}, names, _metric(look.result))
    }
    return [_row(item, drawn.get(item.outcome.item), columns) for item in items]


def _row(item: Item, drawn: Drawn | None, columns: tuple[tuple[int, str, bool], ...]) -> Row:
    given = item.outcome.detail.get("comparisons") or ()
    margin = finite(item.outcome.detail.get("margin"))
    failed = [p.outcome.check for p in item.every if p.outcome.value is False and is_prediction(p.outcome.check)]
    return Row(
        drawn=drawn,
        margin="" if margin is None else bits(margin),
        comparisons=tuple(map(_comparison, given)),
        failed=tuple((check, check.replace("_", " ")) for check in failed),
        columns=columns,
    )


def _comparison(given: Mapping[str, Any]) -> Comparison:
    left, right = (finite(given.get(side)) for side in ("left", "right"))
    return Comparison(
        holds=bool(given.get("holds")),
        formula=str(given.get("formula") or ""),
        left="∞" if left is None else bits(left),
        operator=str(given.get("operator") or ""),
        right="∞" if right is None else bits(right),
    )


def measured_items(look: Look) -> dict[str, Conditions]:
    """The measured sentences of every item, up to as many as a chart is made of."""
    found = look.shelf.outcomes(look.id, Filter(WHOLE), most=MOST)
    return {placed.outcome.item: some for placed in found if (some := conditions(placed.outcome))}


def _one(look: Look, item: str) -> dict[str, Conditions]:
    """The measured sentences of one item; empty where there is no such item."""
    every = look.shelf.item(look.id, item) if item else []
    found = next((some for placed in every if (some := conditions(placed.outcome))), None)
    return {item: found} if found else {}


def region_names(result: Result, measured: Mapping[str, Conditions]) -> dict[int, str]:
    """Region number → name, for every region that is named or met."""
    given = result.meta.get("regions") or {}
    named = {int(region): str(name) for region, name in given.items() if str(region).isdecimal()}
    met = {region.number for one in measured.values() for regions in one.values() for region in regions}
    return {region: named.get(region, "") for region in sorted(named.keys() | met)}


def _metric(result: Result) -> str:
    given = result.meta.get("metric") or "sum"
    return str(given if isinstance(given, str) else next(iter(given)))


def _numbers(mean: charts.RegionMean) -> tuple[str, ...]:
    interval = "–" if mean.low is None or mean.high is None else f"[{number(mean.low)}, {number(mean.high)}]"
    return (f"{mean.number} {mean.name}".strip(), mean.condition, number(mean.value), interval, str(mean.n))
