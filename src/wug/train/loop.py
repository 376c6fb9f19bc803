"""The training loop: steps, checkpoints, a loss curve, and what is to be done after each epoch."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wug.errors import ModelError
from wug.train._memory import enough_memory
from wug.train._steps import Steps
from wug.train.average import Average
from wug.train.checkpoint import Checkpoint, TrainingState
from wug.train.lesson import Lesson
from wug.train.optimiser import Optimiser
from wug.train.recipe import Recipe

REPORT_EVERY = 50
"""Steps between two looks at the losses: each look waits for the device."""


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """How training goes."""

    step: int
    steps: int
    loss: float
    """The mean of the last steps, in nats a token."""
    rate: float
    """Steps a second."""

    @property
    def seconds_left(self) -> float:
        """At this rate."""
        return (self.steps - self.step) / max(self.rate, 1e-9)


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """Choices of the user that do not change the loss."""

    compiled: bool = False
    checkpoint_every: int = 1000
    """Steps; 0 for none but the last."""
    keep_checkpoint: bool = True
    """Whether the state stays on disk when training is over."""
    patience: int | None = None
    """Judgements in a row that may be no better than the best before training ends; None for any number."""
    keep_best: Callable[[], None] | None = None
    """Called when a judgement was better than all before it, to keep the model as it is."""


Report = Callable[[TrainingProgress], None]
Judge = Callable[[int, int], float | None]
"""Called after each epoch with its number and the step; early stopping waits for its value to rise."""


def train(
    lesson: Lesson,
    recipe: Recipe,
    folder: Path,
    *,
    settings: TrainingSettings | None = None,
    report: Report | None = None,
    judge: Judge | None = None,
) -> TrainingState:
    """Train until the recipe's last step, from a checkpoint where there is one; how far training came.

    Every batch and all randomness depend on the seed and the step alone, so a training that was killed and started
    again takes exactly the steps of an unbroken one.
    """
    import torch

    settings = settings or TrainingSettings()
    optimiser = Optimiser(lesson.model, recipe, lesson.shares)
    checkpoint = Checkpoint(folder)
    average = Average(lesson.model, recipe)
    state = checkpoint.read(lesson.model, optimiser, average) or TrainingState(0, (), 0.0)
    steps = Steps(lesson, optimiser, recipe, compiled=settings.compiled)
    lesson.model.train()
    begun, before = time.monotonic(), state.seconds
    losses, waiting = list(state.losses), []
    best, stale = state.best, state.stale

    def reached(step: int) -> TrainingState:
        return TrainingState(step, tuple(losses), before + time.monotonic() - begun, best, stale)

    looked, when = state.step, begun
    ended = settings.patience is not None and stale > settings.patience
    for step in range(state.step, state.step if ended else recipe.steps):
        torch.manual_seed(recipe.seed * 1_000_003 + step)  # dropout and masks, on every device
        optimiser.set_rate(recipe.rate_at(step))
        with enough_memory(checkpoint, recipe.batch):
            waiting.append(steps.take(lesson.batch(step)).clone())
        done = step + 1
        average.take(done)
        epoch, within = divmod(done, lesson.steps_an_epoch)
        due = bool(settings.checkpoint_every) and done % settings.checkpoint_every == 0
        over = within == 0 or done == recipe.steps
        if done % REPORT_EVERY == 0 or due or over:
            losses += _read(waiting, done)
            now = time.monotonic()
            if report is not None:
                recent = losses[-REPORT_EVERY:]
                speed = (done - looked) / max(now - when, 1e-9)
                report(TrainingProgress(done, recipe.steps, sum(recent) / len(recent), speed))
            looked, when = done, now
        if over and judge is not None:
            value = _judged(lesson, judge, epoch + (within > 0), done)
            if value is not None and (best is None or value > best):
                best, stale = value, 0
                if settings.keep_best is not None:
                    settings.keep_best()
            elif value is not None:
                stale += 1
            due = True
            when = time.monotonic()
        stop = settings.patience is not None and stale > settings.patience
        if (due or stop) and (done < recipe.steps or settings.keep_checkpoint):
            checkpoint.write(lesson.model, optimiser, average, reached(done))
        if stop or done == recipe.steps:
            state = reached(done)
            break
    average.apply()
    lesson.model.eval()
    checkpoint.write_curve(state.losses)
    return state


def _judged(lesson: Lesson, judge: Judge, epoch: int, step: int) -> float | None:
    lesson.model.eval()
    value = judge(epoch, step)
    lesson.model.train()
    return value


def _read(waiting: list[Any], step: int) -> list[float]:
    """The losses of the last steps, all at once; empties the list."""
    import torch

    values: list[float] = torch.stack(waiting).float().cpu().tolist() if waiting else []
    waiting.clear()
    if not all(value == value and abs(value) < 1e6 for value in values):
        raise ModelError(
            f"the loss is no number any more before step {step}: take a lower --learning-rate or a longer --warmup"
        )
    return values
