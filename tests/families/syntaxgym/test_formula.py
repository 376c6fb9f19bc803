"""The prediction language: what is read, what is refused and where, and what it comes to."""

from __future__ import annotations

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug.errors import FormulaError
from wug.families.syntaxgym.formula import Formula, parse
from wug.families.syntaxgym.formula.parse import FUNCTIONS, MAX_NESTING, MAX_OPERATORS
from wug.families.syntaxgym.formula.tree import (
    Arithmetic,
    Atom,
    Call,
    Logic,
    Node,
    Not,
    Number,
    Relation,
    Signed,
    canonical,
    close,
)

REGIONS = {1: "subject", 2: "verb", 3: "end"}
BITS = {(1, "a"): 1.0, (2, "a"): 2.0, (3, "a"): 3.0, (1, "b"): 4.0, (2, "b"): 5.0, (3, "b"): 6.0}


def value(region: int | str, condition: str) -> float:
    if region == "*":
        return sum(bits for (_, name), bits in BITS.items() if name == condition)
    return BITS[int(region), condition]


def holds(source: str) -> bool:
    return parse(source).resolve(REGIONS, ["a", "b"]).holds(value)


def fault(source: str) -> FormulaError:
    with pytest.raises(FormulaError) as caught:
        parse(source).resolve(REGIONS, ["a", "b"]).holds(value)
    return caught.value


# What holds


@pytest.mark.parametrize(
    ("source", "verdict"),
    [
        ("(1;%a%) < (1;%b%)", True),
        ("(2;%a%) - (1;%a%) = 1", True),
        ("(verb;%b%) == 5", True),
        ("[(1;%a%) + (2;%a%)] / 3 == 1", True),
        ("2 + 3 * 4 == 14", True),
        ("(2 + 3) * 4 == 20", True),
        ("5 - 4 - 3 < 0", True),
        ("8 / 4 / 2 == 1", True),
        ("-(1;%a%) * -2 == 2", True),
        ("- 1 < 0", True),
        ("1e3 == 1000", True),
        (".5 + 5. == 5.5", True),
        ("1 <= 1 & 1 >= 1", True),
        ("1 != 1", False),
        ("1 < 2 and 3 < 2", False),
        ("1 < 2 or 3 < 2", True),
        ("not 1 < 2", False),
        ("not 1 < 2 | 1 < 2", True),
        ("~(1 < 2)", False),
        ("~~(1 < 2)", True),
        ("1 > 2 & (1 > 2 | 1 < 2)", False),
        ("(1 < 2) = (3 < 4)", True),
        ("(1 < 2) != (3 < 4)", False),
        ("abs(1 - 4) == 3", True),
        ("abs[1 - 4] == 3", True),
        ("min(3, 1, 2) == 1 & max(3, 1, 2) == 3", True),
        ("mean(1, 2, 6) == 3 & sum(1, 2, 6) == 9", True),
        ("sqrt(16) == 4 & log(exp(2)) = 2", True),
        ("round(2.4) == 2 & round(2.44, 1) == 2.4", True),
    ],
)
def test_a_prediction_comes_to_what_arithmetic_says(source: str, verdict: bool) -> None:
    assert holds(source) is verdict


def test_wildcard_region_is_the_whole_sentence() -> None:
    assert holds("(*;%a%) == 6 & (*;%b%) == 15")


def test_equal_is_close_and_double_equal_is_exact() -> None:
    assert holds("1 = 1.0009")
    assert not holds("1 = 1.002")
    assert not holds("1 == 1.0009")
    assert close(math.inf, math.inf)


def test_spaces_and_line_breaks_do_not_matter() -> None:
    assert parse("( 1 ; % a % )\n<\t(1;%b%)").tree == parse("(1;%a%)<(1;%b%)").tree


def test_a_condition_may_have_any_characters_but_percent_and_semicolon() -> None:
    assert parse("(1;%a b/c (é)-1.5%) > 0").atoms() == [(1, "a b/c (é)-1.5")]


def test_round_and_square_brackets_group_alike() -> None:
    assert parse("[[(1;%a%)+1]*2] > (3)").tree == parse("(((1;%a%)+1)*2) > 3").tree


def test_atoms_are_listed_once_in_order() -> None:
    formula = parse("(2;%b%) > (1;%a%) & (1;%a%) > (*;%b%)")
    assert formula.atoms() == [(2, "b"), (1, "a"), ("*", "b")]


def test_a_region_name_becomes_its_number() -> None:
    assert parse("(verb;%a%) > 0").resolve(REGIONS, ["a"]).canonical() == "(2;%a%) > 0"


def test_a_number_is_a_number_even_if_a_region_is_named_so() -> None:
    assert parse("(1;%a%) > 0").resolve({1: "2", 2: "1"}, ["a"]).atoms() == [(1, "a")]


# What is refused, and where


@pytest.mark.parametrize(
    ("source", "columns", "words"),
    [
        ("", (0, 1), "empty"),
        ("   ", (0, 1), "empty"),
        ("(1;%a%)", (0, 7), "is a number"),
        ("(1;%a%) >", (8, 9), "missing after"),
        ("> 1", (0, 1), "missing before"),
        ("1 < 2 < 3", (6, 7), "chained"),
        ("1 = 1 = 1", (6, 7), "chained"),
        ("1<2 & 1<2 | 1<2", (10, 11), "mixed"),
        ("1<2 or 1<2 and 1<2", (11, 14), "mixed"),
        ("1 < 2 & 3", (8, 9), "is a number"),
        ("(1<2) + 1 > 0", (1, 4), "true or false"),
        ("(1<2) < 3", (1, 4), "true or false"),
        ("(1<2) = 3", (1, 4), "true or false"),
        ("(1<2) < (2<3)", (1, 4), "true or false"),
        ("-(1<2) > 0", (2, 5), "true or false"),
        ("abs(1<2) > 0", (4, 7), "true or false"),
        ("~1 < 2", (1, 2), "in brackets"),
        ("(1 < 2", (0, 1), "never closed"),
        ("((1 < 2)", (0, 1), "never closed"),
        ("1 < 2)", (5, 6), "closes nothing"),
        ("(1 < 2]", (6, 7), "closed by )"),
        ("() < 2", (1, 2), "missing before this )"),
        ("(1;%a%) (1;%b%) > 0", (8, 15), "operator is missing"),
        ("(1 2) > 0", (3, 4), "operator is missing"),
        ("1<2 && 1<2", (5, 6), "write & once"),
        ("!(1<2)", (0, 1), "~ or not"),
        ("{1<2}", (0, 1), "( ) or [ ]"),
        ("1 ≤ 2", (2, 3), "Write <="),
        ("1 ＞ 2", (2, 3), "Did you mean '>'"),
        ("1 # 2", (2, 3), "unexpected '#'"),
        ("(1;a) > 0", (3, 4), "between two % signs"),
        ("(1;%a) > 0", (3, 5), "between two % signs"),
        ("(1;%a% > 0", (0, 6), ") is missing"),
        ("(1;%%) > 0", (3, 5), "no name"),
        ("(;%a%) > 0", (0, 2), "no region"),
        ("(1,%a%) > 0", (2, 3), "semicolon"),
        ("1 % 2 > 0", (2, 3), "(1;%name%)"),
        ("1e999 > 0", (0, 5), "too large"),
        ("1_000 > 0", (1, 5), "operator is missing"),
        ("nan < 1", (0, 3), "unknown word 'nan'"),
        ("asb(1) > 0", (0, 3), "unknown function 'asb'. Did you mean 'abs'?"),
        ("abs > 0", (0, 3), "abs(…)"),
        ("abs(1, 2) > 0", (0, 9), "takes 1 value, not 2"),
        ("round(1, 2, 3) > 0", (0, 14), "takes 1 or 2 values, not 3"),
        ("round(1, .5) > 0", (9, 11), "decimal places"),
        ("abs() > 0", (4, 5), "missing before this )"),
        ("(4;%a%) > 0", (1, 2), "unknown region 4. Regions are numbered 1 to 3"),
        ("( vreb ;%a%) > 0", (2, 6), "unknown region 'vreb'. Did you mean 'verb'?"),
        ("(1;%aa%) > 0", (3, 7), "unknown condition 'aa'"),
        ("1 / 0 > 0", (0, 5), "division by zero"),
        ("2 < 1 / ((1;%a%) - 1)", (4, 20), "division by zero"),
        ("sqrt(0 - 4) > 0", (0, 11), "sqrt of -4 is undefined"),
        ("log(0) > 0", (0, 6), "log of 0 is undefined"),
        ("exp(1000) > 0", (0, 9), "too large"),
        ("1e300 * 1e300 > 0", (0, 13), "too large"),
    ],
)
def test_a_fault_is_named_and_its_columns_given(source: str, columns: tuple[int, int], words: str) -> None:
    error = fault(source)
    assert words in error.message
    assert (error.start, error.end) == columns


def test_the_error_shows_a_caret_under_the_fault() -> None:
    with pytest.raises(FormulaError) as caught:
        parse("(5;%what_gp%) < (5;%that_gap%)").resolve({5: "np"}, ["what_gap", "that_gap"])
    assert str(caught.value) == (
        "unknown condition 'what_gp'. Did you mean 'what_gap'?\n    (5;%what_gp%) < (5;%that_gap%)\n       ^^^^^^^^^"
    )


def test_a_name_of_two_regions_is_refused() -> None:
    with pytest.raises(FormulaError, match="regions 1 and 3 are both named 'the'"):
        parse("(the;%a%) > 0").resolve({1: "the", 2: "x", 3: "the"}, ["a"])


def test_infinite_surprisals_compare_but_have_no_difference() -> None:
    formula = parse("(1;%a%) > (1;%b%)")
    assert formula.holds(lambda region, condition: math.inf if condition == "a" else 1.0)
    with pytest.raises(FormulaError, match="infinite"):
        parse("(1;%a%) - (1;%b%) > 0").holds(lambda region, condition: math.inf)


def test_brackets_beyond_the_limit_are_refused_not_a_crash() -> None:
    assert "deep" in fault("(" * 5000 + "1<2" + ")" * 5000).message
    assert "deep" in fault("~" * 5000 + "(1<2)").message
    deepest = MAX_NESTING - 1
    assert parse("(1+2*" * deepest + "1" + ")" * deepest + " > 0").holds(value)


def test_operators_beyond_the_limit_are_refused_not_a_crash() -> None:
    assert f"at most {MAX_OPERATORS} operators" in fault("+".join(["1"] * 5000) + " > 0").message
    longest = parse("+".join(["(1;%a%)"] * MAX_OPERATORS) + " > 0").resolve(REGIONS, ["a"])
    assert longest.judge(value).holds
    assert parse(longest.canonical()).tree == longest.tree
    assert longest.english(REGIONS)


# By how much


def test_the_margin_is_how_far_the_values_are_from_the_other_verdict() -> None:
    # 1 against 4 and 2 against 5: both hold by 3, and the second comparison by 2 only.
    assert parse("(1;%a%) < (1;%b%)").judge(value).margin == 3
    assert parse("(1;%a%) > (1;%b%)").judge(value).margin == -3
    assert parse("(1;%a%) < (1;%b%) & (2;%a%) < 4").judge(value).margin == 2
    assert parse("(1;%a%) < (1;%b%) | (2;%a%) < 4").judge(value).margin == 3
    assert parse("~((1;%a%) < (1;%b%))").judge(value).margin == -3
    assert parse("1 == 3").judge(value).margin == -2
    assert parse("1 != 3").judge(value).margin == 2
    assert parse("1 = 3").judge(value).margin == pytest.approx(1e-3 + 3e-5 - 2)
    assert parse("(1 < 5) = (2 < 3)").judge(value).margin == 1


def test_the_sides_of_every_comparison_are_reported() -> None:
    judgement = parse("(1;%a%) + (2;%a%) < (1;%b%) & (1;%a%) > 2").judge(value)
    assert not judgement.holds
    assert judgement.comparisons == (
        {"formula": "(1;%a%) + (2;%a%) < (1;%b%)", "left": 3.0, "operator": "<", "right": 4.0, "holds": True},
        {"formula": "(1;%a%) > 2", "left": 1.0, "operator": ">", "right": 2.0, "holds": False},
    )


# Canonical form


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("[(1;%a%)<(1;%b%)]&[[(2;%a%)]<(2;%b%)]", "(1;%a%) < (1;%b%) & (2;%a%) < (2;%b%)"),
        ("((1<2)&(2<3))&(3<4)", "1 < 2 & 2 < 3 & 3 < 4"),
        ("(1<2 & 2<3) | not 3<4", "(1 < 2 & 2 < 3) | ~(3 < 4)"),
        ("1-(2-3) > (1-2)-3", "1 - (2 - 3) > 1 - 2 - 3"),
        ("(1*2)+3 > (1+2)*3", "1 * 2 + 3 > (1 + 2) * 3"),
        ("1/(2*3) > -(1+2)", "1 / (2 * 3) > -(1 + 2)"),
        ("1.50 > 1e30", "1.5 > 1e+30"),
        ("max( 1 ,2)>0", "max(1, 2) > 0"),
    ],
)
def test_canonical_form_has_no_bracket_that_is_not_needed(source: str, expected: str) -> None:
    assert parse(source).canonical() == expected


def _numbers() -> st.SearchStrategy[Node]:
    names = st.sampled_from(["a", "b", "no-obj_comma", "é x"])
    leaves: st.SearchStrategy[Node] = st.one_of(
        st.floats(0, 1e20, allow_nan=False).map(abs).map(Number),
        st.builds(Atom, st.sampled_from([1, 2, 3, "*"]), names),
    )

    def grow(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
        calls = st.sampled_from(sorted(set(FUNCTIONS) - {"round"})).flatmap(
            lambda name: st.builds(
                Call,
                st.just(name),
                st.lists(inner, min_size=1, max_size=FUNCTIONS[name] or 3).map(tuple),
            )
        )
        return st.one_of(
            st.builds(Signed, st.sampled_from("+-"), st.tuples(inner)),
            st.builds(Arithmetic, st.sampled_from("+-*/"), st.tuples(inner, inner)),
            calls,
        )

    return st.recursive(leaves, grow, max_leaves=8)


def _truths() -> st.SearchStrategy[Node]:
    comparisons: st.SearchStrategy[Node] = st.builds(
        Relation, st.sampled_from(["<", "<=", ">", ">=", "=", "==", "!="]), st.tuples(_numbers(), _numbers())
    )

    def flat(operator: str, parts: list[Node]) -> Node:
        joined: tuple[Node, ...] = ()
        for part in parts:
            joined += part.operands if isinstance(part, Logic) and part.operator == operator else (part,)
        return Logic(operator, joined)

    def grow(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
        return st.one_of(
            st.builds(Not, st.just("~"), st.tuples(inner)),
            st.builds(flat, st.sampled_from("&|"), st.lists(inner, min_size=2, max_size=3)),
            st.builds(Relation, st.sampled_from(["=", "==", "!="]), st.tuples(inner, inner)),
        )

    return st.recursive(comparisons, grow, max_leaves=5)


@given(_truths())
def test_canonical_form_reads_back_as_the_same_tree(tree: Node) -> None:
    assert parse(canonical(tree)).tree == tree


@given(_truths())
def test_no_bracket_of_the_canonical_form_can_be_left_out(tree: Node) -> None:
    text = canonical(tree)
    stack: list[int] = []
    for place, letter in enumerate(text):
        if letter == "(":
            stack.append(place)
        elif letter == ")":
            opening = stack.pop()
            inside = text[opening + 1 : place]
            called = text[:opening].endswith(tuple(FUNCTIONS))
            if called or ";%" in inside.split("(")[0] or text[opening - 1 : opening] == "~":
                continue  # variables, calls and denials have theirs in any case
            with contextlib.suppress(FormulaError):
                assert parse(f"{text[:opening]}{inside}{text[place + 1 :]}").tree != tree


@given(_truths())
def test_every_prediction_has_an_english_sentence(tree: Node) -> None:
    assert Formula("", tree).english(REGIONS).strip()


@given(_truths())
def test_the_margin_has_the_sign_of_the_verdict(tree: Node) -> None:
    try:
        judgement = Formula("", tree).judge(lambda region, condition: 3.0 if condition == "a" else 5.0)
    except FormulaError:
        return
    assert judgement.margin >= 0 if judgement.holds else judgement.margin <= 0


@given(st.text(alphabet="()[]+-*/<>=!&|~,;% \n12.eab", max_size=40))
def test_any_text_is_read_or_refused_with_its_columns(source: str) -> None:
    error = None
    try:
        parse(source)
    except FormulaError as caught:
        error = caught
    assert error is None or 0 <= error.start < error.end <= len(source) + 1
