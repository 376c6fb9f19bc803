"""What all commands of `wug train` share: options, the training itself, tests after each epoch, the card."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from wug.cli import _common as common

if TYPE_CHECKING:
    from wug.train.checkpoint import Standing
    from wug.train.lesson import Lesson
    from wug.train.loop import Judge, Telling
    from wug.train.recipe import Recipe
    from wug.types import Suite

Function = TypeVar("Function", bound=Callable[..., Any])

SAY_EVERY = 10.0
"""Seconds between two lines about the training, where no bar can be drawn."""


def training_options(**defaults: Any) -> Callable[[Function], Function]:
    """The options of every kind, with the kind's own defaults."""
    positive = click.IntRange(min=1)
    options = [
        click.option(
            "-o",
            "--output",
            type=click.Path(path_type=Path, file_okay=False),
            required=True,
            help="The folder for the model.",
        ),
        click.option("--steps", type=positive, help="Steps in all."),
        click.option("--epochs", type=positive, help="Times that all of the material is seen, in place of --steps."),
        click.option("--batch", type=positive, default=defaults["batch"], show_default=True, help="Rows a step."),
        click.option(
            "--rate", type=float, default=defaults["rate"], show_default=True, help="The highest learning rate."
        ),
        click.option(
            "--warmup",
            type=click.IntRange(min=0),
            help="Steps in which it is reached.  [default: a 20th of all, 1,000 at most]",
        ),
        click.option(
            "--optimiser",
            "--optimizer",
            type=click.Choice(["adamw", "muon"]),
            default=defaults["optimiser"],
            show_default=True,
            help="muon: for the matrices of the layers, and AdamW for the rest.",
        ),
        click.option(
            "--weight-decay",
            type=float,
            default=defaults["weight_decay"],
            show_default=True,
            help="How fast matrices shrink.",
        ),
        click.option("--layers", type=positive, default=defaults["layers"], show_default=True, help="Layers."),
        click.option(
            "--width",
            type=positive,
            default=defaults["width"],
            show_default=True,
            help="Numbers that stand for a token.",
        ),
        click.option(
            "--inner", type=positive, default=defaults["inner"], show_default=True, help=defaults["inner_help"]
        ),
        click.option(
            "--dropout",
            type=float,
            default=defaults["dropout"],
            show_default=True,
            help="The share of numbers left out in training.",
        ),
        click.option("--seed", type=int, default=0, show_default=True, help="The same seed trains the same model."),
        click.option(
            "--precision",
            type=click.Choice(["auto", "float32", "bfloat16"]),
            default="auto",
            show_default=True,
            help="Of the arithmetic; auto is bfloat16 on a GPU.",
        ),
        click.option(
            "--compile/--no-compile", "compiled", default=None, help="Let torch compile the model.  [default: on a GPU]"
        ),
        click.option("--device", envvar="WUG_DEVICE", help="cpu, cuda, cuda:1; by default the best there is."),
        click.option(
            "--dtype",
            type=click.Choice(["float32", "float16", "bfloat16"]),
            default="float32",
            show_default=True,
            help="Of the weights in the file.",
        ),
        click.option(
            "--checkpoint-every",
            type=click.IntRange(min=0),
            default=1000,
            show_default=True,
            help="Steps between two checkpoints; 0 for none.",
        ),
        click.option(
            "--suite",
            "suites",
            multiple=True,
            help="Test the model on this after each epoch, and keep that as a run; repeatable.",
        ),
        click.option(
            "--every", "every", type=positive, default=1, show_default=True, help="Epochs between two such tests."
        ),
        click.option(
            "--patience", type=click.IntRange(min=0), help="Stop after so many tests without a better mean result."
        ),
    ]

    def decorate(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return common.db_option(function)

    return decorate


def recipe_of(given: Mapping[str, Any], steps_an_epoch: int, device: str) -> Recipe:
    """The recipe that the options ask for."""
    from wug.train.recipe import Recipe

    if (given["steps"] is None) == (given["epochs"] is None):
        raise click.UsageError("say how long to train: --steps N or --epochs N")
    steps = given["steps"] or given["epochs"] * steps_an_epoch
    warmup = given["warmup"] if given["warmup"] is not None else min(1000, max(1, steps // 20))
    lowered = given["precision"] == "bfloat16" or (given["precision"] == "auto" and device.startswith("cuda"))
    return Recipe(
        steps=steps,
        batch=given["batch"],
        rate=given["rate"],
        warmup=warmup,
        optimiser=given["optimiser"],
        weight_decay=given["weight_decay"],
        seed=given["seed"],
        precision="bfloat16" if lowered else "float32",
    )


def device_of(given: Mapping[str, Any]) -> str:
    """Where to train; seeds all chance on the way, since a model's first weights are drawn right after."""
    from wug.models._weights import pick_device

    device = pick_device(given["device"])
    import torch

    torch.manual_seed(given["seed"])
    torch.set_float32_matmul_precision("highest")
    return device


def lowered(given: Mapping[str, Any], device: str) -> bool:
    """Whether arithmetic is in bfloat16."""
    return bool(given["precision"] == "bfloat16" or (given["precision"] == "auto" and device.startswith("cuda")))


def finished(given: Mapping[str, Any]) -> bool:
    """Whether this folder's training is over; says so."""
    from wug.train.checkpoint import Checkpoint

    folder: Path = given["output"]
    if not Checkpoint(folder).finished:
        return False
    common.say(f"{folder} is trained already: delete it, or name another folder, to train again")
    return True


def train(lesson: Lesson, given: Mapping[str, Any], device: str, material: dict[str, Any], card: str) -> None:
    """Train, test after epochs, save, and say what was made."""
    from wug import __version__
    from wug.runs.opening import open_suites
    from wug.train.card import write_card
    from wug.train.checkpoint import Checkpoint
    from wug.train.loop import Habits
    from wug.train.loop import train as learn

    folder: Path = given["output"]
    recipe = recipe_of(given, lesson.steps_an_epoch, device)
    suites = [suite for name in given["suites"] for suite in open_suites(name)]
    if given["patience"] is not None and not suites:
        raise click.UsageError("--patience looks at the results of a --suite: name one")
    checkpoint = Checkpoint(folder)
    checkpoint.begin(recipe, material)
    compiled = device.startswith("cuda") if given["compiled"] is None else given["compiled"]
    habits = Habits(compiled, given["checkpoint_every"], keep_checkpoint=False, patience=given["patience"])
    size = sum(p.numel() for p in lesson.model.parameters())
    common.say(
        f"training {size / 1e6:.1f}M parameters for {recipe.steps:,} steps "
        f"({recipe.steps / lesson.steps_an_epoch:.1f} epochs) on {device}, {recipe.precision}"
    )
    judge = _judge(lesson, suites, given, device) if suites else None
    with _teller() as tell:
        standing = learn(lesson, recipe, folder, habits=habits, tell=tell, judge=judge)
    lesson.save(folder, given["dtype"])
    write_card(
        folder,
        recipe,
        standing,
        command=common.command_line(),
        about=card,
        parameters=size,
        device=device,
        version=__version__,
    )
    checkpoint.finish()
    _report(folder, standing)


def _judge(lesson: Lesson, suites: Sequence[Suite], given: Mapping[str, Any], device: str) -> Judge:
    """Tests the model as it is after an epoch, and keeps what it found as a run."""
    from wug.runs.keeping import run_kept
    from wug.runs.opening import open_model
    from wug.runs.store import Store

    folder: Path = given["output"]
    store = Store(given["db"] or common.default_db())

    def judge(epoch: int, step: int) -> float | None:
        if epoch % given["every"]:
            return None
        aside = folder / "epochs" / f"{folder.name}-epoch{epoch}"
        lesson.save(aside, given["dtype"])
        model = open_model(str(aside), {"device": device})
        kept = run_kept(suites, model, command=common.command_line(), store=store)
        values = [next(e.value for e in result.estimates if e.group == "all") for result in kept.results]
        shown = ", ".join(f"{result.suite} {value:.3f}" for result, value in zip(kept.results, values, strict=True))
        common.say(f"epoch {epoch}, step {step:,}: {shown} (run {kept.number})")
        return sum(values) / len(values)

    return judge


class _teller:  # noqa: N801
    """Tells how training goes: a bar in a terminal, else a line now and then."""

    def __enter__(self) -> Callable[[Telling], None]:
        self._bar: Any = None
        self._said = 0.0
        if sys.stderr.isatty() and not common.quiet():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

            columns = (TextColumn("training"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True).__enter__()
            self._task = self._bar.add_task("", total=None)
        return self._tell

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.__exit__(None, None, None)

    def _tell(self, telling: Telling) -> None:
        left = time.strftime("%H:%M:%S", time.gmtime(telling.seconds_left))
        text = f"loss {telling.loss:.4f} · {telling.rate:.1f} steps/s · {left} left"
        if self._bar is not None:
            self._bar.update(self._task, completed=telling.step, total=telling.steps, description=text)
        elif time.monotonic() - self._said > SAY_EVERY or telling.step == telling.steps:
            self._said = time.monotonic()
            common.say(f"step {telling.step:,} of {telling.steps:,} · {text}")


def _report(folder: Path, standing: Standing) -> None:
    last = standing.losses[-50:]
    click.echo(
        f"trained {folder}: {standing.step:,} steps, loss {sum(last) / len(last):.4f}, {standing.seconds:,.0f} s"
    )
    common.say(f"wug run SUITE --model {folder} · the loss curve: {folder / 'training' / 'loss.tsv'}")
