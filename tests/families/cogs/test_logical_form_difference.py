"""Two forms side by side, and what kinds of error that comes to."""

from __future__ import annotations

import pytest

from wug.families.cogs.logical_form import ERRORS, TermPair, difference, score_form

GOLD = (
    "* boy ( x _ 1 ) ; want . agent ( x _ 2 , x _ 1 ) AND want . xcomp ( x _ 2 , x _ 4 ) "
    "AND go . agent ( x _ 4 , x _ 1 )"
)


@pytest.mark.parametrize(
    ("prediction", "kinds"),
    [
        (GOLD, ()),
        (f" {GOLD}  ", ()),
        (GOLD.replace(")", "", 1), ("ill-formed",)),
        (GOLD.replace("xcomp", "wish"), ("ill-formed",)),
        ("", ("ill-formed",)),
        (
            "* boy ( x _ 1 ) ; go . agent ( x _ 4 , x _ 1 ) AND want . agent ( x _ 2 , x _ 1 ) "
            "AND want . xcomp ( x _ 2 , x _ 4 )",
            ("order",),
        ),
        (GOLD.replace("4", "5"), ("index",)),
        (GOLD.replace("boy ( x _ 1 )", "boy ( x _ 0 )"), ("index",)),
        (GOLD.replace("go . agent", "go . theme"), ("role",)),
        (GOLD.replace("boy", "girl"), ("name",)),
        (GOLD.replace("go . agent ( x _ 4 , x _ 1 )", "go . agent ( x _ 4 , Emma )"), ("name",)),
        (GOLD.replace("* boy ( x _ 1 ) ; ", "") + " AND boy ( x _ 1 )", ("definiteness",)),
        (GOLD.replace("want . xcomp ( x _ 2 , x _ 4 ) AND ", ""), ("missing",)),
        (f"{GOLD} AND cat ( x _ 7 )", ("extra",)),
        (f"{GOLD} AND go . agent ( x _ 4 , x _ 1 )", ("extra",)),
        ("girl ( x _ 1 ) AND go . agent ( x _ 2 , x _ 7 )", ("index", "name", "definiteness", "missing")),
        ("Emma", ("missing", "extra")),
    ],
)
def test_an_error_has_its_kinds(prediction: str, kinds: tuple[str, ...]) -> None:
    assert score_form(GOLD, prediction, "cogs").errors == kinds


def test_every_kind_of_error_is_explained_in_the_order_in_which_it_is_named() -> None:
    kinds = score_form(GOLD, "girl ( x _ 1 ) AND go . agent ( x _ 2 , x _ 7 )", "cogs").errors
    assert list(kinds) == [kind for kind in ERRORS if kind in kinds]


def test_the_terms_stand_side_by_side_in_the_order_of_the_gold_form() -> None:
    prediction = "* boy ( x _ 1 ) ; go . agent ( x _ 4 , x _ 1 ) AND cat ( x _ 9 ) AND want . agent ( x _ 3 , x _ 1 )"
    assert difference(GOLD, prediction, "cogs") == [
        TermPair("* boy ( x _ 1 )", "* boy ( x _ 1 )"),
        TermPair(None, "cat ( x _ 9 )", ("extra",)),
        TermPair("want . agent ( x _ 2 , x _ 1 )", "want . agent ( x _ 3 , x _ 1 )", ("index",)),
        TermPair("want . xcomp ( x _ 2 , x _ 4 )", None, ("missing",)),
        TermPair("go . agent ( x _ 4 , x _ 1 )", "go . agent ( x _ 4 , x _ 1 )"),
    ]


def test_terms_that_only_changed_places_say_so() -> None:
    prediction = "* boy ( x _ 1 ) ; want . xcomp ( x _ 2 , x _ 4 ) AND go . agent ( x _ 4 , x _ 1 ) "
    prediction += "AND want . agent ( x _ 2 , x _ 1 )"
    changed = [row.gold for row in difference(GOLD, prediction, "cogs") if row.changes == ("order",)]
    assert changed == ["want . agent ( x _ 2 , x _ 1 )"]


def test_a_renamed_form_is_paired_by_the_renaming() -> None:
    gold = "like . agent ( x _ 1 , Emma ) AND like . ccomp ( x _ 1 , x _ 2 ) AND like . agent ( x _ 2 , Emma )"
    swapped = "like . agent ( x _ 2 , Emma ) AND like . ccomp ( x _ 2 , x _ 1 ) AND like . agent ( x _ 1 , Emma )"
    rows = difference(gold, swapped, "cogs")
    assert [row.prediction for row in rows] == swapped.split(" AND ")
    assert {row.changes for row in rows} == {("index",)}


def test_an_ill_formed_prediction_is_compared_piece_by_piece() -> None:
    rows = difference(
        "cat ( x _ 1 ) AND nap . agent ( x _ 2 , x _ 1 )", "cat ( x _ 1 ) AND nap . agent ( x _ 2", "cogs"
    )
    assert rows == [
        TermPair("cat ( x _ 1 )", "cat ( x _ 1 )"),
        TermPair("nap . agent ( x _ 2 , x _ 1 )", None, ("missing",)),
        TermPair(None, "nap . agent ( x _ 2", ("ill-formed",)),
    ]


def test_a_variable_free_form_differs_word_by_word() -> None:
    rows = difference("eat ( agent = Emma , theme = * cake )", "eat ( theme = cake , agent = Ava )", "variable_free")
    assert {(row.gold, row.prediction, row.changes) for row in rows} == {
        ("eat", "eat", ()),
        ("eat . agent = Emma", "eat . agent = Ava", ("name",)),
        ("eat . theme = * cake", "eat . theme = cake", ("definiteness",)),
    }


def test_the_variables_of_a_lambda_form_are_a_row_of_their_own() -> None:
    gold, prediction = "LAMBDA a . shark ( a )", "LAMBDA b . shark ( b )"
    assert difference(gold, prediction, "cogs")[0] == TermPair("LAMBDA a .", "LAMBDA b .", ("index",))
