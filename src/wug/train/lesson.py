"""What the training loop needs to know of a model and its material."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

Batch = Mapping[str, Any]
"""Tensors by name."""


class Lesson(Protocol):
    """A model, and what it learns from. A batch depends on its step alone, so that training can resume anywhere."""

    @property
    def model(self) -> Any:
        """The torch module that learns."""

    @property
    def steps_an_epoch(self) -> int:
        """Steps in which all of the material is seen once."""

    @property
    def recordable(self) -> bool:
        """Whether a GPU may record a whole step once for each shape of batch and play it back."""

    @property
    def shares(self) -> Mapping[str, float]:
        """Parameters by name that move at a share of the learning rate."""

    def batch(self, step: int) -> Batch:
        """What is learnt in a step, on any device; shapes from a small set."""

    def loss(self, batch: Batch) -> Any:
        """The mean loss, in nats a token, as a tensor."""

    def save(self, folder: Path, dtype: str) -> None:
        """Write the model so that a backend of wug loads it."""
