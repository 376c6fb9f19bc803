"""The worker process, `python -m wug.web.jobs.worker`, which the server starts and talks to through pipes.

Models need memory and may crash: in their own process the server stays small and alive, and can stop them at any time.
The worker runs one task at a time, keeps a few models loaded, and exits when the server is gone.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import TypeAlias

from wug.errors import WugError
from wug.evaluation.handle import ModelHandle
from wug.evaluation.models import open_model
from wug.web.jobs.tasks import JobStopped, RunTask, StopTask, TaskEnded, TaskProgress

LoadModel: TypeAlias = Callable[[str], ModelHandle]

MAX_LOADED_MODELS = 2
PROGRESS_INTERVAL_SECONDS = 0.1
STOP_TIMEOUT_SECONDS = 1.0
"""Time for a task to stop by itself when the server is gone."""

_log = logging.getLogger("wug")


def main(load: LoadModel = open_model) -> None:
    """Run tasks until the server closes the pipe."""
    commands, messages = _take_pipes()
    Worker(commands, messages, load).run()


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
                if isinstance(command, StopTask):
                    self._stopped.add(command.job)
                else:
                    self._tasks.put(command)
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


if __name__ == "__main__":
    main()
