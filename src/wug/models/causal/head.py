"""The output layer of a causal model: log-probabilities from hidden states, a block of places and words at a time.

The logits of all places at once are far larger than all else that is computed: 200 MB for a thousand places and GPT-2's
vocabulary, and memory of that size goes back to the system after every batch. In blocks that fit the cache they are
written, summed and read in the same memory again and again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from wug.errors import ModelError
from wug.models._ragged import Ints

BLOCK = {"cpu": (256, 2048), "cuda": (4096, 1 << 18)}
"""Places and words in a block: on a CPU 2 MB of logits, on a GPU as many as keep it busy."""
WHOLE = {"cpu": 1 << 22, "cuda": 1 << 30}
"""Logits normalised at a time where the model has computed those of all places."""
ALIGNED = 64
"""On a GPU the number of words is filled up to a multiple of it: matrices of odd widths are slow there."""


@dataclass(frozen=True, slots=True)
class Group:
    """A set of words whose joint probability is wanted at some places."""

    words: Ints
    """Ascending; a word that stands twice counts twice."""
    places: Ints
    """Which of the places, ascending."""


@dataclass(frozen=True, slots=True)
class Questions:
    """What is asked of the states of some places."""

    places: Ints
    """Where their states stand."""
    parents: Ints
    """Which of the places each question is put to, ascending."""
    targets: Ints
    """The word whose log-probability is wanted there."""
    groups: Sequence[Group] = ()


class Output(Protocol):
    """Where logits come from: the states of some places, block by block."""

    places: int
    """Places whose states are given at a time."""

    def blocks(self, states: Any) -> Iterator[tuple[int, Any]]:
        """The logits in float32, each block with its first word: to be overwritten, and gone with the next."""
        ...


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


class Whole:
    """Logits that the model has computed itself: right for every model."""

    def __init__(self, device: Any, vocabulary: int) -> None:
        self.places = max(1, WHOLE.get(device.type, WHOLE["cpu"]) // vocabulary)

    def blocks(self, states: Any) -> Iterator[tuple[int, Any]]:
        """The states are the logits: one block."""
        yield 0, states.float()


class Head:
    """The weights of an output layer, applied in blocks."""

    def __init__(self, linear: Any, adjustment: Adjustment) -> None:
        import torch

        self._linear, self._adjustment = linear, adjustment
        self._size = int(linear.weight.shape[0])
        self._weight, self._bias = linear.weight.detach(), linear.bias
        self.places, self._words = BLOCK.get(linear.weight.device.type, BLOCK["cpu"])
        missing = -self._size % ALIGNED
        if missing and linear.weight.device.type == "cuda":
            self._weight = torch.nn.functional.pad(self._weight, (0, 0, 0, missing))
            self._bias = None if self._bias is None else torch.nn.functional.pad(self._bias, (0, missing))
        self._words = min(self._words, len(self._weight))
        self._room: Any = None

    @contextmanager
    def states(self) -> Iterator[list[Any]]:
        """A list into which the model puts what it hands to its output layer, which then computes a single place."""
        caught: list[Any] = []

        def catch(_: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
            caught.append(inputs[0])
            return (inputs[0][:1, :1], *inputs[1:])

        handle = self._linear.register_forward_pre_hook(catch)
        try:
            yield caught
        finally:
            handle.remove()

    def blocks(self, states: Any) -> Iterator[tuple[int, Any]]:
        """The logits of all words, some words at a time, in memory that is kept."""
        import torch

        for low in range(0, self._size, self._words):
            weight = self._weight[low : low + self._words].t()
            logits = self._reused((len(states), weight.shape[1]))
            if self._bias is None:
                torch.mm(states, weight, out=logits)
            else:
                torch.addmm(self._bias[low : low + self._words], states, weight, out=logits)
            yield low, self._adjustment.apply_(logits[:, : self._size - low]).float()

    def _reused(self, shape: tuple[int, int]) -> Any:
        import torch

        if self._room is None:
            like = self._weight
            self._room = torch.empty(self.places * self._words, dtype=like.dtype, device=like.device)
        return self._room[: shape[0] * shape[1]].view(shape)


def answer(output: Output, states: Any, questions: Questions, send: Any) -> tuple[Any, list[Any]]:
    """The log-probability of each question's target, and of each group at its places.

    `send` brings an array of numpy to the device.
    """
    import torch

    values: list[Any] = []
    groups: list[list[Any]] = [[] for _ in questions.groups]
    for low in range(0, max(1, len(questions.places)), output.places):
        high = low + output.places
        here = _between(questions.parents, low, high)
        at = [group.places[_between(group.places, low, high)] - low for group in questions.groups]
        reading = Questions(
            questions.places[low:high],
            questions.parents[here] - low,
            questions.targets[here],
            [Group(group.words, places) for group, places in zip(questions.groups, at, strict=True)],
        )
        found, joint = _read(output.blocks(states[send(reading.places)]), reading, send)
        values.append(found)
        for column, part in zip(groups, joint, strict=True):
            column.append(part)
    return torch.cat(values), [torch.cat(column) for column in groups]


def _read(blocks: Iterator[tuple[int, Any]], questions: Questions, send: Any) -> tuple[Any, list[Any]]:
    """The answers to questions about the places of one series of blocks."""
    import torch

    order = np.argsort(questions.targets, kind="stable")  # by block, whatever blocks there are
    parents, targets = questions.parents[order], questions.targets[order]
    found: list[Any] = []
    totals: list[Any] = []
    joint: list[list[Any]] = [[] for _ in questions.groups]
    for low, logits in blocks:
        high = low + logits.shape[1]
        here = _between(targets, low, high)
        rows, columns = send(np.stack([parents[here], targets[here] - low]))
        found.append(logits[rows, columns])
        for group, parts in zip(questions.groups, joint, strict=True):
            words = group.words[_between(group.words, low, high)] - low
            if len(words):
                parts.append(_log_sum(logits[send(group.places)[:, None], send(words)]))
        totals.append(_log_sum(logits))
    total = torch.logsumexp(torch.stack(totals), dim=0)
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    back, all_parents = send(np.stack([back, questions.parents]))
    values = torch.cat(found)[back] - total[all_parents]
    return values, [
        torch.logsumexp(torch.stack(parts), dim=0) - total[send(group.places)]
        for group, parts in zip(questions.groups, joint, strict=True)
    ]


def _log_sum(logits: Any) -> Any:
    """The logarithm of the sum of the exponentials of each row, which is overwritten."""
    import torch

    # The least finite number: a row of nothing but -inf sums to 0, not to "no number".
    highest = logits.amax(dim=1, keepdim=True).clamp_(min=torch.finfo(logits.dtype).min)
    return logits.sub_(highest).exp_().sum(dim=1).log_().add_(highest[:, 0])


def _between(ascending: Ints, low: int, high: int) -> slice:
    first, last = np.searchsorted(ascending, [low, high])
    return slice(int(first), int(last))


def find_head(model: Any, tokens: Sequence[int]) -> Head:
    """The output layer of a model, with what the model does to its logits; a ModelError where that is not simple.

    What it does is seen by handing it known logits in place of those that it computes for the text `tokens`.
    """
    import torch

    linear = model.get_output_embeddings()
    if type(linear) is not torch.nn.Linear or "forward" in vars(linear):
        raise ModelError("its output layer is no plain matrix")
    size = linear.out_features
    far, near, unit = (
        float(_adjusted(model, linear, tokens, torch.full((size,), value, dtype=torch.float64))[0])
        for value in (1e4, 1e3, 1.0)
    )
    if math.isclose(far, 10 * near, rel_tol=1e-5):
        adjustment = Adjustment(scale=_round(unit))
    elif 0 < unit < far:
        adjustment = Adjustment(_round(math.atanh(unit / far) * far), far)
    else:
        raise ModelError("it changes its logits in a way of its own")
    draw = np.random.default_rng(1971)
    known = torch.from_numpy(draw.choice([-1.0, 1.0], size) * 10 ** draw.uniform(-3, 3, size))
    if not torch.allclose(_adjusted(model, linear, tokens, known), adjustment.of(known), rtol=1e-5, atol=1e-7):
        raise ModelError("it changes its logits in a way of its own")
    return Head(linear, adjustment)


def _adjusted(model: Any, linear: Any, tokens: Sequence[int], logits: Any) -> Any:
    """What the model makes of known logits."""
    import torch

    def replaced(_: Any, __: Any, computed: Any) -> Any:
        return logits.to(computed.device).expand(computed.shape).clone()  # models may write into it

    handle = linear.register_forward_hook(replaced)
    try:
        with torch.inference_mode():
            found = model(input_ids=torch.tensor([list(tokens)], device=model.device)).logits
    finally:
        handle.remove()
    return found[0, 0].double().cpu()


def _round(scale: float) -> float:
    """A scale without the rounding of its measurement where that is plainly 1."""
    return 1.0 if abs(scale - 1) < 1e-5 else scale
