"""Numbers, estimates and names as text, the same in the terminal, in files and on pages."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from wug import registry
from wug.identity import OVERALL
from wug.outcomes import Better, IntervalMethod

if TYPE_CHECKING:
    from wug.outcomes import Estimate, Result

MIN_EXPONENT_VALUE = 1e15
"""Numbers from here on are written with an exponent."""
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class FormattedEstimate:
    """An estimate with its value and interval as text."""

    metric: str
    name: str
    meaning: str
    """What the metric measures."""
    group: str
    text: str
    """Such as `78.9%`."""
    interval: str
    """Such as `[56.7, 91.5]`, or `± 2.0` for a standard deviation between runs; `no interval` if none is valid."""
    n: int
    share: bool
    value: float
    low: float | None
    high: float | None
    better: Better = "higher"

    @property
    def goodness(self) -> float:
        """The value, negated if lower values are better."""
        return -self.value if self.better == "lower" else self.value


def format_estimate(result: Result, estimate: Estimate, group: str = "") -> FormattedEstimate:
    """An estimate of a result as text: proportions as percentages, other values as numbers; `group` names it."""
    metric = result.metric(estimate.metric)
    share = metric.unit == "share"
    low, high = finite_or_none(estimate.low), finite_or_none(estimate.high)
    measurable = not share or estimate.value > 0 or result.measurable
    return FormattedEstimate(
        metric=estimate.metric,
        name=metric_label(estimate.metric, result.kind),
        meaning=metric.meaning,
        group=group or estimate.group,
        text=value_text(estimate.value, share=share, unit=metric.unit) if measurable else "not measurable",
        interval=interval_text(low, high, estimate.method, share=share) if measurable else "",
        n=estimate.n,
        share=share and measurable,
        value=estimate.value,
        low=low,
        high=high,
        better=metric.better,
    )


def headlines(result: Result) -> tuple[FormattedEstimate, ...]:
    """The headline estimates over all items."""
    return tuple(format_estimate(result, estimate) for estimate in result.headlines)


def other_estimates(result: Result) -> tuple[FormattedEstimate, ...]:
    """The estimates over all items that are not headlines."""
    headline_metrics = {estimate.metric for estimate in result.headlines}
    overall = (estimate for estimate in result.estimates if estimate.group == OVERALL)
    return tuple(format_estimate(result, estimate) for estimate in overall if estimate.metric not in headline_metrics)


def headline_estimate(result: Result | None) -> FormattedEstimate | None:
    """The headline of a result; None if it has none."""
    return None if result is None or result.headline is None else format_estimate(result, result.headline)


def plural(number: int, name: str, names: str = "") -> str:
    """`1 item`, `1,200 items`."""
    return f"{number:,} {name if number == 1 else names or name + 's'}"


def first_items(items: Iterable[object], limit: int = 5) -> str:
    """The first items, for a message: `1, 2, 3, 4, 5, …`."""
    texts = list(map(str, items))
    return ", ".join([*texts[:limit], *["…"][: len(texts) > limit]])


def local_time(text: str | None) -> str:
    """A timestamp of the store in short form, in local time; other text unchanged."""
    if not text:
        return ""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    local = moment.astimezone() if moment.tzinfo else moment.replace(tzinfo=UTC).astimezone()
    return f"{local.day} {local:%b %Y, %H:%M}"


def spaced_name(name: str) -> str:
    """A name with spaces for underscores."""
    return name.replace("_", " ")


def metric_label(metric: str, kind: str) -> str:
    """The name of a metric of a family, as people see it."""
    label = registry.family_traits(kind).metric_label
    return spaced_name(label(metric) if label else metric)


def one_line(text: str) -> str:
    """`text` on one line, since line ends separate the parts of a key."""
    return " ".join(text.split()) or "–"


def escape_controls(text: str) -> str:
    r"""Escape control characters, characters that change the writing direction, and surrogates, such as `\x1b`.

    Line feeds and tabs stay.
    """
    return _CONTROL.sub(_escape, text)


def value_text(value: float, *, share: bool, unit: str = "") -> str:
    """A proportion as a percentage, anything else as a number; bits with their unit."""
    return percent(value) if share else f"{number(value)} bits" if unit == "bits" else number(value)


def interval_text(low: float | None, high: float | None, method: str | None, *, share: bool) -> str:
    """An interval in the unit of its value; empty without one."""
    parts = IntervalMethod.parse(method)
    if low is None or high is None:
        return "no interval" if parts.reason else ""
    if parts.is_deviation:
        return f"± {_bare((high - low) / 2, share)}"
    return f"[{_bare(low, share)}, {_bare(high, share)}]"


def signed_text(value: float, *, share: bool) -> str:
    """A difference with its sign and without its unit: percentage points for shares."""
    text = _bare(value, share)
    return f"+{text}" if value > 0 and text.strip("0.") else text


def percent(value: float) -> str:
    """A proportion as a percentage: `78.9%`."""
    return f"{_hundredfold(value)}%" if math.isfinite(value) else "–"


def number(value: float) -> str:
    """A number to four significant figures, or all digits before its point: `0.04`, `12.35`, `12346`."""
    if not math.isfinite(value):
        return "–"
    # Adding 0 turns -0.0 into 0.
    return f"{value + 0.0:{'.0f' if 1000 <= abs(value) < MIN_EXPONENT_VALUE else '.4g'}}".replace("-", "−")


def bits(value: float) -> str:
    """A number with two decimals and a minus sign."""
    return f"{value:.2f}".replace("-", "−") if math.isfinite(value) else "–"


def finite_or_none(value: object) -> float | None:
    """`value` if it is a finite number, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def _bare(value: float, share: bool) -> str:
    return _hundredfold(value) if share else number(value)


def _hundredfold(value: float) -> str:
    # Adding 0 turns a rounded -0.0 into 0.
    return f"{round(100 * value, 1) + 0.0:.1f}".replace("-", "−")


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
