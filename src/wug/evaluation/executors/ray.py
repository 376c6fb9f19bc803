"""Models on a Ray cluster: one task per model, or replicas of one model if there are more GPUs than models.

Ray schedules tasks, restarts those of lost machines, and applies back-pressure. Outputs and results are sent to this
process, which writes them. Tasks are used rather than actors, because an actor that Ray restarts may wait forever for a
lost machine.
"""

from __future__ import annotations

import importlib
import io
import logging
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wug.errors import ModelError, first_line, needs_extra
from wug.evaluation import remote
from wug.evaluation.handle import ModelHandle
from wug.evaluation.recorder import Recorder, known_model
from wug.evaluation.remote import Finished, Outputs, RemoteTask, Replica, known_rows
from wug.evaluation.request import ModelTask
from wug.models import ModelSpec
from wug.requests import Answer, Request, Scored

RETRIES = 5
"""How often Ray restarts a task whose process or machine was lost."""
CHUNKS_PER_ROUND = 2
"""Chunks that each replica of a model gets before outputs are stored."""
TASKS_PER_SLOT = 2
"""Tasks submitted per slot of the cluster: while one runs, the next is transferred."""
UNREAD_MESSAGES = 1
"""Unread messages of a task before the task pauses."""

log = logging.getLogger("wug")


def run(recorder: Recorder, workers: int | None) -> None:
    """Evaluate models on the cluster that Ray finds or starts, at most `workers` models or replicas at a time."""
    if any(task.spec is None for task in recorder.plan.tasks):
        raise ModelError("a model object cannot be sent to a cluster: pass its name, or use another executor")
    with joined() as ray:
        cluster = _Cluster(ray, workers)
        tasks = recorder.pending(identify=True)
        if len(tasks) >= cluster.replicas:
            _run_tasks(cluster, tasks, recorder)
            return
        for task in tasks:
            recorder.notify(task)
            with recorder.attempt(task):
                recorder.evaluate(task, _replicated(cluster, _spec_of(task)))


@dataclass(slots=True)
class _Cluster:
    """The resources of the cluster, and those of a task."""

    ray: Any
    workers: int | None

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers > (there := self.gpus or self.cpus):
            raise ModelError(f"--workers {self.workers}: the cluster has {there} {'GPUs' if self.gpus else 'CPUs'}")

    @property
    def gpus(self) -> int:
        """GPUs at this moment; machines may join and leave."""
        return int(self.ray.cluster_resources().get("GPU", 0))

    @property
    def cpus(self) -> int:
        return int(self.ray.cluster_resources().get("CPU", 0))

    @property
    def submitted(self) -> int:
        """Tasks to submit at a time."""
        return self.workers or TASKS_PER_SLOT * (self.gpus or max(1, self.cpus))

    @property
    def replicas(self) -> int:
        """Copies of one model: one per GPU, or `workers`."""
        return self.workers or self.gpus or 1

    def task(self, function: Any, **more: Any) -> Any:
        needs = {"num_gpus": 1, "num_cpus": 0} if self.gpus else {"num_cpus": 1}
        return self.ray.remote(max_retries=RETRIES, **needs, **more)(function)


def _run_tasks(cluster: _Cluster, tasks: Sequence[ModelTask], recorder: Recorder) -> None:
    """One Ray task per model."""
    ray = cluster.ray
    function = cluster.task(
        remote.stream_model,
        max_calls=0,
        num_returns="streaming",
        _generator_backpressure_num_objects=UNREAD_MESSAGES,
    )
    suites = {_identity(task): ray.put(list(task.suites)) for task in tasks}
    waiting = iter(tasks)
    running: dict[Any, ModelTask] = {}
    while True:
        while len(running) < cluster.submitted and (task := next(waiting, None)) is not None:
            spec = _spec_of(task)
            what = RemoteTask(spec, str(Path.cwd()), recorder.plan.interval)
            known = ray.put(known_rows(recorder.cache, known_model(spec)))
            running[function.remote(what, suites[_identity(task)], known)] = task
            recorder.notify(task)
        if not running:
            return
        (stream, *_), _ = ray.wait(list(running), num_returns=1, fetch_local=False)
        task = running[stream]
        try:
            match ray.get(next(stream)):
                case Outputs(key, model, rows, done, total):
                    if recorder.cache is not None:
                        recorder.cache.write(key, model, rows)
                    recorder.notify(task, (done, total))
                case Finished() as finished:
                    remote.record_finished(recorder, task, finished)
        except StopIteration:
            del running[stream]
        except ray.exceptions.RayError as error:
            del running[stream]
            recorder.fail(task, f"Ray gave up on it: {first_line(error)}")


def _identity(task: ModelTask) -> tuple[int, ...]:
    return tuple(map(id, task.suites))


def _spec_of(task: ModelTask) -> ModelSpec:
    assert task.spec is not None
    return task.spec


class ReplicatedModel:
    """A model in replicas on a cluster, used as if they were one."""

    ordered = False

    def __init__(self, cluster: _Cluster, spec: ModelSpec, replica: Replica) -> None:
        self.id, self.options = replica.identity.id, replica.identity.options
        self.scores_separate_words = replica.scores_separate_words
        self.chunk = replica.chunk * cluster.replicas * CHUNKS_PER_ROUND
        self._cluster, self._spec, self._size = cluster, spec, replica.chunk
        self._warned: set[str] = set()

    def score(self, requests: Sequence[Request]) -> Sequence[Scored]:
        """One scored text per request, in order."""
        return self._outputs(requests)

    def generate(self, sources: Sequence[str]) -> list[Answer | str]:
        """One output per source, in order."""
        return self._outputs(sources)

    def _outputs(self, requests: Sequence[Any]) -> list[Any]:
        ray, limit, size = self._cluster.ray, self._cluster.workers, self._size
        function = self._cluster.task(remote.run_replica, max_calls=0)
        running: list[Any] = []
        for first in range(0, len(requests), size):
            if limit is not None and len(running) >= limit:
                ray.wait(running, num_returns=len(running) - limit + 1)
            running.append(function.remote(self._spec, str(Path.cwd()), requests[first : first + size]))
        outputs: list[Any] = []
        for reply in running:
            replica = _replica(ray, reply, self._warned)
            if replica.identity.id != self.id:
                raise ModelError(
                    f"the machines have different copies of the model: {self.id}, {replica.identity.id}. Put the same "
                    "files on all of them"
                )
            outputs += replica.outputs
        return outputs


def _replicated(cluster: _Cluster, spec: ModelSpec) -> ModelHandle:
    function = cluster.task(remote.run_replica, max_calls=0)
    replica = _replica(cluster.ray, function.remote(spec, str(Path.cwd()), ()), set())
    if replica.ordered:
        message = "its outputs depend on one another, so it cannot be spread: use --executor serial"
        raise ModelError(f"{replica.identity.id}: {message}")
    model = ReplicatedModel(cluster, spec, replica)
    return ModelHandle(replica.identity, lambda: model, spec)


def _replica(ray: Any, reply: Any, warned: set[str]) -> Replica:
    """What a replica sent; its warnings are logged, and its errors are raised."""
    try:
        received, warnings = ray.get(reply)
    except ray.exceptions.RayError as error:
        raise ModelError(f"Ray cannot continue: {first_line(error)}") from None
    for warning in warnings:
        if warning not in warned:
            log.warning("%s", warning)
            warned.add(warning)
    if isinstance(received, str):
        raise ModelError(received)
    replica: Replica = received
    return replica


@contextmanager
def joined() -> Iterator[Any]:
    """Ray, joined or started; shut down at the end if it was started here."""
    os.environ.setdefault("RAY_DEDUP_LOGS", "0")  # otherwise it prints collected lines at the end
    with needs_extra("the executor ray", "ray"):
        ray = importlib.import_module("ray")
    started = not ray.is_initialized()
    with redirect_stdout(_RayOutput()):
        if started:
            _start(ray)
        try:
            yield ray
        finally:
            if started:
                ray.shutdown()


class _RayOutput(io.TextIOBase):
    """Replaces stdout for Ray: messages about a lost machine become one warning, and the rest is logged."""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if "marked dead" in text:
            log.warning("a machine of the cluster was lost; its tasks are started again")
        elif text.strip():
            log.debug("Ray: %s", text.rstrip())
        return len(text)


def _start(ray: Any) -> None:
    """Join the cluster that RAY_ADDRESS names or that runs on this machine, or start one here."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    handler = signal.getsignal(signal.SIGTERM)
    try:
        # Otherwise the output of replicas would mix with the results on stdout.
        ray.init(log_to_driver=False, include_dashboard=False, configure_logging=True, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise ModelError(f"Ray cannot be started: {error}. RAY_ADDRESS names the cluster to join") from None
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handler)  # Ray replaces the handler that makes a run resumable
