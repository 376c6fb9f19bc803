"""How far two forms agree under the best renaming."""

from __future__ import annotations

import pytest

from wug.families.cogs.logical_form import parse, smatch

GOLD = (
    "* boy ( x _ 1 ) ; want . agent ( x _ 2 , x _ 1 ) AND want . xcomp ( x _ 2 , x _ 4 ) "
    "AND go . agent ( x _ 4 , x _ 1 )"
)


@pytest.mark.parametrize(
    ("prediction", "f1"),
    [
        (GOLD, 1.0),
        (GOLD.replace("1", "9").replace("2", "1"), 1.0),
        # The boy is another: four terms on each side, three agree.
        (GOLD.replace("boy ( x _ 1 )", "boy ( x _ 0 )"), 3 / 4),
        # One of the four terms is missing: 2 * 3 / (4 + 3).
        (GOLD.replace("want . xcomp ( x _ 2 , x _ 4 ) AND ", ""), 6 / 7),
        # Nothing but go.agent can agree: 2 * 1 / (4 + 2).
        ("girl ( x _ 1 ) AND go . agent ( x _ 2 , x _ 7 )", 1 / 3),
        # A duplicate is nothing new in a set.
        (f"{GOLD} AND go . agent ( x _ 4 , x _ 1 )", 1.0),
        ("Emma", 0.0),
        ("LAMBDA a . boy ( a )", 0.0),
    ],
)
def test_agreement_is_the_f1_of_terms_under_the_best_renaming(prediction: str, f1: float) -> None:
    found = smatch(parse(GOLD), parse(prediction))
    assert found.f1 == pytest.approx(f1)
    assert found.exact


def test_an_index_stands_for_at_most_one_other() -> None:
    # Both cats of the gold form cannot be the one cat of the prediction: 2 * 2 / (4 + 3).
    gold = parse("cat ( x _ 1 ) AND cat ( x _ 2 ) AND see . agent ( x _ 3 , x _ 1 ) AND see . theme ( x _ 3 , x _ 2 )")
    prediction = parse("cat ( x _ 1 ) AND see . agent ( x _ 3 , x _ 1 ) AND see . theme ( x _ 3 , x _ 1 )")
    assert smatch(gold, prediction).f1 == pytest.approx(4 / 7)


def test_a_large_disagreement_may_be_inexact_but_is_the_same_for_a_seed() -> None:
    gold = parse(" AND ".join(f"see . ccomp ( x _ {i} , x _ {(i * 7 + 3) % 20} )" for i in range(20)))
    prediction = parse(" AND ".join(f"see . ccomp ( x _ {i} , x _ {(i * 11 + 5) % 20} )" for i in range(20)))
    found = smatch(gold, prediction, seed=3)
    assert not found.exact
    assert 0 < found.f1 < 1
    assert found == smatch(gold, prediction, seed=3)
