"""A recurrent network of words, and two ways through a list of sentences.

Fresh: every distinct beginning is a node of a prefix tree, and the nodes of one depth are computed together. Carried:
the state after a sentence is the state before the next.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from wug.arrays import Floats, Ints
from wug.errors import ModelError, first_line
from wug.models.decoding.logprobs import MIN_LOGPROB
from wug.models.hardware import nan_error, without_cudnn
from wug.models.lstm.weights import Weights
from wug.models.tokenization.ragged import Ragged

MAX_LOGITS = {"cpu": 1 << 25, "cuda": 1 << 28}


class RecurrentNetwork:
    """Weights on a device."""

    def __init__(self, weights: Weights, *, device: str, dtype: str) -> None:
        rnn = weights.module()
        rnn.load_state_dict(weights.rnn)
        try:
            target: dict[str, Any] = {"device": torch.device(device), "dtype": getattr(torch, dtype)}
            self._rnn = rnn.to(**target).eval().requires_grad_(False)
            self._encoder, self._decoder = weights.encoder.to(**target), weights.decoder.to(**target)
            self._bias = None if weights.bias is None else weights.bias.to(**target)
        except (RuntimeError, AssertionError, TypeError) as error:
            raise ModelError(f"cannot move to device {device!r}: {first_line(error)}") from error
        self.device = target["device"]
        self.words = weights.words
        self.hidden, self.output = weights.hidden, weights.output
        self.rows = max(1, MAX_LOGITS.get(self.device.type, MAX_LOGITS["cpu"]) // self.words)
        """Outputs per pass of the output layer."""

    def start(self) -> tuple[Any, ...]:
        """The zero state of one sequence."""
        sizes = (self.output, self.hidden) if self._rnn.mode == "LSTM" else (self.hidden,)
        target = {"device": self.device, "dtype": self._encoder.dtype}
        return tuple(torch.zeros(self._rnn.num_layers, 1, size, **target) for size in sizes)

    def step(self, tokens: Ints, state: tuple[Any, ...], parents: Ints) -> tuple[Any, tuple[Any, ...]]:
        """Read one word after each of `parents`, which index the state; returns outputs, one per row, and the state."""
        indices = self._send(parents)
        outputs, next_state = self._run(tokens[None], tuple(tensor[:, indices] for tensor in state))
        return outputs[0], next_state

    def read(self, tokens: Ints, state: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        """Read words one after the other; returns outputs, one per row, and the last state."""
        if not len(tokens):
            return self._encoder.new_empty(0, self.output), state
        outputs, next_state = self._run(tokens[:, None], state)
        return outputs[:, 0], next_state

    def columns(self, outputs: torch.Tensor, rows: Ints, targets: Ints, *, distribution: bool = False) -> Any:
        """The log-probability of each target after the output in its row, as one row.

        With `distribution` there are three rows: entropies in nats and ranks follow.
        """
        order = np.argsort(rows, kind="stable")
        precise = torch.float64 if outputs.dtype == torch.float64 else torch.float32
        values = torch.empty(3 if distribution else 1, len(rows), dtype=precise, device=self.device)
        bounds = np.searchsorted(rows[order], np.arange(0, len(outputs) + self.rows, self.rows))
        for first, low, high in zip(range(0, len(outputs), self.rows), bounds, bounds[1:], strict=False):
            if low == high:
                continue
            block = outputs[first : first + self.rows]
            logits = torch.nn.functional.linear(block, self._decoder, self._bias).to(precise)
            block_targets = order[low:high]
            block_rows = self._send(rows[block_targets] - first)
            target_logits, total = logits[block_rows, self._send(targets[block_targets])], logits.logsumexp(dim=1)
            target_indices = self._send(block_targets)
            values[0, target_indices] = target_logits - total[block_rows]
            if distribution:
                values[1, target_indices] = _entropies(logits, total)[block_rows]
                values[2, target_indices] = _ranks(logits, block_rows, target_logits).to(precise)
        return values

    def _run(self, tokens: Ints, state: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        embedded = torch.nn.functional.embedding(self._send(tokens), self._encoder)
        with without_cudnn(self.device), warnings.catch_warnings():
            # torch warns that oneDNN has no projections, and uses its own kernels.
            warnings.filterwarnings("ignore", message="LSTM with projections")
            outputs, next_state = self._rnn(embedded, state if len(state) > 1 else state[0])
        return outputs, next_state if len(state) > 1 else (next_state,)

    def _send(self, numbers: Ints) -> Any:
        return torch.from_numpy(np.ascontiguousarray(numbers)).to(self.device, non_blocking=True)


def _entropies(logits: torch.Tensor, total: torch.Tensor) -> Any:
    logs = logits - total[:, None]
    return -(logs.exp() * logs.clamp(min=MIN_LOGPROB)).sum(dim=1)


def _ranks(logits: torch.Tensor, rows: torch.Tensor, target_logits: torch.Tensor) -> Any:
    """For each target, 1 plus the number of words of its row above it."""
    step = max(1, len(logits))
    blocks = zip(rows.split(step), target_logits.split(step), strict=True)  # no more rows at a time than there are
    return torch.cat([(logits[block] > bound[:, None]).sum(dim=1) + 1 for block, bound in blocks])


@dataclass(frozen=True, slots=True)
class Level:
    """The nodes of one depth, and their targets."""

    tokens: Ints
    """For each node, its last word."""
    parents: Ints
    """For each node, the index of its parent in the level above."""
    nodes: Ints
    """For each target, its node."""
    targets: Ints
    where: Ints
    """For each target, its index in the flat sequences."""


def levels(sequences: Ragged, words: int) -> Iterator[Level]:
    """The levels of the prefix tree of some sequences; targets are all words but the first of each."""
    starts, lengths = sequences.starts, sequences.lengths
    active = np.flatnonzero(lengths > 1)
    parents = np.zeros(len(active), dtype=np.int64)
    depth = 0
    while len(active):
        positions = starts[active] + depth
        pairs, nodes = np.unique(parents * words + sequences.flat[positions], return_inverse=True)
        yield Level(pairs % words, pairs // words, nodes, sequences.flat[positions + 1], positions + 1)
        depth += 1
        continuing = lengths[active] > depth + 1
        active, parents = active[continuing], nodes[continuing]


def walk_tree(network: RecurrentNetwork, sequences: Ragged, *, distribution: bool = False) -> Floats:
    """The log-probability of each word in the flat sequences from the zero state; NaN for the first of each.

    One row; with `distribution`, three: entropies and ranks follow.
    """
    pending = _PendingOutputs(network, distribution)
    state = network.start()
    for level in levels(sequences, network.words):
        outputs, state = network.step(level.tokens, state, level.parents)
        first = pending.add(outputs)
        pending.target(first + level.nodes, level.targets, level.where)
        pending.flush()
    return pending.collect(len(sequences.flat))


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a running text, and alternatives to score in its place."""

    words: Ints
    """The words from which the state continues."""
    alternatives: Sequence[Ints]
    """Texts to score, each up to its last scored word."""
    preceding: Ints
    """Words to be read first, which are not scored."""


def walk_list(
    network: RecurrentNetwork, passages: Sequence[Passage], opening: Ints, *, distribution: bool = False
) -> list[Floats]:
    """The log-probabilities of each alternative's words, with the state carried on from passage to passage.

    In one row or three, as by `walk_tree`. An alternative is read from where it departs from its passage. `opening` is
    read first; without it the very first word gets NaN.
    """
    pending = _PendingOutputs(network, distribution)
    last_output, state = network.read(opening, network.start())
    bounds = [0]
    for passage in passages:
        preceding_outputs, state = network.read(passage.preceding, state)
        last_output = preceding_outputs[-1:] if len(preceding_outputs) else last_output
        shared = min((_common(passage.words, words) for words in passage.alternatives), default=0)
        shared_outputs, shared_state = network.read(passage.words[:shared], state)
        rest = passage.words[shared:]
        rest_outputs, state = network.read(rest, shared_state)
        # What comes before the first word, if anything does; then the shared words.
        first_row = pending.add(last_output)
        pending.add(shared_outputs)
        skipped = 1 - len(last_output)
        for words in passage.alternatives:
            ending = words[shared:]
            same = _common(rest, ending) == len(ending)
            ending_row = pending.add(rest_outputs[: len(ending)] if same else network.read(ending, shared_state)[0])
            rows = np.append(first_row + np.arange(len(last_output) + shared), ending_row + np.arange(len(ending)))
            targets = words[skipped:]
            pending.target(rows[: len(targets)], targets, bounds[-1] + np.arange(skipped, len(words)))
            bounds.append(bounds[-1] + len(words))
        last_output = next((outputs[-1:] for outputs in (rest_outputs, shared_outputs) if len(outputs)), last_output)
        pending.flush()
    values = pending.collect(bounds[-1])
    return [values[:, low:high] for low, high in pairwise(bounds)]


def _common(first: Ints, second: Ints) -> int:
    size = min(len(first), len(second))
    differences = np.flatnonzero(first[:size] != second[:size])
    return int(differences[0]) if len(differences) else size


class _PendingOutputs:
    """Outputs and their targets; the output layer runs when there are enough."""

    def __init__(self, network: RecurrentNetwork, distribution: bool) -> None:
        self._network, self._distribution = network, distribution
        self._answers: list[tuple[Ints, Any]] = []
        self._clear()

    def _clear(self) -> None:
        self._size = 0
        self._outputs: list[Any] = []
        self._rows: list[Ints] = []
        self._targets: list[Ints] = []
        self._where: list[Ints] = []

    def add(self, outputs: torch.Tensor) -> int:
        """Add outputs; returns the row of the first, valid until `settle`."""
        first = self._size
        self._outputs.append(outputs)
        self._size += len(outputs)
        return first

    def target(self, rows: Ints, targets: Ints, where: Ints) -> None:
        """Add targets of the outputs in `rows`, whose values go to `where`."""
        self._rows.append(rows)
        self._targets.append(targets)
        self._where.append(where)

    def flush(self, *, min_rows: int | None = None) -> None:
        """Run the output layer if there are enough outputs."""
        if self._size < (self._network.rows if min_rows is None else min_rows):
            return
        rows, targets = np.concatenate(self._rows), np.concatenate(self._targets)
        values = self._network.columns(torch.cat(self._outputs), rows, targets, distribution=self._distribution)
        self._answers.append((np.concatenate(self._where), values))
        self._clear()

    def collect(self, size: int) -> Floats:
        """All values; NaN for words without a target."""
        self.flush(min_rows=1)
        result = np.full((3 if self._distribution else 1, size), np.nan)
        for where, values in self._answers:
            numbers = values.cpu().double().numpy()
            if np.isnan(numbers).any():
                raise nan_error("the network")
            result[:, where] = numbers
        return result
