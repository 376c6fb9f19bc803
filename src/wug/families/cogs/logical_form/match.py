"""Whether two logical forms are the same but for the order of their terms, or but for the names of their indices.

Renaming is graph isomorphism. What stands around an index (`want.agent` in first place, `want.xcomp` in second)
tells it apart from the others in nearly every published form, so two forms are first compared by that alone.
Where it does not, the search refines: what stands around the neighbours counts too, until nothing changes; then
one of the indices that still look alike is fixed and the rest is refined again. Parts that share no open index are
searched one by one, so that a form with many like parts does not multiply the work.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from wug.families.cogs.logical_form.parse import LogicalForm, Term

Around: TypeAlias = dict[str, list[tuple[str, tuple[str, ...]]]]
"""For each index, the places where it stands and the other indices there."""
Code: TypeAlias = list[tuple[str, tuple[tuple[bool, int], ...]]]
"""The terms of a part, with nothing in them that depends on the names of its indices."""


def order_invariant(first: LogicalForm, second: LogicalForm) -> bool:
    """Whether the two have the same terms, each as often, before `;` and after it; LAMBDAs in the same order."""
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
    """Which index of `second` stands for which of `first`, if the two are equivalent."""
    if first.kind != second.kind or first.lambdas != second.lambdas or first.dialect != second.dialect:
        return None
    if (in_order := _names_in_order(first, second)) is not None:
        return in_order
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
    return {index: names[index] for index in indices((*second.prefix, *second.body))}


def canonical(form: LogicalForm) -> LogicalForm:
    """The form that stands for all equivalent ones: indices renamed 0, 1, …, terms sorted, duplicates dropped."""
    prefix, body = frozenset(form.prefix), frozenset(form.body)
    names = {index: str(place) for place, index in enumerate(_canonical_order(prefix, body))}
    return replace(
        form,
        prefix=tuple(sorted((Term(*term) for term in _renamed(prefix, names)), key=_by_index)),
        body=tuple(sorted((Term(*term) for term in _renamed(body, names)), key=_by_index)),
    )


def indices(terms: Iterable[Term]) -> list[str]:
    """The indices in these terms, each once, in order of appearance."""
    return list(dict.fromkeys(a for term in terms for a in term.arguments if a.isdigit()))


def _by_index(term: Term) -> tuple[list[tuple[bool, int, str, str]], str]:
    """By the numbers of the indices; written out they may be too long for Python to make numbers of them."""
    return [(not a.isdigit(), *_size(a), a) for a in term.arguments], term.predicate


def _size(index: str) -> tuple[int, str]:
    digits = index.lstrip("0") if index.isdigit() else ""
    return len(digits), digits


def _names_in_order(first: LogicalForm, second: LogicalForm) -> dict[str, str] | None:
    """The renaming if the terms correspond one by one as they stand, as they mostly do."""
    if len(first.prefix) != len(second.prefix) or len(first.body) != len(second.body):
        return None
    names: dict[str, str] = {}
    for terms, other_terms in ((first.prefix, second.prefix), (first.body, second.body)):
        for (predicate, arguments, definite), term in zip(terms, other_terms, strict=True):
            if predicate != term[0] or definite != term[2] or len(arguments) != len(term[1]):
                return None
            for ours, theirs in zip(arguments, term[1], strict=True):
                if theirs.isdigit() and ours.isdigit():
                    if names.setdefault(theirs, ours) != ours:
                        return None
                elif ours != theirs:
                    return None
    return names if len(set(names.values())) == len(names) else None


def _renamed(terms: Iterable[Term], names: Mapping[str, str]) -> set[tuple[str, tuple[str, ...], bool]]:
    get = names.get
    return {(p, tuple([get(a, a) for a in arguments]), definite) for p, arguments, definite in terms}


def _looks(prefix: Collection[Term], body: Collection[Term]) -> dict[str, str]:
    """For each index, the places where it stands, as one string."""
    around: defaultdict[str, list[str]] = defaultdict(list)
    for terms, separator in ((prefix, ";"), (body, "/")):
        for predicate, arguments, definite in terms:
            if definite:
                predicate = f"*{predicate}"
            if len(arguments) == 2 and arguments[0].isdigit():  # most terms are of this shape
                first, second = arguments
                if second.isdigit():
                    around[first].append(f"{predicate}{separator}1")
                    around[second].append(f"{predicate}{separator}2")
                else:
                    around[first].append(f"{predicate}{separator}1{second}")
                continue
            names = ",".join([a for a in arguments if not a.isdigit()])
            for place, argument in enumerate(arguments):
                if argument.isdigit():
                    around[argument].append(f"{predicate}{separator}{place}{names}")
    return {index: "|".join(sorted(look)) for index, look in around.items()}


def _canonical_order(prefix: Collection[Term], body: Collection[Term]) -> list[str]:
    """The indices in an order that does not depend on their names or on that of the terms."""
    around: Around = {}
    for terms, separator in ((prefix, ";"), (body, "")):
        for predicate, arguments, definite in terms:
            pattern = ",".join("" if a.isdigit() else a for a in arguments)
            others = tuple(a for a in arguments if a.isdigit())
            for place, argument in enumerate(arguments):
                if argument.isdigit():
                    key = f"{separator}{'*' * definite}{predicate}/{place}/{pattern}"
                    around.setdefault(argument, []).append((key, others))
    return _Search(around).order(list(around), dict.fromkeys(around, 0))[1]


@dataclass(frozen=True, slots=True)
class _Search:
    """The canonical order of the indices of one form."""

    around: Around

    def order(self, members: list[str], colours: dict[str, int]) -> tuple[Code, list[str]]:
        """The members in order, and what can be said of them by their places in it and the colours of others.

        `colours` tells indices apart as far as is known; the answer is the same for any names they may have.
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
        found = sorted((self.order(part, colours) for part in parts), key=lambda answer: answer[0])
        for _, part_order in found:
            order += part_order
        return self._code(order, colours), order

    def _refined(self, members: list[str], colours: dict[str, int]) -> dict[str, int]:
        """Colours that tell members apart by what stands around them, and around that, and so on."""
        colours = dict(colours)
        base = max(colours.values(), default=0) + 1  # no colour inside is one outside
        told = 0
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
            if rank - base + 1 == told:
                return colours
            told = rank - base + 1

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
        """Every term around the members, in which a member is its place and another index its colour."""
        place = {index: number for number, index in enumerate(order)}
        return sorted(
            (key, tuple((True, place[o]) if o in place else (False, colours[o]) for o in (index, *others)))
            for index in order
            for key, others in self.around[index]
        )
