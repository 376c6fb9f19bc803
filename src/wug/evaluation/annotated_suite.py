"""Suites with annotations: another name, the record of a published set, fields of the signature, further metrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from wug.errors import InputError
from wug.evaluation.user_metrics import MetricFunction
from wug.interfaces import AdaptableSuite, Suite, SuiteAttributes
from wug.labels import suite_line
from wug.outcomes import DATASET_KEY, Outcome, SuiteOutput
from wug.requests import EvaluatedModel, Request, Source

NO_FIELDS: Mapping[str, str] = {}


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
