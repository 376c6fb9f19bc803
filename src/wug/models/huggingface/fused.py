"""Fused kernels: activations, and on a GPU normalisation and rotary positions, in fewer passes over memory."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import ModuleType
from typing import Any

import torch
from transformers import PreTrainedModel
from transformers.activations import NewGELUActivation

from wug.models.hardware import device_of

ROTARY = "apply_rotary_pos_emb"
"""What modules of transformers call the function that rotates queries and keys."""

log = logging.getLogger("wug")


def fuse_activations(model: PreTrainedModel) -> None:
    """Compute GPT-2's GELU in one kernel: the same function, rounded once instead of after each of eight steps."""
    for parent in list(model.modules()):
        for name, module in parent.named_children():
            if type(module) is NewGELUActivation:
                setattr(parent, name, torch.nn.GELU(approximate="tanh"))


def fuse_norms(model: PreTrainedModel) -> int:
    """Compute RMS normalisation in one kernel where PyTorch's own gives the same; returns how many were replaced.

    Models of transformers take seven kernels, each a pass over memory: a fifth of the time of a 7B model on a GPU.
    A normalisation that computes something else (Gemma's weights are offsets from 1) is left as it is.
    """
    replaced = 0
    for parent in list(model.modules()):
        for name, module in list(parent.named_children()):
            eps = getattr(module, "variance_epsilon", getattr(module, "eps", None))
            weight = getattr(module, "weight", None)
            if not type(module).__name__.endswith("RMSNorm") or not isinstance(eps, float) or weight is None:
                continue
            if type(module) is torch.nn.RMSNorm or weight.dim() != 1 or weight.is_meta:
                continue
            fused = torch.nn.RMSNorm(weight.shape[0], eps, device="meta", dtype=weight.dtype)
            fused.weight = module.weight
            if _same_function(module, fused, weight):
                setattr(parent, name, fused.eval())
                replaced += 1
    return replaced


def _same_function(module: torch.nn.Module, replacement: torch.nn.Module, weight: torch.Tensor) -> bool:
    generator = torch.Generator().manual_seed(1957)
    probe = (3 * torch.randn(8, weight.shape[0], generator=generator)).to(weight)
    try:
        with torch.inference_mode():
            first, second = module(probe).float(), replacement(probe).float()
    except (RuntimeError, TypeError):
        return False
    rounding = 4 * torch.finfo(weight.dtype).eps
    return bool(torch.allclose(first, second, rtol=rounding, atol=rounding))


def rotation_of(model: PreTrainedModel) -> ModuleType | None:
    """The module of a model whose rotary positions `rotate` computes; None for models with others or none.

    Modules of transformers take five kernels for each of queries and keys, a sixth of the time of a 7B model.
    """
    module = sys.modules[type(model).__module__]
    if not hasattr(module, ROTARY) or model.dtype == torch.float64:
        return None
    device = device_of(model)
    draw = partial(torch.randn, generator=torch.Generator().manual_seed(1957))
    queries, keys = (draw(2, 5, 3, 8).to(device).transpose(1, 2) for _ in range(2))
    cos, sin = (draw(2, 5, 8).to(device) for _ in range(2))
    try:
        expected = getattr(module, ROTARY)(queries, keys, cos, sin)
        is_same = all(map(partial(torch.allclose, atol=1e-6), expected, rotate(queries, keys, cos, sin)))
    except Exception as error:  # Triton, and its compiler, raise errors of many kinds
        log.debug("rotary positions are not computed in one kernel: %s", error)
        return None
    return module if is_same else None


@contextmanager
def rotating(module: ModuleType | None) -> Iterator[None]:
    """Meanwhile, models of the module rotate queries and keys in the faster way, unless only some dimensions turn."""
    if module is None:
        yield
        return
    original = getattr(module, ROTARY)

    def replacement(queries: torch.Tensor, keys: torch.Tensor, cos: torch.Tensor, *rest: Any, **keywords: Any) -> Any:
        plain = len(rest) == 1 and not keywords and cos.shape[-1] == queries.shape[-1]
        return (rotate if plain else original)(queries, keys, cos, *rest, **keywords)

    setattr(module, ROTARY, replacement)
    try:
        yield
    finally:
        setattr(module, ROTARY, original)


def rotate(
    queries: torch.Tensor, keys: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Rotate pairs of dimensions, one from each half, by the angles of their positions, in one kernel of a GPU."""
    from wug.models.huggingface.rotary_kernel import rotated

    return rotated(queries, cos, sin), rotated(keys, cos, sin)
