"""What a model sees of a sentence beside the part of it that is judged."""

from __future__ import annotations

from wug import registry
from wug.identity import ModelId
from wug.types import Model


def sees_right(model: Model) -> bool:
    """Whether the words after a part of a sentence count for its probability, as those of masked models do."""
    if model.options.get("score") == "spans":  # an encoder–decoder that fills words in
        return True
    return registry.traits(ModelId.parse(model.id).kind).sees_right_context
