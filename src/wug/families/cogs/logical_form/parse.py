"""Logical forms of COGS and its relatives: the types, reading and printing.

Reading is one walk over the tokens and asks only for the shape `predicate ( argument , … )`, so that a form
with a wrong role or a stray variable can still be taken apart and told what is wrong with it
(`checks`); only text without that shape is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, NoReturn, TypeAlias, get_args

from wug.errors import FormulaError, UnknownName

Dialect: TypeAlias = Literal["cogs", "slog", "recogs", "variable_free"]
"""`slog` adds `?`, `TV` and two-part `nmod` to `cogs`; `recogs` has bare indices; `variable_free` none."""

DIALECTS: tuple[Dialect, ...] = get_args(Dialect)
ROLES = ("agent", "theme", "recipient")
CLAUSES = ("ccomp", "xcomp")
PREPOSITIONS = ("in", "on", "beside")


class Term(NamedTuple):
    """A predicate with its arguments: `want . agent ( x _ 2 , x _ 1 )`.

    A tuple, because a corpus has hundreds of thousands of them and they are hashed and compared all the time.
    """

    predicate: str
    """Its parts joined by full stops: `want.agent`, `cake.nmod.on`, `boy`."""
    arguments: tuple[str, ...]
    """The digits of an index, a proper name, a variable of a LAMBDA, or `?`."""
    definite: bool = False
    """Whether a `*` (iota) stands before it."""


@dataclass(frozen=True, slots=True)
class LogicalForm:
    """A logical form taken apart, nothing reordered."""

    kind: Literal["name", "lambda", "sentence"]
    prefix: tuple[Term, ...]
    """What stands before a `;`, in order."""
    body: tuple[Term, ...]
    """The conjuncts in order; a bare name is one term without arguments."""
    lambdas: tuple[str, ...] = ()
    """The variables of the LAMBDA prefix, in order."""
    dialect: Dialect = "cogs"

    def __str__(self) -> str:
        return render(self)


class Unreadable(Exception):
    """Tokens that are no logical form: `position` is the first token that does not fit."""

    def __init__(self, position: int, message: str) -> None:
        self.position, self.message = position, message
        super().__init__(message)


def tokens(text: str) -> list[str]:
    """The tokens of a form: what stands between ASCII white space, and nothing else splits."""
    if "  " in text or text[:1] in ("", " ") or text[-1] == " " or not text.isprintable():
        return _TOKEN.findall(text)  # odd spacing or control characters: the careful way
    return text.split(" ")


def recognise(forms: Iterable[str]) -> Dialect:
    """The dialect in which these forms are written; `cogs` where nothing tells."""
    found: Dialect = "cogs"
    for form in forms:
        if " = " in form:
            return "variable_free"
        if _BARE_INDEX.search(form):
            return "recogs"
        if _SLOG.search(form):
            found = "slog"
    return found


def parse(text: str, dialect: Dialect | None = None) -> LogicalForm:
    """The form that `text` spells, or FormulaError with a caret under the first token that does not fit.

    Without a dialect, the one in which the text seems to be written. Time grows linearly with the length.
    """
    if dialect is None:
        dialect = recognise([text])
    elif dialect not in DIALECTS:
        raise UnknownName("dialect", dialect, DIALECTS)
    words = tokens(text)
    try:
        return read(words, dialect)
    except Unreadable as fault:
        spans = [match.span() for match in _TOKEN.finditer(text)]
        start, end = spans[fault.position] if fault.position < len(spans) else (len(text), len(text) + 1)
        raise FormulaError(fault.message, text, start, end) from None


def read(words: list[str], dialect: Dialect) -> LogicalForm:
    """The form that these tokens spell, or Unreadable."""
    if dialect == "variable_free":
        from wug.families.cogs.logical_form.trees import read_tree

        return read_tree(words)
    first = words[0] if words else ""
    if first == "LAMBDA":
        return _read_lambda(words, dialect)
    if len(words) == 1 and first.isalpha() and first[0].isupper():
        return LogicalForm("name", (), (Term(first, ()),), (), dialect)
    prefix, body = _read_terms(words, 0, bare=dialect == "recogs")
    return LogicalForm("sentence", prefix, body, (), dialect)


def render(form: LogicalForm) -> str:
    """The form as text, tokens separated by one space, as the published files have it."""
    if form.dialect == "variable_free":
        from wug.families.cogs.logical_form.trees import render_tree

        return render_tree(form)
    opening = "".join(f"LAMBDA {variable} . " for variable in form.lambdas)
    prefix = "".join(f"{render_term(term, form.dialect)} ; " for term in form.prefix)
    return opening + prefix + " AND ".join(render_term(term, form.dialect) for term in form.body)


def render_term(term: Term, dialect: Dialect = "cogs") -> str:
    """One term as text."""
    star = "* " if term.definite else ""
    predicate = term.predicate.replace(".", " . ")
    if not term.arguments:
        return star + predicate
    variable = "x _ " if dialect in ("cogs", "slog") else ""
    return f"{star}{predicate} ( {' , '.join(variable + a if a[0].isdigit() else a for a in term.arguments)} )"


_TOKEN = re.compile(r"[^ \t\n\r\f\v]+")
_BARE_INDEX = re.compile(r"[(,] \d+ [,)]")
_SLOG = re.compile(r"[(,] \? [,)]|(?:^|[ *]) ?TV [(.]|\. nmod \(")
_END = ["", "", ""]  # what the walk sees past the last token, so that it need not count


def _read_lambda(words: list[str], dialect: Dialect) -> LogicalForm:
    """LAMBDA a . LAMBDA e . terms."""
    t, i, variables = words + _END, 0, []
    while t[i] == "LAMBDA":
        if not t[i + 1].isalpha():
            refuse(t, i + 1, "a variable after 'LAMBDA'")
        if t[i + 2] != ".":
            refuse(t, i + 2, f"'.' after 'LAMBDA {t[i + 1]}'")
        variables.append(t[i + 1])
        i += 3
    prefix, body = _read_terms(words, i, bare=dialect == "recogs")
    return LogicalForm("lambda", prefix, body, tuple(variables), dialect)


def _read_terms(words: list[str], i: int, *, bare: bool) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
    """Prefix and body: terms that end in `;`, then terms joined by `AND`."""
    t, prefix, body, new = words + _END, [], [], tuple.__new__
    while True:
        definite = t[i] == "*"
        if definite:
            i += 1
        predicate = t[i]
        if not predicate.isalpha():
            refuse(t, i, "a predicate")
        i += 1
        if t[i] == ".":
            start = i - 1
            while t[i] == "." and t[i + 1].isalpha():
                i += 2
            predicate = ".".join(t[start:i:2])
        if t[i] != "(":
            refuse(t, i, f"'(' after {t[i - 1]!r}")
        arguments = []
        while True:  # at `(` or `,`
            argument = t[i + 1]
            if argument == "x" and t[i + 2] == "_" and not bare:
                argument = t[i + 3]
                if not (argument.isdigit() and argument.isascii()):
                    refuse(t, i + 3, "an index after 'x _'")
                i += 4
            elif argument.isalpha() or argument == "?" or (bare and argument.isdigit() and argument.isascii()):
                i += 2
            else:
                refuse(t, i + 1, "an argument")
            arguments.append(argument)
            if t[i] != ",":
                break
        if t[i] != ")":
            refuse(t, i, "',' or ')'")
        term = new(Term, (predicate, tuple(arguments), definite))  # half the time of Term(…)
        i += 1
        if t[i] == "AND":
            body.append(term)
        elif t[i] == ";" and not body:
            prefix.append(term)
        elif t[i] == "":
            body.append(term)
            return tuple(prefix), tuple(body)
        else:
            refuse(t, i, "'AND' or the end" if body else "'AND', ';' or the end")
        i += 1


def refuse(t: list[str], position: int, expected: str) -> NoReturn:
    """Unreadable, with what was expected at a token and what stands there."""
    found = repr(t[position]) if position < len(t) and t[position] else "the end"
    raise Unreadable(position, f"expected {expected}, found {found}")
