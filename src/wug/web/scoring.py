"""Jobs that ask a model in the background, one at a time for each model.

A page starts a job, looks how far it is, and may stop it. A model stays loaded for the next job; beyond a few
of them, the one that was not used for longest goes. A model that must be loaded waits until no other is asked.
"""

from __future__ import annotations

import functools
import logging
import secrets
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from wug.errors import ModelError, WugError
from wug.runs.cache import Cache
from wug.runs.evaluate import ask_through, evaluate, require
from wug.runs.opening import model_spec, open_model
from wug.runs.signature import signature
from wug.runs.store import Store, run_key
from wug.types import Request, Scored, Suite
from wug.web.site import Site

Stage: TypeAlias = Literal["waiting", "loading", "asking", "done", "failed", "stopped"]
Tell: TypeAlias = Callable[[int, int], None]
"""Told how many of how many questions are answered; it raises Stopped where the user stopped the job."""
Work: TypeAlias = Callable[[Any, Tell], Any]
"""What a job does with its model; what comes back is the job's result."""

LOADED = 2
"""Models kept in memory."""
REMEMBERED = 200
"""Ended jobs that pages can still look at."""
WAITING = 50
"""Jobs that may wait for one model."""

GENERATORS = frozenset({"attention_lstm", "command", "ctranslate", "oracle", "prompt", "seq2seq"})
"""Backends that only turn text into text: pages about sentences do not offer their models."""

_log = logging.getLogger(__name__)


@functools.lru_cache(maxsize=4)
def scoring(site: Site) -> Scoring:
    """The jobs of a site; all of its pages share them and the models that are loaded."""
    return Scoring()


def scorers(models: Sequence[str]) -> list[str]:
    """Those of the models that can say how probable a sentence is; one that cannot be told stays."""
    found = []
    for name in models:
        try:
            kind = model_spec(name).kind
        except WugError:  # it is told when the model is asked
            kind = ""
        if kind not in GENERATORS:
            found.append(name)
    return found


class Stopped(Exception):
    """The user stopped the job."""


@dataclass(slots=True)
class Job:
    """One thing that a model is asked to do."""

    id: str
    model: str
    work: Work
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
    """All jobs of a server, and the models that it has loaded."""

    def __init__(self, load: Callable[[str], Any] = open_model) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._gate = _Gate()
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._queues: dict[str, deque[Job]] = {}
        self._loaded: OrderedDict[str, Any] = OrderedDict()

    def start(self, model: str, work: Work) -> Job:
        """A job that will ask the model as soon as the jobs before it are done."""
        job = Job(secrets.token_hex(8), model, work)
        with self._lock:
            if len(self._queues.get(model, ())) >= WAITING:
                raise ModelError(f"{WAITING} jobs are waiting for {model} already. Try again when some are done")
            self._jobs[job.id] = job
            for old in [one for one in self._jobs.values() if one.ended.is_set()][:-REMEMBERED]:
                del self._jobs[old.id]
            if model in self._queues:
                self._queues[model].append(job)
            else:
                self._queues[model] = deque([job])
                threading.Thread(target=self._drain, args=(model,), name=f"ask {model}", daemon=True).start()
        return job

    def find(self, id: str) -> Job | None:
        """The job of that id; None where there is none, or none any more."""
        with self._lock:
            return self._jobs.get(id)

    def stop(self, job: Job) -> None:
        """Stop a job: at once where it waits, else as soon as the model has answered what it was asked last."""
        job.stop.set()
        with self._lock:
            queue = self._queues.get(job.model)
            if queue and job in queue:
                queue.remove(job)
                _end(job, "stopped")

    def _drain(self, model: str) -> None:
        while True:
            with self._lock:
                if not self._queues[model]:
                    del self._queues[model]
                    return
                job = self._queues[model].popleft()
            self._run(job)

    def _run(self, job: Job) -> None:
        def tell(done: int, total: int) -> None:
            job.done, job.total = done, total
            if job.stop.is_set():
                raise Stopped

        try:
            model = self._model(job)
            with self._gate.asking():
                job.stage = "asking"
                tell(0, 0)
                job.result = job.work(model, tell)
        except Stopped:
            _end(job, "stopped")
        except WugError as error:
            _end(job, "failed", str(error))
        except Exception as error:  # whatever a model's own code raises: the page says so, the server goes on
            _log.exception("job %s with %s", job.id, job.model)
            _end(job, "failed", f"{job.model} failed: {type(error).__name__}: {error}")
        else:
            _end(job, "done")

    def _model(self, job: Job) -> Any:
        name = job.model
        with self._lock:
            if name in self._loaded:
                self._loaded.move_to_end(name)
                return self._loaded[name]
        with self._gate.loading():
            job.stage = "loading"
            model = self._load(name)
        with self._lock:
            self._loaded[name] = model
            while len(self._loaded) > LOADED:
                self._loaded.popitem(last=False)
        return model


class _Gate:
    """Lets models be asked side by side, but none while one is loaded.

    Loaders change settings of the whole process while they work, such as the number format of new tensors: what
    another model computes meanwhile could come out different.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._asking = 0
        self._loading = False

    @contextmanager
    def asking(self) -> Iterator[None]:
        """As soon as none is loaded."""
        with self._changed:
            self._changed.wait_for(lambda: not self._loading)
            self._asking += 1
        try:
            yield
        finally:
            with self._changed:
                self._asking -= 1
                self._changed.notify_all()

    @contextmanager
    def loading(self) -> Iterator[None]:
        """As soon as none is asked, and none loaded."""
        with self._changed:
            self._changed.wait_for(lambda: not self._loading and not self._asking)
            self._loading = True
        try:
            yield
        finally:
            with self._changed:
                self._loading = False
                self._changed.notify_all()


def run_suites(suites: Sequence[Suite], store: Path, cache: Path | None, command: str) -> Work:
    """The work that asks a model what suites want to know and keeps it as a run; its number comes back."""

    def work(model: Any, tell: Tell) -> int:
        require(suites, ask_through(model))
        # Connections of its own: a transaction must not meet one of another thread.
        answers = None if cache is None else Cache(cache)
        runs = Store(store)
        try:
            key = run_key([str(signature(suite, model)) for suite in suites], {"interval": "wilson"})
            number = runs.begin(key, model.id, command)
            try:
                results = []
                for result in evaluate(suites, ask_through(model, answers, tell)):
                    runs.add(number, result)
                    results.append(result)
            except BaseException as error:
                runs.finish(number, "interrupted" if isinstance(error, Stopped) else "failed")
                raise
            failed = [result for result in results if result.status == "failed"]
            runs.finish(number, "failed" if failed else "complete")
            if failed:
                raise ModelError(failed[0].warnings[-1].removeprefix("failed: "))
            return number
        finally:
            runs.close()
            if answers is not None:
                answers.close()

    return work


def score_texts(texts: Sequence[str], cache: Path | None) -> Work:
    """The work that asks a model for the tokens of texts with their probabilities; a list of Scored comes back."""

    def work(model: Any, tell: Tell) -> list[Scored]:
        if ask_through(model).can != "scorer":
            raise ModelError(f"{model.id} turns text into text and cannot say how probable a sentence is")
        answers = None if cache is None else Cache(cache)
        try:
            scorer: Any = ask_through(model, answers, tell).model
            scored: list[Scored] = scorer.score([Request(text) for text in texts])
            return scored
        finally:
            if answers is not None:
                answers.close()

    return work


def _end(job: Job, stage: Stage, error: str | None = None) -> None:
    job.stage, job.error = stage, error
    job.ended.set()
