"""The options that all commands of `wug train` share, and what follows from them before anything is trained."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from wug.cli import _common as common

if TYPE_CHECKING:
    from wug.train.recipe import Recipe

Function = TypeVar("Function", bound=Callable[..., Any])


def training_options(*, otherwise: Mapping[str, Any] | None = None, **defaults: Any) -> Callable[[Function], Function]:
    """The options of every kind, with the kind's own defaults.

    `otherwise` has defaults of another network: they are shown in the help, and set by the command.
    """
    positive = click.IntRange(min=1)
    shown = {name: f"{defaults[name]}, of an LSTM {value}" for name, value in (otherwise or {}).items()}
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
            "--rate",
            type=float,
            default=defaults["rate"],
            show_default=shown.get("rate", True),
            help="The highest learning rate.",
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
        click.option(
            "--layers",
            type=positive,
            default=defaults["layers"],
            show_default=shown.get("layers", True),
            help="Layers.",
        ),
        click.option(
            "--width",
            type=positive,
            default=defaults["width"],
            show_default=True,
            help="Numbers that stand for a token.",
        ),
        click.option(
            "--inner",
            type=positive,
            default=defaults["inner"],
            show_default=shown.get("inner", True),
            help=defaults["inner_help"],
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
            "--compile/--no-compile",
            "compiled",
            default=None,
            help=f"Let torch compile the model.  [default: {defaults.get('compiled', 'on a GPU')}]",
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
            "--patience",
            type=click.IntRange(min=0),
            help="Stop when more than so many tests in a row gave no better mean result.",
        ),
        click.option(
            "--keep-epochs", is_flag=True, help="Keep the models that were tested, in FOLDER/epochs, and not only runs."
        ),
    ]

    def decorate(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return click.option("--db", type=common.FILE, envvar="WUG_DB", help=common.DB.help)(function)

    return decorate


def unfinished(given: Mapping[str, Any], material: Mapping[str, Any]) -> bool:
    """Whether there is something left to train; says so where there is not.

    Refuses options that do not go together, and a folder in which something else was trained. All that can be
    known before the material is read is checked here, since reading may take minutes.
    """
    from importlib.util import find_spec

    from wug.errors import MissingExtra
    from wug.runs.opening import locate
    from wug.train.checkpoint import Checkpoint

    if find_spec("torch") is None or find_spec("transformers") is None:
        raise MissingExtra("training", "hf")
    if (given["steps"] is None) == (given["epochs"] is None):
        raise click.UsageError("say how long to train: --steps N or --epochs N")
    if given["patience"] is not None and not given["suites"]:
        raise click.UsageError("--patience looks at the results of a --suite: name one")
    for suite in given["suites"]:
        locate(suite)
    folder: Path = given["output"]
    checkpoint = Checkpoint(folder)
    chosen = {name: given[name] for name in ("batch", "rate", "optimiser", "weight_decay", "seed")}
    optional = {name: given[name] for name in ("steps", "warmup") if given[name] is not None}
    checkpoint.refuse_other({**material, **chosen, **optional})
    if checkpoint.finished:
        common.say(f"{folder} is trained already: delete it, or name another folder, to train again")
    return not checkpoint.finished


def recipe_of(given: Mapping[str, Any], steps_an_epoch: int, device: str) -> Recipe:
    """The recipe that the options ask for."""
    from wug.train.recipe import Recipe

    steps = given["steps"] or given["epochs"] * steps_an_epoch
    warmup = given["warmup"] if given["warmup"] is not None else min(1000, max(1, steps // 20))
    return Recipe(
        steps=steps,
        batch=given["batch"],
        rate=given["rate"],
        warmup=warmup,
        optimiser=given["optimiser"],
        weight_decay=given["weight_decay"],
        seed=given["seed"],
        precision="bfloat16" if lowered(given, device) else "float32",
    )


def device_of(given: Mapping[str, Any]) -> str:
    """Where to train; seeds all chance on the way, since a model's first weights are drawn right after."""
    from wug.errors import ModelError
    from wug.models._weights import pick_device

    device = pick_device(given["device"])
    import torch

    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ModelError(f"cannot use device {device!r}: {str(error).splitlines()[0]}") from error
    torch.manual_seed(given["seed"])
    torch.set_float32_matmul_precision("highest")
    return device


def lowered(given: Mapping[str, Any], device: str) -> bool:
    """Whether arithmetic is in bfloat16."""
    return bool(given["precision"] == "bfloat16" or (given["precision"] == "auto" and device.startswith("cuda")))
