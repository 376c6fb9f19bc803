"""The server's end of the process that asks models: starting it, talking to it, ending it."""

from __future__ import annotations

import contextlib
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence

from wug.web.jobs.messages import Ended, Progress, Question, Stop

COMMAND = (sys.executable, "-P", "-m", "wug.web.jobs.worker")
"""-P: a file of the folder that `wug view` was started in must not be taken for a module."""
PATIENCE = 10.0
"""Seconds that the process has to end when its pipe is closed; it needs one to leave a job, more on a busy machine."""


class Gone(Exception):
    """The process has ended, or cannot be started; the text says how."""


class WorkerProcess:
    """A process that answers questions, one at a time."""

    def __init__(self, command: Sequence[str] = COMMAND) -> None:
        try:
            # In a session of its own: Ctrl-C is for the server, which ends it then.
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
            )
        except OSError as error:
            raise Gone(f"cannot be started: {error.strerror or error}") from None
        self._sending = threading.Lock()
        self._killed = False

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    @property
    def answers(self) -> bool:
        """Whether it can be asked."""
        return not self._killed and self._process.poll() is None

    def send(self, message: Question | Stop) -> None:
        """Tell it something."""
        data = pickle.dumps(message)
        assert self._process.stdin is not None
        with self._sending:
            try:
                self._process.stdin.write(data)
                self._process.stdin.flush()
            except (OSError, ValueError):
                raise Gone(self._end()) from None

    def receive(self) -> Progress | Ended:
        """What it says next."""
        assert self._process.stdout is not None
        try:
            message: Progress | Ended = pickle.load(self._process.stdout)
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):  # a last word may be cut short
            raise Gone(self._end()) from None
        return message

    def kill(self) -> None:
        """End it at once; whoever receives will hear that it is gone."""
        self._killed = True
        self._process.kill()

    def close(self) -> None:
        """End it; a job that it has not ended soon after is broken off."""
        with contextlib.suppress(OSError):  # what was not sent to a process that is gone
            if self._process.stdin is not None:
                self._process.stdin.close()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait()

    def release(self) -> None:
        """Close what is left of it, when nobody sends or receives any more."""
        self.close()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _end(self) -> str:
        """How it ended, in words; one that has closed its pipe is about to end."""
        try:
            code = self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            code = self._process.wait()
        if code >= 0:
            return f"ended by itself (exit code {code}): the terminal of wug view may say why"
        often = ", as happens where memory runs out" if -code == signal.SIGKILL else ""
        return f"was killed by signal {-code}{often}"
