"""What is tried by day is the same everywhere, has something of everything, and is all of it at night."""

from __future__ import annotations

import pytest

import case_selection

LETTERS = list("abcdefg")


@pytest.fixture(autouse=True)
def _by_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case_selection, "WHOLE", False)


def test_a_share_is_rounded_up_in_the_order_given_and_never_nothing() -> None:
    found = case_selection.share(LETTERS, 3)
    assert len(found) == 3
    assert found == sorted(found)
    assert case_selection.share(reversed(LETTERS), 3) == found[::-1]
    assert len(case_selection.share(LETTERS[:1], 3)) == 1


def test_of_every_kind_there_is_something() -> None:
    found = case_selection.each_kind(["a1", "b1", "a2", "c1", "a3", "b2"], lambda case: case[0], most=2)
    assert [case[0] for case in found].count("a") == 2
    assert {"b1", "b2", "c1"} < {*found}


def test_examples_are_a_quarter() -> None:
    assert (case_selection.examples(30), case_selection.examples(1)) == (8, 1)


def test_at_night_all_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case_selection, "WHOLE", True)
    assert case_selection.share(LETTERS, 3) == LETTERS
    assert case_selection.each_kind(LETTERS, lambda case: "one kind") == LETTERS
    assert case_selection.cases([1], [2]) == [1, 2]
    assert case_selection.examples(30) == 30


def test_by_day_what_is_for_the_night_is_left() -> None:
    assert case_selection.cases([1], [2]) == [1]
