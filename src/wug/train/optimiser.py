"""AdamW for everything, or Muon for the matrices of the layers and AdamW for the rest.

Muon (Jordan et al. 2024) moves a matrix by its momentum with all singular values made about equal, which a
few steps of a Newton–Schulz iteration do. With the step scaled as by Liu et al. (2025, "Muon is scalable"),
one learning rate serves both. Matrices of one shape go through the iteration together: a small model has
dozens of them, and one by one they would cost more than the rest of the step. `torch.optim.Muon` takes them one by one,
and reads its learning rate on the CPU, so that a step with it cannot be recorded as a CUDA graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from wug.train.recipe import Recipe

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Of the iteration: chosen by its authors to bring singular values near 1 in five rounds."""
ROUNDS = 5
MOMENTUM = 0.95
LIKE_ADAM = 0.2
"""The root mean square of an AdamW update, to which Liu et al. scale Muon's."""


class Optimiser:
    """Moves parameters against their gradients; rates are tensors, so that a step can be recorded."""

    def __init__(self, model: Any, recipe: Recipe, shares: Mapping[str, float] | None = None) -> None:
        """`shares` names the parameters that move at a share of the learning rate; the others move at all of it."""
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
        share_of = {id(p): (shares or {}).get(name, 1.0) for name, p in named}
        self._rates = {share: torch.zeros((), device=device) for share in dict.fromkeys(share_of.values())}
        self._decay = recipe.weight_decay
        stacks = _grouped((p for _, p in named if id(p) in orthogonal), lambda p: (p.shape, share_of[id(p)]))
        self._stacks = [(stack, self._rates[share]) for (_, share), stack in stacks.items()]
        self._momenta = [torch.zeros(len(s), *s[0].shape, device=device) for s, _ in self._stacks]
        rest = (p for _, p in named if id(p) not in orthogonal)
        groups = _grouped(rest, lambda p: (id(p) in matrix, share_of[id(p)]))
        self._adam_shares = [share for _, share in groups]
        on_gpu = device.type == "cuda"
        self._adam = torch.optim.AdamW(
            [
                {"params": found, "weight_decay": recipe.weight_decay if decays else 0.0}
                for (decays, _), found in groups.items()
            ],
            lr=next(iter(self._rates.values())) if on_gpu else recipe.rate,
            betas=(0.9, 0.98),
            eps=1e-9,
            fused=True,
            capturable=on_gpu,
        )

    def set_rate(self, rate: float) -> None:
        """The rate of the steps to come."""
        for share, tensor in self._rates.items():
            tensor.fill_(rate * share)
        for group, share in zip(self._adam.param_groups, self._adam_shares, strict=True):
            tensor = self._rates[share]
            group["lr"] = tensor if tensor.device.type == "cuda" else rate * share  # a recorded step reads the tensor

    def step(self) -> None:
        """Move all parameters once."""
        import torch

        self._adam.step()
        with torch.no_grad():
            for (stack, rate), momentum in zip(self._stacks, self._momenta, strict=True):
                gradients = torch.stack([p.grad for p in stack])
                momentum.lerp_(gradients, 1 - MOMENTUM)
                moves = orthogonal(gradients.lerp(momentum, MOMENTUM))
                scale = LIKE_ADAM * max(stack[0].shape) ** 0.5
                torch._foreach_mul_(stack, 1 - rate * self._decay)
                torch._foreach_add_(stack, list((moves * (-scale * rate)).unbind()))

    def clear(self) -> None:
        """Forget the gradients."""
        self._adam.zero_grad(set_to_none=True)
        for stack, _ in self._stacks:
            for parameter in stack:
                parameter.grad = None

    def state(self) -> dict[str, Any]:
        """All that a later step depends on."""
        return {"adam": self._adam.state_dict(), "momenta": self._momenta}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        self._adam.load_state_dict(state["adam"])
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


def _grouped(parameters: Iterable[Any], key: Callable[[Any], Any]) -> dict[Any, list[Any]]:
    groups: dict[Any, list[Any]] = {}
    for parameter in parameters:
        groups.setdefault(key(parameter), []).append(parameter)
    return groups
