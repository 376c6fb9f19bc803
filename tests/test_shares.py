"""What is tried by day is the same everywhere, has something of everything, and is all of it at night."""

from __future__ import annotations

from pathlib import Path

import pytest

import shares

LETTERS = list("abcdefg")


@pytest.fixture(autouse=True)
def _by_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "WHOLE", False)


def test_a_share_is_rounded_up_in_the_order_given_and_never_nothing() -> None:
    found = shares.share(LETTERS, 3)
    assert len(found) == 3
    assert found == sorted(found)
    assert shares.share(reversed(LETTERS), 3) == found[::-1]
    assert len(shares.share(LETTERS[:1], 3)) == 1


def test_of_every_kind_there_is_something() -> None:
    found = shares.each_kind(["a1", "b1", "a2", "c1", "a3", "b2"], lambda case: case[0], most=2)
    assert [case[0] for case in found].count("a") == 2
    assert {"b1", "b2", "c1"} < {*found}


def test_examples_are_a_third() -> None:
    assert (shares.examples(30), shares.examples(1)) == (10, 1)


def test_at_night_all_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "WHOLE", True)
    assert shares.share(LETTERS, 3) == LETTERS
    assert shares.each_kind(LETTERS, lambda case: "one kind") == LETTERS
    assert shares.cases([1], [2]) == [1, 2]
    assert shares.examples(30) == 30


def test_by_day_what_is_for_the_night_is_left() -> None:
    assert shares.cases([1], [2]) == [1]


def test_the_slow_test_files_exist() -> None:
    there = {path.stem for path in Path(shares.__file__).parent.rglob("test_*.py")}
    assert set(shares.LONGEST_FIRST) <= there
