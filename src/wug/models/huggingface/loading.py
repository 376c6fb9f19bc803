"""Loading Hugging Face models safely: files, identity, checks, device."""

from __future__ import annotations

import importlib.util
import io
import logging
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wug import registry
from wug.errors import MissingExtra, ModelError, WugError, first_line, needs_extra
from wug.files import read_object, user_path
from wug.models.hardware import pick_device
from wug.models.huggingface.adapters import adapt, require_same_words
from wug.models.huggingface.hub import must_be_cached
from wug.models.huggingface.quantization import quantization_settings, require_right
from wug.models.huggingface.tokenizer_loading import find_file, guard_embeddings, load_tokenizer
from wug.models.spec import Loading, ModelSpec
from wug.models.weights.fingerprints import adapter_fingerprint, commit_of, content, fingerprint, snapshot, unchanged
from wug.timings import timed

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

NOISY = ("accelerate", "bitsandbytes", "torchao", "torch.utils._pytree")
"""Loggers of packages that transformers imports if they are installed, and that report unused features."""
MAX_LAYERS = 10_000
"""Layers, or experts of a layer, that are built at most: published models have hundreds."""
COUNTS = re.compile(r"(layers?|depths?|blocks|experts|block_count)$")
"""Ends of the names of such fields."""
CLASSES = {
    "AutoModelForCausalLM": ("a causal language model", "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES"),
    "AutoModelForMaskedLM": ("a masked language model", "MODEL_FOR_MASKED_LM_MAPPING_NAMES"),
    "AutoModelForSeq2SeqLM": ("a sequence-to-sequence model", "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES"),
}
"""What classes of transformers load, and what it calls the table of the model types that they can load."""


def require_loadable(file: Path, spec: ModelSpec, auto: str) -> None:
    """Refuse what would take forever to build, and a model of another kind than the transformers class `auto` loads."""
    from transformers.models.auto import modeling_auto

    config = read_object(file)
    _require_few(config, file, spec)
    if "auto_map" in config:
        return
    kind, backend = config.get("model_type"), registry.backend_of_config(config)
    tables: dict[str, Mapping[str, Any]] = {name: getattr(modeling_auto, table) for name, (_, table) in CLASSES.items()}
    loads = kind in tables[auto] or not any(kind in table for table in tables.values())
    if auto == "AutoModelForCausalLM" and loads and backend != "causal":
        # transformers would load the decoder alone, or a model that sees the words to the right.
        loads = not (config.get("is_encoder_decoder") or (backend == "masked" and not config.get("is_decoder")))
    if loads and not (isinstance(kind, str) and kind.startswith("wug-")):
        return
    if backend is None or registry.traits(backend).auto_class == auto:
        backend = registry.backend_with(lambda traits: kind in tables.get(traits.auto_class or "", ()))
    hint = "" if backend is None else f". Use {backend}:{spec.shown_name}"
    raise ModelError(f"{spec}: {kind} is not {CLASSES[auto][0]}{hint}")


def _require_few(config: Mapping[str, Any], file: Path, spec: ModelSpec) -> None:
    for name, count in _counts(config):
        if count > MAX_LAYERS:
            raise ModelError(f"{spec}: {file.name} sets {name}: {count:,}, and at most {MAX_LAYERS:,} are built")


def _counts(config: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    for name, value in config.items():
        if isinstance(value, dict):
            yield from _counts(value)
        elif isinstance(value, int) and COUNTS.search(name):
            yield name, value


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

    location: str
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


def load(spec: ModelSpec, auto: str, loading: Loading) -> HubModel:
    """Load a model by the transformers class `auto`, on its device and checked."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    files = _find_files(spec, loading)
    settings = _settings(spec, loading, files)  # before what takes seconds to import
    identity = files.fingerprint
    identities = [] if loading.adapter is None else [adapter_fingerprint(loading.adapter)]
    with timed("build"):
        model, tokenizer = _read(spec, auto, loading, files, settings)
        device = pick_device(loading.device)
    from wug.models.huggingface.device_selftest import architecture_digest, move_to_device

    architecture = architecture_digest(model, loading, device)
    if loading.quantize == "no" and loading.device_map == "no":
        try:
            required = spec.options.get("device", "auto") != "auto"
            model = move_to_device(model, device, required=required, architecture=architecture)
        except (RuntimeError, AssertionError) as error:
            raise ModelError(f"{spec}: cannot move to device {device!r}: {first_line(error)}") from error
    identity = identity or (commit_of(spec) or "unknown")[:12]
    return HubModel(model, tokenizer, files.name, "+".join([identity, *identities]), architecture)


def _settings(spec: ModelSpec, loading: Loading, files: ModelFiles) -> dict[str, Any]:
    return {
        "trust_remote_code": loading.trust_remote_code,
        "local_files_only": bool(files.paths) or must_be_cached(spec),
        **({} if spec.revision is None else {"revision": spec.revision}),
        **({"gguf_file": files.gguf} if files.gguf else {}),
    }


def _transformers(spec: ModelSpec) -> Any:
    """The package transformers, which reports nothing."""
    for name in NOISY:
        logging.getLogger(name).setLevel(logging.ERROR)
    with needs_extra(f"a {spec.backend} model", "hf"), warnings.catch_warnings():
        # About progress bars, in a notebook without widgets.
        warnings.filterwarnings("ignore", message="IProgress not found")
        import torch  # noqa: F401
        import transformers
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return transformers


def _read(spec: ModelSpec, auto: str, loading: Loading, files: ModelFiles, settings: dict[str, Any]) -> tuple[Any, Any]:
    """The model, on the CPU unless options place it elsewhere, and its tokenizer."""
    transformers = _transformers(spec)
    import torch

    placement = _placement(loading, pick_device(loading.device), gguf=files.gguf is not None)
    adapter = () if loading.adapter is None else (loading.adapter,)
    with _explained_errors(spec, files), unchanged(*files.paths, *adapter), warnings.catch_warnings():
        if placement:
            warnings.simplefilter("ignore")  # from packages that report unused features
        if files.gguf:
            from gguf import GGUFReader

            fields = GGUFReader(files.paths[0]).fields
            counts = {name: fields[name].contents() for name in fields if name.endswith(".block_count")}
            _require_few(counts, files.paths[0], spec)
        elif (config := find_file(files.location, "config.json", settings)) is not None:
            require_loadable(config, spec, auto)
        tokenizer = load_tokenizer(files.location, spec, settings)
        model, info = getattr(transformers, auto).from_pretrained(
            files.location,
            dtype=loading.dtype if loading.dtype == "auto" else getattr(torch, loading.dtype),
            output_loading_info=True,
            **placement,
            **settings,
        )
        _require_weights(info, spec)
        guard_embeddings(model, tokenizer, spec)
        if loading.quantize != "no":
            require_right(model, loading.quantize, files.paths[0] if files.paths else snapshot(spec), spec)
        for folder in adapter:
            require_same_words(tokenizer, folder, spec)
            plain = loading.quantize == "no" and loading.device_map == "no" and model.dtype == torch.float32
            model = adapt(model, folder, spec, merge=plain)
    return model.eval(), tokenizer


def tokenizer_of(spec: ModelSpec, loading: Loading) -> Any:
    """The tokenizer of a model, without its weights."""
    files = _find_files(spec, loading)
    settings = _settings(spec, loading, files)
    _transformers(spec)
    with _explained_errors(spec, files), warnings.catch_warnings():
        return load_tokenizer(files.location, spec, settings)


def _find_files(spec: ModelSpec, loading: Loading) -> ModelFiles:
    folder = user_path(spec.name)
    file = folder / loading.gguf if loading.gguf else folder
    if loading.gguf or (folder.is_file() and folder.suffix == ".gguf"):
        if not file.is_file():
            raise ModelError(f"{spec}: no such file: {file}. Give a GGUF file, or its folder and -M gguf=FILE")
        if loading.quantize != "no":
            setting = f"quantize={loading.quantize}"
            raise ModelError(f"{spec}: {setting}: a GGUF file has its own number format. Leave it out")
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


def _hint(folder: Path) -> str:
    """What a folder without config.json may be."""
    if (folder / "adapter_config.json").is_file():
        return ". It is an adapter: name the model that it was trained on, and -M adapter=FOLDER"
    gguf_file = next(iter(sorted(folder.glob("*.gguf"))), None)
    return "" if gguf_file is None else f". It has a GGUF file: -M gguf={gguf_file.name}"


def _placement(loading: Loading, device: str, *, gguf: bool) -> dict[str, Any]:
    import torch
    import transformers

    arguments: dict[str, Any] = {}
    if gguf:
        for package in ("gguf", "accelerate"):
            _require(package, "a GGUF file")
        # Unpacked: kernels for packed weights round the activations as well.
        if (unpacked := getattr(transformers, "GgufConfig", None)) is not None:
            arguments["quantization_config"] = unpacked(dequantize=True)
    if loading.device_map != "no":
        _require("accelerate", f"device_map={loading.device_map}")
        arguments["device_map"] = loading.device_map
    if loading.quantize != "no":
        dtype = torch.float32 if loading.dtype == "auto" else getattr(torch, loading.dtype)
        arguments["quantization_config"] = quantization_settings(loading.quantize, dtype)
        arguments.setdefault("device_map", {"": device})
    return arguments


def _require(package: str, purpose: str) -> None:
    if importlib.util.find_spec(package) is None:
        raise MissingExtra(purpose, "bigger")


def _require_weights(info: Mapping[str, Any], spec: ModelSpec) -> None:
    if info.get("missing_keys"):
        names = ", ".join(sorted(info["missing_keys"])[:3])
        raise ModelError(
            f"{spec}: {len(info['missing_keys'])} weights are not in the checkpoint (such as {names}) and would be "
            f"random. It is probably not a {spec.backend} model"
        )


@contextmanager
def _explained_errors(spec: ModelSpec, files: ModelFiles) -> Iterator[None]:
    """Explain what damaged weights and tokenizers lead to: they raise whatever their readers do.

    For GGUF files, a progress bar is hidden, for which transformers has no setting.
    """
    try:
        with nullcontext() if files.gguf is None else redirect_stderr(io.StringIO()):
            yield
    except WugError:
        raise
    except Exception as error:
        text = first_line(error)
        if "trust_remote_code" in str(error):
            problem = "this model runs code of its own. If you trust its authors, add -M trust_remote_code=yes"
        elif "ignore_mismatched_sizes" in str(error):
            problem = "weights of the checkpoint have other shapes than config.json says. Are both of the same model?"
        elif files.paths:
            problem = f"cannot be loaded: {text}"
        else:
            problem = (
                f"neither a local folder nor a model on the Hugging Face Hub or in its cache ({text}). "
                "Check the spelling, the network, or download it first and give the folder"
            )
        raise ModelError(f"{spec}: {problem}") from error
