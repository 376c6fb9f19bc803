"""Charts of values with their intervals: Vega-Lite, made with altair.

A chart carries no colours of its own: it gets them where it goes, into a file or a page.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wug.errors import InputError
from wug.files import write_bytes
from wug.show import _axes, vega
from wug.show.numbers import spaced, value_text

if TYPE_CHECKING:
    import altair

BANDS = 4
"""Lines in a chart up to which all intervals are shown at once."""


@dataclass(frozen=True, slots=True)
class Point:
    """One value of a dot chart, with its interval."""

    row: str
    value: float
    low: float | None = None
    high: float | None = None
    n: int | None = None
    series: str = ""
    """Which of several models it is, where there are several."""
    group: str = ""
    """The heading that its row stands under, such as the test circuit."""
    interval: str = ""
    """As a table has it, where that is more than `low` and `high`."""


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


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One value of a curve, with its interval."""

    x: float
    value: float
    low: float | None = None
    high: float | None = None
    n: int | None = None
    series: str = ""
    interval: str = ""
    """As a table has it, where that is more than `low` and `high`."""


@dataclass(frozen=True, slots=True)
class Bin:
    """A bar of a histogram."""

    low: float
    high: float
    count: int
    series: str = ""


@dataclass(frozen=True, slots=True)
class Dot:
    """Two numbers of one item."""

    name: str
    x: float
    y: float
    series: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a row that is whole at 100 %."""

    row: str
    series: str
    value: float
    count: int | None = None
    group: str = ""


def accuracy(points: Sequence[Point]) -> altair.LayerChart:
    """Dots with intervals from 0 to 100 %, a row for each suite, a colour and shape for each model."""
    return intervals(points, title="accuracy", share=True)


def intervals(
    points: Sequence[Point], *, title: str, share: bool = False, series_are: str = "model"
) -> altair.LayerChart:
    """Dots with intervals, a row for each `row`; with `share` on an axis from 0 to 100 %."""
    alt = vega.altair()
    series = list(dict.fromkeys(point.series for point in points))
    several = len(series) > 1
    rows = _rows(points)
    values = _axes.value_axis(share)
    of = [alt.Tooltip("name:N", title="of"), *([alt.Tooltip("series:N", title=series_are)] if several else [])]
    base = alt.Chart(alt.Data(values=[_datum(point) for point in points])).encode(
        y=_axes.row_axis(rows), tooltip=_axes.value_tooltip(*of, title=title, share=share)
    )
    if several:
        base = base.encode(
            yOffset=alt.YOffset("series:N", sort=None, scale=alt.Scale(domain=series)),
            color=alt.Color("series:N", **_axes.named(series)),
        )
    line = base.mark_rule(style="interval").encode(
        x=alt.X("low:Q", title=title, **values), x2=alt.X2("high:Q", title=title)
    )
    dot = base.mark_point(style="dot").encode(x=alt.X("value:Q", title=title, **values))
    if several:
        dot = dot.encode(shape=alt.Shape("series:N", **_axes.named(series)))
    step = 10 + 13 * len(series) if several else _axes.step(rows)
    return alt.layer(line, dot).properties(width=vega.WIDTH, height=step * len(rows))


def regions(
    means: Sequence[RegionMean], *, marked: Collection[int] = (), title: str = "mean surprisal (bits)"
) -> altair.LayerChart:
    """A line for each condition over the regions of a sentence in order, with intervals.

    The regions in `marked`, those a prediction speaks of, stand on a tinted ground.
    """
    alt = vega.altair()
    ordered = sorted(means, key=lambda mean: mean.number)
    conditions = list(dict.fromkeys(mean.condition for mean in means))
    labels = {mean.number: f"{mean.number}\n{_flat(mean.name)}" for mean in ordered}
    x = _axes.region_axis(list(labels.values()))
    chosen = alt.selection_point(fields=["condition"], bind="legend", name="chosen")
    rows = [_region_datum(mean, labels[mean.number], mean.number in marked) for mean in ordered]
    data = alt.Data(values=rows)
    base = alt.Chart(data).encode(
        x=x,
        xOffset=alt.XOffset("condition:N", sort=None, scale=alt.Scale(domain=conditions, paddingOuter=1)),
        color=alt.Color("condition:N", **_axes.named(conditions)),
        opacity=alt.condition(chosen, alt.value(1), alt.value(0.12)),
        tooltip=_axes.region_tooltip(),
    )
    y = alt.Y("mean:Q", title=title, axis=alt.Axis(tickCount=6))
    layers = [base.mark_line(style="trend").encode(y=y)]
    if any(row["low"] is not None for row in rows):  # a single item has none, and Vega warns of an empty layer
        interval = base.mark_rule(style="interval")
        layers.append(interval.encode(y=alt.Y("low:Q", title=title), y2=alt.Y2("high:Q", title=title)))
    layers.append(base.mark_point(style="dot").encode(y=y, shape=alt.Shape("condition:N", **_axes.named(conditions))))
    if not labels.keys().isdisjoint(marked):
        ground = alt.Chart(data).transform_filter("datum.marked").transform_aggregate(groupby=["region"])
        ground = ground.mark_rect(style="ground", tooltip=None)
        layers.insert(0, ground.encode(x=x, y=alt.value(0), y2=alt.value("height")))
    return alt.layer(*layers).add_params(chosen).properties(width=vega.WIDTH, height=300)


def curves(
    points: Sequence[CurvePoint], *, x: str, title: str, share: bool = True, peak: CurvePoint | None = None
) -> altair.LayerChart:
    """A line for each series over the whole numbers of `x`, with bands for intervals; `peak` carries its value.

    With many lines a band shows only where its line is chosen in the legend.
    """
    alt = vega.altair()
    series = list(dict.fromkeys(point.series for point in points))
    several = len(series) > 1
    name = "chosen_" + re.sub(r"\W", "_", x)  # charts that stand together must not share it
    chosen = alt.selection_point(fields=["series"], bind="legend", name=name)
    named = _axes.solid(_axes.named(series)) if several else {**_axes.named(series), "legend": None}
    of = [*([alt.Tooltip("series:N", title="of")] if several else []), alt.Tooltip("x:Q", title=x, format="~g")]
    base = alt.Chart(alt.Data(values=[_curve_datum(point) for point in points])).encode(
        x=_axes.count_axis([point.x for point in points], x),
        color=alt.Color("series:N", **named),
        tooltip=_axes.value_tooltip(*of, title=title, share=share),
    )
    y = alt.Y("value:Q", title=title, **_axes.value_axis(share))
    crowded = len(series) > BANDS
    shown = alt.condition(chosen, alt.value(0.16), alt.value(0), empty=not crowded)
    faded = alt.condition(chosen, alt.value(1), alt.value(0.12))
    if not several:
        shown, faded = alt.value(0.16), alt.value(1)
    band = base.mark_area(clip=True, tooltip=None).encode(
        y=alt.Y("low:Q", title=title), y2=alt.Y2("high:Q", title=title), opacity=shown
    )
    line = base.mark_line(style="trend").encode(y=y, opacity=faded)
    dot = base.mark_point(style="dot", size=70 if len(points) <= 40 else 40).encode(y=y, opacity=faded)
    if several:
        dot = dot.encode(shape=alt.Shape("series:N", **_axes.shaped(series)))
    if len(series) > len(vega.PALETTE):
        line = line.encode(strokeDash=alt.StrokeDash("series:N", **_axes.dashed(series)))
    layers = [band, line, dot, *([_summit(peak, x, share)] if peak else [])]
    chart = alt.layer(*layers).properties(width=vega.WIDTH, height=300)
    return chart.add_params(chosen) if several else chart


def histogram(bins: Sequence[Bin], *, title: str, what: str, colours: Mapping[str, int]) -> altair.LayerChart:
    """Bars that count `what` over a range of numbers; `colours` is each series' place in the palette."""
    alt = vega.altair()
    series = list(dict.fromkeys(one.series for one in bins))
    edges = [_short(edge) for edge in sorted({edge for one in bins for edge in (one.low, one.high)})]
    data = [
        {"low": _short(one.low), "high": _short(one.high), "count": one.count, "series": one.series} for one in bins
    ]
    bars = (
        alt.Chart(alt.Data(values=data))
        .mark_bar(binSpacing=1)
        .encode(
            x=alt.X(
                "low:Q",
                title=title,
                scale=alt.Scale(domain=[edges[0], edges[-1]], nice=False),
                axis=alt.Axis(labelFlush=False, grid=False),
            ),
            x2=alt.X2("high:Q", title=title),
            y=alt.Y("count:Q", title=what, stack=None, axis=alt.Axis(tickCount=5, format=",d")),
            y2=alt.datum(0),
            color=alt.Color("series:N", **_axes.coloured(series, colours)),
            tooltip=[
                alt.Tooltip("low:Q", title="from", format="~g"),
                alt.Tooltip("high:Q", title="to", format="~g"),
                alt.Tooltip("count:Q", title=what, format=","),
                alt.Tooltip("series:N", title="which are"),
            ],
        )
    )
    return alt.layer(bars).properties(width=vega.WIDTH, height=240)


def scatter(dots: Sequence[Dot], *, x: str, y: str, colours: Mapping[str, int]) -> altair.LayerChart:
    """A dot for each pair of numbers; `colours` is each series' place in the palette."""
    alt = vega.altair()
    series = [name for name in colours if any(dot.series == name for dot in dots)]
    data = [{"name": dot.name, "x": _short(dot.x), "y": _short(dot.y), "series": dot.series} for dot in dots]
    scale = alt.Scale(zero=False, nice=True)
    points = (
        alt.Chart(alt.Data(values=data))
        .mark_point(style="dot", opacity=0.6, size=40 if len(dots) <= 200 else 16)
        .encode(
            x=alt.X("x:Q", title=x, scale=scale),
            y=alt.Y("y:Q", title=y, scale=scale),
            color=alt.Color("series:N", **_axes.coloured(series, colours)),
            tooltip=[
                alt.Tooltip("name:N", title="of"),
                alt.Tooltip("x:Q", title=x, format="~g"),
                alt.Tooltip("y:Q", title=y, format="~g"),
            ],
        )
    )
    return alt.layer(points).properties(width=vega.WIDTH, height=340)


def shares(parts: Sequence[Part], *, title: str, colours: Mapping[str, int]) -> altair.LayerChart:
    """Bars from 0 to 100 %, a row for each `row`; `colours` is each part's place in the palette."""
    alt = vega.altair()
    rows, series = _rows(parts), list(dict.fromkeys(part.series for part in parts))
    data = [
        {
            "row": _key(part.group, part.row),
            "name": part.row,
            "series": part.series,
            "place": series.index(part.series),
            "value": _short(part.value),
            "count": part.count,
        }
        for part in parts
    ]
    bars = (
        alt.Chart(alt.Data(values=data))
        .mark_bar(height=16)
        .encode(
            y=_axes.row_axis(rows),
            x=alt.X("value:Q", title=title, stack="zero", **_axes.value_axis(share=True)),
            order=alt.Order("place:Q"),
            color=alt.Color("series:N", **_axes.coloured(series, colours)),
            tooltip=[
                alt.Tooltip("name:N", title="of"),
                alt.Tooltip("series:N", title="which are"),
                alt.Tooltip("value:Q", title="share", format=".1%"),
                alt.Tooltip("count:Q", title="n", format=","),
            ],
        )
    )
    return alt.layer(bars).properties(width=vega.WIDTH, height=_axes.step(rows) * len(rows))


def stacked(panels: Sequence[altair.LayerChart]) -> altair.VConcatChart:
    """Charts one above the other, each with a scale of its own."""
    return vega.altair().vconcat(*panels).resolve_scale(x="independent", y="independent")


def require(path: Path | None = None) -> None:
    """An error where charts cannot be drawn here, or not into a file of this name: before long work, not after."""
    if path is not None and path.suffix.lower() not in vega.KINDS:
        known = ", ".join(vega.KINDS)
        raise InputError(f"unknown kind of chart file {path.suffix.lower()!r}. Use one of {known}", file=path)
    vega.altair()
    vega.vl_convert()


def save(chart: altair.LayerChart | altair.VConcatChart, path: Path) -> None:
    """Write a chart as the suffix says: .svg, .png, .html (opens offline) or .json (Vega-Lite)."""
    require(path)
    write_bytes(path, vega.KINDS[path.suffix.lower()](vega.spec(chart)))


def _datum(point: Point) -> dict[str, Any]:
    return {
        "row": _key(point.group, point.row),
        "name": point.row,
        "series": point.series,
        "value": _short(point.value),
        "low": _short(point.low),
        "high": _short(point.high),
        "n": point.n,
    }


def _region_datum(mean: RegionMean, label: str, marked: bool) -> dict[str, Any]:
    return {
        "region": label,
        "condition": mean.condition,
        "mean": _short(mean.value),
        "low": _short(mean.low),
        "high": _short(mean.high),
        "n": mean.n,
        **({"marked": True} if marked else {}),
    }


def _short(value: float | None) -> float | None:
    """`value` to the five figures a chart can show; None where it is no number."""
    return float(f"{value:.5g}") if value is not None and math.isfinite(value) else None


def _curve_datum(point: CurvePoint) -> dict[str, Any]:
    return {
        "x": _short(point.x),
        "series": point.series,
        "value": _short(point.value),
        "low": _short(point.low),
        "high": _short(point.high),
        "n": point.n,
    }


def _summit(peak: CurvePoint, x: str, share: bool) -> Any:
    """The value of a peak beside its point, and a line down to where it is."""
    alt = vega.altair()
    text = spaced(value_text(peak.value, share=share))
    datum = {**_curve_datum(peak), "text": f"peak {text}, {x} {peak.x:g}"}
    base = alt.Chart(alt.Data(values=[datum])).encode(x="x:Q", color=alt.Color("series:N"))
    rule = base.mark_rule(strokeDash=[3, 3], tooltip=None).encode(y=alt.Y("value:Q"))
    # Where the peak is at the right edge there is room for its name on its left only.
    left = "scale('x', datum.x) > width / 2"
    words = base.mark_text(
        align={"expr": f"{left} ? 'right' : 'left'"}, dx={"expr": f"{left} ? -8 : 8"}, dy=-8, fontSize=12, tooltip=None
    ).encode(y=alt.Y("value:Q"), text="text:N")
    return alt.layer(rule, words)


def _rows(points: Sequence[Point] | Sequence[Part]) -> list[str]:
    """The rows from top to bottom: group by group, each under its heading, as first met."""
    groups: dict[str, dict[str, None]] = {}
    for point in points:
        groups.setdefault(point.group, {})[point.row] = None
    rows: list[str] = []
    for group, names in groups.items():
        rows += [f"{_flat(group)}\n"] if group else []
        rows += [_key(group, name) for name in names]
    return rows


def _key(group: str, row: str) -> str:
    """What stands for a row on the axis; a heading is a row without a name."""
    return f"{_flat(group) if group else ''}\n{_flat(row)}"


def _flat(text: str) -> str:
    """`text` on one line: a line end parts group and row, number and name, on an axis."""
    return " ".join(text.split()) or "–"
