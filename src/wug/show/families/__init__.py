"""What a report shows of a result: a module here is a family's section, `_generic` everyone else's.

A module offers
    headline(result) -> str | None      the check that stands for the result in the overview
    section(result, place) -> Section   a template of the folder `templates` and what it shows
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wug.types import Estimate, Result

if TYPE_CHECKING:
    import altair


@dataclass(frozen=True, slots=True)
class Place:
    """Where on the page a section stands, and how much of the page it may take."""

    id: str
    room: int
    """Items to show one by one."""
    export: str
    """The command that writes all of them."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart with its words, and its numbers as a table."""

    id: str
    chart: altair.LayerChart
    title: str
    note: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Section:
    """The part of the page about one result."""

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Shown:
    """An estimate as it stands on the page."""

    check: str
    name: str
    reading: str
    group: str
    text: str
    """Such as `78.9 %`."""
    interval: str
    """Such as `[56.7, 91.5]`; empty without one."""
    n: int
    share: bool
    value: float
    low: float | None
    high: float | None


def shown(result: Result, estimate: Estimate) -> Shown:
    """An estimate as it stands on the page: shares in per cent, anything else as it is."""
    share = result.check(estimate.check).unit == "share"
    low, high = _finite(estimate.low), _finite(estimate.high)
    return Shown(
        check=estimate.check,
        name=plain(estimate.check),
        reading=result.check(estimate.check).meaning,
        group=estimate.group,
        text=percent(estimate.value) if share else number(estimate.value),
        interval=_interval(low, high, share),
        n=estimate.n,
        share=share,
        value=estimate.value,
        low=low,
        high=high,
    )


def overall(result: Result) -> list[Shown]:
    """The estimates over all items that are for a first look."""
    return [shown(result, estimate) for estimate in result.headlines]


def plain(check: str) -> str:
    """A check's name in plain letters: `prediction 0`."""
    return check.replace("_", " ")


def percent(value: float) -> str:
    """`78.9 %`, which no line end divides."""
    return f"{_hundredfold(value)}\u00a0%" if math.isfinite(value) else "–"


def number(value: float) -> str:
    """Four figures of a number."""
    return f"{value:.4g}".replace("-", "−") if math.isfinite(value) else "–"


def bits(value: float) -> str:
    """Two decimals, with a real minus sign."""
    return f"{value:.2f}".replace("-", "−") if math.isfinite(value) else "–"


def first(rows: Sequence[Any], room: int) -> tuple[Sequence[Any], int]:
    """The rows that there is room for, and how many are left out."""
    return rows[:room], max(0, len(rows) - room)


def _interval(low: float | None, high: float | None, share: bool) -> str:
    if low is None or high is None:
        return ""
    if share:
        return f"[{_hundredfold(low)}, {_hundredfold(high)}]"
    return f"[{number(low)}, {number(high)}]"


def _hundredfold(value: float) -> str:
    # Adding 0 makes a rounded -0.0 plain.
    return f"{round(100 * value, 1) + 0.0:.1f}"


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
