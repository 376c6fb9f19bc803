"""Whether a logical form follows the grammar of its dialect and makes sense, with a message per violation.

Two levels. `grammar`: the form cannot be derived (an unknown role, a noun with two arguments, `x _ 01`).
`sense`: it can be derived, but no sentence means it (an unbound index, a duplicate, loose parts).
Every published gold form passes both.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

from wug.families.cogs.logical_form.parse import (
    CLAUSES,
    PREPOSITIONS,
    ROLES,
    Dialect,
    LogicalForm,
    Term,
    render,
    render_term,
)
from wug.formatting import plural

RULES = {
    "word": "a noun or verb is a lower-case word, a name begins with a capital",
    "role": "a predicate is a noun, or a verb with a known role, or a noun with a known modifier",
    "arity": "a noun has one argument, a role two",
    "argument": "an argument is an index, or a name where the role allows one",
    "zero-padded": "an index has no leading zero",
    "prefix": "terms with an iota come before `;`, the others after it",
    "lambda": "a LAMBDA form is that of a noun, of an intransitive or of a transitive verb",
    "unbound": "every index is introduced by a noun or a verb",
    "two-words": "an index has one noun or one verb",
    "target": "a role points at a noun or a name, a clause at a verb, a modifier at what it modifies with",
    "modifier-head": "a modifier names the noun of its first argument",
    "role-twice": "a verb has each role once",
    "duplicate": "no term is repeated",
    "iota-unused": "every iota is used in a conjunct",
    "disconnected": "the form is connected",
}
"""What each rule requires. Rules up to `lambda` concern the grammar, the others the sense."""


class Violation(NamedTuple):
    """A rule that a form violates."""

    rule: str
    message: str

    @property
    def level(self) -> Literal["grammar", "sense"]:
        """Level of the rule."""
        return "grammar" if _ORDER.index(self.rule) <= _ORDER.index("lambda") else "sense"

    def __str__(self) -> str:
        return self.message


class PredicateType(NamedTuple):
    """The kind of term that a predicate forms, and the arguments that it takes."""

    word: str
    """The noun or verb; empty if the predicate has none (ReCOGS roles)."""
    role: str
    """The role, clause or preposition; empty for a noun or verb alone, `?` for a predicate that does not exist."""
    takes: tuple[frozenset[str], ...]
    """The kinds of argument that are allowed in each position."""
    first: Literal["noun", "verb"]
    """What its first argument is; a predicate with a word introduces it."""
    second: Literal["noun", "verb"] = "noun"


def violations(form: LogicalForm) -> list[Violation]:
    """Every violation of the grammar or, if there is none, of the sense."""
    return list(grammar_violations(form)) or list(sense_violations(form))


def is_well_formed(form: LogicalForm) -> bool:
    """Whether the form can be derived from the grammar of its dialect."""
    return next(grammar_violations(form), None) is None


def grammar_violations(form: LogicalForm) -> Iterator[Violation]:
    """Violations of the grammar of the dialect."""
    if form.kind == "name":
        if not _NAME.fullmatch(form.body[0].predicate):
            yield Violation("word", f"`{form.body[0].predicate}` is not a proper name")
        return
    if form.kind == "lambda":
        if not _is_primitive(form):
            yield Violation("lambda", f"`{render(form)}` is not the form of a noun or a verb")
        return
    dialect = form.dialect
    starred = dialect not in _BARE
    for before in (True, False):
        for term in form.prefix if before else form.body:
            predicate, arguments, definite = term
            shape = predicate_type(predicate, dialect, before)
            takes = shape.takes
            starless = definite is not before and (starred or definite)
            if starless or (before and shape.role not in ("", "?")):
                where = f"is before `;`, where only nouns {_BEFORE[dialect in _BARE]} are allowed"
                wrong = where if before else "has an iota, but is after the last `;`"
                yield Violation("prefix", f"`{render_term(term, dialect)}` {wrong}")
            if shape is _UNKNOWN or (len(arguments) == 2 and len(takes) == 1 and not starred):
                yield _unknown(term, dialect)
            elif len(arguments) != len(takes):
                count = plural(len(arguments), "argument")
                yield Violation("arity", f"`{render_term(term, dialect)}` has {count}, not {len(takes)}")
            else:
                for argument, kinds in zip(arguments, takes, strict=True):
                    if kind_of(argument) not in kinds:
                        yield _invalid_argument(term, argument, dialect)


def sense_violations(form: LogicalForm) -> Iterator[Violation]:
    """Violations of sense in a well-formed form."""
    if form.kind != "sentence":
        return
    dialect, prefix, body = form.dialect, form.prefix, form.body
    if len(set(prefix)) != len(prefix) or len(set(body)) != len(body):
        for term, count in (*Counter(prefix).items(), *Counter(body).items()):
            if count > 1:
                yield Violation("duplicate", f"`{render_term(term, dialect)}` occurs {count} times")
        prefix, body = tuple(dict.fromkeys(prefix)), tuple(dict.fromkeys(body))
    nouns: dict[str, str] = {}
    verbs: dict[str, str] = {}
    roles: set[tuple[str, str]] = set()
    for noun, (index,), _ in prefix:
        if index in nouns:
            yield _conflicting_words(index, nouns[index], noun, dialect)
        nouns[index] = noun
    for predicate, arguments, _ in body:
        word, role, _, first, _ = predicate_type(predicate, dialect)
        index = arguments[0]
        if first == "verb":
            if word and verbs.setdefault(index, word) != word:
                yield _conflicting_words(index, verbs[index], word, dialect)
            if role:
                if (index, role) in roles:
                    yield Violation("role-twice", f"{_name(index, dialect)} has two of the role {role}")
                roles.add((index, role))
        elif not role:
            if index in nouns:
                yield _conflicting_words(index, nouns[index], word, dialect)
            nouns[index] = word
    for index, verb in verbs.items():
        if index in nouns:
            yield _conflicting_words(index, nouns[index], verb, dialect)
    yield from _argument_violations(body, nouns, verbs, dialect)
    used = {argument for _, arguments, _ in body for argument in arguments}
    for term in prefix:
        if term[1][0] not in used:
            yield Violation("iota-unused", f"`{render_term(term, dialect)}` is not used in any conjunct")
    parts = _parts(prefix, body)
    if parts > 1:
        yield Violation("disconnected", f"the form falls into {parts} parts that share no index and no name")


@lru_cache(maxsize=1 << 16)
def predicate_type(predicate: str, dialect: Dialect, before: bool = False) -> PredicateType:
    """The type of a predicate in the body, or in the prefix if `before`."""
    parts = predicate.split(".")
    if dialect == "variable_free" and (extended := _variable_free_type(parts, before)):
        return extended
    return _bare_type(parts, before) if dialect in _BARE else _type_of(parts, dialect == "slog")


@lru_cache(maxsize=1 << 16)
def kind_of(argument: str) -> str:
    """The kind of an argument: `index`, `zero-padded`, `name`, `?`, or `variable` for any other word."""
    if argument.isdigit():
        return "index" if argument[0] != "0" or argument == "0" else "zero-padded"
    if argument == "?":
        return "?"
    return "name" if _NAME.fullmatch(argument) else "variable"


_WORD = re.compile("[a-z]{2,}")
_NAME = re.compile("[A-Z][a-z]+")
_BARE = ("recogs", "variable_free")
_INDEX = frozenset({"index"})
_INDEX_OR_NAME = frozenset({"index", "name"})
_INDEX_NAME_OR_WH = frozenset({"index", "name", "?"})
_BEFORE = ("with an iota", "and names")
_ORDER = tuple(RULES)
_UNKNOWN = PredicateType("", "?", (), "noun")
_PRIMITIVES = {
    (("a",), (("", ("a",)),)),
    (("a", "e"), (("agent", ("e", "a")),)),
    (("a", "e"), (("theme", ("e", "a")),)),
    (("a", "b", "e"), (("agent", ("e", "b")), ("theme", ("e", "a")))),
}
"""The variables of a primitive and its roles with their arguments, sorted."""


def _type_of(parts: list[str], slog: bool) -> PredicateType:
    word = parts[0]
    good = _WORD.fullmatch(word) is not None
    noun = good or (slog and word == "TV")
    match parts[1:]:
        case [] if noun:
            return PredicateType(word, "", (_INDEX,), "noun")
        case [role] if good and role in ROLES:
            return PredicateType(word, role, (_INDEX, _INDEX_NAME_OR_WH if slog else _INDEX_OR_NAME), "verb")
        case [clause] if good and clause in CLAUSES:
            return PredicateType(word, clause, (_INDEX, _INDEX), "verb", "verb")
        case ["nmod"] if noun and slog:  # a relative clause
            return PredicateType(word, "nmod", (_INDEX, _INDEX), "noun", "verb")
        case ["nmod", preposition] if noun and preposition in PREPOSITIONS:
            return PredicateType(word, preposition, (_INDEX, _INDEX), "noun")
    return _UNKNOWN


def _bare_type(parts: list[str], before: bool) -> PredicateType:
    match parts:
        case [role] if role in ROLES:
            return PredicateType("", role, (_INDEX, _INDEX), "verb")
        case [clause] if clause in CLAUSES:
            return PredicateType("", clause, (_INDEX, _INDEX), "verb", "verb")
        case ["nmod", preposition] if preposition in PREPOSITIONS:
            return PredicateType("", preposition, (_INDEX, _INDEX), "noun")
        case [word] if before and (_WORD.fullmatch(word) or _NAME.fullmatch(word)):
            return PredicateType(word, "", (_INDEX,), "noun")
        case [word] if not before and _WORD.fullmatch(word):
            return PredicateType(word, "", (_INDEX,), "verb")
    return _UNKNOWN


def _variable_free_type(parts: list[str], before: bool) -> PredicateType | None:
    """What SLOG adds to variable-free forms: `?`, `TV` and relative clauses."""
    if before and parts in (["?"], ["TV"]):
        return PredicateType(parts[0], "", (_INDEX,), "noun")
    return PredicateType("", "nmod", (_INDEX, _INDEX), "noun", "verb") if parts == ["nmod"] else None


def _is_primitive(form: LogicalForm) -> bool:
    """Whether a LAMBDA form is one of the four of primitives, its conjuncts in any order."""
    parts = [term.predicate.split(".") for term in form.body]
    if form.prefix or any(term.definite for term in form.body) or any(len(part) > 2 for part in parts):
        return False
    words = {part[0] for part in parts}
    roles = sorted((".".join(part[1:]), term.arguments) for part, term in zip(parts, form.body, strict=True))
    known = (form.lambdas, tuple(roles)) in _PRIMITIVES
    return known and len(words) == 1 and _WORD.fullmatch(words.pop()) is not None


def _argument_violations(
    body: tuple[Term, ...], nouns: dict[str, str], verbs: dict[str, str], dialect: Dialect
) -> Iterator[Violation]:
    for term in body:
        if len(term[1]) != 2:
            continue
        first, second = term[1]
        word, _, _, from_what, to_what = predicate_type(term[0], dialect)
        starts = nouns if from_what == "noun" else verbs
        if first not in starts:
            yield _wrong_target(term, first, from_what, first in verbs or first in nouns, dialect)
        elif word and starts[first] != word and starts is nouns:
            text = f"`{render_term(term, dialect)}` modifies {_name(first, dialect)}, which is a {nouns[first]}"
            yield Violation("modifier-head", text)
        if second not in (nouns if to_what == "noun" else verbs) and second.isdigit():
            yield _wrong_target(term, second, to_what, second in verbs or second in nouns, dialect)


def _parts(prefix: tuple[Term, ...], body: tuple[Term, ...]) -> int:
    """Number of connected components (union-find)."""
    parent: dict[str, str] = {}
    parts = 0
    for _, arguments, _ in (*prefix, *body):
        tops = []
        for node in arguments:
            if node not in parent:
                parent[node] = node
                parts += 1
            up = parent[node]
            while up != node:  # path compression
                parent[node] = parent[up]
                node, up = up, parent[up]
            tops.append(node)
        if len(tops) == 2 and tops[0] != tops[1]:
            parent[tops[0]] = tops[1]
            parts -= 1
    return parts


def _unknown(term: Term, dialect: Dialect) -> Violation:
    word, *rest = term.predicate.split(".")
    if not rest and len(term.arguments) == 2 and dialect in _BARE:
        return Violation("role", f"`{word}` in `{render_term(term, dialect)}` is neither a role nor a clause")
    if not rest:
        return Violation("word", f"`{word}` in `{render_term(term, dialect)}` is not a lower-case word")
    text = f"`{' . '.join(rest)}` in `{render_term(term, dialect)}` is not a role, clause or modifier of {word!r}"
    return Violation("role", text)


def _invalid_argument(term: Term, argument: str, dialect: Dialect) -> Violation:
    name, text = _name(argument, dialect), render_term(term, dialect)
    if kind_of(argument) == "zero-padded":
        return Violation("zero-padded", f"the index of `{name}` in `{text}` has a leading zero")
    return Violation("argument", f"`{name}` is not allowed there in `{text}`")


def _wrong_target(term: Term, index: str, expected: str, known: bool, dialect: Dialect) -> Violation:
    name, text = _name(index, dialect), render_term(term, dialect)
    if known:
        return Violation("target", f"`{name}` in `{text}` is not a {expected}")
    return Violation("unbound", f"`{name}` in `{text}` is not introduced by a noun or a verb")


def _conflicting_words(index: str, first: str, second: str, dialect: Dialect) -> Violation:
    return Violation("two-words", f"`{_name(index, dialect)}` is both {first!r} and {second!r}")


def _name(argument: str, dialect: Dialect) -> str:
    return argument if dialect in _BARE or not argument[0].isdigit() else f"x _ {argument}"
