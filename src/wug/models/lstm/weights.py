"""The weights of a word LSTM, from any file format."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wug.errors import InputError, ModelError
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

    def module(self, **where: Any) -> Any:
        """The recurrent layers in PyTorch, with random weights."""
        import torch

        settings: dict[str, Any] = {"num_layers": self.layers, "bias": "bias_ih_l0" in self.rnn, **where}
        if self.kind.startswith("RNN_"):
            settings["nonlinearity"] = self.kind.removeprefix("RNN_").lower()
        if self.projection is not None:
            settings["proj_size"] = self.projection
        return getattr(torch.nn, self.kind.partition("_")[0])(self.width, self.hidden, **settings)


def load_weights(path: Path, kind: str | None = None) -> Weights:
    """Read a pickled module, a state dict, or safetensors; `kind` is the kind of layers, if known."""
    if _is_safetensors(path):
        tensors, declared = read_safetensors(path), kind
    else:
        root = read(path, WHOLE_MODULE, what="a word LSTM (model.RNNModel)")
        tensors, declared = dict(_named(root)), _declared_kind(path, root)
    return assembled(path, tensors, declared)


def assembled(path: Path, tensors: Mapping[str, Any], kind: str | None = None) -> Weights:
    """Check tensors and make weights of them; `path` is for errors."""
    return _assembled(path, own_tensors(path, tensors), kind)


def own_tensors(path: Path, tensors: Mapping[str, Any]) -> dict[str, Any]:
    """The tensors of the model, without the prefix of their names (`module.`, `state_dict.`)."""
    prefixes = [name.removesuffix("encoder.weight") for name in tensors if name.endswith("encoder.weight")]
    if len(prefixes) != 1:
        some = ", ".join(sorted(tensors)[:5]) or "no tensors at all"
        raise ModelError(
            f"{path}: a word LSTM has one encoder.weight, rnn.weight_ih_l0 and decoder.weight; "
            f"this file has {len(prefixes) or 'none'} ({some})"
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


def format_size(shape: Sequence[int]) -> str:
    """The size of a tensor in words."""
    return " × ".join(map(str, shape)) or "a single number"


def _is_safetensors(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(9)[8:] == b"{"
    except FileNotFoundError:
        raise InputError("no such file", file=path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path) from None


def _declared_kind(path: Path, root: object) -> str | None:
    """The kind of layers of a pickled module; features that would change outputs are refused."""
    if not isinstance(root, Inert) or not isinstance(root.state, dict):
        return None
    rnn, encoder = _part(root, "rnn"), _part(root, "encoder")
    for feature, here in (
        ("a bidirectional layer", rnn.get("bidirectional")),
        ("an embedding with max_norm", encoder.get("max_norm") is not None),
    ):
        if here:
            raise ModelError(f"{path}: {feature} does not belong to a word LSTM of this kind")
    declared = rnn.get("mode") or root.state.get("rnn_type")
    if declared is not None and (not isinstance(declared, str) or declared not in GATES):
        raise ModelError(f"{path}: layers of the kind {reprlib.repr(declared)}; known: {', '.join(GATES)}")
    return declared


def _part(module: Inert, name: str) -> dict[str, Any]:
    parts = module.state.get("_modules")
    part = parts.get(name) if isinstance(parts, dict) else None
    return part.state if isinstance(part, Inert) and isinstance(part.state, dict) else {}


_DEEP = 8
"""Levels of modules and dictionaries that are searched."""


def _named(value: object, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, torch.Tensor]]:
    """Every tensor with its name, such as `rnn.weight_ih_l0`."""
    import torch

    if isinstance(value, torch.Tensor):
        yield prefix, value.detach()
        return
    parts: dict[Any, Any] = {}
    if isinstance(value, dict):
        parts = value
    elif isinstance(value, Inert) and isinstance(value.state, dict):
        for kind in ("_parameters", "_modules"):
            found = value.state.get(kind)
            parts |= found if isinstance(found, dict) else {}
    if depth < _DEEP:
        for name, part in parts.items():
            yield from _named(part, f"{prefix}.{name}" if prefix else str(name), depth + 1)


def _assembled(path: Path, tensors: Mapping[str, Any], declared: str | None) -> Weights:
    rnn = {name.removeprefix("rnn."): value for name, value in tensors.items() if name.startswith("rnn.")}
    encoder = tensors["encoder.weight"]
    tied = "decoder.weight" not in tensors  # tied weights may be saved once
    decoder = encoder if tied else tensors["decoder.weight"]
    layers = sum(re.fullmatch(r"weight_ih_l\d+", name) is not None for name in rnn)
    if not layers or "weight_hh_l0" not in rnn:
        raise ModelError(f"{path}: rnn.weight_ih_l0 or rnn.weight_hh_l0 is missing: not a word LSTM")
    weights = Weights(_kind(path, rnn, declared), layers, encoder, rnn, decoder, tensors.get("decoder.bias"), tied)
    _check(path, weights)
    return weights


def _kind(path: Path, rnn: Mapping[str, Any], declared: str | None) -> str:
    rows, hidden = rnn["weight_hh_l0"].shape[0], rnn.get("weight_hr_l0", rnn["weight_hh_l0"]).shape[-1]
    kinds = ["LSTM"] if "weight_hr_l0" in rnn else list(GATES)  # no other kind has projections
    fitting = [kind for kind in kinds if GATES[kind] * hidden == rows]
    if declared is None and len(fitting) == 1:
        return fitting[0]
    if declared in fitting:
        return str(declared)
    if declared is None and fitting:
        raise ModelError(
            f"{path}: weights alone do not say whether a simple RNN is {' or '.join(fitting)}. Give the whole module"
        )
    what = f"layers of the kind {declared}" if declared else "layers of a known kind"
    raise ModelError(f"{path}: rnn.weight_hh_l0 of {rows} × {hidden} does not fit {what}")


def _check(path: Path, weights: Weights) -> None:
    """Refuse tensors whose sizes do not fit each other."""
    try:
        rnn = weights.module(device="meta").state_dict()
    except ValueError as error:  # sizes that torch does not allow
        raise ModelError(f"{path}: {error}") from None
    expected = {f"rnn.{name}": tuple(tensor.shape) for name, tensor in rnn.items()}
    expected["decoder.weight"] = (weights.words, weights.output)
    found = {f"rnn.{name}": tensor for name, tensor in weights.rnn.items()} | {"decoder.weight": weights.decoder}
    if weights.bias is not None:
        expected["decoder.bias"], found["decoder.bias"] = (weights.words,), weights.bias
    require_shapes(path, expected, found)


def require_shapes(path: Path, expected: Mapping[str, Sequence[int]], found: Mapping[str, Any]) -> None:
    """Refuse tensors with other names or shapes than those of a network."""
    for name, shape in expected.items():
        if name not in found:
            raise ModelError(f"{path}: {name} is missing")
        if tuple(found[name].shape) != tuple(shape):
            sizes = format_size(found[name].shape), format_size(shape)
            raise ModelError(f"{path}: {name} is {sizes[0]} where {sizes[1]} was expected")
    if extra := found.keys() - expected.keys():
        raise ModelError(f"{path}: {min(extra)} does not belong to a model of this kind")
