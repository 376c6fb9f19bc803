"""How a model is trained: everything that the loss curve depends on, apart from the data and the model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from wug.errors import InputError

Optimiser = Literal["adamw", "muon"]
Precision = Literal["float32", "bfloat16"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """A schedule, an optimiser and a seed."""

    steps: int
    batch: int
    """Rows a step."""
    rate: float
    """The highest learning rate."""
    warmup: int
    """Steps in which the rate rises to it; then it falls along a cosine to a hundredth."""
    optimiser: Optimiser = "adamw"
    weight_decay: float = 0.1
    clip: float = 1.0
    """The norm to which gradients are cut."""
    average: int = 1
    """At how many moments of its last steps, a hundredth of them all apart, a model's weights are averaged."""
    seed: int = 0
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        if self.steps < 1 or self.batch < 1:
            raise InputError(f"training takes at least one step and one row, not {self.steps} and {self.batch}")
        if not 1 <= self.average <= 100:
            raise InputError(f"weights are averaged at 1 to 100 moments, not at {self.average}")
        if not 0 < self.rate < 1:
            raise InputError(f"a learning rate lies between 0 and 1, and {self.rate} does not")

    def rate_at(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        if step < self.warmup:
            return self.rate * (step + 1) / self.warmup
        done = (step - self.warmup) / max(1, self.steps - self.warmup)
        return self.rate * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(1.0, done))))
