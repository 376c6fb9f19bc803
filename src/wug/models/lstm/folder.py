"""Word LSTMs in a folder: config.json, model.safetensors, vocab.txt."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_type_hints

from wug.errors import InputError, ModelError
from wug.files import checksum, read_object, write_text
from wug.models.lstm.weights import GATES, Weights, assembled, own_tensors
from wug.models.tokenization.words import SPLITTINGS, write_words

CONFIG, WEIGHTS, VOCABULARY = "config.json", "model.safetensors", "vocab.txt"
"""The files of a folder."""
MODEL_TYPE = "wug-lstm"


@dataclass(frozen=True, slots=True)
class LstmConfig:
    """The config.json of a word LSTM."""

    kind: str
    """LSTM, GRU, RNN_TANH or RNN_RELU."""
    layers: int
    width: int
    """Embedding size."""
    hidden: int
    projection: int | None
    """Projection size (`proj_size` of torch.nn.LSTM); None without projection."""
    tied: bool
    """Whether the output layer shares the embeddings, which are saved once."""
    lowercase: bool
    words: str
    """How texts are split: spaces or punctuation."""


def save_word_lstm(
    folder: Path, state: Mapping[str, Any], config: Mapping[str, Any], vocabulary: Sequence[str]
) -> None:
    """Write a folder that `lstm:FOLDER` reads.

    `state` has the tensors of a module with the parts `encoder`, `rnn` and `decoder`, of any float dtype; `config` has
    the fields of config.json, and may have others. What could not be read again is refused.
    """
    shape = shape_of(folder / CONFIG, {**config, "model_type": MODEL_TYPE})
    tensors = own_tensors(folder / WEIGHTS, state)
    if shape.tied and "decoder.weight" in tensors:
        if not tensors["decoder.weight"].equal(tensors["encoder.weight"]):
            raise ModelError(f"{folder}: tied, but encoder.weight and decoder.weight differ")
        del tensors["decoder.weight"]
    weights = assembled(folder / WEIGHTS, tensors, shape.kind)
    require_fit(folder, shape, weights)
    if extra := [name for name in tensors if not name.startswith(("encoder.", "rnn.", "decoder."))]:
        raise ModelError(f"{folder}: {min(extra)} does not belong to a word LSTM")
    if weights.words != len(vocabulary):
        raise ModelError(f"{folder}: embeddings for {weights.words:,} words, and a vocabulary of {len(vocabulary):,}")
    write_words(folder / VOCABULARY, vocabulary)
    write_tensors(folder / WEIGHTS, tensors)
    named = {"architectures": ["WordLSTM"], "model_type": MODEL_TYPE}
    # Last, because it is what makes the folder a model.
    write_config(folder / CONFIG, {**named, **config, **asdict(shape), **named})


def read_shape(path: Path) -> LstmConfig:
    """Read and check a config.json."""
    return shape_of(path, read_object(path))


def shape_of(path: Path, config: Mapping[str, Any]) -> LstmConfig:
    """Check the fields of a config.json; `path` is for errors."""
    require_type(path, config, MODEL_TYPE)
    return LstmConfig(**fields_in(path, config, LstmConfig, kind=tuple(GATES), words=SPLITTINGS))


def require_fit(folder: Path, shape: LstmConfig, weights: Weights) -> None:
    """Refuse weights that do not fit config.json."""
    for name in ("kind", "layers", "width", "hidden", "projection", "tied"):
        declared, found = getattr(shape, name), getattr(weights, name)
        if declared != found:
            raise ModelError(
                f"{folder}: {CONFIG} says {name} {json.dumps(declared)}, and {WEIGHTS} has {json.dumps(found)}. "
                "They belong to different models"
            )


def fingerprint(weights: Path, names: Sequence[str], *more: str) -> str:
    """Twelve hexadecimal digits of weights and vocabulary."""
    with weights.open("rb") as file:
        return checksum(hashlib.file_digest(file, "sha256").digest(), "\n".join(names), *more)


def write_config(path: Path, config: Mapping[str, Any]) -> None:
    """Write a config.json."""
    write_text(path, json.dumps(config, indent=2, ensure_ascii=False) + "\n")


def write_tensors(path: Path, tensors: Mapping[str, Any]) -> None:
    """Write a safetensors file atomically."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as aside:
            fresh = Path(aside) / path.name
            save_file({name: value.detach().cpu().contiguous() for name, value in tensors.items()}, fresh)
            fresh.replace(path)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", file=path) from None
    except SafetensorError as error:  # such as a full disk
        raise InputError(f"cannot be written: {error}", file=path) from None


def require_type(path: Path, config: Mapping[str, Any], expected: str) -> None:
    """Refuse the config.json of another kind of model."""
    found = config.get("model_type")
    if found != expected:
        raise InputError(
            f"model_type is {json.dumps(found)} where {json.dumps(expected)} was expected. "
            "Give the folder without a kind, and this file tells the kind",
            file=path,
        )


def fields_in(path: Path, config: Mapping[str, Any], shape: type, **words: Sequence[str]) -> dict[str, Any]:
    """The fields of a dataclass in config.json, checked by type: positive integers, booleans, choices in `words`."""
    fit: dict[Any, tuple[Callable[[Any, str], bool], str]] = {
        int: (lambda value, name: type(value) is int and value > 0, "a whole number above 0"),
        bool: (lambda value, name: type(value) is bool, "true or false"),
        str: (lambda value, name: value in words[name], "one of {}"),
    }
    found: dict[str, Any] = {}
    for name, kind in get_type_hints(shape).items():
        value, optional = config.get(name), kind == int | None
        if optional and value is None:
            found[name] = None
        elif (checked := fit.get(int if optional else kind)) is not None:
            if not checked[0](value, name):
                state = f"is {json.dumps(value)}" if name in config else "is missing"
                expected = checked[1].format(", ".join(words.get(name, ())))
                raise InputError(f"{state}; expected {expected}", file=path, place=name)
            found[name] = value
    return found
