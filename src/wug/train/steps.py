"""One training step: the optimiser, and a CUDA graph of the whole step on a GPU.

AdamW updates everything, or Muon (Jordan et al. 2024) the matrices of the layers and AdamW the rest. Muon moves a
matrix by its momentum with all singular values made about equal by a few Newton–Schulz iterations. With the step scaled
as by Liu et al. (2025, "Muon is scalable"), one learning rate serves both. Matrices of one shape are iterated together:
a small model has dozens of them. `torch.optim.Muon` takes them one by one and reads its learning rate on the CPU, so a
step with it cannot be captured in a CUDA graph.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from wug.errors import first_line
from wug.train.options import TrainingConfig

if TYPE_CHECKING:
    import torch

Batch: TypeAlias = "Mapping[str, torch.Tensor]"

log = logging.getLogger("wug")


class TrainingTask(ABC):
    """A model with its training data. A batch depends on its step alone, so training can resume at any step."""

    model: torch.nn.Module
    steps_per_epoch: int
    """Steps that see all data once."""
    capturable = True
    """Whether a step can be captured in a CUDA graph, one graph per batch shape."""
    rate_factors: Mapping[str, float] = {}
    """Factors of the learning rate, by parameter name; 1 for parameters that are not named."""

    @abstractmethod
    def batch(self, step: int) -> Batch:
        """The data of a step, on any device; shapes from a small set."""

    @abstractmethod
    def loss(self, batch: Batch) -> torch.Tensor:
        """The mean loss in nats per token."""

    @abstractmethod
    def save(self, folder: Path, dtype: str) -> None:
        """Write the model so that a backend of wug loads it."""


COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Of the iteration: chosen by its authors to bring singular values near 1 in five rounds."""
ROUNDS = 5
MOMENTUM = 0.95
ADAM_UPDATE_RMS = 0.2
"""The root mean square of an AdamW update, to which Liu et al. scale Muon's."""


class Optimiser:
    """AdamW, or Muon with AdamW; learning rates are tensors, so that a step can be captured in a CUDA graph."""

    def __init__(
        self, model: torch.nn.Module, config: TrainingConfig, rate_factors: Mapping[str, float] | None = None
    ) -> None:
        import torch

        parameters = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
        device = parameters[0][1].device
        # Tied output layers are the same tensor as the embeddings.
        embeddings = {id(m.weight) for m in model.modules() if isinstance(m, torch.nn.Embedding)}
        inner = [p for name, p in parameters if id(p) not in embeddings and not name.startswith("lm_head")]
        matrices = {id(p) for p in inner if p.ndim == 2}
        with_muon = matrices if config.optimiser == "muon" else set()
        factors = {id(p): (rate_factors or {}).get(name, 1.0) for name, p in parameters}
        self._rates = {factor: torch.zeros((), device=device) for factor in dict.fromkeys(factors.values())}
        self._decay = config.weight_decay
        stacks = _grouped((p for _, p in parameters if id(p) in with_muon), lambda p: (p.shape, factors[id(p)]))
        self._stacks = [(stack, self._rates[factor]) for (_, factor), stack in stacks.items()]
        self._momenta = [torch.zeros(len(s), *s[0].shape, device=device) for s, _ in self._stacks]
        adam_parameters = (p for _, p in parameters if id(p) not in with_muon)
        groups = _grouped(adam_parameters, lambda p: (id(p) in matrices, factors[id(p)]))
        self._adam_factors = [factor for _, factor in groups]
        on_gpu = device.type == "cuda"
        self._adam = torch.optim.AdamW(
            [
                {"params": group, "weight_decay": config.weight_decay if decays else 0.0}
                for (decays, _), group in groups.items()
            ],
            lr=next(iter(self._rates.values())) if on_gpu else config.learning_rate,
            betas=(0.9, 0.98),
            eps=1e-9,
            fused=True,
            capturable=on_gpu,
        )

    def set_rate(self, rate: float) -> None:
        """Set the learning rate of the next steps."""
        for factor, tensor in self._rates.items():
            tensor.fill_(rate * factor)
        for group, factor in zip(self._adam.param_groups, self._adam_factors, strict=True):
            tensor = self._rates[factor]
            group["lr"] = tensor if tensor.device.type == "cuda" else rate * factor  # a CUDA graph reads the tensor

    def step(self) -> None:
        """Update all parameters once."""
        import torch

        self._adam.step()
        with torch.no_grad():
            for (stack, rate), momentum in zip(self._stacks, self._momenta, strict=True):
                gradients = torch.stack([p.grad for p in stack])
                momentum.lerp_(gradients, 1 - MOMENTUM)
                updates = orthogonal(gradients.lerp(momentum, MOMENTUM))
                scale = ADAM_UPDATE_RMS * max(stack[0].shape) ** 0.5
                torch._foreach_mul_(stack, 1 - rate * self._decay)
                torch._foreach_add_(stack, list((updates * (-scale * rate)).unbind()))

    def clear(self) -> None:
        """Drop the gradients."""
        self._adam.zero_grad(set_to_none=True)
        for stack, _ in self._stacks:
            for parameter in stack:
                parameter.grad = None

    def state(self) -> dict[str, object]:
        """All that later steps depend on."""
        return {"adam": self._adam.state_dict(), "momenta": self._momenta}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a state."""
        self._adam.load_state_dict(state["adam"])
        for momentum, stored in zip(self._momenta, state["momenta"], strict=True):
            momentum.copy_(stored)


def orthogonal(matrices: torch.Tensor) -> torch.Tensor:
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


def _grouped(
    parameters: Iterable[torch.Tensor], key: Callable[[torch.Tensor], Hashable]
) -> dict[Any, list[torch.Tensor]]:
    groups: dict[Hashable, list[torch.Tensor]] = {}
    for parameter in parameters:
        groups.setdefault(key(parameter), []).append(parameter)
    return groups


WARMUP_STEPS = 3
"""Plain steps with a batch shape before it is captured: libraries choose their kernels and torch compiles in them."""


class TrainingSteps:
    """Takes training steps: plain, or on a GPU captured in a CUDA graph per batch shape and replayed.

    A small model on a large GPU waits for a thousand small kernels to be launched; a graph is a single launch.
    """

    def __init__(self, task: TrainingTask, optimiser: Optimiser, config: TrainingConfig, *, compiled: bool) -> None:
        import torch

        self._optimiser, self._clip = optimiser, config.clip
        self._parameters = [p for p in task.model.parameters() if p.requires_grad]
        self._device = self._parameters[0].device
        self._bfloat16 = config.precision == "bfloat16"
        self._loss: Callable[[Batch], torch.Tensor] = torch.compile(task.loss, dynamic=False) if compiled else task.loss
        self._captures = task.capturable and self._device.type == "cuda"
        self._warmed_up: dict[Hashable, int] = {}
        self._graphs: dict[Hashable, tuple[torch.cuda.CUDAGraph, Batch, torch.Tensor]] = {}
        # One pool for all shapes, since one graph runs at a time: separate pools would each keep their memory.
        self._pool = torch.cuda.graph_pool_handle() if self._captures else None

    def take(self, batch: Batch) -> torch.Tensor:
        """Take one step; its loss, on the device."""
        batch = {name: tensor.to(self._device, non_blocking=True) for name, tensor in batch.items()}
        if not self._captures:
            return self._step(batch)
        shape = tuple((name, tuple(tensor.shape)) for name, tensor in batch.items())
        if shape not in self._graphs:
            if self._warmed_up.get(shape, 0) < WARMUP_STEPS:
                self._warmed_up[shape] = self._warmed_up.get(shape, 0) + 1
                return self._warm_up(batch)
            captured = self._capture(batch)
            if captured is None:
                self._captures = False
                return self._step(batch)
            self._graphs[shape] = captured
        graph, inputs, loss = self._graphs[shape]
        for name, tensor in batch.items():
            inputs[name].copy_(tensor, non_blocking=True)
        graph.replay()
        return loss

    def _step(self, batch: Batch) -> torch.Tensor:
        import torch

        autocast = torch.autocast(self._device.type, torch.bfloat16, cache_enabled=False)
        with autocast if self._bfloat16 else nullcontext():
            loss = self._loss(batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._parameters, self._clip)
        self._optimiser.step()
        self._optimiser.clear()
        return loss.detach()

    def _warm_up(self, batch: Batch) -> torch.Tensor:
        import torch

        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            loss = self._step(batch)
        torch.cuda.current_stream().wait_stream(stream)
        return loss

    def _capture(self, batch: Batch) -> tuple[torch.cuda.CUDAGraph, Batch, torch.Tensor] | None:
        """A CUDA graph with its inputs and its loss; None if the model cannot be captured."""
        import torch

        inputs = {name: tensor.clone() for name, tensor in batch.items()}
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, pool=self._pool):
                loss = self._step(inputs)
        except RuntimeError as error:
            log.warning("slower: steps of this model cannot be captured in a CUDA graph (%s)", first_line(error))
            self._optimiser.clear()
            return None
        return graph, inputs, loss
