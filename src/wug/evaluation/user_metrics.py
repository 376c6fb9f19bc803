"""Metrics that users write: functions of an item's outcomes, evaluated with the metrics of a suite."""

from __future__ import annotations

import hashlib
import inspect
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, get_args

from wug import registry
from wug.errors import InputError, UnknownName, WugError
from wug.outcomes import Better, Metric, Outcome, Unit, Value

MetricCallable: TypeAlias = Callable[[Sequence[Outcome]], Value]
"""A function of all outcomes of an item; None: the item has no value."""


@dataclass(frozen=True, slots=True)
class MetricFunction:
    """A function of an item's outcomes that is a metric. It can still be called."""

    function: MetricCallable
    metric: Metric

    def __call__(self, outcomes: Sequence[Outcome]) -> Value:
        """The value of an item."""
        return self.function(outcomes)

    @property
    def signature(self) -> str:
        """Its name and a digest of its code."""
        try:
            code = inspect.getsource(self.function)
        except (OSError, TypeError):
            code = repr(getattr(getattr(self.function, "__code__", None), "co_code", b""))
        return f"{self.metric.name}@{hashlib.sha256(code.encode()).hexdigest()[:8]}"

    def outcome(self, outcomes: Sequence[Outcome]) -> Outcome:
        """The value of an item, checked."""
        first, name = outcomes[0], self.metric.name
        try:
            value = self.function(outcomes)
        except WugError:
            raise
        except Exception as error:  # whatever a user's function raises
            raise InputError(f"metric {name}, item {first.item}: {type(error).__name__}: {error}") from error
        if value is not None and not isinstance(value, bool):
            try:
                value = float(value)
            except (TypeError, ValueError):
                expected = f"return a number, True, False or None, not {type(value).__name__}"
                raise InputError(f"metric {name}, item {first.item}: {expected}") from None
            if not math.isfinite(value):
                return Outcome(first.item, name, None, first.groups, {"why": f"{name} returned {value}"})
        return Outcome(first.item, name, value, first.groups)


def as_metric(
    function: MetricCallable | MetricFunction,
    *,
    name: str | None = None,
    unit: Unit = "score",
    better: Better = "higher",
    headline: bool = True,
    meaning: str | None = None,
) -> MetricFunction:
    """The metric of a function; the first line of its docstring is its meaning."""
    if isinstance(function, MetricFunction):
        return function
    if not callable(function):
        raise InputError(f"{function!r} is not a metric: write a function of an item's outcomes")
    metric_name = str(name or getattr(function, "__name__", type(function).__name__))
    if not re.fullmatch(r"[A-Za-z]\w*", metric_name):
        raise InputError(
            f"a metric cannot be called {metric_name!r}: write wug.metric(name=…) with letters, digits and _"
        )
    for what, value, allowed in (("unit", unit, get_args(Unit)), ("better", better, get_args(Better))):
        if value not in allowed:
            raise UnknownName(f"value of {what}", str(value), allowed)
    text = meaning if meaning is not None else (inspect.getdoc(function) or "").partition("\n")[0].rstrip(".")
    return MetricFunction(function, Metric(metric_name, unit, better, headline, text))


def find_metric(metric: str | MetricCallable | MetricFunction) -> MetricFunction:
    """A metric by the name of a plugin's, by `module:function`, or from a function."""
    if not isinstance(metric, str):
        return as_metric(metric)
    try:
        function: Any = registry.imported(metric) if ":" in metric else registry.plugin("metrics", metric)
    except UnknownName as error:
        hint = " A suite computes all its own metrics. Others are functions (module:function) or metrics of a plugin"
        error.args = (f"{error}{'' if ':' in metric else hint}",)
        raise
    return as_metric(function)
