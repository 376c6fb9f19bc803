"""Charts of values with their intervals: Vega-Lite, made with altair.

A chart carries no colours of its own: it gets them where it goes, into a file or a page.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from wug.errors import InputError
from wug.files import write_bytes
from wug.views import _axes, vega
from wug.views.numbers import spaced, value_text

if TYPE_CHECKING:
    import altair

OTHER = "other"
"""The heading of rows that have none, where others do."""
CROWDED = 600
"""Points of lines from which on these are what is seen, and points no larger than they are wide."""
SINGLE = 90
"""Points of several lines up to which each has its interval, beside those of the other lines."""


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
    """The heading that its row stands under, such as the phenomenon."""
    interval: str = ""
    """As a table has it, where that is more than `low` and `high`."""


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


_Row = TypeVar("_Row", Point, Part)


def accuracy(points: Sequence[Point]) -> altair.LayerChart:
    """Dots with intervals from 0 to 100 %, a row for each suite, a colour and shape for each model."""
    return intervals(points, title="accuracy", share=True)


def intervals(
    points: Sequence[Point], *, title: str, share: bool = False, series_are: str = "model"
) -> altair.LayerChart:
    """Dots with intervals, a row for each `row`; with `share` on an axis from 0 to 100 %."""
    alt = vega.altair()
    points = _headed(points)
    series = list(dict.fromkeys(point.series for point in points))
    several = len(series) > 1
    rows = _rows(points)
    values = _axes.value_axis(share)
    of = [alt.Tooltip("name:N", title="of"), *([alt.Tooltip("series:N", title=series_are)] if several else [])]
    base = alt.Chart(alt.Data(values=[_datum(point) for point in points])).encode(
        y=_axes.row_axis(rows), tooltip=_axes.value_tooltip(*of, title=title, share=share)
    )
    choice = _axes.choice("series", title)
    if several:
        base = base.encode(
            yOffset=alt.YOffset("series:N", sort=None, scale=alt.Scale(domain=series)),
            color=alt.Color("series:N", **_axes.named(series)),
        ).transform_filter(choice.test)
    line = base.mark_rule(style="interval").encode(
        x=alt.X("low:Q", title=title, **values), x2=alt.X2("high:Q", title=title)
    )
    dot = base.mark_point(style="dot").encode(x=alt.X("value:Q", title=title, **values))
    if several:
        dot = dot.encode(shape=alt.Shape("series:N", **_axes.shaped(series)))
    step = 10 + 13 * len(series) if several else _axes.step(rows)
    chart = alt.layer(line, dot).properties(width=vega.WIDTH, height=step * len(rows))
    if not several:
        return chart
    return chart.add_params(choice.param).properties(usermeta=choice.legend(series, series_are))


def curves(
    points: Sequence[CurvePoint], *, x: str, title: str, share: bool = True, peak: CurvePoint | None = None
) -> altair.LayerChart:
    """A line for each series over the whole numbers of `x`, with their intervals; `peak` carries its value.

    One line has its intervals as a band. Of several, points at the same place stand beside each other with theirs, so
    that none hides another; where there are very many, the band is that of a line that is chosen.
    """
    alt = vega.altair()
    series = list(dict.fromkeys(point.series for point in points))
    several = len(series) > 1
    named = _axes.solid(_axes.named(series)) if several else {**_axes.named(series), "legend": None}
    of = [*([alt.Tooltip("series:N", title="of")] if several else []), alt.Tooltip("x:Q", title=x, format="~g")]
    places = sorted({point.x for point in points})
    beside = several and len(points) <= SINGLE
    rows = [_curve_datum(point, _beside(point, places, series) if beside else point.x) for point in points]
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=_axes.count_axis(places, x),
        color=alt.Color("series:N", **named),
        tooltip=_axes.value_tooltip(*of, title=title, share=share),
    )
    choice = _axes.choice("series", x)
    if several:
        base = base.transform_filter(choice.test)
    y = alt.Y("value:Q", title=title, **_axes.value_axis(share))
    ends = {"y": alt.Y("low:Q", title=title), "y2": alt.Y2("high:Q", title=title)}
    spread = base.mark_rule(style="interval", strokeWidth=1.5, opacity=0.55) if beside else _band(base, several, choice)
    line = base.mark_line(style="trend").encode(y=y)
    size = 70 if len(points) <= 40 else 40 if len(points) <= CROWDED else 8
    dot = base.mark_point(style="dot", size=size).encode(y=y)
    if several:
        dot = dot.encode(shape=alt.Shape("series:N", **_axes.shaped(series)))
        line = line.encode(strokeDash=alt.StrokeDash("series:N", **_axes.dashed(series)))
    layers = [spread.encode(**ends), line, dot, *([_summit(peak, x, share)] if peak else [])]
    chart = alt.layer(*layers).properties(width=vega.WIDTH, height=300)
    if not several:
        return chart
    return chart.add_params(choice.param).properties(usermeta=choice.legend(series, "series", _last(points)))


def histogram(bins: Sequence[Bin], *, title: str, what: str, colours: Mapping[str, int]) -> altair.LayerChart:
    """Bars that count `what` over a range of numbers; `colours` is each series' place in the palette."""
    alt = vega.altair()
    series = list(dict.fromkeys(one.series for one in bins))
    edges = [short(edge) for edge in sorted({edge for one in bins for edge in (one.low, one.high)})]
    data = [{"low": short(one.low), "high": short(one.high), "count": one.count, "series": one.series} for one in bins]
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
    data = [{"name": dot.name, "x": short(dot.x), "y": short(dot.y), "series": dot.series} for dot in dots]
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
    parts = _headed(parts)
    rows, series = _rows(parts), list(dict.fromkeys(part.series for part in parts))
    data = [
        {
            "row": _key(part.group, part.row),
            "name": part.row,
            "series": part.series,
            "place": series.index(part.series),
            "value": short(part.value),
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
    alt = vega.altair()
    plain = [panel.copy(deep=False) for panel in panels]
    for panel in plain:
        panel.usermeta = alt.Undefined  # which a panel cannot have
    return alt.vconcat(*plain).resolve_scale(x="independent", y="independent")


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
        "value": short(point.value),
        "low": short(point.low),
        "high": short(point.high),
        "n": point.n,
    }


def short(value: float | None) -> float | None:
    """`value` to the five figures a chart can show; None where it is no number."""
    return float(f"{value:.5g}") if value is not None and math.isfinite(value) else None


def _curve_datum(point: CurvePoint, at: float) -> dict[str, Any]:
    return {
        "x": short(point.x),
        "at": round(at, 6),
        "series": point.series,
        "value": short(point.value),
        "low": short(point.low),
        "high": short(point.high),
        "n": point.n,
    }


def _beside(point: CurvePoint, places: Sequence[float], series: Sequence[str]) -> float:
    """Where a point stands beside those of the other lines: a little off its place."""
    gap = min((b - a for a, b in itertools.pairwise(places)), default=1.0)
    return point.x + (series.index(point.series) - (len(series) - 1) / 2) * gap * min(0.1, 0.5 / len(series))


def _band(base: Any, several: bool, choice: _axes.Choice) -> Any:
    """The intervals of a line as a ground; of several lines, that of the one that is chosen."""
    band = base.mark_area(clip=True, tooltip=None, opacity=0.16)
    return band.transform_filter(f"length({choice.param.name}) == 1") if several else band


def _last(points: Sequence[CurvePoint]) -> dict[str, float]:
    """The value at which each line ends."""
    return {point.series: point.value for point in sorted(points, key=lambda point: point.x)}


def _summit(peak: CurvePoint, x: str, share: bool) -> Any:
    """The value of a peak beside its point, and a line down to where it is."""
    alt = vega.altair()
    text = spaced(value_text(peak.value, share=share))
    datum = {**_curve_datum(peak, peak.x), "text": f"peak {text}, {x} {peak.x:g}"}
    base = alt.Chart(alt.Data(values=[datum])).encode(x="at:Q", color=alt.Color("series:N"))
    rule = base.mark_rule(strokeDash=[3, 3], tooltip=None).encode(y=alt.Y("value:Q"))
    # Where the peak is at the right edge there is room for its name on its left only.
    left = "scale('x', datum.at) > width / 2"
    words = base.mark_text(
        align={"expr": f"{left} ? 'right' : 'left'"}, dx={"expr": f"{left} ? -8 : 8"}, dy=-8, fontSize=12, tooltip=None
    ).encode(y=alt.Y("value:Q"), text="text:N")
    return alt.layer(rule, words)


def _headed(points: Sequence[_Row]) -> list[_Row]:
    """Rows of which none stands under the heading of others: those without one come last, under their own."""
    if not any(point.group for point in points):
        return list(points)
    return sorted((replace(point, group=point.group or OTHER) for point in points), key=lambda p: p.group == OTHER)


def _rows(points: Sequence[Point] | Sequence[Part]) -> list[str]:
    """The rows from top to bottom: group by group, each under its heading, as first met."""
    groups: dict[str, dict[str, None]] = {}
    for point in points:
        groups.setdefault(point.group, {})[point.row] = None
    rows: list[str] = []
    for group, names in groups.items():
        rows += [f"{flat(group)}\n"] if group else []
        rows += [_key(group, name) for name in names]
    return rows


def _key(group: str, row: str) -> str:
    """What stands for a row on the axis; a heading is a row without a name."""
    return f"{flat(group) if group else ''}\n{flat(row)}"


def flat(text: str) -> str:
    """`text` on one line: a line end parts group and row, number and name, on an axis."""
    return " ".join(text.split()) or "–"
