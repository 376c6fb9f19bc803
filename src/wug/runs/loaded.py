"""Models of Hugging Face that a user has loaded: asked like those that wug loads itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wug import registry
from wug.errors import ModelError
from wug.models import ModelSpec, Watched, adopt
from wug.runs.opening import ARCHITECTURES, Opened

KINDS = ("causal", "masked", "seq2seq")
"""Kinds of model that can be handed over."""


def open_loaded(model: Any, tokenizer: Any = None, options: Mapping[str, str] | None = None) -> Opened:
    """A loaded model with its tokenizer, known as the same model is that is opened by its name."""
    given = dict(options or {})
    kind = _kind(model)
    backend = registry.find("models", kind)
    ModelSpec(kind, type(model).__name__, None, given).read(backend.OPTIONS)  # an unknown option is refused at once
    adopted = adopt(kind, model, tokenizer, given)
    answering = Watched(backend.around(adopted.loaded, adopted.spec), model)
    return Opened(answering, adopted.spec if adopted.from_files else None)


def _kind(model: Any) -> str:
    """What a class of transformers is: causal, masked, or an encoder–decoder."""
    name = type(model).__name__
    kind = next((kind for ending, kind in ARCHITECTURES.items() if name.endswith(ending)), None)
    if kind is None and getattr(getattr(model, "config", None), "is_encoder_decoder", False):
        kind = "seq2seq"
    if kind not in KINDS:
        raise ModelError(
            f"a {name} is no language model that wug can ask. Load it with AutoModelForCausalLM, AutoModelForMaskedLM "
            "or AutoModelForSeq2SeqLM"
        )
    return kind
