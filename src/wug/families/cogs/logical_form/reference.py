"""The measures of the first public COGS evaluator (Weißenhorn 2021), as it computes them, faults and all.

For numbers that are to stand beside its numbers. It splits words from signs without white space, takes any role,
any variable and one or two arguments, reads `x _ 01` as `x _ 1`, and compares sets, so that a duplicate is not
seen. Of an ill-formed prediction it counts neither side; where a form has nothing to count, it scores 0.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from wug.families.cogs.logical_form.distance import edit_distance
from wug.families.cogs.logical_form.parse import LogicalForm, Term, Unreadable, read

REFERENCE_FEATURES = ("terms", "predicates", "arguments")


class ReferenceJudgement(NamedTuple):
    """What the evaluator says of one prediction."""

    exact_match: bool
    well_formed: bool
    order_invariant_match: bool
    edit_distance: int
    counts: tuple[int, ...]
    """For each of REFERENCE_FEATURES, how many are shared, predicted, and gold."""


def judge_as_reference(gold: str, prediction: str) -> ReferenceJudgement:
    """The evaluator's measures of one prediction; an ill-formed gold form matches nothing."""
    ours, theirs = reference_form(gold), reference_form(prediction)
    counts: list[int] = []
    if ours is None or theirs is None:
        counts = [0] * (3 * len(REFERENCE_FEATURES))
    else:
        for first, second in zip(_items(ours), _items(theirs), strict=True):
            counts += (len(first & second), len(second), len(first))
    distance = edit_distance(gold.split(), prediction.split())
    alike = ours is not None and theirs is not None and _same_sets(ours, theirs)
    return ReferenceJudgement(gold == prediction, theirs is not None, alike, distance, tuple(counts))


def reference_form(text: str) -> LogicalForm | None:
    """The form as the evaluator reads it, or None if it is ill-formed for it; spacing does not matter."""
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
    """The form without zeros before indices."""
    prefix, body = (
        tuple(Term(p, tuple(a.lstrip("0") or "0" if a.isdigit() else a for a in args), d) for p, args, d in terms)
        for terms in (form.prefix, form.body)
    )
    return LogicalForm(form.kind, prefix, body, form.lambdas)


def _same_sets(first: LogicalForm, second: LogicalForm) -> bool:
    if first.kind != second.kind or set(first.body) != set(second.body):
        return False
    return set(first.prefix) == set(second.prefix) and set(first.lambdas) == set(second.lambdas)


def _items(form: LogicalForm) -> tuple[set[object], set[object], set[object]]:
    """Terms, predicates and arguments, an iota being like a conjunct."""
    terms = (*form.prefix, *form.body)
    if form.kind == "name":
        return set(terms), set(), set()
    return (
        {(term.predicate, term.arguments) for term in terms},
        {term.predicate for term in terms},
        {argument for term in terms for argument in term.arguments},
    )
