"""Batches of token sequences: prefix trees in packed rows, and plain padded rows.

In a tree every distinct prefix of the sentences is computed once, and there is no padding. A node is a distinct prefix
that something follows; its hidden state gives the probability of every next token. Nodes are in depth-first order in
rows of a fixed width; in a row, node `k` is visible to node `q` when `k <= q < end[k]`: exactly when `k` is a prefix of
`q`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from wug.arrays import Ints
from wug.models.tokenization.ragged import Ragged

MAX_SEQUENCES = 16384
"""Sequences planned together."""


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """Rows of nodes and their queries, grouped by row and, in a row, by sequence."""

    packed: bool
    """Whether the rows are trees; else each is one sequence, padded at its end."""
    tokens: Ints
    """(rows, width): the last token of each node; 0 in empty positions."""
    depth: Ints
    """(rows, width): tokens before it."""
    end: Ints
    """(rows, width): the position after the last descendant; in a plain row, after the last token."""
    parents: Ints
    """For each query, the flat index (row * width + position) of its node."""
    targets: Ints
    """For each query, its token."""
    where: Ints
    """For each query, the index of its token in the flat sequences."""
    counts: Ints
    """For each sequence, its number of queries."""
    leaves: Ints
    """For each sequence, the flat index of its last node: of its last token, if leaves are computed."""

    @property
    def width(self) -> int:
        """Nodes per row."""
        return int(self.tokens.shape[1])


@dataclass(frozen=True, slots=True)
class TreeShape:
    """The shape of batches of trees."""

    width: int
    """Maximum number of nodes per row."""
    nodes: int
    """Maximum number of nodes per batch; at least one row."""
    multiple: int = 1
    leaves: bool = False
    """Whether the last token of a sequence is a node too."""


def plan_trees(sequences: Ragged, indices: Ints, shape: TreeShape) -> Iterator[TokenBatch]:
    """Batches that score every token but the first of each sequence.

    The sequences `indices` have at least one token and, without the last, fit into a row.
    """
    for first in range(0, len(indices), MAX_SEQUENCES):
        trees = _Trees.of(sequences, indices[first : first + MAX_SEQUENCES], shape)
        fullest = np.argsort(-trees.nodes_of_row.lengths, kind="stable")  # rows of similar size together
        rows_per_batch = max(1, shape.nodes // shape.width)
        for start in range(0, len(fullest), rows_per_batch):
            yield trees.batch(fullest[start : start + rows_per_batch], shape.multiple)


def plan_plain(sequences: Ragged, indices: Ints, *, nodes: int) -> Iterator[TokenBatch]:
    """Batches of at most `nodes` tokens (at least one row), one sequence per row, similar lengths together."""
    order = indices[np.argsort(sequences.lengths[indices], kind="stable")]
    while len(order):
        # The longest come last: take as many of them as fit.
        rows = max(1, nodes // int(sequences.lengths[order[-1]]))
        order, batch = order[:-rows], order[-rows:]
        tokens, where = _padded(sequences, batch)
        lengths = sequences.lengths[batch]
        flat = np.arange(tokens.size).reshape(tokens.shape)
        is_query = where[:, 1:] >= 0
        yield TokenBatch(
            packed=False,
            tokens=np.maximum(tokens, 0),
            depth=np.broadcast_to(np.arange(tokens.shape[1]), tokens.shape),
            end=np.broadcast_to(lengths[:, None], tokens.shape),
            parents=flat[:, :-1][is_query],
            targets=tokens[:, 1:][is_query],
            where=where[:, 1:][is_query],
            counts=lengths - 1,
            leaves=flat[np.arange(len(batch)), lengths - 1],
        )


def _padded(sequences: Ragged, indices: Ints) -> tuple[Ints, Ints]:
    """The tokens of some sequences as a matrix, and their indices in the flat sequences; -1 is padding."""
    lengths = sequences.lengths[indices]
    inside = np.arange(int(lengths.max())) < lengths[:, None]
    where = np.full(inside.shape, -1, dtype=np.int64)
    where[inside] = sequences.element_indices(indices)
    return np.where(inside, sequences.flat[where], -1), where


@dataclass(frozen=True, slots=True)
class _Trees:
    """Prefix trees in rows: sequences in the order of their tokens, each of which shares nodes with the one before it.

    The sequences 1 2 3, 1 4 5 and 1 4 6 have the nodes 1, 2 and 4 (without leaves, a last token is only predicted):

        sequence   shared   new nodes   node of each token   nodes: token, depth, end
        1 2 3      0        1 2         0 1                  0: 1, 0, 3 (seen by all nodes before the third)
        1 4 5      1        4           0 2                  1: 2, 1, 2
        1 4 6      2                    0 2                  2: 4, 1, 3
    """

    tokens: Ints
    where: Ints
    lengths: Ints
    inner: Ints
    """Nodes on the path of each sequence."""
    node_of: Ints
    """The node of each token of each sequence; past its path, any number."""
    node_tokens: Ints
    node_depths: Ints
    node_ends: Ints
    """The nodes before which a node is seen: up to the last sequence through it."""
    sequences_of_row: Ragged
    nodes_of_row: Ragged

    @classmethod
    def of(cls, sequences: Ragged, indices: Ints, shape: TreeShape) -> _Trees:
        """Share the beginnings of some sequences, and distribute them over rows."""
        tokens, where = _padded(sequences, indices)
        # As bytes: padding becomes 0 and comes first.
        rows = np.ascontiguousarray(tokens + 1, dtype=">u4")
        order = np.argsort(rows.view(f"S{4 * rows.shape[1]}").ravel(), kind="stable")
        tokens, where = tokens[order], where[order]
        lengths = sequences.lengths[indices][order]
        inner = lengths if shape.leaves else lengths - 1
        shared = _shared_nodes(tokens, inner)
        starts = _row_starts(inner, inner - shared, shape.width)
        shared[starts] = 0
        new_nodes = inner - shared
        ends = np.cumsum(new_nodes)  # nodes up to and including each sequence

        columns = np.arange(tokens.shape[1])
        on_path = columns < inner[:, None]
        is_new = on_path & (columns >= shared[:, None])
        node_of = np.where(is_new, (ends - new_nodes - shared)[:, None] + columns, -1)
        node_of = np.maximum.accumulate(node_of, axis=0)  # a shared node is the latest one made in its column
        node_ends = np.empty(int(ends[-1]), dtype=np.int64)
        node_ends[node_of[on_path]] = np.repeat(ends, inner)  # the last sequence through a node wins
        return cls(
            tokens=tokens,
            where=where,
            lengths=lengths,
            inner=inner,
            node_of=node_of,
            node_tokens=tokens[is_new],
            node_depths=np.broadcast_to(columns, is_new.shape)[is_new],
            node_ends=node_ends,
            sequences_of_row=Ragged(np.arange(len(order)), np.diff(np.append(starts, len(order)))),
            nodes_of_row=Ragged(np.arange(int(ends[-1])), np.add.reduceat(new_nodes, starts)),
        )

    def batch(self, rows: Ints, multiple: int) -> TokenBatch:
        """Some rows as a batch, as wide as the fullest of them or the next multiple."""
        bases, sizes = self.nodes_of_row.starts[rows], self.nodes_of_row.lengths[rows]
        width = -(-max(int(sizes.max()), 1) // multiple) * multiple
        occupied = np.arange(width) < sizes[:, None]
        nodes = self.nodes_of_row.element_indices(rows)
        tokens = np.zeros(occupied.shape, dtype=np.int64)
        depth = np.zeros(occupied.shape, dtype=np.int64)
        end = np.broadcast_to(np.arange(1, width + 1), occupied.shape).copy()  # an empty position sees itself
        tokens[occupied] = self.node_tokens[nodes]
        depth[occupied] = self.node_depths[nodes]
        end[occupied] = self.node_ends[nodes] - np.repeat(bases, sizes)

        members = self.sequences_of_row.element_indices(rows)
        row_of = np.repeat(np.arange(len(rows)), self.sequences_of_row.lengths[rows])
        flat = self.node_of[members] + (row_of * width - bases[row_of])[:, None]
        is_query = self.where[members, 1:] >= 0
        last_columns = np.maximum(self.inner[members] - 1, 0)
        return TokenBatch(
            packed=True,
            tokens=tokens,
            depth=depth,
            end=end,
            parents=flat[:, :-1][is_query],
            targets=self.tokens[members, 1:][is_query],
            where=self.where[members, 1:][is_query],
            counts=self.lengths[members] - 1,
            leaves=flat[np.arange(len(members)), last_columns],
        )


def _shared_nodes(tokens: Ints, inner: Ints) -> Ints:
    """How many nodes each sequence shares with the one before it, if both are in one row."""
    same = (tokens[1:] == tokens[:-1]) & (tokens[1:] >= 0)
    common = np.concatenate([[0], np.logical_and.accumulate(same, axis=1).sum(axis=1)])
    previous_inner = np.concatenate([[0], inner[:-1]])
    shared: Ints = np.minimum(np.minimum(common, previous_inner), inner)  # without leaves, a last token is not a node
    return shared


def _row_starts(inner: Ints, fresh: Ints, width: int) -> Ints:
    """The sequences that open a row: each row takes as many as fit."""
    total = np.cumsum(fresh)
    starts = [0]
    while True:
        opening = starts[-1]
        limit = total[opening] + width - inner[opening]
        following = int(np.searchsorted(total, limit, side="right"))
        if following >= len(total):
            return np.array(starts)
        starts.append(max(following, opening + 1))
