"""Asking a causal transformer: in prefix trees, in padded batches, or one text at a time."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from wug.errors import ModelError
from wug.models._hardware import REMEDY, device_of, halving
from wug.models._ragged import Ints, Ragged
from wug.models.causal.attention import CudnnAttentionDisabled
from wug.models.causal.boundary import WordStarts, close_words, text_starts
from wug.models.causal.head import Head
from wug.models.causal.output import Group, Questions, Whole, answer
from wug.models.causal.tree import Batch, Shape, plan_plain, plan_trees
from wug.models.causal.windows import Layout, Reach
from wug.models.causal.workers import Workers

Floats = npt.NDArray[np.float64]

WIDTH = 128
"""Places in a row. Longer sequences are asked the plain way: the trial at load is good for this width."""
MULTIPLE = {"cuda": 8}
"""Of what number the places of a row are a multiple: that keeps fast attention kernels of a GPU in play."""
Columns: TypeAlias = tuple[Any, Any, Any, Any, Any]
"""The answers to a batch as tensors: what `Asked` has, in its order."""
Share: TypeAlias = tuple[int, int, int]
"""Which batch, its first row, and the one after the last."""
LOGITS = 1 << 23
"""On a CPU, logits that a model computes at a time: more are returned to the system after every batch."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A batch under way: a GPU may still be computing it."""

    batch: Batch
    values: Any
    """For each question, the log-probability of its target."""
    openings: Any
    """For each question, the log-probability that a word opens at its node; None if not wanted."""
    leaf_openings: Any
    """The same for the last node of each sequence."""
    entropies: Any
    """For each question, the entropy in nats of the distribution at its node; None if not wanted."""
    ranks: Any
    """For each question, the rank of its target there; None if not wanted."""
    done: Any
    """The moment at which the values are here; None if they are already."""


@dataclass(frozen=True, slots=True)
class Ways:
    """The ways of asking a model that were seen to give right numbers; one text alone always does."""

    layout: Layout | None = None
    """The attention masks of trees; None where trees are wrong."""
    padded: bool = False
    """Whether texts of different lengths may share a batch."""
    together: int | None = None
    """Longer texts, in tokens, are asked alone."""
    head: Head | None = None
    """The output layer in blocks; None where the model has to compute its logits itself."""
    workers: Workers | None = None
    """Threads that may ask the model at once."""


class Engine:
    """A model and the ways to ask it; `nodes` shrinks when memory runs out.

    With `word_starts` it also counts the end of each word with that word, with `distribution` it tells entropies and
    ranks; engines that differ in these may share a model and its ways.
    """

    def __init__(
        self,
        model: Any,
        ways: Ways,
        *,
        nodes: int | None = None,
        word_starts: WordStarts | None = None,
        distribution: bool = False,
    ) -> None:
        self.model = model
        self.ways = ways
        self.device = device_of(model)
        vocabulary = model.get_input_embeddings().num_embeddings
        self.nodes = nodes or _affordable(self.device, vocabulary, whole=ways.head is None)
        self._output = ways.head or Whole(self.device, vocabulary)
        self._distribution = distribution
        self._takes_cache = _takes(model, "use_cache")
        nothing = np.empty(0, dtype=np.int64)
        self._later = None if word_starts is None else word_starts.later
        self._first = nothing if word_starts is None or word_starts.first is None else np.sort(word_starts.first)
        self._opens = None if word_starts is None else word_starts.opens(vocabulary)

    def plan(self, sequences: Ragged) -> list[Batch]:
        """The batches that ask every token but the first of each sequence; an empty one asks nothing."""
        leaves = self._opens is not None
        some = sequences.lengths > (0 if leaves else 1)
        sociable = some if self.ways.together is None else some & (sequences.lengths <= self.ways.together)
        fits = sociable & (sequences.lengths <= WIDTH) & (self.ways.layout is not None)
        padded = sociable & ~fits & self.ways.padded
        return [
            *plan_trees(
                sequences, np.flatnonzero(fits), Shape(WIDTH, self.nodes, MULTIPLE.get(self.device.type, 1), leaves)
            ),
            *plan_plain(sequences, np.flatnonzero(padded), nodes=self.nodes),
            *plan_plain(sequences, np.flatnonzero(some & ~fits & ~padded), nodes=1),
        ]

    def ask(self, batches: Sequence[Batch]) -> list[Asked]:
        """Batches, started; on a GPU this returns before they are computed."""
        import torch

        head, workers = self.ways.head, self.ways.workers
        with torch.inference_mode(), _attention(self.device), nullcontext() if head is None else head.listening():
            if workers is None:
                return [self._under_way(batch, self._rows(batch, 0, len(batch.tokens))) for batch in batches]
            parts = self._side_by_side(batches, workers)
            return [self._under_way(batch, part) for batch, part in zip(batches, parts, strict=True)]

    def _side_by_side(self, batches: Sequence[Batch], workers: Workers) -> list[list[Columns]]:
        """The answers to batches of which each thread computes as many rows; those that must be alone come last."""

        def answers(share: Share) -> list[Columns]:
            number, low, high = share
            return self._rows(batches[number], low, high)

        cuts = [_equal_parts(len(batch.tokens), workers.free) for batch in batches]
        shares = [(number, low, high) for number, parts in enumerate(cuts) for low, high in parts]
        sociable = [share for share in shares if self._is_sociable(batches[share[0]])]
        found = dict(zip(sociable, workers.each(answers, sociable), strict=True))
        gathered: list[list[Columns]] = [[] for _ in batches]
        for share in shares:
            gathered[share[0]] += found[share] if share in found else answers(share)
        return gathered

    def _is_sociable(self, batch: Batch) -> bool:
        """Whether others may be computed at the same time: a text that changes how a model computes may not."""
        return self.ways.together is None or batch.width <= self.ways.together

    def _under_way(self, batch: Batch, parts: Sequence[Columns]) -> Asked:
        import torch

        values, openings, leaves, entropies, ranks = (
            None if column is None else self._fetch(column) for column in _joined(parts)
        )
        if self.device.type != "cuda":
            return Asked(batch, values, openings, leaves, entropies, ranks, None)
        # Queued right behind the batch: to wait for it later is to wait for nothing that was queued since.
        done = torch.cuda.Event()
        done.record()
        return Asked(batch, values, openings, leaves, entropies, ranks, done)

    def collect(self, asked: Iterable[Asked], size: int, *, closed: bool = True) -> Floats:
        """The log-probabilities in nats of the `size` tokens that were planned; NaN for those not asked.

        With word starts, the end of each word is counted with that word, unless `closed` says otherwise.
        """
        answers = np.full(size, np.nan)
        for under_way in asked:
            if under_way.done is not None:
                under_way.done.synchronize()
            values = under_way.values.double().numpy()
            if closed and under_way.openings is not None:
                openings, leaves = under_way.openings.double().numpy(), under_way.leaf_openings.double().numpy()
                assert self._opens is not None
                begins, starts = self._opens[under_way.batch.targets], self._text_starts(under_way.batch)
                values = close_words(under_way.batch, begins, starts, values, openings, leaves)
            if np.isnan(values).any():
                raise ModelError(
                    f"{type(self.model).__name__} answers with values that are no numbers. In half precision that "
                    "is an overflow: use -M dtype=float32. Otherwise its weights are damaged"
                )
            answers[under_way.batch.where] = values
        return answers

    def collect_distributions(self, asked: Iterable[Asked], size: int) -> tuple[Floats, Ints]:
        """The entropies in nats and the ranks of the tokens; NaN and 0 for those not asked."""
        entropies, ranks = np.full(size, np.nan), np.zeros(size, dtype=np.int64)
        for under_way in asked:
            if under_way.done is not None:
                under_way.done.synchronize()
            entropies[under_way.batch.where] = under_way.entropies.numpy()
            ranks[under_way.batch.where] = under_way.ranks.numpy()
        return entropies, ranks

    def logprobs(self, sequences: Sequence[Sequence[int]]) -> list[Floats]:
        """For each sequence, the log-probabilities of its tokens but the first: plan, ask and collect in one."""
        ragged = Ragged.of(sequences)
        answers = self.collect(self.ask(self.plan(ragged)), len(ragged.flat))
        return [answers[first + 1 : first + n] for first, n in zip(ragged.starts, ragged.lengths, strict=True)]

    def _rows(self, batch: Batch, first: int, last: int) -> list[Columns]:
        """The answers of the rows `first:last`; when memory runs out, of fewer at a time."""

        def shrink(low: int, high: int) -> str:
            self.nodes = max(1, (high - low) * batch.width)
            return f"{self.nodes:,} tokens"

        def single(_: int) -> str:
            return f"{batch.width} tokens on {self.device}: {REMEDY}"

        return halving(partial(self._compute, batch), first, last, shrink=shrink, single=single)

    def _compute(self, batch: Batch, low: int, high: int) -> Columns:
        """The answers of some rows; each place that is asked goes through the output layer once."""
        here = _rows_between(batch.parents, batch, low, high)
        parents = batch.parents[here]
        leaves = parents[:0] if self._later is None else batch.leaves[_rows_between(batch.leaves, batch, low, high)]
        places, which = np.unique(np.concatenate([parents, leaves]), return_inverse=True)
        asked, last = which[: len(parents)], which[len(parents) :]
        groups = []
        if self._later is not None:
            starts = np.flatnonzero(self._text_starts(batch)[here])
            roots, root = np.unique(asked[starts], return_inverse=True)
            groups = [Group(self._later, np.arange(len(places)))]
            groups += [Group(self._first, roots)] if len(self._first) else []
        order = np.argsort(asked, kind="stable")
        questions = Questions(
            places - low * batch.width, asked[order], batch.targets[here][order], groups, self._distribution
        )
        states = self._states(batch, low, high).flatten(0, 1)
        found, back = answer(self._output, states, questions, self._send), self._send(np.argsort(order))
        values, joint = found.values[back], found.joint
        entropies, ranks = (found.entropies[back], found.ranks[back]) if self._distribution else (None, None)
        if self._later is None:
            return values, None, None, entropies, ranks
        openings = joint[0][self._send(asked)]
        if len(joint) > 1:
            openings[self._send(starts)] = joint[1][self._send(root)]
        return values, openings, joint[0][self._send(last)], entropies, ranks

    def _states(self, batch: Batch, low: int, high: int) -> Any:
        """What the output reads, for all places of some rows: hidden states, or the model's own logits."""
        import torch

        rows = np.stack([batch.tokens[low:high], batch.depth[low:high], batch.end[low:high]])
        tokens, depth, end = self._send(rows)
        if not batch.packed and rows[2].min() >= batch.width:  # no padding: just as a single text is asked
            return self._run(tokens)
        place = torch.arange(tokens.shape[1], device=self.device)
        if not batch.packed:
            return self._run(tokens, attention_mask=(place < end).long())
        visible = (place[None, :] <= place[:, None]) & (place[:, None] < end[:, None, :])
        layout, dtype = self.ways.layout, self.model.dtype
        assert layout is not None
        if isinstance(layout, Reach):
            return self._run(tokens, position_ids=depth, attention_mask=layout.mask(visible, depth, dtype))
        masks = {kind: reach.mask(visible, depth, dtype) for kind, reach in layout.items()}
        return self._run(tokens, position_ids=depth, attention_mask=masks)

    def _run(self, tokens: Any, **inputs: Any) -> Any:
        if self._takes_cache:
            inputs["use_cache"] = False
        head = self.ways.head
        if head is None:
            states = self.model(input_ids=tokens, **inputs).logits
        else:
            self.model(input_ids=tokens, **inputs)
            states = head.caught()
        if states.shape[:-1] != tokens.shape:
            raise ModelError(f"{type(self.model).__name__} gives no distribution for each token of a text")
        return states

    def _send(self, array: Ints) -> Any:
        import torch

        tensor = torch.from_numpy(np.ascontiguousarray(array))
        if self.device.type == "cuda":
            return tensor.pin_memory().to(self.device, non_blocking=True)
        return tensor.to(self.device)

    def _fetch(self, tensor: Any) -> Any:
        import torch

        if self.device.type != "cuda":
            return tensor.cpu()
        return torch.empty_like(tensor, device="cpu", pin_memory=True).copy_(tensor, non_blocking=True)

    def _text_starts(self, batch: Batch) -> npt.NDArray[np.bool_]:
        """The questions for the first token of a text, where that has no leading space and a mark before it."""
        assert self._opens is not None
        if not len(self._first):
            return np.zeros(len(batch.targets), dtype=bool)
        return text_starts(batch) & ~self._opens[batch.targets]


def _joined(parts: Sequence[Columns]) -> Columns:
    """The same columns of all parts, one after the other."""
    import torch

    values, openings, leaves, entropies, ranks = (
        None if column[0] is None else torch.cat(column) for column in zip(*parts, strict=True)
    )
    return values, openings, leaves, entropies, ranks


def _equal_parts(rows: int, count: int) -> list[tuple[int, int]]:
    """As many runs of rows, or one a row."""
    cuts = np.linspace(0, rows, min(rows, count) + 1).round().astype(int).tolist()
    return list(pairwise(cuts))


def _rows_between(places: Ints, batch: Batch, low: int, high: int) -> slice:
    """Which of the places, grouped by row, stand in the rows `low:high`."""
    return slice(*np.searchsorted(places // batch.width, [low, high]))


_WITHOUT_CUDNN_ATTENTION = CudnnAttentionDisabled()


def _attention(device: Any) -> AbstractContextManager[None]:
    return _WITHOUT_CUDNN_ATTENTION if device.type == "cuda" else nullcontext()


def _takes(model: Any, name: str) -> bool:
    """Whether a model's forward pass has a parameter of this name, or takes any."""
    known = inspect.signature(model.forward).parameters
    return name in known or any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values())


def _affordable(device: Any, vocabulary: int, *, whole: bool) -> int:
    """Places to compute at a time; fewer where all their logits are, with the copies that are made of them."""
    import torch

    if device.type != "cuda":
        return min(1024, max(WIDTH, LOGITS // vocabulary)) if whole else 1024
    free, _ = torch.cuda.mem_get_info(device)
    return int(min(65536, max(WIDTH, 0.25 * free / (vocabulary * 4 * 3)))) if whole else 65536
