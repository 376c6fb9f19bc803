"""The training loop: steps, checkpoints, a loss curve, and a test after each epoch."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any

from wug.errors import InputError, ModelError, first_line
from wug.files import read_text, write_text
from wug.models.hardware import is_out_of_memory
from wug.train.options import TrainingConfig
from wug.train.steps import Optimiser, TrainingSteps, TrainingTask

if TYPE_CHECKING:
    import torch


_DESCRIPTIONS = {
    "text": "the text's checksum",
    "examples": "the examples' checksum",
    "parts": "the number of length buckets",
    "query_share": "the learning rate factor of the queries",
}


@dataclass(frozen=True, slots=True)
class TrainingState:
    """How far a training is."""

    step: int
    losses: tuple[float, ...]
    """One per step."""
    seconds: float
    best: float | None = None
    """The best test result so far."""
    stale: int = 0
    """Tests since then that were not better."""


class TrainingFolder:
    """The subfolder `training` of a model folder: its configuration, checkpoint and loss curve."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "training"
        self.checkpoint = self.path / "checkpoint.pt"
        self.recipe = self.path / "recipe.json"

    @property
    def finished(self) -> bool:
        """Whether training is complete."""
        return (self.path / "finished").exists()

    def finish(self) -> None:
        """Mark training as complete, and delete what was only needed to resume it."""
        write_text(self.path / "finished", "")
        for name in ("checkpoint.pt", "checkpoint.new", "ids.npy"):
            (self.path / name).unlink(missing_ok=True)

    @property
    def begun(self) -> bool:
        """Whether a training was started here."""
        return self.recipe.exists()

    def begin(self, training: TrainingConfig, data: Mapping[str, Any]) -> None:
        """Write the configuration; refuse a folder in which something else was trained."""
        config = {**data, **asdict(training)}
        self.refuse_other(config)
        if not self.begun:
            write_text(self.recipe, json.dumps(config, indent=1, ensure_ascii=False) + "\n")

    def refuse_other(self, config: Mapping[str, Any]) -> None:
        """Raise ModelError if what was trained here had another configuration."""
        if not self.begun:
            return
        try:
            earlier = dict(json.loads(read_text(self.recipe)))
        except (ValueError, TypeError) as error:
            problem = f"cannot be read as JSON ({error}). Delete the folder to start again"
            raise InputError(problem, file=self.recipe) from None
        differing = [key for key in config if earlier.get(key) != config[key]]
        if differing:
            differ = "; ".join(
                f"{_DESCRIPTIONS.get(key, key)} = {_setting_text(earlier.get(key))}, now {_setting_text(config[key])}"
                for key in differing
            )
            kind, resume = (
                ("finished training", "") if self.finished else ("training", "the same options to resume, or ")
            )
            raise ModelError(f"{self.path.parent} contains a {kind} with {differ}. Use {resume}another folder")

    def write(self, model: torch.nn.Module, optimiser: Optimiser, average: WeightAverage, state: TrainingState) -> None:
        """Write a checkpoint; if the process is killed meanwhile, the one before stays."""
        import torch

        partial = self.checkpoint.with_suffix(".new")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with partial.open("wb") as out:
                weights = {"model": model.state_dict(), "optimiser": optimiser.state(), "average": average.state()}
                torch.save({**weights, **asdict(state)}, out)
                out.flush()
                os.fsync(out.fileno())
            partial.replace(self.checkpoint)
        except (OSError, RuntimeError) as error:  # PyTorch raises RuntimeError on a full disk
            partial.unlink(missing_ok=True)
            reason = (error.strerror if isinstance(error, OSError) else None) or "the disk may be full"
            raise ModelError(
                f"{self.checkpoint}: cannot be written: {reason}. The checkpoint before it is kept: free "
                "some space, and run the same command to resume"
            ) from error

    def read(self, model: torch.nn.Module, optimiser: Optimiser, average: WeightAverage) -> TrainingState | None:
        """Restore model, optimiser and average from the checkpoint; None if there is none."""
        import torch

        if not self.checkpoint.exists():
            return None
        device = next(model.parameters()).device
        try:
            stored = torch.load(self.checkpoint, map_location=device, weights_only=True)
            model.load_state_dict(stored["model"])
            optimiser.restore(stored["optimiser"])
            average.restore(stored["average"])
        except (RuntimeError, OSError, EOFError, KeyError, UnpicklingError) as error:
            raise ModelError(
                f"{self.checkpoint}: cannot be read ({first_line(error)}). Delete it to start again"
            ) from error
        return TrainingState(
            stored["step"], tuple(stored["losses"]), stored["seconds"], stored["best"], stored["stale"]
        )


def _setting_text(value: object) -> str:
    return "not given" if value is None else repr(value)


REPORT_EVERY_STEPS = 50
"""Losses are read this often: each read waits for the device."""
MAX_LOSS_NATS = 1e6


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """How far training is."""

    step: int
    steps: int
    loss: float
    """The mean of the last steps, in nats per token."""
    rate: float
    """Steps per second."""

    @property
    def seconds_left(self) -> float:
        """At this rate."""
        return (self.steps - self.step) / max(self.rate, 1e-9)


Report = Callable[[TrainingProgress], None]
EpochTest = Callable[[int, int], float | None]
"""Called after each epoch with its number and the step; early stopping waits for its value to rise."""


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """Settings that do not change the loss."""

    compiled: bool = False
    checkpoint_every: int = 1000
    """Steps; 0 for none but the last."""
    keep_checkpoint: bool = True
    """Whether the checkpoint stays when training is over."""
    report: Report | None = None
    test: EpochTest | None = None
    patience: int | None = None
    """Tests in a row that may be no better than the best before training stops; None for any number."""
    keep_best: Callable[[], None] | None = None
    """Called after a test that was better than all before it."""


class WeightAverage:
    """The mean of the weights over the last steps, taken every hundredth of the training."""

    def __init__(self, model: torch.nn.Module, config: TrainingConfig) -> None:
        interval = max(1, config.steps // 100)
        first = config.steps - (config.average - 1) * interval
        self._snapshot_steps = set(range(max(1, first), config.steps + 1, interval)) if config.average > 1 else set()
        self._model, self._mean = model, None
        if self._snapshot_steps:
            from torch.optim.swa_utils import AveragedModel

            self._mean = AveragedModel(model)

    def take(self, step: int) -> None:
        """Add the weights after `step` steps, if they count."""
        if self._mean is not None and step in self._snapshot_steps:
            self._mean.update_parameters(self._model)

    def apply(self) -> None:
        """Replace the model's weights by the mean, if there is one."""
        if self._mean is not None and int(self._mean.n_averaged) > 0:
            self._model.load_state_dict(self._mean.module.state_dict())

    def state(self) -> dict[str, object]:
        """All that the mean depends on."""
        return {} if self._mean is None else dict(self._mean.state_dict())

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a state."""
        if self._mean is not None:
            self._mean.load_state_dict(state)


def train(
    task: TrainingTask, config: TrainingConfig, folder: Path, settings: TrainingSettings | None = None
) -> TrainingState:
    """Train to the last step, from a checkpoint if there is one, and return the final state.

    Every batch and all randomness depend on the seed and the step alone, so a training that was killed and started
    again takes exactly the steps of an uninterrupted one.
    """
    state = _Loop(task, config, TrainingFolder(folder), settings or TrainingSettings()).run()
    task.model.eval()
    lines = ["step\tloss", *(f"{step}\t{loss:.6f}" for step, loss in enumerate(state.losses, 1))]
    write_text(folder / "training" / "loss.tsv", "\n".join(lines) + "\n")
    return state


class _Loop:
    def __init__(
        self, task: TrainingTask, config: TrainingConfig, folder: TrainingFolder, settings: TrainingSettings
    ) -> None:
        self._task, self._config = task, config
        self._folder, self._settings = folder, settings
        self._optimiser = Optimiser(task.model, config, task.rate_factors)
        self._average = WeightAverage(task.model, config)
        state = folder.read(task.model, self._optimiser, self._average) or TrainingState(0, (), 0.0)
        self._steps = TrainingSteps(task, self._optimiser, config, compiled=settings.compiled)
        self._first_step, self._earlier_seconds = state.step, state.seconds
        self._start_time = time.monotonic()
        self._losses, self._unread = list(state.losses), list["torch.Tensor"]()
        self._best, self._stale = state.best, state.stale
        self._last_report = (state.step, self._start_time)

    def run(self) -> TrainingState:
        import torch

        self._task.model.train()
        config, step = self._config, self._first_step
        while step < config.steps and not self._is_stale:
            torch.manual_seed(config.seed * 1_000_003 + step)  # dropout and masks, on every device
            self._optimiser.set_rate(config.rate_at(step))
            with _memory_errors(self._folder, config.batch_size):
                self._unread.append(self._steps.take(self._task.batch(step)).clone())
            step += 1
            self._average.take(step)
            self._after(step)
        self._average.apply()
        return self._state(step)

    @property
    def _is_stale(self) -> bool:
        return self._settings.patience is not None and self._stale > self._settings.patience

    def _after(self, step: int) -> None:
        config, settings = self._config, self._settings
        epoch, step_in_epoch = divmod(step, self._task.steps_per_epoch)
        epoch_ends = step_in_epoch == 0 or step == config.steps
        writes_checkpoint = bool(settings.checkpoint_every) and step % settings.checkpoint_every == 0
        if step % REPORT_EVERY_STEPS == 0 or writes_checkpoint or epoch_ends:
            self._read_losses(step)
        if epoch_ends and settings.test is not None:
            self._test(settings.test, epoch + (step_in_epoch > 0), step)
            writes_checkpoint = True
        if (writes_checkpoint or self._is_stale) and (step < config.steps or settings.keep_checkpoint):
            self._folder.write(self._task.model, self._optimiser, self._average, self._state(step))

    def _read_losses(self, step: int) -> None:
        self._losses += _values(self._unread, step)
        last_step, last_time = self._last_report
        now = time.monotonic()
        if self._settings.report is not None:
            recent = self._losses[-REPORT_EVERY_STEPS:]
            rate = (step - last_step) / max(now - last_time, 1e-9)
            self._settings.report(TrainingProgress(step, self._config.steps, sum(recent) / len(recent), rate))
        self._last_report = step, now

    def _test(self, test: EpochTest, epoch: int, step: int) -> None:
        self._task.model.eval()
        value = test(epoch, step)
        self._task.model.train()
        if value is not None and (self._best is None or value > self._best):
            self._best, self._stale = value, 0
            if self._settings.keep_best is not None:
                self._settings.keep_best()
        elif value is not None:
            self._stale += 1
        self._last_report = step, time.monotonic()

    def _state(self, step: int) -> TrainingState:
        seconds = self._earlier_seconds + time.monotonic() - self._start_time
        return TrainingState(step, tuple(self._losses), seconds, self._best, self._stale)


def _values(unread: list[torch.Tensor], step: int) -> list[float]:
    """The losses of the last steps, read at once; empties the list."""
    import torch

    values: list[float] = torch.stack(unread).float().cpu().tolist() if unread else []
    unread.clear()
    if not all(value == value and abs(value) < MAX_LOSS_NATS for value in values):
        raise ModelError(f"the loss became NaN before step {step}: use a lower --learning-rate or a longer --warmup")
    return values


@contextmanager
def _memory_errors(folder: TrainingFolder, batch: int) -> Iterator[None]:
    """Turn running out of memory into a ModelError that says what to do.

    A folder without a checkpoint may be used again with other options.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        fix = f"out of memory with {batch:,} rows per step: use a smaller --batch-size"
        if folder.checkpoint.exists():
            raise ModelError(
                f"{fix}, and another folder. The checkpoint in {folder.path.parent} stays: with more memory, the same "
                "command continues from it"
            ) from error
        folder.recipe.unlink(missing_ok=True)
        raise ModelError(fix) from error
