"""Sources and targets in batches of like length."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug.errors import InputError
from wug.train.examples import Batches, bucket_by_length, length_buckets, read_examples


def test_folders_of_both_families_are_read(tmp_path: Path) -> None:
    (tmp_path / "train.src").write_text("copy A B\necho A\n")
    (tmp_path / "train.tgt").write_text("A B\nA A\n")
    assert read_examples(tmp_path).targets == ("A B", "A A")
    other = tmp_path / "cogs"
    other.mkdir()
    (other / "train.tsv").write_text("A cat slept .\tcat ( x _ 1 )\tin_distribution\n")
    assert read_examples(other).sources == ("A cat slept .",)


def test_faults_have_their_place(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no train\.src"):
        read_examples(tmp_path)
    (tmp_path / "train.tsv").write_text("one\ttwo\nthree\n")
    with pytest.raises(InputError, match="line 2"):
        read_examples(tmp_path)
    (tmp_path / "train.tsv").unlink()
    (tmp_path / "train.src").write_text("a\nb\n")
    (tmp_path / "train.tgt").write_text("a\n")
    with pytest.raises(InputError, match="2 lines"):
        read_examples(tmp_path)


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 40)), min_size=1, max_size=200), st.integers(1, 50))
def test_every_example_is_in_one_part_unharmed(lengths: list[tuple[int, int]], fewest: int) -> None:
    sources = [[n + 1] * a for n, (a, _) in enumerate(lengths)]
    targets = [[n + 1] * b for n, (_, b) in enumerate(lengths)]
    parts = length_buckets(sources, targets, fewest)
    found = {}
    for part in parts:
        for source, target in zip(*part, strict=True):
            found[int(source[0])] = (int((source != 0).sum()), int((target != 0).sum()))
    assert [found[n + 1] for n in range(len(lengths))] == lengths
    assert len(parts) == 1 or all(len(part[0]) >= fewest for part in parts)


def test_examples_are_parted_where_most_padding_is_saved() -> None:
    """Lengths are filled up to 8, 16 and so on. Of these six, the long target (40 a line, 80 by its weight) costs five
    other lines 64 each, so it is cut off first; then the two long sources (24) cost three short ones 16 each.
    """
    sizes = np.array([(3, 5), (20, 8), (8, 40), (4, 4), (24, 7), (5, 6)])
    assert [part.tolist() for part in bucket_by_length(sizes, 1)] == [[0, 3, 5], [1, 4], [2]]
    assert [part.tolist() for part in bucket_by_length(sizes, 2)] == [[0, 2, 3, 5], [1, 4]]  # no part of one line
    assert [part.tolist() for part in bucket_by_length(sizes, 4)] == [list(range(6))]


def test_an_epoch_shows_every_example_once() -> None:
    batches = Batches([8, 4], 4, seed=3)
    assert batches.steps_per_epoch == 3
    for epoch in range(2):
        seen = [batches.of(epoch * 3 + step) for step in range(3)]
        first = np.concatenate([places for part, places in seen if part == 0])
        assert sorted(first) == list(range(8))
        assert sorted(np.concatenate([places for part, places in seen if part == 1])) == list(range(4))


def test_few_examples_make_a_smaller_batch() -> None:
    assert Batches([3], 100, seed=0).steps_per_epoch == 1
    assert sorted(Batches([3], 100, seed=0).of(5)[1]) == [0, 1, 2]


def test_a_folder_with_two_training_sets_is_refused(tmp_path: Path) -> None:
    for name in ("train.src", "train.tgt", "train.tsv"):
        (tmp_path / name).write_text("copy A\tA\n")
    with pytest.raises(InputError, match=r"has train\.src and train\.tsv: name the file to train on"):
        read_examples(tmp_path)
