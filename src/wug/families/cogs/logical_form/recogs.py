"""The exact match of ReCOGS as its authors' program finds it, beside `semantic_match`, which asks for more.

Wu, Manning and Potts (2023), `recogs_exact_match`. Some replacement of the prediction's indices by those of the gold
form makes the two equal as sets of conjuncts, iotas among them; an index may replace another only if the two stand
with the same predicates, each as often. So the forms need not be well-formed, `;` and `AND` are the same, and a
conjunct that is repeated fails; but two indices may be replaced by one, so a whole form said twice passes.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

_SEPARATOR = re.compile(r"\s*(?:AND|;)\s*")
_TERM = re.compile(r"(\D*?)(\w+)\((\d+)(?:,(\d+))?\)")
_DIGIT = re.compile(r"\d")
STEPS = 100_000
"""Replacements to try for a prediction with more indices than the gold form. No answer of a model is known to take
a hundred; the authors' program goes through all, and would not end where this does not."""

Conjunct: TypeAlias = tuple[str, tuple[str, ...]]


class _Conjuncts(NamedTuple):
    """A form as the program sees it."""

    plain: frozenset[str]
    """Conjuncts without indices, such as those of `LAMBDA` forms."""
    terms: frozenset[Conjunct]
    around: Mapping[str, tuple[str, ...]]
    """For each index, the predicates with which it stands, sorted."""


def recogs_exact_match(gold: str, prediction: str) -> bool:
    """Whether ReCOGS' own program calls a prediction right."""
    wanted, found = _read(gold), _read(prediction)
    if wanted is None or found is None or wanted.plain != found.plain:
        return False
    candidates: dict[str, list[str]] = {}
    by_predicates: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for index, predicates in wanted.around.items():
        by_predicates[predicates].append(index)
    for index in _connected(found):
        candidates[index] = by_predicates.get(found.around[index], [])
        if not candidates[index]:
            return False
    if len(found.around) < len(wanted.around) or len(found.terms) < len(wanted.terms):
        return False
    return any(image == wanted.terms for image in _images(found, wanted, candidates))


def _read(form: str) -> _Conjuncts | None:
    """The conjuncts of a form; None where a number stands elsewhere than as an index."""
    plain, terms = set(), []
    for conjunct in _SEPARATOR.split(form.replace(" ", "")):
        if not _DIGIT.search(conjunct):
            plain.add(conjunct)
        elif term := _TERM.fullmatch(conjunct):
            terms.append((term[1], term[2], tuple(argument for argument in term.groups()[2:] if argument)))
        else:
            return None
    around: defaultdict[str, list[str]] = defaultdict(list)
    for _, predicate, indices in terms:
        for index in indices:
            around[index].append(predicate)
    return _Conjuncts(
        frozenset(plain),
        frozenset((before + predicate, indices) for before, predicate, indices in terms),
        {index: tuple(sorted(predicates)) for index, predicates in around.items()},
    )


def _connected(form: _Conjuncts) -> list[str]:
    """The indices, each after one that it shares a conjunct with where there is one: so a wrong start shows soon."""
    beside: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for _, indices in sorted(form.terms):
        for index in indices:
            beside[index].update(dict.fromkeys(indices))
    order: dict[str, None] = {}
    for start in form.around:
        waiting = [start]
        while waiting:
            index = waiting.pop()
            if index not in order:
                order[index] = None
                waiting += beside[index]
    return list(order)


def _images(form: _Conjuncts, gold: _Conjuncts, candidates: Mapping[str, Sequence[str]]) -> Iterator[set[Conjunct]]:
    """What each replacement makes of the conjuncts that the gold form has too."""
    order = list(candidates)
    due: defaultdict[str, list[Conjunct]] = defaultdict(list)
    place = {index: number for number, index in enumerate(order)}
    for term in form.terms:
        due[max(term[1], key=place.__getitem__)].append(term)
    one_to_one = len(form.around) == len(gold.around)
    replaced: dict[str, str] = {}
    used: Counter[str] = Counter()
    steps = 0

    def extend(depth: int) -> Iterator[set[Conjunct]]:
        nonlocal steps
        if depth == len(order):
            yield {(predicate, tuple(replaced[index] for index in indices)) for predicate, indices in form.terms}
            return
        index = order[depth]
        for candidate in candidates[index]:
            steps += 1
            if steps > STEPS or (one_to_one and used[candidate]):
                continue
            replaced[index] = candidate
            if all((term[0], tuple(replaced[other] for other in term[1])) in gold.terms for term in due[index]):
                used[candidate] += 1
                yield from extend(depth + 1)
                used[candidate] -= 1

    yield from extend(0)
