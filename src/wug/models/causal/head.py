"""The output layer of a causal model, applied to hidden states in blocks."""

from __future__ import annotations

import math
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from wug.errors import ModelError
from wug.models._hardware import device_of
from wug.models._prepack import linear as product
from wug.models._prepack import multiplies
from wug.models.causal.output import Answers
from wug.models.causal.workers import Workers

BLOCK = (256, 2048)
"""Places and words in a block: on a CPU 2 MB of logits, which fit its cache."""
AT_ONCE = 1 << 28
"""Logits that a GPU computes at a time, of all words."""
MOST = 4096
"""Places at a time on a GPU, however few words there are."""
ALIGNED = 64
"""On a GPU the number of words is filled up to a multiple of it: matrices of odd widths are slow there."""


@dataclass(frozen=True, slots=True)
class Adjustment:
    """What a model does with its logits before it gives them away: `cap * tanh(scale * x / cap)`."""

    scale: float = 1.0
    cap: float = math.inf
    """No logit is farther from 0 (Gemma 2's soft cap)."""

    def apply_(self, logits: Any) -> Any:
        """The same logits, adjusted in place, in the number format that they have."""
        if self.scale != 1.0:
            logits.mul_(self.scale)
        return logits if math.isinf(self.cap) else logits.div_(self.cap).tanh_().mul_(self.cap)

    def of(self, values: Any) -> Any:
        """The adjusted values, in a new tensor."""
        return self.apply_(values.clone())


class Head:
    """The weights of an output layer, applied in blocks."""

    adjustment: Adjustment
    """What the model does with its logits, the same for all checkpoints of a training."""

    def __init__(
        self, linear: Any, adjustment: Adjustment, *, at_once: bool | None = None, workers: Workers | None = None
    ) -> None:
        """`at_once` says whether the logits of all words are computed together, as is best on a GPU."""
        self._linear, self.adjustment = linear, adjustment
        self._size = int(linear.weight.shape[0])
        self._weight, self._bias = linear.weight.detach(), linear.bias
        self._places, self._words = BLOCK
        self._workers = workers
        self._multiplies = multiplies(self._weight)
        self._at_once = linear.weight.is_cuda if at_once is None else at_once
        if self._at_once:
            self._fill_up()
            self._words = len(self._weight)
            self._places = max(1, min(MOST, AT_ONCE // self._words))
        self._words = min(self._words, len(self._weight))
        self._rooms = threading.local()
        self._one_listener = threading.Lock()
        self._caught: dict[int, list[Any]] = defaultdict(list)

    def _fill_up(self) -> None:
        """Add words to a whole number of `ALIGNED` ones."""
        import torch

        missing = -self._size % ALIGNED
        if missing:
            self._weight = torch.nn.functional.pad(self._weight, (0, 0, 0, missing))
            self._bias = None if self._bias is None else torch.nn.functional.pad(self._bias, (0, missing))

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Meanwhile, the model's own output layer computes nothing, and what it was handed is `caught`."""

        def catch(states: Any) -> Any:
            self._caught[threading.get_ident()].append(states)
            return states.new_zeros(1, 1, self._size)

        with self._one_listener:
            self._linear.forward = catch
            try:
                yield
            finally:
                del self._linear.forward
                self._caught.clear()

    def caught(self) -> Any:
        """What the model handed to its output layer in this thread, in the one pass that was made since."""
        found = self._caught.pop(threading.get_ident(), [])
        (states,) = found
        return states

    def blocks(self, states: Any) -> Iterator[tuple[int, Any]]:
        """The logits of all words, some words at a time, in memory that is kept."""
        for low in range(0, self._size, self._words):
            yield low, self._logits(states, low)[:, : self._size - low].float()

    def shares(self, states: Any) -> Any:
        """Words that were added have no probability."""
        import torch

        if not self._at_once:
            return None
        logits = self._logits(states, 0)
        logits[:, self._size :] = -torch.inf
        return torch.log_softmax(logits, dim=-1, dtype=torch.float32)

    def _logits(self, states: Any, low: int) -> Any:
        """The logits of the words from `low` on, as many as are computed at a time."""
        import torch

        weight = self._weight[low : low + self._words]
        bias = None if self._bias is None else self._bias[low : low + self._words]
        if self._multiplies:
            return self.adjustment.apply_(product(weight, bias, states))
        logits = self._reused((len(states), len(weight)))
        if bias is None:
            torch.mm(states, weight.t(), out=logits)
        else:
            torch.addmm(bias, states, weight.t(), out=logits)
        return self.adjustment.apply_(logits)

    def single(self, states: Any, words: Any) -> tuple[Any, Any]:
        """A product of its own for each, summed in float32 as the blocks are, and rounded as they are."""
        import torch

        products = states.float() * self._weight[words].float()
        logits = products.sum(dim=1)
        if self._bias is not None:
            logits += self._bias[words].float()
        # In half precision what sums leave apart is rounded to the same number.
        rounding = products.abs_().sum(dim=1).mul_(torch.finfo(states.dtype).eps * abs(self.adjustment.scale))
        logits = self.adjustment.apply_(logits.to(states.dtype)).float()
        return logits, rounding if states.dtype == torch.float32 else torch.zeros_like(rounding)

    def _reused(self, shape: tuple[int, int]) -> Any:
        """Memory for a block: in each thread the same again, unless it is too small."""
        size = shape[0] * shape[1]
        if getattr(self._rooms, "size", 0) < size:
            self._rooms.memory, self._rooms.size = None, 0  # before the new one is asked for
            self._rooms.memory, self._rooms.size = self._weight.new_empty(size), size
        return self._rooms.memory[:size].view(shape)

    def step(self, places: int) -> int:
        """An equal share for each thread, no more than a block."""
        threads = 1 if self._workers is None else self._workers.free
        return max(1, min(self._places, -(-places // threads)))

    def each(self, read: Callable[[int], Answers], lows: Iterable[int]) -> list[Answers]:
        """Side by side in threads: to share out every small operation would be to wait for the slowest each time."""
        return [read(low) for low in lows] if self._workers is None else self._workers.each(read, lows)


def find_head(model: Any, tokens: Sequence[int], workers: Workers | None = None) -> Head:
    """The output layer of a model, with what the model does to its logits; a ModelError where that is not simple.

    What it does is seen by handing it known logits in place of those that it computes for the text `tokens`.
    """
    import torch

    linear = _output_layer(model)
    size = linear.out_features
    draw = np.random.default_rng(1971)
    known = torch.from_numpy(draw.choice([-1.0, 1.0], size) * 10 ** draw.uniform(-3, 3, size))
    even = [torch.full((size,), value, dtype=torch.float64) for value in (1e4, 1e3, 1.0)]
    found = _adjusted(model, linear, tokens, torch.stack([*even, known]))
    far, near, unit = (float(logits[0]) for logits in found[:3])
    if math.isclose(far, 10 * near, rel_tol=1e-5):
        adjustment = Adjustment(scale=_round(unit))
    elif 0 < unit < far:
        adjustment = Adjustment(_round(math.atanh(unit / far) * far), far)
    else:
        raise ModelError("it changes its logits in a way of its own")
    if not torch.allclose(found[3], adjustment.of(known), rtol=1e-5, atol=1e-7):
        raise ModelError("it changes its logits in a way of its own")
    return Head(linear, adjustment, workers=workers)


def known_head(model: Any, adjustment: Adjustment, workers: Workers | None = None) -> Head:
    """The output layer of a model that is known to do this with its logits; a ModelError where it is no matrix."""
    return Head(_output_layer(model), adjustment, workers=workers)


def _output_layer(model: Any) -> Any:
    import torch

    linear = model.get_output_embeddings()
    if type(linear) is not torch.nn.Linear or "forward" in vars(linear):
        raise ModelError("its output layer is no plain matrix")
    return linear


def _adjusted(model: Any, linear: Any, tokens: Sequence[int], logits: Any) -> Any:
    """What the model makes of each row of known logits, in one pass: the text stands in it as often."""
    import torch

    def replaced(_: Any, __: Any, computed: Any) -> Any:
        return logits.to(computed.device)[:, None].expand(computed.shape).clone()  # models may write into it

    handle = linear.register_forward_hook(replaced)
    try:
        with torch.inference_mode():
            texts = torch.tensor([list(tokens)] * len(logits), device=device_of(model))
            found = model(input_ids=texts).logits
    finally:
        handle.remove()
    return found[:, 0].double().cpu()


def _round(scale: float) -> float:
    """A scale without the rounding of its measurement where that is plainly 1."""
    return 1.0 if abs(scale - 1) < 1e-5 else scale
