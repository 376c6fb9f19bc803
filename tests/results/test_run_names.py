"""Finding runs by number, `last` and the beginning of a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from run_factory import keep, outcomes, result
from wug.errors import StoreError
from wug.results.reader import RunReader
from wug.results.run_admin import find, numbers, side
from wug.results.store import Store


@pytest.fixture
def reader(tmp_path: Path) -> RunReader:
    """Runs 1 to 4 of gpt2, gpt2, opt and bert; 1 is called base-1, 2 base-2 and 3 is called large,small."""
    path = tmp_path / "store"
    for model in ("causal/gpt2@1", "causal/gpt2@2", "causal/opt@1", "masked/bert@1"):
        keep(path, result("words", model, outcomes({"accuracy": [True]})))
    store = Store(path)
    with store._transaction():
        for number, name in ((1, "base-1"), (2, "base-2"), (3, "large,small")):
            store._db.execute("UPDATE runs SET name = ? WHERE id = ?", (name, number))
            store._update_checksum("runs", number)
    store.close()
    return RunReader(path)


@pytest.mark.parametrize(
    ("word", "number"),
    [
        ("2", 2),
        ("last", 4),
        ("base-2", 2),
        ("large", 3),
        ("opt", 3),  # no name begins so, and one model does
        ("masked/b", 4),
        ("causal/gpt2@1", 1),
    ],
)
def test_a_word_stands_for_the_one_run_that_it_fits(reader: RunReader, word: str, number: int) -> None:
    assert find(reader, word).id == number


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("base", r"'base' matches run 2 \(base-2\), 1 \(base-1\)\. Write more of the name, or the number"),
        ("gpt2", r"'gpt2' matches run 2 \(base-2\), 1 \(base-1\)"),
        ("bass-2", r"no run 'bass-2' in .*store\. Did you mean 'base-2'\?"),
        ("9", r"no run 9 in .*store; the latest is 4"),
        ("", r"no run '' in"),
        ("²", r"no run '²' in"),
    ],
)
def test_a_word_that_fits_no_run_or_several_is_refused(reader: RunReader, word: str, message: str) -> None:
    with pytest.raises(StoreError, match=message):
        find(reader, word)


def change_run(reader: RunReader, change: str) -> None:
    store = Store(reader.path)
    with store._transaction():
        store._db.execute(f"UPDATE runs SET {change} WHERE id = 4")
        store._update_checksum("runs", 4)
    store.close()


def test_an_exact_name_comes_before_longer_ones(reader: RunReader) -> None:
    change_run(reader, "name = 'base'")
    assert find(reader, "base").id == 4


def test_a_removed_run_is_found_only_where_removed_ones_are_requested(reader: RunReader) -> None:
    change_run(reader, "removed = '2026-01-01'")
    assert find(reader, "last").id == 3
    with pytest.raises(StoreError, match="run 4 was removed; wug runs undo 4 restores it"):
        find(reader, "4")
    with pytest.raises(StoreError, match="no run 'masked'"):
        find(reader, "masked")
    assert [find(reader, word, removed=True).id for word in ("4", "masked", "last")] == [4, 4, 4]


def test_an_empty_store_says_how_to_begin(tmp_path: Path) -> None:
    Store(tmp_path / "new.db").close()
    with pytest.raises(StoreError, match="there is none yet: wug run SUITE"):
        find(RunReader(tmp_path / "new.db"), "last")


def test_sides_are_words_joined_by_commas_or_a_name_that_has_commas(reader: RunReader) -> None:
    assert numbers(reader, ["1", "last"]) == [1, 4]
    assert side(reader, "base-1, last") == [1, 4]
    assert side(reader, "large,small") == [3]
