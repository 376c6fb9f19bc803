"""The parts of a suite: items, their conditions, and the regions of each sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from wug.families.syntaxgym.formula import Formula

Join: TypeAlias = Literal["space", "detokenized"]
Eos: TypeAlias = Literal["none", "last_region"]
Empty: TypeAlias = Literal["exclude", "zero", "refuse"]

NO_SPACE_BEFORE = tuple(".,!?;:')]")
"""Characters without a preceding space with `join=detokenized`."""


@dataclass(frozen=True, slots=True)
class Region:
    """A region of a sentence."""

    number: int
    content: str
    """As in the file, surrounding spaces included."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Unknown fields, kept for writing."""

    @property
    def text(self) -> str:
        """The content without surrounding spaces."""
        return self.content.strip()


class SentenceLayout(NamedTuple):
    """A sentence with the spans of its regions."""

    text: str
    spans: tuple[tuple[int, int], ...]
    """One per region; an empty region starts and ends at the end of the preceding one."""


@dataclass(frozen=True, slots=True)
class Condition:
    """An item in one condition: a sentence."""

    name: str
    regions: tuple[Region, ...]
    """Numbered from 1 without gaps."""
    extra: Mapping[str, Any] = field(default_factory=dict)

    def layout(self, join: Join = "space") -> SentenceLayout:
        """The sentence of the trimmed regions, with their spans."""
        text = ""
        spans = []
        for region in self.regions:
            content = region.text
            if content and text and not (join == "detokenized" and content.startswith(NO_SPACE_BEFORE)):
                text += " "
            spans.append((len(text), len(text) + len(content)) if content else (len(text), len(text)))
            text += content
        return SentenceLayout(text, tuple(spans))


@dataclass(frozen=True, slots=True)
class SuiteItem:
    """One lexical content in several conditions."""

    number: int | str
    conditions: tuple[Condition, ...]
    extra: Mapping[str, Any] = field(default_factory=dict)

    def condition(self, name: str) -> Condition | None:
        """The condition with a name; items may order theirs differently."""
        return next((condition for condition in self.conditions if condition.name == name), None)


class Prediction(NamedTuple):
    """A prediction, as in the file and parsed."""

    raw: str | Mapping[str, Any]
    formula: Formula
