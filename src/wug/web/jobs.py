"""A queue of background jobs that evaluate models in a worker process, one after the other.

A page starts a job, polls its progress, and may stop it. The process is started for the first job, stays for the next
ones with the models that it has loaded, and is stopped after some idle minutes or with the server. If it dies, its job
has failed and the next one gets a new process.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import logging
import secrets
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing import Pipe
from typing import Any

from wug import registry
from wug.errors import ModelError, WugError
from wug.evaluation.models import model_spec
from wug.web.site import Site
from wug.web.worker import JobTask, RunTask, Stage, TaskEnded, TaskProgress

WORKER_COMMAND = (sys.executable, "-P", "-c", "from wug.web.worker import main; main()")
"""-P: files in the current folder must not shadow modules."""
EXIT_TIMEOUT_SECONDS = 10.0
"""Time for the process to exit once its pipe is closed; it needs 1 s to stop a job, more on a busy machine."""
IDLE_SECONDS = 300.0
"""Idle time after which the worker process is stopped."""
STOP_TIMEOUT_SECONDS = 1.0
"""Time for a stopped job to end by itself; then its process is killed, with the models in it."""
MAX_ENDED_JOBS = 200
"""Ended jobs that pages can still query."""
MAX_WAITING_JOBS = 50
_log = logging.getLogger(__name__)


class WorkerExited(Exception):
    """The process has exited or cannot be started; the text is the predicate of a sentence about it."""


class WorkerProcess:
    """A process that runs one task at a time."""

    def __init__(self, command: Sequence[str] = WORKER_COMMAND) -> None:
        stdin, self._commands = Pipe(duplex=False)
        self._messages, stdout = Pipe(duplex=False)
        with stdin, stdout:
            try:
                # In its own session: Ctrl-C is for the server, which stops the worker.
                self._process = subprocess.Popen(
                    command, stdin=stdin.fileno(), stdout=stdout.fileno(), start_new_session=True
                )
            except OSError as error:
                raise WorkerExited(f"cannot be started: {error.strerror or error}") from None
        self._sending = threading.Lock()
        self._killed = False

    @property
    def is_alive(self) -> bool:
        """Whether it accepts tasks."""
        return not self._killed and self._process.poll() is None

    def send(self, message: RunTask | str) -> None:
        """Send a message; WorkerExited if the process is gone."""
        with self._sending:
            try:
                self._commands.send(message)
            except OSError:
                raise WorkerExited(self._exit_reason()) from None

    def receive(self) -> TaskProgress | TaskEnded:
        """The next message; WorkerExited if the process is gone."""
        try:
            message: TaskProgress | TaskEnded = self._messages.recv()
        except (EOFError, OSError):  # the last message may be truncated
            raise WorkerExited(self._exit_reason()) from None
        return message

    def kill(self) -> None:
        """Kill it; a pending `receive` raises WorkerExited."""
        self._killed = True
        self._process.kill()

    def close(self) -> None:
        """Ask it to exit, and kill it after a timeout."""
        with self._sending:
            self._commands.close()
        self._wait()

    def release(self) -> None:
        """Stop it and close its pipes; nobody may send or receive any more."""
        self.close()
        self._messages.close()

    def _exit_reason(self) -> str:
        """How it exited, in words; a process that closed its pipe is about to exit."""
        code = self._wait()
        if code >= 0:
            return f"exited with code {code}: the terminal of wug view may say why"
        memory = ", which can mean that memory ran out" if -code == signal.SIGKILL else ""
        return f"was killed by signal {-code}{memory}"

    def _wait(self) -> int:
        """Its exit code; it is killed after a timeout."""
        try:
            return self._process.wait(EXIT_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            return self._process.wait()


@dataclass(slots=True, eq=False)
class Job:
    """A task with its state."""

    id: str
    model: str
    task: JobTask | None
    """None once it has ended."""
    stage: Stage = "waiting"
    done: int = 0
    total: int = 0
    error: str | None = None
    """What went wrong, for the user."""
    result: Any = None
    stop: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)

    def state(self) -> dict[str, Any]:
        """Its state as JSON data."""
        fields = ("id", "model", "stage", "done", "total", "error")
        return {**{key: getattr(self, key) for key in fields}, "stopping": self.stop.is_set()}


class JobQueue:
    """All jobs of a server, and the worker process that runs them."""

    def __init__(self, command: Sequence[str] = WORKER_COMMAND, idle_seconds: float = IDLE_SECONDS) -> None:
        self._command, self._idle_seconds = command, idle_seconds
        self._changed = threading.Condition()
        """Guards the fields below."""
        self._jobs: dict[str, Job] = {}
        self._waiting: deque[Job] = deque()
        self._current: Job | None = None
        self._worker: WorkerProcess | None = None
        self._thread: threading.Thread | None = None
        self._closing = False

    def start(self, model: str, task: JobTask) -> Job:
        """Queue a job."""
        job = Job(secrets.token_hex(8), model, task)
        with self._changed:
            if len(self._waiting) >= MAX_WAITING_JOBS:
                raise ModelError(f"{MAX_WAITING_JOBS} jobs are already waiting. Try again when some are done")
            self._jobs[job.id] = job
            ended_ids = [other_job.id for other_job in self._jobs.values() if other_job.ended.is_set()]
            for id in ended_ids[:-MAX_ENDED_JOBS]:
                del self._jobs[id]
            self._waiting.append(job)
            self._changed.notify_all()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run_jobs, name="job queue", daemon=True)
                self._thread.start()
                atexit.register(self.close)
        return job

    def find(self, id: str) -> Job | None:
        """The job with that id; None if there is none, or none any more."""
        with self._changed:
            return self._jobs.get(id)

    def stop(self, job: Job) -> None:
        """Stop a job: at once if it is waiting, else as soon as it notices, or with its process."""
        job.stop.set()
        self.withdraw(job)
        with self._changed:
            worker = self._worker if job is self._current else None
        if worker is not None:
            timer = threading.Timer(STOP_TIMEOUT_SECONDS, self._kill_worker, args=(job,))
            timer.daemon = True
            timer.start()
            with contextlib.suppress(WorkerExited):  # then it is stopped
                worker.send(job.id)

    def withdraw(self, job: Job) -> None:
        """Stop a job that is still waiting; one that is running continues, since its outputs are cached."""
        with self._changed:
            if job in self._waiting:
                self._waiting.remove(job)
                _end(job, TaskEnded("stopped"))

    def close(self) -> None:
        """Stop all jobs and the process."""
        with self._changed:
            thread, worker = self._thread, self._worker
            self._closing = True
            for job in [*self._waiting, *([self._current] if self._current else [])]:
                job.stop.set()
            self._changed.notify_all()
        if worker is not None:
            worker.close()
        if thread is not None:
            thread.join()
        with self._changed:
            self._closing = False

    def _run_jobs(self) -> None:
        while (job := self._next_job()) is not None:
            try:
                outcome = self._run_job(job)
            except WorkerExited as reason:
                text = f"the process that runs {job.model} {reason}. Its outputs so far are cached: try again"
                outcome = TaskEnded("failed", error=text)
            except Exception as error:  # a bug, but later jobs must still run
                _log.exception("job %s with %s", job.id, job.model)
                self._kill_worker(job)
                outcome = TaskEnded("failed", error=f"{job.model} cannot be evaluated: {type(error).__name__}: {error}")
            with self._changed:
                self._current = None
            _end(job, TaskEnded("stopped") if outcome.stage == "failed" and job.stop.is_set() else outcome)

    def _next_job(self) -> Job | None:
        """Wait for the next job; None if there is none, after stopping the process."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closing, self._idle_seconds)
            while self._closing and self._waiting:
                _end(self._waiting.popleft(), TaskEnded("stopped"))
            if self._waiting:
                self._current = self._waiting.popleft()
                return self._current
            worker, self._worker, self._thread = self._worker, None, None
            atexit.unregister(self.close)
        if worker is not None:
            worker.release()
        return None

    def _run_job(self, job: Job) -> TaskEnded:
        while not job.stop.is_set():
            try:
                return self._run_in(self._live_worker(job), job)
            except WorkerExited:
                if job.stage != "waiting":
                    raise
                # The process exited while it was idle, which was not noticed yet: a new one takes the job.
        return TaskEnded("stopped")

    def _run_in(self, worker: WorkerProcess, job: Job) -> TaskEnded:
        assert job.task is not None
        worker.send(RunTask(job.id, job.model, job.task))
        if job.stop.is_set():  # perhaps before there was a worker to tell
            self.stop(job)
        while not isinstance(message := worker.receive(), TaskEnded):
            job.stage, job.done, job.total = message.stage, message.done, message.total
        return message

    def _live_worker(self, job: Job) -> WorkerProcess:
        worker = self._worker
        if worker is not None and worker.is_alive:
            return worker
        if worker is not None:
            worker.release()
        job.stage = "loading"
        new_worker = WorkerProcess(self._command)
        with self._changed:
            self._worker = new_worker
        return new_worker

    def _kill_worker(self, job: Job) -> None:
        """Kill the process if it is still running a job."""
        with self._changed:
            if self._current is job and self._worker is not None:
                self._worker.kill()


@functools.lru_cache(maxsize=4)
def job_queue(site: Site) -> JobQueue:
    """The queue of a site, which all of its pages share."""
    return JobQueue()


def scoring_models(models: Sequence[str]) -> list[str]:
    """The models that can score sentences, and those of which this is unknown."""
    names = []
    for name in models:
        with contextlib.suppress(WugError):  # reported when the model is opened
            if registry.traits(model_spec(name).backend).returns == "text":
                continue
        names.append(name)
    return names


def _end(job: Job, outcome: TaskEnded) -> None:
    job.stage, job.result, job.error, job.task = outcome.stage, outcome.result, outcome.error, None
    job.ended.set()
