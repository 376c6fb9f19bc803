"""All measures of one prediction against its gold form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from wug.families.cogs.logical_form.checks import is_well_formed, makes_sense
from wug.families.cogs.logical_form.distance import edit_distance
from wug.families.cogs.logical_form.match import equivalent, order_invariant
from wug.families.cogs.logical_form.parse import Dialect, LogicalForm, Term, Unreadable, parse, read, tokens

Bag: TypeAlias = Sequence[object]

FEATURES = ("indices", "names", "predicates", "terms")
COUNTS = (
    *("common", "common_prefix", "common_body"),
    *("predicted_prefix", "predicted_body", "gold_prefix", "gold_body"),
)
"""What is counted of each feature: how many the two forms have in common, and how many each has."""


class Judgement(NamedTuple):
    """What is to be said of one prediction; a tuple, because a corpus has tens of thousands."""

    exact_match_string: bool
    """The strings are identical."""
    exact_match: bool
    """The tokens are."""
    well_formed: bool
    """The prediction can be derived from the grammar."""
    well_formed_strict: bool
    """And it passes the other checks."""
    order_invariant_match: bool
    """The terms are the same, each as often, in any order."""
    semantic_match: bool
    """Some one-to-one renaming of the indices makes the two equal as sets."""
    edit_distance: int
    """Tokens to insert, delete or replace."""
    longest: int
    """Tokens of the longer of the two."""
    counts: tuple[int, ...]
    """The numbers of COUNTS for each of FEATURES, one after the other."""


def judge(gold: str, prediction: str, dialect: Dialect) -> Judgement:
    """All measures of a prediction; FormulaError if the gold form cannot be read."""
    try:
        return judge_tokens(tokens(gold), tokens(prediction), dialect, same=gold == prediction)
    except Unreadable:
        parse(gold, dialect)  # says what is wrong, and where
        raise


def judge_tokens(gold: list[str], prediction: list[str], dialect: Dialect, *, same: bool) -> Judgement:
    """All measures of a prediction, given as tokens; `same` tells whether the strings were identical."""
    gold_form = read(gold, dialect)
    longest = max(len(gold), len(prediction))
    if gold == prediction:
        return _exact(gold_form, longest, same)
    distance = edit_distance(gold, prediction)
    gold_bags = bags(gold_form)
    try:
        form = read(prediction, dialect)
    except Unreadable:
        form = None
    if form is None or not is_well_formed(form):
        counts = _compared(gold_bags, _NOTHING)
        return Judgement(False, False, False, False, False, False, distance, longest, counts)
    return Judgement(
        False,
        False,
        True,
        makes_sense(form),
        order_invariant(gold_form, form),
        equivalent(gold_form, form),
        distance,
        longest,
        _compared(gold_bags, bags(form)),
    )


def bags(form: LogicalForm) -> tuple[Bag, ...]:
    """The indices, names, predicates and terms of a form, each in the prefix and in the body."""
    if form.dialect == "variable_free":
        from wug.families.cogs.logical_form.trees import triples

        terms = triples(form)
        words = [term.arguments[0] for term in terms]
        names = [word for word in words if word[0].isupper()]
        return [], [], [], names, [], [term.predicate for term in terms if term.predicate], (), terms
    if form.kind == "name":
        return [], [], [], [form.body[0].predicate], [], [], (), form.body
    before_indices, before_names, before_predicates = _split(form.prefix)
    indices, names, predicates = _split(form.body)
    return (
        *(before_indices, indices, before_names, names, before_predicates, predicates),
        *(form.prefix, form.body),
    )


def overlap(first: Bag, second: Bag) -> int:
    """The size of the multiset intersection; time grows with the product of the lengths."""
    if first == second:
        return len(first)
    left = list(first)
    for item in second:
        if item in left:
            left.remove(item)
    return len(first) - len(left)


_NOTHING: tuple[Bag, ...] = ([], [], [], [], [], [], (), ())


def _exact(form: LogicalForm, length: int, same: bool) -> Judgement:
    """The judgement on a prediction that is the gold form."""
    formed = is_well_formed(form)
    found = bags(form)
    counts = _compared(found, found if formed else _NOTHING)
    return Judgement(same, True, formed, formed and makes_sense(form), formed, formed, 0, length, counts)


def _split(terms: tuple[Term, ...]) -> tuple[list[str], list[str], list[str]]:
    """The indices, the proper names and the other predicates in these terms."""
    indices, names, predicates = [], [], []
    for predicate, arguments, _ in terms:
        if predicate[0].isupper() and predicate != "TV":  # ReCOGS: `Emma ( 3 )`
            names.append(predicate)
        else:
            predicates.append(predicate)
        for argument in arguments:
            if argument.isdigit():
                indices.append(argument)
            elif argument[0].isupper():
                names.append(argument)
    return indices, names, predicates


def _compared(gold: tuple[Bag, ...], predicted: tuple[Bag, ...]) -> tuple[int, ...]:
    """For each feature, the numbers of COUNTS."""
    counts: list[int] = []
    for place in (0, 2, 4, 6):
        gold_before, gold_after = gold[place], gold[place + 1]
        before, after = predicted[place], predicted[place + 1]
        in_prefix, in_body = overlap(gold_before, before), overlap(gold_after, after)
        if place == 6 or gold_before == before or gold_after == after:
            in_both = in_prefix + in_body  # of terms always: one before `;` is not the same after it
        else:
            in_both = overlap([*gold_before, *gold_after], [*before, *after])
        counts += (in_both, in_prefix, in_body, len(before), len(after), len(gold_before), len(gold_after))
    return tuple(counts)
