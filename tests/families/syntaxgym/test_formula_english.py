"""Predictions as English sentences."""

from __future__ import annotations

import pytest

from wug.families.syntaxgym.formula import parse

REGIONS = {1: "subject", 2: "verb", 3: ""}


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("(2;%bad%) > (2;%good%)", "region 2 (verb) is more surprising in bad than in good"),
        ("(2;%bad%) - (2;%good%) > 0", "region 2 (verb) is more surprising in bad than in good"),
        ("0 < (2;%bad%) - (2;%good%)", "region 2 (verb) is more surprising in bad than in good"),
        ("(2;%good%) <= (2;%bad%)", "region 2 (verb) is at most as surprising in good as in bad"),
        ("(3;%good%) = (3;%bad%)", "region 3 is about as surprising in good as in bad"),
        ("(*;%good%) < (*;%bad%)", "the whole sentence is less surprising in good than in bad"),
        ("(1;%good%) < (2;%good%)", "in good, region 1 (subject) is less surprising than region 2 (verb)"),
        ("(1;%good%) < (2;%bad%)", "region 1 (subject) in good is less surprising than region 2 (verb) in bad"),
        (
            "(1;%good%) + (2;%good%) < (1;%bad%) + (2;%bad%)",
            "regions 1 (subject) and 2 (verb) together are less surprising in good than in bad",
        ),
        ("(2;%bad%) - (2;%good%) > 3", "region 2 (verb) is more than 3 bits more surprising in bad than in good"),
        ("(2;%bad%) - (2;%good%) >= 1", "region 2 (verb) is at least 1 bit more surprising in bad than in good"),
        (
            "(2;%bad%) - (2;%good%) < 3",
            "the rise in surprisal of region 2 (verb) from good to bad is less than 3 bits",
        ),
        (
            "abs((2;%bad%) - (2;%good%)) > 3",
            "the surprisal of region 2 (verb) differs between bad and good by more than 3 bits",
        ),
        ("(2;%good%) < 8", "the surprisal of region 2 (verb) in good is less than 8 bits"),
        ("8 > (2;%good%)", "the surprisal of region 2 (verb) in good is less than 8 bits"),
        (
            "(2;%bad%) / (2;%good%) > 2",
            "the surprisal of region 2 (verb) in bad divided by the surprisal of region 2 (verb) in good "
            "is greater than 2",
        ),
    ],
)
def test_a_comparison_reads_as_a_linguist_would_say_it(source: str, sentence: str) -> None:
    assert parse(source).english(REGIONS) == sentence


def test_an_interaction_reads_as_one_rise_against_another() -> None:
    sentence = "the surprisal of region 2 (verb) rises more from b to a than from d to c"
    assert parse("[(2;%a%)-(2;%b%)] > [(2;%c%)-(2;%d%)]").english(REGIONS) == sentence
    assert parse("[(2;%a%)-(2;%b%)] - [(2;%c%)-(2;%d%)] > 0").english(REGIONS) == sentence


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        pytest.param(
            "[(2;%a%)-(2;%b%)] < [(1;%c%)-(1;%d%)]",
            "the surprisal of region 2 (verb) rises less from b to a than that of region 1 (subject) does from d to c",
            id="an interaction of two regions names both",
        ),
        pytest.param(
            "[(2;%a%)-(2;%b%)] + [[(1;%c%)+(3;%c%)]-[(1;%d%)+(3;%d%)]] > 0",
            "the rise in surprisal of region 2 (verb) from b to a and the rise in surprisal of regions 1 (subject) and "
            "3 from d to c add up to more than 0 bits",
            id="a sum of differences reads as rises that add up",
        ),
        pytest.param(
            "(2;%a%) < (2;%b%) & (2;%c%) < (2;%d%)",
            "region 2 (verb) is less surprising in a than in b, and less surprising in c than in d",
            id="a second clause leaves out the subject it shares",
        ),
        pytest.param(
            "(2;%a%) < (2;%b%) & (1;%c%) < (1;%d%)",
            "region 2 (verb) is less surprising in a than in b, "
            "and region 1 (subject) is less surprising in c than in d",
            id="a second clause names another subject",
        ),
        pytest.param(
            "(2;%a%) > (2;%b%) & (2;%a%) - (2;%b%) > (2;%c%) - (2;%d%)",
            "region 2 (verb) is more surprising in a than in b, "
            "and its surprisal rises more from b to a than from d to c",
            id="an interaction after a comparison says its surprisal",
        ),
        pytest.param(
            "(2;%a%) > (2;%b%) | (2;%c%) < (2;%d%)",
            "either region 2 (verb) is more surprising in a than in b, or less surprising in c than in d",
            id="alternatives are introduced by either",
        ),
    ],
)
def test_several_clauses_read_as_one_sentence(source: str, sentence: str) -> None:
    assert parse(source).english(REGIONS) == sentence


def test_logic_inside_logic_is_bracketed() -> None:
    assert parse("1 > 2 & (1 > 2 | 1 < 2)").english({}) == (
        "1 is greater than 2, and (either 1 is greater than 2, or 1 is less than 2)"
    )


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("~[(2;%a%) > (2;%b%)]", "region 2 (verb) is not more surprising in a than in b"),
        ("~[(2;%a%) != (2;%b%)]", "region 2 (verb) is exactly as surprising in a as in b"),
        (
            "~[(2;%a%) - (2;%b%) > (2;%c%) - (2;%d%)]",
            "the surprisal of region 2 (verb) does not rise more from b to a than from d to c",
        ),
        (
            "~[(2;%a%) > (2;%b%) & 1 < 2]",
            "it is not the case that (region 2 (verb) is more surprising in a than in b, and 1 is less than 2)",
        ),
    ],
)
def test_a_denial_reads_naturally(source: str, sentence: str) -> None:
    assert parse(source).english(REGIONS) == sentence


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("min(1, 2, 3) > 0", "the smallest of 1, 2 and 3 is greater than 0"),
        (
            "mean((1;%a%), (2;%a%)) > 4",
            "the mean of the surprisal of region 1 (subject) in a and the surprisal of region 2 (verb) in a "
            "is greater than 4 bits",
        ),
        ("sqrt((1;%a%)) < -1", "the square root of the surprisal of region 1 (subject) in a is less than minus 1"),
        (
            "round((1;%a%), 2) < 1",
            "the surprisal of region 1 (subject) in a rounded to 2 decimal places is less than 1 bit",
        ),
        (
            "[(1;%a%) + (2;%a%)] / 2 < (3;%b%)",
            "(the summed surprisal of regions 1 (subject) and 2 (verb) in a) divided by 2 "
            "is less than the surprisal of region 3 in b",
        ),
        ("(1 < 2) = (3 < 4)", "1 is less than 2 exactly when 3 is less than 4"),
        # Neither sum is an amount of surprisal, so 4 is not in bits.
        (
            "(1;%a%) / (2;%a%) + (2;%b%) > 4",
            "the sum of (the surprisal of region 1 (subject) in a divided by the surprisal of region 2 (verb) in a) "
            "and the surprisal of region 2 (verb) in b is greater than 4",
        ),
        (
            "(1;%a%) + log((2;%a%)) > 4",
            "the sum of the surprisal of region 1 (subject) in a and (the natural logarithm of the surprisal of "
            "region 2 (verb) in a) is greater than 4",
        ),
    ],
)
def test_functions_and_arithmetic_are_spelled_out(source: str, sentence: str) -> None:
    assert parse(source).english(REGIONS) == sentence
