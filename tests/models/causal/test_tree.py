"""Trees: every beginning once, everybody sees just its own beginning, every token is asked."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wug.models.causal.tree import TokenBatch, TreeShape, plan_plain, plan_trees
from wug.models.tokenization.ragged import Ragged

SEQUENCES = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=9), min_size=1, max_size=40)


def prefix(batch: TokenBatch, place: int) -> list[int]:
    """The tokens that the node at a flat place can see, in order."""
    row, q = divmod(place, batch.width)
    return [int(batch.tokens[row, k]) for k in range(q + 1) if k <= q < batch.end[row, k]]


def test_two_sentences_share_their_beginning() -> None:
    sequences = Ragged.of([[5, 1, 2, 3], [5, 1, 2, 4], [5, 9]])
    (batch,) = plan_trees(sequences, np.arange(3), TreeShape(width=8, nodes=64))
    assert batch.tokens[0, :3].tolist() == [5, 1, 2]  # 3, 4 and 9 end sentences: nothing is asked of them
    assert batch.depth[0, :3].tolist() == [0, 1, 2]
    assert batch.end[0, :3].tolist() == [3, 3, 3]
    assert sorted(zip(batch.parents.tolist(), batch.targets.tolist(), strict=True)) == [
        (0, 1), (0, 1), (0, 9), (1, 2), (1, 2), (2, 3), (2, 4),
    ]  # fmt: skip


@given(SEQUENCES, st.integers(9, 30), st.integers(1, 200), st.sampled_from([1, 8]), st.booleans())
def test_every_token_is_asked_of_a_node_that_sees_its_beginning(
    lists: list[list[int]], width: int, nodes: int, multiple: int, leaves: bool
) -> None:
    sequences = Ragged.of(lists)
    asked: dict[int, tuple[list[int], int]] = {}
    for batch in plan_trees(sequences, np.arange(len(lists)), TreeShape(width, nodes, multiple, leaves)):
        for parent, target, where in zip(batch.parents, batch.targets, batch.where, strict=True):
            asked[int(where)] = (prefix(batch, int(parent)), int(target))
    expected = {
        int(first) + place: (one[:place], one[place])
        for first, one in zip(sequences.starts, lists, strict=True)
        for place in range(1, len(one))
    }
    assert asked == expected


@given(SEQUENCES)
def test_in_one_row_every_beginning_is_computed_once(lists: list[list[int]]) -> None:
    (batch,) = plan_trees(Ragged.of(lists), np.arange(len(lists)), TreeShape(width=400, nodes=400))
    distinct = {tuple(one[:end]) for one in lists for end in range(1, len(one))}
    sizes = [len(prefix(batch, place)) for place in range(len(distinct))]
    assert {tuple(prefix(batch, place)) for place in range(len(distinct))} == distinct
    assert sizes == (batch.depth[0, : len(distinct)] + 1).tolist()


def test_rows_of_like_size_share_a_batch_that_is_no_wider_than_they_are() -> None:
    """Rows of 7, 4 and 7 nodes, in this order: the two long ones first, then the short one by itself."""
    sequences = Ragged.of([[1] * 8, [2] * 5, [3] * 8])
    batches = list(plan_trees(sequences, np.arange(3), TreeShape(width=8, nodes=16)))
    assert [batch.tokens.tolist() for batch in batches] == [[[1] * 7, [3] * 7], [[2] * 4]]
    assert [batch.where.tolist() for batch in batches] == [[*range(1, 8), *range(14, 21)], [*range(9, 13)]]
    (wide,) = plan_trees(sequences, np.arange(3), TreeShape(width=8, nodes=24, multiple=8))
    assert wide.tokens.shape == (3, 8)


@given(SEQUENCES, st.integers(9, 30))
def test_leaves_are_the_whole_sequences(lists: list[list[int]], width: int) -> None:
    found = []
    for batch in plan_trees(Ragged.of(lists), np.arange(len(lists)), TreeShape(width, nodes=60, leaves=True)):
        found += [prefix(batch, int(place)) for place in batch.leaves]
    assert sorted(found) == sorted(lists)


@given(SEQUENCES, st.integers(1, 60))
def test_plain_rows_ask_the_same(lists: list[list[int]], nodes: int) -> None:
    sequences = Ragged.of(lists)
    asked = {}
    for batch in plan_plain(sequences, np.arange(len(lists)), nodes=nodes):
        for parent, target, where in zip(batch.parents, batch.targets, batch.where, strict=True):
            row, place = divmod(int(parent), batch.width)
            asked[int(where)] = (batch.tokens[row, : place + 1].tolist(), int(target))
    assert len(asked) == sum(len(one) - 1 for one in lists)
    for first, one in zip(sequences.starts, lists, strict=True):
        for place in range(1, len(one)):
            assert asked[int(first) + place] == (one[:place], one[place])
