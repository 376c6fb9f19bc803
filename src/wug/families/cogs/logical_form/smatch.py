"""Smatch (Cai and Knight 2013): how far two logical forms agree under the best renaming of indices.

The graded form of `equivalent`: terms count as a set, and an index of the prediction maps to at most one index of the
gold form. Hill climbing from several starts finds a good renaming; branch and bound proves that there is no better
one, as long as the search stays small. Otherwise the score is marked as a lower bound.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from wug.families.cogs.logical_form.match import equivalent
from wug.families.cogs.logical_form.parse import LogicalForm

IndexMap: TypeAlias = dict[str, str]
"""The gold index for each index of the prediction that has one."""
Key: TypeAlias = tuple[bool, str, bool, tuple[str, ...]]
Skeleton: TypeAlias = set[tuple[Key, tuple[str, ...]]]

MAX_BRANCHES = 2_000
HILL_CLIMBS = 5
"""Starts of hill climbing: one by similarity of indices, the others random."""
MAX_EXACT_INDICES = 100


class SmatchScore(NamedTuple):
    """F1 of the terms of two forms."""

    f1: float
    exact: bool
    """Whether it is proven to be the best; otherwise `f1` is a lower bound."""


def smatch(gold: LogicalForm, prediction: LogicalForm, seed: int = 0) -> SmatchScore:
    """F1 of the terms under the best one-to-one renaming of the prediction's indices."""
    if gold.lambdas != prediction.lambdas:  # without its variables the body of a LAMBDA form means nothing
        return SmatchScore(0.0, True)
    if equivalent(gold, prediction):
        return SmatchScore(1.0, True)
    ours, theirs = _skeleton(gold), _skeleton(prediction)
    gains = _gains(ours, theirs)
    score, exact = 0, False
    for start in range(HILL_CLIMBS):
        chance = None if start == 0 else random.Random(f"{seed}/{start}")
        score = max(score, gains.score(_climb(gains, _start(gains, chance))))
        if score == gains.limit:
            exact = True
            break
    if not exact and len(gains.single) <= MAX_EXACT_INDICES:
        score, exact = _branch_and_bound(gains, score)
    return SmatchScore(2 * (gains.always + score) / (len(ours) + len(theirs)), exact)


class _Gains(NamedTuple):
    always: int
    """Terms that match under any renaming."""
    limit: int
    """Upper bound: terms that have a counterpart."""
    single: Mapping[str, Counter[str]]
    """Matches gained by mapping one index; every index of the prediction has an entry."""
    paired: Mapping[tuple[str, str], Counter[tuple[str, str]]]
    """Matches gained by two mappings together, in both orders."""
    places: Mapping[str, list[str]]
    """The gold indices with a possible gain, by index of the prediction."""
    keys: Mapping[Key, tuple[list[tuple[str, ...]], int]]
    """For each term with a counterpart, its indices and the number of counterparts."""

    def gain(self, index: str, target: str | None, names: IndexMap) -> int:
        """Matches gained by mapping `index` to `target`, given the others."""
        if target is None:
            return 0
        with_others = self.paired.get((index, target))
        earned = self.single[index][target]
        return earned + sum(n for (v, u), n in with_others.items() if names.get(v) == u) if with_others else earned

    def score(self, names: IndexMap) -> int:
        singles = sum(self.single[v][u] for v, u in names.items())
        counters = (self.paired.get(pair, _NOTHING) for pair in names.items())
        return singles + sum(n for counter in counters for (v, u), n in counter.items() if names.get(v) == u) // 2


_NOTHING: Counter[tuple[str, str]] = Counter()


def _skeleton(form: LogicalForm) -> Skeleton:
    skeleton: Skeleton = set()
    for before, terms in ((True, form.prefix), (False, form.body)):
        for predicate, arguments, definite in terms:
            indices = tuple(dict.fromkeys(a for a in arguments if a.isdigit()))
            pattern = tuple(f"{indices.index(a)}" if a.isdigit() else a for a in arguments)
            skeleton.add(((before, predicate, definite, pattern), indices))
    return skeleton


def _gains(ours: Skeleton, theirs: Skeleton) -> _Gains:
    counterparts: dict[Key, list[tuple[str, ...]]] = defaultdict(list)
    for key, indices in sorted(ours):
        counterparts[key].append(indices)
    single: dict[str, Counter[str]] = {v: Counter() for _, indices in sorted(theirs) for v in indices}
    paired: dict[tuple[str, str], Counter[tuple[str, str]]] = defaultdict(Counter)
    targets: dict[str, dict[str, None]] = {v: {} for v in single}
    keys: dict[Key, tuple[list[tuple[str, ...]], int]] = {}
    always = 0
    for key, indices in sorted(theirs):
        if key not in counterparts or len(indices) > 2:
            continue
        if not indices:
            always += 1
            continue
        keys.setdefault(key, ([], len(counterparts[key])))[0].append(indices)
        for other in counterparts[key]:
            for v, u in zip(indices, other, strict=True):
                targets[v][u] = None
            if len(indices) == 1:
                single[indices[0]][other[0]] += 1
            else:
                first, second = (indices[0], other[0]), (indices[1], other[1])
                paired[first][second] += 1
                paired[second][first] += 1
    limit = sum(min(len(terms), partners) for terms, partners in keys.values())
    return _Gains(always, limit, single, paired, {v: list(possible) for v, possible in targets.items()}, keys)


def _start(gains: _Gains, chance: random.Random | None) -> IndexMap:
    """A renaming to start from: greedy, or random."""
    names: IndexMap = {}
    taken: set[str] = set()
    order = list(gains.places)
    if chance is not None:
        chance.shuffle(order)
    for index in order:
        free = [target for target in gains.places[index] if target not in taken]
        if free:
            likely = max(free, key=lambda target: (gains.gain(index, target, names), _potential(gains, index, target)))
            target = likely if chance is None else chance.choice(free)
            names[index] = target
            taken.add(target)
    return names


def _potential(gains: _Gains, index: str, target: str) -> int:
    with_others = gains.paired.get((index, target), _NOTHING)
    return gains.single[index][target] + len({v for v, _ in with_others})


def _climb(gains: _Gains, names: IndexMap) -> IndexMap:
    """The renaming after the best moves and swaps, until none helps."""
    best, best_score = names, gains.score(names)
    while True:
        names, holder = best, {target: index for index, target in best.items()}
        for index, targets in gains.places.items():
            now = names.get(index)
            for target in targets:
                if target == now:
                    continue
                moved = {**names, index: target}
                if (other := holder.get(target)) is not None:
                    if now is None:
                        del moved[other]
                    else:
                        moved[other] = now
                if (score := gains.score(moved)) > best_score:
                    best, best_score = moved, score
        if best is names:
            return names


def _branch_and_bound(gains: _Gains, best: int) -> tuple[int, bool]:
    """The best score, and whether it is certain; indices with the fewest places come first."""
    order = sorted(gains.places, key=lambda index: len(gains.places[index]))
    depth = {index: number for number, index in enumerate(order)}
    undecided = [0] * (len(order) + 1)  # upper bound of the gain of terms that are undecided at a depth
    for terms, partners in gains.keys.values():
        decided = [max(depth[index] for index in indices) for indices in terms]
        for level in range(len(order) + 1):
            undecided[level] += min(partners, sum(at >= level for at in decided))
    names: IndexMap = {}
    steps = 0

    def branch(level: int, score: int) -> None:
        nonlocal best, steps
        steps += 1
        if steps > MAX_BRANCHES:
            return
        best = max(best, score)
        if level == len(order) or score + undecided[level] <= best:
            return
        index, taken = order[level], set(names.values())
        options = [(gains.gain(index, target, names), target) for target in gains.places[index] if target not in taken]
        for gained, target in sorted(options, reverse=True):
            names[index] = target
            branch(level + 1, score + gained)
            del names[index]
        branch(level + 1, score)

    branch(0, 0)
    return best, steps <= MAX_BRANCHES
