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
        yield from _plan_block(sequences, indices[first : first + MAX_SEQUENCES], shape)


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


def _sorted(tokens: Ints) -> Ints:
    """The order of the rows by their tokens, compared as bytes."""
    rows = np.ascontiguousarray(tokens + 1, dtype=">u4")  # padding becomes 0 and comes first
    return np.argsort(rows.view(f"S{4 * rows.shape[1]}").ravel(), kind="stable")


def _plan_block(sequences: Ragged, indices: Ints, shape: TreeShape) -> Iterator[TokenBatch]:
    tokens, where = _padded(sequences, indices)
    order = _sorted(tokens)
    tokens, where = tokens[order], where[order]
    lengths = sequences.lengths[indices][order]
    columns = np.arange(tokens.shape[1])

    inner = lengths if shape.leaves else lengths - 1  # nodes on the path of each sequence
    same = (tokens[1:] == tokens[:-1]) & (tokens[1:] >= 0)
    common = np.concatenate([[0], np.logical_and.accumulate(same, axis=1).sum(axis=1)])
    previous_inner = np.concatenate([[0], inner[:-1]])
    shared = np.minimum(np.minimum(common, previous_inner), inner)  # without leaves, a last token was not computed

    starts = _row_starts(inner, inner - shared, shape.width)
    shared[starts] = 0
    new_nodes = inner - shared
    node_ends = np.cumsum(new_nodes)  # nodes up to and including each sequence
    node_starts = node_ends - new_nodes

    on_path = columns < inner[:, None]
    is_new = on_path & (columns >= shared[:, None])
    node_of = np.where(is_new, node_starts[:, None] + columns - shared[:, None], -1)
    node_of = np.maximum.accumulate(node_of, axis=0)  # a shared node is the latest one made in its column
    ends = np.empty(int(node_ends[-1]), dtype=np.int64)
    ends[node_of[on_path]] = np.repeat(node_ends, inner)  # the last sequence through a node wins
    node_tokens, node_depth = tokens[is_new], np.broadcast_to(columns, is_new.shape)[is_new]

    members = Ragged(np.arange(len(order)), np.diff(np.append(starts, len(order))))  # the sequences of each row
    nodes_of_row = Ragged(np.arange(int(node_ends[-1])), np.add.reduceat(new_nodes, starts))  # its nodes
    per_batch = max(1, shape.nodes // shape.width)
    fullest = np.argsort(-nodes_of_row.lengths, kind="stable")  # rows of similar size together
    for start in range(0, len(starts), per_batch):
        rows = fullest[start : start + per_batch]
        bases, sizes = nodes_of_row.starts[rows], nodes_of_row.lengths[rows]
        row_width = -(-max(int(sizes.max()), 1) // shape.multiple) * shape.multiple
        occupied = np.arange(row_width) < sizes[:, None]
        batch_nodes = nodes_of_row.element_indices(rows)
        row_tokens = np.zeros(occupied.shape, dtype=np.int64)
        row_depth = np.zeros(occupied.shape, dtype=np.int64)
        row_end = np.broadcast_to(np.arange(1, row_width + 1), occupied.shape).copy()  # an empty position sees itself
        row_tokens[occupied] = node_tokens[batch_nodes]
        row_depth[occupied] = node_depth[batch_nodes]
        row_end[occupied] = ends[batch_nodes] - np.repeat(bases, sizes)

        batch_sequences = members.element_indices(rows)
        row_of = np.repeat(np.arange(len(rows)), members.lengths[rows])
        flat = node_of[batch_sequences] + (row_of * row_width - bases[row_of])[:, None]
        is_query = where[batch_sequences, 1:] >= 0
        last_columns = np.maximum(inner[batch_sequences] - 1, 0)
        yield TokenBatch(
            packed=True,
            tokens=row_tokens,
            depth=row_depth,
            end=row_end,
            parents=flat[:, :-1][is_query],
            targets=tokens[batch_sequences, 1:][is_query],
            where=where[batch_sequences, 1:][is_query],
            counts=lengths[batch_sequences] - 1,
            leaves=flat[np.arange(len(last_columns)), last_columns],
        )


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
