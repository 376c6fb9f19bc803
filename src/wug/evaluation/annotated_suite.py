"""Suites with annotations: the record of a published set, and further fields of the signature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wug.types import DATA, AdaptableSuite, EvaluatedModel, Suite

EMPTY: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class AnnotatedSuite:
    """A suite with the record of its published set and further fields of the signature; delegates to the suite."""

    suite: Any
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

    def __len__(self) -> int:
        return len(self.suite)

    def sample(self, items: int) -> AnnotatedSuite:
        """A sample of `items` items, stratified by group."""
        return AnnotatedSuite(self.suite.sample(items), self.record, self.name, self.signature_fields)

    def for_model(self, model: EvaluatedModel) -> AnnotatedSuite:
        """The annotations around the suite as it suits a model."""
        suite = self.suite.for_model(model) if isinstance(self.suite, AdaptableSuite) else self.suite
        return self if suite is self.suite else AnnotatedSuite(suite, self.record, self.name, self.signature_fields)

    def __getattr__(self, name: str) -> Any:
        if name in ("suite", "record", "name", "signature_fields"):  # not set yet, while a copy is made
            raise AttributeError(name)
        return getattr(self.suite, name)


def annotated(suite: Suite, record: Mapping[str, Any], name: str | None, fields: Mapping[str, str] = EMPTY) -> Suite:
    """The suite with a record, another name unless it is None, and further fields of the signature."""
    found: Any = AnnotatedSuite(suite, record, name or suite.name, fields)
    return found  # type: ignore[no-any-return]
