"""Colours, axes and legends of charts, and charts as specifications, images and pages.

`spec` prepares a chart for a file, `page_spec` for a page, where every colour is a CSS variable, so that one chart
serves light, dark and print.
"""

from __future__ import annotations

import functools
import importlib
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from wug.errors import MissingExtra, needs_extra
from wug.formatting import escape_controls

if TYPE_CHECKING:
    import altair as alt

WIDTH_PX = 760
"""Width of a chart that is not on a page."""
PAGE_FONT = "Inter, system-ui, sans-serif"
MAX_LEGEND_LABEL_PX = 300
"""Maximum width of a name in a legend."""
# Distinguishable with red-green colour blindness, contrast at least 3:1 on white; shapes repeat the information.
PALETTE = ("#0072b2", "#c84e00", "#00795a", "#a3458c", "#7d6608", "#4b5563", "#5b5bd6", "#8c4a2f")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")
COLOURS = {"ink": "#1d2430", "faint": "#525b69", "grid": "#e3e6ec", "marked": "#f6edd2"}
# Attributes of an interactive chart, a fifth of the text, that a picture does not need.
_NOISE = re.compile(r' (?:aria-hidden|aria-roledescription|pointer-events|role|class)="[^"]*"')
_HTML = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Chart</title>
<script>{script}</script></head><body><div id="chart"></div>
<script>vegaEmbed("#chart", {spec}, {{"mode": "vega-lite", "renderer": "svg"}})</script></body></html>
"""
MAX_LOOSE_ROWS = 40
"""With more rows, they are drawn closer together."""
MAX_SOLID_LINES = 4
"""Lines that are solid; further ones are dashed."""
DASHES: tuple[list[float], ...] = ([1, 0], [7, 3], [2, 2.5], [9, 3, 2, 3], [4, 2])
OUTLINES = {
    "circle": "M-1,0A1,1 0 1 0 1,0A1,1 0 1 0 -1,0Z",
    "square": "M-.9,-.9H.9V.9H-.9Z",
    "triangle-up": "M0,-1L1.1,.9H-1.1Z",
    "diamond": "M0,-1.2L1,0L0,1.2L-1,0Z",
    "cross": "M-.35,-1H.35V-.35H1V.35H.35V1H-.35V.35H-1V-.35H-.35Z",
    "triangle-down": "M0,1L1.1,-.9H-1.1Z",
    "triangle-right": "M1,0L-.9,1.1V-1.1Z",
    "triangle-left": "M-1,0L.9,1.1V-1.1Z",
}
"""Vega's shapes as SVG paths, for legends in HTML."""
_STAR = "M0,-1.2L.35,-.35L1.2,0L.35,.35L0,1.2L-.35,.35L-1.2,0L-.35,-.35Z"
_SALTIRE = "M-1,-.6L-.6,-1L0,-.4L.6,-1L1,-.6L.4,0L1,.6L.6,1L0,.4L-.6,1L-1,.6L-.4,0Z"


class SeriesSelection(NamedTuple):
    """A parameter with the selected series, and the filter expression that keeps them."""

    param: Any
    test: str

    def legend(
        self, names: Sequence[str], series_noun: str, end_values: Mapping[str, float] | None = None
    ) -> dict[str, Any]:
        """Data for a legend of buttons that set the parameter; `end_values` are the last values of lines."""
        shapes = _shapes(names)
        keys = [
            {
                "name": name,
                "colour": index % len(PALETTE) + 1,
                "shape": OUTLINES.get(shape := shapes[index % len(shapes)], shape),
                **({} if end_values is None else {"dash": _dash(index), "end": end_values.get(name)}),
            }
            for index, name in enumerate(names)
        ]
        return {"legend": {"param": self.param.name, "of": series_noun, "keys": keys}}

    def added_to(self, chart: alt.LayerChart, legend: Mapping[str, Any]) -> alt.LayerChart:
        """The chart with the parameter and its legend; methods of Altair would copy all layers several times."""
        chart.params, chart.usermeta = [self.param.param], legend
        return chart


def spec(chart: alt.LayerChart | alt.VConcatChart) -> dict[str, Any]:
    """The Vega-Lite specification of a chart, styled for a file."""
    config = _config("Liberation Sans, Arial, Helvetica, sans-serif", lambda name, colour: colour)
    return {**unstyled_spec(chart), "config": {**config, "background": "white"}}


def styled_chart(
    chart: alt.LayerChart | alt.VConcatChart, style: Callable[[dict[str, Any]], dict[str, Any]] = dict
) -> alt.LayerChart:
    """The styled chart, for a notebook; `style` changes its specification."""
    styled_copy: alt.LayerChart = type(chart).from_dict(style(spec(chart)), validate=False)
    return styled_copy


def unstyled_spec(chart: alt.LayerChart | alt.VConcatChart) -> dict[str, Any]:
    """The specification of a chart without styles, which takes longest to compute."""
    # Altair checked each part when it was made; checking the whole again takes most of the time.
    raw_spec: dict[str, Any] = without_controls(chart.to_dict(validate=False))
    return raw_spec


def page_spec(chart: alt.LayerChart | Mapping[str, Any]) -> dict[str, Any]:
    """The specification for a page: container width, colours as CSS variables, without legends that the page makes."""
    page = _page_spec(chart)
    if "legend" in (page.get("usermeta") or {}):
        page["layer"] = [
            {**layer, "encoding": {key: _without_legend(key, channel) for key, channel in layer["encoding"].items()}}
            if "encoding" in layer
            else layer
            for layer in page["layer"]
        ]
    return page


def _without_legend(name: str, channel: Any) -> Any:
    return {**channel, "legend": None} if name in ("color", "shape", "strokeDash") else channel


def _page_spec(chart: alt.LayerChart | Mapping[str, Any]) -> dict[str, Any]:
    config = _config(PAGE_FONT, lambda name, colour: f"var(--chart-{name}, {colour})")
    return {
        **(chart if isinstance(chart, Mapping) else unstyled_spec(chart)),
        "width": "container",
        "autosize": {"type": "fit-x", "contains": "padding"},
        "config": {**config, "background": "transparent"},
    }


def without_controls(value: Any) -> Any:
    """A specification without control characters, at which vl_convert aborts."""
    if isinstance(value, str):
        return escape_controls(value)
    if isinstance(value, dict):
        return {key: without_controls(entry) for key, entry in value.items()}
    return [without_controls(entry) for entry in value] if isinstance(value, list) else value


def page_svg(chart: alt.LayerChart | Mapping[str, Any]) -> str:
    """The chart as SVG, for a page without JavaScript."""
    fixed_spec = {**_page_spec(chart), "width": WIDTH_PX, "autosize": "pad"}
    fixed_spec["config"] = {**fixed_spec["config"], "aria": False}
    return re.sub(r"<[a-z][^>]*>", lambda tag: _NOISE.sub("", tag[0]), _convert(fixed_spec, "svg"))


@functools.cache
def javascript() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script for an inline `<script>`."""
    text: str = vl_convert().javascript_bundle(vl_version=_vega_lite_version())
    return text.replace("\r\n", "\n").replace("</script", "<\\/script").replace("<!--", "<\\!--").strip()


def altair() -> ModuleType:
    """altair, or MissingExtra."""
    with needs_extra("the report", "report"):
        return importlib.import_module("altair")


def vl_convert() -> ModuleType:
    """vl_convert, or MissingExtra."""
    with needs_extra("the report", "report"):
        return importlib.import_module("vl_convert")


def can_draw() -> bool:
    """Whether the packages that draw charts are installed."""
    try:
        altair()
        vl_convert()
    except MissingExtra:
        return False
    return True


def _config(font: str, colour: Callable[[str, str], str]) -> dict[str, Any]:
    """The style of every chart; `colour(name, default)` returns the value of a colour."""
    ink, secondary_ink, grid, marked_ground = (colour(name, default) for name, default in COLOURS.items())
    palette = [colour(str(number), default) for number, default in enumerate(PALETTE, 1)]
    axis = {
        "labelColor": ink,
        "titleColor": secondary_ink,
        "gridColor": grid,
        "domainColor": grid,
        "tickColor": grid,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 10,
    }
    return {
        "font": font,
        "view": {"stroke": None},
        "axis": axis,
        "legend": {
            "orient": "top",
            "direction": "horizontal",
            "labelColor": ink,
            "labelFontSize": 12,
            "labelLimit": MAX_LEGEND_LABEL_PX,
            "symbolSize": 80,
            "symbolStrokeWidth": 2,
        },
        "title": {
            "anchor": "start",
            "frame": "group",
            "color": ink,
            "subtitleColor": secondary_ink,
            "fontSize": 15,
            "subtitleFontSize": 12,
            "subtitlePadding": 4,
            "offset": 14,
        },
        "range": {"category": palette, "symbol": list(SHAPES)},
        "style": {
            "dot": {"filled": True, "opacity": 1, "size": 70, "color": palette[0]},
            "interval": {"strokeWidth": 2, "strokeCap": "round", "color": palette[0]},
            "trend": {"strokeWidth": 1.5, "strokeOpacity": 0.75},
            "ground": {"color": marked_ground, "cornerRadius": 4},
            "chance": {"color": secondary_ink, "strokeDash": [5, 3], "strokeWidth": 1.5},
            "chance-label": {"color": secondary_ink, "fontSize": 11},
        },
    }


def _vega_lite_version() -> str:
    """Altair's Vega-Lite version in the notation of vl_convert."""
    return "_".join(str(altair().SCHEMA_VERSION).split(".")[:2])


def _convert(spec: dict[str, Any], format: str, **options: float) -> Any:
    return getattr(vl_convert(), f"vegalite_to_{format}")(spec, vl_version=_vega_lite_version(), **options)


CHART_WRITERS: Mapping[str, Callable[[dict[str, Any]], bytes]] = {
    ".svg": lambda spec: _convert(spec, "svg").encode(),
    ".png": lambda spec: _convert(spec, "png", scale=2),
    ".pdf": lambda spec: _convert(spec, "pdf"),
    ".html": lambda spec: _HTML.format(script=javascript(), spec=json.dumps(spec).replace("<", "\\u003c")).encode(),
    ".json": lambda spec: (json.dumps(spec, indent=2, ensure_ascii=False) + "\n").encode(),
}
"""Functions that convert a specification, by suffix."""


def row_height_px(rows: Sequence[str]) -> int:
    """Height of a row in pixels."""
    return 24 if len(rows) <= MAX_LOOSE_ROWS else 19


def value_axis(share: bool) -> dict[str, Any]:
    """Scale and axis of values; from 0 to 100% for proportions."""
    alt = altair()
    scale = alt.Scale(domain=[0, 1]) if share else alt.Scale(zero=False)
    # "~g" would write tens as 2e+1.
    return {"scale": scale, "axis": alt.Axis(format="%" if share else "~f", tickCount=5, grid=True)}


def count_axis(xs: Sequence[float], title: str) -> Any:
    """A horizontal axis of integers, with padding at both ends."""
    alt = altair()
    minimum, maximum = min(xs, default=0), max(xs, default=0)
    padding = max(0.5, 0.02 * (maximum - minimum))
    axis = alt.Axis(format="d", values=whole_ticks(minimum, maximum), grid=False, labelFlush=False)
    return alt.X(
        "at:Q", title=title, scale=alt.Scale(domain=[minimum - padding, maximum + padding], nice=False), axis=axis
    )


def whole_ticks(minimum: float, maximum: float) -> list[int]:
    """About ten integers between two numbers."""
    step = max(1, int(round_step((maximum - minimum) / 10)))
    return list(range(-int(-minimum // step) * step, int(maximum) + 1, step))


def round_step(width: float) -> float:
    """The smallest 1, 2, 5 or 10 times a power of ten that is at least `width`."""
    power = 10.0 ** math.floor(math.log10(width)) if width > 0 else 1.0
    return next(step * power for step in (1, 2, 5, 10) if step * power >= width * 0.999)


def row_axis(rows: list[str]) -> Any:
    """A vertical axis of names with headings."""
    alt = altair()
    heading = "split(datum.value, '\\n')[1] == ''"
    # On a phone, labels leave space for the dots.
    limit = "(containerSize()[0] > 0 ? min(340, 0.42 * containerSize()[0]) : 340)"
    # Names that differ only at their ends are shortened in the middle.
    name = f"truncate(split(datum.value, '\\n')[1], floor({limit} / 7.2), 'center')"
    return alt.Y(
        "row:N",
        title=None,
        sort=None,
        scale=alt.Scale(domain=rows),
        axis=alt.Axis(
            labelExpr=f"{heading} ? split(datum.value, '\\n')[0] : {name}",
            labelFontWeight={"condition": {"test": heading, "value": "bold"}, "value": "normal"},
            gridOpacity={"condition": {"test": heading, "value": 0}, "value": 1},
            labelLimit={"expr": limit},
            grid=True,
            ticks=False,
            domain=False,
            labelPadding=8,
        ),
    )


def series_scale(names: Sequence[str], **legend_options: Any) -> dict[str, Any]:
    """Scale and legend of one colour or shape per name."""
    alt = altair()
    widest = min(MAX_LEGEND_LABEL_PX, 7 * max(map(len, names), default=0)) + 40
    room = f"(containerSize()[0] > 0 ? containerSize()[0] - 80 : {WIDTH_PX})"
    columns = {"expr": f"max(1, floor({room} / {widest}))"}
    legend = alt.Legend(columns=columns, columnPadding=18, **legend_options)
    return {"title": None, "sort": None, "scale": alt.Scale(domain=list(names)), "legend": legend}


def palette_scale(names: list[str], positions: Mapping[str, int]) -> dict[str, Any]:
    """`series_scale` with the colours at given positions of the palette, counted from 1."""
    by_position = {positions.get(name, number): name for number, name in enumerate(names, 1)}
    # An unused name reserves an unused colour.
    domain = [by_position.get(position, f" {position} ") for position in range(1, max(by_position, default=0) + 1)]
    return {**series_scale(names, values=names), "scale": altair().Scale(domain=domain)}


def opaque_legend(names: Sequence[str]) -> dict[str, Any]:
    """`series_scale` with an opaque legend."""
    return series_scale(names, symbolOpacity=1)


def dash_scale(names: Sequence[str]) -> dict[str, Any]:
    """The scale of dash patterns: the first names are solid."""
    patterns = [_dash(index) for index in range(len(names))]
    return {**opaque_legend(names), "scale": altair().Scale(domain=list(names), range=patterns)}


def _dash(index: int) -> list[float]:
    return DASHES[0 if index < MAX_SOLID_LINES else 1 + (index - MAX_SOLID_LINES) % (len(DASHES) - 1)]


def shape_scale(names: Sequence[str]) -> dict[str, Any]:
    """The scale of shapes, with two more if Vega's are too few."""
    shapes = {"range": _shapes(names)} if len(names) > len(SHAPES) else {}
    return {**opaque_legend(names), "scale": altair().Scale(domain=list(names), **shapes)}


def _shapes(names: Sequence[str]) -> list[str]:
    return [*SHAPES, _STAR, _SALTIRE] if len(names) > len(SHAPES) else list(SHAPES)


def series_selection(field: str, chart: str) -> SeriesSelection:
    """A selection among the values of a field; the name of its parameter is unique per chart."""
    name = "chosen_" + re.sub(r"[^A-Za-z0-9]", "_", chart)
    param = altair().param(name=name, value=[])
    return SeriesSelection(param, f"length({name}) == 0 || indexof({name}, datum.{field}) >= 0")


def tooltips(*columns: tuple[str, ...]) -> list[Any]:
    """Tooltips: each a field with its type, and the title and the format if it has them."""
    keys = ("shorthand", "title", "format")
    return [altair().Tooltip(**dict(zip(keys, column, strict=False))) for column in columns]


def value_tooltip(*leading_columns: tuple[str, ...], title: str, share: bool) -> list[Any]:
    """Tooltip with value, interval and n."""
    pattern = ".1%" if share else ".4~g"
    values = (("value:Q", title, pattern), ("low:Q", "from", pattern), ("high:Q", "to", pattern), ("n:Q", "n"))
    return tooltips(*leading_columns, *values)
