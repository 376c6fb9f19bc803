"""What the checkpoints of one training have in common, so that what was found out of one need only be confirmed."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from typing import Any, Generic, TypeVar

from wug.models._loading import Loading

PASSING = ("_name_or_path", "transformers_version", "dtype", "torch_dtype")
"""What a configuration says that is no part of a model's shape; the number format is the model's own."""
HELD = 16
"""Shapes of which something is known; of more, the last ones."""

Fact = TypeVar("Fact")


class Known(Generic[Fact]):
    """What was found out of models, by their shape; several threads may use it."""

    def __init__(self) -> None:
        self._facts: OrderedDict[str, Fact] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, shape: str | None) -> Fact | None:
        """What is known of a shape; None where nothing is."""
        with self._lock:
            return None if shape is None else self._facts.get(shape)

    def keep(self, shape: str | None, fact: Fact) -> None:
        """Know this of a shape from now on."""
        if shape is None:
            return
        with self._lock:
            self._facts[shape] = fact
            self._facts.move_to_end(shape)
            while len(self._facts) > HELD:
                self._facts.popitem(last=False)


def shape_of(model: Any, how: Loading, device: str) -> str | None:
    """A digest of a model's class, configuration, number format and device; None for what is not its class alone."""
    if how.trust_remote_code or how.quantize != "no" or how.adapter is not None or how.device_map != "no" or how.gguf:
        return None
    settings = {name: value for name, value in model.config.to_dict().items() if name not in PASSING}
    kind = f"{type(model).__module__}.{type(model).__qualname__}"
    told = json.dumps([kind, str(model.dtype), device, settings], sort_keys=True, default=str)
    return hashlib.blake2b(told.encode(), digest_size=16).hexdigest()
