"""What a suite is made of: items, their conditions, and the regions of each sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from wug.families.syntaxgym.formula import Formula

Join: TypeAlias = Literal["space", "detokenized"]
Eos: TypeAlias = Literal["none", "last_region"]
Empty: TypeAlias = Literal["exclude", "zero", "refuse"]

NO_SPACE_BEFORE = tuple(".,!?;:')]")
"""What `join=detokenized` writes without a space before it."""


@dataclass(frozen=True, slots=True)
class Region:
    """A stretch of a sentence."""

    number: int
    content: str
    """As in the file, stray spaces included."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Fields that the format does not name, kept for writing back."""

    @property
    def text(self) -> str:
        """The content without spaces around it."""
        return self.content.strip()


@dataclass(frozen=True, slots=True)
class Layout:
    """A sentence and where its regions stand in it."""

    text: str
    spans: tuple[tuple[int, int], ...]
    """One for each region; an empty region has its start and end where the region before it ends."""


@dataclass(frozen=True, slots=True)
class Condition:
    """An item in one of its forms: a sentence."""

    name: str
    regions: tuple[Region, ...]
    """By number, from 1 on without a gap."""
    extra: Mapping[str, Any] = field(default_factory=dict)

    def layout(self, join: Join = "space") -> Layout:
        """The regions trimmed and joined, empty ones skipped, and their places."""
        text = ""
        spans = []
        for region in self.regions:
            content = region.text
            if content and text and not (join == "detokenized" and content.startswith(NO_SPACE_BEFORE)):
                text += " "
            spans.append((len(text), len(text) + len(content)) if content else (len(text), len(text)))
            text += content
        return Layout(text, tuple(spans))


@dataclass(frozen=True, slots=True)
class Item:
    """One lexical content in several conditions."""

    number: int | str
    conditions: tuple[Condition, ...]
    extra: Mapping[str, Any] = field(default_factory=dict)

    def condition(self, name: str) -> Condition | None:
        """The condition of that name; items may order theirs differently."""
        return next((condition for condition in self.conditions if condition.name == name), None)


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the suite expects, as it stands in the file and as it was understood."""

    raw: str | Mapping[str, Any]
    formula: Formula
