"""Log-probabilities from logits that come block by block: some places, some words at a time.

The logits of all places at once are far larger than all else that is computed: 200 MB for a thousand places and GPT-2's
vocabulary, and memory of that size goes back to the system after every batch. In blocks that fit the cache they are
written, summed and read in the same memory again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from wug.models._ragged import Ints

WHOLE = {"cpu": 1 << 22, "cuda": 1 << 30}
"""Logits normalised at a time where the model has computed those of all places."""

NOTHING = -200.0
"""What lies so far below the highest logit has no probability in float32, and adds nothing to an entropy."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What was found out about questions, as tensors."""

    values: Any
    """For each question, the log-probability of its target."""
    joint: list[Any]
    """For each group, its log-probability at its places."""
    entropies: Any = None
    """For each question, the entropy in nats of the distribution that it is put to; None if not wanted."""
    ranks: Any = None
    """For each question, the rank of its target there."""


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
    distribution: bool = False
    """Whether entropies and ranks are wanted."""


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

    def single(self, states: Any, words: Any) -> tuple[Any, Any]:
        """The logit in float32 of one word for each state, and how far rounding may leave it from that of its block."""
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

    def single(self, states: Any, words: Any) -> tuple[Any, Any]:
        """As the model computed it."""
        logits = states.gather(1, words[:, None])[:, 0].float()
        return logits, logits.new_zeros(())

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
        # Entropies and ranks are told from logits.
        shares = None if part.distribution else output.shares(here)
        return _read(output, here, part, send) if shares is None else _look_up(shares, part, send)

    parts = output.each(read, range(0, max(1, len(questions.places)), step))
    return Answers(
        torch.cat([found.values for found in parts]),
        [torch.cat([found.joint[group] for found in parts]) for group in range(len(questions.groups))],
        torch.cat([found.entropies for found in parts]) if questions.distribution else None,
        torch.cat([found.ranks for found in parts]) if questions.distribution else None,
    )


def _part(questions: Questions, low: int, high: int) -> Questions:
    """The questions to the places `low:high`, counted from there."""
    here = _between(questions.parents, low, high)
    groups = [Group(g.words, g.places[_between(g.places, low, high)] - low) for g in questions.groups]
    places, parents, targets = questions.places[low:high], questions.parents[here] - low, questions.targets[here]
    return Questions(places, parents, targets, groups, questions.distribution)


def _read(output: Output, states: Any, questions: Questions, send: Callable[[Ints], Any]) -> Answers:
    """The answers to questions about the places of one series of blocks."""
    import torch

    order = np.argsort(questions.targets, kind="stable")  # by block, whatever blocks there are
    parents, targets = questions.parents[order], questions.targets[order]
    found: list[Any] = []
    totals: list[Any] = []
    joint: list[list[Any]] = [[] for _ in questions.groups]
    spread = _Spread(output, states, questions, send) if questions.distribution else None
    for low, logits in output.blocks(states):
        high = low + logits.shape[1]
        here = _between(targets, low, high)
        rows, columns = send(np.stack([parents[here], targets[here] - low]))
        found.append(logits[rows, columns])
        for group, parts in zip(questions.groups, joint, strict=True):
            words = group.words[_between(group.words, low, high)] - low
            if len(words):
                parts.append(_log_sum(logits[send(group.places)[:, None], send(words)]))
        totals.append(_log_sum(logits) if spread is None else spread.add(logits))
    total = torch.logsumexp(torch.stack(totals), dim=0)
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    back, all_parents = send(np.stack([back, questions.parents]))
    return Answers(
        torch.cat(found)[back] - total[all_parents],
        [
            torch.logsumexp(torch.stack(parts), dim=0) - total[send(group.places)]
            for group, parts in zip(questions.groups, joint, strict=True)
        ],
        None if spread is None else spread.entropies()[all_parents],
        None if spread is None else spread.ranks(torch.cat(found)[back]),
    )


class _Spread:
    """Entropies and ranks of distributions that come block by block; no block is looked at twice.

    An entropy is log Z minus the mean logit, so that sums of p and p times logit are enough. A rank is told by the
    logits above that of the target, which is computed beforehand by itself: the block that has it may be the last. What
    is above it by less than rounding is no other than equal.
    """

    def __init__(self, output: Output, states: Any, questions: Questions, send: Callable[[Ints], Any]) -> None:
        parents, targets = send(np.stack([questions.parents, questions.targets]))
        # As a rule each place is asked once: then its row needs no copy.
        self._parents = None if np.array_equal(questions.parents, np.arange(len(states))) else parents
        logits, rounding = output.single(states[parents], targets)
        self._bounds = logits + rounding
        self._above = send(np.zeros(len(questions.targets), dtype=np.int64))
        self._highest: list[Any] = []
        self._sums: list[Any] = []
        self._means: list[Any] = []

    def add(self, logits: Any) -> Any:
        """Take a block in, which is overwritten; the logarithm of the sum of its exponentials comes back."""
        import torch

        rows = logits if self._parents is None else logits[self._parents]
        self._above += (rows > self._bounds[:, None]).sum(dim=1)
        highest = logits.amax(dim=1, keepdim=True).clamp_(min=torch.finfo(logits.dtype).min)
        logits.sub_(highest).clamp_(min=NOTHING)
        powers = logits.exp()
        sums = powers.sum(dim=1)
        self._highest.append(highest[:, 0])
        self._sums.append(sums)
        self._means.append(torch.linalg.vecdot(powers, logits))
        return sums.log() + highest[:, 0]

    def ranks(self, targets: Any) -> Any:
        """For each question, the rank of its target; `targets` has their logits as the blocks have them."""
        return self._above - (targets > self._bounds).long() + 1  # no word is above itself

    def entropies(self) -> Any:
        """For each place, the entropy in nats."""
        import torch

        highest = torch.stack(self._highest).double()
        apart = highest - highest.amax(dim=0)
        scale = apart.exp()
        sums, means = torch.stack(self._sums).double(), torch.stack(self._means).double()
        total = (scale * sums).sum(dim=0)
        mean = (scale * (means + sums * apart)).sum(dim=0) / total
        return (total.log() - mean).clamp_(min=0)


def _look_up(shares: Any, questions: Questions, send: Callable[[Ints], Any]) -> Answers:
    """The answers to questions about places of which the log-probabilities of all words are there."""
    import torch

    parents, targets = send(np.stack([questions.parents, questions.targets]))
    groups = [
        torch.logsumexp(shares[send(group.places)[:, None], send(group.words)], dim=1) for group in questions.groups
    ]
    return Answers(shares[parents, targets], groups)


def _log_sum(logits: Any) -> Any:
    """The logarithm of the sum of the exponentials of each row, which is overwritten."""
    import torch

    # The least finite number: a row of nothing but -inf sums to 0, not to "no number".
    highest = logits.amax(dim=1, keepdim=True).clamp_(min=torch.finfo(logits.dtype).min)
    return logits.sub_(highest).exp_().sum(dim=1).log_().add_(highest[:, 0])


def _between(ascending: Ints, low: int, high: int) -> slice:
    first, last = np.searchsorted(ascending, [low, high])
    return slice(int(first), int(last))
