"""Where a Hugging Face model comes from, what identifies it, and loading it safely."""

from __future__ import annotations

import os
import warnings
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from wug.errors import MissingExtra, ModelError, WugError
from wug.files import user_path
from wug.models._device import settle
from wug.models._fingerprint import commit_of, fingerprint, unchanged
from wug.models._hardware import pick_device
from wug.models._hub import only_here
from wug.models._spec import ModelSpec

__all__ = ["Loaded", "load"]


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model with its tokenizer, on its device."""

    model: Any
    tokenizer: Any
    name: str
    fingerprint: str


def load(spec: ModelSpec, auto: str, *, dtype: str, device: str | None, trust_remote_code: bool) -> Loaded:
    """The model that `spec` names, by the transformers class `auto`, ready to answer on the device asked for."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    folder = user_path(spec.name)
    local = folder.is_dir()
    if not local and (folder.exists() or spec.name.startswith((".", "/", "~")) or spec.name.count("/") > 1):
        raise ModelError(f"{spec}: no such folder. Give a model folder (with config.json) or a hub name")
    if local and not (folder / "config.json").is_file():
        raise ModelError(f"{spec}: the folder has no config.json, so it is no Hugging Face model")
    cached = not local and only_here(spec)  # before what takes seconds to import
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
    where = str(folder) if local else spec.name
    common: dict[str, Any] = {"trust_remote_code": trust_remote_code, "local_files_only": local or cached}
    if spec.revision is not None:
        common["revision"] = spec.revision
    identity = fingerprint(folder) if local else None
    try:
        with unchanged(folder) if local else nullcontext():
            tokenizer = transformers.AutoTokenizer.from_pretrained(where, **common)
            model, info = getattr(transformers, auto).from_pretrained(
                where,
                dtype=dtype if dtype == "auto" else getattr(torch, dtype),
                output_loading_info=True,
                **common,
            )
    except WugError:
        raise
    except Exception as error:  # damaged weights and tokenizers raise whatever their readers do
        raise ModelError(_explain(spec, error, local)) from error
    if info.get("missing_keys"):
        some = ", ".join(sorted(info["missing_keys"])[:3])
        raise ModelError(
            f"{spec}: {len(info['missing_keys'])} weights are not in the checkpoint (such as {some}) and would be "
            f"random. It is probably no {spec.kind} model"
        )
    device = pick_device(device)
    try:
        model = settle(model.eval(), device, demanded=spec.options.get("device", "auto") != "auto")
    except (RuntimeError, AssertionError) as error:
        raise ModelError(f"{spec}: cannot move to device {device!r}: {_first_line(error)}") from error
    identity = identity or (commit_of(spec) or "unknown")[:12]
    return Loaded(model, tokenizer, folder.resolve().name if local else spec.name, identity)


def _explain(spec: ModelSpec, error: BaseException, local: bool) -> str:
    text = _first_line(error)
    if "trust_remote_code" in str(error):
        return f"{spec}: this model runs code of its own. If you trust its authors, add -M trust_remote_code=yes"
    if local:
        return f"{spec}: cannot be loaded: {text}"
    return (
        f"{spec}: neither a folder here nor a model that the hub or its local cache gives ({text}). "
        "Check the spelling, the network, or download it first and give the folder"
    )


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).split("\n")[0][:300]
