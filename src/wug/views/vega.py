"""A chart's colours, and what it becomes: a specification, a picture, a page.

`spec` dresses a chart for a file; `page_spec` for a page, where every colour is a CSS variable, so that one
chart serves light, dark and paper.
"""

from __future__ import annotations

import functools
import importlib
import json
import re
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from wug.errors import MissingExtra
from wug.views.markup import visible

if TYPE_CHECKING:
    import altair as alt

WIDTH = 760
"""Pixels, where a chart has no page to fit into."""
PAGE_FONT = "Inter, system-ui, sans-serif"
LABEL = 300
"""Pixels that a name in a legend may take."""
# Told apart by people who see red and green alike, each 3:1 or more against white; shapes say the same again.
PALETTE = ("#0072b2", "#c84e00", "#00795a", "#a3458c", "#7d6608", "#4b5563", "#5b5bd6", "#8c4a2f")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")
COLOURS = {"ink": "#1d2430", "faint": "#525b69", "grid": "#e3e6ec", "marked": "#f6edd2"}

# Attributes of a live chart, a fifth of the text, that say nothing in a still one.
_NOISE = re.compile(r' (?:aria-hidden|aria-roledescription|pointer-events|role|class)="[^"]*"')

_HTML = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Chart</title>
<script>{script}</script></head><body><div id="chart"></div>
<script>vegaEmbed("#chart", {spec}, {{"mode": "vega-lite", "renderer": "svg"}})</script></body></html>
"""


def spec(chart: alt.LayerChart | alt.VConcatChart) -> dict[str, Any]:
    """The Vega-Lite specification of a chart, dressed for a file of its own."""
    config = _config("Liberation Sans, Arial, Helvetica, sans-serif", lambda name, colour: colour)
    return {**undressed(chart), "config": {**config, "background": "white"}}


def dressed(chart: alt.LayerChart | alt.VConcatChart) -> alt.LayerChart:
    """The chart with its colours, for a notebook."""
    made: alt.LayerChart = altair().Chart.from_dict(spec(chart))
    return made


def undressed(chart: alt.LayerChart | alt.VConcatChart) -> dict[str, Any]:
    """What a chart shows, without its look: what takes longest of a page's specification and of its picture."""
    made: dict[str, Any] = drawable(chart.to_dict())
    return made


def page_spec(chart: alt.LayerChart | Mapping[str, Any]) -> dict[str, Any]:
    """The specification for a page: as wide as its place, every colour a CSS variable, legends left to the page."""
    return _without_legends(_page_spec(chart))


def _page_spec(chart: alt.LayerChart | Mapping[str, Any]) -> dict[str, Any]:
    """The specification of a chart, or of one that is undressed already."""
    config = _config(PAGE_FONT, lambda name, colour: f"var(--chart-{name}, {colour})")
    return {
        **(chart if isinstance(chart, Mapping) else undressed(chart)),
        "width": "container",
        "autosize": {"type": "fit-x", "contains": "padding"},
        "config": {**config, "background": "transparent"},
    }


def _without_legends(made: dict[str, Any]) -> dict[str, Any]:
    """The chart without its legend, where it says of what the page can make one that every reader can use."""
    if "legend" not in (made.get("usermeta") or {}) or "layer" not in made:
        return made
    return {**made, "layer": [_without_legend(layer) for layer in made["layer"]]}


def _without_legend(layer: dict[str, Any]) -> dict[str, Any]:
    if "encoding" not in layer:
        return layer
    told = {"color", "shape", "strokeDash"}
    encoding = {
        channel: {**value, "legend": None} if channel in told else value for channel, value in layer["encoding"].items()
    }
    return {**layer, "encoding": encoding}


def drawable(value: Any) -> Any:
    """A part of a specification, its text without characters that no picture can have: at them vl_convert aborts."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {key: drawable(inner) for key, inner in value.items()}
    return [drawable(inner) for inner in value] if isinstance(value, list) else value


def page_svg(chart: alt.LayerChart | Mapping[str, Any]) -> str:
    """The same picture as SVG text: what a page shows before, or without, JavaScript."""
    fixed = {**_page_spec(chart), "width": WIDTH, "autosize": "pad"}
    fixed["config"] = {**fixed["config"], "aria": False}
    return re.sub(r"<[a-z][^>]*>", lambda tag: _NOISE.sub("", tag[0]), _svg(fixed))


@functools.cache
def javascript() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script that may stand inside an HTML page."""
    text: str = vl_convert().javascript_bundle(vl_version=_version())
    return text.replace("\r\n", "\n").replace("</script", "<\\/script").replace("<!--", "<\\!--").strip()


def altair() -> ModuleType:
    """altair, or MissingExtra."""
    return _extra("altair")


def vl_convert() -> ModuleType:
    """vl_convert, or MissingExtra."""
    return _extra("vl_convert")


def can_draw() -> bool:
    """Whether the packages that draw charts are installed."""
    try:
        altair()
        vl_convert()
    except MissingExtra:
        return False
    return True


def _extra(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingExtra("the report", "report") from None


def _config(font: str, colour: Callable[[str, str], str]) -> dict[str, Any]:
    """The look of every chart; `colour(name, usual)` says how a colour is written."""
    ink, faint, grid, marked = (colour(name, usual) for name, usual in COLOURS.items())
    palette = [colour(str(number), usual) for number, usual in enumerate(PALETTE, 1)]
    axis = {
        "labelColor": ink,
        "titleColor": faint,
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
            "labelLimit": LABEL,
            "symbolSize": 80,
            "symbolStrokeWidth": 2,
        },
        "range": {"category": palette, "symbol": list(SHAPES)},
        "style": {
            "dot": {"filled": True, "opacity": 1, "size": 70, "color": palette[0]},
            "interval": {"strokeWidth": 2, "strokeCap": "round", "color": palette[0]},
            "trend": {"strokeWidth": 1.5, "strokeOpacity": 0.75},
            "ground": {"color": marked, "cornerRadius": 4},
        },
    }


def _svg(dressed: dict[str, Any]) -> str:
    svg: str = vl_convert().vegalite_to_svg(dressed, vl_version=_version())
    return svg


def _version() -> str:
    """The Vega-Lite version that altair writes, as vl_convert names it."""
    return "_".join(str(altair().SCHEMA_VERSION).split(".")[:2])


def _png(dressed: dict[str, Any]) -> bytes:
    data: bytes = vl_convert().vegalite_to_png(dressed, vl_version=_version(), scale=2)
    return data


def _html(dressed: dict[str, Any]) -> bytes:
    safe = json.dumps(dressed).replace("<", "\\u003c")
    return _HTML.format(script=javascript(), spec=safe).encode()


def _json(dressed: dict[str, Any]) -> bytes:
    return (json.dumps(dressed, indent=2, ensure_ascii=False) + "\n").encode()


def _picture(dressed: dict[str, Any]) -> bytes:
    return _svg(dressed).encode()


KINDS: Mapping[str, Callable[[dict[str, Any]], bytes]] = {
    ".svg": _picture,
    ".png": _png,
    ".html": _html,
    ".json": _json,
}
"""How a dressed chart is written, by suffix."""
