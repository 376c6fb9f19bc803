"""The measured sentences of items, region by region, and their means over items as a chart."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from wug.families.syntaxgym.checks import SUMMARY
from wug.rows import Filter, Rows
from wug.show import charts
from wug.show.numbers import finite, number
from wug.show.view import Figure
from wug.stats import mean_interval
from wug.types import Outcome, Result

TITLE = "Surprisal region by region"


Tokens: TypeAlias = tuple[tuple[str | None, float | None], ...]
"""Tokens with their bits; None for a further part of the character before it."""


@dataclass(frozen=True, slots=True)
class Region:
    """A region of a sentence with its tokens."""

    number: int
    content: str
    value: float | None
    """Bits; None where the metric gives none, or no finite one."""
    tokens: Tokens
    unknown: tuple[str, ...]
    """Words that the model does not know."""


Conditions: TypeAlias = dict[str, tuple[Region, ...]]
"""Condition → its regions in order."""


def conditions(outcome: Outcome) -> Conditions:
    """The sentences that an outcome carries; empty where it carries none."""
    given = outcome.detail.get("conditions")
    if not isinstance(given, Mapping):
        return {}
    return {
        str(name): tuple(sorted(map(_region, condition.get("regions", ())), key=lambda region: region.number))
        for name, condition in given.items()
    }


def measured(rows: Rows, *, most: int | None = None) -> dict[str, Conditions]:
    """The sentences of every item, or of the first `most`."""
    found = rows.each(Filter(SUMMARY), keys=("conditions",), most=most)
    return {row.outcome.item: some for row in found if (some := conditions(row.outcome))}


def names_of(result: Result, items: Iterable[Conditions]) -> dict[int, str]:
    """Region number → name, for every region that is named or met."""
    given = result.meta.get("regions") or {}
    named = {int(region): str(name) for region, name in given.items() if str(region).isdecimal()}
    met = {region.number for item in items for regions in item.values() for region in regions}
    return {region: named.get(region, "") for region in sorted(named.keys() | met)}


def metric_of(result: Result) -> str:
    """The metric that the values of regions are in: the first of the suite's."""
    given = result.meta.get("metric") or "sum"
    return str(given if isinstance(given, str) else next(iter(given)))


def region_means(items: Collection[Conditions], names: Mapping[int, str]) -> list[charts.RegionMean]:
    """The mean of every region in every condition over items, with its 95 % t interval."""
    samples: dict[tuple[str, int], list[float]] = {}
    for item in items:
        for condition, regions in item.items():
            for region in regions:
                if region.value is not None:
                    samples.setdefault((condition, region.number), []).append(region.value)
    means = []
    for (condition, place), sample in samples.items():
        interval = mean_interval(sample)
        low, high = (interval.low, interval.high) if interval else (None, None)
        mean = sum(sample) / len(sample)
        means.append(charts.RegionMean(condition, place, names.get(place, ""), mean, low, high, len(sample)))
    return means


def mean_figure(result: Result, rows: Rows, marked: Collection[int]) -> Figure | None:
    """The chart of all items; None where no region has a value."""
    items = measured(rows)
    note = f"Means over {len(items):,} item{'s' * (len(items) != 1)} with 95 % t intervals."
    return _figure(result, items, marked, note, alone=partial(item_figure, result, rows, marked))


def item_figure(result: Result, rows: Rows, marked: Collection[int], item: str) -> Figure | None:
    """The chart of one item; None where there is none of that name, or it has no values."""
    found = rows.each(Filter(SUMMARY, text=item), keys=("conditions",))
    sentences = next((conditions(row.outcome) for row in found if row.outcome.item == item), {})
    return _figure(result, {item: sentences}, marked, f"Item {item}.")


def _figure(
    result: Result,
    items: Mapping[str, Conditions],
    marked: Collection[int],
    note: str,
    alone: Callable[[str], Figure | None] | None = None,
) -> Figure | None:
    names = names_of(result, items.values())
    means = region_means(items.values(), names)
    if not means:
        return None
    metric, over = metric_of(result), "mean " if alone else ""
    unit = "surprisal (bits)" if metric == "sum" else f"{metric} of token surprisals (bits)"
    tinted = " The tinted regions are those that the predictions compare." if marked else ""
    return Figure(
        id="regions",
        draw=partial(charts.regions, means, marked=marked, title=f"{over}{unit}"),
        title=TITLE,
        note=f"{note}{tinted} Choose a condition in the legend to see it alone.",
        columns=("region", "condition", "mean (bits)" if alone else "bits", "95 % interval", "items"),
        rows=tuple(_row(mean) for mean in sorted(means, key=lambda mean: mean.number)),
        items=tuple(items) if alone else (),
        alone=alone,
    )


def _row(mean: charts.RegionMean) -> tuple[str, ...]:
    interval = "–" if mean.low is None or mean.high is None else f"[{number(mean.low)}, {number(mean.high)}]"
    return (f"{mean.number} {mean.name}".strip(), mean.condition, number(mean.value), interval, str(mean.n))


def _region(given: Mapping[str, Any]) -> Region:
    return Region(
        number=int(given["number"]),
        content=str(given.get("content") or "").strip(),
        value=finite(given.get("value")),
        tokens=tuple(
            (None if text is None else str(text), finite(surprisal)) for text, surprisal in given.get("tokens") or ()
        ),
        unknown=tuple(map(str, given.get("oovs") or ())),
    )
