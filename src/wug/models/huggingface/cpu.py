"""Faster computing on a CPU: a pool of single-threaded workers, and oneDNN prepacking."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TypeVar

import torch
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

Item = TypeVar("Item")
Result = TypeVar("Result")

_STARTING = threading.Lock()
"""Held while the thread count is 1, since torch gives every new thread the count that was set last."""


class ThreadPool:
    """As many threads as torch would use, each of which computes with one torch thread.

    Two threads with a matrix product each are faster than two that share every product: those wait for each other after
    every step, and spin while they wait. On a busy machine that triples the CPU time of a run.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._thread = threading.local()
        barrier = threading.Barrier(count)

        def start(_: int) -> None:
            torch.get_num_threads()  # a thread adopts the number set last when it first needs one: not later
            barrier.wait()
            torch.set_num_threads(1)
            self._thread.is_worker = True

        self._pool = ThreadPoolExecutor(count, thread_name_prefix="wug")
        with _STARTING:
            list(self._pool.map(start, range(count)))
            torch.set_num_threads(count)  # for this thread, and those that begin later

    @property
    def free(self) -> int:
        """Threads available to the caller: one inside a worker, else all."""
        return 1 if getattr(self._thread, "is_worker", False) else self._count

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """The results of `function`, in order; torch uses all its threads for a single item."""

        def work(item: Item) -> Result:
            with torch.inference_mode():
                return function(item)

        tasks = list(items)
        if len(tasks) < 2 or self.free == 1:
            return [function(item) for item in tasks]
        return list(self._pool.map(work, tasks))


def thread_pool_for(device: str, *, remote_code: bool = False) -> ThreadPool | None:
    """A pool for a model; None for a single thread, and for remote code, which may not be thread-safe."""
    threads = torch.get_num_threads()
    return ThreadPool(threads) if device == "cpu" and threads > 1 and not remote_code else None


def prepack(model: PreTrainedModel, *, output_layer: bool = True) -> Callable[[], None]:
    """Prepack the linear layers of a float32 model on a CPU; returns a function that undoes it.

    oneDNN multiplies faster than torch's `linear` if the weights are in its own layout: a run of 124M parameters on an
    AMD processor takes 22 s of CPU instead of 37. Does nothing for other models, and without oneDNN. Matrices that two
    layers share, such as input and output embeddings, are left alone: a second layout would take additional memory.
    """
    if not multiplies(model.get_input_embeddings().weight):
        return lambda: None
    skipped = None
    if not output_layer:
        with suppress(AttributeError, NotImplementedError, TypeError):  # not every model names it
            skipped = model.get_output_embeddings()
    uses = Counter(id(parameter) for _, parameter in model.named_parameters(remove_duplicate=False))
    packed: list[tuple[torch.nn.Module, torch.Tensor]] = []
    for layer in model.modules():
        if type(layer) not in (torch.nn.Linear, Conv1D) or layer is skipped or uses[id(layer.weight)] > 1:
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

    def undo() -> None:
        for layer, weight in packed:
            del layer.forward
            plain = weight.to_dense()
            plain = plain if type(layer) is torch.nn.Linear else plain.t().contiguous()
            layer.weight = torch.nn.Parameter(plain, requires_grad=False)

    return undo


def multiplies(weight: torch.Tensor) -> bool:
    """Whether oneDNN multiplies by a matrix: in float32, on a CPU, if this torch has it."""
    if weight.device.type != "cpu" or weight.dtype != torch.float32 or not torch.backends.mkldnn.is_available():
        return False
    return hasattr(torch.ops.mkldnn, "_linear_pointwise")


def linear(weight: torch.Tensor, bias: torch.Tensor | None, values: torch.Tensor) -> torch.Tensor:
    """The product with a matrix (outputs, inputs), prepacked or not."""
    return torch.ops.mkldnn._linear_pointwise(values, weight, bias, "none", [], "")
