"""The rounding noise of a causal model, and a small exact copy of it for the structural part of the self-test.

The same text gives slightly different scores alone, in a batch, or in front of other text, because matrix products are
summed in another order. In bfloat16 that is 0.1 nats per token and more for a model of 7 billion parameters, in float32
some 1e-5. A faster way of scoring passes the self-test if it differs from the plain way by no more than a small
multiple of this noise. Noise of that size could hide a wrong mask or a wrong position, so these are checked on a copy
with few layers in float32, where the noise is far smaller than any such error.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from wug.arrays import Floats

if TYPE_CHECKING:
    from wug.models.causal.forward import CausalEngine

NOISE_FACTOR = 4.0
"""How many times the measured noise a faster way of scoring may differ from the plain way."""
EXACT_NATS = {"torch.float64": 1e-6, "torch.float32": 1e-4}
"""Nats per token that are always allowed, by dtype."""
HALF_PRECISION_NATS = 0.15
"""The same for half precision."""
MAX_NATS = {"torch.float64": 1e-5, "torch.float32": 0.01}
"""What is larger is not rounding, whatever was measured."""
MAX_HALF_PRECISION_NATS = 1.0
COMPANY_TEXTS = 4
"""Texts of one length in a batch."""
SENTENCE_TOKENS = 12
"""Tokens of a sentence, over which differences are summed."""
EXTRA_TOKENS = 9
"""Tokens appended to a probe to compute it in another shape."""
MAX_STRUCTURAL_LAYERS = 6
_POSITION_ATTRIBUTES = frozenset({"layer_idx", "layer_id", "layer_number", "layer_index", "training"})


@dataclass(frozen=True, slots=True)
class Noise:
    """Differences between plain computations of the same text."""

    largest: float = 0.0
    """Nats per token."""
    sentence: float = 0.0
    """Root mean square of the differences summed over a sentence, in nats."""

    def tolerance(self, dtype: object) -> float:
        """Nats per token that another way of scoring may differ from the plain way."""
        limit = MAX_NATS.get(str(dtype), MAX_HALF_PRECISION_NATS)
        return min(limit, max(smallest_tolerance(dtype), NOISE_FACTOR * self.largest))


def smallest_tolerance(dtype: object) -> float:
    """Nats per token that are allowed for a model without any noise."""
    return EXACT_NATS.get(str(dtype), HALF_PRECISION_NATS)


def measure_noise(
    plain: CausalEngine, batched: CausalEngine, probes: Sequence[list[int]], expected: Sequence[Floats]
) -> Noise:
    """Score probes in a batch of one length, in front of other tokens, and with another attention kernel.

    No probe is padded and no mask is passed, so that nothing but rounding can differ.

    Args:
        plain: Scores each text alone.
        batched: Scores texts of one length in one batch.
        probes: Token ids.
        expected: Log-probabilities of the probes, each scored alone.
    """
    gaps = [np.zeros(1)]
    for probe, alone in zip(probes, expected, strict=True):
        neighbours = [probe[shift:] + probe[:shift] for shift in range(1, COMPANY_TEXTS)]
        gaps.append(batched.logprobs([probe, *neighbours])[0] - alone)
        longer = plain.logprobs([probe + probe[:EXTRA_TOKENS]])[0]
        gaps.append((longer[: len(alone)] - alone)[:-2])  # the last ones may count the end of a word
    with sdpa_kernel(SDPBackend.MATH):  # plain products, not a fused kernel
        gaps += [plain.logprobs([probe])[0] - alone for probe, alone in zip(probes, expected, strict=True)]
    sums = np.concatenate([np.add.reduceat(gap, np.arange(0, len(gap), SENTENCE_TOKENS)) for gap in gaps if len(gap)])
    return Noise(float(np.abs(np.concatenate(gaps)).max(initial=0)), float(np.sqrt(np.mean(sums**2))))


def structural_copy(model: Any) -> Any | None:
    """A copy of a model in float32 with its first layer and one of each other kind; None if none can be made."""
    if any(parameter.is_meta or not parameter.is_floating_point() for parameter in model.parameters()):
        return None  # quantized, or offloaded
    try:
        with truncated(model) as truncated_model:
            return None if truncated_model is None else copy.deepcopy(truncated_model).to(torch.float32).eval()
    except (RuntimeError, TypeError, ValueError, AttributeError, NotImplementedError):
        return None


@contextmanager
def truncated(model: Any) -> Iterator[Any | None]:
    """The model with its first layer and one of each other kind, while the context is open; None if that fails."""
    config = model.config.get_text_config()
    count = getattr(config, "num_hidden_layers", None)
    candidates = [
        (parent, name, layers)
        for parent in model.modules()
        for name, layers in parent.named_children()
        if isinstance(layers, torch.nn.ModuleList) and len(layers) == count
    ]
    if len(candidates) != 1:
        yield None
        return
    parent, name, layers = candidates[0]
    kinds = getattr(config, "layer_types", None)
    layer_numbers = _one_of_each_kind(layers, kinds)
    replacements: list[tuple[Any, str, Any]] = [
        (parent, name, torch.nn.ModuleList(layers[number] for number in layer_numbers)),
        (config, "num_hidden_layers", len(layer_numbers)),
    ]
    if kinds is not None:
        replacements.insert(1, (config, "layer_types", [kinds[number] for number in layer_numbers]))
    originals: list[tuple[Any, str, Any]] = []
    try:
        for owner, attribute, value in replacements:
            original = getattr(owner, attribute)
            setattr(owner, attribute, value)  # some configurations refuse it
            originals.append((owner, attribute, original))
        yield model
    finally:
        for owner, attribute, value in reversed(originals):
            setattr(owner, attribute, value)


def _one_of_each_kind(layers: torch.nn.ModuleList, kinds: Sequence[str] | None) -> list[int]:
    """The numbers of the first layer and of the first one of each other kind."""
    first: dict[object, int] = {}
    for number, layer in enumerate(layers):
        first.setdefault((kinds[number] if kinds else None, _settings(layer)), number)
    return sorted(first.values())[:MAX_STRUCTURAL_LAYERS]


def _settings(layer: torch.nn.Module) -> tuple[object, ...]:
    """What distinguishes kinds of layers: the classes of their modules, and settings such as a window."""
    return tuple(
        (name, type(module).__name__, attribute, value)
        for name, module in layer.named_modules()
        for attribute, value in sorted(vars(module).items())
        if attribute not in _POSITION_ATTRIBUTES and isinstance(value, str | bool | int | None)
    )
