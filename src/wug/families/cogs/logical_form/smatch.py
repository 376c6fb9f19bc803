"""How much of two logical forms agrees under the best renaming of indices: Smatch (Cai and Knight 2013).

The graded form of `equivalent`: terms count as a set, and an index of the prediction stands for at most one index
of the gold form. Hill climbing from several starts finds a good renaming, and branch and bound shows that there is
no better one, as long as that stays small; beyond it the answer says that it may not be the best.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from wug.families.cogs.logical_form.match import equivalent
from wug.families.cogs.logical_form.parse import LogicalForm

Names: TypeAlias = dict[str, str]
"""Which index of the gold form an index of the prediction stands for; one that stands for none is left out."""
Key: TypeAlias = tuple[bool, str, bool, tuple[str, ...]]
"""A term without the names of its indices."""
Skeleton: TypeAlias = set[tuple[Key, tuple[str, ...]]]
"""The terms of a form, each with its indices beside it."""

STEPS = 2_000
"""Branches to look at before the search gives up being exact."""
STARTS = 5
"""Hills to climb: one from what the indices look like, the others from chance."""
DEEPEST = 100
"""Indices beyond which branch and bound is not tried."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two forms agree."""

    f1: float
    exact: bool
    """Whether no renaming does better; if not, `f1` is a lower bound."""


def smatch(gold: LogicalForm, prediction: LogicalForm, seed: int = 0) -> Agreement:
    """F1 of the terms under the best one-to-one renaming of the prediction's indices."""
    if gold.lambdas != prediction.lambdas:  # without its variables the body of a LAMBDA form means nothing
        return Agreement(0.0, True)
    if equivalent(gold, prediction):
        return Agreement(1.0, True)
    ours, theirs = _skeleton(gold), _skeleton(prediction)
    game = _game(ours, theirs)
    score, exact = 0, False
    for start in range(STARTS):
        chance = None if start == 0 else random.Random(f"{seed}/{start}")
        score = max(score, game.score(_climb(game, _start(game, chance))))
        if score == game.limit:
            exact = True
            break
    if not exact and len(game.single) <= DEEPEST:
        score, exact = _Bound(game, score).search()
    return Agreement(2 * (game.always + score) / (len(ours) + len(theirs)), exact)


@dataclass(frozen=True, slots=True)
class _Game:
    """What renaming earns."""

    always: int
    """Terms that agree whatever the renaming is."""
    limit: int
    """No renaming earns more: terms that have a counterpart at all."""
    single: Mapping[str, Counter[str]]
    """What it earns that an index stands for another, by itself; every index of the prediction has an entry."""
    paired: Mapping[tuple[str, str], Counter[tuple[str, str]]]
    """What it earns beside another such pair; both ways round."""
    places: Mapping[str, list[str]]
    """For each index of the prediction, those of the gold form that could earn anything."""
    keys: Mapping[Key, tuple[list[tuple[str, ...]], int]]
    """For each term that has a counterpart, its indices, and how many counterparts there are."""

    def gain(self, index: str, place: str | None, names: Names) -> int:
        """What `index` standing for `place` earns, given the others."""
        if place is None:
            return 0
        beside = self.paired.get((index, place))
        earned = self.single[index][place]
        return earned + sum(n for (v, u), n in beside.items() if names.get(v) == u) if beside else earned

    def score(self, names: Names) -> int:
        """What a renaming earns."""
        alone = sum(self.single[v][u] for v, u in names.items())
        together = sum(
            n for pair in names.items() for (v, u), n in self.paired.get(pair, _NOTHING).items() if names.get(v) == u
        )
        return alone + together // 2


_NOTHING: Counter[tuple[str, str]] = Counter()


def _skeleton(form: LogicalForm) -> Skeleton:
    found: Skeleton = set()
    for before, terms in ((True, form.prefix), (False, form.body)):
        for predicate, arguments, definite in terms:
            indices = tuple(dict.fromkeys(a for a in arguments if a.isdigit()))
            pattern = tuple(f"{indices.index(a)}" if a.isdigit() else a for a in arguments)
            found.add(((before, predicate, definite, pattern), indices))
    return found


def _game(ours: Skeleton, theirs: Skeleton) -> _Game:
    counterparts: dict[Key, list[tuple[str, ...]]] = defaultdict(list)
    for key, indices in sorted(ours):
        counterparts[key].append(indices)
    single: dict[str, Counter[str]] = {v: Counter() for _, indices in sorted(theirs) for v in indices}
    paired: dict[tuple[str, str], Counter[tuple[str, str]]] = defaultdict(Counter)
    places: dict[str, dict[str, None]] = {v: {} for v in single}
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
                places[v][u] = None
            if len(indices) == 1:
                single[indices[0]][other[0]] += 1
            else:
                first, second = (indices[0], other[0]), (indices[1], other[1])
                paired[first][second] += 1
                paired[second][first] += 1
    limit = sum(min(len(terms), partners) for terms, partners in keys.values())
    return _Game(always, limit, single, paired, {v: list(found) for v, found in places.items()}, keys)


def _start(game: _Game, chance: random.Random | None) -> Names:
    """A renaming to begin with: likely places first, or any places."""
    names: Names = {}
    taken: set[str] = set()
    order = list(game.places)
    if chance is not None:
        chance.shuffle(order)
    for index in order:
        free = [place for place in game.places[index] if place not in taken]
        if free:
            likely = max(free, key=lambda place: (game.gain(index, place, names), _kinship(game, index, place)))
            place = likely if chance is None else chance.choice(free)
            names[index] = place
            taken.add(place)
    return names


def _kinship(game: _Game, index: str, place: str) -> int:
    """How much `index` standing for `place` could earn at all."""
    beside = game.paired.get((index, place), _NOTHING)
    return game.single[index][place] + len({v for v, _ in beside})


def _climb(game: _Game, names: Names) -> Names:
    """The renaming after the best moves and swaps, one after the other, until none helps."""
    while True:
        holder = {place: index for index, place in names.items()}
        best_gain, best = 0, names
        for index, places in game.places.items():
            now = names.get(index)
            for place in places:
                if place == now:
                    continue
                other = holder.get(place)
                moved = {**names, index: place}
                if other is not None:
                    if now is None:
                        del moved[other]
                    else:
                        moved[other] = now
                gained = _change(game, names, moved, (index, other))
                if gained > best_gain:
                    best_gain, best = gained, moved
        if best_gain == 0:
            return names
        names = best


def _change(game: _Game, before: Names, after: Names, movers: tuple[str, str | None]) -> int:
    """What moving one or two indices changes in the score."""
    first, second = movers
    change = game.gain(first, after.get(first), after) - game.gain(first, before.get(first), before)
    if second is not None:
        change += _alone(game, second, after, first) - _alone(game, second, before, first)
    return change


def _alone(game: _Game, index: str, names: Names, without: str) -> int:
    """What an index earns except beside `without`, where that has been counted."""
    place = names.get(index)
    if place is None:
        return 0
    beside = game.paired.get((index, place), _NOTHING)
    return game.single[index][place] + sum(n for (v, u), n in beside.items() if v != without and names.get(v) == u)


class _Bound:
    """Branch and bound over the indices, those with the fewest places first."""

    def __init__(self, game: _Game, best: int) -> None:
        self.game, self.best, self.steps = game, best, 0
        self.order = sorted(game.places, key=lambda index: len(game.places[index]))
        depth = {index: number for number, index in enumerate(self.order)}
        self.open = [0] * (len(self.order) + 1)
        """What the terms that are not decided at a depth could still earn."""
        for terms, partners in game.keys.values():
            decided = sorted(max(depth[index] for index in indices) for indices in terms)
            for level in range(len(self.order) + 1):
                self.open[level] += min(partners, sum(at >= level for at in decided))

    def search(self) -> tuple[int, bool]:
        """The best score, and whether it is certain."""
        self._branch(0, {}, set(), 0)
        return self.best, self.steps <= STEPS

    def _branch(self, level: int, names: Names, taken: set[str], score: int) -> None:
        self.steps += 1
        if self.steps > STEPS:
            return
        self.best = max(self.best, score)
        if level == len(self.order) or score + self.open[level] <= self.best:
            return
        index = self.order[level]
        gains = [(self.game.gain(index, u, names), u) for u in self.game.places[index] if u not in taken]
        for gained, place in sorted(gains, reverse=True):
            names[index] = place
            taken.add(place)
            self._branch(level + 1, names, taken, score + gained)
            del names[index]
            taken.remove(place)
        self._branch(level + 1, names, taken, score)
