"""A whole training: the data and the model, tests after epochs, the saved model and its card."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from wug import __version__, registry
from wug.errors import InputError, MissingExtra, ModelError
from wug.files import write_text
from wug.interfaces import Suite
from wug.train.checkpoint import TrainingFolder, TrainingState
from wug.train.loop import EpochTest, Report, TrainingSettings, train
from wug.train.material import ExampleMaterial, TextMaterial, material_of
from wug.train.options import CONFIGURED, Training, TrainingConfig
from wug.train.steps import TrainingTask

LAST_STEPS = 50
ENCODINGS = {
    "causal": "the BOS token `<|endoftext|>` before a text",
    "masked": "a text between `<s>` and `</s>`",
    "seq2seq": "`</s>` after a text",
}
"""Where the tokenizer of each kind of Hugging Face model puts special tokens."""


@dataclass(frozen=True, slots=True)
class TrainingOutput:
    """Where a training reports what it does."""

    notify: Callable[[str], None]
    """Takes a line of text."""
    progress: Callable[[], AbstractContextManager[Report]]
    """Opens a display of the progress."""
    command: str
    """The command, for the model card and the runs of --suite."""


def run_training(training: Training, output: TrainingOutput) -> TrainingState | None:
    """Train a model, test it after epochs, save it and write its card; None if it is already trained.

    Everything that can be checked before the data is read is checked first, since reading may take minutes.
    """
    _require_possible(training)
    material = material_of(training, output.notify)
    settings = {**material.settings, **training.values(("epochs", "patience", "dtype"))}
    folder = TrainingFolder(training.output)
    unresolved = ("steps", None), ("warmup", None), ("precision", "auto")
    configured = [name for name in CONFIGURED if (name, getattr(training, name)) not in unresolved]
    folder.refuse_other({**settings, **training.values(configured)})
    if folder.finished:
        output.notify(f"{training.output} is already trained: delete it, or use another folder, to train again")
        return None
    device = _prepared_device(training)
    task = material.task(device)
    suites = _testable_suites(training, settings["kind"])
    config = training.config(task.steps_per_epoch, device)
    folder.begin(config, settings)
    parameters = sum(p.numel() for p in task.model.parameters())
    output.notify(
        f"training {parameters / 1e6:.1f}M parameters for {config.steps:,} steps "
        f"({config.steps / task.steps_per_epoch:.1f} epochs) on {_hardware(training, device)}, {config.precision}"
    )
    with output.progress() as report:
        loop_settings = TrainingSettings(
            training.compiled_on(device),
            training.checkpoint_every,
            keep_checkpoint=False,
            report=report,
            test=_epoch_test(task, suites, training, device, output) if suites else None,
            patience=training.patience,
            keep_best=(lambda: task.save(training.output / "best", training.dtype)) if suites else None,
        )
        state = train(task, config, training.output, loop_settings)
    task.save(training.output, training.dtype)
    _write_card(training, material, config, state, command=output.command, parameters=parameters, device=device)
    folder.finish()
    return state


def _require_possible(training: Training) -> None:
    """Refuse a training without its packages, or with suites that cannot be found."""
    from wug.evaluation.suites import suite_paths

    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("transformers") is None:
        raise MissingExtra("training", "hf")
    for suite in training.suites:
        suite_paths(suite)


def _prepared_device(training: Training) -> str:
    """The device to train on; sets the random seed, which the initial weights depend on."""
    import torch

    from wug.models.hardware import pick_device

    device = pick_device(training.device)
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ModelError(f"cannot use device {device!r}: {str(error).splitlines()[0]}") from error
    torch.manual_seed(training.seed)
    torch.set_float32_matmul_precision("highest")
    return device


def _hardware(training: Training, device: str) -> str:
    """The device in words; sets the number of CPU threads."""
    import torch

    from wug.models.hardware import free_threads

    if device != "cpu":
        return device
    torch.set_num_threads(training.threads or free_threads())
    return f"cpu, threads: {torch.get_num_threads()}"


def _testable_suites(training: Training, kind: str) -> list[Suite]:
    from wug.evaluation.suites import open_suites

    suites = list(open_suites(training.suites))
    for suite in suites:
        if suite.needs != registry.traits(kind).returns:
            needed = "generates text" if suite.needs == "text" else "scores text"
            raise InputError(f"suite {suite.name} needs a model that {needed}, and this one does not")
    return suites


def _epoch_test(
    task: TrainingTask, suites: Sequence[Suite], training: Training, device: str, output: TrainingOutput
) -> EpochTest:
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
            store=training.store_path,
            command=output.command,
        )
        (run,) = execute(request).recorded.values()
        if not training.keep_epochs:
            shutil.rmtree(saved, ignore_errors=True)
            if not any(saved.parent.iterdir()):
                saved.parent.rmdir()
        headlines = [(result.suite, result.headline.value) for result in run.results if result.headline is not None]
        values = ", ".join(f"{suite} {value:.3f}" for suite, value in headlines) or "no result"
        output.notify(f"epoch {epoch}, step {step:,}: {values} (run {run.number})")
        return sum(value for _, value in headlines) / len(headlines) if headlines else None

    return test


def _write_card(
    training: Training, material: TextMaterial | ExampleMaterial, config: TrainingConfig, state: TrainingState,
    *, command: str, parameters: int, device: str,
) -> None:  # fmt: skip
    """Write README.md, unless there is one: the data of a model, its settings, and how to use it."""
    import torch
    import transformers

    path = training.output / "README.md"
    if path.exists():
        return
    last = state.losses[-LAST_STEPS:]
    device_name = torch.cuda.get_device_name() if device.startswith("cuda") else device
    rows = {
        "parameters": f"{parameters:,}",
        "trained on": material.description,
        "steps": f"{state.step:,} of {config.batch_size} rows",
        "optimiser": f"{config.optimiser}, rate {config.learning_rate:g} after {config.warmup:,} steps, then "
        "cosine decay",
        "weight decay": f"{config.weight_decay:g}",
        "arithmetic": config.precision,
        "seed": str(config.seed),
        "final loss": f"{sum(last) / len(last):.4f} nats per token, the mean of {len(last)} steps",
        "time": f"{state.seconds:,.0f} s on {device_name}",
        "weights": training.dtype,
        "versions": f"wug {__version__}, torch {torch.__version__}, transformers {transformers.__version__}",
    }
    table = "\n".join(f"| {name} | {value} |" for name, value in rows.items())
    notes = "".join(f"- {note}\n" for note in _notes(material.settings, training.dtype))
    text = f"# {training.output.name}\n\n```\n{command}\n```\n\n| | |\n|---|---|\n{table}\n\n{notes}"
    write_text(path, text.rstrip() + "\n")


def _notes(settings: Mapping[str, Any], dtype: str) -> Iterator[str]:
    """What users have to know to get the numbers of wug, also in other programs."""
    kind = settings["kind"]
    if unit := settings.get("unit"):
        yield f"It saw one {unit} at a time and ignores what comes before."
    if kind not in ENCODINGS:
        return
    yield (
        f"By default its tokenizer puts {ENCODINGS[kind]}, as in training. Programs that use the default "
        "encoding give the numbers of wug."
    )
    if kind == "causal":
        yield "Do not let a program add BOS a second time: in minicons, leave `bos_token` at `False`."
    if dtype != "float32":
        yield (
            f"transformers 5 computes in the dtype of the file, {dtype}, unless told otherwise. wug computes "
            "in float32, and so does `from_pretrained(FOLDER, dtype=torch.float32)`."
        )
