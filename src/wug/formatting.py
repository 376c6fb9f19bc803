"""Numbers as text, alike in every medium: shares in per cent, intervals in the unit of their value."""

from __future__ import annotations

import math


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
