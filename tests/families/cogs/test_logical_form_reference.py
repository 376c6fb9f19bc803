"""The measures of the first public evaluator, with its errors."""

from __future__ import annotations

import pytest

from wug.families.cogs.logical_form.measures import reference_form, reference_scores

GOLD = "* boy ( x _ 1 ) ; see . agent ( x _ 2 , x _ 1 ) AND see . theme ( x _ 2 , Emma )"


@pytest.mark.parametrize(
    "text",
    [
        "*boy(x_1);see.agent(x_2,x_1)ANDsee.theme(x_2,Emma)",
        GOLD.replace("_ 1", "_ 01"),
        "see . patient ( x _ 2 )",
        "a . b ( x _ 1 )".replace("a", "aa").replace("b", "bb"),
        "cat ( a ) AND dog ( e , Emma )",
        "* cat ( a ) ; nap . agent ( e , a )",
        "LAMBDA e . LAMBDA a . ball ( b )",
        "LAMBDAa.ball(a)",
        "Emma",
    ],
)
def test_it_takes_what_the_grammar_does_not_derive(text: str) -> None:
    assert reference_form(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "boy",
        "boy ( x _ 1",
        "* boy ( x _ 1 ) ;",
        "boy ( x _ 1 ) ; nap ( x _ 2 )",
        "* boy ( Emma ) ; nap ( x _ 2 )",
        "boy ( x _ 1 , x _ 2 , x _ 3 )",
        "boy ( ? )",
        "b ( x _ 1 )",
        "aa . bb . cc . dd ( x _ 1 )",
        "LAMBDA a . LAMBDA a . LAMBDA a . LAMBDA a . ball ( a )",
        "LAMBDA x . ball ( a )",
        "boy\u00a0( x _ 1 )",
        "E",
    ],
)
def test_it_refuses_what_its_grammar_cannot_parse(text: str) -> None:
    assert reference_form(text) is None


def test_duplicates_are_not_seen() -> None:
    assert reference_scores(GOLD, f"{GOLD} AND see . theme ( x _ 2 , Emma )").order_invariant_match


def test_swapped_lambdas_are_not_seen() -> None:
    gold = "LAMBDA a . LAMBDA e . crawl . agent ( e , a )"
    assert reference_scores(gold, "LAMBDA e . LAMBDA a . crawl . agent ( e , a )").order_invariant_match


def test_a_trailing_space_breaks_the_exact_match_and_costs_no_edit() -> None:
    found = reference_scores(GOLD, f"{GOLD} ")
    assert (found.exact_match, found.order_invariant_match, found.edit_distance) == (False, True, 0)


def test_a_no_break_space_splits_tokens_for_the_distance_but_not_for_the_grammar() -> None:
    found = reference_scores(GOLD, GOLD.replace("Emma )", "Emma\u00a0)"))
    assert (found.well_formed, found.edit_distance) == (False, 0)


def test_of_an_ill_formed_prediction_neither_side_is_counted() -> None:
    assert reference_scores(GOLD, "boy (").counts == (0,) * 9


def test_terms_predicates_and_arguments_are_sets() -> None:
    found = reference_scores(GOLD, "boy ( x _ 1 ) AND see . agent ( x _ 2 , x _ 1 ) AND see . agent ( x _ 3 , x _ 1 )")
    assert found.counts == (2, 3, 3, 2, 2, 3, 2, 3, 3)
