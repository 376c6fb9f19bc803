"""Scores by linguistic phenomenon, so that suites of different families can be compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

from wug import registry
from wug.formatting import is_measurable
from wug.identity import Group
from wug.stats import wilson
from wug.types import Estimate, Result

FIELDS = ("phenomenon", "term", "pattern", "paradigm")
"""Group fields that tell the phenomenon of an item; the first that a family knows is used."""


def phenomenon_scores(result: Result) -> list[Estimate]:
    """The headline of a result by phenomenon, as estimates whose group is the name of the phenomenon.

    A family declares in `PHENOMENA` which groups belong to which phenomenon, as patterns of their names. Groups that it
    does not mention belong to none.
    """
    headline = result.headline
    if headline is None or result.metric(headline.metric).unit != "share" or not is_measurable(result.warnings):
        return []
    patterns: Mapping[str, str] = registry.attribute("families", result.kind, "PHENOMENA") or {}
    for field in FIELDS:
        counts: dict[str, tuple[float, int]] = {}
        for name, estimate in _groups(result, headline.metric, field, patterns):
            right, n = counts.get(name, (0.0, 0))
            counts[name] = (right + estimate.value * estimate.n, n + estimate.n)
        if counts:
            return [_estimate(headline.metric, name, *count) for name, count in counts.items()]
    return []


def _groups(result: Result, metric: str, field: str, patterns: Mapping[str, str]) -> Iterator[tuple[str, Estimate]]:
    """The estimates of a field's groups that belong to a phenomenon, with its name."""
    for estimate in result.estimates:
        group = Group.parse(estimate.group)
        if estimate.metric == metric and group.field == field:
            value = group.value.lower().replace("-", "_").replace(" ", "_")
            name = next((name for pattern, name in patterns.items() if fnmatchcase(value, pattern)), None)
            if name is not None:
                yield name, estimate


def _estimate(metric: str, name: str, right: float, n: int) -> Estimate:
    interval = wilson(round(right), n)
    return Estimate(metric, name, right / n if n else 0.0, n, interval.low, interval.high, "wilson")
