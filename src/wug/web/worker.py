"""The worker process, which the server starts and talks to through pipes, and the tasks that it runs.

Models need memory and may crash: in their own process the server stays small and alive, and can stop them at any time.
The worker runs one task at a time, keeps a few models loaded, and exits when the server is gone. No other module of the
site evaluates models.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from wug.errors import ModelError, WugError
from wug.evaluation.cached_model import CachedModel
from wug.evaluation.handle import ModelHandle
from wug.evaluation.models import open_model
from wug.evaluation.request import RunRequest
from wug.evaluation.service import execute, opened_cache
from wug.interfaces import Suite
from wug.requests import Request, Scored, TextScoring, Token

Stage: TypeAlias = Literal["waiting", "loading", "scoring", "done", "failed", "stopped"]
ReportProgress: TypeAlias = Callable[[int, int], None]
"""Called with the number of finished and of all requests; raises JobStopped if the user stopped the job."""
JobTask: TypeAlias = Callable[[ModelHandle, ReportProgress], Any]
"""A picklable function that runs in the worker with an open model; its result is pickled and sent back."""
LoadModel: TypeAlias = Callable[[str], ModelHandle]
MAX_LOADED_MODELS = 2
PROGRESS_INTERVAL_SECONDS = 0.1
STOP_TIMEOUT_SECONDS = 1.0
"""Time for a task to stop by itself when the server is gone."""

_log = logging.getLogger("wug")


class JobStopped(KeyboardInterrupt):
    """The user stopped the job; an interrupted run is kept as interrupted."""


class RunTask(NamedTuple):
    """Server to worker: run a task with a model. The other message is the id of a job that is to stop."""

    job: str
    model: str
    task: JobTask


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


def main(load: LoadModel = open_model) -> None:
    """Run tasks until the server closes the pipe."""
    Worker(*_take_pipes(), load).run()


class Worker:
    """A loop that runs tasks, and a thread that listens for stops and for the end of the server."""

    def __init__(self, commands: Connection, messages: Connection, load: LoadModel) -> None:
        self._commands, self._messages, self._load = commands, messages, load
        self._tasks: queue.SimpleQueue[RunTask | None] = queue.SimpleQueue()
        self._stopped: set[str] = set()
        self._server_gone = threading.Event()
        self._loaded: OrderedDict[str, ModelHandle] = OrderedDict()

    def run(self) -> None:
        """Run tasks until the server is gone."""
        threading.Thread(target=self._listen, name="listen", daemon=True).start()
        while (task := self._tasks.get()) is not None:
            outcome = self._run_task(task)
            try:
                self._send(outcome)
            except JobStopped:
                return

    def _run_task(self, command: RunTask) -> TaskEnded:
        last_time = 0.0

        def report(done: int, total: int) -> None:
            nonlocal last_time
            self._raise_if_stopped(command)
            now = time.monotonic()
            if done == total or now - last_time >= PROGRESS_INTERVAL_SECONDS:
                last_time = now
                self._send(TaskProgress("scoring", done, total))

        try:
            model = self._model(command)
            self._raise_if_stopped(command)
            self._send(TaskProgress("scoring"))
            return TaskEnded("done", command.task(model, report))
        except JobStopped:
            return TaskEnded("stopped")
        except WugError as error:
            return TaskEnded("failed", error=str(error))
        except Exception as error:  # from a model's own code: the page reports it, and the next task runs
            _log.exception("%s failed", command.model)
            return TaskEnded("failed", error=f"{command.model} failed: {type(error).__name__}: {error}")

    def _model(self, command: RunTask) -> ModelHandle:
        name = command.model
        if name not in self._loaded:
            self._raise_if_stopped(command)
            self._send(TaskProgress("loading"))
            while len(self._loaded) >= MAX_LOADED_MODELS:  # free memory before the next one is loaded
                self._loaded.popitem(last=False)
            self._loaded[name] = self._load(name)
        self._loaded.move_to_end(name)
        return self._loaded[name]

    def _raise_if_stopped(self, command: RunTask) -> None:
        if self._server_gone.is_set() or command.job in self._stopped:
            raise JobStopped

    def _send(self, message: TaskProgress | TaskEnded) -> None:
        try:
            self._messages.send(message)
        except OSError:  # the server is gone
            raise JobStopped from None

    def _listen(self) -> None:
        try:
            while True:
                command = self._commands.recv()
                if isinstance(command, RunTask):
                    self._tasks.put(command)
                else:
                    self._stopped.add(command)
        except (EOFError, OSError):
            pass  # the server is gone, perhaps in the middle of a message
        except Exception:
            _log.exception("a task cannot be unpickled")
        self._server_gone.set()
        self._tasks.put(None)
        time.sleep(STOP_TIMEOUT_SECONDS)
        os._exit(1)  # the task did not stop by itself


def _take_pipes() -> tuple[Connection, Connection]:
    """Standard input and output as pipes to the server; whatever else is printed goes to standard error."""
    commands, messages = Connection(os.dup(0), writable=False), Connection(os.dup(1), readable=False)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return commands, messages
