"""Forms that are the same but for order, or but for the names of their indices."""

from __future__ import annotations

from itertools import pairwise

import pytest

from wug.families.cogs.logical_form import canonical, equivalent, parse, renaming
from wug.families.cogs.logical_form.match import order_invariant

SEE = "see . agent ( x _ 1 , Emma ) AND see . theme ( x _ 1 , x _ 3 ) AND cat ( x _ 3 )"


@pytest.mark.parametrize(
    ("prediction", "same"),
    [
        (SEE, True),
        ("cat ( x _ 3 ) AND see . theme ( x _ 1 , x _ 3 ) AND see . agent ( x _ 1 , Emma )", True),
        ("cat ( x _ 3 ) AND see . agent ( x _ 1 , Emma )", False),
        (f"{SEE} AND cat ( x _ 3 )", False),
        (SEE.replace("3", "4"), False),
        ("* cat ( x _ 3 ) ; see . agent ( x _ 1 , Emma ) AND see . theme ( x _ 1 , x _ 3 )", False),
        ("Emma", False),
    ],
)
def test_order_does_not_matter_but_number_does(prediction: str, same: bool) -> None:
    assert order_invariant(parse(SEE), parse(prediction)) is same


def test_iotas_may_change_places_with_each_other_only() -> None:
    gold = parse("* cat ( x _ 1 ) ; * dog ( x _ 4 ) ; see . agent ( x _ 2 , x _ 1 ) AND see . theme ( x _ 2 , x _ 4 )")
    swapped = "* dog ( x _ 4 ) ; * cat ( x _ 1 ) ; see . agent ( x _ 2 , x _ 1 ) AND see . theme ( x _ 2 , x _ 4 )"
    assert order_invariant(gold, parse(swapped))


def test_the_order_of_lambdas_matters() -> None:
    gold = parse("LAMBDA a . LAMBDA e . crawl . agent ( e , a )")
    swapped = parse("LAMBDA e . LAMBDA a . crawl . agent ( e , a )")
    assert not order_invariant(gold, swapped)
    assert not equivalent(gold, swapped)


def test_the_roles_of_a_variable_free_form_may_change_places() -> None:
    gold = parse("say ( agent = Emma , ccomp = eat ( agent = cat , theme = * fish ) )")
    assert order_invariant(gold, parse("say ( ccomp = eat ( theme = * fish , agent = cat ) , agent = Emma )"))
    assert not order_invariant(gold, parse("say ( ccomp = eat ( theme = * fish , agent = Emma ) , agent = cat )"))


@pytest.mark.parametrize(
    ("prediction", "same"),
    [
        (SEE.replace("3", "70").replace("1", "2"), True),
        (SEE.replace("x _ 1", "x _ 9").replace("x _ 3", "x _ 1"), True),
        (f"{SEE} AND cat ( x _ 3 )", True),
        (SEE.replace("3", "1"), False),
        (SEE.replace("Emma", "Ava"), False),
        (SEE.replace("cat", "dog"), False),
        (f"{SEE} AND cat ( x _ 5 )", False),
        ("* cat ( x _ 3 ) ; see . agent ( x _ 1 , Emma ) AND see . theme ( x _ 1 , x _ 3 )", False),
    ],
)
def test_indices_may_be_renamed_one_to_one(prediction: str, same: bool) -> None:
    assert equivalent(parse(SEE), parse(prediction)) is same


def test_swapping_two_indices_of_the_same_look_changes_the_meaning() -> None:
    gold = "like . agent ( x _ 1 , x _ 2 ) AND boy ( x _ 2 ) AND like . ccomp ( x _ 1 , x _ 3 ) "
    gold += "AND like . agent ( x _ 3 , x _ 4 ) AND boy ( x _ 4 ) AND like . theme ( x _ 3 , Emma )"
    swapped = gold.replace("x _ 1 , x _ 2", "x _ 1 , x _ 4").replace("x _ 3 , x _ 4", "x _ 3 , x _ 2")
    assert equivalent(parse(gold), parse(swapped))  # both boys are boys
    other = gold.replace("theme ( x _ 3", "theme ( x _ 1")
    assert not equivalent(parse(gold), parse(other))


def test_the_renaming_says_which_index_stands_for_which() -> None:
    other = parse("cat ( x _ 8 ) AND see . theme ( x _ 5 , x _ 8 ) AND see . agent ( x _ 5 , Emma )")
    assert renaming(parse(SEE), other) == {"5": "1", "8": "3"}
    assert renaming(parse(SEE), parse("Emma")) is None


def test_names_are_not_renamed() -> None:
    assert not equivalent(parse("Emma"), parse("Ava"))
    assert equivalent(parse("Emma"), parse("Emma"))


def recursion(verbs: int, start: int = 0, step: int = 1) -> str:
    """`like that like that …`: clauses that are the same except for how far they are from the end."""
    index = [start + step * place for place in range(verbs)]
    links = [f"like . ccomp ( x _ {a} , x _ {b} )" for a, b in pairwise(index)]
    return " AND ".join([*(f"like . agent ( x _ {a} , Emma )" for a in index), *links])


def test_twelve_levels_of_the_same_clause_are_distinguished() -> None:
    gold, renamed = parse(recursion(12)), parse(recursion(12, 50, -3))
    assert equivalent(gold, renamed)
    assert canonical(gold) == canonical(renamed)
    broken = parse(
        recursion(12, 50, -3).replace("like . ccomp ( x _ 35 , x _ 32 )", "like . ccomp ( x _ 35 , x _ 29 )")
    )
    assert not equivalent(gold, broken)


def test_many_like_parts_do_not_multiply_the_work() -> None:
    dogs = parse(" AND ".join(f"dog ( x _ {index} )" for index in range(300)))
    assert equivalent(dogs, parse(" AND ".join(f"dog ( x _ {index} )" for index in reversed(range(1, 301)))))


def rings(*sizes: int) -> str:
    """Clauses in cycles: each one has the same neighbourhood."""
    terms, first = [], 0
    for size in sizes:
        terms += [f"like . ccomp ( x _ {first + i} , x _ {first + (i + 1) % size} )" for i in range(size)]
        first += size
    return " AND ".join(terms)


def test_what_looks_alike_everywhere_may_still_differ() -> None:
    assert not equivalent(parse(rings(*[3] * 12)), parse(rings(*[3] * 10, 6)))
    assert equivalent(parse(rings(3, 4, 5)), parse(rings(5, 4, 3)))


def test_the_canonical_form_counts_from_nought_and_has_no_duplicates() -> None:
    form = canonical(parse("cat ( x _ 9 ) AND nap . agent ( x _ 4 , x _ 9 ) AND cat ( x _ 9 )"))
    assert str(form) == "cat ( x _ 0 ) AND nap . agent ( x _ 1 , x _ 0 )"
