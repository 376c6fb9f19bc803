"""The state of training on disk: written whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

from wug.errors import InputError, ModelError, first_line
from wug.files import read_text, write_text
from wug.train.recipe import Recipe

_SPOKEN = {
    "text": "the text's checksum",
    "examples": "the examples' checksum",
    "parts": "the parts of like length, from which batches are drawn,",
    "query_share": "the queries' share of the learning rate",
}


LATER = ("epochs", "patience", "dtype")
"""What recipes of earlier versions do not say."""


@dataclass(frozen=True, slots=True)
class TrainingState:
    """How far training came."""

    step: int
    losses: tuple[float, ...]
    """One for each step."""
    seconds: float
    best: float | None = None
    """The best value that early stopping looks at, and since how many epochs it stands."""
    stale: int = 0


class Checkpoint:
    """The folder `training` of a model folder: what is being trained, how far it came, the loss curve."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "training"
        self.file = self.folder / "checkpoint.pt"
        self._recipe = self.folder / "recipe.json"

    @property
    def finished(self) -> bool:
        """Whether training is over."""
        return (self.folder / "finished").exists()

    def finish(self) -> None:
        """Note that training is over, and drop what only its resumption needed."""
        write_text(self.folder / "finished", "")
        for name in ("checkpoint.pt", "checkpoint.new", "ids.npy"):
            (self.folder / name).unlink(missing_ok=True)

    @property
    def begun(self) -> bool:
        """Whether something is being trained, or was."""
        return self._recipe.exists()

    def begin(self, recipe: Recipe, material: Mapping[str, Any]) -> None:
        """Note what is being trained; refuse a folder in which something else was."""
        wanted = {**material, **asdict(recipe)}
        self.refuse_other(wanted)
        if not self.begun:
            write_text(self._recipe, json.dumps(wanted, indent=1, ensure_ascii=False) + "\n")

    def withdraw(self) -> None:
        """Forget what was to be trained."""
        self._recipe.unlink(missing_ok=True)

    def refuse_other(self, wanted: Mapping[str, Any]) -> None:
        """An error where something was trained in this folder that differs from `wanted`."""
        if not self.begun:
            return
        try:
            found = {"average": 1, **json.loads(read_text(self._recipe))}  # older ones knew no other
        except (ValueError, TypeError) as error:
            what = f"cannot be read as JSON ({error}). Delete the folder to begin anew"
            raise InputError(what, file=self._recipe) from None
        differing = [key for key in wanted if found.get(key) != wanted[key] and (key in found or key not in LATER)]
        if differing:
            differ = "; ".join(
                f"{_SPOKEN.get(key, key)} = {_said(found.get(key))}, and now it is {_said(wanted[key])}"
                for key in differing
            )
            done, go_on = ("finished training", "") if self.finished else ("training", "the same options to go on, or ")
            raise ModelError(
                f"{self.folder.parent} holds a {done} with {differ}. Give {go_on}another folder to begin anew"
            )

    def write(self, model: Any, optimiser: Any, average: Any, state: TrainingState) -> None:
        """Keep the state; a kill in between leaves the one before."""
        import torch

        beside = self.file.with_suffix(".new")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with beside.open("wb") as out:
                learnt = {"model": model.state_dict(), "optimiser": optimiser.state(), "average": average.state()}
                torch.save({**learnt, **asdict(state)}, out)
                out.flush()
                os.fsync(out.fileno())
            beside.replace(self.file)
        except (OSError, RuntimeError) as error:  # PyTorch raises a RuntimeError of its own on a full disk
            beside.unlink(missing_ok=True)
            why = (error.strerror if isinstance(error, OSError) else None) or "the disk may be full"
            raise ModelError(
                f"{self.file}: cannot be written: {why}. What was trained up to the checkpoint before is kept: make "
                "room, and give the same command to go on"
            ) from error

    def read(self, model: Any, optimiser: Any, average: Any) -> TrainingState | None:
        """Put model, optimiser and average back to where they were; None without a checkpoint."""
        import torch

        if not self.file.exists():
            return None
        device = next(model.parameters()).device
        try:
            stored = torch.load(self.file, map_location=device, weights_only=True)
            model.load_state_dict(stored["model"])
            optimiser.restore(stored["optimiser"])
            average.restore(stored["average"])
        except (RuntimeError, OSError, EOFError, KeyError, UnpicklingError) as error:
            raise ModelError(f"{self.file}: cannot be read ({first_line(error)}). Delete it to begin anew") from error
        return TrainingState(
            stored["step"], tuple(stored["losses"]), stored["seconds"], stored["best"], stored["stale"]
        )

    def write_curve(self, losses: tuple[float, ...]) -> None:
        """The loss of every step, as a table."""
        lines = ["step\tloss", *(f"{step}\t{loss:.6f}" for step, loss in enumerate(losses, 1))]
        write_text(self.folder / "loss.tsv", "\n".join(lines) + "\n")


def _said(value: object) -> str:
    return "not given" if value is None else repr(value)
