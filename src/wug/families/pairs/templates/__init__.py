"""Minimal pairs made from templates: coordination, tense, agreement, reflexives, negative polarity items."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wug.errors import InputError, UnknownName
from wug.families.pairs.templates.files import WordPair, Written, sentence_focused, word_focused, word_pair
from wug.families.pairs.templates.generation import Example, examples
from wug.families.pairs.templates.grammar import Grammar, Pattern, built_in, load

__all__ = [
    "Example",
    "Grammar",
    "Pattern",
    "WordPair",
    "Written",
    "built_in",
    "categories",
    "generate",
    "load",
    "patterns",
    "sentence_focused",
    "word_focused",
    "word_pair",
]


def categories(lexicon: Path | str | None = None) -> list[str]:
    """The categories of patterns: `coord`, `tense`, `agreement`, `reflexives`, `npi`, and a grammar's own."""
    return load(lexicon).categories


def patterns(category: str | None = None, lexicon: Path | str | None = None) -> list[Pattern]:
    """The patterns of a category, or all of them, in order."""
    grammar = load(lexicon)
    if category is not None and category not in grammar.categories:
        raise UnknownName("category of templates", category, grammar.categories)
    return [pattern for pattern in grammar.patterns.values() if category in (None, pattern.category)]


def generate(
    category: str,
    n: int | None = None,
    seed: int = 0,
    lexicon: Path | str | None = None,
    only: Sequence[str] | None = None,
) -> list[Example]:
    """The pairs of every pattern of a category: all there are, or those of `n` right sentences a pattern.

    A pattern that has fewer than `n` gives what it has. A right sentence with several wrong ones makes several
    pairs. `lexicon` is a TOML file, or the name of a built-in grammar; `only` names the patterns that are wanted.
    The same seed gives the same pairs, whatever else is asked for.
    """
    if n is not None and n < 1:
        raise InputError(f"n is {n}: ask for at least one sentence a pattern, or for all of them")
    grammar = load(lexicon)
    chosen = {pattern.name: pattern for pattern in patterns(category, lexicon)}
    for name in only or ():
        if name not in chosen:
            raise UnknownName(f"pattern of {category}", name, chosen)
    return [
        example
        for name, pattern in chosen.items()
        if only is None or name in only
        for example in examples(grammar, pattern, n, seed)
    ]
