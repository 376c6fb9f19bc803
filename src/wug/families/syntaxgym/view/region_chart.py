"""Charts of surprisal by region and condition."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from wug.formatting import one_line
from wug.views import vega
from wug.views.charts import round_value

if TYPE_CHECKING:
    import altair

HEIGHT_PX = 300
FADED = 0.12
"""Opacity of conditions that are not chosen."""
MIN_NEGATIVE_BITS = -0.05
"""Values in bits between this and 0 are rounding errors."""
LABEL_CHARACTERS, MAX_LABEL_LINES = 12, 4
"""Where the name of a region is broken into lines, and how many lines it may have."""
CHARACTER_PX, LABEL_GAP_PX, MIN_SLANTED_BAND_PX, AXIS_PX = 6.4, 6, 26, 60
"""Width of a character, distance between labels, width of a region below which labels are upright, of the y axis."""


class RegionMean(NamedTuple):
    """The mean of a region in a condition, over items."""

    condition: str
    number: int
    name: str
    value: float
    low: float | None
    high: float | None
    n: int
    model: str = ""
    """The model, if a chart has several."""


def ceiling(means: Sequence[RegionMean]) -> float:
    """A round number above all means and intervals."""
    maximum = max((mean.value if mean.high is None else mean.high for mean in means), default=1.0)
    step = vega.round_step(max(maximum, 0.1) / 6)
    return step * -(-maximum // step)


def regions(
    means: Sequence[RegionMean],
    *,
    highlight: Collection[int] = (),
    title: str = "mean surprisal (bits)",
    words: Mapping[int, str] | None = None,
    ceiling_bits: float | None = None,
) -> altair.LayerChart:
    """One line per condition over the regions of a sentence, with intervals, from 0 bits up.

    The regions in `highlight`, those of a prediction, have a tinted background. `words` are shown under their regions.
    Of a second model the lines are dashed and the points hollow.
    """
    alt = vega.altair()
    ordered_means = sorted(means, key=lambda mean: mean.number)
    conditions = list(dict.fromkeys(mean.condition for mean in means))
    models = list(dict.fromkeys(mean.model for mean in means))
    labels = {mean.number: _label(mean, words or {}) for mean in ordered_means}
    floor_bits = min((mean.value for mean in means if mean.value < MIN_NEGATIVE_BITS), default=0.0)
    scale = alt.Scale(domain=[floor_bits, ceiling_bits or ceiling(means)], nice=False, zero=False)
    y = alt.Y("mean:Q", title=title, scale=scale, axis=alt.Axis(tickCount=6))
    choice = vega.series_selection("condition", "condition")
    rows = [_datum(mean, labels[mean.number], floor_bits, mean.number in highlight) for mean in ordered_means]
    data = alt.Data(values=rows)
    offset_names = [f"{condition}\n{model}" for condition in conditions for model in models]
    base = alt.Chart(data).encode(
        x=_axis(list(labels.values())),
        xOffset=alt.XOffset("offset:N", sort=None, scale=alt.Scale(domain=offset_names, paddingOuter=1)),
        color=alt.Color("condition:N", **vega.opaque_legend(conditions)),
        tooltip=vega.tooltips(
            *([("model:N",)] if len(models) > 1 else []),
            ("condition:N",),
            ("region:N",),
            ("mean:Q", "bits", ".2f"),
            ("low:Q", "from", ".2f"),
            ("high:Q", "to", ".2f"),
            ("n:Q", "items"),
        ),
    )
    several = len(conditions) > 1
    if several:
        base = base.encode(opacity=alt.condition(choice.test, alt.value(1), alt.value(FADED)))
    line, *dots = _lines_and_dots(base, y, conditions, models)
    layers = [line]
    if any(row["low"] is not None for row in rows):  # a few items have none, and Vega warns of an empty layer
        interval = base.mark_rule(style="interval", opacity=0.6)
        if several:
            interval = interval.encode(opacity=alt.condition(choice.test, alt.value(0.6), alt.value(FADED)))
        layers.append(interval.encode(y=alt.Y("low:Q", title=title), y2=alt.Y2("high:Q", title=title)))
    layers += dots
    if not labels.keys().isdisjoint(highlight):
        layers.insert(0, _ground(data, list(labels.values())))
    chart = alt.layer(*layers, width=vega.WIDTH_PX, height=HEIGHT_PX)
    if not several:
        return chart
    ends = {mean.condition: mean.value for mean in ordered_means if mean.model == models[0]}
    legend = choice.legend(conditions, "condition", ends)
    if len(models) > 1:
        legend["legend"]["models"] = models
        for key in legend["legend"]["keys"]:
            key["dash"] = [1, 0]
    return choice.added_to(chart, legend)


def _lines_and_dots(base: altair.Chart, y: altair.Y, conditions: list[str], models: list[str]) -> list[altair.Chart]:
    """One layer of lines, then one of dots for each model."""
    alt = vega.altair()
    line, shape = base.mark_line(style="trend").encode(y=y), alt.Shape("condition:N", **vega.shape_scale(conditions))
    dots = base.mark_point(style="dot").encode(y=y, shape=shape)
    if len(models) > 1:
        dashes = alt.Scale(domain=models, range=[[1, 0], [5, 4]])
        line = line.encode(detail="condition:N", strokeDash=alt.StrokeDash("model:N", title=None, scale=dashes))
        hollow = base.mark_point(filled=False, strokeWidth=1.8, size=70, opacity=1).encode(y=y, shape=shape)
        is_first_model = f"datum.model == {json.dumps(models[0])}"
        return [line, dots.transform_filter(is_first_model), hollow.transform_filter(f"!({is_first_model})")]
    if len(conditions) > 1:
        line = line.encode(strokeDash=alt.StrokeDash("condition:N", **vega.dash_scale(conditions)))
    return [line, dots]


def _ground(data: altair.Data, labels: list[str]) -> Any:
    alt = vega.altair()
    ground = alt.Chart(data).transform_filter("datum.marked").transform_aggregate(groupby=["region"])
    extent = {"x": _axis(labels, bandPosition=0), "x2": alt.X2("region:N", bandPosition=1)}
    return ground.mark_rect(style="ground", tooltip=None).encode(**extent, y=alt.value(0), y2=alt.value("height"))


def _axis(labels: list[str], **options: float) -> Any:
    alt = vega.altair()
    longest_line = max((len(line) for label in labels for line in label.split("\n")), default=0)
    # On several lines if there is space, else slanted on one line, or upright if regions are very narrow.
    # Not `width`, which changes with the space that the labels take.
    room = f"(containerSize()[0] > 0 ? containerSize()[0] - {AXIS_PX} : {vega.WIDTH_PX})"
    is_narrow = f"{room} < {(CHARACTER_PX * longest_line + LABEL_GAP_PX) * len(labels):.0f}"
    angle = f"{room} < {MIN_SLANTED_BAND_PX * len(labels)} ? -90 : -40"
    return alt.X(
        "region:N",
        title=None,
        sort=None,
        scale=alt.Scale(domain=labels, paddingInner=0.12, paddingOuter=0.06),
        axis=alt.Axis(
            labelExpr=f"{is_narrow} ? replace(datum.value, /\\n/g, ' ') : split(datum.value, '\\n')",
            labelAngle={"expr": f"{is_narrow} ? ({angle}) : 0"},
            labelAlign={"expr": f"{is_narrow} ? 'right' : 'center'"},
            labelBaseline={"expr": f"{is_narrow} ? 'middle' : 'top'"},
            labelLimit=130,
            labelOverlap=False,
            labelPadding=6,
            labelLineHeight=16,
            ticks=False,
            grid=False,
        ),
        **options,
    )


def _label(mean: RegionMean, words: Mapping[int, str]) -> str:
    lines = [str(mean.number)]
    for text in (mean.name, *([words[mean.number]] if mean.number in words else [])):
        lines += textwrap.wrap(
            one_line(text), LABEL_CHARACTERS, break_long_words=False, max_lines=MAX_LABEL_LINES, placeholder=" …"
        )
    return "\n".join(lines)


def _datum(mean: RegionMean, label: str, floor_bits: float, is_marked: bool) -> dict[str, Any]:
    return {
        "region": label,
        "condition": mean.condition,
        "model": mean.model,
        "offset": f"{mean.condition}\n{mean.model}",
        "mean": round_value(max(floor_bits, mean.value)),
        "low": None if mean.low is None else round_value(max(floor_bits, mean.low)),
        "high": round_value(mean.high),
        "n": mean.n,
        **({"marked": True} if is_marked else {}),
    }
