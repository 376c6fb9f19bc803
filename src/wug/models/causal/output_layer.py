"""The output layer of a causal model, applied to hidden states in blocks."""

from __future__ import annotations

import math
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from transformers import PreTrainedModel

from wug.errors import ModelError
from wug.models.decoding.logprobs import LogitSource, LogprobResult
from wug.models.hardware import device_of
from wug.models.huggingface.cpu import ThreadPool, linear, multiplies

BLOCK_SIZE = (256, 2048)
"""Positions and tokens of the vocabulary in a block: 2 MB of logits, which fit into the cache of a CPU."""
MAX_GPU_LOGITS = 1 << 28
"""Logits that a GPU computes at a time, for the whole vocabulary."""
MAX_GPU_POSITIONS = 4096
"""Positions that a GPU computes at a time, however small the vocabulary is."""
ALIGNMENT = 64
"""On a GPU the vocabulary is padded to a multiple of this: matrices of odd widths are slow there."""


@dataclass(frozen=True, slots=True)
class Adjustment:
    """What a model does to its logits before it returns them: `cap * tanh(scale * x / cap)`."""

    scale: float = 1.0
    cap: float = math.inf
    """No logit is farther from 0 (Gemma 2's soft cap)."""

    def apply_(self, logits: torch.Tensor) -> torch.Tensor:
        """Adjust logits in place, in their dtype."""
        if self.scale != 1.0:
            logits.mul_(self.scale)
        return logits if math.isinf(self.cap) else logits.div_(self.cap).tanh_().mul_(self.cap)


class OutputLayer(LogitSource):
    """The weights of an output layer, applied in blocks."""

    adjustment: Adjustment
    """The same for all checkpoints of a training."""

    def __init__(
        self,
        layer: torch.nn.Linear,
        adjustment: Adjustment,
        *,
        at_once: bool | None = None,
        pool: ThreadPool | None = None,
    ) -> None:
        """`at_once` says whether the logits of all tokens are computed together (default: on a GPU)."""
        self._layer, self.adjustment = layer, adjustment
        self._size = int(layer.weight.shape[0])
        self._weight, self._bias = layer.weight.detach(), layer.bias
        self._positions, self._tokens = BLOCK_SIZE
        self._pool = pool
        self._at_once = layer.weight.is_cuda if at_once is None else at_once
        if self._at_once:
            padding = -self._size % ALIGNMENT
            if padding:
                self._weight = torch.nn.functional.pad(self._weight, (0, 0, 0, padding))
                self._bias = None if self._bias is None else torch.nn.functional.pad(self._bias, (0, padding))
            self._tokens = len(self._weight)
            self._positions = max(1, min(MAX_GPU_POSITIONS, MAX_GPU_LOGITS // self._tokens))
        self._tokens = min(self._tokens, len(self._weight))
        self._capturing = threading.Lock()
        self._captured: dict[int, list[torch.Tensor]] = defaultdict(list)

    @contextmanager
    def capture(self) -> Iterator[None]:
        """Meanwhile, the model's own output layer computes nothing, and its inputs are `captured`."""

        def catch(states: torch.Tensor) -> torch.Tensor:
            self._captured[threading.get_ident()].append(states)
            return states.new_zeros(1, 1, self._size)

        with self._capturing:
            self._layer.forward = catch
            try:
                yield
            finally:
                del self._layer.forward
                self._captured.clear()

    def captured(self) -> torch.Tensor:
        """The input of the model's output layer in the last forward pass of this thread."""
        (states,) = self._captured.pop(threading.get_ident(), [])
        return states

    def blocks(self, states: torch.Tensor) -> Iterator[tuple[int, torch.Tensor]]:
        """The logits of all tokens, in blocks."""
        for low in range(0, self._size, self._tokens):
            yield low, self._logits(states, low)[:, : self._size - low].float()

    def log_softmax(self, states: torch.Tensor) -> torch.Tensor | None:
        """Tokens that were added as padding have no probability."""
        if not self._at_once:
            return None
        logits = self._logits(states, 0)
        logits[:, self._size :] = -torch.inf
        return torch.log_softmax(logits, dim=-1, dtype=torch.float32)

    def _logits(self, states: torch.Tensor, low: int) -> torch.Tensor:
        weight = self._weight[low : low + self._tokens]
        bias = None if self._bias is None else self._bias[low : low + self._tokens]
        by_onednn = multiplies(weight)
        logits = linear(weight, bias, states) if by_onednn else torch.nn.functional.linear(states, weight, bias)
        return self.adjustment.apply_(logits)

    def step(self, positions: int) -> int:
        """An equal share for each thread, at most a block."""
        threads = 1 if self._pool is None else self._pool.free
        return max(1, min(self._positions, -(-positions // threads)))

    def map(self, read: Callable[[int], LogprobResult], lows: Iterable[int]) -> list[LogprobResult]:
        """In parallel threads: to divide every small operation would be to wait for the slowest each time."""
        return [read(low) for low in lows] if self._pool is None else self._pool.map(read, lows)


def find_output_layer(model: PreTrainedModel, tokens: Sequence[int], pool: ThreadPool | None = None) -> OutputLayer:
    """The output layer of a model, with its adjustment of logits; a ModelError if that is not simple.

    The adjustment is measured by replacing the logits that the model computes for the text `tokens` with known ones.
    """
    layer = _linear_output_layer(model)
    size = layer.out_features
    generator = np.random.default_rng(1971)
    test_logits = torch.from_numpy(generator.choice([-1.0, 1.0], size) * 10 ** generator.uniform(-3, 3, size))
    constant_rows = [torch.full((size,), value, dtype=torch.float64) for value in (1e4, 1e3, 1.0)]
    adjusted = _adjusted(model, layer, tokens, torch.stack([*constant_rows, test_logits]))
    far, near, unit = (float(logits[0]) for logits in adjusted[:3])
    adjustment = None
    if math.isclose(far, 10 * near, rel_tol=1e-5):
        adjustment = Adjustment(scale=_round(unit))
    elif 0 < unit < far:
        adjustment = Adjustment(_round(math.atanh(unit / far) * far), far)
    if adjustment is None or not torch.allclose(adjusted[3], adjustment.apply_(test_logits), rtol=1e-5, atol=1e-7):
        raise ModelError("it adjusts its logits in an unknown way")
    return OutputLayer(layer, adjustment, pool=pool)


def known_output_layer(model: PreTrainedModel, adjustment: Adjustment, pool: ThreadPool | None = None) -> OutputLayer:
    """The output layer of a model with a known adjustment; a ModelError if it is not a plain linear layer."""
    return OutputLayer(_linear_output_layer(model), adjustment, pool=pool)


def _linear_output_layer(model: PreTrainedModel) -> torch.nn.Linear:
    layer = model.get_output_embeddings()
    if type(layer) is not torch.nn.Linear or "forward" in vars(layer):
        raise ModelError("its output layer is not a plain linear layer")
    return layer


def _adjusted(
    model: PreTrainedModel, layer: torch.nn.Linear, tokens: Sequence[int], logits: torch.Tensor
) -> torch.Tensor:
    """What the model makes of each row of known logits, in one pass."""

    def replace_logits(_: object, __: object, computed: torch.Tensor) -> torch.Tensor:
        return logits.to(computed.device)[:, None].expand(computed.shape).clone()  # models may write into it

    handle = layer.register_forward_hook(replace_logits)
    try:
        with torch.inference_mode():
            texts = torch.tensor([list(tokens)] * len(logits), device=device_of(model))
            adjusted = model(input_ids=texts).logits
    finally:
        handle.remove()
    return adjusted[:, 0].double().cpu()


def _round(scale: float) -> float:
    """A scale without rounding errors if it is plainly 1."""
    return 1.0 if abs(scale - 1) < 1e-5 else scale
