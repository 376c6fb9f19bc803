"""AdamW for everything, or Muon for the matrices of the layers and AdamW for the rest.

Muon (Jordan et al. 2024) moves a matrix by its momentum with all singular values made about equal, which a
few steps of a Newton–Schulz iteration do. With the step scaled as by Liu et al. (2025, "Muon is scalable"),
one learning rate serves both. Matrices of one shape go through the iteration together: a small model has
dozens of them, and one by one they would cost more than the rest of the step.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wug.train.recipe import Recipe

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Of the iteration: chosen by its authors to bring singular values near 1 in five rounds."""
ROUNDS = 5
MOMENTUM = 0.95
LIKE_ADAM = 0.2
"""The root mean square of an AdamW update, to which Liu et al. scale Muon's."""


class Optimiser:
    """Moves parameters against their gradients; the rate is a tensor, so that a step can be recorded."""

    def __init__(self, model: Any, recipe: Recipe) -> None:
        import torch

        named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
        device = named[0][1].device
        embeddings = {
            id(m.weight) for m in model.modules() if isinstance(m, torch.nn.Embedding)
        }  # tied output layers are the same tensor
        matrix = {
            id(p) for name, p in named if p.ndim == 2 and id(p) not in embeddings and not name.startswith("lm_head")
        }
        orthogonal = matrix if recipe.optimiser == "muon" else set()
        self.rate = torch.zeros((), device=device)
        self._decay = recipe.weight_decay
        self._stacks = _by_shape(p for _, p in named if id(p) in orthogonal)
        self._momenta = [torch.zeros(len(s), *s[0].shape, device=device) for s in self._stacks]
        rest = [p for _, p in named if id(p) not in orthogonal]
        groups = [
            {"params": [p for p in rest if id(p) in matrix], "weight_decay": recipe.weight_decay},
            {"params": [p for p in rest if id(p) not in matrix], "weight_decay": 0.0},
        ]
        on_gpu = device.type == "cuda"
        self._adam = torch.optim.AdamW(
            [group for group in groups if group["params"]],
            lr=self.rate if on_gpu else recipe.rate,
            betas=(0.9, 0.98),
            eps=1e-9,
            fused=True,
            capturable=on_gpu,
        )

    def set_rate(self, rate: float) -> None:
        """The rate of the steps to come."""
        self.rate.fill_(rate)
        for group in self._adam.param_groups:
            if group["lr"] is not self.rate:
                group["lr"] = rate

    def step(self) -> None:
        """Move all parameters once."""
        import torch

        self._adam.step()
        with torch.no_grad():
            for stack, momentum in zip(self._stacks, self._momenta, strict=True):
                gradients = torch.stack([p.grad for p in stack])
                momentum.lerp_(gradients, 1 - MOMENTUM)
                moves = orthogonal(gradients.lerp(momentum, MOMENTUM))
                scale = LIKE_ADAM * max(stack[0].shape) ** 0.5
                keep = 1 - self.rate * self._decay
                torch._foreach_mul_(stack, keep)
                torch._foreach_add_(stack, list((moves * (-scale * self.rate)).unbind()))

    def clear(self) -> None:
        """Forget the gradients."""
        self._adam.zero_grad(set_to_none=True)
        for stack in self._stacks:
            for parameter in stack:
                parameter.grad = None

    def state(self) -> dict[str, Any]:
        """All that a later step depends on."""
        return {"adam": self._adam.state_dict(), "momenta": self._momenta}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        self._adam.load_state_dict(state["adam"])
        if self.rate.device.type == "cuda":
            for group in self._adam.param_groups:
                group["lr"] = self.rate
        for momentum, stored in zip(self._momenta, state["momenta"], strict=True):
            momentum.copy_(stored)


def orthogonal(matrices: Any) -> Any:
    """The matrices (…, m, n) with their singular values brought near 1."""
    import torch

    a, b, c = COEFFICIENTS
    tall = matrices.shape[-2] > matrices.shape[-1]
    x = matrices.to(torch.bfloat16) if matrices.device.type == "cuda" else matrices
    x = x.mT if tall else x
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(ROUNDS):
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    return (x.mT if tall else x).to(matrices.dtype)


def _by_shape(parameters: Iterable[Any]) -> list[list[Any]]:
    stacks: dict[Any, list[Any]] = {}
    for parameter in parameters:
        stacks.setdefault(parameter.shape, []).append(parameter)
    return list(stacks.values())
