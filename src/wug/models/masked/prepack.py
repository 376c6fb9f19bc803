"""Weights laid out as the processor's matrix kernels like them best.

On a CPU, masked scoring is matrix multiplication and little else. oneDNN multiplies by a weight matrix in its own
layout, bias included, faster than torch's plain `linear` does (by about 15 % on AMD processors).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any


def prepack(model: Any) -> Callable[[], None]:
    """Lay out the linear layers of a float32 model on a CPU anew; call what comes back to undo it.

    Does nothing for other models, and where this torch has no oneDNN. Matrices that two layers share, as input
    and output embeddings do, are left alone: their second layout would take memory of its own.
    """
    import torch

    if model.device.type != "cpu" or model.dtype != torch.float32 or not torch.backends.mkldnn.is_available():
        return lambda: None
    uses = Counter(id(parameter) for _, parameter in model.named_parameters(remove_duplicate=False))
    packed: list[tuple[Any, Any]] = []
    for layer in model.modules():
        if type(layer) is torch.nn.Linear and uses[id(layer.weight)] == 1:
            try:
                weight = torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach(), None)
            except (AttributeError, RuntimeError):  # not in every build of torch
                break
            packed.append((layer, weight))
            layer.forward = partial(_linear, weight, layer.bias)
            layer.weight = None
    return partial(_undo, packed)


def _linear(weight: Any, bias: Any, values: Any) -> Any:
    import torch

    return torch.ops.mkldnn._linear_pointwise(values, weight, bias, "none", [], "")


def _undo(packed: list[tuple[Any, Any]]) -> None:
    import torch

    for layer, weight in packed:
        del layer.forward
        layer.weight = torch.nn.Parameter(weight.to_dense(), requires_grad=False)
