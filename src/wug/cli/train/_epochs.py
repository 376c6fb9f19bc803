"""Tests of a model that is being trained, after its epochs: each is a run in the store."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wug.cli import _common as common

if TYPE_CHECKING:
    from wug.train.lesson import Lesson
    from wug.train.loop import Judge
    from wug.train.options import Training
    from wug.types import Result, Suite


def require_answerable(suites: Sequence[Suite], kind: str) -> None:
    """Refuse suites that a model of this kind cannot be tested with."""
    from wug import registry
    from wug.errors import InputError
    from wug.evaluation.opening import require_packages

    require_packages(suites)
    can = "generator" if registry.traits(kind).returns == "text" else "scorer"
    for suite in suites:
        if suite.needs != can:
            wanted = "turns text into text" if suite.needs == "generator" else "says how probable a text is"
            raise InputError(f"suite {suite.name} needs a model that {wanted}, and that is not what is trained here")


def judge_after(lesson: Lesson, suites: Sequence[Suite], training: Training, device: str) -> Judge:
    """Tests the model as it is after an epoch, and keeps what it found as a run; gives the mean result."""
    from wug.evaluation.request import RunRequest
    from wug.evaluation.service import execute

    folder = training.output

    def judge(epoch: int, step: int) -> float | None:
        if epoch % training.every:
            return None
        # Its name is the model's in the store, by which runs of one training are told to be a series.
        aside = folder / "epochs" / f"{folder.resolve().name}-epoch{epoch}"
        lesson.save(aside, training.dtype)
        request = RunRequest(
            suites=suites,
            models=[aside],
            model_options={"device": device},
            store=training.db or common.default_db(),
            command=common.command_line(),
        )
        (kept,) = execute(request).found.values()
        if not training.keep_epochs:
            _drop(aside)
        found = [(result.suite, value) for result in kept.results if (value := _headline(result)) is not None]
        shown = ", ".join(f"{suite} {value:.3f}" for suite, value in found) or "no result"
        common.say(f"epoch {epoch}, step {step:,}: {shown} (run {kept.number})")
        return sum(value for _, value in found) / len(found) if found else None

    return judge


def _headline(result: Result) -> float | None:
    """The value that stands for a result in reports; None where a suite failed."""
    return None if result.headline is None else result.headline.value


def _drop(aside: Path) -> None:
    """Remove a model that was tested, and the folder of such models when it is the last."""
    shutil.rmtree(aside, ignore_errors=True)
    if not any(aside.parent.iterdir()):
        aside.parent.rmdir()
