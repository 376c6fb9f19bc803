"""Numbers as they stand in every medium: shares in per cent, intervals in the unit of their value."""

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
    """Such as `[56.7, 91.5]`, or `± 2.0` for a deviation between runs; `no interval` where none holds; else empty."""
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
        text=value_text(estimate.value, share=share),
        interval=interval_text(low, high, estimate.method, share=share),
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


def value_text(value: float, *, share: bool) -> str:
    """A share in per cent, anything else as a number."""
    return percent(value) if share else number(value)


def interval_text(low: float | None, high: float | None, method: str | None, *, share: bool) -> str:
    """An interval in the unit of its value; empty without one."""
    if low is None or high is None:
        return "no interval" if (method or "").startswith("none:") else ""
    if is_deviation(method):
        return f"± {_bare((high - low) / 2, share)}"
    return f"[{_bare(low, share)}, {_bare(high, share)}]"


def signed_text(value: float, *, share: bool) -> str:
    """A difference with its sign and without its unit: percentage points for shares."""
    text = _bare(value, share)
    return f"+{text}" if value > 0 and text.strip("0.") else text


def is_deviation(method: str | None) -> bool:
    """Whether what stands for an interval is one standard deviation between runs, either side."""
    return "sd" in (method or "").split()


def spaced(text: str) -> str:
    """The same with spaces that any program takes for such, as in a terminal or a table for a paper."""
    return text.replace("\u00a0", " ")


def percent(value: float) -> str:
    """`78.9 %`, which no line end divides."""
    return f"{_hundredfold(value)}\u00a0%" if math.isfinite(value) else "–"


LONG = 1e15
"""Numbers from here on are written with an exponent."""


def number(value: float) -> str:
    """A number to four figures, and all before its point: `0.04`, `12.35`, `12346`."""
    if not math.isfinite(value):
        return "–"
    # Adding 0 makes -0.0 plain.
    return f"{value + 0.0:{'.0f' if 1000 <= abs(value) < LONG else '.4g'}}".replace("-", "−")


def bits(value: float) -> str:
    """Two decimals, with a real minus sign."""
    return f"{value:.2f}".replace("-", "−") if math.isfinite(value) else "–"


def finite(value: object) -> float | None:
    """`value` where it is a number that can be shown."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def _bare(value: float, share: bool) -> str:
    """A value without its unit."""
    return _hundredfold(value) if share else number(value)


def _hundredfold(value: float) -> str:
    # Adding 0 makes a rounded -0.0 plain.
    return f"{round(100 * value, 1) + 0.0:.1f}".replace("-", "−")
