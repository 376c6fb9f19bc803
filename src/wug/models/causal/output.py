"""Log-probabilities from logits that come block by block: some places, some words at a time.

The logits of all places at once are far larger than all else that is computed: 200 MB for a thousand places and GPT-2's
vocabulary, and memory of that size goes back to the system after every batch. In blocks that fit the cache they are
written, summed and read in the same memory again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from wug.models._ragged import Ints

WHOLE = {"cpu": 1 << 22, "cuda": 1 << 30}
"""Logits normalised at a time where the model has computed those of all places."""

Answers: TypeAlias = tuple[Any, list[Any]]
"""The log-probability of each question's target, and of each group at its places."""


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
    """Where logits come from."""

    def step(self, places: int) -> int:
        """How many of so many places to take at a time."""
        ...

    def each(self, read: Callable[[int], Answers], lows: Iterable[int]) -> list[Answers]:
        """What `read` gives for the places from each of `lows` on."""
        ...

    def blocks(self, states: Any) -> Iterator[tuple[int, Any]]:
        """The logits in float32, each block with its first word: to be overwritten, and gone with the next."""
        ...

    def shares(self, states: Any) -> Any:
        """The log-probabilities of all words in float32, where they are computed at once; else None."""
        ...


class Whole:
    """Logits that the model has computed itself: right for every model."""

    def __init__(self, device: Any, vocabulary: int) -> None:
        self._places = max(1, WHOLE.get(device.type, WHOLE["cpu"]) // vocabulary)

    def step(self, places: int) -> int:
        """As many as bound the copies that are made."""
        return self._places

    def each(self, read: Callable[[int], Answers], lows: Iterable[int]) -> list[Answers]:
        """One after the other."""
        return [read(low) for low in lows]

    def blocks(self, states: Any) -> Iterator[tuple[int, Any]]:
        """The states are the logits: one block."""
        yield 0, states.float()

    def shares(self, states: Any) -> Any:
        """On a GPU, which does in one step what would be four."""
        import torch

        return torch.log_softmax(states, dim=-1, dtype=torch.float32) if states.is_cuda else None


def answer(output: Output, states: Any, questions: Questions, send: Callable[[Ints], Any]) -> Answers:
    """The log-probability of each question's target, and of each group at its places.

    `send` brings an array of numpy to the device.
    """
    import torch

    step = output.step(len(questions.places))

    def read(low: int) -> Answers:
        part = _part(questions, low, low + step)
        here = states[send(part.places)]
        shares = output.shares(here)
        return _read(output.blocks(here), part, send) if shares is None else _look_up(shares, part, send)

    parts = output.each(read, range(0, max(1, len(questions.places)), step))
    joint = [torch.cat([found[1][group] for found in parts]) for group in range(len(questions.groups))]
    return torch.cat([values for values, _ in parts]), joint


def _part(questions: Questions, low: int, high: int) -> Questions:
    """The questions to the places `low:high`, counted from there."""
    here = _between(questions.parents, low, high)
    groups = [Group(g.words, g.places[_between(g.places, low, high)] - low) for g in questions.groups]
    return Questions(questions.places[low:high], questions.parents[here] - low, questions.targets[here], groups)


def _read(blocks: Iterator[tuple[int, Any]], questions: Questions, send: Callable[[Ints], Any]) -> Answers:
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


def _look_up(shares: Any, questions: Questions, send: Callable[[Ints], Any]) -> Answers:
    """The answers to questions about places of which the log-probabilities of all words are there."""
    import torch

    parents, targets = send(np.stack([questions.parents, questions.targets]))
    groups = [
        torch.logsumexp(shares[send(group.places)[:, None], send(group.words)], dim=1) for group in questions.groups
    ]
    return shares[parents, targets], groups


def _log_sum(logits: Any) -> Any:
    """The logarithm of the sum of the exponentials of each row, which is overwritten."""
    import torch

    # The least finite number: a row of nothing but -inf sums to 0, not to "no number".
    highest = logits.amax(dim=1, keepdim=True).clamp_(min=torch.finfo(logits.dtype).min)
    return logits.sub_(highest).exp_().sum(dim=1).log_().add_(highest[:, 0])


def _between(ascending: Ints, low: int, high: int) -> slice:
    first, last = np.searchsorted(ascending, [low, high])
    return slice(int(first), int(last))
