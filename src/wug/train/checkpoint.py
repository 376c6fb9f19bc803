"""The training state on disk, written atomically."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any, Protocol

from wug.errors import InputError, ModelError, first_line
from wug.files import read_text, write_text
from wug.train.options import TrainingConfig

if TYPE_CHECKING:
    import torch

_DESCRIPTIONS = {
    "text": "the text's checksum",
    "examples": "the examples' checksum",
    "parts": "the number of length buckets",
    "query_share": "the learning rate factor of the queries",
}


class _Restorable(Protocol):
    def state(self) -> Mapping[str, object]: ...
    def restore(self, state: Mapping[str, Any]) -> None: ...


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
        self._recipe = self.path / "recipe.json"

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
        return self._recipe.exists()

    def begin(self, training: TrainingConfig, data: Mapping[str, Any]) -> None:
        """Write the configuration; refuse a folder in which something else was trained."""
        config = {**data, **asdict(training)}
        self.refuse_other(config)
        if not self.begun:
            write_text(self._recipe, json.dumps(config, indent=1, ensure_ascii=False) + "\n")

    def withdraw(self) -> None:
        """Delete the configuration."""
        self._recipe.unlink(missing_ok=True)

    def refuse_other(self, config: Mapping[str, Any]) -> None:
        """Raise ModelError if what was trained here had another configuration."""
        if not self.begun:
            return
        try:
            earlier = dict(json.loads(read_text(self._recipe)))
        except (ValueError, TypeError) as error:
            problem = f"cannot be read as JSON ({error}). Delete the folder to start again"
            raise InputError(problem, file=self._recipe) from None
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

    def write(self, model: torch.nn.Module, optimiser: _Restorable, average: _Restorable, state: TrainingState) -> None:
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

    def read(self, model: torch.nn.Module, optimiser: _Restorable, average: _Restorable) -> TrainingState | None:
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

    def write_curve(self, losses: tuple[float, ...]) -> None:
        """Write the loss of every step as a table."""
        lines = ["step\tloss", *(f"{step}\t{loss:.6f}" for step, loss in enumerate(losses, 1))]
        write_text(self.path / "loss.tsv", "\n".join(lines) + "\n")


def _setting_text(value: object) -> str:
    return "not given" if value is None else repr(value)
