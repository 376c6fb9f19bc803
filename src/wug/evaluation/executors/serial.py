"""One model after another, in this process."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from wug import registry
from wug.evaluation.handle import ModelHandle
from wug.evaluation.models import open_model
from wug.evaluation.recorder import Recorder
from wug.evaluation.request import ModelTask, Plan
from wug.timings import timed


def executor(workers: int | None, plan: Plan) -> SerialExecutor:
    """An executor that uses one process, whatever `workers` says."""
    return SerialExecutor()


class SerialExecutor:
    """Evaluates models in order, while the files of the next one are downloaded."""

    def run(self, recorder: Recorder) -> None:
        """Evaluate every model that is not complete."""
        tasks = recorder.pending()
        for position, task in enumerate(tasks):
            recorder.notify(task)
            _prefetch(tasks[position + 1 :])
            with recorder.attempt(task):
                evaluate_here(task, recorder)


def evaluate_here(task: ModelTask, recorder: Recorder) -> None:
    """Evaluate one model in this process, unless the store has its complete run."""
    handle = task.model if isinstance(task.model, ModelHandle) else open_model(task.model)
    if (run := recorder.complete_run(task, handle)) is not None:
        recorder.resume(task, run)
        return
    with timed("evaluate"):
        recorder.evaluate(task, handle)


def _prefetch(following: Sequence[ModelTask]) -> None:
    """Let the backend of the next model fetch its files in a background thread; errors are left to loading."""
    if not following or (spec := following[0].spec) is None:
        return
    prefetch = registry.backend(spec.backend).prefetch
    threading.Thread(target=prefetch, args=(spec,), name="wug-prefetch", daemon=True).start()
