"""A training of `wug train`: its progress, tests after epochs, the saved model and its card."""

from __future__ import annotations

import importlib.util
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wug import __version__, registry
from wug.cli import _common as common
from wug.cli import _printing as printing
from wug.errors import InputError, MissingExtra, ModelError
from wug.types import Suite

if TYPE_CHECKING:
    from wug.train.checkpoint import TrainingState
    from wug.train.loop import Judge, TrainingProgress
    from wug.train.options import Training, TrainingConfig
    from wug.train.steps import TrainingTask

SECONDS_BETWEEN_LINES = 10.0
"""Between two lines of progress if stderr is not a terminal."""


def unfinished(training: Training, settings: Mapping[str, Any]) -> bool:
    """Whether there is something left to train; says so if not.

    Refuses options that exclude each other, and a folder with another training. Everything that can be checked before
    the data is read is checked here, since reading may take minutes.
    """
    from wug.evaluation.opening import suite_paths
    from wug.train.checkpoint import TrainingFolder

    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("transformers") is None:
        raise MissingExtra("training", "hf")
    if (training.steps is None) == (training.epochs is None):
        raise click.UsageError("give the length of the training: --steps N or --epochs N")
    if training.patience is not None and training.average > 1:
        raise click.UsageError("--average counts back from the last step, which is unknown with --patience")
    if training.patience is not None and not training.suites:
        raise click.UsageError("--patience needs a --suite to test on")
    for suite in training.suites:
        suite_paths(suite)
    folder = TrainingFolder(training.output)
    precision = None if training.precision == "auto" else training.precision
    optional = {"steps": training.steps, "warmup": training.warmup, "precision": precision}
    folder.refuse_other(
        {
            **settings,
            **_unresolved(training),
            "batch": training.batch_size,
            "rate": training.learning_rate,
            "optimiser": training.optimiser,
            "weight_decay": training.weight_decay,
            "average": training.average,
            "seed": training.seed,
            **{name: value for name, value in optional.items() if value is not None},
        }
    )
    if folder.finished:
        common.say(f"{training.output} is already trained: delete it, or use another folder, to train again")
    return not folder.finished


def _unresolved(training: Training) -> dict[str, Any]:
    """Options that determine the model and are not in its TrainingConfig."""
    return {"epochs": training.epochs, "patience": training.patience, "dtype": training.dtype}


def device_of(training: Training) -> str:
    """The device to train on; sets the random seed, since the model is initialised right after."""
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


def train(task: TrainingTask, training: Training, device: str, settings: dict[str, Any], data: str) -> None:
    """Train, test after epochs, save the model and write its card."""
    import torch

    from wug.evaluation.opening import open_suites
    from wug.models import free_threads
    from wug.train.card import ModelCard
    from wug.train.checkpoint import TrainingFolder
    from wug.train.loop import TrainingSettings
    from wug.train.loop import train as run_training

    folder, config = training.output, _config(training, task.steps_per_epoch, device)
    suites = open_suites(training.suites)
    _require_testable(suites, settings["kind"])
    training_folder = TrainingFolder(folder)
    training_folder.begin(config, {**settings, **_unresolved(training)})
    loop_settings = TrainingSettings(
        device.startswith("cuda") if training.compile is None else training.compile,
        training.checkpoint_every,
        keep_checkpoint=False,
        patience=training.patience,
        keep_best=(lambda: task.save(folder / "best", training.dtype)) if suites else None,
    )
    parameters = sum(p.numel() for p in task.model.parameters())
    hardware = device
    if device == "cpu":
        torch.set_num_threads(training.threads or free_threads())
        hardware = f"cpu, threads: {torch.get_num_threads()}"
    common.say(
        f"training {parameters / 1e6:.1f}M parameters for {config.steps:,} steps "
        f"({config.steps / task.steps_per_epoch:.1f} epochs) on {hardware}, {config.precision}"
    )
    judge = _test_after_epochs(task, suites, training, device) if suites else None
    with _progress() as report:
        state = run_training(task, config, folder, settings=loop_settings, report=report, judge=judge)
    task.save(folder, training.dtype)
    card = ModelCard(
        command=common.command_line(),
        data=data,
        kind=settings["kind"],
        unit=settings.get("unit"),
        parameters=parameters,
        dtype=training.dtype,
        device=device,
        version=__version__,
    )
    card.write(folder, config, state)
    training_folder.finish()
    _summarise(folder, state)


def _config(training: Training, steps_per_epoch: int, device: str) -> TrainingConfig:
    from wug.train.options import TrainingConfig

    steps = training.steps or (training.epochs or 0) * steps_per_epoch
    return TrainingConfig(
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


def _require_testable(suites: Sequence[Suite], kind: str) -> None:
    offers = registry.traits(kind).returns
    for suite in suites:
        if suite.needs != offers:
            needed = "generates text" if suite.needs == "text" else "scores text"
            raise InputError(f"suite {suite.name} needs a model that {needed}, and this one does not")


def _test_after_epochs(task: TrainingTask, suites: Sequence[Suite], training: Training, device: str) -> Judge:
    from wug.evaluation.request import RunRequest
    from wug.evaluation.service import execute

    folder = training.output

    def test(epoch: int, step: int) -> float | None:
        if epoch % training.every:
            return None
        # The folder's name is the model's name in the store, which identifies the runs of one training.
        saved = folder / "epochs" / f"{folder.resolve().name}-epoch{epoch}"
        task.save(saved, training.dtype)
        request = RunRequest(
            suites=suites,
            models=[saved],
            model_options={"device": device},
            store=training.store_path or common.default_store(),
            command=common.command_line(),
        )
        (run,) = execute(request).recorded.values()
        if not training.keep_epochs:
            shutil.rmtree(saved, ignore_errors=True)
            if not any(saved.parent.iterdir()):
                saved.parent.rmdir()
        headlines = [(result.suite, result.headline.value) for result in run.results if result.headline is not None]
        shown = ", ".join(f"{suite} {value:.3f}" for suite, value in headlines) or "no result"
        common.say(f"epoch {epoch}, step {step:,}: {shown} (run {run.number})")
        return sum(value for _, value in headlines) / len(headlines) if headlines else None

    return test


@contextmanager
def _progress() -> Iterator[Callable[[TrainingProgress], None]]:
    last = 0.0

    def say(progress: TrainingProgress) -> None:
        nonlocal last
        if time.monotonic() - last > SECONDS_BETWEEN_LINES or progress.step == progress.steps:
            last = time.monotonic()
            left = time.strftime("%H:%M:%S", time.gmtime(progress.seconds_left))
            common.say(f"step {progress.step:,} of {progress.steps:,} · {_state(progress)} · {left} left")

    if common.quiet() or not sys.stderr.isatty():
        yield say
        return
    with common.progress_bar("training") as draw:
        yield lambda now: draw(now.step, now.steps, _state(now))


def _state(progress: TrainingProgress) -> str:
    return f"loss {progress.loss:.4f} · {progress.rate:.1f} steps/s"


def _summarise(folder: Path, state: TrainingState) -> None:
    last = state.losses[-50:]
    printing.echo(f"trained {folder}: {state.step:,} steps, loss {sum(last) / len(last):.4f}, {state.seconds:,.0f} s")
    common.say(f"wug run SUITE --model {folder} · the loss curve: {folder / 'training' / 'loss.tsv'}")
    if (folder / "best").is_dir():
        common.say(f"the model with the best test result: {folder / 'best'}")
