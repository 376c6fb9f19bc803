"""Charts of values with their intervals: Vega-Lite, made with altair.

A chart carries no colours of its own: it gets them where it goes, into a file or a page.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wug.errors import InputError
from wug.report import _vega

if TYPE_CHECKING:
    import altair


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


def accuracy(points: Sequence[Point]) -> altair.LayerChart:
    """Dots with intervals from 0 to 100 %, a row for each suite, a colour and shape for each model."""
    return intervals(points, title="accuracy", share=True)


def intervals(points: Sequence[Point], *, title: str, share: bool = False) -> altair.LayerChart:
    """Dots with intervals, a row for each `row`; with `share` on an axis from 0 to 100 %."""
    alt = _vega.altair()
    series = list(dict.fromkeys(point.series for point in points))
    several = len(series) > 1
    rows = _rows(points)
    scale = alt.Scale(domain=[0, 1]) if share else alt.Scale(zero=False)
    axis = alt.Axis(format="%" if share else "~g", tickCount=5, grid=True)
    base = alt.Chart(alt.Data(values=[_datum(point) for point in points])).encode(
        y=_row_axis(rows), tooltip=_dot_tooltip(title, share=share, several=several)
    )
    if several:
        base = base.encode(
            yOffset=alt.YOffset("series:N", sort=None, scale=alt.Scale(domain=series)),
            color=alt.Color("series:N", **_named(series)),
        )
    line = base.mark_rule(style="interval").encode(
        x=alt.X("low:Q", title=title, scale=scale, axis=axis), x2=alt.X2("high:Q", title=title)
    )
    dot = base.mark_point(style="dot").encode(x=alt.X("value:Q", title=title, scale=scale, axis=axis))
    if several:
        dot = dot.encode(shape=alt.Shape("series:N", **_named(series)))
    step = 10 + 13 * len(series) if several else 24
    return alt.layer(line, dot).properties(width=_vega.WIDTH, height=step * len(rows))


def regions(
    means: Sequence[RegionMean], *, marked: Collection[int] = (), title: str = "mean surprisal (bits)"
) -> altair.LayerChart:
    """A line for each condition over the regions of a sentence in order, with intervals.

    The regions in `marked`, those a prediction speaks of, stand on a tinted ground.
    """
    alt = _vega.altair()
    ordered = sorted(means, key=lambda mean: mean.number)
    conditions = list(dict.fromkeys(mean.condition for mean in means))
    labels = {mean.number: f"{mean.number}\n{_flat(mean.name)}" for mean in ordered}
    x = _region_axis(list(labels.values()))
    chosen = alt.selection_point(fields=["condition"], bind="legend", name="chosen")
    data = alt.Data(values=[_region_datum(mean, labels[mean.number], mean.number in marked) for mean in ordered])
    base = alt.Chart(data).encode(
        x=x,
        xOffset=alt.XOffset("condition:N", sort=None, scale=alt.Scale(domain=conditions, paddingOuter=1)),
        color=alt.Color("condition:N", **_named(conditions)),
        opacity=alt.condition(chosen, alt.value(1), alt.value(0.12)),
        tooltip=_region_tooltip(),
    )
    y = alt.Y("mean:Q", title=title, axis=alt.Axis(tickCount=6))
    layers = [
        base.mark_line(style="trend").encode(y=y),
        base.mark_rule(style="interval").encode(y=alt.Y("low:Q", title=title), y2=alt.Y2("high:Q", title=title)),
        base.mark_point(style="dot").encode(y=y, shape=alt.Shape("condition:N", **_named(conditions))),
    ]
    if not labels.keys().isdisjoint(marked):
        ground = alt.Chart(data).transform_filter("datum.marked").transform_aggregate(groupby=["region"])
        ground = ground.mark_rect(style="ground", tooltip=None)
        layers.insert(0, ground.encode(x=x, y=alt.value(0), y2=alt.value("height")))
    return alt.layer(*layers).add_params(chosen).properties(width=_vega.WIDTH, height=300)


def save(chart: altair.LayerChart, path: Path) -> None:
    """Write a chart as the suffix says: .svg, .png, .html (opens offline) or .json (Vega-Lite)."""
    suffix = path.suffix.lower()
    if suffix not in _vega.KINDS:
        known = ", ".join(_vega.KINDS)
        raise InputError(f"unknown kind of chart file {suffix!r}. Use one of {known}", file=path)
    data = _vega.KINDS[suffix](_vega.spec(chart))
    try:
        path.write_bytes(data)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", file=path) from None


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


def _rows(points: Sequence[Point]) -> list[str]:
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


def _row_axis(rows: list[str]) -> Any:
    alt = _vega.altair()
    heading = "split(datum.value, '\\n')[1] == ''"
    return alt.Y(
        "row:N",
        title=None,
        sort=None,
        scale=alt.Scale(domain=rows),
        axis=alt.Axis(
            labelExpr="split(datum.value, '\\n')[1] || split(datum.value, '\\n')[0]",
            labelFontWeight={"condition": {"test": heading, "value": "bold"}, "value": "normal"},
            gridOpacity={"condition": {"test": heading, "value": 0}, "value": 1},
            # On a phone the labels leave room for the dots.
            labelLimit={"expr": "containerSize()[0] > 0 ? min(260, 0.42 * containerSize()[0]) : 260"},
            grid=True,
            ticks=False,
            domain=False,
            labelPadding=8,
        ),
    )


def _region_axis(labels: list[str]) -> Any:
    alt = _vega.altair()
    narrow = f"width < {80 * len(labels)}"
    return alt.X(
        "region:N",
        title=None,
        sort=None,
        scale=alt.Scale(domain=labels, paddingInner=0.2, paddingOuter=0.1),
        axis=alt.Axis(
            # Number over name where there is room, aslant on one line where there is not.
            labelExpr=f"{narrow} ? replace(datum.value, '\\n', ' ') : split(datum.value, '\\n')",
            labelAngle={"expr": f"{narrow} ? -40 : 0"},
            labelAlign={"expr": f"{narrow} ? 'right' : 'center'"},
            labelBaseline={"expr": f"{narrow} ? 'middle' : 'top'"},
            labelLimit=120,
            labelOverlap=False,
            labelPadding=6,
            ticks=False,
            grid=False,
        ),
    )


def _named(names: list[str]) -> dict[str, Any]:
    """The scale and the legend of a colour or a shape for each name; as many in a row as there is room for."""
    alt = _vega.altair()
    widest = min(_vega.LABEL, 7 * max(map(len, names), default=0)) + 40
    room = f"(containerSize()[0] > 0 ? containerSize()[0] - 80 : {_vega.WIDTH})"
    legend = alt.Legend(columns={"expr": f"max(1, floor({room} / {widest}))"})
    return {"title": None, "sort": None, "scale": alt.Scale(domain=names), "legend": legend}


def _dot_tooltip(title: str, *, share: bool, several: bool) -> list[Any]:
    alt = _vega.altair()
    number = ".1%" if share else ".4~g"
    return [
        alt.Tooltip("name:N", title="of"),
        *([alt.Tooltip("series:N", title="model")] if several else []),
        alt.Tooltip("value:Q", title=title, format=number),
        alt.Tooltip("low:Q", title="from", format=number),
        alt.Tooltip("high:Q", title="to", format=number),
        alt.Tooltip("n:Q", title="n"),
    ]


def _region_tooltip() -> list[Any]:
    alt = _vega.altair()
    return [
        alt.Tooltip("condition:N"),
        alt.Tooltip("region:N"),
        alt.Tooltip("mean:Q", format=".2f"),
        alt.Tooltip("low:Q", title="from", format=".2f"),
        alt.Tooltip("high:Q", title="to", format=".2f"),
        alt.Tooltip("n:Q", title="items"),
    ]


def _flat(text: str) -> str:
    """`text` on one line: a line end parts group and row, number and name, on an axis."""
    return " ".join(text.split()) or "–"
