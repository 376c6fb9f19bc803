"""One step of training: plain, or recorded on a GPU and played back.

A small model on a large GPU waits for its thousand little kernels to be launched. Recorded once for each shape
of batch, a step with its backward pass and its optimiser is a single launch.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

from wug.train.lesson import Batch, Lesson
from wug.train.optimiser import Optimiser
from wug.train.recipe import Recipe

log = logging.getLogger("wug")

REHEARSALS = 3
"""Plain steps with a shape before it is recorded: libraries choose their kernels and torch compiles in them."""


class Steps:
    """Takes steps; gives the loss of each as a tensor on the device."""

    def __init__(self, lesson: Lesson, optimiser: Optimiser, recipe: Recipe, *, compiled: bool) -> None:
        import torch

        self._optimiser, self._clip = optimiser, recipe.clip
        self._parameters = [p for p in lesson.model.parameters() if p.requires_grad]
        self._device = self._parameters[0].device
        self._bfloat16 = recipe.precision == "bfloat16"
        self._loss: Callable[[Batch], Any] = torch.compile(lesson.loss, dynamic=False) if compiled else lesson.loss
        self._records = lesson.recordable and self._device.type == "cuda"
        self._rehearsed: dict[Any, int] = {}
        self._recorded: dict[Any, tuple[Any, Batch, Any]] = {}
        # One for all shapes, of which one is played back at a time: each by itself would hold on to its memory.
        self._pool = torch.cuda.graph_pool_handle() if self._records else None

    def take(self, batch: Batch) -> Any:
        """Learn from a batch; its loss."""
        batch = {name: tensor.to(self._device, non_blocking=True) for name, tensor in batch.items()}
        if not self._records:
            return self._step(batch)
        shape = tuple((name, tuple(tensor.shape)) for name, tensor in batch.items())
        if shape not in self._recorded:
            if self._rehearsed.get(shape, 0) < REHEARSALS:
                self._rehearsed[shape] = self._rehearsed.get(shape, 0) + 1
                return self._rehearse(batch)
            recorded = self._record(batch)
            if recorded is None:
                self._records = False
                return self._step(batch)
            self._recorded[shape] = recorded
        graph, inputs, loss = self._recorded[shape]
        for name, tensor in batch.items():
            inputs[name].copy_(tensor, non_blocking=True)
        graph.replay()
        return loss

    def _step(self, batch: Batch) -> Any:
        import torch

        autocast = torch.autocast(self._device.type, torch.bfloat16, cache_enabled=False)
        with autocast if self._bfloat16 else nullcontext():
            loss = self._loss(batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._parameters, self._clip)
        self._optimiser.step()
        self._optimiser.clear()
        return loss.detach()

    def _rehearse(self, batch: Batch) -> Any:
        """A plain step on a stream of its own, as recording wants it."""
        import torch

        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            loss = self._step(batch)
        torch.cuda.current_stream().wait_stream(aside)
        return loss

    def _record(self, batch: Batch) -> tuple[Any, Mapping[str, Any], Any] | None:
        """A recorded step, what it reads and where its loss stands; None where the model cannot be recorded."""
        import torch

        inputs = {name: tensor.clone() for name, tensor in batch.items()}
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, pool=self._pool):
                loss = self._step(inputs)
        except RuntimeError as error:
            log.warning("the steps of this model cannot be recorded (%s): slower", str(error).split("\n")[0])
            self._optimiser.clear()
            return None
        return graph, inputs, loss
