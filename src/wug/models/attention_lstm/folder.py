"""Attention LSTMs in a folder (config.json, model.safetensors, vocab.txt), and sources as numbers of their words."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from wug.errors import InputError, ModelError
from wug.models._words import Vocabulary, read_words, words_of, write_words
from wug.models.attention_lstm.network import ATTENTIONS, AttentionShape, attention_lstm
from wug.models.lstm.folder import (
    CONFIG,
    VOCABULARY,
    WEIGHTS,
    fields_in,
    read_config,
    require_type,
    write_config,
    write_tensors,
)  # fmt: skip
from wug.models.lstm.weights import read_safetensors, size

MODEL_TYPE = "wug-attention-lstm"
PAD, START, END, UNKNOWN = SPECIAL = ("<pad>", "<s>", "</s>", "<unk>")
"""What every vocabulary has beside words: for filling up, the beginning and the end of an answer, other words."""


def source_numbers(text: str, vocabulary: Vocabulary) -> list[int]:
    """The words of a source by their numbers, and the end token."""
    unknown = vocabulary.index[UNKNOWN]
    return [*(vocabulary.index.get(word, unknown) for word in words_of(text, "spaces")), vocabulary.index[END]]


def save_attention_lstm(folder: Path, model: Any, vocabulary: Sequence[str], *, dtype: str | None = None) -> None:
    """Write a folder that `attention_lstm:FOLDER` reads, in the number format `dtype` (by default the model's own)."""
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
    write_tensors(folder / WEIGHTS, tensors)
    named = {"architectures": ["AttentionLSTM"], "model_type": MODEL_TYPE}
    # Last, because it is what makes the folder a model.
    write_config(folder / CONFIG, {**named, **asdict(shape)})


def load_attention_lstm(folder: Path) -> tuple[Any, Vocabulary]:
    """The model in a folder, in float32 and ready to answer, and the words that it knows."""
    import torch

    shape = _shape(folder / CONFIG, read_config(folder / CONFIG))
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
    with torch.random.fork_rng(devices=[]):  # first values that are drawn in vain must not move a seed
        model = attention_lstm(shape)
    _require_fit(folder / WEIGHTS, model.state_dict(), tensors, tied=shape.tied)
    model.load_state_dict({name: value.float() for name, value in tensors.items()}, strict=False)
    return model.eval().requires_grad_(False), vocabulary


def make_vocabulary(names: Sequence[str], *, file: Path | None = None) -> Vocabulary:
    """Words with their numbers; the special tokens must be among them. `file` is for errors."""
    _require_special(file, names)
    index = {name: number for number, name in enumerate(names)}
    return Vocabulary(names, index, index[UNKNOWN], index[END], lowercase=False)


def _require_special(file: Path | None, names: Sequence[str]) -> None:
    if absent := [token for token in SPECIAL if token not in names]:
        raise InputError(f"has no {absent[0]}; an attention LSTM needs {' '.join(SPECIAL)}", file=file)


def _shape(path: Path, config: Mapping[str, Any]) -> AttentionShape:
    require_type(path, config, MODEL_TYPE)
    dropout = config.get("dropout", 0.0)
    if isinstance(dropout, bool) or not isinstance(dropout, int | float) or not 0 <= dropout < 1:
        raise InputError(f"is {json.dumps(dropout)}; expected a number from 0 to 1", file=path, place="dropout")
    found = fields_in(path, config, AttentionShape, attention=ATTENTIONS)
    if (hidden := found["hidden"]) % 2:
        raise InputError(f"is {hidden}; expected an even number, half for each direction", file=path, place="hidden")
    return AttentionShape(**found, dropout=dropout)


def _require_fit(path: Path, expected: Mapping[str, Any], found: Mapping[str, Any], *, tied: bool) -> None:
    """An error where tensors are not those of the shape that config.json says."""
    wanted = {name: value for name, value in expected.items() if not tied or name != "output.weight"}
    for name, value in wanted.items():
        if name not in found:
            raise ModelError(f"{path}: {name} is missing")
        if found[name].shape != value.shape:
            raise ModelError(
                f"{path}: {name} is {size(found[name].shape)} where {size(value.shape)} was expected by {CONFIG}"
            )
    if extra := found.keys() - wanted.keys():
        raise ModelError(f"{path}: {min(extra)} is nothing that a model with this {CONFIG} has")
