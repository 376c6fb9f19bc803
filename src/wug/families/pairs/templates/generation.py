"""Sentences from a pattern: all of them, or a sample that a seed settles."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from wug.families.pairs.templates.grammar import Grammar, Item, Pattern
from wug.families.pairs.templates.language import Piece, Slot, slots

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Example:
    """A generated pair."""

    pattern: str
    condition: str
    contrast: str
    """`1`, `2`, … where a right sentence has several wrong ones; else empty."""
    item: int
    """The number of the right sentence in its pattern, from 1."""
    good: str
    bad: str
    compare: str
    """`word` where the word that differs shows the error, `sentence` where only the whole does."""


@dataclass(frozen=True, slots=True)
class _Variant:
    """A pattern in one of its conditions: what there is to choose, and how to say it."""

    pattern: Pattern
    values: Mapping[str, str]
    names: tuple[str, ...]
    """The slots, in order."""
    items: tuple[tuple[Item, ...], ...]
    """What can stand in each."""
    alike: tuple[tuple[int, int], ...]
    """Pairs of slots of one class."""
    wrong: tuple[tuple[int, Mapping[str, str]], ...]
    """Each wrong sentence: its alternative, and the features' values in it."""

    @property
    def size(self) -> int:
        """How many choices there are, allowed or not."""
        return math.prod(len(items) for items in self.items)


def examples(grammar: Grammar, pattern: Pattern, n: int | None, seed: int) -> list[Example]:
    """The pairs of a pattern: of all its right sentences, or of `n`, as evenly as can be from its conditions."""
    variants = [_variant(grammar, pattern, values) for values in pattern.conditions()]
    found: list[Example] = []
    item = 0
    for number, variant in enumerate(variants):
        label = pattern.condition(variant.values)
        share = None if n is None else n // len(variants) + (number < n % len(variants))
        # A string as seed is hashed the same way by every Python, and names the condition, so that a sample does
        # not change when another pattern does.
        chance = random.Random(f"{seed}/{pattern.name}/{label}")
        picked = _all(grammar, variant) if share is None else iter(_sample(grammar, variant, share, chance))
        for good, bads in picked:
            item += 1
            for foil, bad in enumerate(bads, 1):
                contrast = str(foil) if len(bads) > 1 else ""
                found.append(Example(pattern.name, label, contrast, item, good, bad, pattern.compare))
    return found


Sentences = tuple[str, list[str]]
"""A right sentence and the wrong ones."""


def _all(grammar: Grammar, variant: _Variant) -> Iterator[Sentences]:
    for index in product(*(range(len(items)) for items in variant.items)):
        if (example := _say(grammar, variant, index)) is not None:
            yield example


def _sample(grammar: Grammar, variant: _Variant, n: int, chance: random.Random) -> list[Sentences]:
    """`n` different choices, or all where there are fewer.

    Drawn with `random()` alone: of the generator's methods, only that is promised to stay the same.
    """
    if 3 * n >= variant.size:
        everything = list(_all(grammar, variant))
        for last in range(len(everything) - 1, 0, -1):
            other = int(chance.random() * (last + 1))
            everything[last], everything[other] = everything[other], everything[last]
        return everything[:n]
    picked: list[Sentences] = []
    seen: set[int] = set()
    while len(picked) < n and len(seen) < variant.size:
        number = int(chance.random() * variant.size)
        if number not in seen:
            seen.add(number)
            example = _say(grammar, variant, _index(number, variant.items))
            picked += [] if example is None else [example]
    return picked


def _variant(grammar: Grammar, pattern: Pattern, values: Mapping[str, str]) -> _Variant:
    template = pattern.template
    readings = [template.right(), *(template.wrong(foil) for foil in range(template.foils))]
    found = {slot.name: slot.word_class for pieces in readings for slot in slots(pieces)}
    names = tuple(found)
    alike = tuple(
        (first, second)
        for second, name in enumerate(names)
        for first in range(second)
        if found[names[first]] == found[name]
    )
    wrong = tuple(
        (foil, others)
        for foil in range(template.foils)
        for others in _other_values(pattern, template.wrong(foil), values)
    )
    return _Variant(pattern, values, names, tuple(grammar.lexicon[found[name]] for name in names), alike, wrong)


def _other_values(pattern: Pattern, pieces: Sequence[Piece], values: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
    """What `-N` stands for: every value of N but the one it has, in all combinations."""
    names = dict.fromkeys(f.name for slot in slots(pieces) for f in slot.features if f.other)
    choices = [[value for value in pattern.vary[name] if value != values[name]] for name in names]
    for others in product(*choices):
        yield {f"-{name}": other for name, other in zip(names, others, strict=True)}


def _say(grammar: Grammar, variant: _Variant, index: Sequence[int]) -> Sentences | None:
    """The sentences of one choice of words; None where a word would occur twice."""
    if any(index[first] == index[second] for first, second in variant.alike):
        return None
    chosen = {name: items[k] for name, items, k in zip(variant.names, variant.items, index, strict=True)}
    template = variant.pattern.template
    good = _sentence(grammar, template.right(), variant.values, chosen)
    if _repeats(good, grammar.function_words):
        return None
    wrong = [
        _sentence(grammar, template.wrong(foil), {**variant.values, **others}, chosen) for foil, others in variant.wrong
    ]
    return good, wrong


def _sentence(grammar: Grammar, pieces: Sequence[Piece], values: Mapping[str, str], chosen: Mapping[str, Item]) -> str:
    text = "".join(grammar.form(piece, values, chosen) if isinstance(piece, Slot) else piece for piece in pieces)
    return text[:1].upper() + text[1:]


def _repeats(sentence: str, function_words: frozenset[str]) -> bool:
    words = [word for word in _WORD.findall(sentence.lower()) if word not in function_words]
    return len(words) != len(set(words))


def _index(number: int, items: Sequence[Sequence[Item]]) -> list[int]:
    """A choice by its number: its digits in the mixed base of the slots' sizes."""
    digits: list[int] = []
    for choices in reversed(items):
        number, digit = divmod(number, len(choices))
        digits.append(digit)
    return digits[::-1]
