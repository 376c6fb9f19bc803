"""Tasks for the worker process, and the messages that it exchanges with the server.

This is the only module of the site that evaluates models.
"""

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
ReportProgress: TypeAlias = Callable[[int, int], None]
"""Called with the number of finished and of all requests; raises JobStopped if the user stopped the job."""


class JobStopped(KeyboardInterrupt):
    """The user stopped the job; an interrupted run is kept as interrupted."""


class JobTask(Protocol):
    """A picklable function that runs in the worker with an open model."""

    def __call__(self, model: Any, report: ReportProgress) -> Any:
        """Run; the result is pickled and sent back."""


class RunTask(NamedTuple):
    """Server to worker: run a task with a model."""

    job: str
    model: str
    task: JobTask


class StopTask(NamedTuple):
    """Server to worker: stop a job if it is still running."""

    job: str


class TaskProgress(NamedTuple):
    """Worker to server: progress of the current task."""

    stage: Stage
    done: int = 0
    total: int = 0


class TaskEnded(NamedTuple):
    """Worker to server: the task is finished, failed or stopped."""

    stage: Stage
    result: Any = None
    error: str | None = None


def run_suites(suites: Sequence[Suite], store: Path, cache: Path | None, command: str) -> JobTask:
    """A task that evaluates a model on suites and stores the run; its result is the run's id."""
    return partial(_run_suites, tuple(suites), store.resolve(), cache and cache.resolve(), command)


def score_texts(texts: Sequence[str], cache: Path | None) -> JobTask:
    """A task that scores texts token by token; its result is a list of Scored."""
    return partial(_score_texts, tuple(texts), cache and cache.resolve())


def likeliest_tokens(text: str, position: int, count: int) -> JobTask:
    """A task that finds the most probable tokens at a position; its result is a list of Token."""
    return partial(_likeliest_tokens, text, position, count)


def _run_suites(
    suites: tuple[Suite, ...],
    store_path: Path,
    cache_path: Path | None,
    command: str,
    model: Any,
    report: ReportProgress,
) -> int:
    with closing(Store(store_path)) as store, _open_cache(cache_path) as cache:
        found = record(suites, model, command=command, store=store, cache=cache, tell=report, origin="editor")
    failed = [result for result in found.results if result.status == "failed"]
    if failed:
        raise ModelError(failed[0].warnings[-1].removeprefix("failed: "))
    assert found.number is not None
    return found.number


def _score_texts(texts: tuple[str, ...], cache_path: Path | None, model: Any, report: ReportProgress) -> list[Scored]:
    if ask_through(model).can != "scorer":
        raise ModelError(f"{model.id} generates text and cannot score sentences")
    with _open_cache(cache_path) as cache:
        scorer: Any = ask_through(model, cache, report).model
        return list(scorer.score([Request(text, reading=Reading(distribution=True)) for text in texts]))


def _likeliest_tokens(text: str, position: int, count: int, model: Any, report: ReportProgress) -> list[Token]:
    likeliest = getattr(model, "likeliest", None)
    if likeliest is None:
        raise ModelError(f"{model.id} does not report its most probable tokens")
    found: list[Token] = likeliest(text, position, count)
    return found


def _open_cache(path: Path | None) -> AbstractContextManager[Cache | None]:
    return nullcontext() if path is None else closing(Cache(path))
