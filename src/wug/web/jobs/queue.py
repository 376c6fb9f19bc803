"""Jobs that ask a model in the background, one after the other, in a process of their own.

A page starts a job, looks how far it is, and may stop it. The process is started for the first job, stays for the
next ones with the models that it has loaded, and is ended when nothing was asked for some minutes, or with the
server. Where it dies, its job has failed and the next one gets a new process.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import logging
import secrets
import threading
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from wug import registry
from wug.errors import ModelError, WugError
from wug.runs.opening import model_spec
from wug.web.jobs.messages import Ended, Question, Stage, Stop, Work, likeliest_tokens, run_suites, score_texts
from wug.web.jobs.process import COMMAND, Gone, WorkerProcess
from wug.web.site import Site

__all__ = ["Job", "Scoring", "likeliest_tokens", "run_suites", "score_texts", "scorers", "scoring"]

IDLE = 300.0
"""Seconds without a question after which the process is ended."""
GRACE = 1.0
"""Seconds in which a stopped job may end by itself; then its process is ended, and the models in it go too."""
REMEMBERED = 200
"""Ended jobs that pages can still look at."""
WAITING = 50
"""Jobs that may wait."""

_log = logging.getLogger(__name__)


@functools.lru_cache(maxsize=4)
def scoring(site: Site) -> Scoring:
    """The jobs of a site; all of its pages share them and the models that are loaded."""
    return Scoring()


def scorers(models: Sequence[str]) -> list[str]:
    """Those of the models that can say how probable a sentence is; one that cannot be told stays."""
    return [name for name in models if _answers(name) != "text"]


@dataclass(slots=True, eq=False)
class Job:
    """One thing that a model is asked to do."""

    id: str
    model: str
    work: Work | None
    """What is to be done; None when it has ended."""
    stage: Stage = "waiting"
    done: int = 0
    total: int = 0
    error: str | None = None
    """What went wrong, for the user."""
    result: Any = None
    stop: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)

    def state(self) -> dict[str, Any]:
        """How far it is, as JSON-able data."""
        fields = ("id", "model", "stage", "done", "total", "error")
        return {**{key: getattr(self, key) for key in fields}, "stopping": self.stop.is_set()}


class Scoring:
    """All jobs of a server, and the process that does them."""

    def __init__(self, command: Sequence[str] = COMMAND, idle: float = IDLE) -> None:
        self._command, self._idle = command, idle
        self._changed = threading.Condition()
        """Guards what follows."""
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._waiting: deque[Job] = deque()
        self._current: Job | None = None
        self._worker: WorkerProcess | None = None
        self._thread: threading.Thread | None = None
        self._closing = False

    def start(self, model: str, work: Work) -> Job:
        """A job that will ask the model as soon as the jobs before it are done."""
        job = Job(secrets.token_hex(8), model, work)
        with self._changed:
            if len(self._waiting) >= WAITING:
                raise ModelError(f"{WAITING} jobs are waiting already. Try again when some are done")
            self._jobs[job.id] = job
            for old in [one for one in self._jobs.values() if one.ended.is_set()][:-REMEMBERED]:
                del self._jobs[old.id]
            self._waiting.append(job)
            self._changed.notify_all()
            if self._thread is None:
                self._thread = threading.Thread(target=self._drain, name="ask models", daemon=True)
                self._thread.start()
                atexit.register(self.close)
        return job

    def find(self, id: str) -> Job | None:
        """The job of that id; None where there is none, or none any more."""
        with self._changed:
            return self._jobs.get(id)

    def stop(self, job: Job) -> None:
        """Stop a job: at once where it waits, else as soon as it notices, or its process is ended."""
        job.stop.set()
        with self._changed:
            if job in self._waiting:
                self._waiting.remove(job)
                _end(job, Ended("stopped"))
            worker = self._worker if job is self._current else None
        if worker is not None:
            forced = threading.Timer(GRACE, self._force, args=(job,))
            forced.daemon = True
            forced.start()
            with contextlib.suppress(Gone):  # then it is stopped
                worker.send(Stop(job.id))

    def withdraw(self, job: Job) -> None:
        """Take back a job that still waits; one that is under way goes on, since its answer is kept."""
        with self._changed:
            if job in self._waiting:
                self._waiting.remove(job)
                _end(job, Ended("stopped"))

    def close(self) -> None:
        """Stop all jobs and end the process."""
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

    def _drain(self) -> None:
        """Do what waits, until nothing was asked for long."""
        while (job := self._next()) is not None:
            try:
                ended = self._ask(job)
            except Gone as gone:
                again = "What it answered before is kept: ask again"
                ended = Ended("failed", error=f"the process that asks {job.model} {gone}. {again}")
            except Exception as error:  # our own fault, but the jobs after this one go on
                _log.exception("job %s with %s", job.id, job.model)
                self._force(job)
                ended = Ended("failed", error=f"{job.model} cannot be asked: {type(error).__name__}: {error}")
            with self._changed:
                self._current = None
            _end(job, Ended("stopped") if ended.stage == "failed" and job.stop.is_set() else ended)

    def _next(self) -> Job | None:
        """The job that is done next; None when the process and this thread have ended."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closing, self._idle)
            while self._closing and self._waiting:
                _end(self._waiting.popleft(), Ended("stopped"))
            if self._waiting:
                self._current = self._waiting.popleft()
                return self._current
            worker, self._worker, self._thread = self._worker, None, None
            atexit.unregister(self.close)
        if worker is not None:
            worker.release()
        return None

    def _ask(self, job: Job) -> Ended:
        while True:
            if job.stop.is_set():
                return Ended("stopped")
            try:
                return self._follow(job, self._ready(job))
            except Gone:
                if job.stage != "waiting":
                    raise
                # The process was ended while it had nothing to do, and this was not yet seen: a new one will answer.

    def _follow(self, job: Job, worker: WorkerProcess) -> Ended:
        """How a job ended; meanwhile it says how far it is."""
        assert job.work is not None
        worker.send(Question(job.id, job.model, job.work))
        if job.stop.is_set():  # perhaps before there was somebody to tell
            self.stop(job)
        while not isinstance(said := worker.receive(), Ended):
            job.stage, job.done, job.total = said.stage, said.done, said.total
        return said

    def _ready(self, job: Job) -> WorkerProcess:
        """The process: the one that is there, or a new one where there is none or it has ended."""
        worker = self._worker
        if worker is not None and worker.answers:
            return worker
        if worker is not None:
            worker.release()
        job.stage = "loading"
        made = WorkerProcess(self._command)
        with self._changed:
            self._worker = made
        return made

    def _force(self, job: Job) -> None:
        """End the process if it is still at a job that was stopped."""
        with self._changed:
            if self._current is job and self._worker is not None:
                self._worker.kill()


def _answers(name: str) -> str:
    """What a model gives: `scores`, `text`, or nothing where that cannot be told."""
    try:
        return registry.traits(model_spec(name).kind).returns
    except WugError:  # reported when the model is opened
        return ""


def _end(job: Job, ended: Ended) -> None:
    job.stage, job.result, job.error, job.work = ended.stage, ended.result, ended.error, None
    job.ended.set()
