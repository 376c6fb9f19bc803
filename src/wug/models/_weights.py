"""Where a Hugging Face model comes from, what identifies it, and loading it safely."""

from __future__ import annotations

import importlib.util
import io
import os
import warnings
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext, redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wug.errors import MissingExtra, ModelError, WugError, first_line
from wug.files import user_path
from wug.models._adapter import adapt, require_same_words
from wug.models._architecture import architecture_digest
from wug.models._config import require_loadable, require_loadable_gguf
from wug.models._device import settle
from wug.models._fingerprint import adapter_fingerprint, commit_of, content, fingerprint, snapshot, unchanged
from wug.models._hardware import pick_device
from wug.models._hub import only_here
from wug.models._loading import Loading
from wug.models._quantized import hush, prepare, require_right, settings
from wug.models._spec import ModelSpec
from wug.models._tokenizer import find_file, guard_embeddings, load_tokenizer
from wug.stages import stage

__all__ = ["Loaded", "load"]


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model with its tokenizer, on its device."""

    model: Any
    tokenizer: Any
    name: str
    fingerprint: str
    shape: str | None = None
    """What other checkpoints of its training share with it; None where that is not known."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the files of a model are."""

    where: str
    """What transformers is given: a folder, or a name of the hub."""
    name: str
    files: tuple[Path, ...] = ()
    """What the model is made of, where that is here: its folder, or its GGUF file."""
    gguf: str | None = None

    @property
    def fingerprint(self) -> str | None:
        """Twelve hexadecimal digits of the files; None where the hub knows what they are."""
        if not self.files:
            return None
        return content(self.files[0])[:12] if self.gguf else fingerprint(self.files[0])


def load(spec: ModelSpec, auto: str, how: Loading) -> Loaded:
    """The model that `spec` names, by the transformers class `auto`, ready to answer on the device asked for."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    origin = _origin(spec, how)
    cached = not origin.files and only_here(spec)  # before what takes seconds to import
    identity = origin.fingerprint
    adapter = () if how.adapter is None else (how.adapter,)
    identities = [adapter_fingerprint(folder) for folder in adapter]
    with stage("build"):
        model, tokenizer = _read(spec, auto, how, origin, cached=cached)
        device = pick_device(how.device)
    shape = architecture_digest(model, how, device)
    if how.quantize == "no" and how.device_map == "no":
        try:
            model = settle(model, device, demanded=spec.options.get("device", "auto") != "auto", shape=shape)
        except (RuntimeError, AssertionError) as error:
            raise ModelError(f"{spec}: cannot move to device {device!r}: {first_line(error)}") from error
    identity = identity or (commit_of(spec) or "unknown")[:12]
    return Loaded(model, tokenizer, origin.name, "+".join([identity, *identities]), shape)


def _read(spec: ModelSpec, auto: str, how: Loading, origin: Origin, *, cached: bool) -> tuple[Any, Any]:
    """The model, on the CPU unless it is placed otherwise, and its tokenizer."""
    hush()
    try:
        with warnings.catch_warnings():
            # In a notebook without widgets: of bars that wug does not show.
            warnings.filterwarnings("ignore", message="IProgress not found")
            import torch
            import transformers
    except ImportError:
        raise MissingExtra(f"a {spec.kind} model", "hf") from None
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    local = bool(origin.files)
    common: dict[str, Any] = {"trust_remote_code": how.trust_remote_code, "local_files_only": local or cached}
    if spec.revision is not None:
        common["revision"] = spec.revision
    if origin.gguf:
        common["gguf_file"] = origin.gguf
    placed = _placement(how, pick_device(how.device), gguf=origin.gguf is not None)
    adapter = () if how.adapter is None else (how.adapter,)
    try:
        with unchanged(*origin.files, *adapter), warnings.catch_warnings(), _without_bars(origin.gguf):
            if placed:
                warnings.simplefilter("ignore")  # of packages that tell what they do not use
            if origin.gguf:
                require_loadable_gguf(origin.files[0], spec)
            elif (config := find_file(origin.where, "config.json", common)) is not None:
                require_loadable(config, spec, auto)
            tokenizer = load_tokenizer(origin.where, spec, common)
            model, info = getattr(transformers, auto).from_pretrained(
                origin.where,
                dtype=how.dtype if how.dtype == "auto" else getattr(torch, how.dtype),
                output_loading_info=True,
                **placed,
                **common,
            )
            _require_weights(info, spec)
            guard_embeddings(model, tokenizer, spec)
            if how.quantize != "no":
                prepare(model)
                require_right(model, how.quantize, origin.files[0] if local else snapshot(spec), spec)
            for folder in adapter:
                require_same_words(tokenizer, folder, spec)
                plain = how.quantize == "no" and how.device_map == "no" and model.dtype == torch.float32
                model = adapt(model, folder, spec, merge=plain)
    except WugError:
        raise
    except Exception as error:  # damaged weights and tokenizers raise whatever their readers do
        raise ModelError(_explain(spec, error, local)) from error
    return model.eval(), tokenizer


def _origin(spec: ModelSpec, how: Loading) -> Origin:
    """Where the files of the model are, or a ModelError where it has none."""
    folder = user_path(spec.name)
    file = folder / how.gguf if how.gguf else folder
    if how.gguf or (folder.is_file() and folder.suffix == ".gguf"):
        if not file.is_file():
            raise ModelError(f"{spec}: no such file: {file}. Give a GGUF file, or its folder and -M gguf=FILE")
        if how.quantize != "no":
            raise ModelError(f"{spec}: quantize={how.quantize}: a GGUF file has its own number format. Leave it out")
        return Origin(str(file.parent), file.name, (file,), file.name)
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise ModelError(f"{spec}: the folder has no config.json, so it is no Hugging Face model{_hint(folder)}")
        return Origin(str(folder), folder.resolve().name, (folder,))
    if folder.exists() or spec.name.startswith((".", "/", "~")) or spec.name.count("/") > 1:
        raise ModelError(f"{spec}: no such folder. Give a model folder (with config.json) or a hub name")
    return Origin(spec.name, spec.name)


def _without_bars(gguf: str | None) -> AbstractContextManager[Any]:
    """No bar that shows how a GGUF file is unpacked: transformers has no setting for it."""
    return nullcontext() if gguf is None else redirect_stderr(io.StringIO())


def _hint(folder: Path) -> str:
    """What else a folder without settings may be."""
    if (folder / "adapter_config.json").is_file():
        return ". It is an adapter: name the model that it was trained on, and -M adapter=FOLDER"
    some = next(iter(sorted(folder.glob("*.gguf"))), None)
    return "" if some is None else f". It has a GGUF file: -M gguf={some.name}"


def _placement(how: Loading, device: str, *, gguf: bool) -> dict[str, Any]:
    """What transformers is told of where the weights go and how few bits they take; nothing in the usual case."""
    import torch
    import transformers

    found: dict[str, Any] = {}
    if gguf:
        for package in ("gguf", "accelerate"):
            _require(package, "a GGUF file")
        # Unpacked: programs that compute with the packed weights shorten what passes through the layers as well.
        if (unpacked := getattr(transformers, "GgufConfig", None)) is not None:
            found["quantization_config"] = unpacked(dequantize=True)
    if how.device_map != "no":
        _require("accelerate", f"device_map={how.device_map}")
        found["device_map"] = how.device_map
    if how.quantize != "no":
        dtype = torch.float32 if how.dtype == "auto" else getattr(torch, how.dtype)
        found["quantization_config"] = settings(how.quantize, dtype)
        found.setdefault("device_map", {"": device})
    return found


def _require(package: str, purpose: str) -> None:
    if importlib.util.find_spec(package) is None:
        raise MissingExtra(purpose, "bigger")


def _require_weights(info: Mapping[str, Any], spec: ModelSpec) -> None:
    """Refuse a model that would be random in part."""
    if info.get("missing_keys"):
        some = ", ".join(sorted(info["missing_keys"])[:3])
        raise ModelError(
            f"{spec}: {len(info['missing_keys'])} weights are not in the checkpoint (such as {some}) and would be "
            f"random. It is probably no {spec.kind} model"
        )


def _explain(spec: ModelSpec, error: BaseException, local: bool) -> str:
    text = first_line(error)
    if "trust_remote_code" in str(error):
        return f"{spec}: this model runs code of its own. If you trust its authors, add -M trust_remote_code=yes"
    if "ignore_mismatched_sizes" in str(error):
        return f"{spec}: weights of the checkpoint have other shapes than config.json says. Are both of the same model?"
    if local:
        return f"{spec}: cannot be loaded: {text}"
    return (
        f"{spec}: neither a folder here nor a model that the hub or its local cache gives ({text}). "
        "Check the spelling, the network, or download it first and give the folder"
    )
