"""A whole training: the data and the model, tests after epochs, the saved model and its card."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from wug import __version__, registry
from wug.errors import InputError, MissingExtra, ModelError
from wug.files import write_text
from wug.interfaces import Suite
from wug.train.loop import EpochTest, Report, TrainingFolder, TrainingSettings, TrainingState, train
from wug.train.options import CONFIGURED, NETWORK_OPTIONS, Training, TrainingConfig
from wug.train.steps import TrainingTask

if TYPE_CHECKING:
    from wug.train.corpus import Ids, TokenRows
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
    from wug.evaluation.suites import suite_paths

    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("transformers") is None:
        raise MissingExtra("training", "hf")
    for suite in training.suites:
        suite_paths(suite)
    material = ExampleMaterial(training) if training.kind == "seq2seq" else TextMaterial(training, output.notify)
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


END, UNKNOWN = "<eos>", "<unk>"
"""Special tokens of a word-level LSTM."""
SIZES = ("layers", "embedding_size", "ffn_size", "dropout")


class TextMaterial:
    """Texts for a causal or a masked language model, or for a word-level LSTM."""

    def __init__(self, training: Training, notify: Callable[[str], None]) -> None:
        from wug.train.corpus import corpus_checksum

        self._training, self._size = training, training.size
        self._notify = notify
        if training.kind != "lstm":
            self._size.require_pairs()
        checksum = corpus_checksum(training.texts)
        names = ("words", "lowercase") if training.kind == "lstm" else ("heads",)
        values = training.values(("kind", "unit", "vocab", "context_length", *SIZES, *names))
        self.settings: dict[str, Any] = {**values, "text": checksum}
        """What the loss depends on, besides the schedule, with the name of the backend as `kind`."""
        files = ", ".join(path.name for path in training.texts)
        self.description = f"{files} ({checksum}), {training.unit}s in rows of {training.context_length} tokens"

    def task(self, device: str) -> TrainingTask:
        """The new model with its rows of tokens."""
        bfloat16 = self._training.precision_on(device) == "bfloat16"
        return (
            self._word_lstm(device, bfloat16) if self._training.kind == "lstm" else self._transformer(device, bfloat16)
        )

    def _transformer(self, device: str, bfloat16: bool) -> TrainingTask:
        from wug.train.corpus import cached_tokenizer, causal_tokenizer, encode, encode_all, masked_tokenizer
        from wug.train.text_models import CausalTask, MaskedTask

        training, is_causal = self._training, self._training.kind == "causal"

        def make_tokenizer() -> Any:
            self._notify(f"training a tokenizer with {training.vocab:,} tokens")
            return (causal_tokenizer if is_causal else masked_tokenizer)(self._units, training.vocab)

        tokenizer = cached_tokenizer(training.output, make_tokenizer)
        bos = tokenizer.bos_token_id if is_causal else tokenizer.cls_token_id
        end = None if is_causal else tokenizer.sep_token_id
        rows = self._rows(lambda: encode(self._units, lambda texts: encode_all(tokenizer, texts), bos, end), bos)
        make_task = CausalTask if is_causal else MaskedTask
        return make_task(tokenizer, self._size, rows=rows, device=device, bfloat16=bfloat16)

    def _word_lstm(self, device: str, bfloat16: bool) -> TrainingTask:
        from wug.models.tokenization.words import read_words, write_words
        from wug.train.corpus import encode, frequent_words, word_ids
        from wug.train.text_models import LSTMTask

        training = self._training
        mode, lowercase = training.words, training.lowercase
        path = training.output / "training" / "vocab.txt"
        if TrainingFolder(training.output).begun and path.exists():
            names, _ = read_words(path)
        else:
            self._notify(f"choosing {training.vocab:,} words")
            special = (END, UNKNOWN)
            names = frequent_words(self._units, mode, size=training.vocab, lowercase=lowercase, special=special)
            write_words(path, names)
        bos = names.index(END)

        def ids_of(texts: list[str]) -> Any:
            return word_ids(texts, mode, names, UNKNOWN, lowercase=lowercase)

        rows = self._rows(lambda: encode(self._units, ids_of, bos), bos)
        material: dict[str, Any] = {"rows": rows, "device": device, "bfloat16": bfloat16}
        return LSTMTask(names, self._size, words=mode, lowercase=lowercase, **material)

    @cached_property
    def _units(self) -> list[str]:
        """Sentences or paragraphs, read when they are first needed."""
        from wug.train.corpus import read_units

        self._notify(f"reading {', '.join(map(str, self._training.texts))}")
        return read_units(self._training.texts, self._training.unit, self._training.seed)

    def _rows(self, make: Callable[[], Ids], bos: int) -> TokenRows:
        """Rows of the token ids that `make` returns, if they are not cached."""
        from wug.train.corpus import TokenRows, cached_ids

        length, ids = self._training.context_length, cached_ids(self._training.output, make)
        if len(ids) <= length + 1:
            raise InputError(
                f"{len(ids):,} tokens of text are not enough for a row of {length}: use more text, or a smaller "
                "--context-length"
            )
        return TokenRows(ids, bos, length, self._training.batch_size, self._training.seed, self._training.unit)


class ExampleMaterial:
    """Pairs of source and target for a T5, or for an LSTM with attention."""

    def __init__(self, training: Training) -> None:
        from wug.train.examples import MAX_BUCKETS, read_examples
        from wug.train.seq2seq import query_share

        self._training, self._size = training, training.size
        self._examples = read_examples(training.source)
        checksum = self._examples.checksum
        self.settings: dict[str, Any] = {"examples": checksum, "parts": MAX_BUCKETS, **training.values(SIZES)}
        if training.network == "lstm":
            self.settings["kind"] = "attention_lstm"
        else:
            self.settings |= {"kind": "seq2seq", "heads": training.heads, "query_share": query_share(self._size)}
        self.settings |= training.changed(("share_layers", *NETWORK_OPTIONS["lstm"]))
        self.description = f"{training.source.name} ({checksum}), {len(self._examples.sources):,} examples"

    def task(self, device: str) -> TrainingTask:
        """The new model with tables of examples."""
        from wug.train.seq2seq import AttentionLSTMTask, T5Task

        training = self._training
        batches: dict[str, Any] = {"batch": training.batch_size, "seed": training.seed, "device": device}
        if training.network == "t5":
            return T5Task(self._examples, self._size, **batches)
        return AttentionLSTMTask(self._examples, self._size, **training.values(NETWORK_OPTIONS["lstm"]), **batches)
