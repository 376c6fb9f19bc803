"""oneDNN weight prepacking for linear layers on a CPU.

On a CPU, scoring is mostly matrix multiplication. oneDNN multiplies faster than torch's `linear` if the weights
are in its own layout: a run of 124M parameters on an AMD processor takes 22 s of CPU instead of 37.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any


def prepack(model: Any, *, keep: Any = None) -> Callable[[], None]:
    """Prepack the linear layers of a float32 model on a CPU, all but `keep`; returns a function that undoes it.

    Does nothing for other models, and without oneDNN. Matrices that two layers share, such as input and output
    embeddings, are left alone: a second layout would take additional memory.
    """
    import torch
    from transformers.pytorch_utils import Conv1D

    if not multiplies(model.get_input_embeddings().weight):
        return lambda: None
    uses = Counter(id(parameter) for _, parameter in model.named_parameters(remove_duplicate=False))
    packed: list[tuple[Any, Any]] = []
    for layer in model.modules():
        if type(layer) not in (torch.nn.Linear, Conv1D) or layer is keep or uses[id(layer.weight)] > 1:
            continue
        plain = layer.weight.detach()
        try:
            weight = torch.ops.mkldnn._reorder_linear_weight(
                plain if type(layer) is torch.nn.Linear else plain.t(), None
            )
        except (AttributeError, RuntimeError):  # not in every build of torch
            break
        packed.append((layer, weight))
        layer.forward = partial(linear, weight, layer.bias)
        layer.weight = None
    return partial(_undo, packed)


def multiplies(weight: Any) -> bool:
    """Whether oneDNN multiplies by a matrix: in float32, on a CPU, if this torch has it."""
    import torch

    if weight.device.type != "cpu" or weight.dtype != torch.float32 or not torch.backends.mkldnn.is_available():
        return False
    return hasattr(torch.ops.mkldnn, "_linear_pointwise")


def linear(weight: Any, bias: Any, values: Any) -> Any:
    """The product with a matrix (outputs, inputs), prepacked or not."""
    import torch

    return torch.ops.mkldnn._linear_pointwise(values, weight, bias, "none", [], "")


def _undo(packed: list[tuple[Any, Any]]) -> None:
    import torch

    for layer, weight in packed:
        del layer.forward
        plain = weight.to_dense()
        plain = plain if type(layer) is torch.nn.Linear else plain.t().contiguous()
        layer.weight = torch.nn.Parameter(plain, requires_grad=False)
