"""The options of training: what each kind of model can be told, and its defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from wug.options import Option, with_defaults
from wug.train.recipe import Optimiser, Precision

TEXT = (
    Option(
        "unit",
        ("sentence", "paragraph"),
        "sentence",
        "what a text is that the model sees on its own; a paragraph is a line",
    ),
    Option("vocab", int, None, "vocabulary size: tokens or words that the model knows", least=300, most=65535),
    Option("context_length", int, None, "context length: tokens in a row", least=8, aliases=("length",)),
)
HEADS = Option("heads", int, 4, "attention heads", least=1)
EVERY_KIND = (
    Option("steps", int, None, "steps in all", least=1),
    Option("epochs", int, None, "times that all of the material is seen, in place of --steps", least=1),
    Option("batch_size", int, None, "batch size: rows a step", least=1, aliases=("batch",)),
    Option("learning_rate", float, None, "the highest learning rate", aliases=("rate",)),
    Option("warmup", int, None, "steps in which it is reached; by default a 20th of all, 1,000 at most", least=0),
    Option(
        "optimiser",
        ("adamw", "muon"),
        None,
        "the optimiser; muon is for the matrices of the layers, with AdamW for the rest",
        aliases=("optimizer",),
    ),
    Option(
        "average",
        int,
        1,
        "average the weights at so many moments, a hundredth of training apart, the last of them the end",
        least=1,
        most=100,
    ),
    Option("weight_decay", float, None, "weight decay, of matrices alone"),
    Option("layers", int, None, "layers", least=1),
    Option("embedding_size", int, 256, "embedding size", least=1, aliases=("width",)),
    Option("inner", int, None, "feed-forward size", least=1),
    Option("dropout", float, None, "dropout: the share of activations left out in training"),
    Option("seed", int, 0, "the same seed trains the same model"),
    Option("precision", ("auto", "float32", "bfloat16"), "auto", "of the arithmetic; auto is bfloat16 on a GPU"),
    Option("compile", bool, None, "let torch compile the model; by default on a GPU"),
    Option("device", str, None, "where to train: cpu, cuda, cuda:1; by default the best there is"),
    Option("threads", int, None, "threads of the CPU; by default one for each core without other work", least=1),
    Option("dtype", ("float32", "float16", "bfloat16"), "float32", "of the weights in the file"),
    Option("checkpoint_every", int, 1000, "steps between two checkpoints; 0 for none", least=0),
    Option("every", int, 1, "epochs between two tests on --suite", least=1),
    Option("patience", int, None, "stop when more than so many tests in a row gave no better mean result", least=0),
    Option("keep_epochs", bool, False, "keep the models that were tested, in FOLDER/epochs, and not only runs"),
)


def _about(options: tuple[Option, ...], **texts: str) -> tuple[Option, ...]:
    """The options with other help."""
    return tuple(replace(one, help=texts.get(one.name, one.help)) for one in options)


_TRANSFORMER = {"batch_size": 256, "learning_rate": 4e-3, "optimiser": "muon", "weight_decay": 0.1, "layers": 8}
KINDS: Mapping[str, tuple[Option, ...]] = {
    "causal": with_defaults(
        (*TEXT, HEADS, *EVERY_KIND), vocab=8192, context_length=256, inner=672, dropout=0.0, **_TRANSFORMER
    ),
    "masked": with_defaults(
        (*TEXT, HEADS, *EVERY_KIND), vocab=8192, context_length=256, inner=384, dropout=0.0, **_TRANSFORMER
    ),
    "lstm": with_defaults(
        (
            *TEXT,
            Option("lowercase", bool, False, "take all words in lower case"),
            Option(
                "words",
                ("punctuation", "spaces"),
                "punctuation",
                "what parts words: punctuation marks are words of their own, or only spaces count",
            ),
            *_about(EVERY_KIND, inner="cells; where they differ from the embedding size, the state is projected to it"),
        ),
        vocab=20000, context_length=96, batch_size=256, learning_rate=2e-3, optimiser="adamw", weight_decay=0.0,
        layers=2, inner=896, dropout=0.1,
    ),
    "seq2seq": with_defaults(
        (
            Option(
                "network",
                ("t5", "lstm"),
                "t5",
                "t5: a transformer of T5's shape. lstm: an LSTM that attends to the source",
            ),
            *_about((HEADS,), heads="attention heads of a T5"),
            Option("share_layers", bool, False, "one layer's weights for all layers of a T5: a universal transformer"),
            Option(
                "attention",
                ("general", "dot"),
                "general",
                "how an LSTM compares answer and source: by a matrix between them, or directly",
            ),
            Option("untied", bool, False, "an LSTM's output layer has weights of its own, not the answers' embeddings"),
            Option(
                "start",
                ("even", "normal"),
                "even",
                "first values of an LSTM. even: all weights from -0.1 to 0.1. normal: embeddings with a standard "
                "deviation of 1, layers by their width, as in PyTorch",
            ),
            *_about(
                EVERY_KIND,
                inner="feed-forward size; of an LSTM, the cells of a layer",
                compile="let torch compile the model; by default off",
            ),
        ),
        batch_size=128, learning_rate=6e-4, optimiser="adamw", weight_decay=0.01, layers=4, inner=768, dropout=0.1,
    ),
}  # fmt: skip
OF_LSTM: Mapping[str, float] = {"learning_rate": 1e-3, "layers": 2, "inner": 512}
"""Defaults of a seq2seq model that is an LSTM, where they are not those of a T5."""
LSTM_ALONE: Mapping[str, object] = {
    option.name: option.default for option in KINDS["seq2seq"] if option.name in ("attention", "untied", "start")
}
"""Options that only an LSTM among the seq2seq models has, with their defaults."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """What a user said about a training: the options of every kind, and those that some kinds have."""

    output: Path
    suites: tuple[str, ...] = ()
    """To be tested on after epochs."""
    db: Path | None = None
    steps: int | None
    epochs: int | None
    batch_size: int
    learning_rate: float
    warmup: int | None
    optimiser: Optimiser
    average: int
    weight_decay: float
    layers: int
    embedding_size: int
    inner: int
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
        """The number format of the arithmetic."""
        if self.precision == "auto":
            return "bfloat16" if device.startswith("cuda") else "float32"
        return self.precision
