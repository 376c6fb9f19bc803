"""Charts of values with intervals, made with Altair (Vega-Lite).

A chart has no colours; they are added when it is written to a file or a page.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from wug.formatting import one_line, value_text
from wug.views import vega

if TYPE_CHECKING:
    import altair


OTHER_HEADING = "other"
"""Heading of rows without a group if others have one."""
MAX_LARGE_POINTS = 600
"""With more points, lines are drawn with small points."""
NARROW_BAR_PX = 6
MAX_INTERVAL_POINTS = 90
"""With more points, several lines are drawn without intervals."""
MAX_DISTINCT_LINES = 16
"""More lines are thin and have one shape until the reader selects one."""


class Point(NamedTuple):
    """One value of a dot chart, with its interval."""

    row: str
    value: float
    low: float | None = None
    high: float | None = None
    n: int | None = None
    series: str = ""
    """The model, if there are several."""
    group: str = ""
    """Heading of its row, such as the phenomenon."""
    interval: str = ""
    """The interval as text."""
    chance: float | None = None
    """The chance level; None if it is unknown."""
    about: str = ""
    """The group of items behind it as `field=value`, if neither its name nor its heading is the value."""


class LinePoint(NamedTuple):
    """One value of a curve, with its interval."""

    x: float
    value: float
    low: float | None = None
    high: float | None = None
    n: int | None = None
    series: str = ""
    interval: str = ""
    """The interval as text."""
    run: int | None = None
    """The run that it comes from, if it is one."""


@dataclass(frozen=True, slots=True)
class HistogramBin:
    """A bar of a histogram."""

    low: float
    high: float
    count: int
    series: str = ""


class ScatterPoint(NamedTuple):
    """An item with two numbers."""

    name: str
    x: float
    y: float
    series: str = ""


class StackedBar(NamedTuple):
    """A segment of a bar whose total is 100%."""

    row: str
    series: str
    value: float
    n: int | None = None
    group: str = ""


_Row = TypeVar("_Row", Point, StackedBar)


def intervals(
    points: Sequence[Point], *, title: str, share: bool = False, series_are: str = "model", zero: bool = False
) -> altair.LayerChart:
    """Dots with intervals, one row per `row`; with `share` on an axis from 0 to 100%, with `zero` with a line at 0.

    Chance levels are a line through all rows if all have the same, else a short line in each row.
    """
    alt = vega.altair()
    points = _sort_by_heading(points)
    series = list(dict.fromkeys(point.series for point in points))
    has_series = len(series) > 1
    rows = _rows(points)
    values = vega.value_axis(share)
    names = [("name:N", "of"), *([("series:N", series_are)] if has_series else [])]
    data = [
        {
            "row": row_key(point.group, point.row),
            "name": point.row,
            **_numbers(point),
            **({"about": point.about} if point.about else {}),
        }
        for point in points
    ]
    base = _data_chart(data).encode(y=vega.row_axis(rows), tooltip=vega.value_tooltip(*names, title=title, share=share))
    choice = vega.series_selection("series", title)
    if has_series:
        base = base.encode(
            yOffset=alt.YOffset("series:N", sort=None, scale=alt.Scale(domain=series)),
            color=alt.Color("series:N", **vega.series_scale(series)),
        ).transform_filter(choice.test)
    line = base.mark_rule(style="interval").encode(
        x=alt.X("low:Q", title=title, **values), x2=alt.X2("high:Q", title=title)
    )
    dot = base.mark_point(style="dot").encode(x=alt.X("value:Q", title=title, **values))
    if has_series:
        dot = dot.encode(shape=alt.Shape("series:N", **vega.shape_scale(series)))
    step = 10 + 13 * len(series) if has_series else vega.row_height_px(rows)
    chart = alt.layer(line, dot, width=vega.WIDTH_PX, height=step * len(rows))
    add_behind(chart, _chance_marks({row_key(p.group, p.row): p.chance for p in points}, rows) if share else [])
    if zero:
        rule = _data_chart([{"zero": 0}]).mark_rule(style="chance", tooltip=None)
        add_behind(chart, [rule.encode(x=alt.X("zero:Q", title=title))])
    if not has_series:
        return chart
    return choice.added_to(chart, choice.legend(series, series_are))


def curves(
    points: Sequence[LinePoint],
    *,
    x: str,
    title: str,
    share: bool = True,
    peak: LinePoint | None = None,
    chance_level: float | None = None,
) -> altair.LayerChart:
    """One line per series over integers, with intervals; `peak` is labelled with its value.

    The intervals of one line are a band. Several lines are shifted a little, so that none hides another; if they are
    very many, only the band of a selected line is shown.
    """
    alt = vega.altair()
    series = list(dict.fromkeys(point.series for point in points))
    has_series = len(series) > 1
    scale = vega.opaque_legend(series) if has_series else {**vega.series_scale(series), "legend": None}
    names = [*([("series:N", "of")] if has_series else []), ("x:Q", x, "~g")]
    xs = sorted({point.x for point in points})
    # Several lines are shifted, so that their points do not hide each other.
    is_shifted = has_series and len(points) <= MAX_INTERVAL_POINTS
    gap = min((b - a for a, b in itertools.pairwise(xs)), default=1.0) * min(0.1, 0.5 / max(1, len(series)))
    shifts = {name: (i - (len(series) - 1) / 2) * gap if is_shifted else 0.0 for i, name in enumerate(series)}
    base = _data_chart([_curve_datum(point, point.x + shifts[point.series]) for point in points]).encode(
        x=vega.count_axis(xs, x),
        color=alt.Color("series:N", **scale),
        tooltip=vega.value_tooltip(*names, title=title, share=share),
    )
    choice = vega.series_selection("series", x)
    if has_series:
        base = base.transform_filter(choice.test)
    y = alt.Y("value:Q", title=title, **vega.value_axis(share))
    ends = {"y": alt.Y("low:Q", title=title), "y2": alt.Y2("high:Q", title=title)}
    if is_shifted:
        spread = base.mark_rule(style="interval", strokeWidth=1.5, opacity=0.55)
    else:
        spread = base.mark_area(clip=True, tooltip=None, opacity=0.16)
        if has_series:  # the band of the selected line
            spread = spread.transform_filter(f"length({choice.param.name}) == 1")
    line, dot = _line_and_dots(base.encode(y=y), series, len(points), choice)
    layers = [spread.encode(**ends), line, dot, *([_peak_label(peak, x, share)] if peak else [])]
    chart = alt.layer(*layers, width=vega.WIDTH_PX, height=300)
    add_behind(chart, [] if chance_level is None else chance_line(chance_level, "y"))
    if not has_series:
        return chart
    legend = choice.legend(series, "series", {p.series: p.value for p in sorted(points, key=lambda p: p.x)})
    for key in legend["legend"]["keys"] if len(series) > MAX_DISTINCT_LINES else ():
        key |= {"shape": vega.OUTLINES["circle"], "dash": [1, 0]}
    return choice.added_to(chart, legend)


def _line_and_dots(base: Any, series: Sequence[str], point_count: int, choice: vega.SeriesSelection) -> tuple[Any, Any]:
    """The lines of a chart and their dots; very many lines are thin, without shapes, until one is selected."""
    alt = vega.altair()
    # A single item says nothing about a trend.
    line = base.transform_filter("datum.n === null || datum.n > 1").mark_line(style="trend")
    is_crowded = len(series) > MAX_DISTINCT_LINES
    size = 8 if is_crowded or point_count > MAX_LARGE_POINTS else 70 if point_count <= 40 else 40
    dot = base.mark_point(style="dot", size=size)
    if is_crowded:
        has_selection = f"length({choice.param.name}) > 0"
        width = alt.condition(has_selection, alt.value(2.5), alt.value(1))
        return line.encode(strokeWidth=width, opacity=alt.condition(has_selection, alt.value(1), alt.value(0.5))), dot
    if len(series) > 1:
        dot = dot.encode(shape=alt.Shape("series:N", **vega.shape_scale(series)))
        line = line.encode(strokeDash=alt.StrokeDash("series:N", **vega.dash_scale(series)))
    return line, dot


def histogram(bins: Sequence[HistogramBin], *, title: str, what: str, colours: Mapping[str, int]) -> altair.LayerChart:
    """Bars that count `what` over a range of numbers; `colours` are positions in the palette.

    A bin without a width is a narrow bar at its number, in front of the others.
    """
    alt = vega.altair()
    series = list(dict.fromkeys(bar.series for bar in bins))
    edges = [round_value(edge) for edge in sorted({edge for bar in bins for edge in (bar.low, bar.high)})]
    edges = edges if len(edges) > 1 else [-1.0, 1.0]
    counts = vega.whole_ticks(0, max((bar.count for bar in bins), default=0))
    data = [{**asdict(bar), "low": round_value(bar.low), "high": round_value(bar.high)} for bar in bins]
    base = _data_chart(data).encode(
        x=alt.X(
            "low:Q",
            title=title,
            scale=alt.Scale(domain=[edges[0], edges[-1]], nice=False),
            axis=alt.Axis(labelFlush=False, labelSeparation=6, grid=False),
        ),
        y=alt.Y("count:Q", title=what, stack=None, axis=alt.Axis(values=counts, format=",d")),
        y2=alt.datum(0),
        color=alt.Color("series:N", **vega.palette_scale(series, colours)),
        tooltip=vega.tooltips(
            ("low:Q", "from", "~g"), ("high:Q", "to", "~g"), ("count:Q", what, ","), ("series:N", "which are")
        ),
    )
    bars = base.mark_bar(binSpacing=1).encode(x2=alt.X2("high:Q", title=title))
    layers = [bars.transform_filter("datum.low < datum.high")] if any(bar.low < bar.high for bar in bins) else []
    if any(bar.low == bar.high for bar in bins):
        layers.append(base.mark_bar(size=NARROW_BAR_PX).transform_filter("datum.low == datum.high"))
    return alt.layer(*layers, width=vega.WIDTH_PX, height=240)


def scatter(dots: Sequence[ScatterPoint], *, x: str, y: str, colours: Mapping[str, int]) -> altair.LayerChart:
    """One dot per pair of numbers; `colours` are positions in the palette."""
    alt = vega.altair()
    series = [name for name in colours if any(dot.series == name for dot in dots)]
    data = [{"name": dot.name, "x": round_value(dot.x), "y": round_value(dot.y), "series": dot.series} for dot in dots]
    scale = alt.Scale(zero=False, nice=True)
    points = (
        _data_chart(data)
        .mark_point(style="dot", opacity=0.6, size=40 if len(dots) <= 200 else 16)
        .encode(
            x=alt.X("x:Q", title=x, scale=scale),
            y=alt.Y("y:Q", title=y, scale=scale),
            color=alt.Color("series:N", **vega.palette_scale(series, colours)),
            tooltip=vega.tooltips(("name:N", "of"), ("x:Q", x, "~g"), ("y:Q", y, "~g")),
        )
    )
    return alt.layer(points, width=vega.WIDTH_PX, height=340)


def shares(parts: Sequence[StackedBar], *, title: str, colours: Mapping[str, int]) -> altair.LayerChart:
    """Stacked bars from 0 to 100%, one per `row`; `colours` are positions in the palette."""
    alt = vega.altair()
    parts = _sort_by_heading(parts)
    rows, series = _rows(parts), list(dict.fromkeys(part.series for part in parts))
    data = [
        {
            "row": row_key(part.group, part.row),
            "name": part.row,
            "series": part.series,
            "place": series.index(part.series),
            "value": round_value(part.value),
            "count": part.n,
        }
        for part in parts
    ]
    bars = (
        _data_chart(data)
        .mark_bar(height=16)
        .encode(
            y=vega.row_axis(rows),
            x=alt.X("value:Q", title=title, stack="zero", **vega.value_axis(share=True)),
            order=alt.Order("place:Q"),
            color=alt.Color("series:N", **vega.palette_scale(series, colours)),
            tooltip=vega.tooltips(
                ("name:N", "of"), ("series:N", "which are"), ("value:Q", "share", ".1%"), ("count:Q", "n", ",")
            ),
        )
    )
    return alt.layer(bars, width=vega.WIDTH_PX, height=vega.row_height_px(rows) * len(rows))


def chance_line(level: float, channel: str, label: str = "") -> list[Any]:
    """A line at the chance level, or another with a label, which is outside of the plot."""
    alt = vega.altair()
    base = _data_chart([{"chance": level, "text": label or f"chance {100 * level:.3g}%"}])
    rule = base.mark_rule(style="chance", tooltip=None)
    if channel == "x":
        text = base.mark_text(style="chance-label", baseline="bottom", tooltip=None)
        return [rule.encode(x="chance:Q"), text.encode(x="chance:Q", y=alt.value(-4), text="text:N")]
    text = base.mark_text(style="chance-label", align="left", baseline="bottom", dx=4, dy=-2, tooltip=None)
    return [rule.encode(y="chance:Q"), text.encode(y="chance:Q", x=alt.value(0), text="text:N")]


def add_behind(chart: altair.LayerChart, layers: Sequence[Any]) -> None:
    """Put layers with their own data behind the others, whose data stay those of the whole chart."""
    chart.layer = [*layers, *chart.layer]


def _chance_marks(levels: Mapping[str, float | None], rows: list[str]) -> list[Any]:
    """The chance levels of rows, by key: a line through all of them, or a short line in each."""
    alt = vega.altair()
    known_levels = {key: level for key, level in levels.items() if level is not None}
    if len(known_levels) == len(levels) and len(set(known_levels.values())) == 1:
        return chance_line(next(iter(known_levels.values())), "x")
    if not known_levels:
        return []
    tooltip = [alt.Tooltip("chance:Q", title="chance", format=".1%")]
    data = [{"row": key, "chance": level} for key, level in known_levels.items()]
    ticks = _data_chart(data).mark_tick(style="chance", orient="vertical", thickness=2)
    return [ticks.encode(y=vega.row_axis(rows), x=alt.X("chance:Q"), tooltip=tooltip)]


def _data_chart(data: list[dict[str, Any]]) -> Any:
    alt = vega.altair()
    return alt.Chart(alt.Data(values=data))


def _numbers(point: Point | LinePoint) -> dict[str, Any]:
    numbers = {name: round_value(getattr(point, name)) for name in ("value", "low", "high")}
    return {"series": point.series, **numbers, "n": point.n}


def round_value(value: float | None) -> float | None:
    """`value` rounded to five significant figures; None if it is not finite."""
    return float(f"{value:.5g}") if value is not None and math.isfinite(value) else None


def _curve_datum(point: LinePoint, at: float) -> dict[str, Any]:
    return {
        "x": round_value(point.x),
        "at": round(at, 6),
        **_numbers(point),
        **({"run": point.run} if point.run else {}),
    }


def _peak_label(peak: LinePoint, x: str, share: bool) -> Any:
    """The label of a peak, and a line down to the axis."""
    alt = vega.altair()
    text = value_text(peak.value, share=share)
    datum = {**_curve_datum(peak, peak.x), "text": f"peak {text}, {x} {peak.x:g}"}
    base = _data_chart([datum]).encode(x="at:Q", color=alt.Color("series:N"))
    rule = base.mark_rule(strokeDash=[3, 3], tooltip=None).encode(y=alt.Y("value:Q"))
    # Where the peak is at the right edge there is room for its name on its left only.
    label_on_left = "scale('x', datum.at) > width / 2"
    words = base.mark_text(
        align={"expr": f"{label_on_left} ? 'right' : 'left'"},
        dx={"expr": f"{label_on_left} ? -8 : 8"},
        dy=-8,
        fontSize=12,
        tooltip=None,
    ).encode(y=alt.Y("value:Q"), text="text:N")
    return alt.layer(rule, words)


def _sort_by_heading(points: Sequence[_Row]) -> list[_Row]:
    """The rows, those without a heading last and under `OTHER_HEADING`."""
    if not any(point.group for point in points):
        return list(points)
    grouped_points = (point._replace(group=point.group or OTHER_HEADING) for point in points)
    return sorted(grouped_points, key=lambda point: point.group == OTHER_HEADING)


def _rows(points: Sequence[Point] | Sequence[StackedBar]) -> list[str]:
    """The rows from top to bottom, group by group, each group after its heading."""
    groups: dict[str, dict[str, None]] = {}
    for point in points:
        groups.setdefault(point.group, {})[point.row] = None
    rows: list[str] = []
    for group, names in groups.items():
        rows += [f"{one_line(group)}\n"] if group else []
        rows += [row_key(group, name) for name in names]
    return rows


def row_key(group: str, row: str) -> str:
    """The key of a row on the axis; a heading is a row without a name."""
    return f"{one_line(group) if group else ''}\n{one_line(row)}"
