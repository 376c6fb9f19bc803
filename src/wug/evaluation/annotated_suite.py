"""Metrics that users write, and suites with such metrics and other annotations: a name, a record, further fields."""

from __future__ import annotations

import hashlib
import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, get_args

from wug import registry
from wug.errors import InputError, UnknownName, WugError
from wug.interfaces import AdaptableSuite, Suite, SuiteAttributes
from wug.labels import suite_line
from wug.outcomes import DATASET_KEY, Better, Metric, Outcome, SuiteOutput, Unit, Value
from wug.requests import EvaluatedModel, Request, Source

MetricCallable: TypeAlias = Callable[[Sequence[Outcome]], Value]
"""A function of all outcomes of an item; None: the item has no value."""
NO_FIELDS: Mapping[str, str] = {}


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


class AnnotatedSuite:
    """A suite with annotations.

    It has every member itself: from Python 3.12 on, `isinstance` with a protocol finds only such members.
    """

    def __init__(
        self,
        suite: Suite,
        record: Mapping[str, Any] = NO_FIELDS,
        name: str | None = None,
        signature_fields: Mapping[str, str] = NO_FIELDS,
        functions: Sequence[MetricFunction] = (),
    ) -> None:
        self.suite = suite
        self._annotations = (record, name, signature_fields, functions)
        self.name = name or suite.name
        self.kind = suite.kind
        self.needs = suite.needs
        self.checksum = suite.checksum
        metrics = {"metrics": ",".join(function.signature for function in functions)} if functions else NO_FIELDS
        self.options: Mapping[str, str] = {**suite.options, **signature_fields, **metrics}
        self.metrics = (*suite.metrics, *(function.metric for function in functions))
        self.meta: Mapping[str, Any] = {**suite.meta, **({DATASET_KEY: dict(record)} if record else {})}
        attributes = SuiteAttributes.of(suite)
        self.protocol, self.sources, self.understood = attributes.protocol, attributes.sources, attributes.understood

    __repr__ = suite_line

    def __len__(self) -> int:
        return len(self.suite)

    def requests(self) -> Sequence[Request] | Sequence[str | Source]:
        """The requests of the suite."""
        return self.suite.requests()

    def run(self, model: Any) -> Iterator[SuiteOutput]:
        """The rows of the suite, then one outcome per item and further metric."""
        functions = self._annotations[-1]
        items: dict[str, list[Outcome]] = {}
        for row in self.suite.run(model):
            if functions and isinstance(row, Outcome):
                items.setdefault(row.item, []).append(row)
            yield row
        for function in functions:
            yield from map(function.outcome, items.values())

    def sample(self, items: int) -> AnnotatedSuite:
        """The same annotations of a sample of `items` items, stratified by group."""
        return AnnotatedSuite(self.suite.sample(items), *self._annotations)

    def for_model(self, model: EvaluatedModel) -> AnnotatedSuite:
        """The same annotations of the suite as it suits a model."""
        suite = self.suite.for_model(model) if isinstance(self.suite, AdaptableSuite) else self.suite
        return self if suite is self.suite else AnnotatedSuite(suite, *self._annotations)


def with_metrics(suites: Iterable[Suite], functions: Sequence[MetricFunction]) -> list[Suite]:
    """The suites with further metrics; an error if a suite has one of the same name."""
    extended: list[Suite] = []
    for suite in suites:
        names = [metric.name for metric in suite.metrics] + [function.metric.name for function in functions]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise InputError(f"suite {suite.name} has two metrics called {twice}: name one with wug.metric(name=…)")
        extended.append(AnnotatedSuite(suite, functions=tuple(functions)) if functions else suite)
    return extended
