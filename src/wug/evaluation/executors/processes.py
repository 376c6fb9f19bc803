"""Several models at a time on this machine, one process each (`concurrent.futures`, spawn).

For small models, Python is slower than the GPU, so several processes share it. Workers write outputs to the cache
themselves; results return to this process, which writes them to the store.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import re
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

from wug import registry, timings
from wug.errors import ModelError
from wug.evaluation import executors
from wug.evaluation.cache import Cache
from wug.evaluation.evaluate import RequestMemo, run_key_for
from wug.evaluation.handle import ModelHandle
from wug.evaluation.recorder import Recorder
from wug.evaluation.remote import Finished, RemoteTask, evaluate_model, record_finished
from wug.evaluation.request import ModelTask
from wug.files import existing
from wug.interfaces import Suite
from wug.models import ModelSpec
from wug.models.hardware import cores, gpu_is_shared, pick_device, threads
from wug.results.reader import RunReader
from wug.results.sweeps import finished as finished_run

GRACE_SECONDS = 10.0
"""Time for a worker to stop programs that it started."""
INITIALIZER_SECONDS = 0.2
"""Time for a worker to return from its initializer if the command has ended."""
UNPICKLABLE = (pickle.PicklingError, AttributeError, TypeError)

WEIGHT_SUFFIXES = (".safetensors", ".bin", ".pt", ".arpa", ".gz", ".jsonl", ".tsv")
MEMORY_PER_FILE_BYTE = 4
"""Bytes of memory per byte of a model's files: float32 is twice as large as 16-bit weights, and activations need
memory."""
MAX_PROCESSES_PER_GPU = 8
PROCESS_OVERHEAD_BYTES = 2_000_000_000
"""Memory of a process on a GPU, without its model."""
AVAILABLE = re.compile(r"^MemAvailable: *(\d+) kB$", re.MULTILINE)

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
    count = min(len(specs), worker_count(specs) if workers is None else workers) if all_named else 1
    if count < 2:
        executors.run("serial", recorder)
        return
    shared = _Shared(
        plan.suites,
        None if cache is None or cache.path is None else cache.path.absolute(),
        None if store is None else store.path.absolute(),
        recorder.sweep,
        threads_each(specs, count),
        timings.is_enabled(),
    )
    try:
        payload = pickle.dumps(shared, pickle.HIGHEST_PROTOCOL)
    except UNPICKLABLE as error:
        if workers is not None:
            raise ModelError(f"a suite cannot be sent to another process ({error}): use one worker") from None
        executors.run("serial", recorder)
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


def worker_count(models: Sequence[ModelSpec]) -> int:
    """How many processes to use for some models: several only on a GPU, as cores and memory allow."""
    shared = (
        registry.traits(spec.backend).shares_device
        and spec.options.get("device_map", "no") == "no"
        and device_of(spec).startswith("cuda")
        for spec in models
    )
    if len(models) < 2 or not all(shared) or not gpu_is_shared():
        return 1
    sizes = [size for spec in models if (size := size_of(spec)) is not None]
    in_memory, on_gpu = free_memory(), _free_on_gpu()
    if not sizes or in_memory is None or on_gpu is None:
        return 1
    need = MEMORY_PER_FILE_BYTE * max(sizes) + PROCESS_OVERHEAD_BYTES
    return max(1, min(len(models), MAX_PROCESSES_PER_GPU, cores() // 2, min(in_memory, on_gpu) // need))


def threads_each(models: Sequence[ModelSpec], count: int) -> int | None:
    """CPU threads for each of `count` processes; None for the default.

    On a CPU the last digits can depend on it, so the default is kept there.
    """
    if not all(registry.traits(spec.backend).uses_device and device_of(spec) != "cpu" for spec in models):
        return None
    return max(1, threads() // max(1, count))


def size_of(spec: ModelSpec) -> int | None:
    """Bytes of the model's files; None if they are not on this machine."""
    path = existing(spec.name) or registry.backend(spec.backend).snapshot(spec)
    if path is None:
        return None
    files = [path] if path.is_file() else [file for file in path.iterdir() if file.suffix in WEIGHT_SUFFIXES]
    return sum(file.stat().st_size for file in files)


def device_of(spec: ModelSpec) -> str:
    """The device that a model will use."""
    return pick_device(spec.options.get("device", "auto")) if registry.traits(spec.backend).uses_device else "cpu"


def free_memory() -> int | None:
    """Free bytes of main memory; None if the system does not report them."""
    if sys.platform == "linux":
        # Unlike sysconf, MemAvailable includes the page cache, which is most of the memory after reading checkpoints.
        match = AVAILABLE.search(Path("/proc/meminfo").read_text(encoding="ascii", errors="replace"))
        if match:
            return int(match[1]) * 1024
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):  # not on every system
        return None


def _free_on_gpu() -> int | None:
    import torch

    if not torch.cuda.is_available():
        return None
    free, _ = torch.cuda.mem_get_info()
    return int(free + torch.cuda.memory_reserved() - torch.cuda.memory_allocated())


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
