"""Results of load-time self-tests, by architecture: checkpoints of one training need only a shorter test."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from typing import Any, Generic, TypeVar

from wug.models._loading import Loading

IGNORED_SETTINGS = ("_name_or_path", "transformers_version", "dtype", "torch_dtype")
"""Settings of a configuration that do not belong to an architecture; the dtype is taken from the model."""
MAX_ARCHITECTURES = 16
"""Architectures in a cache (LRU)."""

Fact = TypeVar("Fact")


class ArchitectureCache(Generic[Fact]):
    """What self-tests found, by architecture digest; thread-safe."""

    def __init__(self) -> None:
        self._facts: OrderedDict[str, Fact] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, digest: str | None) -> Fact | None:
        """What is known of an architecture; None if nothing is."""
        with self._lock:
            return None if digest is None else self._facts.get(digest)

    def keep(self, digest: str | None, fact: Fact) -> None:
        """Store a fact; without a digest, do nothing."""
        if digest is None:
            return
        with self._lock:
            self._facts[digest] = fact
            self._facts.move_to_end(digest)
            while len(self._facts) > MAX_ARCHITECTURES:
                self._facts.popitem(last=False)


def architecture_digest(model: Any, how: Loading, device: str) -> str | None:
    """A digest of a model's class, configuration, dtype and device; None if these do not determine the computation."""
    if how.trust_remote_code or how.quantize != "no" or how.adapter is not None or how.device_map != "no" or how.gguf:
        return None
    settings = {name: value for name, value in model.config.to_dict().items() if name not in IGNORED_SETTINGS}
    kind = f"{type(model).__module__}.{type(model).__qualname__}"
    told = json.dumps([kind, str(model.dtype), device, settings], sort_keys=True, default=str)
    return hashlib.blake2b(told.encode(), digest_size=16).hexdigest()
