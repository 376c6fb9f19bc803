"""The axes, legends and tooltips that charts are made with."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wug.views import vega

MANY = 40
"""Rows in a chart beyond which they stand closer together."""
SOLID = 4
"""Names whose lines are not dashed."""
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
"""Vega's shapes as paths, for legends outside it."""
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
    axis = alt.Axis(format="d", values=whole_ticks(least, most), grid=False, labelFlush=False)
    return alt.X("at:Q", title=title, scale=alt.Scale(domain=[least - air, most + air], nice=False), axis=axis)


def whole_ticks(least: float, most: float) -> list[int]:
    """About ten whole numbers from the least to the most, each once."""
    step = max(1, int(round_step((most - least) / 10)))
    return list(range(-int(-least // step) * step, int(most) + 1, step))


def round_step(width: float) -> float:
    """The first of 1, 2, 5, 10, … times a power of ten that is no less."""
    power = 10.0 ** math.floor(math.log10(width)) if width > 0 else 1.0
    return next(step * power for step in (1, 2, 5, 10) if step * power >= width * 0.999)


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


def dashed(names: Sequence[str]) -> dict[str, Any]:
    """The scale of a dash for each name: the first are solid, and those that follow have each their own."""
    named_ = solid(named(list(names)))
    return {**named_, "scale": vega.altair().Scale(domain=list(names), range=[dash(at) for at in range(len(names))])}


def dash(place: int) -> list[float]:
    """The dash of the name at a place."""
    return DASHES[0 if place < SOLID else 1 + (place - SOLID) % (len(DASHES) - 1)]


def shaped(names: Sequence[str]) -> dict[str, Any]:
    """The scale of a shape for each name, with two more shapes where the usual ones are too few."""
    found = solid(named(list(names)))
    if len(names) <= len(vega.SHAPES):
        return found
    return {**found, "scale": vega.altair().Scale(domain=list(names), range=[*vega.SHAPES, _STAR, _SALTIRE])}


@dataclass(frozen=True, slots=True)
class Choice:
    """A parameter that holds the names that are to be seen alone, and the test that keeps them."""

    param: Any
    test: str

    def legend(self, names: Sequence[str], of: str, ends: Mapping[str, float] | None = None) -> dict[str, Any]:
        """What a page needs to make a legend of buttons that set the parameter; `ends` are where lines end."""
        shapes = [*vega.SHAPES, _STAR, _SALTIRE] if len(names) > len(vega.SHAPES) else vega.SHAPES
        keys = [
            {
                "name": name,
                "colour": place % len(vega.PALETTE) + 1,
                "shape": OUTLINES.get(shape := shapes[place % len(shapes)], shape),
                **({} if ends is None else {"dash": dash(place), "end": ends.get(name)}),
            }
            for place, name in enumerate(names)
        ]
        return {"legend": {"param": self.param.name, "of": of, "keys": keys}}


def choice(field: str, chart: str) -> Choice:
    """A choice among the values of a field; charts that stand together have names of their own for it."""
    name = "chosen_" + re.sub(r"[^A-Za-z0-9]", "_", chart)
    param = vega.altair().param(name=name, value=[])
    return Choice(param, f"length({name}) == 0 || indexof({name}, datum.{field}) >= 0")


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
