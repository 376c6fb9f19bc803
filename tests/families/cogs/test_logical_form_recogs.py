"""ReCOGS' exact match, against values worked by hand and against going through every replacement."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from case_selection import examples
from wug.families.cogs.logical_form import recogs_exact_match, score_form

GOLD = "Emma ( 3 ) ; * cake ( 17 ) ; eat ( 4 ) AND agent ( 4 , 3 ) AND theme ( 4 , 17 )"


@pytest.mark.parametrize(
    ("prediction", "published", "ours"),
    [
        (GOLD, True, True),
        ("Emma ( 1 ) ; * cake ( 2 ) ; eat ( 3 ) AND theme ( 3 , 2 ) AND agent ( 3 , 1 )", True, True),  # renamed
        (f"{GOLD} AND theme ( 4 , 17 )", False, True),  # a repeated conjunct
        (GOLD.replace("AND", ";"), True, False),  # not well-formed
        (f"{GOLD} AND eat ( 9 ) AND agent ( 9 , 8 ) AND theme ( 9 , 7 ) AND Emma ( 8 ) AND * cake ( 7 )", True, False),
        (GOLD.replace("* cake", "cake"), False, False),
        (GOLD.replace("theme ( 4 , 17 )", "theme ( 17 , 4 )"), False, False),
        (GOLD.replace("( 4 , 3 )", "( 4 , 17 )"), False, False),
        ("Emma ( 3 ) ; eat ( 4 ) AND agent ( 4 , 3 )", False, False),
        ("", False, False),
        ("eat 4 4 (", False, False),
    ],
)
def test_published_and_semantic_match_differ_for_repeated_and_ill_formed_forms(
    prediction: str, published: bool, ours: bool
) -> None:
    assert recogs_exact_match(GOLD, prediction) is published
    assert score_form(GOLD, prediction, "recogs").semantic_match is ours


def test_forms_without_indices_are_compared_as_they_stand() -> None:
    gold = "LAMBDA a . LAMBDA e . nap ( e ) AND agent ( e , a )"
    assert recogs_exact_match(gold, gold.replace(" ", ""))
    assert not recogs_exact_match(gold, gold.replace("nap", "run"))


def test_many_like_parts_are_no_trouble() -> None:
    def clauses(count: int, start: int, verb: str) -> str:
        said = [f"say ( {n} ) AND ccomp ( {n} , {n + 1} )" for n in range(start, start + count)]
        return " AND ".join([*said, f"{verb} ( {start + count} )"])

    assert recogs_exact_match(clauses(14, 0, "nap"), clauses(14, 30, "nap"))
    assert not recogs_exact_match(clauses(14, 0, "nap"), clauses(14, 30, "run"))


def by_trying_all(gold: str, prediction: str) -> bool:
    """Every replacement of the prediction's indices by gold ones that occur with the same predicates."""
    gold, prediction = gold.replace(" ", ""), prediction.replace(" ", "")

    def conjuncts(form: str) -> set[str]:
        return set(re.split("AND|;", form))

    def around(form: str) -> dict[str, Counter[str]]:
        found: dict[str, Counter[str]] = {}
        for predicate, indices in re.findall(r"(\w+)\(([\d,]+)\)", form.replace("AND", "&")):
            for index in indices.split(","):
                found.setdefault(index, Counter())[predicate] += 1
        return found

    ours, theirs = around(gold), around(prediction)
    choices = [[index for index, seen in ours.items() if seen == theirs[other]] for other in theirs]
    for chosen in product(*choices):
        names = dict(zip(theirs, chosen, strict=True))
        renamed = re.sub(r"\d+", lambda found, names=names: names[found[0]], prediction)  # type: ignore[misc]
        if conjuncts(renamed) == conjuncts(gold):
            return True
    return False


indices = st.integers(0, 3).map(str)
terms = st.one_of(
    st.tuples(st.sampled_from(["cat", "* cat", "nap"]), indices).map("{0[0]} ( {0[1]} )".format),
    st.tuples(st.sampled_from(["agent", "nmod . in"]), indices, indices).map("{0[0]} ( {0[1]} , {0[2]} )".format),
)
forms = st.lists(terms, min_size=1, max_size=5)


@settings(max_examples=examples(300), deadline=None)
@given(forms, st.data())
def test_the_search_finds_what_trying_all_replacements_finds(form: list[str], data: st.DataObject) -> None:
    other = data.draw(
        st.one_of(forms, st.permutations([*form, *data.draw(st.lists(st.sampled_from(form), max_size=2))]))
    )
    names = data.draw(st.permutations(["0", "1", "2", "3"]))
    prediction = re.sub(r"\d", lambda found: names[int(found[0])], " AND ".join(other))
    gold = " AND ".join(form)
    assert recogs_exact_match(gold, prediction) == by_trying_all(gold, prediction)
