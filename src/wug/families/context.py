"""Which context a model uses."""

from __future__ import annotations

from wug import registry
from wug.identity import ModelId
from wug.types import IdentifiedModel


def sees_right(model: IdentifiedModel) -> bool:
    """Whether the words after a region affect its probability, as in masked models."""
    if model.options.get("score") == "spans":  # an encoder–decoder that fills in spans
        return True
    return registry.traits(ModelId.parse(model.id).kind).sees_right_context
