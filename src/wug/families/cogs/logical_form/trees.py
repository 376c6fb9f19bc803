"""Variable-free forms, `eat ( agent = Emma , theme = * cake )`, as terms like those of the other dialects.

Every word gets an index, counted from the left, so that checks, matching and differences need know nothing of
trees: `Emma ( 1 ) ; * cake ( 2 ) ; eat ( 0 ) AND agent ( 0 , 1 ) AND theme ( 0 , 2 )`.
"""

from __future__ import annotations

from wug.families.cogs.logical_form.parse import CLAUSES, LogicalForm, Term, refuse


def read_tree(words: list[str]) -> LogicalForm:
    """The form that these tokens spell, or Unreadable; nesting may be as deep as it likes."""
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
        if not t[i].isalpha():
            refuse(t, i, "a word")
        node = str(count)
        count += 1
        if open_nodes:
            body.append(Term(role, (open_nodes[-1], node)))
        is_verb = not open_nodes or role in CLAUSES
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


def render_tree(form: LogicalForm) -> str:
    """The form as text, as `read_tree` reads it."""
    if form.kind == "name":
        return form.body[0].predicate
    words = {term.arguments[0]: term for term in (*form.prefix, *form.body) if len(term.arguments) == 1}
    below: dict[str, list[Term]] = {}
    for term in form.body:
        if len(term.arguments) == 2:
            below.setdefault(term.arguments[0], []).append(term)
    root = next(term for term in form.body if len(term.arguments) == 1)
    out: list[str] = []
    waiting: list[str | Term] = [root]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            out.append(item)
            continue
        out.append(f"* {item.predicate}" if item.definite else item.predicate)
        roles = below.get(item.arguments[0], [])
        for place, term in reversed(list(enumerate(roles))):
            if place == len(roles) - 1:
                waiting.append(")")
            waiting.append(words[term.arguments[1]])
            waiting.append(f"{',' if place else '('} {term.predicate.replace('.', ' . ')} =")
    return " ".join(out)


def triples(form: LogicalForm) -> tuple[Term, ...]:
    """Each word with what it is to the word above it: `eat.agent ( Emma )`; the first word with nothing."""
    if form.kind == "name":
        return (Term("", (form.body[0].predicate,)),)
    words = {term.arguments[0]: term for term in (*form.prefix, *form.body) if len(term.arguments) == 1}
    above = {t.arguments[1]: f"{words[t.arguments[0]].predicate}.{t.predicate}" for t in form.body if len(t[1]) == 2}
    return tuple(Term(above.get(node, ""), (t.predicate,), t.definite) for node, t in sorted(words.items(), key=_place))


def _place(item: tuple[str, Term]) -> int:
    return int(item[0])


def _read_role(t: list[str], i: int) -> tuple[str, int]:
    """The role before a `=` and the place after it."""
    start = i
    if not t[i].isalpha():
        refuse(t, i, "a role")
    i += 1
    while t[i] == "." and t[i + 1].isalpha():
        i += 2
    if t[i] != "=":
        refuse(t, i, f"'=' after {t[i - 1]!r}")
    return ".".join(t[start:i:2]), i + 1
