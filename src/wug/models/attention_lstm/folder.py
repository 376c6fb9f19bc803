"""Attention LSTMs in a folder: config.json, model.safetensors, vocab.txt."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wug.errors import InputError, ModelError
from wug.files import read_object
from wug.models.lstm import folder as lstm_folder
from wug.models.lstm.folder import CONFIG, VOCABULARY, WEIGHTS
from wug.models.lstm.weights import read_safetensors, require_shapes
from wug.models.tokenization.words import Vocabulary, read_words, words_of, write_words

if TYPE_CHECKING:
    from wug.models.attention_lstm.network import AttentionLSTM

MODEL_TYPE = "wug-attention-lstm"
PAD, START, END, UNKNOWN = SPECIAL = ("<pad>", "<s>", "</s>", "<unk>")
"""Special tokens of every vocabulary: padding, the start and the end of an answer, unknown words."""
ATTENTIONS = ("general", "dot")
STARTS = ("even", "normal")
"""Initial weights. Even: uniform in a small range, with forget gates open. Normal: PyTorch's defaults."""


@dataclass(frozen=True, slots=True)
class AttentionShape:
    """The architecture of an attention LSTM."""

    vocabulary: int
    """Words, of sources and answers together."""
    layers: int = 2
    """Of the encoder, and of the decoder."""
    width: int = 256
    """Embedding size."""
    hidden: int = 512
    """Layer size; in the encoder half of it reads forwards, half backwards."""
    attention: str = "general"
    """general, with a matrix between answer and source, or dot."""
    tied: bool = True
    """Whether the output layer shares the embeddings of answers."""
    dropout: float = 0.1

    @property
    def attended(self) -> int:
        """Input size of the output layer."""
        return self.width if self.tied else self.hidden


def source_numbers(text: str, vocabulary: Vocabulary) -> list[int]:
    """The word numbers of a source, and the end token."""
    unknown = vocabulary.index[UNKNOWN]
    return [*(vocabulary.index.get(word, unknown) for word in words_of(text, "spaces")), vocabulary.index[END]]


def save_attention_lstm(
    folder: Path, model: AttentionLSTM, vocabulary: Sequence[str], *, dtype: str | None = None
) -> None:
    """Write a folder that `attention_lstm:FOLDER` reads, in `dtype` (default: the model's own)."""
    import torch

    shape: AttentionShape = model.shape
    tensors = {name.removeprefix("_orig_mod."): value for name, value in model.state_dict().items()}
    if shape.tied:
        del tensors["output.weight"]
    if dtype is not None:
        tensors = {name: value.to(getattr(torch, dtype)) for name, value in tensors.items()}
    if len(vocabulary) != shape.vocabulary:
        raise ModelError(f"{folder}: a model of {shape.vocabulary:,} words, and a vocabulary of {len(vocabulary):,}")
    _require_special(folder / VOCABULARY, vocabulary)
    write_words(folder / VOCABULARY, vocabulary)
    lstm_folder.write_tensors(folder / WEIGHTS, tensors)
    named = {"architectures": ["AttentionLSTM"], "model_type": MODEL_TYPE}
    # Last, because it is what makes the folder a model.
    lstm_folder.write_config(folder / CONFIG, {**named, **asdict(shape)})


def load_attention_lstm(folder: Path) -> tuple[AttentionLSTM, Vocabulary]:
    """The model in a folder, in float32 and evaluation mode, and its vocabulary."""
    import torch

    from wug.models.attention_lstm.network import AttentionLSTM

    shape = _read_shape(folder / CONFIG)
    vocabulary = make_vocabulary(read_words(folder / VOCABULARY)[0], file=folder / VOCABULARY)
    if len(vocabulary.names) != shape.vocabulary:
        raise ModelError(
            f"{folder}: {CONFIG} says that it has {shape.vocabulary:,} words, and {VOCABULARY} has "
            f"{len(vocabulary.names):,}: this is another model's vocabulary"
        )
    tensors = read_safetensors(folder / WEIGHTS)
    largest = max([len(tensors), *(length for tensor in tensors.values() for length in tensor.shape)])
    for name in ("layers", "width", "hidden"):
        if (value := getattr(shape, name)) > largest:
            raise ModelError(f"{folder}: {CONFIG} says {name} {value:,}, which its weights rule out")
    with torch.random.fork_rng(devices=[]):  # initial weights that are overwritten must not change the user's seed
        model = AttentionLSTM(shape)
    expected = {name: tensor.shape for name, tensor in model.state_dict().items()}
    if shape.tied:
        del expected["output.weight"]
    require_shapes(folder / WEIGHTS, expected, tensors)
    model.load_state_dict({name: value.float() for name, value in tensors.items()}, strict=False)
    return model.eval().requires_grad_(False), vocabulary


def make_vocabulary(names: Sequence[str], *, file: Path | None = None) -> Vocabulary:
    """A vocabulary that has all special tokens; `file` is for errors."""
    _require_special(file, names)
    index = {name: number for number, name in enumerate(names)}
    return Vocabulary(names, index, index[UNKNOWN], index[END], lowercase=False)


def _require_special(file: Path | None, names: Sequence[str]) -> None:
    if absent := [token for token in SPECIAL if token not in names]:
        raise InputError(f"has no {absent[0]}; an attention LSTM needs {' '.join(SPECIAL)}", file=file)


def _read_shape(path: Path) -> AttentionShape:
    config = read_object(path)
    lstm_folder.require_type(path, config, MODEL_TYPE)
    dropout = config.get("dropout", 0.0)
    if isinstance(dropout, bool) or not isinstance(dropout, int | float) or not 0 <= dropout < 1:
        raise InputError(f"is {json.dumps(dropout)}; expected a number from 0 to 1", file=path, place="dropout")
    found = lstm_folder.fields_in(path, config, AttentionShape, attention=ATTENTIONS)
    if (hidden := found["hidden"]) % 2:
        raise InputError(f"is {hidden}; expected an even number, half for each direction", file=path, place="hidden")
    return AttentionShape(**found, dropout=dropout)
