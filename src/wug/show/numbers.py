"""Numbers as they stand in every view: shares in per cent, intervals in the unit of their value."""

from __future__ import annotations

import math
from dataclasses import dataclass

from wug.types import Estimate, Result


@dataclass(frozen=True, slots=True)
class Shown:
    """An estimate as a reader sees it."""

    check: str
    name: str
    reading: str
    """What it means."""
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
    """An estimate as a reader sees it: shares in per cent, anything else as it is."""
    check = result.check(estimate.check)
    share = check.unit == "share"
    low, high = finite(estimate.low), finite(estimate.high)
    return Shown(
        check=estimate.check,
        name=plain(estimate.check),
        reading=check.meaning,
        group=estimate.group,
        text=percent(estimate.value) if share else number(estimate.value),
        interval=_interval(low, high, share),
        n=estimate.n,
        share=share,
        value=estimate.value,
        low=low,
        high=high,
    )


def headlines(result: Result) -> tuple[Shown, ...]:
    """The estimates over all items that are for a first look."""
    return tuple(shown(result, estimate) for estimate in result.headlines)


def others(result: Result) -> tuple[Shown, ...]:
    """The estimates over all items that are for a second look."""
    first = {estimate.check for estimate in result.headlines}
    whole = (estimate for estimate in result.estimates if estimate.group == "all")
    return tuple(shown(result, estimate) for estimate in whole if estimate.check not in first)


def plain(name: str) -> str:
    """A name in plain letters: `prediction 0`."""
    return name.replace("_", " ")


def percent(value: float) -> str:
    """`78.9 %`, which no line end divides."""
    return f"{_hundredfold(value)}\u00a0%" if math.isfinite(value) else "–"


def number(value: float) -> str:
    """Four figures of a number."""
    return f"{value:.4g}".replace("-", "−") if math.isfinite(value) else "–"


def bits(value: float) -> str:
    """Two decimals, with a real minus sign."""
    return f"{value:.2f}".replace("-", "−") if math.isfinite(value) else "–"


def finite(value: object) -> float | None:
    """`value` where it is a number that can be shown."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def _interval(low: float | None, high: float | None, share: bool) -> str:
    if low is None or high is None:
        return ""
    text = _hundredfold if share else number
    return f"[{text(low)}, {text(high)}]"


def _hundredfold(value: float) -> str:
    # Adding 0 makes a rounded -0.0 plain.
    return f"{round(100 * value, 1) + 0.0:.1f}"
