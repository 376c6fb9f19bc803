"""Reads and checks a model's config.json before transformers builds a model from it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from wug import registry
from wug.errors import ModelError
from wug.files import read_object
from wug.models.spec import ModelSpec

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
