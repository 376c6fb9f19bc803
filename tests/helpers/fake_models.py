"""Models with known numbers and outputs, which record their requests."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from wug.requests import Answer, Request, Scored, Token, text_of


def text_scores(logprob: Callable[[str], float | None]) -> Callable[[str], Scored]:
    """Every text is one token, with the log-probability that a function gives it."""
    return lambda text: Scored(text, (0,), (len(text),), (logprob(text),))


def word_scores(
    logprobs: Mapping[str, float | None] | None = None, other: float | None = -1.0, pattern: str = r"\S+"
) -> Callable[[str], Scored]:
    """Every match of a pattern is a token, with its log-probability in a table or the one of all others."""
    table = logprobs or {}
    return lambda text: Scored.of(
        text, [Token(found[0], *found.span(), table.get(found[0], other)) for found in re.finditer(pattern, text)]
    )


def letter_scores(nats: float = 1.0) -> Callable[[str], Scored]:
    """Every word is a token, with the same surprisal per letter."""
    return lambda text: Scored.of(
        text, [Token(found[0], *found.span(), -len(found[0]) * nats) for found in re.finditer(r"\S+", text)]
    )


length_scores = text_scores(lambda text: -float(len(text)))
"""Every text is one token, with minus its length as the log-probability."""


@dataclass
class FakeScorer:
    """Scores each text with a function."""

    scored: Callable[[str], Scored] = length_scores
    id: str = "fake/scorer@1"
    options: Mapping[str, str] = field(default_factory=dict)
    chunk: int = 10
    ordered: bool = False
    returns: Literal["scores", "text"] = "scores"
    requests: list[Request] = field(default_factory=list)
    batches: list[list[str]] = field(default_factory=list)
    """The texts of each call."""

    def score(self, requests: Sequence[Request]) -> list[Scored]:
        self.requests += requests
        self.batches.append([request.text for request in requests])
        return [self.scored(text) for text in self.batches[-1]]


@dataclass
class FakeGenerator:
    """Generates each output with a function of the source."""

    generated: Callable[[str], str | Answer]
    id: str = "fake/generator@1"
    options: Mapping[str, str] = field(default_factory=dict)
    chunk: int = 10
    returns: Literal["scores", "text"] = "text"
    batches: list[list[str]] = field(default_factory=list)
    """The sources of each call."""

    def generate(self, sources: Sequence[str]) -> list[str | Answer]:
        self.batches.append([text_of(source) for source in sources])
        return [self.generated(source) for source in self.batches[-1]]
