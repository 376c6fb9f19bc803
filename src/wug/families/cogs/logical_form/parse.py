"""Logical forms of COGS and its relatives: types, parsing and printing.

Parsing is one walk over the tokens and only requires the shape `predicate ( argument , … )`, so that `checks` can say
what is wrong with a form that has a wrong role or a stray variable. Only text without that shape is refused.

Variable-free forms, `eat ( agent = Emma , theme = * cake )`, become terms like those of the other dialects. Every
word gets an index, counted from the left: `Emma ( 1 ) ; * cake ( 2 ) ; eat ( 0 ) AND agent ( 0 , 1 ) AND …`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
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
    """Whether it has a `*` (iota)."""


class LogicalForm(NamedTuple):
    """A parsed logical form, in its original order."""

    kind: Literal["name", "lambda", "sentence"]
    prefix: tuple[Term, ...]
    """The terms before a `;`, in order."""
    body: tuple[Term, ...]
    """The conjuncts in order; a bare name is one term without arguments."""
    lambdas: tuple[str, ...] = ()
    """The variables of the LAMBDA prefix, in order."""
    dialect: Dialect = "cogs"

    def __str__(self) -> str:
        return render(self)


class Unreadable(Exception):
    """Tokens that are not a logical form: `position` is the first token that does not fit."""

    def __init__(self, position: int, message: str) -> None:
        self.position, self.message = position, message
        super().__init__(message)


def tokens(text: str) -> list[str]:
    """The tokens of a form, separated by ASCII white space only."""
    if "  " in text or text[:1] in ("", " ") or text[-1] == " " or not text.isprintable():
        return _TOKEN.findall(text)  # unusual spacing or control characters
    return text.split(" ")


def recognise(forms: Iterable[str]) -> Dialect:
    """The dialect in which these forms are written; `cogs` if they fit several."""
    dialect: Dialect = "cogs"
    for form in forms:
        if " = " in form:
            return "variable_free"
        if _BARE_INDEX.search(form):
            return "recogs"
        if _SLOG.search(form):
            dialect = "slog"
    return dialect


def parse(text: str, dialect: Dialect | None = None) -> LogicalForm:
    """Parse a form; FormulaError with a caret under the first token that does not fit.

    Without a dialect, it is inferred from the text. Time grows linearly with the length.
    """
    if dialect is None:
        dialect = recognise([text])
    elif dialect not in DIALECTS:
        raise UnknownName("dialect", dialect, DIALECTS)
    return parse_tokens(text, tokens(text), dialect)


def parse_tokens(text: str, words: list[str], dialect: Dialect) -> LogicalForm:
    """Parse the tokens of a text; FormulaError as in `parse`."""
    try:
        return read(words, dialect)
    except Unreadable as error:
        spans = [match.span() for match in _TOKEN.finditer(text)]
        start, end = spans[error.position] if error.position < len(spans) else (len(text), len(text) + 1)
        raise FormulaError(error.message, text, start, end) from None


def read(words: list[str], dialect: Dialect) -> LogicalForm:
    """Parse tokens, or raise Unreadable."""
    if dialect == "variable_free":
        return _read_tree(words)
    first = words[0] if words else ""
    if first == "LAMBDA":
        return _read_lambda(words, dialect)
    if len(words) == 1 and first.isalpha() and first[0].isupper():
        return LogicalForm("name", (), (Term(first, ()),), (), dialect)
    prefix, body = _read_terms(words, 0, bare=dialect == "recogs")
    return LogicalForm("sentence", prefix, body, (), dialect)


def render(form: LogicalForm) -> str:
    """The form as text, tokens separated by one space, as in the published files."""
    if form.dialect == "variable_free":
        return _render_tree(form)
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
_END = ["", "", ""]  # sentinels after the last token, so that the walk needs no bounds checks


def _read_lambda(words: list[str], dialect: Dialect) -> LogicalForm:
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
    """Raise Unreadable with the expected and the actual token."""
    next_token = repr(t[position]) if position < len(t) and t[position] else "the end"
    raise Unreadable(position, f"expected {expected}, found {next_token}")


def _read_tree(words: list[str]) -> LogicalForm:
    """A variable-free form; without recursion, so nesting may be of any depth."""
    if len(words) == 1 and words[0].isalpha() and words[0][0].isupper():
        return LogicalForm("name", (), (Term(words[0], ()),), (), "variable_free")
    t = [*words, "", "", ""]
    nouns: list[Term] = []
    body: list[Term] = []
    open_nodes: list[str] = []
    i, count, role = 0, 0, ""
    while True:
        definite = t[i] == "*"
        i += definite
        if not t[i].isalpha() and t[i] != "?":
            refuse(t, i, "a word")
        node = str(count)
        count += 1
        if open_nodes:
            body.append(Term(role, (open_nodes[-1], node)))
        # A noun alone is the root if a modifier follows (SLOG); a clause may modify a noun (`nmod = eat ( … )`).
        is_verb = t[i + 1 : i + 3] != ["(", "nmod"] if not open_nodes else role in (*CLAUSES, "nmod")
        (body if is_verb else nouns).append(Term(t[i], (node,), definite))
        i += 1
        if t[i] == "(":
            open_nodes.append(node)
        else:
            while open_nodes and t[i] == ")":
                open_nodes.pop()
                i += 1
            if not open_nodes:
                break
            if t[i] != ",":
                refuse(t, i, "',' or ')'")
        role, i = _read_role(t, i + 1)
    if t[i]:
        refuse(t, i, "the end")
    return LogicalForm("sentence", tuple(nouns), tuple(body), (), "variable_free")


def _render_tree(form: LogicalForm) -> str:
    if form.kind == "name":
        return form.body[0].predicate
    words = {term.arguments[0]: term for term in (*form.prefix, *form.body) if len(term.arguments) == 1}
    below: dict[str, list[Term]] = {}
    for term in form.body:
        if len(term.arguments) == 2:
            below.setdefault(term.arguments[0], []).append(term)
    root = words["0"]
    out: list[str] = []
    waiting: list[str | Term] = [root]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            out.append(item)
            continue
        out.append(f"* {item.predicate}" if item.definite else item.predicate)
        roles = below.get(item.arguments[0], [])
        for index, term in reversed(list(enumerate(roles))):
            if index == len(roles) - 1:
                waiting.append(")")
            waiting.append(words[term.arguments[1]])
            waiting.append(f"{',' if index else '('} {term.predicate.replace('.', ' . ')} =")
    return " ".join(out)


def triples(form: LogicalForm) -> tuple[Term, ...]:
    """Each word of a variable-free form with its role in the word above: `eat.agent ( Emma )`."""
    if form.kind == "name":
        return (Term("", (form.body[0].predicate,)),)
    words = {term.arguments[0]: term for term in (*form.prefix, *form.body) if len(term.arguments) == 1}
    above = {t.arguments[1]: f"{words[t.arguments[0]].predicate}.{t.predicate}" for t in form.body if len(t[1]) == 2}
    return tuple(
        Term(above.get(node, ""), (t.predicate,), t.definite)
        for node, t in sorted(words.items(), key=lambda item: int(item[0]))
    )


def _read_role(t: list[str], i: int) -> tuple[str, int]:
    start = i
    if not t[i].isalpha():
        refuse(t, i, "a role")
    i += 1
    while t[i] == "." and t[i + 1].isalpha():
        i += 2
    if t[i] != "=":
        refuse(t, i, f"'=' after {t[i - 1]!r}")
    return ".".join(t[start:i:2]), i + 1
