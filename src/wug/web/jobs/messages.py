"""What goes through the pipes between the server and the process that asks models: questions, work, answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from wug.errors import ModelError
from wug.runs.cache import Cache
from wug.runs.evaluate import ask_through, record
from wug.runs.store import Store
from wug.types import Reading, Request, Scored, Suite, Token

Stage: TypeAlias = Literal["waiting", "loading", "asking", "done", "failed", "stopped"]
Tell: TypeAlias = Callable[[int, int], None]
"""Told how many of how many questions are answered; it raises Stopped where the user stopped the job."""


class Stopped(KeyboardInterrupt):
    """The user stopped the job; a run that this breaks off is kept as interrupted."""


class Work(Protocol):
    """What is done with a model; it travels to the worker, so it is data."""

    def __call__(self, model: Any, tell: Tell) -> Any:
        """The result, which travels back."""


class Question(NamedTuple):
    """To the worker: do this with that model."""

    job: str
    model: str
    work: Work


class Stop(NamedTuple):
    """To the worker: leave off with a job, if it is still at it."""

    job: str


class Progress(NamedTuple):
    """From the worker: how far it is with the question."""

    stage: Stage
    done: int = 0
    total: int = 0


class Ended(NamedTuple):
    """From the worker: the question is done with."""

    stage: Stage
    result: Any = None
    error: str | None = None


def run_suites(suites: Sequence[Suite], store: Path, cache: Path | None, command: str) -> Work:
    """The work that asks a model what suites want to know and keeps it as a run; its number comes back."""
    return partial(_run_suites, tuple(suites), store.resolve(), cache and cache.resolve(), command)


def score_texts(texts: Sequence[str], cache: Path | None) -> Work:
    """The work that asks a model for the tokens of texts with their probabilities; a list of Scored comes back."""
    return partial(_score_texts, tuple(texts), cache and cache.resolve())


def likeliest_tokens(text: str, place: int, most: int) -> Work:
    """The work that asks a model which tokens it finds most probable at a place; a list of Token comes back."""
    return partial(_likeliest_tokens, text, place, most)


def _run_suites(
    suites: tuple[Suite, ...], path: Path, answers: Path | None, command: str, model: Any, tell: Tell
) -> int:
    """The number of the run, or an error where a suite of it failed."""
    with closing(Store(path)) as store, _opened(answers) as cache:
        found = record(suites, model, command=command, store=store, cache=cache, tell=tell, origin="editor")
    failed = [result for result in found.results if result.status == "failed"]
    if failed:
        raise ModelError(failed[0].warnings[-1].removeprefix("failed: "))
    assert found.number is not None
    return found.number


def _score_texts(texts: tuple[str, ...], answers: Path | None, model: Any, tell: Tell) -> list[Scored]:
    """A Scored for each text, with entropies where the model tells them; an error where it gives no probabilities."""
    if ask_through(model).can != "scorer":
        raise ModelError(f"{model.id} turns text into text and cannot say how probable a sentence is")
    with _opened(answers) as cache:
        scorer: Any = ask_through(model, cache, tell).model
        return list(scorer.score([Request(text, reading=Reading(distribution=True)) for text in texts]))


def _likeliest_tokens(text: str, place: int, most: int, model: Any, tell: Tell) -> list[Token]:
    """The tokens, the most probable first, or an error where the model cannot tell them."""
    ask = getattr(model, "likeliest", None)
    if ask is None:
        raise ModelError(f"{model.id} does not tell which tokens it finds most probable: causal and masked models do")
    found: list[Token] = ask(text, place, most)
    return found


def _opened(path: Path | None) -> AbstractContextManager[Cache | None]:
    return nullcontext() if path is None else closing(Cache(path))
