"""Several models at a time on this machine, one process each (`concurrent.futures`, spawn).

For small models, Python is slower than the GPU, so several processes share it. Workers write outputs to the cache
themselves; results return to this process, which writes them to the store.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from multiprocessing import resource_tracker, util
from pathlib import Path
from typing import Any, NamedTuple

from wug import timings
from wug.errors import ModelError
from wug.evaluation import capacity
from wug.evaluation.cache import Cache
from wug.evaluation.evaluate import RequestMemo, run_key_for
from wug.evaluation.executors import serial
from wug.evaluation.handle import ModelHandle
from wug.evaluation.recorder import Recorder
from wug.evaluation.remote import Finished, RemoteTask, evaluate_model, record_finished
from wug.evaluation.request import ModelTask
from wug.interfaces import Suite
from wug.models import ModelSpec
from wug.results.reader import RunReader
from wug.results.sweeps import finished as finished_run

GRACE_SECONDS = 10.0
"""Time for a worker to stop programs that it started."""
INITIALIZER_SECONDS = 0.2
"""Time for a worker to return from its initializer if the command has ended."""
UNPICKLABLE = (pickle.PicklingError, AttributeError, TypeError)

log = logging.getLogger("wug")


class _Shared(NamedTuple):
    """Data that every worker gets once."""

    suites: tuple[Suite, ...]
    cache: Path | None
    store: Path | None
    sweep: int | None
    threads: int | None
    measured: bool
    """Whether durations are sent back."""


def run(recorder: Recorder, workers: int | None) -> None:
    """Evaluate models in `workers` processes, by default as many as keep a GPU busy; a single one is this process.

    A model whose process dies is started once more, alone.
    """
    plan, cache, store = recorder.plan, recorder.cache, recorder.store
    specs = [task.model for task in plan.tasks if isinstance(task.model, ModelSpec)]
    # Model objects cannot be sent to another process.
    all_named = len(specs) == len(plan.tasks)
    count = min(len(specs), capacity.processes(specs) if workers is None else workers) if all_named else 1
    if count < 2:
        serial.run(recorder)
        return
    shared = _Shared(
        plan.suites,
        None if cache is None or cache.path is None else cache.path.absolute(),
        None if store is None else store.path.absolute(),
        recorder.sweep,
        capacity.threads_each(specs, count),
        timings.is_enabled(),
    )
    try:
        payload = pickle.dumps(shared, pickle.HIGHEST_PROTOCOL)
    except UNPICKLABLE as error:
        if workers is not None:
            raise ModelError(f"a suite cannot be sent to another process ({error}): use one worker") from None
        serial.run(recorder)
        return
    for task in _run_all(deque(recorder.pending()), count, payload, recorder):
        log.warning("%s: its worker process was lost; it is started again", task.name)
        if _run_all(deque([task]), 1, payload, recorder):
            recorder.fail(task, "its worker process ended unexpectedly twice. If memory ran out, use fewer --workers")


def _run_all(waiting: deque[ModelTask], count: int, payload: bytes, recorder: Recorder) -> list[ModelTask]:
    """Evaluate tasks, at most `count` at a time; returns those whose process was lost."""
    positions = {id(suite): position for position, suite in enumerate(recorder.plan.suites)}
    running, lost = dict[Future[bytes], tuple[ModelTask, ProcessPoolExecutor]](), list[ModelTask]()
    with _workers(payload) as start:

        def submit(worker: ProcessPoolExecutor) -> None:
            task = waiting.popleft()
            assert isinstance(task.model, ModelSpec)
            remote = RemoteTask(task.model, str(Path.cwd()), recorder.plan.interval)
            suites = [positions[id(suite)] for suite in task.suites]
            recorder.notify(task)
            with _interrupts_blocked():
                running[worker.submit(_evaluate, remote, suites)] = task, worker

        while waiting or running:
            while waiting and len(running) < count:
                submit(start())
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                task, worker = running.pop(future)
                try:
                    data = future.result()
                except BrokenProcessPool:
                    lost.append(task)
                    continue
                if waiting:
                    submit(worker)  # it continues while its last results are written
                durations, finished = pickle.loads(data)
                for record in durations:
                    timings.log.handle(record)
                record_finished(recorder, task, finished)
    return lost


@contextmanager
def _workers(payload: bytes) -> Iterator[Callable[[], ProcessPoolExecutor]]:
    """A function that starts a worker: a pool of one process, so that the end of one worker leaves the others alone.

    If the context is left by an error, all of them are stopped.
    """
    before = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    workers: list[ProcessPoolExecutor] = []

    def start() -> ProcessPoolExecutor:
        workers.append(ProcessPoolExecutor(1, context, _start_worker, (payload,)))
        return workers[-1]

    try:
        yield start
    except BaseException:
        for worker in workers:
            worker.shutdown(wait=False, cancel_futures=True)
        processes = set(multiprocessing.active_children()) - before
        for process in processes:
            process.terminate()
        for process in processes:
            process.join(GRACE_SECONDS)
            process.kill()
        raise
    for worker in workers:
        worker.shutdown()


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """A context in which Ctrl-C waits; a process started within it ignores Ctrl-C, which is meant for the command."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # it would inherit the mask
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# In the worker process ------------------------------------------------------------------------------------------------

_worker: dict[str, Any] = {}
"""The shared data of this worker process, and the requests of its suites."""


def _start_worker(payload: bytes) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        shared: _Shared | None = pickle.loads(payload)
        error = ""
    except Exception as reason:  # whatever the code of a plugin raises
        shared, error = None, f"a suite cannot be used in another process ({reason}): use one worker"
    if shared is not None and shared.threads is not None:  # read by torch and tokenizers when they are imported
        os.environ["OMP_NUM_THREADS"] = os.environ["RAYON_NUM_THREADS"] = str(shared.threads)
    _worker.update(shared=shared, error=error, memo=RequestMemo())
    # Last, since an exit within an initializer is printed as an error.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # so that programs started by a backend are stopped
    # A worker that is ending already must not be interrupted in its last steps: that would be printed as an error.
    util.Finalize(None, signal.signal, (signal.SIGTERM, signal.SIG_IGN), exitpriority=100)
    threading.Thread(target=_end_with_parent, name="wug-parent", daemon=True).start()


def _end_with_parent() -> None:
    """End this process when the command ends, however it ends."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    time.sleep(INITIALIZER_SECONDS)
    late = threading.Timer(GRACE_SECONDS, os._exit, (1,))
    late.daemon = True
    late.start()
    os.kill(os.getpid(), signal.SIGTERM)


def _evaluate(task: RemoteTask, positions: Sequence[int]) -> bytes:
    """The pickled durations and `Finished` of a model, which is evaluated on the suites at these positions."""
    shared: _Shared | None = _worker["shared"]
    if shared is None:
        return pickle.dumps(([], Finished(error=_worker["error"])))
    context: AbstractContextManager[list[logging.LogRecord]]
    context = timings.collected() if shared.measured else nullcontext([])
    with context as durations:
        finished = _evaluated(task, [shared.suites[position] for position in positions], shared)
    try:
        return pickle.dumps((durations, finished), pickle.HIGHEST_PROTOCOL)
    except UNPICKLABLE as error:
        return pickle.dumps(([], Finished(error=f"its results cannot be sent between processes ({error})")))


def _evaluated(task: RemoteTask, suites: Sequence[Suite], shared: _Shared) -> Finished:
    def complete(handle: ModelHandle) -> int | None:
        """The complete run of the model in the store."""
        if shared.store is None or shared.sweep is None:
            return None
        key = run_key_for(suites, handle, task.interval, _worker["memo"])
        return finished_run(RunReader(shared.store), shared.sweep, key, str(handle.spec))

    with closing(Cache(shared.cache)) as cache:
        return evaluate_model(task, suites, cache, _worker["memo"], complete)
