"""All measures of one prediction."""

from __future__ import annotations

import pytest

from wug.errors import FormulaError
from wug.families.cogs.logical_form import score_form
from wug.families.cogs.logical_form.measures import COUNTS, FEATURES, FormScores

GOLD = "* boy ( x _ 1 ) ; see . agent ( x _ 2 , x _ 1 ) AND see . theme ( x _ 2 , Emma )"


def counts(found: FormScores, feature: str) -> dict[str, int]:
    place = FEATURES.index(feature) * len(COUNTS)
    return dict(zip(COUNTS, found.counts[place : place + len(COUNTS)], strict=True))


def test_a_trailing_space_is_seen_by_the_string_alone() -> None:
    found = score_form(GOLD, f"{GOLD} ", "cogs")
    assert (found.exact_match_string, found.exact_match, found.edit_distance) == (False, True, 0)
    assert found[2:6] == (True, True, True, True)


def test_a_no_break_space_is_no_space() -> None:
    found = score_form(GOLD, GOLD.replace("Emma )", "Emma\u00a0)"), "cogs")
    assert (found.exact_match, found.well_formed, found.edit_distance) == (False, False, 2)


def test_what_is_counted_is_counted_before_and_after_the_semicolon() -> None:
    # The boy has another index, and Emma is Ava.
    found = score_form(GOLD, "* boy ( x _ 3 ) ; see . agent ( x _ 2 , x _ 1 ) AND see . theme ( x _ 2 , Ava )", "cogs")
    assert counts(found, "indices") == dict(zip(COUNTS, (3, 0, 3, 1, 3, 1, 3), strict=True))
    assert counts(found, "names") == dict(zip(COUNTS, (0, 0, 0, 0, 1, 0, 1), strict=True))
    assert counts(found, "predicates") == dict(zip(COUNTS, (3, 1, 2, 1, 2, 1, 2), strict=True))
    assert counts(found, "terms") == dict(zip(COUNTS, (1, 0, 1, 1, 2, 1, 2), strict=True))


def test_an_index_counts_wherever_it_stands_but_a_term_only_on_its_side() -> None:
    found = score_form(GOLD, "boy ( x _ 1 ) AND see . agent ( x _ 2 , x _ 1 ) AND see . theme ( x _ 2 , Emma )", "cogs")
    assert (counts(found, "indices")["common"], counts(found, "indices")["common_prefix"]) == (4, 0)
    assert counts(found, "predicates")["common"] == 3
    assert counts(found, "terms")["common"] == 2


def test_a_repeated_term_counts_as_often_as_both_have_it() -> None:
    found = score_form("cat ( x _ 1 )", "cat ( x _ 1 ) AND cat ( x _ 1 )", "cogs")
    assert counts(found, "terms") == dict(zip(COUNTS, (1, 0, 1, 0, 2, 0, 1), strict=True))
    assert (found.well_formed, found.well_formed_strict) == (True, False)
    assert (found.order_invariant_match, found.semantic_match) == (False, True)


def test_an_ill_formed_prediction_counts_as_empty_and_the_gold_form_still_counts() -> None:
    found = score_form(GOLD, "* boy ( x _ 1 ) ; see . agent ( x _ 2 , x _ 1", "cogs")
    assert found[2:6] == (False, False, False, False)
    assert counts(found, "terms") == dict(zip(COUNTS, (0, 0, 0, 0, 0, 1, 2), strict=True))


def test_a_name_has_itself_to_count() -> None:
    found = score_form("Emma", "Ava", "cogs")
    assert counts(found, "names") == dict(zip(COUNTS, (0, 0, 0, 0, 1, 0, 1), strict=True))
    assert counts(found, "predicates") == dict.fromkeys(COUNTS, 0)


def test_a_name_of_recogs_is_a_name_and_no_predicate() -> None:
    found = score_form(
        "Emma ( 3 ) ; nap ( 4 ) AND agent ( 4 , 3 )", "Ava ( 3 ) ; nap ( 4 ) AND agent ( 4 , 3 )", "recogs"
    )
    assert counts(found, "names")["gold_prefix"] == 1
    assert counts(found, "predicates")["common"] == 2


def test_variable_free_forms_have_no_indices_to_count() -> None:
    gold, prediction = "eat ( agent = Emma , theme = cake )", "eat ( theme = cake , agent = Ava )"
    found = score_form(gold, prediction, "variable_free")
    assert counts(found, "indices") == dict.fromkeys(COUNTS, 0)
    assert counts(found, "terms")["common"] == 2  # eat itself, and the cake
    assert not found.semantic_match


@pytest.mark.parametrize(
    ("prediction", "what"),
    [
        (GOLD.replace("_ 1", "_ 01"), "zero-padded"),
        (GOLD.replace("see . theme", "see . patient"), "an unknown role"),
        (GOLD.replace("( x _ 2 , Emma )", "( x _ 2 )"), "an argument too few"),
        (GOLD.replace("x _ 2", "e"), "a variable of a LAMBDA form"),
    ],
)
def test_what_the_grammar_does_not_derive_is_not_well_formed(prediction: str, what: str) -> None:
    assert score_form(GOLD, prediction, "cogs")[2:6] == (False, False, False, False), what


def test_an_unbound_index_is_well_formed_but_not_strictly() -> None:
    found = score_form(GOLD, GOLD.replace("boy ( x _ 1 )", "boy ( x _ 0 )"), "cogs")
    assert (found.well_formed, found.well_formed_strict) == (True, False)


def test_a_gold_form_that_cannot_be_read_is_an_error_with_its_place() -> None:
    with pytest.raises(FormulaError, match=r"expected '[(]' after 'boy', found the end"):
        score_form("boy", "boy", "cogs")
