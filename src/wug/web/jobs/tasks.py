"""Tasks for the worker process, and the messages that it exchanges with the server.

This is the only module of the site that evaluates models.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from wug.errors import ModelError
from wug.evaluation.cached_model import CachedModel
from wug.evaluation.handle import ModelHandle
from wug.evaluation.request import RunRequest
from wug.evaluation.service import execute, opened_cache
from wug.interfaces import Suite
from wug.requests import Request, Scored, TextScoring, Token

Stage: TypeAlias = Literal["waiting", "loading", "scoring", "done", "failed", "stopped"]
ReportProgress: TypeAlias = Callable[[int, int], None]
"""Called with the number of finished and of all requests; raises JobStopped if the user stopped the job."""


class JobStopped(KeyboardInterrupt):
    """The user stopped the job; an interrupted run is kept as interrupted."""


class JobTask(Protocol):
    """A picklable function that runs in the worker with an open model."""

    def __call__(self, model: ModelHandle, report: ReportProgress) -> Any:
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
    suites: tuple[Suite, ...], store: Path, cache: Path | None, command: str, model: ModelHandle, report: ReportProgress
) -> int:
    request = RunRequest(suites=suites, models=[model], store=store, cache=cache, command=command, origin="editor")
    (run,) = execute(request, lambda event: report(*event.requests)).recorded.values()
    for result in run.results:
        if result.status == "failed":
            raise ModelError(result.failure)
    assert run.number is not None
    return run.number


def _score_texts(texts: tuple[str, ...], path: Path | None, model: ModelHandle, report: ReportProgress) -> list[Scored]:
    if model.returns != "scores":
        raise ModelError(f"{model.id} generates text and cannot score sentences")
    with opened_cache(path) as cache:
        requests = [Request(text, scoring=TextScoring(distribution=True)) for text in texts]
        return list(CachedModel(model, cache, report).score(requests))


def _likeliest_tokens(text: str, position: int, count: int, model: ModelHandle, report: ReportProgress) -> list[Token]:
    return model.likeliest(text, position, count)
