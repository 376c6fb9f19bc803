"""Surprisal over the regions of a sentence: a line for each condition, of one model or of two."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wug.views import _axes, vega
from wug.views.charts import flat, short

if TYPE_CHECKING:
    import altair

HEIGHT = 300
NEGLIGIBLE = -0.05
"""Bits below 0 that are rounding, and not a measure that can be negative."""


@dataclass(frozen=True, slots=True)
class RegionMean:
    """The mean of one region in one condition, over items."""

    condition: str
    number: int
    name: str
    value: float
    low: float | None
    high: float | None
    n: int
    model: str = ""
    """Whose it is, where a chart has those of several."""


def ceiling(means: Sequence[RegionMean]) -> float:
    """A round number that no mean and no interval goes beyond."""
    most = max((mean.value if mean.high is None else mean.high for mean in means), default=1.0)
    step = _axes.round_step(max(most, 0.1) / 6)
    return step * -(-most // step)


def regions(
    means: Sequence[RegionMean],
    *,
    marked: Collection[int] = (),
    title: str = "mean surprisal (bits)",
    words: Mapping[int, str] | None = None,
    top: float | None = None,
) -> altair.LayerChart:
    """A line for each condition over the regions of a sentence in order, with intervals, from 0 bits up.

    The regions in `marked`, those a prediction speaks of, stand on a tinted ground. `words` stand under their regions.
    Of a second model the lines are dashed and the points hollow.
    """
    alt = vega.altair()
    ordered = sorted(means, key=lambda mean: mean.number)
    conditions = list(dict.fromkeys(mean.condition for mean in means))
    models = list(dict.fromkeys(mean.model for mean in means))
    labels = {mean.number: _label(mean, words or {}) for mean in ordered}
    bottom = min((mean.value for mean in means if mean.value < NEGLIGIBLE), default=0.0)
    scale = alt.Scale(domain=[bottom, top or ceiling(means)], nice=False, zero=False)
    y = alt.Y("mean:Q", title=title, scale=scale, axis=alt.Axis(tickCount=6))
    x = _axis(list(labels.values()))
    choice = _axes.choice("condition", "condition")
    rows = [_datum(mean, labels[mean.number], bottom, mean.number in marked) for mean in ordered]
    data = alt.Data(values=rows)
    beside = [f"{condition}\n{model}" for condition in conditions for model in models]
    base = alt.Chart(data).encode(
        x=x,
        xOffset=alt.XOffset("beside:N", sort=None, scale=alt.Scale(domain=beside, paddingOuter=1)),
        color=alt.Color("condition:N", **_axes.solid(_axes.named(conditions))),
        tooltip=_tooltip(models),
    )
    if len(conditions) > 1:
        base = base.transform_filter(choice.test)
    line, shape = base.mark_line(style="trend").encode(y=y), alt.Shape("condition:N", **_axes.shaped(conditions))
    dots = [base.mark_point(style="dot").encode(y=y, shape=shape)]
    if len(models) > 1:
        dashes = alt.Scale(domain=models, range=[[1, 0], [5, 4]])
        line = line.encode(detail="condition:N", strokeDash=alt.StrokeDash("model:N", title=None, scale=dashes))
        hollow = base.mark_point(filled=False, strokeWidth=1.8, size=70, opacity=1).encode(y=y, shape=shape)
        first = f"datum.model == {json.dumps(models[0])}"
        dots = [dots[0].transform_filter(first), hollow.transform_filter(f"!({first})")]
    elif len(conditions) > 1:
        line = line.encode(strokeDash=alt.StrokeDash("condition:N", **_axes.dashed(conditions)))
    layers = [line]
    if any(row["low"] is not None for row in rows):  # a few items have none, and Vega warns of an empty layer
        interval = base.mark_rule(style="interval", opacity=0.6)
        layers.append(interval.encode(y=alt.Y("low:Q", title=title), y2=alt.Y2("high:Q", title=title)))
    layers += dots
    if not labels.keys().isdisjoint(marked):
        layers.insert(0, _ground(data, list(labels.values())))
    chart = alt.layer(*layers).properties(width=vega.WIDTH, height=HEIGHT)
    if len(conditions) < 2:
        return chart
    ends = {mean.condition: mean.value for mean in ordered if mean.model == models[0]}
    legend = choice.legend(conditions, "condition", ends)
    if len(models) > 1:
        legend["legend"]["models"] = models
        for key in legend["legend"]["keys"]:
            key["dash"] = [1, 0]
    return chart.add_params(choice.param).properties(usermeta=legend)


def _ground(data: Any, labels: list[str]) -> Any:
    """The tinted ground of the regions that are compared, as wide as all of their points."""
    alt = vega.altair()
    ground = alt.Chart(data).transform_filter("datum.marked").transform_aggregate(groupby=["region"])
    whole = {"x": _axis(labels, bandPosition=0), "x2": alt.X2("region:N", bandPosition=1)}
    return ground.mark_rect(style="ground", tooltip=None).encode(**whole, y=alt.value(0), y2=alt.value("height"))


def _axis(labels: list[str], **more: Any) -> Any:
    """A horizontal axis of the regions of a sentence: number, name, and the words where there are any."""
    alt = vega.altair()
    narrow = f"width < {80 * len(labels)}"
    return alt.X(
        "region:N",
        title=None,
        sort=None,
        scale=alt.Scale(domain=labels, paddingInner=0.12, paddingOuter=0.06),
        axis=alt.Axis(
            # Below each other where there is room, aslant on one line where there is not.
            labelExpr=f"{narrow} ? replace(datum.value, /\\n/g, ' ') : split(datum.value, '\\n')",
            labelAngle={"expr": f"{narrow} ? -40 : 0"},
            labelAlign={"expr": f"{narrow} ? 'right' : 'center'"},
            labelBaseline={"expr": f"{narrow} ? 'middle' : 'top'"},
            labelLimit=130,
            labelOverlap=False,
            labelPadding=6,
            labelLineHeight=16,
            ticks=False,
            grid=False,
        ),
        **more,
    )


def _label(mean: RegionMean, words: Mapping[int, str]) -> str:
    """A region on the axis, line by line."""
    return "\n".join([str(mean.number), flat(mean.name), *([flat(words[mean.number])] if mean.number in words else [])])


def _datum(mean: RegionMean, label: str, bottom: float, marked: bool) -> dict[str, Any]:
    return {
        "region": label,
        "condition": mean.condition,
        "model": mean.model,
        "beside": f"{mean.condition}\n{mean.model}",
        "mean": short(max(bottom, mean.value)),
        "low": None if mean.low is None else short(max(bottom, mean.low)),
        "high": short(mean.high),
        "n": mean.n,
        **({"marked": True} if marked else {}),
    }


def _tooltip(models: Sequence[str]) -> list[Any]:
    """The mean of a region in a condition."""
    alt = vega.altair()
    return [
        *([alt.Tooltip("model:N")] if len(models) > 1 else []),
        alt.Tooltip("condition:N"),
        alt.Tooltip("region:N"),
        alt.Tooltip("mean:Q", title="bits", format=".2f"),
        alt.Tooltip("low:Q", title="from", format=".2f"),
        alt.Tooltip("high:Q", title="to", format=".2f"),
        alt.Tooltip("n:Q", title="items"),
    ]
