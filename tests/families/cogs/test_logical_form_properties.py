"""What must hold of every logical form, whatever it is."""

from __future__ import annotations

from itertools import permutations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from case_selection import examples
from wug.errors import FormulaError
from wug.families.cogs.logical_form import (
    DIALECTS,
    canonical,
    difference,
    equivalent,
    parse,
    score_form,
    smatch,
    tokens,
    violations,
)
from wug.families.cogs.logical_form.match import order_invariant
from wug.families.cogs.logical_form.measures import reference_scores
from wug.families.cogs.logical_form.parse import LogicalForm, Term, render

NOUNS, VERBS, NAMES = ("cat", "dog"), ("like", "see"), ("Emma", "Ava")
WORDS = ("*", "(", ")", ",", ".", ";", "AND", "LAMBDA", "x", "_", "1", "02", "cat", "like", "agent", "nmod", "in")
MORE_WORDS = ("ccomp", "Emma", "a", "e", "?", "=", "TV", "é", "²", "\u00a0", '"', "\x1c")
slow = settings(deadline=None)


@st.composite
def sentences(draw: st.DrawFn) -> LogicalForm:
    """A form that a sentence could have: clauses in a row, each with nouns that may be modified."""
    indices = iter(draw(st.permutations([str(number) for number in range(40)])))
    prefix: list[Term] = []
    body: list[Term] = []

    def noun_phrase(depth: int) -> str:
        if draw(st.booleans()):
            return draw(st.sampled_from(NAMES))
        index, noun = next(indices), draw(st.sampled_from(NOUNS))
        definite = draw(st.booleans())
        (prefix if definite else body).append(Term(noun, (index,), definite))
        if depth < 2 and draw(st.booleans()):
            inner = next(indices)
            body.append(Term(f"{noun}.nmod.{draw(st.sampled_from(('in', 'on')))}", (index, inner)))
            body.append(Term(draw(st.sampled_from(NOUNS)), (inner,)))
        return index

    events = [next(indices) for _ in range(draw(st.integers(1, 4)))]
    verbs = [draw(st.sampled_from(VERBS)) for _ in events]
    for place, (event, verb) in enumerate(zip(events, verbs, strict=True)):
        body.append(Term(f"{verb}.agent", (event, noun_phrase(1))))
        if draw(st.booleans()):
            body.append(Term(f"{verb}.theme", (event, noun_phrase(0))))
        if place:
            body.append(Term(f"{verbs[place - 1]}.ccomp", (events[place - 1], event)))
    return LogicalForm("sentence", tuple(prefix), tuple(draw(st.permutations(body))))


primitives = st.sampled_from(
    [
        "Emma",
        "LAMBDA a . cat ( a )",
        "LAMBDA a . LAMBDA e . nap . agent ( e , a )",
        "LAMBDA a . LAMBDA b . LAMBDA e . see . agent ( e , b ) AND see . theme ( e , a )",
    ]
).map(parse)
forms = st.one_of(sentences(), primitives)


@st.composite
def tangles(draw: st.DrawFn, last: int = 4) -> LogicalForm:
    """A form with few indices and few predicates, of any structure: what is hard to tell apart."""
    index = st.integers(0, last).map(str)
    links = st.tuples(st.sampled_from(("see.ccomp", "see.xcomp")), st.tuples(index, index))
    nouns = st.tuples(st.just("cat"), st.tuples(index))
    terms = draw(st.lists(st.one_of(links, nouns), min_size=1, max_size=7))
    return LogicalForm("sentence", (), tuple(Term(predicate, arguments) for predicate, arguments in terms))


def renamed(form: LogicalForm, names: dict[str, str]) -> LogicalForm:
    prefix, body = (
        tuple(Term(p, tuple(names.get(a, a) for a in arguments), d) for p, arguments, d in terms)
        for terms in (form.prefix, form.body)
    )
    return LogicalForm(form.kind, prefix, body, form.lambdas, form.dialect)


def indices_of(form: LogicalForm) -> list[str]:
    return sorted({a for term in (*form.prefix, *form.body) for a in term.arguments if a.isdigit()})


def alike_by_trying(one: LogicalForm, other: LogicalForm) -> bool:
    """Whether any renaming of `other` makes its set of terms that of `one`."""
    ours, theirs = indices_of(one), indices_of(other)
    return len(ours) == len(theirs) and any(
        set(renamed(other, dict(zip(theirs, places, strict=True))).body) == set(one.body)
        for places in permutations(ours)
    )


def best_by_trying(one: LogicalForm, other: LogicalForm) -> int:
    """The largest number of terms that any renaming of `other` makes equal to terms of `one`."""
    ours, theirs = indices_of(one), indices_of(other)
    spare = [f"9{number}" for number in range(len(theirs))]
    return max(
        len(set(one.body) & set(found.body)) + len(set(one.prefix) & set(found.prefix))
        for places in permutations([*ours, *spare], len(theirs))
        for found in [renamed(other, dict(zip(theirs, places, strict=True)))]
    )


@given(forms)
def test_printing_and_reading_give_the_form_again(form: LogicalForm) -> None:
    assert parse(render(form), "cogs") == form


@given(sentences())
def test_the_forms_of_these_tests_are_strictly_well_formed(form: LogicalForm) -> None:
    assert not violations(form)


@given(forms, st.data())
@slow
def test_any_permutation_keeps_the_order_invariant_match(form: LogicalForm, data: st.DataObject) -> None:
    body = tuple(data.draw(st.permutations(form.body)))
    prefix = tuple(data.draw(st.permutations(form.prefix)))
    shuffled = LogicalForm(form.kind, prefix, body, form.lambdas)
    found = score_form(render(form), render(shuffled), "cogs")
    assert found.order_invariant_match
    assert found.semantic_match
    assert found.well_formed_strict
    assert found.errors == (() if found.exact_match else ("order",))


@given(forms, st.data())
@slow
def test_any_renaming_keeps_the_semantic_match(form: LogicalForm, data: st.DataObject) -> None:
    old = indices_of(form)
    new = data.draw(st.lists(st.integers(0, 99).map(str), min_size=len(old), max_size=len(old), unique=True))
    other = renamed(form, dict(zip(old, new, strict=True)))
    shuffled = LogicalForm(form.kind, other.prefix, tuple(data.draw(st.permutations(other.body))), form.lambdas)
    found = score_form(render(form), render(shuffled), "cogs")
    assert found.semantic_match
    assert smatch(form, shuffled).f1 == 1.0
    assert canonical(form) == canonical(shuffled)


@given(sentences(), st.data())
@slow
def test_the_semantic_match_of_a_form_with_other_indices_is_equivalence(form: LogicalForm, data: st.DataObject) -> None:
    old, names = indices_of(form), data.draw(st.permutations(indices_of(form)))
    renaming = dict(zip(old, names, strict=True))
    words = [renaming.get(word, word) for word in tokens(render(form))]
    place = data.draw(st.sampled_from([place for place, word in enumerate(words) if word.isdigit()]))
    words[place] = data.draw(st.sampled_from([*old, "02"]))
    text = " ".join(words)
    found = score_form(render(form), text, "cogs")
    assert found.semantic_match == (found.well_formed and equivalent(form, parse(text, "cogs")))
    assert score_form(render(form), text, "cogs", sound=True) == found


@given(sentences(), st.data())
@slow
def test_a_gold_form_known_to_be_sound_changes_no_measure(form: LogicalForm, data: st.DataObject) -> None:
    assume(not violations(form))
    old = indices_of(form)
    new = data.draw(st.permutations([*old, "02"]))  # one index may have a leading zero
    other = renamed(form, dict(zip(old, new, strict=False)))
    repeated = data.draw(st.lists(st.sampled_from(other.body), max_size=1))
    body = tuple(data.draw(st.permutations([*other.body, *repeated])))
    text = render(LogicalForm(form.kind, other.prefix, body))
    scores = score_form(render(form), text, "cogs", sound=True)
    assert scores == score_form(render(form), text, "cogs")
    assert scores.violations == tuple(violation.rule for violation in violations(parse(text, "cogs")))


@given(forms, st.data())
@slow
def test_any_changed_token_breaks_the_exact_match(form: LogicalForm, data: st.DataObject) -> None:
    gold = tokens(render(form))
    place = data.draw(st.integers(0, len(gold) - 1))
    word = data.draw(st.sampled_from(WORDS).filter(lambda word: word != gold[place]))
    found = score_form(" ".join(gold), " ".join([*gold[:place], word, *gold[place + 1 :]]), "cogs")
    assert not found.exact_match
    assert not found.exact_match_string
    assert found.edit_distance == 1


@given(sentences(), sentences(), st.data())
@slow
def test_dropping_adding_or_doubling_a_conjunct_breaks_the_order_invariant_match(
    form: LogicalForm, other: LogicalForm, data: st.DataObject
) -> None:
    body = form.body
    place = data.draw(st.integers(0, len(body) - 1))
    changed = [(*body, body[place]), (*body, other.body[0])]
    if len(body) > 1:
        changed.append((*body[:place], *body[place + 1 :]))
    for terms in changed:
        prediction = LogicalForm("sentence", form.prefix, terms)
        assert not score_form(render(form), render(prediction), "cogs").order_invariant_match


@given(forms)
def test_an_exact_match_is_every_other_match(form: LogicalForm) -> None:
    found = score_form(render(form), render(form), "cogs")
    assert all(found[:6])
    assert found.edit_distance == 0
    for place in range(0, len(found.counts), 7):
        common, in_prefix, in_body, *each = found.counts[place : place + 7]
        assert (in_prefix, in_body) == (each[0], each[1]) == (each[2], each[3])
        assert common == in_prefix + in_body
    assert smatch(form, form) == smatch(form, form)
    assert smatch(form, form).f1 == 1.0
    assert difference(render(form), render(form), "cogs") == [
        row for row in difference(render(form), render(form), "cogs") if not row.changes
    ]
    assert all(reference_scores(render(form), render(form))[:3])


@given(tangles(), tangles())
@settings(deadline=None, max_examples=examples(150))
def test_equivalence_agrees_with_trying_every_renaming(one: LogicalForm, other: LogicalForm) -> None:
    alike = alike_by_trying(one, other)
    assert equivalent(one, other) == alike
    assert (canonical(one) == canonical(other)) == alike


@given(tangles(), st.data())
@settings(deadline=None, max_examples=examples(150))
def test_equivalence_agrees_with_trying_every_renaming_of_a_near_miss(form: LogicalForm, data: st.DataObject) -> None:
    old = indices_of(form)
    other = renamed(form, dict(zip(old, data.draw(st.permutations(old)), strict=True)))
    place = data.draw(st.integers(0, len(other.body) - 1))
    predicate, arguments, _ = other.body[place]
    turned = (*other.body[:place], Term(predicate, arguments[::-1]), *other.body[place + 1 :])
    near = LogicalForm("sentence", (), turned)
    alike = alike_by_trying(form, near)
    assert equivalent(form, near) == alike
    assert (canonical(form) == canonical(near)) == alike


@given(tangles(last=3), tangles(last=3))
@settings(deadline=None, max_examples=examples(100))
def test_smatch_agrees_with_trying_every_renaming(one: LogicalForm, other: LogicalForm) -> None:
    found = smatch(one, other)
    assert found.exact
    assert found.f1 == 2 * best_by_trying(one, other) / (len(set(one.body)) + len(set(other.body)))


@given(sentences(), sentences())
@slow
def test_two_forms_are_equivalent_if_and_only_if_smatch_is_whole(one: LogicalForm, other: LogicalForm) -> None:
    found = smatch(one, other)
    assume(found.exact)
    assert (found.f1 == 1.0) == equivalent(one, other)


@given(sentences(), sentences())
@slow
def test_the_difference_has_every_term_of_both_sides_once(one: LogicalForm, other: LogicalForm) -> None:
    rows = difference(render(one), render(other), "cogs")
    assert [row.gold for row in rows if row.gold] == [row.gold for row in difference(render(one), render(one), "cogs")]
    assert sorted(row.prediction for row in rows if row.prediction) == sorted(
        row.gold or "" for row in difference(render(other), render(other), "cogs")
    )
    assert bool(score_form(render(one), render(other), "cogs").errors) == (one != other)


@given(st.one_of(st.text(), st.lists(st.sampled_from(WORDS + MORE_WORDS), max_size=40).map(" ".join)))
@slow
def test_no_text_is_too_odd_to_be_read_or_refused(text: str) -> None:
    gold = "cat ( x _ 1 ) AND nap . agent ( x _ 2 , x _ 1 )"
    for dialect in DIALECTS:
        try:
            form = parse(text, dialect)
        except FormulaError:
            continue
        assert tokens(render(form)) == tokens(text)
        violations(form)
        canonical(form)
        assert equivalent(form, form)
        assert order_invariant(form, form)
    found = score_form(gold, text, "cogs")
    assert found.exact_match == (tokens(text) == tokens(gold))
    difference(gold, text, "cogs")
    reference_scores(gold, text)
