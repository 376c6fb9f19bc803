"""SyntaxGym suites: predictions as cards, surprisal region by region, every item with its tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from wug.show import charts
from wug.show.families import Figure, Place, Section, first, number, overall
from wug.show.families.syntaxgym._cards import cards, is_prediction, spoken_of
from wug.show.families.syntaxgym._items import items
from wug.show.families.syntaxgym._regions import Conditions, conditions
from wug.stats import mean_interval
from wug.types import Result

WHOLE = "all_predictions"


def section(result: Result, place: Place) -> Section:
    """Cards, the region chart, items."""
    measured = {outcome.item: found for outcome in result.outcomes if (found := conditions(outcome))}
    names = _names(result, measured.values())
    marked = spoken_of(result, names)
    metric = _metric(result)
    shown, left = first(_failing_first(result, measured, place.room), place.room)
    values = {
        "overall": [row for row in overall(result) if not is_prediction(row.check)],
        "predictions": cards(result, measured, names, place.room),
        "figure": _figure(measured.values(), names, marked, metric, f"{place.id}-regions"),
        "columns": [(region, name, region in marked) for region, name in names.items()],
        "items": items(result, {item: measured[item] for item in shown}, names, metric),
        "left": left,
        "about": {key: result.meta[key] for key in ("author", "reference", "tags") if result.meta.get(key)},
        "description": result.meta.get("description") or "",
    }
    return Section("syntaxgym.html", values)


def region_means(measured: Iterable[Conditions], names: Mapping[int, str]) -> list[charts.RegionMean]:
    """The mean of every region in every condition over items, with its 95 % t interval."""
    samples: dict[tuple[str, int], list[float]] = {}
    for one in measured:
        for condition, regions in one.items():
            for region in regions:
                if region.value is not None:
                    samples.setdefault((condition, region.number), []).append(region.value)
    means = []
    for (condition, region_number), sample in samples.items():
        interval = mean_interval(sample)
        means.append(
            charts.RegionMean(
                condition=condition,
                number=region_number,
                name=names.get(region_number, ""),
                value=sum(sample) / len(sample),
                low=interval.low if interval else None,
                high=interval.high if interval else None,
                n=len(sample),
            )
        )
    return means


def _names(result: Result, measured: Iterable[Conditions]) -> dict[int, str]:
    """Region number → name, for every region that is named or met."""
    given = result.meta.get("regions") or {}
    named = {int(region): str(name) for region, name in given.items() if str(region).isdecimal()}
    met = {region.number for one in measured for regions in one.values() for region in regions}
    return {region: named.get(region, "") for region in sorted(named.keys() | met)}


def _metric(result: Result) -> str:
    """The metric that the values of regions are in: the first of the suite's."""
    given = result.meta.get("metric") or "sum"
    return str(given if isinstance(given, str) else next(iter(given)))


def _failing_first(result: Result, measured: Mapping[str, Conditions], room: int) -> list[str]:
    """The items as the suite has them; where there is no room for all, those that fail come first."""
    if len(measured) <= room:
        return list(measured)
    failing = {outcome.item for outcome in result.outcomes if outcome.value is False}
    return sorted(measured, key=lambda item: item not in failing)


def _figure(
    measured: Iterable[Conditions], names: Mapping[int, str], marked: set[int], metric: str, id: str
) -> Figure | None:
    means = region_means(measured, names)
    if not means:
        return None
    unit = "surprisal (bits)" if metric == "sum" else f"{metric} of token surprisals (bits)"
    tinted = " The tinted regions are those that the predictions compare." if marked else ""
    return Figure(
        id=id,
        chart=charts.regions(means, marked=marked, title=f"mean {unit}"),
        title="Surprisal region by region",
        note=f"Means over items with 95 % t intervals.{tinted} Choose a condition in the legend to see it alone.",
        columns=("region", "condition", "mean (bits)", "95 % interval", "items"),
        rows=tuple(_row(mean) for mean in sorted(means, key=lambda mean: mean.number)),
    )


def _row(mean: charts.RegionMean) -> tuple[str, ...]:
    interval = "–" if mean.low is None or mean.high is None else f"[{number(mean.low)}, {number(mean.high)}]"
    return (
        f"{mean.number} {mean.name}".strip(),
        mean.condition,
        number(mean.value),
        interval,
        str(mean.n),
    )
