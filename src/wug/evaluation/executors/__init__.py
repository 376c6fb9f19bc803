"""Where models are evaluated: each module is an executor, with a function `run(recorder, workers)`.

It evaluates every model of the plan that is not complete, and passes results to the recorder of the plan. A model that
fails does not stop the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wug import registry
from wug.errors import UnknownName

if TYPE_CHECKING:
    from wug.evaluation.recorder import Recorder

AUTO = "auto"
"""Several processes if models share a GPU or `workers` is given; otherwise this process."""
FOLDER = "evaluation.executors"


def names() -> list[str]:
    """The names of the executors, the default first."""
    return [AUTO, *registry.names(FOLDER)]


def run(name: str, recorder: Recorder, workers: int | None = None) -> None:
    """Evaluate the models of a plan with the executor of this name."""
    if name not in names():
        raise UnknownName("executor", name, names())
    registry.find(FOLDER, "processes" if name == AUTO else name).run(recorder, workers)
