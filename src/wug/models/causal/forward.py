"""Forward passes of a causal transformer: in prefix trees, in padded batches, or one text at a time."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import torch
from transformers import PreTrainedModel

from wug.arrays import Floats, Ints, Mask
from wug.errors import ModelError
from wug.models.causal.attention_windows import Layout, Reach
from wug.models.causal.boundaries import WordStarts, add_word_ends, text_starts
from wug.models.causal.noise import Noise
from wug.models.causal.output_layer import OutputLayer
from wug.models.causal.tree import TokenBatch, TreeShape, plan_plain, plan_trees
from wug.models.decoding.logprobs import LogitSource, LogprobQuery, TokenGroup, compute_logprobs
from wug.models.hardware import compute_in_halves, device_of, nan_error
from wug.models.huggingface.cpu import ThreadPool
from wug.models.huggingface.fused import rotating, rotation_of
from wug.models.tokenization.ragged import Ragged

Columns: TypeAlias = dict[str, torch.Tensor]
"""One value per query of a batch: `logprobs`; `openings`, the log-probability that a word begins at its node;
`entropies` in nats and `ranks`. And one per sequence: `leaf_openings`, the opening after its last node."""
RowRange: TypeAlias = tuple[int, int, int]
"""The number of a batch, its first row, and the one after the last."""

ROW_TOKENS = 128
"""Nodes per row. Longer sequences are scored in plain batches: the self-test is good for this width."""
ROW_MULTIPLE = {"cuda": 8}
"""Rows are padded to a multiple of this: fast attention kernels of a GPU need it."""
MAX_CPU_LOGITS = 1 << 23
"""Logits that a model computes at a time on a CPU: more memory would be returned to the system after every batch."""


@dataclass(frozen=True, slots=True)
class PendingBatch:
    """A batch that a GPU may still be computing."""

    batch: TokenBatch
    columns: Columns
    event: torch.cuda.Event | None
    """None if the columns are here already."""

    def wait(self) -> None:
        """Wait for the columns."""
        if self.event is not None:
            self.event.synchronize()


@dataclass(frozen=True, slots=True)
class ScoringMethods:
    """How a model may be scored: what passed the self-test. One text alone is always right."""

    layout: Layout | None = None
    """The attention masks of trees; None if trees are wrong."""
    padded: bool = False
    """Whether texts of different lengths may share a batch."""
    max_shared_tokens: int | None = None
    """Longer texts are scored alone."""
    output_layer: OutputLayer | None = None
    """The output layer in blocks; None if the model has to compute its logits itself."""
    pool: ThreadPool | None = None
    """Threads that may run the model at the same time."""


class CausalEngine:
    """A model and how to score with it; `nodes` shrinks when memory runs out.

    With `word_starts` the end of each word is counted with that word; with `distribution` there are entropies and
    ranks. Engines that differ in these may share a model and its methods.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        methods: ScoringMethods,
        *,
        nodes: int | None = None,
        word_starts: WordStarts | None = None,
        distribution: bool = False,
        noise: Noise | None = None,
    ) -> None:
        self.model = model
        self.methods = methods
        self.noise = noise
        """Rounding noise that the self-test measured; None if it was not."""
        self.device = device_of(model)
        vocabulary = model.get_input_embeddings().num_embeddings
        self.nodes = nodes or _affordable_nodes(self.device, vocabulary, all_logits=methods.output_layer is None)
        self._logits = methods.output_layer or LogitSource(self.device, vocabulary)
        self._distribution = distribution
        parameters = inspect.signature(model.forward).parameters
        takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
        self._takes_use_cache = takes_any or "use_cache" in parameters
        self._rotation = rotation_of(model) if self.device.type == "cuda" else None
        no_tokens = np.empty(0, dtype=np.int64)
        self._later_starts = None if word_starts is None else word_starts.later
        first = None if word_starts is None else word_starts.first
        self._first_starts = no_tokens if first is None else np.sort(first)
        self._opens_word = None if word_starts is None else word_starts.opens(vocabulary)

    def variant(self, *, word_starts: WordStarts | None, distribution: bool) -> CausalEngine:
        """An engine for the same model that returns other values."""
        return CausalEngine(
            self.model, self.methods, nodes=self.nodes, word_starts=word_starts, distribution=distribution
        )

    def plan(self, sequences: Ragged) -> list[TokenBatch]:
        """Batches that score every token but the first of each sequence."""
        leaves, methods = self._opens_word is not None, self.methods
        scorable = sequences.lengths > (0 if leaves else 1)
        shared = scorable
        if methods.max_shared_tokens is not None:
            shared = scorable & (sequences.lengths <= methods.max_shared_tokens)
        in_trees = shared & (sequences.lengths <= ROW_TOKENS) & (methods.layout is not None)
        padded = shared & ~in_trees & methods.padded
        shape = TreeShape(ROW_TOKENS, self.nodes, ROW_MULTIPLE.get(self.device.type, 1), leaves)
        return [
            *plan_trees(sequences, np.flatnonzero(in_trees), shape),
            *plan_plain(sequences, np.flatnonzero(padded), nodes=self.nodes),
            *plan_plain(sequences, np.flatnonzero(scorable & ~in_trees & ~padded), nodes=1),
        ]

    def start(self, batches: Sequence[TokenBatch]) -> list[PendingBatch]:
        """Start batches; on a GPU this returns before they are computed."""
        layer, pool = self.methods.output_layer, self.methods.pool
        with (
            torch.inference_mode(),
            _without_cudnn_attention(self.device),
            rotating(self._rotation),
            nullcontext() if layer is None else layer.capture(),
        ):
            if pool is None:
                return [self._pending(batch, self._rows(batch, 0, len(batch.tokens))) for batch in batches]
            columns = self._in_threads(batches, pool)
            return [self._pending(batch, batch_columns) for batch, batch_columns in zip(batches, columns, strict=True)]

    def _in_threads(self, batches: Sequence[TokenBatch], pool: ThreadPool) -> list[list[Columns]]:
        """Compute batches whose rows are divided among threads; those that must be alone come last."""

        def compute(row_range: RowRange) -> list[Columns]:
            number, low, high = row_range
            return self._rows(batches[number], low, high)

        row_ranges: list[RowRange] = []
        for number, batch in enumerate(batches):
            rows = len(batch.tokens)
            bounds = np.linspace(0, rows, min(rows, pool.free) + 1).round().astype(int).tolist()
            row_ranges += [(number, low, high) for low, high in pairwise(bounds)]
        limit = self.methods.max_shared_tokens
        shared = [row_range for row_range in row_ranges if limit is None or batches[row_range[0]].width <= limit]
        computed = dict(zip(shared, pool.map(compute, shared), strict=True))
        by_batch: list[list[Columns]] = [[] for _ in batches]
        for row_range in row_ranges:
            by_batch[row_range[0]] += computed[row_range] if row_range in computed else compute(row_range)
        return by_batch

    def _pending(self, batch: TokenBatch, blocks: Sequence[Columns]) -> PendingBatch:
        columns = {name: self._fetch(torch.cat([block[name] for block in blocks])) for name in blocks[0]}
        if self.device.type != "cuda":
            return PendingBatch(batch, columns, None)
        # Queued right behind the batch: waiting for it waits for nothing that was queued later.
        event = torch.cuda.Event()
        event.record()
        return PendingBatch(batch, columns, event)

    def collect(self, pending: Iterable[PendingBatch], size: int, *, with_word_end: bool = True) -> Floats:
        """The log-probabilities in nats of the `size` tokens that were planned; NaN for those not scored.

        With word starts, the end of each word is counted with that word, unless `with_word_end` is False.
        """
        logprobs = np.full(size, np.nan)
        for item in pending:
            item.wait()
            columns = {name: column.double().numpy() for name, column in item.columns.items()}
            values = columns["logprobs"]
            if with_word_end and self._opens_word is not None:
                begins, starts = self._opens_word[item.batch.targets], self._text_starts(item.batch)
                openings, leaves = columns["openings"], columns["leaf_openings"]
                values = add_word_ends(item.batch, begins, starts, values, openings, leaves)
            if np.isnan(values).any():
                raise nan_error(type(self.model).__name__)
            logprobs[item.batch.where] = values
        return logprobs

    def collect_distributions(self, pending: Iterable[PendingBatch], size: int) -> Floats:
        """The entropies in nats and the ranks of the tokens, as two rows; NaN for those not scored."""
        distributions = np.full((2, size), np.nan)
        for item in pending:
            item.wait()
            for row, name in zip(distributions, ("entropies", "ranks"), strict=True):
                row[item.batch.where] = item.columns[name].numpy()
        return distributions

    def logprobs(self, sequences: Sequence[Sequence[int]]) -> list[Floats]:
        """For each sequence, the log-probabilities of its tokens but the first."""
        ragged = Ragged.of(sequences)
        logprobs = self.collect(self.start(self.plan(ragged)), len(ragged.flat))
        return [logprobs[low + 1 : low + size] for low, size in zip(ragged.starts, ragged.lengths, strict=True)]

    def _rows(self, batch: TokenBatch, first: int, last: int) -> list[Columns]:
        """Compute the rows `first:last`; when memory runs out, fewer at a time."""
        compute, unit = partial(self._compute, batch), f"tokens on {self.device}"
        blocks = compute_in_halves(compute, range(first, last), batch.width, unit)
        if len(blocks) > 1:
            self.nodes = max(1, (last - first) // len(blocks) * batch.width)
        return blocks

    def _compute(self, batch: TokenBatch, low: int, high: int) -> Columns:
        """Compute some rows; each node that is queried goes through the output layer once."""
        queries = _rows_between(batch.parents, batch, low, high)
        parents = batch.parents[queries]
        leaves = batch.leaves[_rows_between(batch.leaves, batch, low, high)]
        leaves = leaves[:0] if self._later_starts is None else leaves
        nodes, node_indices = _distinct(np.concatenate([parents, leaves]), batch.tokens.size)
        query_nodes, leaf_nodes = node_indices[: len(parents)], node_indices[len(parents) :]
        groups = []
        if self._later_starts is not None:
            starts = np.flatnonzero(self._text_starts(batch)[queries])
            roots, root_indices = np.unique(query_nodes[starts], return_inverse=True)
            groups = [TokenGroup(self._later_starts, np.arange(len(nodes)))]
            groups += [TokenGroup(self._first_starts, roots)] if len(self._first_starts) else []
        order = np.argsort(query_nodes, kind="stable")
        query = LogprobQuery(
            nodes - low * batch.width, query_nodes[order], batch.targets[queries][order], groups, self._distribution
        )
        states = self._states(batch, low, high).flatten(0, 1)
        result, inverse = compute_logprobs(self._logits, states, query, self._send), self._send(np.argsort(order))
        columns = {"logprobs": result.values[inverse]}
        if result.entropies is not None and result.ranks is not None:
            columns |= {"entropies": result.entropies[inverse], "ranks": result.ranks[inverse]}
        if self._later_starts is not None:
            openings = result.groups[0][self._send(query_nodes)]
            if len(result.groups) > 1:
                openings[self._send(starts)] = result.groups[1][self._send(root_indices)]
            columns |= {"openings": openings, "leaf_openings": result.groups[0][self._send(leaf_nodes)]}
        return columns

    def _states(self, batch: TokenBatch, low: int, high: int) -> torch.Tensor:
        """What the output layer gets, for all nodes of some rows: hidden states, or the model's own logits."""
        rows = np.stack([batch.tokens[low:high], batch.depth[low:high], batch.end[low:high]])
        tokens, depth, end = self._send(rows)
        if not batch.packed and rows[2].min() >= batch.width:  # no padding: as for a single text
            return self._forward(tokens)
        position = torch.arange(tokens.shape[1], device=self.device)
        if not batch.packed:
            return self._forward(tokens, attention_mask=(position < end).long())
        visible = (position[None, :] <= position[:, None]) & (position[:, None] < end[:, None, :])
        layout, dtype = self.methods.layout, self.model.dtype
        assert layout is not None
        if isinstance(layout, Reach):
            return self._forward(tokens, position_ids=depth, attention_mask=layout.mask(visible, depth, dtype))
        masks = {kind: reach.mask(visible, depth, dtype) for kind, reach in layout.items()}
        return self._forward(tokens, position_ids=depth, attention_mask=masks)

    def _forward(self, tokens: torch.Tensor, **inputs: Any) -> torch.Tensor:
        if self._takes_use_cache:
            inputs["use_cache"] = False
        layer = self.methods.output_layer
        if layer is None:
            states = self.model(input_ids=tokens, **inputs).logits
        else:
            self.model(input_ids=tokens, **inputs)
            states = layer.captured()
        if states.shape[:-1] != tokens.shape:
            raise ModelError(f"{type(self.model).__name__} does not return a distribution for each token of a text")
        return states

    def _send(self, array: Ints) -> torch.Tensor:
        tensor = torch.from_numpy(np.ascontiguousarray(array))
        if self.device.type == "cuda":
            return tensor.pin_memory().to(self.device, non_blocking=True)
        return tensor.to(self.device)

    def _fetch(self, tensor: torch.Tensor) -> torch.Tensor:
        if self.device.type != "cuda":
            return tensor.cpu()
        return torch.empty_like(tensor, device="cpu", pin_memory=True).copy_(tensor, non_blocking=True)

    def _text_starts(self, batch: TokenBatch) -> Mask:
        """The queries for the first token of a text, if it has no leading space and a BOS token before it."""
        assert self._opens_word is not None
        if not len(self._first_starts):
            return np.zeros(len(batch.targets), dtype=bool)
        return text_starts(batch) & ~self._opens_word[batch.targets]


def queried_only(batch: TokenBatch, where: Ints) -> TokenBatch:
    """A batch without its queries for tokens that are read but not scored: those with a negative number in `where`."""
    scored = where[batch.where] >= 0
    return replace(batch, parents=batch.parents[scored], targets=batch.targets[scored], where=batch.where[scored])


def _distinct(numbers: Ints, limit: int) -> tuple[Ints, Ints]:
    """The distinct numbers below a limit, ascending, and the index of each number among them: without sorting."""
    present = np.zeros(limit, dtype=bool)
    present[numbers] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[numbers]


def _rows_between(nodes: Ints, batch: TokenBatch, low: int, high: int) -> slice:
    return slice(*np.searchsorted(nodes // batch.width, [low, high]))


@contextmanager
def _without_cudnn_attention(device: torch.device) -> Iterator[None]:
    """Disable cuDNN's attention, which compiles a plan for each new batch shape."""
    if device.type != "cuda":
        yield
        return
    was_enabled = torch.backends.cuda.cudnn_sdp_enabled()
    torch.backends.cuda.enable_cudnn_sdp(False)
    try:
        yield
    finally:
        torch.backends.cuda.enable_cudnn_sdp(was_enabled)


def _affordable_nodes(device: torch.device, vocabulary: int, *, all_logits: bool) -> int:
    """Nodes per batch; fewer if all their logits are in memory, with the copies that are made of them."""
    if device.type != "cuda":
        return min(1024, max(ROW_TOKENS, MAX_CPU_LOGITS // vocabulary)) if all_logits else 1024
    free, _ = torch.cuda.mem_get_info(device)
    return int(min(65536, max(ROW_TOKENS, 0.25 * free / (vocabulary * 4 * 3)))) if all_logits else 65536
