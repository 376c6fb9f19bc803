"""Suites with annotations: the record of a published set, and further fields of the signature."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from wug.types import DATA, AdaptableSuite, EvaluatedModel, Metric, Request, Returns, Row, Source, Suite

EMPTY: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class WrappedSuite:
    """A suite around another one, to which it delegates explicitly: `isinstance` with a protocol finds such members."""

    suite: Suite

    @property
    def kind(self) -> str:
        """The family of the suite."""
        return self.suite.kind

    @property
    def needs(self) -> Returns:
        """What a model must return."""
        return self.suite.needs

    @property
    def checksum(self) -> str:
        """The checksum of the suite."""
        return self.suite.checksum

    @property
    def metrics(self) -> Sequence[Metric]:
        """The metrics of the suite."""
        return self.suite.metrics

    @property
    def options(self) -> Mapping[str, str]:
        """The scoring options of the suite."""
        return self.suite.options

    @property
    def meta(self) -> Mapping[str, Any]:
        """The data of the suite for pages."""
        return self.suite.meta

    @property
    def understood(self) -> str | None:
        """How an ambiguous table was read; None if it was not ambiguous."""
        note: str | None = getattr(self.suite, "understood", None)
        return note

    @property
    def protocol(self) -> str | None:
        """The protocol that the suite declares."""
        declared: str | None = getattr(self.suite, "protocol", None)
        return declared

    def __len__(self) -> int:
        return len(self.suite)

    def requests(self) -> Sequence[Request] | Sequence[str | Source]:
        """The requests of the suite."""
        return self.suite.requests()

    def run(self, model: Any) -> Iterator[Row]:
        """The outcomes of the suite."""
        return self.suite.run(model)

    def sample(self, items: int) -> Self:
        """The same around a sample of `items` items, stratified by group."""
        return replace(self, suite=self.suite.sample(items))

    def for_model(self, model: EvaluatedModel) -> Self:
        """The same around the suite as it suits a model."""
        suite = self.suite.for_model(model) if isinstance(self.suite, AdaptableSuite) else self.suite
        return self if suite is self.suite else replace(self, suite=suite)


@dataclass(frozen=True, slots=True)
class AnnotatedSuite(WrappedSuite):
    """A suite with the record of its published set and further fields of the signature; delegates to the suite."""

    record: Mapping[str, Any]
    name: str
    signature_fields: Mapping[str, str] = field(default_factory=dict)
    """Further fields of the signature, such as the protocol."""

    @property
    def meta(self) -> Mapping[str, Any]:
        """The data of the suite for pages, with the record."""
        return {**self.suite.meta, **({DATA: dict(self.record)} if self.record else {})}

    @property
    def options(self) -> Mapping[str, str]:
        """The scoring options of the suite, with the further fields."""
        return {**self.suite.options, **self.signature_fields}


def annotated(suite: Suite, record: Mapping[str, Any], name: str | None, fields: Mapping[str, str] = EMPTY) -> Suite:
    """The suite with a record, another name unless it is None, and further fields of the signature."""
    return AnnotatedSuite(suite, record, name or suite.name, fields)
