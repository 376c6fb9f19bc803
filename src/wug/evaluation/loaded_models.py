"""Models of Hugging Face that a user has loaded: asked like those that wug loads itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wug import registry
from wug.errors import ModelError
from wug.evaluation.handle import ModelHandle
from wug.models import ModelSpec, Watched, adopt


def open_loaded(model: Any, tokenizer: Any = None, options: Mapping[str, str] | None = None) -> ModelHandle:
    """A loaded model with its tokenizer, known as the same model is that is opened by its name."""
    given = dict(options or {})
    kind = _kind(model)
    backend = registry.find("models", kind)
    ModelSpec(kind, type(model).__name__, None, given).read(backend.OPTIONS)  # an unknown option is refused at once
    adopted = adopt(kind, model, tokenizer, given)
    answering = Watched(backend.around(adopted.loaded, adopted.spec), model)
    return ModelHandle.around(answering, adopted.spec if adopted.from_files else None)


def _kind(model: Any) -> str:
    """The backend for a model object of transformers, by the name of its class."""
    name = type(model).__name__
    encoder_decoder = bool(getattr(getattr(model, "config", None), "is_encoder_decoder", False))
    kind = registry.backend_with(
        lambda traits: traits.auto_class is not None and name.endswith(traits.architectures)
    ) or registry.backend_with(lambda traits: encoder_decoder and traits.auto_class == "AutoModelForSeq2SeqLM")
    if kind is None:
        raise ModelError(
            f"{name} is not a language model that wug can evaluate. Load it with AutoModelForCausalLM, "
            "AutoModelForMaskedLM or AutoModelForSeq2SeqLM"
        )
    return kind
