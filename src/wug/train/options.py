"""Options of training: the flags of each kind of model with their defaults, network sizes and the schedule."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from wug.errors import InputError
from wug.options import Option, with_defaults

OptimiserName = Literal["adamw", "muon"]
Precision = Literal["float32", "bfloat16"]


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """All that the loss curve depends on, apart from the data and the network."""

    steps: int
    batch: int
    """Rows per step."""
    rate: float
    warmup: int
    """Steps in which the rate rises to its peak; then it decays along a cosine to a hundredth."""
    optimiser: OptimiserName = "adamw"
    weight_decay: float = 0.1
    clip: float = 1.0
    """The maximum norm of gradients."""
    average: int = 1
    """Number of snapshots of the weights, a hundredth of the training apart, whose mean is the final model."""
    seed: int = 0
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        if self.steps < 1 or self.batch < 1:
            raise InputError(f"training takes at least one step and one row, not {self.steps} and {self.batch}")
        if not 1 <= self.average <= 100:
            raise InputError(f"--average takes 1 to 100 snapshots, not {self.average}")
        if not 0 < self.rate < 1:
            raise InputError(f"the learning rate must be between 0 and 1, not {self.rate}")

    def rate_at(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        if step < self.warmup:
            return self.rate * (step + 1) / self.warmup
        done = (step - self.warmup) / max(1, self.steps - self.warmup)
        return self.rate * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(1.0, done))))


@dataclass(frozen=True, slots=True)
class NetworkSize:
    """The sizes of a network."""

    layers: int
    embedding_size: int
    heads: int = 1
    ffn_size: int = 0
    """Feed-forward size; the number of cells of an LSTM."""
    dropout: float = 0.0
    shared: bool = False
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


TEXT = (
    Option(
        "unit",
        ("sentence", "paragraph"),
        "sentence",
        "the text that a model sees at a time; a paragraph is a line",
    ),
    Option("vocab", int, None, "vocabulary size, in tokens or words", least=300, most=65535),
    Option("context_length", int, None, "context length: tokens per row", least=8),
)
HEADS = Option("heads", int, 4, "number of attention heads", least=1)
EVERY_KIND = (
    Option("steps", int, None, "number of steps", least=1),
    Option("epochs", int, None, "number of passes over the data, instead of --steps", least=1),
    Option("batch_size", int, None, "batch size: rows per step", least=1),
    Option("learning_rate", float, None, "peak learning rate"),
    Option("warmup", int, None, "steps until the peak learning rate; by default a 20th of all, at most 1,000", least=0),
    Option(
        "optimiser",
        ("adamw", "muon"),
        None,
        "optimiser; muon updates the matrices of the layers, and AdamW the rest",
    ),
    Option(
        "average",
        int,
        1,
        "average the weights of this many snapshots at the end, a hundredth of the training apart",
        least=1,
        most=100,
    ),
    Option("weight_decay", float, None, "weight decay, for matrices only"),
    Option("layers", int, None, "number of layers", least=1),
    Option("embedding_size", int, 256, "embedding size", least=1),
    Option("ffn_size", int, None, "feed-forward size", least=1),
    Option("dropout", float, None, "dropout rate"),
    Option("seed", int, 0, "random seed"),
    Option("precision", ("auto", "float32", "bfloat16"), "auto", "dtype of the arithmetic; auto is bfloat16 on a GPU"),
    Option("compile", bool, None, "compile the model with torch; by default on a GPU"),
    Option("device", str, None, "device to train on: cpu, cuda, cuda:1; by default the fastest one"),
    Option("threads", int, None, "number of CPU threads; by default one per idle core", least=1),
    Option("dtype", ("float32", "float16", "bfloat16"), "float32", "dtype of the saved weights"),
    Option("checkpoint_every", int, 1000, "steps between checkpoints; 0 for none", least=0),
    Option("every", int, 1, "epochs between tests on --suite", least=1),
    Option(
        "patience", int, None, "stop when more than this many tests in a row were not better than the best", least=0
    ),
    Option("keep_epochs", bool, False, "keep the tested models in FOLDER/epochs"),
)


def _about(options: tuple[Option, ...], **texts: str) -> tuple[Option, ...]:
    return tuple(replace(option, help=texts.get(option.name, option.help)) for option in options)


_TRANSFORMER = {"batch_size": 256, "learning_rate": 4e-3, "optimiser": "muon", "weight_decay": 0.1, "layers": 8}
KINDS: Mapping[str, tuple[Option, ...]] = {
    "causal": with_defaults(
        (*TEXT, HEADS, *EVERY_KIND), vocab=8192, context_length=256, ffn_size=672, dropout=0.0, **_TRANSFORMER
    ),
    "masked": with_defaults(
        (*TEXT, HEADS, *EVERY_KIND), vocab=8192, context_length=256, ffn_size=384, dropout=0.0, **_TRANSFORMER
    ),
    "lstm": with_defaults(
        (
            *TEXT,
            Option("lowercase", bool, False, "convert all words to lower case"),
            Option(
                "words",
                ("punctuation", "spaces"),
                "punctuation",
                "word boundaries: punctuation marks are words too, or spaces only",
            ),
            *_about(EVERY_KIND, ffn_size="number of cells, projected to the embedding size if that differs"),
        ),
        vocab=20000, context_length=96, batch_size=256, learning_rate=2e-3, optimiser="adamw", weight_decay=0.0,
        layers=2, ffn_size=896, dropout=0.1,
    ),
    "seq2seq": with_defaults(
        (
            Option(
                "network",
                ("t5", "lstm"),
                "t5",
                "architecture: t5, or an LSTM with attention",
            ),
            *_about((HEADS,), heads="number of attention heads of a T5"),
            Option("share_layers", bool, False, "share the weights of all layers of a T5 (universal transformer)"),
            Option(
                "attention",
                ("general", "dot"),
                "general",
                "attention score of an LSTM (Luong et al. 2015)",
            ),
            Option("untied", bool, False, "do not tie the output layer of an LSTM to the target embeddings"),
            Option(
                "start",
                ("even", "normal"),
                "even",
                "initial weights of an LSTM. even: uniform from -0.1 to 0.1. normal: embeddings with a standard "
                "deviation of 1, layers by their width, as in PyTorch",
            ),
            *_about(
                EVERY_KIND,
                ffn_size="feed-forward size; number of cells of an LSTM layer",
                compile="compile the model with torch; by default off",
            ),
        ),
        batch_size=128, learning_rate=6e-4, optimiser="adamw", weight_decay=0.01, layers=4, ffn_size=768, dropout=0.1,
    ),
}  # fmt: skip
LSTM_DEFAULTS: Mapping[str, float] = {"learning_rate": 1e-3, "layers": 2, "ffn_size": 512}
"""Defaults of a seq2seq LSTM that differ from those of a T5."""
LSTM_ONLY_OPTIONS: Mapping[str, object] = {
    option.name: option.default for option in KINDS["seq2seq"] if option.name in ("attention", "untied", "start")
}
"""Options of seq2seq LSTMs only, with their defaults."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """The options of `wug train`: those of every kind, and those of some kinds."""

    output: Path
    suites: tuple[str, ...] = ()
    store_path: Path | None = None
    steps: int | None
    epochs: int | None
    batch_size: int
    learning_rate: float
    warmup: int | None
    optimiser: OptimiserName
    average: int
    weight_decay: float
    layers: int
    embedding_size: int
    ffn_size: int
    dropout: float
    seed: int
    precision: Literal["auto", "float32", "bfloat16"]
    compile: bool | None
    device: str | None
    threads: int | None
    dtype: str
    checkpoint_every: int
    every: int
    patience: int | None
    keep_epochs: bool
    heads: int = 1
    texts: tuple[Path, ...] = ()
    unit: Literal["sentence", "paragraph"] = "sentence"
    vocab: int = 0
    context_length: int = 0
    lowercase: bool = False
    words: str = "punctuation"
    source: Path = Path()
    network: Literal["t5", "lstm"] = "t5"
    share_layers: bool = False
    attention: str = "general"
    untied: bool = False
    start: str = "even"

    def precision_on(self, device: str) -> Precision:
        """The dtype of the arithmetic."""
        if self.precision == "auto":
            return "bfloat16" if device.startswith("cuda") else "float32"
        return self.precision
