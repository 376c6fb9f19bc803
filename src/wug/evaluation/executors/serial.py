"""One model after another, in this process."""

from __future__ import annotations

import threading

from wug import registry
from wug.evaluation.handle import ModelHandle
from wug.evaluation.models import open_model
from wug.evaluation.recorder import Recorder
from wug.timings import timed


def run(recorder: Recorder, workers: int | None = None) -> None:
    """Evaluate models in order, while the files of the next one are downloaded; in one process, whatever `workers`."""
    tasks = recorder.pending()
    for position, task in enumerate(tasks):
        recorder.notify(task)
        for spec in [following.spec for following in tasks[position + 1 : position + 2] if following.spec is not None]:
            prefetch = registry.backend(spec.backend).prefetch  # errors are left to loading
            threading.Thread(target=prefetch, args=(spec,), name="wug-prefetch", daemon=True).start()
        with recorder.attempt(task):
            handle = task.model if isinstance(task.model, ModelHandle) else open_model(task.model)
            if (complete := recorder.complete_run(task, handle)) is not None:
                recorder.resume(task, complete)
                continue
            with timed("evaluate"):
                recorder.evaluate(task, handle)
