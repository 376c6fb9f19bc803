"""Loading Hugging Face models safely: files, identity, checks, device."""

from __future__ import annotations

import importlib.util
import io
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext, redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wug import registry
from wug.errors import MissingExtra, ModelError, WugError, first_line
from wug.files import read_object, user_path
from wug.models.huggingface.adapters import adapt, require_same_words
from wug.models.huggingface.devices import pick_device
from wug.models.huggingface.hub import only_here
from wug.models.huggingface.quantization import prepare, quantization_settings, require_right, silence_loggers
from wug.models.huggingface.tokenizer_loading import find_file, guard_embeddings, load_tokenizer
from wug.models.spec import Loading, ModelSpec
from wug.models.weights.fingerprints import adapter_fingerprint, commit_of, content, fingerprint, snapshot, unchanged
from wug.stages import stage

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

MAX_LAYERS = 10_000
"""Layers, or experts of a layer, that are built at most: published models have hundreds."""
COUNTS = re.compile(r"(layers?|depths?|blocks|experts|block_count)$")
"""Ends of the names of such fields."""
NOUNS = {
    "AutoModelForCausalLM": "a causal language model",
    "AutoModelForMaskedLM": "a masked language model",
    "AutoModelForSeq2SeqLM": "a sequence-to-sequence model",
}
MAPPINGS = {
    "AutoModelForCausalLM": "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES",
    "AutoModelForMaskedLM": "MODEL_FOR_MASKED_LM_MAPPING_NAMES",
    "AutoModelForSeq2SeqLM": "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES",
}
"""What transformers calls the tables of the model types that its classes can load."""


def backend_for(described: Mapping[str, Any]) -> str | None:
    """The backend for the architecture that a config.json names; None if there is none."""
    named = described.get("architectures")
    names = [name for name in named if isinstance(name, str)] if isinstance(named, list) else []
    return registry.backend_with(lambda traits: any(name.endswith(traits.architectures) for name in names))


def require_loadable(file: Path, spec: ModelSpec, auto: str) -> None:
    """Refuse what would take forever to build, and a model of another kind than the transformers class `auto` loads."""
    described = read_object(file)
    _require_few(described, file, spec)
    if "auto_map" in described:
        return
    kind, other = described.get("model_type"), backend_for(described)
    tables = _tables()
    loads = kind in tables[auto] or not any(kind in table for table in tables.values())
    if auto == "AutoModelForCausalLM" and loads and other != "causal":
        # transformers would load the decoder alone, or a model that sees the words to the right.
        loads = not (described.get("is_encoder_decoder") or (other == "masked" and not described.get("is_decoder")))
    if loads and not (isinstance(kind, str) and kind.startswith("wug-")):
        return
    if other is None or registry.traits(other).auto_class == auto:
        other = registry.backend_with(lambda traits: kind in tables.get(traits.auto_class or "", ()))
    use = "" if other is None else f". Use {other}:{spec.shown_name}"
    raise ModelError(f"{spec}: {kind} is not {NOUNS[auto]}{use}")


def require_loadable_gguf(file: Path, spec: ModelSpec) -> None:
    """Refuse a GGUF file that would take forever to build."""
    from gguf import GGUFReader

    fields = GGUFReader(file).fields
    _require_few({name: fields[name].contents() for name in fields if name.endswith(".block_count")}, file, spec)


def _require_few(described: Mapping[str, Any], file: Path, spec: ModelSpec) -> None:
    for name, count in _counts(described):
        if count > MAX_LAYERS:
            raise ModelError(f"{spec}: {file.name} sets {name}: {count:,}, and at most {MAX_LAYERS:,} are built")


def _counts(described: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    for name, value in described.items():
        if isinstance(value, dict):
            yield from _counts(value)
        elif isinstance(value, int) and COUNTS.search(name):
            yield name, value


def _tables() -> dict[str, Mapping[str, Any]]:
    from transformers.models.auto import modeling_auto

    return {auto: getattr(modeling_auto, name) for auto, name in MAPPINGS.items()}


@dataclass(frozen=True, slots=True)
class HubModel:
    """A model with its tokenizer, on its device."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    name: str
    fingerprint: str
    architecture: str | None = None
    """A digest that checkpoints of one training share; None if it is unknown."""

    @property
    def dtype(self) -> str:
        """The dtype of the weights, without `torch.`."""
        return str(self.model.dtype).removeprefix("torch.")


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The files of a model."""

    where: str
    """For transformers: a folder, or a name on the Hugging Face Hub."""
    name: str
    paths: tuple[Path, ...] = ()
    """Local files: the folder, or the GGUF file."""
    gguf: str | None = None

    @property
    def fingerprint(self) -> str | None:
        """Twelve hexadecimal digits of local files; None for a model on the Hugging Face Hub."""
        if not self.paths:
            return None
        return content(self.paths[0])[:12] if self.gguf else fingerprint(self.paths[0])


def load(spec: ModelSpec, auto: str, how: Loading) -> HubModel:
    """Load a model by the transformers class `auto`, on its device and checked."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    files = _find_files(spec, how)
    settings = _settings(spec, how, files)  # before what takes seconds to import
    identity = files.fingerprint
    adapter = () if how.adapter is None else (how.adapter,)
    identities = [adapter_fingerprint(folder) for folder in adapter]
    with stage("build"):
        model, tokenizer = _read(spec, auto, how, files, settings)
        device = pick_device(how.device)
    from wug.models.huggingface.device_selftest import architecture_digest, move_to_device

    architecture = architecture_digest(model, how, device)
    if how.quantize == "no" and how.device_map == "no":
        try:
            required = spec.options.get("device", "auto") != "auto"
            model = move_to_device(model, device, required=required, architecture=architecture)
        except (RuntimeError, AssertionError) as error:
            raise ModelError(f"{spec}: cannot move to device {device!r}: {first_line(error)}") from error
    identity = identity or (commit_of(spec) or "unknown")[:12]
    return HubModel(model, tokenizer, files.name, "+".join([identity, *identities]), architecture)


def _settings(spec: ModelSpec, how: Loading, files: ModelFiles) -> dict[str, Any]:
    """Arguments of `from_pretrained` for model and tokenizer."""
    return {
        "trust_remote_code": how.trust_remote_code,
        "local_files_only": bool(files.paths) or only_here(spec),
        **({} if spec.revision is None else {"revision": spec.revision}),
        **({"gguf_file": files.gguf} if files.gguf else {}),
    }


def _transformers(spec: ModelSpec) -> Any:
    """The package transformers, which reports nothing."""
    silence_loggers()
    try:
        with warnings.catch_warnings():
            # About progress bars, in a notebook without widgets.
            warnings.filterwarnings("ignore", message="IProgress not found")
            import torch  # noqa: F401
            import transformers
    except ImportError:
        raise MissingExtra(f"a {spec.kind} model", "hf") from None
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return transformers


def _read(spec: ModelSpec, auto: str, how: Loading, files: ModelFiles, settings: Mapping[str, Any]) -> tuple[Any, Any]:
    """The model, on the CPU unless options place it elsewhere, and its tokenizer."""
    transformers = _transformers(spec)
    import torch

    placed = _placement(how, pick_device(how.device), gguf=files.gguf is not None)
    adapter = () if how.adapter is None else (how.adapter,)
    try:
        with unchanged(*files.paths, *adapter), warnings.catch_warnings(), _without_bars(files.gguf):
            if placed:
                warnings.simplefilter("ignore")  # from packages that report unused features
            if files.gguf:
                require_loadable_gguf(files.paths[0], spec)
            elif (config := find_file(files.where, "config.json", settings)) is not None:
                require_loadable(config, spec, auto)
            tokenizer = load_tokenizer(files.where, spec, settings)
            model, info = getattr(transformers, auto).from_pretrained(
                files.where,
                dtype=how.dtype if how.dtype == "auto" else getattr(torch, how.dtype),
                output_loading_info=True,
                **placed,
                **settings,
            )
            _require_weights(info, spec)
            guard_embeddings(model, tokenizer, spec)
            if how.quantize != "no":
                prepare(model)
                require_right(model, how.quantize, files.paths[0] if files.paths else snapshot(spec), spec)
            for folder in adapter:
                require_same_words(tokenizer, folder, spec)
                plain = how.quantize == "no" and how.device_map == "no" and model.dtype == torch.float32
                model = adapt(model, folder, spec, merge=plain)
    except WugError:
        raise
    except Exception as error:  # damaged weights and tokenizers raise whatever their readers do
        raise ModelError(_explain(spec, error, bool(files.paths))) from error
    return model.eval(), tokenizer


def tokenizer_of(spec: ModelSpec, how: Loading) -> Any:
    """The tokenizer of a model, without its weights."""
    files = _find_files(spec, how)
    settings = _settings(spec, how, files)
    _transformers(spec)
    try:
        with warnings.catch_warnings(), _without_bars(files.gguf):
            return load_tokenizer(files.where, spec, settings)
    except WugError:
        raise
    except Exception as error:  # damaged tokenizers raise whatever their readers do
        raise ModelError(_explain(spec, error, bool(files.paths))) from error


def _find_files(spec: ModelSpec, how: Loading) -> ModelFiles:
    folder = user_path(spec.name)
    file = folder / how.gguf if how.gguf else folder
    if how.gguf or (folder.is_file() and folder.suffix == ".gguf"):
        if not file.is_file():
            raise ModelError(f"{spec}: no such file: {file}. Give a GGUF file, or its folder and -M gguf=FILE")
        if how.quantize != "no":
            raise ModelError(f"{spec}: quantize={how.quantize}: a GGUF file has its own number format. Leave it out")
        return ModelFiles(str(file.parent), file.name, (file,), file.name)
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise ModelError(f"{spec}: the folder has no config.json, so it is not a Hugging Face model{_hint(folder)}")
        return ModelFiles(str(folder), folder.resolve().name, (folder,))
    if folder.exists() or spec.name.startswith((".", "/", "~")) or spec.name.count("/") > 1:
        raise ModelError(
            f"{spec}: no such folder. Give a model folder (with config.json) or a name on the Hugging Face Hub"
        )
    return ModelFiles(spec.name, spec.name)


def _without_bars(gguf: str | None) -> AbstractContextManager[Any]:
    """Hide the progress bar for GGUF files, for which transformers has no setting."""
    return nullcontext() if gguf is None else redirect_stderr(io.StringIO())


def _hint(folder: Path) -> str:
    """What a folder without config.json may be."""
    if (folder / "adapter_config.json").is_file():
        return ". It is an adapter: name the model that it was trained on, and -M adapter=FOLDER"
    some = next(iter(sorted(folder.glob("*.gguf"))), None)
    return "" if some is None else f". It has a GGUF file: -M gguf={some.name}"


def _placement(how: Loading, device: str, *, gguf: bool) -> dict[str, Any]:
    """Arguments of `from_pretrained` for placement and quantization."""
    import torch
    import transformers

    found: dict[str, Any] = {}
    if gguf:
        for package in ("gguf", "accelerate"):
            _require(package, "a GGUF file")
        # Unpacked: kernels for packed weights round the activations as well.
        if (unpacked := getattr(transformers, "GgufConfig", None)) is not None:
            found["quantization_config"] = unpacked(dequantize=True)
    if how.device_map != "no":
        _require("accelerate", f"device_map={how.device_map}")
        found["device_map"] = how.device_map
    if how.quantize != "no":
        dtype = torch.float32 if how.dtype == "auto" else getattr(torch, how.dtype)
        found["quantization_config"] = quantization_settings(how.quantize, dtype)
        found.setdefault("device_map", {"": device})
    return found


def _require(package: str, purpose: str) -> None:
    if importlib.util.find_spec(package) is None:
        raise MissingExtra(purpose, "bigger")


def _require_weights(info: Mapping[str, Any], spec: ModelSpec) -> None:
    """Refuse a model with missing weights, which would be random."""
    if info.get("missing_keys"):
        some = ", ".join(sorted(info["missing_keys"])[:3])
        raise ModelError(
            f"{spec}: {len(info['missing_keys'])} weights are not in the checkpoint (such as {some}) and would be "
            f"random. It is probably not a {spec.kind} model"
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
        f"{spec}: neither a local folder nor a model on the Hugging Face Hub or in its cache ({text}). "
        "Check the spelling, the network, or download it first and give the folder"
    )
