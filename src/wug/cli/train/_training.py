"""The training itself, as all commands of `wug train` do it: told of, tested after epochs, saved, described."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wug.cli import _common as common
from wug.cli import _printing as printing
from wug.cli.train import _options as options
from wug.cli.train._epochs import judge_after, require_answerable

if TYPE_CHECKING:
    from wug.train.checkpoint import TrainingState
    from wug.train.lesson import Lesson
    from wug.train.loop import TrainingProgress

SAY_EVERY = 10.0
"""Seconds between two lines about the training, where no bar can be drawn."""


def train(lesson: Lesson, given: Mapping[str, Any], device: str, material: dict[str, Any], card: str) -> None:
    """Train, test after epochs, save, and say what was made."""
    from wug import __version__
    from wug.runs.opening import open_suites
    from wug.train.card import write_card
    from wug.train.checkpoint import Checkpoint
    from wug.train.loop import TrainingSettings
    from wug.train.loop import train as learn

    folder: Path = given["output"]
    recipe = options.recipe_of(given, lesson.steps_an_epoch, device)
    suites = [suite for name in given["suites"] for suite in open_suites(name)]
    require_answerable(suites, material["kind"])
    checkpoint = Checkpoint(folder)
    checkpoint.begin(recipe, material)
    compiled = device.startswith("cuda") if given["compiled"] is None else given["compiled"]
    settings = TrainingSettings(compiled, given["checkpoint_every"], keep_checkpoint=False, patience=given["patience"])
    size = sum(p.numel() for p in lesson.model.parameters())
    common.say(
        f"training {size / 1e6:.1f}M parameters for {recipe.steps:,} steps "
        f"({recipe.steps / lesson.steps_an_epoch:.1f} epochs) on {device}, {recipe.precision}"
    )
    judge = judge_after(lesson, suites, given, device) if suites else None
    with _teller() as tell:
        state = learn(lesson, recipe, folder, settings=settings, report=tell, judge=judge)
    lesson.save(folder, given["dtype"])
    write_card(
        folder,
        recipe,
        state,
        command=common.command_line(),
        about=card,
        parameters=size,
        device=device,
        version=__version__,
    )
    checkpoint.finish()
    _report(folder, state)


class _teller:  # noqa: N801
    """Tells how training goes: a bar in a terminal, else a line now and then."""

    def __enter__(self) -> Callable[[TrainingProgress], None]:
        self._bar: Any = None
        self._said = 0.0
        if sys.stderr.isatty() and not common.quiet():
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

            columns = (TextColumn("training"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
            self._bar = Progress(*columns, console=printing.console(stderr=True), transient=True).__enter__()
            self._task = self._bar.add_task("", total=None)
        return self._tell

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.__exit__(None, None, None)

    def _tell(self, progress: TrainingProgress) -> None:
        left = time.strftime("%H:%M:%S", time.gmtime(progress.seconds_left))
        text = f"loss {progress.loss:.4f} · {progress.rate:.1f} steps/s · {left} left"
        if self._bar is not None:
            self._bar.update(self._task, completed=progress.step, total=progress.steps, description=text)
        elif time.monotonic() - self._said > SAY_EVERY or progress.step == progress.steps:
            self._said = time.monotonic()
            common.say(f"step {progress.step:,} of {progress.steps:,} · {text}")


def _report(folder: Path, state: TrainingState) -> None:
    last = state.losses[-50:]
    printing.echo(f"trained {folder}: {state.step:,} steps, loss {sum(last) / len(last):.4f}, {state.seconds:,.0f} s")
    common.say(f"wug run SUITE --model {folder} · the loss curve: {folder / 'training' / 'loss.tsv'}")
