"""Log-probabilities from logits that come in blocks: some positions, some tokens of the vocabulary at a time.

All logits at once would be far larger than anything else: 200 MB for a thousand positions and GPT-2's vocabulary, and
memory of that size goes back to the system after every batch. Blocks that fit into the CPU's cache reuse memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch

from wug.arrays import Ints

MAX_LOGITS = {"cpu": 1 << 22, "cuda": 1 << 30}
"""Logits normalised at a time if the model has computed those of all positions."""
MAX_DISTRIBUTIONS = 64
"""Positions at a time whose entropies and ranks are computed, from the logits of all tokens."""
MIN_LOGPROB = -200.0
"""Log-probabilities are raised to this for entropies, so that minus infinity does not give NaN."""

Send: TypeAlias = Callable[[Ints], torch.Tensor]
"""Copies an array to the device."""


@dataclass(frozen=True, slots=True)
class LogprobResult:
    """The values of a query."""

    values: torch.Tensor
    """For each target, its log-probability."""
    groups: list[torch.Tensor]
    """For each group, its log-probability at its positions."""
    entropies: torch.Tensor | None = None
    """For each target, the entropy in nats of its distribution."""
    ranks: torch.Tensor | None = None
    """For each target, its rank."""


@dataclass(frozen=True, slots=True)
class TokenGroup:
    """A set of tokens whose joint probability is needed at some positions."""

    tokens: Ints
    """Ascending; a token that occurs twice counts twice."""
    positions: Ints
    """Indices of the query's positions, ascending."""


@dataclass(frozen=True, slots=True)
class LogprobQuery:
    """The log-probabilities that are needed."""

    positions: Ints
    """Rows of the states."""
    parents: Ints
    """For each target, the index of its position, ascending."""
    targets: Ints
    groups: Sequence[TokenGroup] = ()
    distribution: bool = False


class LogitSource:
    """Where logits come from: here, the model has computed them itself, which is right for every model."""

    def __init__(self, device: torch.device, vocabulary: int) -> None:
        self._positions = max(1, MAX_LOGITS.get(device.type, MAX_LOGITS["cpu"]) // vocabulary)

    def step(self, positions: int) -> int:
        """How many of this many positions to take at a time."""
        return self._positions

    def map(self, read: Callable[[int], LogprobResult], lows: Iterable[int]) -> list[LogprobResult]:
        """The results of `read` for the positions from each of `lows` on."""
        return [read(low) for low in lows]

    def blocks(self, states: torch.Tensor) -> Iterator[tuple[int, torch.Tensor]]:
        """Logits in float32, each block with its first token; blocks may be overwritten, and share memory."""
        yield 0, states.float()

    def log_softmax(self, states: torch.Tensor) -> torch.Tensor | None:
        """The log-probabilities of all tokens in float32 if they are computed at once: on a GPU, in one step."""
        return torch.log_softmax(states, dim=-1, dtype=torch.float32) if states.is_cuda else None


def compute_logprobs(source: LogitSource, states: torch.Tensor, query: LogprobQuery, send: Send) -> LogprobResult:
    """The log-probabilities of a query's targets and groups."""
    step = source.step(len(query.positions))
    if query.distribution:
        step = min(step, MAX_DISTRIBUTIONS)

    def read(low: int) -> LogprobResult:
        subquery = _subquery(query, low, low + step)
        rows = states[send(subquery.positions)]
        logprobs = source.log_softmax(rows)
        if subquery.distribution and logprobs is None:
            logits = torch.cat([block.clone() for _, block in source.blocks(rows)], dim=1)
            logprobs = torch.log_softmax(logits, dim=-1)
        return _read_blocks(source, rows, subquery, send) if logprobs is None else _look_up(logprobs, subquery, send)

    results = source.map(read, range(0, max(1, len(query.positions)), step))
    return LogprobResult(
        torch.cat([result.values for result in results]),
        [torch.cat([result.groups[group] for result in results]) for group in range(len(query.groups))],
        torch.cat([result.entropies for result in results]) if query.distribution else None,
        torch.cat([result.ranks for result in results]) if query.distribution else None,
    )


def _subquery(query: LogprobQuery, low: int, high: int) -> LogprobQuery:
    """The query for the positions `low:high`, counted from there."""
    queries = _between(query.parents, low, high)
    groups = [TokenGroup(g.tokens, g.positions[_between(g.positions, low, high)] - low) for g in query.groups]
    parents = query.parents[queries] - low
    return LogprobQuery(query.positions[low:high], parents, query.targets[queries], groups, query.distribution)


def _read_blocks(source: LogitSource, states: torch.Tensor, query: LogprobQuery, send: Send) -> LogprobResult:
    order = np.argsort(query.targets, kind="stable")  # by block, whatever the blocks are
    parents, targets = query.parents[order], query.targets[order]
    target_logits: list[torch.Tensor] = []
    totals: list[torch.Tensor] = []
    groups: list[list[torch.Tensor]] = [[] for _ in query.groups]
    for low, logits in source.blocks(states):
        high = low + logits.shape[1]
        in_block = _between(targets, low, high)
        rows, columns = send(np.stack([parents[in_block], targets[in_block] - low]))
        target_logits.append(logits[rows, columns])
        for group, group_totals in zip(query.groups, groups, strict=True):
            tokens = group.tokens[_between(group.tokens, low, high)] - low
            if len(tokens):
                group_totals.append(_logsumexp_(logits[send(group.positions)[:, None], send(tokens)]))
        totals.append(_logsumexp_(logits))
    total = torch.logsumexp(torch.stack(totals), dim=0)
    inverse = np.empty_like(order)
    inverse[order] = np.arange(len(order))
    back, all_parents = send(np.stack([inverse, query.parents]))
    return LogprobResult(
        torch.cat(target_logits)[back] - total[all_parents],
        [
            torch.logsumexp(torch.stack(group_totals), dim=0) - total[send(group.positions)]
            for group, group_totals in zip(query.groups, groups, strict=True)
        ],
    )


def _look_up(logprobs: torch.Tensor, query: LogprobQuery, send: Send) -> LogprobResult:
    parents, targets = send(np.stack([query.parents, query.targets]))
    groups = [
        torch.logsumexp(logprobs[send(group.positions)[:, None], send(group.tokens)], dim=1) for group in query.groups
    ]
    values = logprobs[parents, targets]
    if not query.distribution:
        return LogprobResult(values, groups)
    products = logprobs.exp().mul_(logprobs.clamp(min=MIN_LOGPROB))
    ranks = (logprobs[parents] > values[:, None]).sum(dim=1) + 1
    return LogprobResult(values, groups, -products.sum(dim=1, dtype=torch.float64)[parents], ranks)


def _logsumexp_(logits: torch.Tensor) -> torch.Tensor:
    # The lowest finite number: a row of nothing but -inf sums to 0, not to NaN.
    highest = logits.amax(dim=1, keepdim=True).clamp_(min=torch.finfo(logits.dtype).min)
    return logits.sub_(highest).exp_().sum(dim=1).log_().add_(highest[:, 0])


def _between(ascending: Ints, low: int, high: int) -> slice:
    first, last = np.searchsorted(ascending, [low, high])
    return slice(int(first), int(last))
