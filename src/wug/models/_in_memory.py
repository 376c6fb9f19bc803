"""Models that a user has loaded already: what they are known by, and that they stay what they were.

A model whose weights, settings and tokenizer are those of the folder or the hub's revision that it came from is that
model: same name, same fingerprint, same answers in the cache. Any other is known by a digest of what it is made of.
"""

from __future__ import annotations

import copy
import hashlib
import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from wug import registry
from wug.errors import InputError, ModelError, WugError
from wug.files import existing
from wug.models import _weights
from wug.models._fingerprint import commit_of
from wug.models._loading import Loading
from wug.models._options import DTYPES
from wug.models._spec import ModelSpec
from wug.models._tokenizer import differing_probe, guard_embeddings

LOADING = ("dtype", "device", "trust_remote_code", "quantize", "adapter", "device_map", "gguf")
"""Options that are about loading: whoever hands a model over has seen to them."""
PASSING = ("_name_or_path", "transformers_version", "architectures", "dtype", "torch_dtype", "use_cache")
"""Settings that change no answer, or that the weights tell."""
SAMPLE = 16
"""Values of each weight matrix by which a change is noticed that torch does not count."""

log = logging.getLogger("wug")


@dataclass(frozen=True, slots=True)
class Adopted:
    """A model that was handed over, ready to be asked."""

    loaded: _weights.Loaded
    """With a body of its own around the very same weights: nothing is done to the user's."""
    spec: ModelSpec
    from_files: bool
    """Whether it is what `spec` names; else only its digest tells what it is."""
    original: Any
    """The user's own, which may change."""


class Watched:
    """A model around weights that others may change: whatever it is asked, it first sees that they did not."""

    def __init__(self, model: Any, original: Any) -> None:
        self.id: str = model.id
        self.options: Mapping[str, str] = model.options
        self.chunk: int = model.chunk
        self._model, self._original, self._before = model, original, _state(original)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # what Python itself asks for, of copies and the like
            raise AttributeError(name)
        found = getattr(self._model, name)
        if callable(found) and _state(self._original) != self._before:
            raise ModelError(
                f"{self.id}: its weights changed, or were moved, since it was opened. Open it again: "
                "wug.open_model(model, tokenizer=tokenizer)"
            )
        return found


def adopt(kind: str, model: Any, tokenizer: Any, options: Mapping[str, str]) -> Adopted:
    """A loaded model of transformers with its tokenizer; where that is None, the one that lies beside the model."""
    for name in LOADING:
        if name in options:
            raise InputError(f"{name}={options[name]}: the model is loaded already. Say so when you load it")
    weights = list(chain(model.parameters(), model.buffers()))
    if any(tensor.is_meta for tensor in weights):
        raise ModelError(f"{type(model).__name__}: some of its weights are not in memory. Load it whole")
    spec, source = _source(kind, model)
    fresh = None if source is None else _from_files(source, model)
    if fresh is not None and tokenizer is None:
        tokenizer = fresh.tokenizer
    elif fresh is not None and fresh.tokenizer.is_fast:
        probe = differing_probe(tokenizer, fresh.tokenizer.backend_tokenizer)
        if probe is not None:
            log.warning(
                "%s: the given tokenizer (%s) tokenizes %r differently from the model's files, and is used as given. "
                "Without tokenizer=… wug uses that of the files",
                spec,
                type(tokenizer).__name__,
                probe,
            )
    if tokenizer is None:
        raise InputError(f"{spec}: it has no tokenizer beside it. Give one: wug.open_model(model, tokenizer=…)")
    if fresh is not None and _same(kind, fresh, model, tokenizer):
        dtype = _dtype(model)
        spec = ModelSpec(kind, spec.name, None, {**({} if dtype == "float32" else {"dtype": dtype}), **options})
        name, fingerprint = fresh.name, fresh.fingerprint
    else:
        spec, fresh = ModelSpec(kind, spec.name, None, dict(options)), None
        folder = existing(spec.name)
        name = folder.resolve().name if folder else spec.name
        fingerprint = _digest(kind, model, tokenizer)
    # Weights are shared, all else is copied: what is set for asking, such as no dropout, is set there alone.
    body = copy.deepcopy(model, {id(tensor): tensor for tensor in weights}).eval()
    guard_embeddings(body, tokenizer, spec)
    loaded = _weights.Loaded(body, copy.deepcopy(tokenizer), name, fingerprint)
    return Adopted(loaded, spec, fresh is not None, model)


def _source(kind: str, model: Any) -> tuple[ModelSpec, ModelSpec | None]:
    """What a model is called, and the files that it may have come from."""
    name = str(getattr(model.config, "_name_or_path", "") or "")
    called = ModelSpec(kind, name or type(model).__name__)
    if not name or _dtype(model) not in DTYPES:
        return called, None
    if (folder := existing(name)) is not None:
        return called, called if (folder / "config.json").is_file() else None
    # Which revision it was is not kept by transformers; whether it is this one, the weights tell.
    commit = commit_of(called)
    return called, None if commit is None else ModelSpec(kind, name, commit)


def _from_files(source: ModelSpec, model: Any) -> _weights.Loaded | None:
    """The model as its files have it, to compare with; None where they give none."""
    auto_class = registry.traits(source.kind).auto_class
    assert auto_class is not None
    try:
        return _weights.load(source, auto_class, Loading(_dtype(model), "cpu"))
    except WugError as error:
        log.info("%s: known by its content, since its files give no model: %s", source, error)
        return None


def _same(kind: str, fresh: _weights.Loaded, model: Any, tokenizer: Any) -> bool:
    """Whether a model is what its files say, to the last weight."""
    import torch

    if type(fresh.model) is not type(model) or _settings(kind, fresh.model) != _settings(kind, model):
        return False
    if _read(fresh.tokenizer) != _read(tokenizer):
        return False
    ours, theirs = fresh.model.state_dict(), model.state_dict()
    return ours.keys() == theirs.keys() and all(
        ours[name].dtype == theirs[name].dtype and torch.equal(ours[name], theirs[name].cpu()) for name in ours
    )


def _digest(kind: str, model: Any, tokenizer: Any) -> str:
    """Twelve hexadecimal digits of weights, settings and tokenizer."""
    import torch

    digest = hashlib.sha256(json.dumps([_settings(kind, model), _read(tokenizer)]).encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(json.dumps([name, str(tensor.dtype), list(tensor.shape)]).encode())
        digest.update(tensor.cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()[:12]


def _settings(kind: str, model: Any) -> str:
    """The settings that can change an answer; those of writing where the model writes."""
    every = [model.config.to_dict()]
    if registry.traits(kind).returns == "text" and model.generation_config is not None:
        every.append(model.generation_config.to_dict())
    kept = [{key: value for key, value in settings.items() if key not in PASSING} for settings in every]
    return json.dumps(kept, sort_keys=True, default=str)


def _read(tokenizer: Any) -> str:
    """What a tokenizer makes of text."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    inside = sorted(tokenizer.get_vocab().items()) if backend is None else json.loads(backend.to_str())
    if isinstance(inside, dict):
        for passing in ("truncation", "padding"):  # as the last call left them
            inside.pop(passing, None)
    marks = {name: str(mark) for name, mark in tokenizer.special_tokens_map.items()}
    return json.dumps([inside, marks, tokenizer.model_max_length], sort_keys=True, default=str)


def _dtype(model: Any) -> str:
    return str(model.dtype).removeprefix("torch.")


def _state(model: Any) -> list[Any]:
    """What changes with the weights: where they lie, how often they were written to, some of their values."""
    return list(chain.from_iterable(_seen(*pair) for pair in model.state_dict(keep_vars=True).items()))


def _seen(name: str, tensor: Any) -> Iterator[Any]:
    yield name
    yield tensor.data_ptr()
    yield None if tensor.is_inference() else tensor._version
    # What is written through `.data`, as some programs do that merge adapters, is not counted.
    plain = tensor.detach()
    row = plain.reshape(-1) if plain.is_contiguous() else plain[(0,) * (plain.dim() - 1)]
    yield row[:: max(1, row.numel() // SAMPLE)].double().cpu().numpy().tobytes() if row.numel() else b""
