"""Whether two logical forms are equal except for the order of their terms, or for the names of their indices.

Renaming is graph isomorphism. The positions of an index (`want.agent` first, `want.xcomp` second) identify it in
nearly every published form, so two forms are first compared by these alone. Otherwise the search refines: positions
of neighbours count too, until nothing changes; then one of the indices that still look the same is fixed and the rest
is refined again. Parts that share no open index are searched separately, so that similar parts do not multiply work.

`recogs_exact_match` is that of the authors of ReCOGS (Wu, Manning and Potts 2023). Some replacement of the
prediction's indices by those of the gold form makes the two equal as sets of conjuncts, iota terms included; an index
may replace another only if the two occur with the same predicates, each as often. So the forms need not be
well-formed, `;` and `AND` are the same, and a repeated conjunct fails; but two indices may be replaced by one, so a
form that is repeated as a whole passes.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from wug.families.cogs.logical_form.parse import LogicalForm, Term

Around: TypeAlias = dict[str, list[tuple[str, tuple[str, ...]]]]
"""For each index, its positions and the other indices of the same terms."""
Code: TypeAlias = list[tuple[str, tuple[tuple[bool, int], ...]]]
"""The terms of a part, independent of the names of its indices."""


def order_invariant(first: LogicalForm, second: LogicalForm) -> bool:
    """Whether the forms have the same terms, each as often, in prefix and body; LAMBDAs in the same order."""
    if first.kind != second.kind or first.lambdas != second.lambdas or first.dialect != second.dialect:
        return False
    if len(first.body) != len(second.body) or len(first.prefix) != len(second.prefix):
        return False
    if first.dialect == "variable_free":  # its indices are counted from the left, so they follow the order
        return renaming(first, second) is not None
    return sorted(first.body) == sorted(second.body) and sorted(first.prefix) == sorted(second.prefix)


def equivalent(first: LogicalForm, second: LogicalForm) -> bool:
    """Whether some one-to-one renaming of indices makes the two equal as sets of terms."""
    return renaming(first, second) is not None


def renaming(first: LogicalForm, second: LogicalForm) -> dict[str, str] | None:
    """The index of `first` for each index of `second`, if the two are equivalent."""
    if first.kind != second.kind or first.lambdas != second.lambdas or first.dialect != second.dialect:
        return None
    prefix, body = frozenset(first.prefix), frozenset(first.body)
    other_prefix, other_body = frozenset(second.prefix), frozenset(second.body)
    if len(prefix) != len(other_prefix) or len(body) != len(other_body):
        return None
    looks, other_looks = _looks(prefix, body), _looks(other_prefix, other_body)
    if len(looks) != len(other_looks) or sorted(looks.values()) != sorted(other_looks.values()):
        return None
    by_look = {look: index for index, look in looks.items()}
    if len(by_look) == len(looks):
        names = {index: by_look[look] for index, look in other_looks.items()}
    else:
        order, other_order = _canonical_order(prefix, body), _canonical_order(other_prefix, other_body)
        names = dict(zip(other_order, order, strict=True))
    if _renamed(other_body, names) != body or _renamed(other_prefix, names) != prefix:
        return None
    return {a: names[a] for term in (*second.prefix, *second.body) for a in term.arguments if a in names}


def canonical(form: LogicalForm) -> LogicalForm:
    """The canonical form of all equivalent ones: indices renamed 0, 1, …, terms sorted, duplicates dropped."""
    prefix, body = frozenset(form.prefix), frozenset(form.body)
    names = {index: str(number) for number, index in enumerate(_canonical_order(prefix, body))}
    return form._replace(
        prefix=tuple(sorted((Term(*term) for term in _renamed(prefix, names)), key=_by_index)),
        body=tuple(sorted((Term(*term) for term in _renamed(body, names)), key=_by_index)),
    )


def _by_index(term: Term) -> tuple[list[tuple[bool, int, str, str]], str]:
    """Sort key by index; compared as digits, since they may be too long for Python's int()."""
    return [(not a.isdigit(), *_size(a), a) for a in term.arguments], term.predicate


def _size(index: str) -> tuple[int, str]:
    digits = index.lstrip("0") if index.isdigit() else ""
    return len(digits), digits


def _renamed(terms: Iterable[Term], names: Mapping[str, str]) -> set[tuple[str, tuple[str, ...], bool]]:
    get = names.get
    return {(p, tuple([get(a, a) for a in arguments]), definite) for p, arguments, definite in terms}


def _looks(prefix: Collection[Term], body: Collection[Term]) -> dict[str, int]:
    """A number for each index that depends on its positions alone: equal positions give equal numbers."""
    looks: defaultdict[str, int] = defaultdict(int)
    for terms, zone in ((prefix, 3), (body, 5)):
        for predicate, arguments, definite in terms:
            position = hash(predicate) * (zone + definite)
            for argument in arguments:
                if not argument.isdigit():
                    position ^= hash(argument)
            for argument in arguments:
                if argument.isdigit():
                    looks[argument] += position
                position *= 7
    return looks


def _canonical_order(prefix: Collection[Term], body: Collection[Term]) -> list[str]:
    """The indices in an order that is independent of their names and of the order of terms."""
    around: Around = {}
    for terms, separator in ((prefix, ";"), (body, "")):
        for predicate, arguments, definite in terms:
            pattern = ",".join("" if a.isdigit() else a for a in arguments)
            others = tuple(a for a in arguments if a.isdigit())
            for number, argument in enumerate(arguments):
                if argument.isdigit():
                    key = f"{separator}{'*' * definite}{predicate}/{number}/{pattern}"
                    around.setdefault(argument, []).append((key, others))
    return _Search(around).order(list(around), dict.fromkeys(around, 0))[1]


@dataclass(frozen=True, slots=True)
class _Search:
    """The canonical order of the indices of one form."""

    around: Around

    def order(self, members: list[str], colours: dict[str, int]) -> tuple[Code, list[str]]:
        """The members in canonical order, and their terms by position in it and by the colours of others.

        `colours` distinguishes indices as far as is known; the result is independent of their names.
        """
        colours = self._refined(members, colours)
        cells: dict[int, list[str]] = {}
        for index in members:
            cells.setdefault(colours[index], []).append(index)
        order = [cells[colour][0] for colour in sorted(cells) if len(cells[colour]) == 1]
        waiting = [index for index in members if len(cells[colours[index]]) > 1]
        parts = self._parts(waiting)
        if len(parts) == 1 and not order:
            return min(
                self.order(members, {**colours, index: max(colours.values()) + 1})
                for index in min(cells.values(), key=lambda cell: (len(cell), colours[cell[0]]))
            )
        answers = sorted((self.order(part, colours) for part in parts), key=lambda answer: answer[0])
        for _, part_order in answers:
            order += part_order
        return self._code(order, colours), order

    def _refined(self, members: list[str], colours: dict[str, int]) -> dict[str, int]:
        """Refine colours by those of the neighbours until they are stable (Weisfeiler-Leman)."""
        colours = dict(colours)
        base = max(colours.values(), default=0) + 1  # no colour inside is one outside
        classes = 0
        while True:
            seen = {
                index: (
                    colours[index],
                    sorted((key, [colours[other] for other in others]) for key, others in self.around[index]),
                )
                for index in members
            }
            rank, last = base - 1, None
            for index in sorted(members, key=seen.__getitem__):
                rank += seen[index] != last
                last = seen[index]
                colours[index] = rank
            if rank - base + 1 == classes:
                return colours
            classes = rank - base + 1

    def _parts(self, members: list[str]) -> list[list[str]]:
        """The members in groups that share no term."""
        left, parts = dict.fromkeys(members), []
        while left:
            part = [left.popitem()[0]]
            for index in part:
                for _, others in self.around[index]:
                    for other in others:
                        if other in left:
                            del left[other]
                            part.append(other)
            parts.append(part)
        return parts

    def _code(self, order: list[str], colours: Mapping[str, int]) -> Code:
        """Every term of the members: a member is its position, another index its colour."""
        rank = {index: number for number, index in enumerate(order)}
        return sorted(
            (key, tuple((True, rank[o]) if o in rank else (False, colours[o]) for o in (index, *others)))
            for index in order
            for key, others in self.around[index]
        )


_SEPARATOR = re.compile(r"\s*(?:AND|;)\s*")
_TERM = re.compile(r"(\D*?)(\w+)\((\d+)(?:,(\d+))?\)")
_DIGIT = re.compile(r"\d")
MAX_REPLACEMENTS = 100_000
"""Replacements to try for a prediction with more indices than the gold form. No model output is known to take more than
a hundred; the authors' program tries all, and would not end where this gives up."""

Conjunct: TypeAlias = tuple[str, tuple[str, ...]]


class _Conjuncts(NamedTuple):
    """A form as the ReCOGS program reads it."""

    plain: frozenset[str]
    """Conjuncts without indices, such as those of `LAMBDA` forms."""
    terms: frozenset[Conjunct]
    around: Mapping[str, tuple[str, ...]]
    """For each index, its predicates, sorted."""


def recogs_exact_match(gold: str, prediction: str) -> bool:
    """Whether the ReCOGS program counts a prediction as correct."""
    gold_form, predicted_form = _read(gold), _read(prediction)
    if gold_form is None or predicted_form is None or gold_form.plain != predicted_form.plain:
        return False
    candidates: dict[str, list[str]] = {}
    by_predicates: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for index, predicates in gold_form.around.items():
        by_predicates[predicates].append(index)
    for index in _connected(predicted_form):
        candidates[index] = by_predicates.get(predicted_form.around[index], [])
        if not candidates[index]:
            return False
    if len(predicted_form.around) < len(gold_form.around) or len(predicted_form.terms) < len(gold_form.terms):
        return False
    return any(image == gold_form.terms for image in _images(predicted_form, gold_form, candidates))


def _read(form: str) -> _Conjuncts | None:
    """The conjuncts of a form; None if it has a number that is not an index."""
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
    """The indices, each after a neighbour if it has one, so that a wrong start fails early."""
    neighbours: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for _, indices in sorted(form.terms):
        for index in indices:
            neighbours[index].update(dict.fromkeys(indices))
    order: dict[str, None] = {}
    for start in form.around:
        waiting = [start]
        while waiting:
            index = waiting.pop()
            if index not in order:
                order[index] = None
                waiting += neighbours[index]
    return list(order)


def _images(form: _Conjuncts, gold: _Conjuncts, candidates: Mapping[str, Sequence[str]]) -> Iterator[set[Conjunct]]:
    """The conjuncts after each replacement that keeps them in the gold form."""
    order = list(candidates)
    due: defaultdict[str, list[Conjunct]] = defaultdict(list)
    rank = {index: number for number, index in enumerate(order)}
    for term in form.terms:
        due[max(term[1], key=rank.__getitem__)].append(term)
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
            if steps > MAX_REPLACEMENTS or (one_to_one and used[candidate]):
                continue
            replaced[index] = candidate
            if all((term[0], tuple(replaced[other] for other in term[1])) in gold.terms for term in due[index]):
                used[candidate] += 1
                yield from extend(depth + 1)
                used[candidate] -= 1

    yield from extend(0)
