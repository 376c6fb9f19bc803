"""All measures of one prediction against its gold form, wug's own and those of the reference evaluator.

The reference evaluator is the first public one for COGS (Weißenhorn 2021), with its errors. It splits words from
symbols without white space, accepts any role, any variable and one or two arguments, reads `x _ 01` as `x _ 1`, and
compares sets, so it misses duplicates. It counts nothing for an ill-formed prediction, and gives zero when a form has
nothing to count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from rapidfuzz.distance import Levenshtein

from wug.families.cogs.logical_form.checks import grammar_violations, kind_of, sense_violations
from wug.families.cogs.logical_form.difference import term_errors
from wug.families.cogs.logical_form.match import order_invariant, renaming
from wug.families.cogs.logical_form.parse import (
    Dialect,
    LogicalForm,
    Term,
    Unreadable,
    parse_tokens,
    read,
    tokens,
    triples,
)

Bag: TypeAlias = Sequence[object]

FEATURES = ("indices", "names", "predicates", "terms")
COUNTS = (
    *("common", "common_prefix", "common_body"),
    *("predicted_prefix", "predicted_body", "gold_prefix", "gold_body"),
)
"""What is counted per feature: how many the two forms share, and how many each has."""


class FormScores(NamedTuple):
    """All measures of one prediction; a tuple, because a corpus has tens of thousands."""

    exact_match_string: bool
    exact_match: bool
    well_formed: bool
    well_formed_strict: bool
    order_invariant_match: bool
    semantic_match: bool
    edit_distance: int
    longest: int
    """Tokens of the longer of the two."""
    counts: tuple[int, ...]
    """The numbers of COUNTS for each of FEATURES, one after the other."""
    violations: tuple[str, ...]
    """The rules that the prediction violates, or why it cannot be read."""
    errors: tuple[str, ...]
    """The kinds of error in it, from ERRORS; none if its tokens are the gold ones."""


def score_form(gold: str, prediction: str, dialect: Dialect, *, sound: bool = False) -> FormScores:
    """All measures of a prediction; FormulaError if the gold form cannot be read.

    `sound`: the gold form is known to be well-formed and to make sense, so its renamings are not checked.
    """
    words, predicted_words = tokens(gold), tokens(prediction)
    gold_form = parse_tokens(gold, words, dialect)
    gold_bags = bags(gold_form)
    exact = words == predicted_words
    form: LogicalForm | None = None
    equivalent = reordered = False
    try:
        readable = gold_form if exact else read(predicted_words, dialect)
    except Unreadable as error:
        rules: tuple[str, ...] = (f"unreadable: {error.message}",)
    else:
        equivalent, same_rules = (True, True) if exact else _equivalence(gold_form, readable, words, predicted_words)
        checked = not (sound and same_rules)
        rules = tuple([violation.rule for violation in grammar_violations(readable)]) if checked else ()
        if not rules:
            form = readable
            rules = tuple([violation.rule for violation in sense_violations(form)]) if checked else ()
            reordered = exact or (equivalent and order_invariant(gold_form, form))
    if exact:
        errors: tuple[str, ...] = ()
    elif form is None or reordered:
        errors = ("ill-formed",) if form is None else ("order",)
    else:
        errors = ("index",) if equivalent and not rules else term_errors(gold_form, form, renamed=equivalent)
    return FormScores(
        exact_match_string=gold == prediction,
        exact_match=exact,
        well_formed=form is not None,
        well_formed_strict=not rules,
        order_invariant_match=reordered,
        semantic_match=form is not None and equivalent,
        edit_distance=0 if exact else Levenshtein.distance(words, predicted_words),
        longest=max(len(words), len(predicted_words)),
        counts=_count_overlap(gold_bags, _NOTHING if form is None else gold_bags if exact else bags(form)),
        violations=rules,
        errors=errors,
    )


def _equivalence(
    gold: LogicalForm, prediction: LogicalForm, words: list[str], predicted_words: list[str]
) -> tuple[bool, bool]:
    """Whether two forms are equivalent, and whether the prediction then follows the same rules as the gold form.

    It does if it has as many terms and every index is one: rules concern neither the order of terms nor which numbers
    the indices are.
    """
    if _is_renamed(words, predicted_words):
        return True, True
    names = renaming(gold, prediction)
    if names is None:
        return False, False
    return True, _sizes(gold) == _sizes(prediction) and all(kind_of(name) == "index" for name in names)


def _sizes(form: LogicalForm) -> tuple[int, int]:
    return len(form.prefix), len(form.body)


def _is_renamed(gold: list[str], prediction: list[str]) -> bool:
    """Whether the tokens of two forms differ only in indices, which are renamed one to one."""
    names = dict(zip(gold, prediction, strict=False))
    if [*map(names.get, gold)] != prediction or len(set(names.values())) != len(names):
        return False
    return all(old == new or kind_of(old) == kind_of(new) == "index" for old, new in names.items())


def bags(form: LogicalForm) -> tuple[Bag, ...]:
    """The indices, names, predicates and terms of a form, each in the prefix and in the body."""
    if form.dialect == "variable_free":
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
    return sum(min(first.count(item), second.count(item)) for item in set(first).intersection(second))


_NOTHING: tuple[Bag, ...] = ([], [], [], [], [], [], (), ())


def _split(terms: tuple[Term, ...]) -> tuple[list[str], list[str], list[str]]:
    """The indices, names and predicates of terms, each sorted."""
    arguments = [argument for term in terms for argument in term[1]]
    indices = sorted(filter(str.isdigit, arguments))
    names = [] if len(indices) == len(arguments) else [word for word in arguments if word[0].isupper()]
    predicates = [term[0] for term in terms]
    if not "".join(predicates).islower():  # ReCOGS: `Emma ( 3 )`
        names += [word for word in predicates if word[0].isupper() and word != "TV"]
        predicates = [word for word in predicates if not word[0].isupper() or word == "TV"]
    return indices, sorted(names), sorted(predicates)


def _count_overlap(gold: tuple[Bag, ...], predicted: tuple[Bag, ...]) -> tuple[int, ...]:
    counts: list[int] = []
    for start in (0, 2, 4, 6):
        gold_before, gold_after = gold[start], gold[start + 1]
        before, after = predicted[start], predicted[start + 1]
        in_prefix, in_body = overlap(gold_before, before), overlap(gold_after, after)
        if start == 6 or gold_before == before or gold_after == after:
            in_both = in_prefix + in_body  # of terms always: one before `;` is not the same after it
        else:
            in_both = overlap([*gold_before, *gold_after], [*before, *after])
        counts += (in_both, in_prefix, in_body, len(before), len(after), len(gold_before), len(gold_after))
    return tuple(counts)


REFERENCE_FEATURES = ("terms", "predicates", "arguments")


class ReferenceScores(NamedTuple):
    """The measures of the reference evaluator."""

    exact_match: bool
    well_formed: bool
    order_invariant_match: bool
    edit_distance: int
    counts: tuple[int, ...]
    """For each of REFERENCE_FEATURES, how many are shared, predicted, and gold."""


def reference_scores(gold: str, prediction: str) -> ReferenceScores:
    """The evaluator's measures of one prediction; an ill-formed gold form matches nothing."""
    ours, theirs = reference_form(gold), reference_form(prediction)
    counts = [0] * (3 * len(REFERENCE_FEATURES))
    if ours is not None and theirs is not None:
        pairs = zip(_features(ours), _features(theirs), strict=True)
        counts = [n for first, second in pairs for n in (len(first & second), len(second), len(first))]
    return ReferenceScores(
        exact_match=gold == prediction,
        well_formed=theirs is not None,
        order_invariant_match=ours is not None and theirs is not None and _as_sets(ours) == _as_sets(theirs),
        edit_distance=Levenshtein.distance(gold.split(), prediction.split()),
        counts=tuple(counts),
    )


def reference_form(text: str) -> LogicalForm | None:
    """The form as the evaluator reads it whatever its spacing, or None if the evaluator calls it ill-formed."""
    words: list[str] = []
    at = 0
    while match := _LEXEME.match(text, at):
        words.append(match[1])
        at = match.end()
    if text[at:].strip(" \t\f\r\n"):
        return None
    try:
        form = read(words, "cogs")
    except Unreadable:
        return None
    return _plain(form) if _accepted(form) else None


_LEXEME = re.compile(r"[ \t\f\r\n]*(LAMBDA|AND|[A-Z][a-z]+|[a-z]+|[0-9]+|[*;.,()_])")
_NAME = re.compile(r"[A-Z][a-z]+")
_PREDICATE = re.compile(r"[a-z]{2,}(?:\.[a-z]{2,}){0,2}")
_VARIABLES = ("a", "b", "e")


def _accepted(form: LogicalForm) -> bool:
    if form.kind == "name":
        return _NAME.fullmatch(form.body[0].predicate) is not None
    if form.kind == "lambda" and (len(form.lambdas) > 3 or form.prefix or set(form.lambdas) - set(_VARIABLES)):
        return False
    iotas = all(t.definite and "." not in t.predicate and not _NAME.fullmatch(t.arguments[0]) for t in form.prefix)
    if not iotas or any(len(term.arguments) > 1 for term in form.prefix) or any(term.definite for term in form.body):
        return False
    return all(
        len(term.arguments) <= 2
        and _PREDICATE.fullmatch(term.predicate)
        and all(a.isdigit() or a in _VARIABLES or _NAME.fullmatch(a) for a in term.arguments)
        for term in (*form.prefix, *form.body)
    )


def _plain(form: LogicalForm) -> LogicalForm:
    prefix, body = (
        tuple(Term(p, tuple(a.lstrip("0") or "0" if a.isdigit() else a for a in args), d) for p, args, d in terms)
        for terms in (form.prefix, form.body)
    )
    return LogicalForm(form.kind, prefix, body, form.lambdas)


def _as_sets(form: LogicalForm) -> tuple[object, ...]:
    return form.kind, set(form.body), set(form.prefix), set(form.lambdas)


def _features(form: LogicalForm) -> tuple[set[object], set[object], set[object]]:
    terms = (*form.prefix, *form.body)
    if form.kind == "name":
        return set(terms), set(), set()
    return (
        {(term.predicate, term.arguments) for term in terms},
        {term.predicate for term in terms},
        {argument for term in terms for argument in term.arguments},
    )
