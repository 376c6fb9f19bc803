"""Chance levels: what families declare, and how charts show them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wug import registry
from wug.identity import OVERALL
from wug.outcomes import Estimate, Result
from wug.views import vega

if TYPE_CHECKING:
    import altair


def chance_level(kind: str, metric: str, estimates: Iterable[Estimate], group: str = OVERALL) -> float | None:
    """The chance level of a metric in a group, as its family declares it; None if it has none."""
    level = registry.family_traits(kind).chance_levels.get(metric)
    if not isinstance(level, str):
        return None if level is None else float(level)
    levels = {estimate.group: estimate.value for estimate in estimates if estimate.metric == level}
    return levels.get(group, levels.get(OVERALL))


def is_chance_metric(kind: str, metric: str) -> bool:
    """Whether the values of a metric are the chance levels of another."""
    return metric in registry.family_traits(kind).chance_levels.values()


def result_chance(result: Result, metric: str, group: str = OVERALL) -> float | None:
    """The chance level of a metric of a result; None if it has none."""
    return chance_level(result.kind, metric, result.estimates, group)


def chance_note(levels: Iterable[float | None]) -> str:
    """A sentence about chance levels if they differ between rows, so that no line is labelled."""
    return " Short grey lines are chance levels." if len(set(levels)) > 1 else ""


def by_row(levels: Mapping[str, float | None], rows: Sequence[str]) -> list[Any]:
    """The layers of a dot chart that show the chance levels of its rows, by key; none if they are unknown."""
    alt = vega.altair()
    known_levels = {key: level for key, level in levels.items() if level is not None}
    if len(known_levels) == len(levels) and len(set(known_levels.values())) == 1:
        return line(next(iter(known_levels.values())), "x")
    data = [{"row": key, "chance": level} for key, level in known_levels.items()]
    if not data:
        return []
    tooltip = [alt.Tooltip("chance:Q", title="chance", format=".1%")]
    ticks = alt.Chart(alt.Data(values=data)).mark_tick(style="chance", orient="vertical", thickness=2)
    return [ticks.encode(y=vega.row_axis(list(rows)), x=alt.X("chance:Q"), tooltip=tooltip)]


def line(level: float, channel: str, label: str = "") -> list[Any]:
    """A line at the chance level, or another with a label, which is outside of the plot."""
    alt = vega.altair()
    base = alt.Chart(alt.Data(values=[{"chance": level, "text": label or f"chance {100 * level:.3g}%"}]))
    rule = base.mark_rule(style="chance", tooltip=None)
    if channel == "x":
        text = base.mark_text(style="chance-label", baseline="bottom", tooltip=None)
        return [rule.encode(x="chance:Q"), text.encode(x="chance:Q", y=alt.value(-4), text="text:N")]
    text = base.mark_text(style="chance-label", align="left", baseline="bottom", dx=4, dy=-2, tooltip=None)
    return [rule.encode(y="chance:Q"), text.encode(y="chance:Q", x=alt.value(0), text="text:N")]


def add_behind(chart: altair.LayerChart, layers: Sequence[Any]) -> None:
    """Put layers with their own data behind the others, whose data stay those of the whole chart."""
    chart.layer = [*layers, *chart.layer]
