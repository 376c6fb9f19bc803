"""Mean effects and margins of a result: estimates, and a figure with one dot per item."""

from __future__ import annotations

from collections.abc import Container, Iterator
from functools import partial
from typing import TYPE_CHECKING

from wug.formatting import FormattedEstimate, bits, finite, format_estimate, number, plain
from wug.rows import Filter, Rows
from wug.types import Metric, Result
from wug.views import vega
from wug.views.charts import rounded
from wug.views.grouped import by_field, dots, field_figures, interval_note
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
    whole = {one.metric: one for one in result.estimates if one.group == "all"}
    derived = (metric.name for metric in result.metrics if metric.derived)
    return tuple(format_estimate(result, whole[name]) for name in derived if name in whole)


def effects_part(result: Result) -> EstimatesPart | None:
    """The estimates of effects, collapsed; None if there are none."""
    found = effect_estimates(result)
    return EstimatesPart(found, folded="Mean effects in bits") if found else None


def group_effects(result: Result, metric: str, without: Container[str] = ()) -> Iterator[Figure]:
    """The means of an effect by group, for fields with at least two values."""
    unit = result.metric(metric).unit
    what = f"{plain(metric)} (bits)" if unit == "bits" else plain(metric)
    draw = partial(dots, note=interval_note(result, metric), what=what, share=False)
    fields = {name: rows for name, rows in by_field(result, metric).items() if len(rows) > 1 and name not in without}
    yield from field_figures(fields, draw, id=f"{metric}-groups", what=plain(metric).capitalize())


def effects_figure(result: Result, rows: Rows) -> Figure | None:
    """The mean of each effect in bits with its interval, and one dot per item; None if there are none."""
    metrics = {one.name: one for one in result.metrics if one.unit == "bits" and one.derived}
    shown = [(one, _items(rows, metrics[one.metric])) for one in effect_estimates(result) if one.metric in metrics]
    if not shown:
        return None
    every = {one.metric: one.value for one in effect_estimates(result)}
    standardised = [every.get(f"standardised_{one.metric}") for one, _ in shown]
    dots = " Each circle is an item." if any(items for _, items in shown) else ""
    return Figure(
        id="effects",
        draw=partial(_draw, shown),
        title=TITLE,
        note=f"Means in bits with 95% intervals, positive in the predicted direction.{dots}",
        columns=("effect", "mean (bits)", "95% interval", "mean / SD", "n"),
        rows=tuple(
            (one.name, bits(one.value), one.interval or "–", "–" if d is None else number(d), f"{one.n:,}")
            for (one, _), d in zip(shown, standardised, strict=True)
        ),
        records=tuple(
            {"effect": one.metric, "bits": one.value, "low": one.low, "high": one.high, "standardised": d, "n": one.n}
            for (one, _), d in zip(shown, standardised, strict=True)
        ),
    )


def _items(rows: Rows, metric: Metric) -> list[tuple[str, float]]:
    how = metric.derived
    wanted = Filter(how.metric) if how else None
    if how is None or wanted is None or rows.count(wanted) > MAX_DOTS:
        return []
    found = ((row.outcome, how.value(row.outcome.detail)) for row in rows.each(wanted, keys=(how.plus, how.minus)))
    return [(one.item, value) for one, value in found if one.value is not None and finite(value) is not None]


def _draw(shown: list[Effect]) -> altair.LayerChart:
    alt = vega.altair()
    names = [plain(one.name) for one, _ in shown]
    axis = alt.Y("effect:N", sort=names, title=None, axis=alt.Axis(labelLimit=300, ticks=False))
    title = "bits, positive in the predicted direction"
    items = [
        {"effect": plain(one.name), "item": item, "value": rounded(value)}
        for one, dots in shown
        for item, value in dots
    ]
    means = [
        {
            "effect": plain(one.name),
            "value": rounded(one.value),
            "low": rounded(one.low),
            "high": rounded(one.high),
            "n": one.n,
        }
        for one, _ in shown
    ]
    tips = [alt.Tooltip("effect:N"), alt.Tooltip("value:Q", title="bits", format=".2f")]
    base = alt.Chart(alt.Data(values=means)).encode(y=axis, tooltip=[*tips, alt.Tooltip("n:Q")])
    layers = [alt.Chart(alt.Data(values=[{"zero": 0}])).mark_rule(strokeDash=[3, 3], tooltip=None).encode(x="zero:Q")]
    if items:
        dots = alt.Chart(alt.Data(values=items)).mark_point(style="dot", filled=False, size=28, opacity=0.4, yOffset=11)
        layers.append(dots.encode(y=axis, x=alt.X("value:Q", title=title), tooltip=[*tips, alt.Tooltip("item:N")]))
    layers.append(
        base.mark_rule(style="interval").encode(x=alt.X("low:Q", title=title), x2=alt.X2("high:Q", title=title))
    )
    layers.append(base.mark_point(style="dot").encode(x=alt.X("value:Q", title=title)))
    return alt.layer(*layers).properties(width=vega.WIDTH_PX, height=ROW_PX * len(names))
