"""The models of a sweep shared out to processes on this machine, each of which opens and asks whole models.

A GPU is done with a small model long before Python is: it has work all the time where several processes bring it some.
What a process does is `worker.py`; what it sends is kept by this one (`gathering.py`).
"""

from __future__ import annotations

import gc
import logging
import multiprocessing
import pickle
import signal
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path

from wug import registry, stages
from wug.errors import ModelError
from wug.models import ModelSpec
from wug.runs import room
from wug.runs.cache import Cache
from wug.runs.errand import Ended, Errand
from wug.runs.gathering import Gathering, UnderWay
from wug.runs.store import Store
from wug.runs.sweep import Plan, Swept, Tell, sweep
from wug.runs.worker import GRACE, UNSENDABLE, Here, Hint, Orders, Ready, work

AGAIN = 1
"""How often a model is begun again whose process was lost."""

log = logging.getLogger("wug")


def sweep_here(
    plan: Plan,
    *,
    workers: int | None = None,
    store: Store | None = None,
    cache: Cache | None = None,
    tell: Tell | None = None,
) -> Swept:
    """Ask every model on this machine, in so many processes; unless that is given, in as many as pay.

    They pay where a GPU computes. One process is this one, and the next models are made ready beside it.
    """
    count = min(len(plan.models), room.processes(plan.models) if workers is None else workers)
    if count < 2:
        return sweep(plan, store=store, cache=cache, tell=tell)
    gathering = Gathering(plan, store, cache, tell)
    here = Here(
        plan.suites,
        plan.interval,
        None if store is None else store.path.absolute(),
        gathering.keeping.number,
        None if cache is None or cache.path is None else cache.path.absolute(),
    )
    try:
        before = pickle.dumps(here, pickle.HIGHEST_PROTOCOL)
    except UNSENDABLE as error:
        if workers is not None:
            raise ModelError(f"--workers {workers}: a suite cannot be sent to another process ({error})") from None
        return sweep(plan, store=store, cache=cache, tell=tell)
    missing = gathering.missing(gathering.keeping.at_commit)
    with _Crew(gathering, before, min(count, len(missing))) as crew:
        crew.ask(missing)
    return gathering.ended()


@dataclass(slots=True, eq=False)
class _Worker:
    """A process, and the model that it has."""

    process: SpawnProcess
    line: Connection
    model: UnderWay | None = None
    following: UnderWay | None = None
    """The one that it looks at already; another process may take it where no other is left."""
    ready: bool = False

    @property
    def idle(self) -> bool:
        """Whether it waits for a model."""
        return self.ready and self.model is None


class _Crew:
    """The processes of a sweep: each takes the next model as soon as it is free."""

    def __init__(self, gathering: Gathering, before: bytes, count: int) -> None:
        self._gathering, self._before, self._count = gathering, before, count
        self._workers: list[_Worker] = []
        self._waiting: deque[UnderWay] = deque()
        threads = room.threads_each(gathering.plan.models, count)
        self._orders = Orders(threads, gc.get_threshold(), stages.is_heard())

    def __enter__(self) -> _Crew:
        return self

    def __exit__(self, *error: object) -> None:
        """End all processes: each sees that its line is broken, and has a while to leave."""
        for worker in self._workers:
            worker.line.close()
        late = time.monotonic() + GRACE
        for worker in self._workers:
            worker.process.join(max(0.0, late - time.monotonic()))
            worker.process.kill()
            worker.process.join()

    def ask(self, models: Sequence[ModelSpec]) -> None:
        """Have all of these asked."""
        self._waiting.extend(UnderWay(spec) for spec in models)
        for _ in range(self._count):
            self._start()
        while self._waiting or any(worker.model is not None for worker in self._workers):
            for line in wait([worker.line for worker in self._workers]):
                self._hear(next(worker for worker in self._workers if worker.line is line))

    def _start(self) -> None:
        """One more process."""
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        process = context.Process(target=work, args=(there, self._orders), name="wug-worker", daemon=True)
        with _without_interrupts():
            process.start()
        there.close()
        self._workers.append(_Worker(process, here))

    def _hear(self, worker: _Worker) -> None:
        """Take a message, or see that the process is gone."""
        try:
            message = worker.line.recv()
        except (EOFError, OSError):
            self._bury(worker)
            return
        if isinstance(message, Ready):
            worker.ready = self._send(worker, self._before)
        elif (model := worker.model) is not None:
            self._gathering.heed(model, message)
            if isinstance(message, Ended):
                stages.pass_on(message.stages)
                worker.model = None
                self._give_next(worker)  # it begins while its last model is kept
                self._gathering.keep(model)
                return
        self._give_next(worker)

    def _give_next(self, worker: _Worker) -> None:
        """Give a process that is free the model that it has looked at, or else the next one."""
        if not worker.idle or not self._waiting:
            return
        model = worker.following if worker.following in self._waiting else self._unseen() or self._waiting[0]
        assert model is not None
        self._waiting.remove(model)
        worker.model, worker.following = model, None
        self._send(worker, pickle.dumps(Errand(model.spec, str(Path.cwd()), self._gathering.plan.interval)))
        following = self._unseen()
        if following is not None and registry.traits(following.spec.kind).shares_device:
            worker.following = following
            self._send(worker, pickle.dumps(Hint(following.spec)))

    def _unseen(self) -> UnderWay | None:
        """The next model that no process looks at."""
        seen = [worker.following for worker in self._workers]
        return next((model for model in self._waiting if model not in seen), None)

    def _send(self, worker: _Worker, data: bytes) -> bool:
        """Whether it was sent; a process that is gone is buried when its line is heard."""
        try:
            worker.line.send_bytes(data)
        except OSError:
            return False
        return True

    def _bury(self, worker: _Worker) -> None:
        """Go on without a process; its model is begun again by another, once."""
        self._workers.remove(worker)
        worker.line.close()
        worker.process.join(GRACE)
        worker.process.kill()
        worker.process.join()
        if not worker.ready:
            how = f"a worker process {_ending(worker.process)} before it had begun"
            if not self._workers:
                raise ModelError(f"{how}: --workers 1 needs none")
            log.warning("%s: going on with %s", how, len(self._workers))
            return
        if (model := worker.model) is not None:
            model.lost += 1
            if model.lost > AGAIN:
                how = _ending(worker.process)
                self._gathering.give_up(model, f"its process {how} twice. If memory ran out, take fewer --workers")
            else:
                model.results.clear()
                self._waiting.appendleft(model)
        for other in self._workers:
            self._give_next(other)
        if self._waiting:
            self._start()


def _ending(process: SpawnProcess) -> str:
    """How a process ended, as the rest of a sentence."""
    code = process.exitcode
    if code is None or code >= 0:
        return f"ended with code {code}"
    return f"was killed ({signal.Signals(-code).name})"


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """A context in which Ctrl-C waits; a process that is started in it does not hear of it."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # else it is started within, and lets signals through when it is
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
