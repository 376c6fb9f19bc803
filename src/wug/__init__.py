"""wug: test what a language model knows about language, the way linguists test speakers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from wug.errors import WugError
from wug.types import Estimate, Outcome, Request, Result, Scored, Token

if TYPE_CHECKING:
    from wug.types import Generator, Scorer, Suite

__version__ = "0.1.0"

__all__ = [
    "Estimate",
    "Outcome",
    "Request",
    "Result",
    "Scored",
    "Token",
    "WugError",
    "open_model",
    "open_suites",
    "run",
]


def open_model(name: str, options: Mapping[str, str] | None = None) -> Scorer | Generator:
    """The model that a name stands for (`causal:gpt2`, a folder, …), loaded."""
    from wug.runs import opening

    return opening.open_model(name, options)


def open_suites(name: str, options: Mapping[str, str] | None = None) -> list[Suite]:
    """The suites of a file, a folder, or a built-in name."""
    from wug.runs import opening

    return opening.open_suites(name, options)


def run(suites: str | list[Suite], model: Any) -> Iterator[Result]:
    """A result for each suite, nothing kept; `suites` and `model` may be names."""
    from wug.runs.evaluate import ask_through, evaluate

    asked = open_suites(suites) if isinstance(suites, str) else suites
    answering = open_model(model) if isinstance(model, str) else model
    yield from evaluate(asked, ask_through(answering))
