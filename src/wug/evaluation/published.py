"""Suites of published sets: what they came from travels with them into results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wug.types import DATA, AdaptableSuite, EvaluatedModel, Suite

EMPTY: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class PublishedSuite:
    """A suite, and the record of the set that it is from; it can do what the suite can."""

    suite: Any
    record: Mapping[str, Any]
    name: str
    noted: Mapping[str, str] = field(default_factory=dict)
    """Further fields of the signature, such as the protocol."""

    @property
    def meta(self) -> Mapping[str, Any]:
        """What pages show beside the rows."""
        return {**self.suite.meta, **({DATA: dict(self.record)} if self.record else {})}

    @property
    def options(self) -> Mapping[str, str]:
        """The scoring options of the suite, and the further fields."""
        return {**self.suite.options, **self.noted}

    def __len__(self) -> int:
        return len(self.suite)

    def sample(self, items: int) -> PublishedSuite:
        """The same suite with only so many of its items, every group with its share."""
        return PublishedSuite(self.suite.sample(items), self.record, self.name, self.noted)

    def for_model(self, model: EvaluatedModel) -> PublishedSuite:
        """The same around the suite as it suits a model."""
        suite = self.suite.for_model(model) if isinstance(self.suite, AdaptableSuite) else self.suite
        return self if suite is self.suite else PublishedSuite(suite, self.record, self.name, self.noted)

    def __getattr__(self, name: str) -> Any:
        if name in ("suite", "record", "name", "noted"):  # not set yet, while a copy is made
            raise AttributeError(name)
        return getattr(self.suite, name)


def published(suite: Suite, record: Mapping[str, Any], name: str | None, noted: Mapping[str, str] = EMPTY) -> Suite:
    """The suite with its record, called by the name of the set where it is given, and fields for the signature."""
    found: Any = PublishedSuite(suite, record, name or suite.name, noted)
    return found  # type: ignore[no-any-return]
