"""Models that a user has loaded: their identity, and a check that they do not change.

A model whose weights, settings and tokenizer equal those of the files that it came from has the name and fingerprint of
these files, and so their outputs in the cache. Any other is identified by a digest of its content.
"""

from __future__ import annotations

import copy
import hashlib
import json
import logging
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import TYPE_CHECKING, Any

from wug import registry
from wug.errors import InputError, ModelError, WugError
from wug.files import existing
from wug.models.huggingface import loading
from wug.models.huggingface.tokenizer_loading import differing_probe, guard_embeddings
from wug.models.spec import DTYPES, Loading, ModelSpec
from wug.models.weights.fingerprints import commit_of

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

LOADING_OPTIONS = ("dtype", "device", "trust_remote_code", "quantize", "adapter", "device_map", "gguf")
IGNORED_SETTINGS = ("_name_or_path", "transformers_version", "architectures", "dtype", "torch_dtype", "use_cache")
"""Settings that change no output, or follow from the weights."""
HASHING_THREADS = 8
SAMPLED_VALUES = 16
"""Values of each tensor that are compared, to notice changes that torch does not count."""

log = logging.getLogger("wug")


class WatchedModel:
    """A model around weights that the user may change: every call checks that they did not."""

    def __init__(self, model: PreTrainedModel, original: PreTrainedModel) -> None:
        self.id: str = model.id
        self.options: Mapping[str, str] = model.options
        self.chunk: int = model.chunk
        self._model, self._original = model, original
        self._initial_state = _state(original)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # for copying and pickling
            raise AttributeError(name)
        attribute = getattr(self._model, name)
        if callable(attribute) and _state(self._original) != self._initial_state:
            raise ModelError(
                f"{self.id}: its weights changed, or were moved, since it was opened. Open it again: "
                "wug.open_model(model, tokenizer=tokenizer)"
            )
        return attribute


def open_loaded(
    backend: str,
    from_loaded: Callable[[loading.HubModel, ModelSpec], Any],
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    options: Mapping[str, str],
) -> tuple[WatchedModel, ModelSpec | None] | None:
    """Open a loaded model of transformers with its tokenizer (default: that of its files); None for another backend.

    The model is given with its name if it equals its files.
    """
    declared, name = registry.backend(backend), type(model).__name__
    encoder_decoder = bool(getattr(getattr(model, "config", None), "is_encoder_decoder", False))
    is_seq2seq = encoder_decoder and declared.TRAITS.auto_class == "AutoModelForSeq2SeqLM"
    if not name.endswith(declared.TRAITS.architectures) and not is_seq2seq:
        return None
    ModelSpec(backend, name, None, options).read(declared.OPTIONS)  # an unknown option is refused at once
    loaded, spec, from_files = _adopt(backend, model, tokenizer, options)
    return WatchedModel(from_loaded(loaded, spec), model), spec if from_files else None


def _adopt(
    backend: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, options: Mapping[str, str]
) -> tuple[loading.HubModel, ModelSpec, bool]:
    """A copy around the same weights, its name, and whether it equals the files of this name."""
    for name in LOADING_OPTIONS:
        if name in options:
            raise InputError(f"{name}={options[name]}: the model is loaded already. Set it when you load the model")
    weights = list(chain(model.parameters(), model.buffers()))
    if any(tensor.is_meta for tensor in weights):
        raise ModelError(f"{type(model).__name__}: some of its weights are not in memory. Load it whole")
    spec, source = _source(backend, model)
    reference = None if source is None else _from_files(source, model)
    if reference is not None and tokenizer is None:
        tokenizer = reference.tokenizer
    elif reference is not None and reference.tokenizer.is_fast:
        probe = differing_probe(tokenizer, reference.tokenizer.backend_tokenizer)
        if probe is not None:
            log.warning(
                "%s: the given tokenizer (%s) tokenizes %r differently from the model's files, and is used as given. "
                "Without tokenizer=… wug uses that of the files",
                spec,
                type(tokenizer).__name__,
                probe,
            )
    if tokenizer is None:
        raise InputError(f"{spec}: its files have no tokenizer. Give one: wug.open_model(model, tokenizer=…)")
    if reference is not None and _equals_files(backend, reference, model, tokenizer):
        dtype = _dtype(model)
        spec = ModelSpec(backend, spec.name, None, {**({} if dtype == "float32" else {"dtype": dtype}), **options})
        name, fingerprint = reference.name, reference.fingerprint
    else:
        spec, reference = ModelSpec(backend, spec.name, None, dict(options)), None
        folder = existing(spec.name)
        name = folder.resolve().name if folder else spec.name
        fingerprint = _digest(backend, model, tokenizer)
    # Weights are shared, all else is copied: settings such as no dropout do not affect the user's model.
    copied = copy.deepcopy(model, {id(tensor): tensor for tensor in weights}).eval()
    guard_embeddings(copied, tokenizer, spec)
    loaded = loading.HubModel(copied, copy.deepcopy(tokenizer), name, fingerprint)
    return loaded, spec, reference is not None


def _source(backend: str, model: PreTrainedModel) -> tuple[ModelSpec, ModelSpec | None]:
    """The name of a model, and the files that it may have come from."""
    name = str(getattr(model.config, "_name_or_path", "") or "")
    spec = ModelSpec(backend, name or type(model).__name__)
    if not name or _dtype(model) not in DTYPES:
        return spec, None
    if (folder := existing(name)) is not None:
        return spec, spec if (folder / "config.json").is_file() else None
    # transformers does not keep the revision; the weights are compared below.
    commit = commit_of(spec)
    return spec, None if commit is None else ModelSpec(backend, name, commit)


def _from_files(source: ModelSpec, model: PreTrainedModel) -> loading.HubModel | None:
    auto_class = registry.traits(source.backend).auto_class
    assert auto_class is not None
    try:
        return loading.load(source, auto_class, Loading(_dtype(model), "cpu"))
    except WugError as error:
        log.info("%s: known by its content, since its files give no model: %s", source, error)
        return None


def _equals_files(
    backend: str, reference: loading.HubModel, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase
) -> bool:
    """Whether a model equals that of its files, to the last weight."""
    import torch

    if type(reference.model) is not type(model) or _settings(backend, reference.model) != _settings(backend, model):
        return False
    if _tokenizer_content(reference.tokenizer) != _tokenizer_content(tokenizer):
        return False
    saved, current = reference.model.state_dict(), model.state_dict()
    return saved.keys() == current.keys() and all(
        saved[name].dtype == current[name].dtype and torch.equal(saved[name], current[name].cpu()) for name in saved
    )


def _digest(backend: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> str:
    import torch

    def hashed(tensor: torch.Tensor) -> bytes:
        content = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
        return hashlib.sha256(content.numpy()).digest()

    tensors = sorted(model.state_dict().items())
    digest = hashlib.sha256(json.dumps([_settings(backend, model), _tokenizer_content(tokenizer)]).encode())
    with ThreadPoolExecutor(HASHING_THREADS) as pool:  # copying and hashing release the lock of the interpreter
        for (name, tensor), content in zip(tensors, pool.map(hashed, (tensor for _, tensor in tensors)), strict=True):
            digest.update(json.dumps([name, str(tensor.dtype), list(tensor.shape)]).encode() + content)
    return digest.hexdigest()[:12]


def _settings(backend: str, model: PreTrainedModel) -> str:
    configurations = [model.config.to_dict()]
    if registry.traits(backend).returns == "text" and model.generation_config is not None:
        configurations.append(model.generation_config.to_dict())
    relevant = [{key: config[key] for key in config if key not in IGNORED_SETTINGS} for config in configurations]
    return json.dumps(relevant, sort_keys=True, default=str)


def _tokenizer_content(tokenizer: PreTrainedTokenizerBase) -> str:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    content = sorted(tokenizer.get_vocab().items()) if backend is None else json.loads(backend.to_str())
    if isinstance(content, dict):
        for setting in ("truncation", "padding"):  # set by the last call
            content.pop(setting, None)
    marks = {name: str(mark) for name, mark in tokenizer.special_tokens_map.items()}
    return json.dumps([content, marks, tokenizer.model_max_length], sort_keys=True, default=str)


def _dtype(model: PreTrainedModel) -> str:
    return str(model.dtype).removeprefix("torch.")


def _state(model: PreTrainedModel) -> list[Any]:
    return list(chain.from_iterable(_tensor_state(*pair) for pair in model.state_dict(keep_vars=True).items()))


def _tensor_state(name: str, tensor: torch.Tensor) -> Iterator[Any]:
    yield name
    yield tensor.data_ptr()
    yield None if tensor.is_inference() else tensor._version
    # Writes through `.data`, as by programs that merge adapters, do not change the version.
    plain = tensor.detach()
    row = plain.reshape(-1) if plain.is_contiguous() else plain[(0,) * (plain.dim() - 1)]
    yield row[:: max(1, row.numel() // SAMPLED_VALUES)].double().cpu().numpy().tobytes() if row.numel() else b""
