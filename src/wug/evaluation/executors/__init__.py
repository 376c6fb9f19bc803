"""Where models are evaluated: one interface, and one module per executor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from wug import registry
from wug.errors import UnknownName

if TYPE_CHECKING:
    from wug.evaluation.recorder import Recorder
    from wug.evaluation.request import Plan

AUTO = "auto"
"""Several processes if models share a GPU or `workers` is given; otherwise this process."""
FOLDER = "evaluation.executors"


class Executor(Protocol):
    """Evaluates the models of a plan and passes results to its recorder."""

    def run(self, recorder: Recorder) -> None:
        """Evaluate every model that is not complete; a model that fails does not stop the others."""


def names() -> list[str]:
    """The names of the executors, the default first; each module of this package is one."""
    return [AUTO, *registry.names(FOLDER)]


def choose(name: str, workers: int | None, plan: Plan) -> Executor:
    """The executor with this name, for a plan and a number of workers."""
    if name not in names():
        raise UnknownName("executor", name, names())
    executor: Executor = registry.find(FOLDER, "processes" if name == AUTO else name).executor(workers, plan)
    return executor
