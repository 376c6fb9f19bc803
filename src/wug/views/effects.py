"""Mean effects and margins of a result: estimates, and a figure with one dot per item."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from wug.formatting import FormattedEstimate, bits, finite_or_none, format_estimate, metric_label, number
from wug.outcomes import Metric, Result
from wug.rows import Filter, Rows
from wug.views import charts, vega
from wug.views.grouped import by_field, dots, field_figures, interval_note, point
from wug.views.parts import EstimatesPart, Figure

if TYPE_CHECKING:
    import altair

MAX_DOTS = 300
"""With more items, only means and intervals are drawn."""
ROW_PX = 46
TITLE = "Effects"
Effect = tuple[FormattedEstimate, list[tuple[str, float]]]
"""A mean effect, and each item with its effect."""


def effect_estimates(result: Result) -> tuple[FormattedEstimate, ...]:
    """The mean effects and margins over all items, and the same standardised."""
    overall = {estimate.metric: estimate for estimate in result.estimates if estimate.group == "all"}
    derived_metrics = (metric.name for metric in result.metrics if metric.derived)
    return tuple(format_estimate(result, overall[name]) for name in derived_metrics if name in overall)


def effects_part(result: Result) -> EstimatesPart | None:
    """The estimates of effects, collapsed; None if there are none."""
    estimates = effect_estimates(result)
    return EstimatesPart(estimates, folded="Mean effects in bits") if estimates else None


def group_effects(result: Result, metric: str, excluded_fields: Container[str] = ()) -> Iterator[Figure]:
    """The means of an effect by group, folded, for fields with at least two values."""
    unit = result.metric(metric).unit
    name = metric_label(metric, result.kind)
    label = f"{name} (bits)" if unit == "bits" else name
    draw = partial(dots, note=interval_note(result, metric), value=label, share=False)
    groups = by_field(result, metric)
    fields = {field: rows for field, rows in groups.items() if len(rows) > 1 and field not in excluded_fields}
    for figure in field_figures(fields, draw, id=f"{metric}-groups", value=name.capitalize()):
        yield replace(figure, folded=True)


def effects_figure(result: Result, rows: Rows) -> Figure | None:
    """The mean of each effect in bits with its interval, and one dot per item; None if there are none."""
    metrics = {metric.name: metric for metric in result.metrics if metric.unit == "bits" and metric.derived}
    effects = [(e, _items(rows, metrics[e.metric])) for e in effect_estimates(result) if e.metric in metrics]
    if not effects:
        return None
    values = {e.metric: e.value for e in effect_estimates(result)}
    standardised_values = [values.get(f"standardised_{e.metric}") for e, _ in effects]
    dots = " Each circle is an item." if any(items for _, items in effects) else ""
    return Figure(
        id="effects",
        draw=partial(_draw, effects),
        title=TITLE,
        note=f"Means in bits with 95% intervals, positive in the predicted direction.{dots}",
        columns=("effect", "mean (bits)", "95% interval", "mean / SD", "n"),
        rows=tuple(
            (e.name, bits(e.value), e.interval or "–", "–" if d is None else number(d), f"{e.n:,}")
            for (e, _), d in zip(effects, standardised_values, strict=True)
        ),
        records=tuple(
            {"effect": e.metric, "bits": e.value, "low": e.low, "high": e.high, "standardised": d, "n": e.n}
            for (e, _), d in zip(effects, standardised_values, strict=True)
        ),
    )


def _items(rows: Rows, metric: Metric) -> list[tuple[str, float]]:
    derivation = metric.derived
    if derivation is None or rows.tally(derivation.metric)[""] > MAX_DOTS:
        return []
    judged = (row.outcome for row in rows.each(Filter(derivation.metric), keys=(derivation.plus, derivation.minus)))
    effects = ((o.item, derivation.value(o.detail)) for o in judged if o.value is not None)
    return [(item, value) for item, value in effects if finite_or_none(value) is not None]


def _draw(effects: list[Effect]) -> altair.LayerChart:
    alt = vega.altair()
    points = [point(estimate, name=estimate.name) for estimate, _ in effects]
    chart = charts.intervals(points, title="bits, positive in the predicted direction", zero=True)
    keys = [charts.row_key("", dot.row) for dot in points]
    items = [
        {"row": key, "item": item, "value": charts.round_value(value)}
        for key, (_, item_values) in zip(keys, effects, strict=True)
        for item, value in item_values
    ]
    if items:
        circles = alt.Chart(alt.Data(values=items)).mark_point(
            style="dot", filled=False, size=28, opacity=0.4, yOffset=11
        )
        tips = [alt.Tooltip("item:N"), alt.Tooltip("value:Q", title="bits", format=".2f")]
        chart.layer.insert(1, circles.encode(y=vega.row_axis(keys), x=alt.X("value:Q"), tooltip=tips))
    return chart.properties(height=ROW_PX * len(points))
