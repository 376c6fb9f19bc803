"""Where models are evaluated: one interface, three implementations."""

from __future__ import annotations

from typing import Protocol

from wug.errors import UnknownName
from wug.evaluation.recorder import Recorder
from wug.evaluation.request import ExecutorName, Plan

NAMES = ("auto", "serial", "processes", "ray")


class Executor(Protocol):
    """Evaluates the models of a plan and hands results to its recorder, the only writer."""

    def run(self, recorder: Recorder) -> None:
        """Evaluate every model that is not complete; a model that fails does not stop the others."""


def choose(name: ExecutorName, workers: int | None, plan: Plan) -> Executor:
    """The executor of a name; `auto` uses several processes where models share a GPU, or `workers` asks for them."""
    from wug.evaluation.executors import processes, ray, serial

    if name not in NAMES:
        raise UnknownName("executor", name, NAMES)
    if name == "ray":
        return ray.RayExecutor(workers)
    count = processes.worker_count(plan, workers) if name != "serial" else 1
    return processes.ProcessExecutor(count, required=workers is not None) if count > 1 else serial.SerialExecutor()
