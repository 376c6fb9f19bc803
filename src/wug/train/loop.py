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
from wug.train.checkpoint import Checkpoint, Standing
from wug.train.lesson import Lesson
from wug.train.optimiser import Optimiser
from wug.train.recipe import Recipe

TELL_EVERY = 50
"""Steps between two looks at the losses: each look waits for the device."""


@dataclass(frozen=True, slots=True)
class Telling:
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
class Habits:
    """What a user may choose that changes no loss."""

    compiled: bool = False
    checkpoint_every: int = 1000
    """Steps; 0 for none but the last."""
    keep_checkpoint: bool = True
    """Whether the state stays there when training is over."""
    patience: int | None = None
    """Judgements in a row that may be no better than the best before training ends; None for any number."""


Tell = Callable[[Telling], None]
Judge = Callable[[int, int], float | None]
"""Called after each epoch with its number and the step; what it gives is to rise (for early stopping)."""


def train(
    lesson: Lesson,
    recipe: Recipe,
    folder: Path,
    *,
    habits: Habits | None = None,
    tell: Tell | None = None,
    judge: Judge | None = None,
) -> Standing:
    """Train until the recipe's last step, going on from a checkpoint that is there; how it stands then.

    Every batch and all chance depend on the seed and the step alone, so a training that was killed and started
    again takes the very steps of an unbroken one.
    """
    import torch

    habits = habits or Habits()
    optimiser = Optimiser(lesson.model, recipe)
    checkpoint = Checkpoint(folder)
    standing = checkpoint.read(lesson.model, optimiser) or Standing(0, (), 0.0)
    steps = Steps(lesson, optimiser, recipe, compiled=habits.compiled)
    lesson.model.train()
    begun, before = time.monotonic(), standing.seconds
    losses, waiting = list(standing.losses), []
    best, stale = standing.best, standing.stale

    def stand(step: int) -> Standing:
        return Standing(step, tuple(losses), before + time.monotonic() - begun, best, stale)

    looked, when = standing.step, begun
    ended = habits.patience is not None and stale > habits.patience
    for step in range(standing.step, standing.step if ended else recipe.steps):
        torch.manual_seed(recipe.seed * 1_000_003 + step)  # dropout and masks, on every device
        optimiser.set_rate(recipe.rate_at(step))
        with enough_memory(checkpoint, recipe.batch):
            waiting.append(steps.take(lesson.batch(step)).clone())
        done = step + 1
        epoch, within = divmod(done, lesson.steps_an_epoch)
        due = bool(habits.checkpoint_every) and done % habits.checkpoint_every == 0
        over = within == 0 or done == recipe.steps
        if done % TELL_EVERY == 0 or due or over:
            losses += _read(waiting, done)
            now = time.monotonic()
            if tell is not None:
                recent = losses[-TELL_EVERY:]
                speed = (done - looked) / max(now - when, 1e-9)
                tell(Telling(done, recipe.steps, sum(recent) / len(recent), speed))
            looked, when = done, now
        if over and judge is not None:
            value = _judged(lesson, judge, epoch + (within > 0), done)
            if value is not None:
                best, stale = (value, 0) if best is None or value > best else (best, stale + 1)
            due = True
            when = time.monotonic()
        stop = habits.patience is not None and stale > habits.patience
        if (due or stop) and (done < recipe.steps or habits.keep_checkpoint):
            checkpoint.write(lesson.model, optimiser, stand(done))
        if stop or done == recipe.steps:
            standing = stand(done)
            break
    lesson.model.eval()
    checkpoint.write_curve(standing.losses)
    return standing


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
