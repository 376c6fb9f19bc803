"""An item: options, each in a context, and which of them is right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wug.types import Problem, Request


@dataclass(frozen=True, slots=True)
class Candidate:
    """An option in its context."""

    context: str
    option: str
    """With the white space that parts it from the context."""

    @property
    def text(self) -> str:
        """Context and option as one text, which is what a model reads."""
        return f"{self.context}{self.option}"

    @property
    def words(self) -> str:
        """The option without the white space before it."""
        return self.option.lstrip()

    @property
    def span(self) -> tuple[int, int]:
        """The visible characters of the option: what is scored. The context before them is given."""
        return len(self.text) - len(self.words), len(self.text)

    @property
    def request(self) -> Request:
        """How probable is the option, given the context?"""
        return Request(self.text, self.span)


@dataclass(frozen=True, slots=True)
class Choice:
    """Some candidates of which one is right."""

    item: str
    candidates: tuple[Candidate, ...]
    right: int
    """Its place among the candidates, from 0."""
    groups: Mapping[str, str]
    source: str | None = None
    """The line that it comes from, where that has several items: those are not independent."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a reader made of a file."""

    format: str
    choices: list[Choice]
    problems: list[Problem]


def candidate(context: str, option: str, join: str) -> Candidate:
    """An option in its context, with a space between them where there is no white space and `join` says so."""
    option = option.rstrip()
    apart = not context or context[-1].isspace() or option[:1].isspace()
    return Candidate(context, option if apart or join == "none" else f" {option}")
