"""Minimal pairs generated from templates: coordination, tense, agreement, reflexives, negative polarity items."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from wug.errors import InputError, UnknownName
from wug.families.pairs.conversion import write_sentences, write_words
from wug.families.pairs.pair import Pair, with_forms
from wug.families.pairs.templates.grammar import (
    LexiconEntry,
    Pattern,
    Piece,
    Slot,
    TemplateGrammar,
    form_of,
    load,
    slots,
)

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_BEFORE_PUNCTUATION = re.compile(r"(?<=\w)(?=[.,;:!?])")
_Sentences = tuple[str, list[str]]
"""A right sentence and its wrong versions."""


class Example(NamedTuple):
    """A generated pair."""

    pattern: str
    condition: str
    contrast: str
    """`1`, `2`, … if a right sentence has several wrong versions; else empty."""
    item: int
    """The number of the right sentence in its pattern, from 1."""
    good: str
    bad: str
    compare: str
    """`word` if the word that differs shows the error, `sentence` if only the whole sentence does."""

    @property
    def groups(self) -> Mapping[str, str]:
        """What a table says of the pair."""
        return {"pattern": self.pattern, "condition": self.condition, "contrast": self.contrast}


class GeneratedTable(NamedTuple):
    """A table of generated pairs as text, and warnings about pairs that it cannot hold."""

    text: str
    notices: tuple[str, ...] = ()


def generate(
    category: str,
    n: int | None = None,
    seed: int = 0,
    lexicon: Path | str | None = None,
    only: Sequence[str] | None = None,
) -> list[Example]:
    """Generate the pairs of a category.

    The same seed gives the same pairs of a pattern, whatever other patterns are generated.

    Args:
        category: The category of patterns.
        n: The number of right sentences per pattern. By default, all. A pattern with fewer gives all of them. A right
            sentence with several wrong versions makes several pairs.
        seed: The seed of the sample.
        lexicon: A TOML file, or the name of a built-in grammar.
        only: The names of the patterns. By default, all patterns of the category.
    """
    if n is not None and n < 1:
        raise InputError(f"n is {n}: give at least one sentence per pattern, or leave it out for all")
    grammar = load(lexicon)
    if category not in grammar.categories:
        raise UnknownName("category of templates", category, grammar.categories)
    chosen = {name: pattern for name, pattern in grammar.patterns.items() if pattern.category == category}
    for name in only or ():
        if name not in chosen:
            raise UnknownName(f"pattern of {category}", name, chosen)
    return [
        example
        for name, pattern in chosen.items()
        if only is None or name in only
        for example in _examples(grammar, pattern, n, seed)
    ]


def sentence_focused(examples: Sequence[Example], spaced: bool = False) -> GeneratedTable:
    """A table with the columns pattern, sent and sent_alt, and condition and contrast if there are any.

    With `spaced`, punctuation marks are separate words and sentences end with `<eos>`.
    """
    format = _spaced if spaced else str
    pairs = [
        Pair(str(number), format(example.good), format(example.bad), example.groups)
        for number, example in enumerate(examples, 1)
    ]
    return GeneratedTable(write_sentences(pairs))


def word_focused(examples: Sequence[Example]) -> GeneratedTable:
    """A table with the columns pattern, form, form_alt, sent and len_prefix, and condition and contrast if any.

    Punctuation marks are separate words, and sentences end with `<eos>`. Pairs that differ in several words, or in a
    word that does not show the error, are left out with a notice; InputError if no pair is left.
    """
    pairs: list[Pair] = []
    left_out: Counter[str] = Counter()
    for example in examples:
        good, bad = _spaced(example.good).split(), _spaced(example.bad).split()
        differing = [k for k, words in enumerate(zip(good, bad, strict=False)) if words[0] != words[1]]
        if example.compare != "word" or len(good) != len(bad) or len(differing) != 1:
            left_out[example.pattern] += 1
        else:
            at = differing[0]
            pairs.append(with_forms(str(len(pairs) + 1), good, at, (good[at], bad[at]), example.groups))
    notices = tuple(
        f"{pattern}: {count} pairs left out, which differ in more than one word; write them sentence-focused"
        for pattern, count in left_out.items()
    )
    if not pairs:
        raise InputError("none of these pairs can be word-focused. " + "; ".join(notices or ["there are none"]))
    return GeneratedTable(write_words(pairs), notices)


def _spaced(sentence: str) -> str:
    return f"{_BEFORE_PUNCTUATION.sub(' ', sentence)} <eos>"


class _Variant(NamedTuple):
    """A pattern in one of its conditions, with the words for its slots."""

    values: Mapping[str, str]
    classes: Mapping[str, str]
    """The class of each slot."""
    items: tuple[tuple[LexiconEntry, ...], ...]
    """The words for each slot."""
    right: Sequence[Piece]
    wrong: tuple[tuple[Sequence[Piece], Mapping[str, str]], ...]
    """The pieces of each wrong sentence, and the values of the features in it."""

    @property
    def size(self) -> int:
        """The number of combinations of words, allowed or not."""
        return math.prod(len(items) for items in self.items)


def _examples(grammar: TemplateGrammar, pattern: Pattern, n: int | None, seed: int) -> Iterator[Example]:
    """The pairs of all right sentences of a pattern, or of `n`, evenly distributed over its conditions."""
    conditions = pattern.conditions()
    item = 0
    for number, values in enumerate(conditions):
        variant = _variant(grammar, pattern, values)
        label = pattern.condition(values)
        count = None if n is None else n // len(conditions) + (number < n % len(conditions))
        # A string as seed is hashed in the same way by every Python version, and contains the condition, so that a
        # sample does not change when another pattern does.
        rng = random.Random(f"{seed}/{pattern.name}/{label}")
        for good, wrong in _all_sentences(grammar, variant) if count is None else _sample(grammar, variant, count, rng):
            item += 1
            for foil, bad in enumerate(wrong, 1):
                contrast = str(foil) if len(wrong) > 1 else ""
                yield Example(pattern.name, label, contrast, item, good, bad, pattern.compare)


def _all_sentences(grammar: TemplateGrammar, variant: _Variant) -> Iterator[_Sentences]:
    combinations = product(*(range(len(items)) for items in variant.items))
    return filter(None, (_realise(grammar, variant, indices) for indices in combinations))


def _sample(grammar: TemplateGrammar, variant: _Variant, n: int, rng: random.Random) -> list[_Sentences]:
    """`n` distinct combinations of words, or all if there are fewer.

    Drawn with `random()` only: it is the only method whose values Python guarantees to stay the same.
    """
    if 3 * n >= variant.size:
        everything = list(_all_sentences(grammar, variant))
        for last in range(len(everything) - 1, 0, -1):
            other = int(rng.random() * (last + 1))
            everything[last], everything[other] = everything[other], everything[last]
        return everything[:n]
    picked: list[_Sentences] = []
    seen: set[int] = set()
    while len(picked) < n and len(seen) < variant.size:
        number = int(rng.random() * variant.size)
        if number not in seen:
            seen.add(number)
            sentences = _realise(grammar, variant, _indices(number, variant.items))
            picked += [] if sentences is None else [sentences]
    return picked


def _variant(grammar: TemplateGrammar, pattern: Pattern, values: dict[str, str]) -> _Variant:
    right, *foils = pattern.sentences
    classes = {slot.name: slot.word_class for pieces in pattern.sentences for slot in slots(pieces)}
    wrong = tuple((pieces, values | others) for pieces in foils for others in _other_values(pattern, pieces, values))
    return _Variant(values, classes, tuple(grammar.lexicon[name] for name in classes.values()), right, wrong)


def _other_values(pattern: Pattern, pieces: Sequence[Piece], values: Mapping[str, str]) -> Iterator[dict[str, str]]:
    names = dict.fromkeys(f.name for slot in slots(pieces) for f in slot.features if f.other)
    choices = [[value for value in pattern.vary[name] if value != values[name]] for name in names]
    for others in product(*choices):
        yield {f"-{name}": other for name, other in zip(names, others, strict=True)}


def _realise(grammar: TemplateGrammar, variant: _Variant, indices: Sequence[int]) -> _Sentences | None:
    """The sentences with one combination of words; None if a word would occur twice."""
    if len(set(zip(variant.classes.values(), indices, strict=True))) < len(indices):
        return None
    chosen = {name: items[k] for name, items, k in zip(variant.classes, variant.items, indices, strict=True)}
    good = _sentence(variant.right, variant.values, chosen)
    words = [word for word in _WORD.findall(good.lower()) if word not in grammar.function_words]
    if len(words) != len(set(words)):
        return None
    return good, [_sentence(pieces, values, chosen) for pieces, values in variant.wrong]


def _sentence(pieces: Sequence[Piece], values: Mapping[str, str], chosen: Mapping[str, LexiconEntry]) -> str:
    text = "".join(form_of(piece, values, chosen) if isinstance(piece, Slot) else piece for piece in pieces)
    return text[:1].upper() + text[1:]


def _indices(number: int, items: Sequence[Sequence[LexiconEntry]]) -> list[int]:
    """A combination by its number: its digits in the mixed base of the slots' sizes."""
    digits: list[int] = []
    for choices in reversed(items):
        number, digit = divmod(number, len(choices))
        digits.append(digit)
    return digits[::-1]
