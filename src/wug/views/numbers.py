"""Estimates as they stand in every medium, with what they mean."""

from __future__ import annotations

from dataclasses import dataclass

from wug.formatting import (
    bits,
    finite,
    interval_text,
    is_deviation,
    number,
    percent,
    signed_text,
    spaced,
    value_text,
)
from wug.types import Estimate, Result

__all__ = [
    "Shown",
    "bits",
    "finite",
    "headlines",
    "interval_text",
    "is_deviation",
    "number",
    "others",
    "percent",
    "plain",
    "shown",
    "signed_text",
    "spaced",
    "value_text",
]


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
