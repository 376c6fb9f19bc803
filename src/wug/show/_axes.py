"""The axes, legends and tooltips that charts are made with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wug.show import vega

MANY = 40
"""Rows in a chart beyond which they stand closer together."""
_STAR = "M0,-1.2L.35,-.35L1.2,0L.35,.35L0,1.2L-.35,.35L-1.2,0L-.35,-.35Z"
_SALTIRE = "M-1,-.6L-.6,-1L0,-.4L.6,-1L1,-.6L.4,0L1,.6L.6,1L0,.4L-.6,1L-1,.6L-.4,0Z"


def step(rows: Sequence[str]) -> int:
    """Pixels for a row: fewer where there are many."""
    return 24 if len(rows) <= MANY else 19


def value_axis(share: bool) -> dict[str, Any]:
    """The scale and axis of values; of shares, from 0 to 100 %."""
    alt = vega.altair()
    scale = alt.Scale(domain=[0, 1]) if share else alt.Scale(zero=False)
    # "~g" would write tens as 2e+1.
    return {"scale": scale, "axis": alt.Axis(format="%" if share else "~f", tickCount=5, grid=True)}


def count_axis(places: Sequence[float], title: str) -> Any:
    """A horizontal axis of whole numbers, with a little air at both ends."""
    alt = vega.altair()
    least, most = min(places, default=0), max(places, default=0)
    air = max(0.5, 0.02 * (most - least))
    axis = alt.Axis(format="d", tickMinStep=1, grid=False, labelFlush=False)
    return alt.X("x:Q", title=title, scale=alt.Scale(domain=[least - air, most + air], nice=False), axis=axis)


def row_axis(rows: list[str]) -> Any:
    """A vertical axis of names, each under its heading."""
    alt = vega.altair()
    heading = "split(datum.value, '\\n')[1] == ''"
    # On a phone the labels leave room for the dots.
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


def region_axis(labels: list[str]) -> Any:
    """A horizontal axis of the regions of a sentence."""
    alt = vega.altair()
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


def named(names: list[str]) -> dict[str, Any]:
    """The scale and the legend of a colour or a shape for each name; as many in a row as there is room for."""
    alt = vega.altair()
    widest = min(vega.LABEL, 7 * max(map(len, names), default=0)) + 40
    room = f"(containerSize()[0] > 0 ? containerSize()[0] - 80 : {vega.WIDTH})"
    legend = alt.Legend(columns={"expr": f"max(1, floor({room} / {widest}))"}, columnPadding=18)
    return {"title": None, "sort": None, "scale": alt.Scale(domain=names), "legend": legend}


def coloured(names: list[str], places: Mapping[str, int]) -> dict[str, Any]:
    """The same with the colours at `places` of the palette, the first of which is 1; others take their turn."""
    alt = vega.altair()
    wanted = {places.get(name, number): name for number, name in enumerate(names, 1)}
    # A name that nothing has holds the place of a colour that nothing takes.
    domain = [wanted.get(place, f" {place} ") for place in range(1, max(wanted, default=0) + 1)]
    found = named(names)
    return {**found, "scale": alt.Scale(domain=domain), "legend": alt.Legend(**found["legend"].to_dict(), values=names)}


def solid(named: Mapping[str, Any]) -> dict[str, Any]:
    """The same with a legend that stays as it is where marks are faint."""
    return {**named, "legend": vega.altair().Legend(**named["legend"].to_dict(), symbolOpacity=1)}


def dashed(names: list[str]) -> dict[str, Any]:
    """The scale of a dash for each name: those that have to share a colour with an earlier one are dashed."""
    colours = len(vega.PALETTE)
    dashes = [[1, 0] if place < colours else [5, 4] for place in range(len(names))]
    return {**solid(named(names)), "scale": vega.altair().Scale(domain=names, range=dashes)}


def shaped(names: list[str]) -> dict[str, Any]:
    """The scale of a shape for each name, with two more shapes where the usual ones are too few."""
    found = solid(named(names))
    if len(names) <= len(vega.SHAPES):
        return found
    return {**found, "scale": vega.altair().Scale(domain=names, range=[*vega.SHAPES, _STAR, _SALTIRE])}


def value_tooltip(*first: Any, title: str, share: bool) -> list[Any]:
    """What a value is of, then the value with its interval and n."""
    alt = vega.altair()
    number = ".1%" if share else ".4~g"
    return [
        *first,
        alt.Tooltip("value:Q", title=title, format=number),
        alt.Tooltip("low:Q", title="from", format=number),
        alt.Tooltip("high:Q", title="to", format=number),
        alt.Tooltip("n:Q", title="n"),
    ]


def region_tooltip() -> list[Any]:
    """The mean of a region in a condition."""
    alt = vega.altair()
    return [
        alt.Tooltip("condition:N"),
        alt.Tooltip("region:N"),
        alt.Tooltip("mean:Q", format=".2f"),
        alt.Tooltip("low:Q", title="from", format=".2f"),
        alt.Tooltip("high:Q", title="to", format=".2f"),
        alt.Tooltip("n:Q", title="items"),
    ]
