"""The training itself, as all commands of `wug train` do it: told of, tested after epochs, saved, described."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wug.cli import _common as common
from wug.cli import _printing as printing
from wug.cli.train._epochs import judge_after, require_answerable

if TYPE_CHECKING:
    from wug.train.checkpoint import TrainingState
    from wug.train.lesson import Lesson
    from wug.train.loop import TrainingProgress
    from wug.train.options import Training
    from wug.train.recipe import Recipe

SAY_EVERY = 10.0
"""Seconds between two lines about the training, where no bar can be drawn."""


def unfinished(training: Training, material: Mapping[str, Any]) -> bool:
    """Whether there is something left to train; says so where there is not.

    Refuses options that do not go together, and a folder in which something else was trained. All that can be
    known before the material is read is checked here, since reading may take minutes.
    """
    from importlib.util import find_spec

    from wug.errors import MissingExtra
    from wug.evaluation.opening import locate
    from wug.train.checkpoint import Checkpoint

    if find_spec("torch") is None or find_spec("transformers") is None:
        raise MissingExtra("training", "hf")
    if (training.steps is None) == (training.epochs is None):
        raise click.UsageError("say how long to train: --steps N or --epochs N")
    if training.patience is not None and training.average > 1:
        raise click.UsageError("--average counts back from the last step, and with --patience nobody knows which it is")
    if training.patience is not None and not training.suites:
        raise click.UsageError("--patience looks at the results of a --suite: name one")
    for suite in training.suites:
        locate(suite)
    checkpoint = Checkpoint(training.output)
    precision = None if training.precision == "auto" else training.precision
    optional = {"steps": training.steps, "warmup": training.warmup, "precision": precision}
    checkpoint.refuse_other(
        {
            **material,
            **_asked(training),
            "batch": training.batch_size,
            "rate": training.learning_rate,
            "optimiser": training.optimiser,
            "weight_decay": training.weight_decay,
            "average": training.average,
            "seed": training.seed,
            **{name: value for name, value in optional.items() if value is not None},
        }
    )
    if checkpoint.finished:
        common.say(f"{training.output} is trained already: delete it, or name another folder, to train again")
    return not checkpoint.finished


def _asked(training: Training) -> dict[str, Any]:
    """What decides the saved model and stands in no recipe as it was asked for."""
    return {"epochs": training.epochs, "patience": training.patience, "dtype": training.dtype}


def device_of(training: Training) -> str:
    """Where to train; seeds all chance on the way, since a model's first weights are drawn right after."""
    from wug.errors import ModelError
    from wug.models import pick_device

    device = pick_device(training.device)
    import torch

    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ModelError(f"cannot use device {device!r}: {str(error).splitlines()[0]}") from error
    torch.manual_seed(training.seed)
    torch.set_float32_matmul_precision("highest")
    return device


def train(lesson: Lesson, training: Training, device: str, material: dict[str, Any], card: str) -> None:
    """Train, test after epochs, save, and say what was made."""
    import torch

    from wug import __version__
    from wug.evaluation.opening import open_suites
    from wug.models import free_threads
    from wug.train.card import write_card
    from wug.train.checkpoint import Checkpoint
    from wug.train.loop import TrainingSettings
    from wug.train.loop import train as learn

    folder, recipe = training.output, _recipe(training, lesson.steps_an_epoch, device)
    suites = open_suites(training.suites)
    require_answerable(suites, material["kind"])
    checkpoint = Checkpoint(folder)
    checkpoint.begin(recipe, {**material, **_asked(training)})
    compiled = device.startswith("cuda") if training.compile is None else training.compile
    settings = TrainingSettings(
        compiled,
        training.checkpoint_every,
        keep_checkpoint=False,
        patience=training.patience,
        keep_best=(lambda: lesson.save(folder / "best", training.dtype)) if suites else None,
    )
    size = sum(p.numel() for p in lesson.model.parameters())
    where = device
    if device == "cpu":
        torch.set_num_threads(training.threads or free_threads())
        where = f"cpu, threads: {torch.get_num_threads()}"
    common.say(
        f"training {size / 1e6:.1f}M parameters for {recipe.steps:,} steps "
        f"({recipe.steps / lesson.steps_an_epoch:.1f} epochs) on {where}, {recipe.precision}"
    )
    judge = judge_after(lesson, suites, training, device) if suites else None
    with _progress() as tell:
        state = learn(lesson, recipe, folder, settings=settings, report=tell, judge=judge)
    lesson.save(folder, training.dtype)
    write_card(
        folder,
        recipe,
        state,
        command=common.command_line(),
        about=card,
        kind=material["kind"],
        unit=material.get("unit"),
        parameters=size,
        dtype=training.dtype,
        device=device,
        version=__version__,
    )
    checkpoint.finish()
    _report(folder, state)
    if (folder / "best").is_dir():
        common.say(f"the model that was best on what it was tested on: {folder / 'best'}")


def _recipe(training: Training, steps_an_epoch: int, device: str) -> Recipe:
    """The recipe that the options ask for."""
    from wug.train.recipe import Recipe

    steps = training.steps or (training.epochs or 0) * steps_an_epoch
    return Recipe(
        steps=steps,
        batch=training.batch_size,
        rate=training.learning_rate,
        warmup=training.warmup if training.warmup is not None else min(1000, max(1, steps // 20)),
        optimiser=training.optimiser,
        weight_decay=training.weight_decay,
        average=training.average,
        seed=training.seed,
        precision=training.precision_on(device),
    )


@contextmanager
def _progress() -> Iterator[Callable[[TrainingProgress], None]]:
    """A function to tell how training goes: it draws a bar in a terminal, else says a line now and then."""
    said = 0.0

    def say(progress: TrainingProgress) -> None:
        nonlocal said
        if time.monotonic() - said > SAY_EVERY or progress.step == progress.steps:
            said = time.monotonic()
            common.say(f"step {progress.step:,} of {progress.steps:,} · {_state(progress)}")

    if common.quiet() or not sys.stderr.isatty():
        yield say
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("training"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=printing.console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda now: bar.update(task, completed=now.step, total=now.steps, description=_state(now))


def _state(progress: TrainingProgress) -> str:
    left = time.strftime("%H:%M:%S", time.gmtime(progress.seconds_left))
    return f"loss {progress.loss:.4f} · {progress.rate:.1f} steps/s · {left} left"


def _report(folder: Path, state: TrainingState) -> None:
    last = state.losses[-50:]
    printing.echo(f"trained {folder}: {state.step:,} steps, loss {sum(last) / len(last):.4f}, {state.seconds:,.0f} s")
    common.say(f"wug run SUITE --model {folder} · the loss curve: {folder / 'training' / 'loss.tsv'}")
