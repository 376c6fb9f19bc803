"""Options of `wug train`, each a field of `Training`; network sizes, and what the loss curve depends on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_type_hints

from wug.errors import InputError
from wug.options import Option, OptionType

Precision = Literal["float32", "bfloat16"]


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """All that the loss curve depends on, apart from the data and the network."""

    steps: int
    batch_size: int
    """Rows per step."""
    learning_rate: float
    warmup: int
    """Steps in which the rate rises to its peak; then it decays along a cosine to a hundredth."""
    optimiser: Literal["adamw", "muon"] = "adamw"
    weight_decay: float = 0.1
    clip: float = 1.0
    """The maximum norm of gradients."""
    average: int = 1
    """Number of snapshots of the weights, a hundredth of the training apart, whose mean is the final model."""
    seed: int = 0
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        if not 0 < self.learning_rate < 1:
            raise InputError(f"the learning rate must be between 0 and 1, not {self.learning_rate}")

    def rate_at(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        if step < self.warmup:
            return self.learning_rate * (step + 1) / self.warmup
        done = (step - self.warmup) / max(1, self.steps - self.warmup)
        return self.learning_rate * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(1.0, done))))


@dataclass(frozen=True, slots=True)
class NetworkSize:
    """The sizes of a network."""

    layers: int
    embedding_size: int
    heads: int = 1
    ffn_size: int = 0
    """Feed-forward size; the number of cells of an LSTM."""
    dropout: float = 0.0
    share_layers: bool = False
    """Whether all layers have the same weights."""

    def __post_init__(self) -> None:
        if self.embedding_size % self.heads:
            raise InputError(
                f"an embedding size of {self.embedding_size} cannot be shared by {self.heads} attention heads"
            )
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout must be between 0 and 1, not {self.dropout}")

    def require_pairs(self) -> None:
        """Raise InputError if a head has an odd number of dimensions: rotary positions rotate pairs."""
        head_size = self.embedding_size // self.heads
        if head_size % 2:
            raise InputError(
                f"an embedding size of {self.embedding_size} gives each of {self.heads} attention heads {head_size} "
                "dimensions: use a size that makes it an even number"
            )


_TRANSFORMERS, _TEXT_MODELS = ("causal", "masked"), ("causal", "masked", "lstm")
_ALL_KINDS = (*_TEXT_MODELS, "seq2seq")


def _option(help: str, default: object = None, kinds: tuple[str, ...] = _ALL_KINDS, **bounds: int) -> Any:
    """A field of `Training` that is an option of these kinds of models."""
    return field(default=default, metadata={"help": help, "kinds": kinds, **bounds})


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """The options of `wug train`. `KINDS` has the defaults of each kind."""

    kind: str
    output: Path
    suites: tuple[str, ...] = ()
    store_path: Path | None = None
    texts: tuple[Path, ...] = ()
    source: Path = Path()
    unit: Literal["sentence", "paragraph"] = _option(
        "the text that a model sees at a time; a paragraph is a line", "sentence", _TEXT_MODELS
    )
    vocab: int = _option("vocabulary size, in tokens or words", kinds=_TEXT_MODELS, least=300, most=65535)
    context_length: int = _option("context length: tokens per row", kinds=_TEXT_MODELS, least=8)
    lowercase: bool = _option("convert all words to lower case", False, ("lstm",))
    words: Literal["punctuation", "spaces"] = _option(
        "word boundaries: punctuation marks are words too, or spaces only", "punctuation", ("lstm",)
    )
    network: Literal["t5", "lstm"] = _option("architecture: t5, or an LSTM with attention", "t5", ("seq2seq",))
    heads: int = _option("number of attention heads", 1, (*_TRANSFORMERS, "seq2seq"), least=1)
    share_layers: bool = _option("share the weights of all layers of a T5 (universal transformer)", False, ("seq2seq",))
    attention: Literal["general", "dot"] = _option(
        "attention score of an LSTM (Luong et al. 2015)", "general", ("seq2seq",)
    )
    untied: bool = _option("do not tie the output layer of an LSTM to the target embeddings", False, ("seq2seq",))
    start: Literal["even", "normal"] = _option(
        "initial weights of an LSTM. even: uniform from -0.1 to 0.1. normal: embeddings with a standard deviation of "
        "1, layers by their width, as in PyTorch",
        "even",
        ("seq2seq",),
    )
    steps: int | None = _option("number of steps", least=1)
    epochs: int | None = _option("number of passes over the data, instead of --steps", least=1)
    batch_size: int = _option("batch size: rows per step", least=1)
    learning_rate: float = _option("peak learning rate")
    warmup: int | None = _option("steps until the peak learning rate; by default a 20th of all, at most 1,000", least=0)
    optimiser: Literal["adamw", "muon"] = _option(
        "optimiser; muon updates the matrices of the layers, and AdamW the rest"
    )
    average: int = _option(
        "average the weights of this many snapshots at the end, a hundredth of the training apart", 1, least=1, most=100
    )
    weight_decay: float = _option("weight decay, for matrices only")
    layers: int = _option("number of layers", least=1)
    embedding_size: int = _option("embedding size", 256, least=1)
    ffn_size: int = _option("feed-forward size", least=1)
    dropout: float = _option("dropout rate")
    seed: int = _option("random seed", 0)
    precision: Literal["auto", "float32", "bfloat16"] = _option(
        "dtype of the arithmetic; auto is bfloat16 on a GPU", "auto"
    )
    compile: bool | None = _option("compile the model with torch; by default on a GPU")
    device: str | None = _option("device to train on: cpu, cuda, cuda:1; by default the fastest one")
    threads: int | None = _option("number of CPU threads; by default one per idle core", least=1)
    dtype: Literal["float32", "float16", "bfloat16"] = _option("dtype of the saved weights", "float32")
    checkpoint_every: int = _option("steps between checkpoints; 0 for none", 1000, least=0)
    every: int = _option("epochs between tests on --suite", 1, least=1)
    patience: int | None = _option(
        "stop when more than this many tests in a row were not better than the best", least=0
    )
    keep_epochs: bool = _option("keep the tested models in FOLDER/epochs", False)

    @classmethod
    def of(cls, kind: str, given: Mapping[str, Any]) -> Training:
        """A training with the given options, and the defaults of others; InputError if they exclude each other."""
        is_lstm = given.get("network") == "lstm"
        other = "t5" if is_lstm else "lstm"
        for name in NETWORK_OPTIONS[other]:
            if name in given:
                raise InputError(f"--{name.replace('_', '-')} is for --network {other}")
        defaults = {option.name: option.default for option in KINDS[kind]} | (LSTM_DEFAULTS if is_lstm else {})
        training = cls(kind=kind, **(defaults | dict(given)))
        if (training.steps is None) == (training.epochs is None):
            raise InputError("give the length of the training: --steps N or --epochs N")
        if training.patience is not None and training.average > 1:
            raise InputError("--average counts back from the last step, which is unknown with --patience")
        if training.patience is not None and not training.suites:
            raise InputError("--patience needs a --suite to test on")
        return training

    def values(self, names: Iterable[str]) -> dict[str, Any]:
        """The values of some options."""
        return {name: getattr(self, name) for name in names}

    def changed(self, names: Iterable[str]) -> dict[str, Any]:
        """The values of those of some options that differ from their defaults."""
        defaults = {item.name: item.default for item in fields(self)}
        return {name: value for name, value in self.values(names).items() if value != defaults[name]}

    @property
    def size(self) -> NetworkSize:
        """The sizes of the network."""
        return NetworkSize(**self.values(NetworkSize.__slots__))

    def config(self, steps_per_epoch: int, device: str) -> TrainingConfig:
        """The configuration on a device."""
        steps = self.steps or (self.epochs or 0) * steps_per_epoch
        resolved = {
            "steps": steps,
            "warmup": self.warmup if self.warmup is not None else min(1000, max(1, steps // 20)),
            "precision": self.precision_on(device),
        }
        return TrainingConfig(**{**self.values(CONFIGURED), **resolved})

    def precision_on(self, device: str) -> Precision:
        """The dtype of the arithmetic."""
        if self.precision == "auto":
            return "bfloat16" if device.startswith("cuda") else "float32"
        return self.precision

    def compiled_on(self, device: str) -> bool:
        """Whether the model is compiled.

        By default not for seq2seq: a CUDA graph is as fast, without minutes of compiling every shape.
        """
        if self.compile is None:
            return device.startswith("cuda") and self.kind != "seq2seq"
        return self.compile


CONFIGURED = tuple(name for name in TrainingConfig.__slots__ if name != "clip")
"""The options that are fields of TrainingConfig."""


def _options(kind: str, help: Mapping[str, str], **defaults: Any) -> tuple[Option, ...]:
    """The options of a kind of models, with its own defaults and help texts."""
    types = get_type_hints(Training)
    return tuple(
        Option(
            item.name,
            _values_of(types[item.name]),
            defaults.get(item.name, item.default),
            help.get(item.name, item.metadata["help"]),
            item.metadata.get("least"),
            item.metadata.get("most"),
        )
        for item in fields(Training)
        if kind in item.metadata.get("kinds", ())
    )


def _values_of(hint: Any) -> OptionType:
    """The type of an option: the words of a Literal, or the type that is not None."""
    arguments = get_args(hint)
    types: OptionType = next((part for part in arguments if part is not NoneType), hint)
    return types if NoneType in arguments or not arguments else arguments


_TRANSFORMER: Mapping[str, Any] = {
    "vocab": 8192,
    "context_length": 256,
    "batch_size": 256,
    "learning_rate": 4e-3,
    "optimiser": "muon",
    "weight_decay": 0.1,
    "layers": 8,
    "heads": 4,
    "dropout": 0.0,
}
KINDS: Mapping[str, tuple[Option, ...]] = {
    "causal": _options("causal", {}, ffn_size=672, **_TRANSFORMER),
    "masked": _options("masked", {}, ffn_size=384, **_TRANSFORMER),
    "lstm": _options(
        "lstm",
        help={"ffn_size": "number of cells, projected to the embedding size if that differs"},
        vocab=20000, context_length=96, batch_size=256, learning_rate=2e-3, optimiser="adamw", weight_decay=0.0,
        layers=2, ffn_size=896, dropout=0.1,
    ),
    "seq2seq": _options(
        "seq2seq",
        help={
            "heads": "number of attention heads of a T5",
            "ffn_size": "feed-forward size; number of cells of an LSTM layer",
            "compile": "compile the model with torch; by default off",
        },
        batch_size=128, learning_rate=6e-4, optimiser="adamw", weight_decay=0.01, layers=4, heads=4, ffn_size=768,
        dropout=0.1,
    ),
}  # fmt: skip
LSTM_DEFAULTS: dict[str, float] = {"learning_rate": 1e-3, "layers": 2, "ffn_size": 512, "heads": 1}
"""Defaults of a seq2seq LSTM that differ from those of a T5."""
NETWORK_OPTIONS = {"t5": ("heads", "share_layers"), "lstm": ("attention", "untied", "start")}
"""Options of one of the networks of seq2seq only."""
