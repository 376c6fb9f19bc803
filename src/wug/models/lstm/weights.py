"""The weights of a word LSTM, from any file format, and its folder: config.json, model.safetensors, vocab.txt."""

from __future__ import annotations

import hashlib
import json
import re
import reprlib
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from wug.errors import InputError, ModelError
from wug.files import checksum, read_bytes, read_object, write_text
from wug.models.tokenization.words import SPLITTINGS, write_words
from wug.models.weights.unpickling import Inert, read

if TYPE_CHECKING:
    import torch

WHOLE_MODULE = (
    "model.RNNModel",
    "torch.nn.modules.dropout.Dropout",
    "torch.nn.modules.sparse.Embedding",
    "torch.nn.modules.rnn.LSTM",
    "torch.nn.modules.rnn.GRU",
    "torch.nn.modules.rnn.RNN",
    "torch.nn.modules.linear.Linear",
    "torch.backends.cudnn.rnn.Unserializable",
    "torch.nn.backends.thnn._get_thnn_function_backend",  # in every module before PyTorch 1.3
)
"""Names that a pickled word LSTM may contain."""

GATES: Mapping[str, int] = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
"""Blocks in the weights of each kind of layer."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of a word LSTM."""

    kind: str
    """LSTM, GRU, RNN_TANH or RNN_RELU."""
    layers: int
    encoder: torch.Tensor
    """(words, embedding)."""
    rnn: Mapping[str, Any]
    """`weight_ih_l0`, …, as torch.nn names them."""
    decoder: torch.Tensor
    """(words, output)."""
    bias: torch.Tensor | None
    """(words)."""
    tied: bool = False

    @property
    def words(self) -> int:
        """Vocabulary size."""
        return int(self.encoder.shape[0])

    @property
    def width(self) -> int:
        """Embedding size."""
        return int(self.encoder.shape[1])

    @property
    def output(self) -> int:
        """Output size of a layer, after projection."""
        return int(self.decoder.shape[1])

    @property
    def projection(self) -> int | None:
        """Projection size; None without projection."""
        return self.output if "weight_hr_l0" in self.rnn else None

    @property
    def hidden(self) -> int:
        """Layer size."""
        return self.output if self.projection is None else int(self.rnn["weight_hr_l0"].shape[-1])

    def module(self, **factory_arguments: Any) -> Any:
        """The recurrent layers in PyTorch, with random weights."""
        import torch

        settings: dict[str, Any] = {"num_layers": self.layers, "bias": "bias_ih_l0" in self.rnn, **factory_arguments}
        if self.kind.startswith("RNN_"):
            settings["nonlinearity"] = self.kind.removeprefix("RNN_").lower()
        if self.projection is not None:
            settings["proj_size"] = self.projection
        return getattr(torch.nn, self.kind.partition("_")[0])(self.width, self.hidden, **settings)


def load_weights(path: Path, kind: str | None = None) -> Weights:
    """Read a pickled module, a state dict, or safetensors; `kind` is the kind of layers, if known."""
    if read_bytes(path, 9)[8:] == b"{":  # the header of safetensors
        tensors, declared = read_safetensors(path), kind
    else:
        root = read(path, WHOLE_MODULE, what="a word LSTM (model.RNNModel)")
        tensors, declared = dict(_named_tensors(root, set())), _declared_kind(path, root)
    return _assembled(path, tensors, declared)


def _own_tensors(path: Path, tensors: Mapping[str, Any]) -> dict[str, Any]:
    """The tensors of the model, without the prefix of their names (`module.`, `state_dict.`)."""
    prefixes = [name.removesuffix("encoder.weight") for name in tensors if name.endswith("encoder.weight")]
    if len(prefixes) != 1:
        names = ", ".join(sorted(tensors)[:5]) or "no tensors at all"
        raise ModelError(
            f"{path}: a word LSTM has one encoder.weight, rnn.weight_ih_l0 and decoder.weight; "
            f"this file has {len(prefixes) or 'none'} ({names})"
        )
    return {name.removeprefix(prefixes[0]): value for name, value in tensors.items() if name.startswith(prefixes[0])}


def read_safetensors(path: Path) -> dict[str, Any]:
    """Read a safetensors file."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        tensors: dict[str, Any] = load_file(path)
    except FileNotFoundError:
        raise InputError("no such file", file=path) from None
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelError(f"{path}: damaged or incomplete ({error}). Download or copy it again") from error
    return tensors


def _declared_kind(path: Path, root: object) -> str | None:
    """The kind of layers of a pickled module; features that would change outputs are refused."""
    if not isinstance(root, Inert) or not isinstance(root.state, dict):
        return None
    rnn, encoder = _submodule(root, "rnn"), _submodule(root, "encoder")
    for feature, is_present in (
        ("a bidirectional layer", rnn.get("bidirectional")),
        ("an embedding with max_norm", encoder.get("max_norm") is not None),
    ):
        if is_present:
            raise ModelError(f"{path}: {feature} does not belong to a word LSTM of this kind")
    declared = rnn.get("mode") or root.state.get("rnn_type")
    if declared is not None and (not isinstance(declared, str) or declared not in GATES):
        raise ModelError(f"{path}: layers of the kind {reprlib.repr(declared)}; known: {', '.join(GATES)}")
    return declared


def _submodule(parent: Inert, name: str) -> dict[str, Any]:
    modules = parent.state.get("_modules")
    module = modules.get(name) if isinstance(modules, dict) else None
    return module.state if isinstance(module, Inert) and isinstance(module.state, dict) else {}


_MAX_DEPTH = 8
"""Levels of modules and dictionaries that are searched."""


def _named_tensors(
    value: object, seen: set[int], prefix: str = "", depth: int = 0
) -> Iterator[tuple[str, torch.Tensor]]:
    import torch

    if isinstance(value, torch.Tensor):
        yield prefix, value.detach()
        return
    children: dict[Any, Any] = {}
    if isinstance(value, dict):
        children = value
    elif isinstance(value, Inert) and isinstance(value.state, dict):
        for kind in ("_parameters", "_modules"):
            entries = value.state.get(kind)
            children |= entries if isinstance(entries, dict) else {}
    if depth < _MAX_DEPTH and id(value) not in seen:  # a small file can refer to a dictionary millions of times
        seen.add(id(value))
        for name, child in children.items():
            yield from _named_tensors(child, seen, f"{prefix}.{name}" if prefix else str(name), depth + 1)


def _assembled(path: Path, tensors: Mapping[str, Any], declared: str | None) -> Weights:
    tensors = _own_tensors(path, tensors)
    rnn = {name.removeprefix("rnn."): value for name, value in tensors.items() if name.startswith("rnn.")}
    encoder = tensors["encoder.weight"]
    tied = "decoder.weight" not in tensors  # tied weights may be saved once
    decoder = encoder if tied else tensors["decoder.weight"]
    layers = sum(re.fullmatch(r"weight_ih_l\d+", name) is not None for name in rnn)
    if not layers or "weight_hh_l0" not in rnn:
        raise ModelError(f"{path}: rnn.weight_ih_l0 or rnn.weight_hh_l0 is missing: not a word LSTM")
    weights = Weights(_kind(path, rnn, declared), layers, encoder, rnn, decoder, tensors.get("decoder.bias"), tied)
    try:
        expected_rnn = weights.module(device="meta").state_dict()
    except ValueError as error:  # sizes that torch does not allow
        raise ModelError(f"{path}: {error}") from None
    expected = {f"rnn.{name}": tuple(tensor.shape) for name, tensor in expected_rnn.items()}
    expected["decoder.weight"] = (weights.words, weights.output)
    given = {f"rnn.{name}": tensor for name, tensor in rnn.items()} | {"decoder.weight": decoder}
    if weights.bias is not None:
        expected["decoder.bias"], given["decoder.bias"] = (weights.words,), weights.bias
    require_shapes(path, expected, given)
    return weights


def _kind(path: Path, rnn: Mapping[str, Any], declared: str | None) -> str:
    rows, hidden = rnn["weight_hh_l0"].shape[0], rnn.get("weight_hr_l0", rnn["weight_hh_l0"]).shape[-1]
    kinds = ["LSTM"] if "weight_hr_l0" in rnn else list(GATES)  # no other kind has projections
    candidates = [kind for kind in kinds if GATES[kind] * hidden == rows]
    if declared is None and len(candidates) == 1:
        return candidates[0]
    if declared in candidates:
        return str(declared)
    if declared is None and candidates:
        raise ModelError(
            f"{path}: weights alone do not say whether a simple RNN is {' or '.join(candidates)}. Give the whole module"
        )
    expected = f"layers of the kind {declared}" if declared else "layers of a known kind"
    raise ModelError(f"{path}: rnn.weight_hh_l0 of {rows} × {hidden} does not fit {expected}")


def require_shapes(path: Path, expected: Mapping[str, Sequence[int]], tensors: Mapping[str, Any]) -> None:
    """Refuse tensors with other names or shapes than those of a network."""
    for name, shape in expected.items():
        if name not in tensors:
            raise ModelError(f"{path}: {name} is missing")
        if tuple(tensors[name].shape) != tuple(shape):
            sizes = [" × ".join(map(str, size)) or "a single number" for size in (tensors[name].shape, shape)]
            raise ModelError(f"{path}: {name} is {sizes[0]} where {sizes[1]} was expected")
    if extra := tensors.keys() - expected.keys():
        raise ModelError(f"{path}: {min(extra)} does not belong to a model of this kind")


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
    the fields of config.json, and may have others.
    """
    tensors = {name: value for name, value in state.items() if not (config["tied"] and name == "decoder.weight")}
    write_words(folder / VOCABULARY, vocabulary)
    write_tensors(folder / WEIGHTS, tensors)
    # Last, because it is what makes the folder a model.
    write_config(folder / CONFIG, {"architectures": ["WordLSTM"], "model_type": MODEL_TYPE, **config})


def read_shape(path: Path) -> LstmConfig:
    """Read and check a config.json."""
    config = read_object(path)
    require_type(path, config, MODEL_TYPE)
    return LstmConfig(**fields_in(path, config, LstmConfig, kind=tuple(GATES), words=SPLITTINGS))


def require_fit(folder: Path, shape: LstmConfig, weights: Weights) -> None:
    """Refuse weights that do not fit config.json."""
    for name in ("kind", "layers", "width", "hidden", "projection", "tied"):
        declared, actual = getattr(shape, name), getattr(weights, name)
        if declared != actual:
            raise ModelError(
                f"{folder}: {CONFIG} says {name} {json.dumps(declared)}, and {WEIGHTS} has {json.dumps(actual)}. "
                "They belong to different models"
            )


def fingerprint(weights: Path, names: Sequence[str], *extra: str) -> str:
    """Twelve hexadecimal digits of weights and vocabulary."""
    with weights.open("rb") as file:
        return checksum(hashlib.file_digest(file, "sha256").digest(), "\n".join(names), *extra)


def write_config(path: Path, config: Mapping[str, Any]) -> None:
    """Write a config.json."""
    write_text(path, json.dumps(config, indent=2, ensure_ascii=False) + "\n")


def write_tensors(path: Path, tensors: Mapping[str, Any]) -> None:
    """Write a safetensors file atomically."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as temporary:
            new_file = Path(temporary) / path.name
            save_file({name: value.detach().cpu().contiguous() for name, value in tensors.items()}, new_file)
            new_file.replace(path)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", file=path) from None
    except SafetensorError as error:  # such as a full disk
        raise InputError(f"cannot be written: {error}", file=path) from None


def require_type(path: Path, config: Mapping[str, Any], expected: str) -> None:
    """Refuse the config.json of another kind of model."""
    model_type = config.get("model_type")
    if model_type != expected:
        raise InputError(
            f"model_type is {json.dumps(model_type)} where {json.dumps(expected)} was expected. "
            "Give the folder without a kind, and this file tells the kind",
            file=path,
        )


def fields_in(path: Path, config: Mapping[str, Any], shape: type, **choices: Sequence[str]) -> dict[str, Any]:
    """The fields of a dataclass in config.json, checked by type: positive integers, booleans, `choices`."""
    checks: dict[Any, tuple[Callable[[Any, str], bool], str]] = {
        int: (lambda value, name: type(value) is int and value > 0, "a whole number above 0"),
        bool: (lambda value, name: type(value) is bool, "true or false"),
        str: (lambda value, name: value in choices[name], "one of {}"),
    }
    fields: dict[str, Any] = {}
    for name, kind in get_type_hints(shape).items():
        value, optional = config.get(name), kind == int | None
        if optional and value is None:
            fields[name] = None
        elif (check := checks.get(int if optional else kind)) is not None:
            if not check[0](value, name):
                problem = f"is {json.dumps(value)}" if name in config else "is missing"
                expected = check[1].format(", ".join(choices.get(name, ())))
                raise InputError(f"{problem}; expected {expected}", file=path, place=name)
            fields[name] = value
    return fields
