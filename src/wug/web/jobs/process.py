"""The server's handle on the worker process: start, send, receive, stop."""

from __future__ import annotations

import contextlib
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence

from wug.web.jobs.tasks import RunTask, StopTask, TaskEnded, TaskProgress

WORKER_COMMAND = (sys.executable, "-P", "-m", "wug.web.jobs.worker")
"""-P: files in the current folder must not shadow modules."""
EXIT_TIMEOUT_SECONDS = 10.0
"""Time for the process to exit once its pipe is closed; it needs 1 s to stop a job, more on a busy machine."""


class WorkerExited(Exception):
    """The process has exited or cannot be started; the text is the predicate of a sentence about it."""


class WorkerProcess:
    """A process that runs one task at a time."""

    def __init__(self, command: Sequence[str] = WORKER_COMMAND) -> None:
        try:
            # In its own session: Ctrl-C is for the server, which stops the worker.
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
            )
        except OSError as error:
            raise WorkerExited(f"cannot be started: {error.strerror or error}") from None
        self._sending = threading.Lock()
        self._killed = False

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it accepts tasks."""
        return not self._killed and self._process.poll() is None

    def send(self, message: RunTask | StopTask) -> None:
        """Send a message; WorkerExited if the process is gone."""
        data = pickle.dumps(message)
        assert self._process.stdin is not None
        with self._sending:
            try:
                self._process.stdin.write(data)
                self._process.stdin.flush()
            except (OSError, ValueError):
                raise WorkerExited(self._exit_reason()) from None

    def receive(self) -> TaskProgress | TaskEnded:
        """The next message; WorkerExited if the process is gone."""
        assert self._process.stdout is not None
        try:
            message: TaskProgress | TaskEnded = pickle.load(self._process.stdout)
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):  # the last message may be truncated
            raise WorkerExited(self._exit_reason()) from None
        return message

    def kill(self) -> None:
        """Kill it; a pending `receive` raises WorkerExited."""
        self._killed = True
        self._process.kill()

    def close(self) -> None:
        """Ask it to exit, and kill it after a timeout."""
        with contextlib.suppress(OSError):  # unsent data for a process that is gone
            if self._process.stdin is not None:
                self._process.stdin.close()
        try:
            self._process.wait(EXIT_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait()

    def release(self) -> None:
        """Stop it and close its pipes; nobody may send or receive any more."""
        self.close()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _exit_reason(self) -> str:
        """How it exited, in words; a process that closed its pipe is about to exit."""
        try:
            code = self._process.wait(EXIT_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            code = self._process.wait()
        if code >= 0:
            return f"exited with code {code}: the terminal of wug view may say why"
        memory = ", which can mean that memory ran out" if -code == signal.SIGKILL else ""
        return f"was killed by signal {-code}{memory}"
