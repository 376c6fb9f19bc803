"""The difference of two logical forms, term by term, and the kinds of error in it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import compress
from operator import eq
from typing import NamedTuple

from wug.families.cogs.logical_form.match import renaming
from wug.families.cogs.logical_form.parse import (
    Dialect,
    LogicalForm,
    Term,
    Unreadable,
    read,
    render_term,
    tokens,
    triples,
)

ERRORS = {
    "ill-formed": "not a logical form",
    "order": "only the order of the terms differs",
    "index": "a term has a wrong index or variable",
    "role": "a term has a wrong role, clause or preposition",
    "name": "a term has a wrong noun, verb or proper name",
    "definiteness": "a noun has an iota and should not, or vice versa",
    "missing": "a term is missing",
    "extra": "there is an extra term",
}
"""The kinds of error; a prediction may have several, but `ill-formed` and `order` exclude the others."""


class TermPair(NamedTuple):
    """A term of the gold form and the corresponding one of the prediction."""

    gold: str | None
    prediction: str | None
    changes: tuple[str, ...] = ()
    """The differences, from ERRORS; empty if the two are the same and in order."""


def difference(gold: str, prediction: str, dialect: Dialect) -> list[TermPair]:
    """Align the terms of both forms, in the gold form's order, extra ones where they occur.

    An ill-formed prediction is compared as far as it has recognisable parts.
    """
    return _side_by_side(_readable(gold, dialect), _readable(prediction, dialect), dialect)


def term_errors(gold: LogicalForm, prediction: LogicalForm, *, renamed: bool) -> tuple[str, ...]:
    """The kinds of error in the terms of a well-formed prediction; `renamed`: whether the two are equivalent."""
    ours, theirs = _form_pieces(gold), _form_pieces(prediction)
    if renamed and len(ours) == len(theirs):
        return ("index",)
    pairs = _partners(ours, theirs, theirs)
    kinds = {change for position, partner in pairs.items() for change in _changes(ours[position], theirs[partner])}
    unpaired = {"missing": len(pairs) < len(ours), "extra": len(pairs) < len(theirs)}
    return tuple(kind for kind in ERRORS if kind in kinds or unpaired.get(kind))


class _Piece(NamedTuple):
    """The features of a term, or a stretch of an ill-formed form."""

    features: tuple[str, ...] | None
    """Word, role and arguments; None if it cannot be read."""
    definite: bool
    source: Term | str

    def text(self, dialect: Dialect) -> str:
        if isinstance(self.source, str):
            return self.source
        return _tree_text(self.source) if dialect == "variable_free" else render_term(self.source, dialect)


def _readable(text: str, dialect: Dialect) -> LogicalForm | list[str]:
    words = tokens(text)
    try:
        return read(words, dialect)
    except Unreadable:
        return words


def _side_by_side(
    gold: LogicalForm | list[str], prediction: LogicalForm | list[str], dialect: Dialect
) -> list[TermPair]:
    ours, theirs = _pieces(gold, dialect), _pieces(prediction, dialect)
    pairs = _partners(ours, theirs, _renamed_pieces(gold, prediction, theirs))
    moved = _misordered_positions([pairs[position] for position in range(len(ours)) if position in pairs])
    taken = set(pairs.values())
    rows: list[TermPair] = []
    next_partner = 0
    for position, piece in enumerate(ours):
        partner = pairs.get(position)
        if partner is None:
            rows.append(TermPair(piece.text(dialect), None, ("missing",)))
            continue
        rows += [_extra_term(theirs[at], dialect) for at in range(next_partner, partner) if at not in taken]
        next_partner = max(next_partner, partner)
        changes = _changes(piece, theirs[partner]) or (("order",) if partner in moved else ())
        rows.append(TermPair(piece.text(dialect), theirs[partner].text(dialect), changes))
    rows += [_extra_term(theirs[at], dialect) for at in range(next_partner, len(theirs)) if at not in taken]
    return rows


def _pieces(form: LogicalForm | list[str], dialect: Dialect) -> list[_Piece]:
    """The terms of a form; for an ill-formed one, its stretches between `;` and `AND`."""
    if isinstance(form, LogicalForm):
        return _form_pieces(form)
    pieces: list[_Piece] = []
    piece: list[str] = []
    for word in (*form, "AND"):
        if word not in ("AND", ";"):
            piece.append(word)
        elif piece:
            try:
                pieces += _form_pieces(read(piece, dialect))
            except Unreadable:
                pieces.append(_Piece(None, False, " ".join(piece)))
            piece = []
    return pieces


def _form_pieces(form: LogicalForm) -> list[_Piece]:
    pieces: list[_Piece] = []
    if form.dialect == "variable_free":
        for term in triples(form):
            above, _, role = term.predicate.partition(".")
            pieces.append(_Piece((term.arguments[0], role, above), term.definite, term))
        return pieces
    if form.lambdas:
        opening = " ".join(f"LAMBDA {variable} ." for variable in form.lambdas)
        pieces.append(_Piece(("LAMBDA", "", *form.lambdas), False, opening))
    for term in (*form.prefix, *form.body):
        word, _, role = term.predicate.partition(".")
        pieces.append(_Piece((word, role, *term.arguments), term.definite, term))
    return pieces


def _tree_text(term: Term) -> str:
    word = f"* {term.arguments[0]}" if term.definite else term.arguments[0]
    return f"{term.predicate.replace('.', ' . ')} = {word}" if term.predicate else word


def _renamed_pieces(
    gold: LogicalForm | list[str], prediction: LogicalForm | list[str], theirs: list[_Piece]
) -> list[_Piece]:
    """The prediction's pieces with the gold form's indices, if only these differ."""
    if isinstance(gold, list) or isinstance(prediction, list) or gold.dialect == "variable_free":
        return theirs
    names = renaming(gold, prediction)
    if not names:
        return theirs
    return [
        piece._replace(features=tuple(names.get(part, part) for part in piece.features)) if piece.features else piece
        for piece in theirs
    ]


def _partners(ours: Sequence[_Piece], theirs: Sequence[_Piece], renamed: Sequence[_Piece]) -> dict[int, int]:
    """The piece of the prediction for each piece of the gold form: the same one, else the most similar."""
    by_shape: dict[tuple[object, ...], list[int]] = {}
    for position, piece in reversed(list(enumerate(renamed))):
        by_shape.setdefault((piece[0] or piece[2], piece[1]), []).append(position)
    pairs: dict[int, int] = {}
    for position, piece in enumerate(ours):
        same = by_shape.get((piece[0] or piece[2], piece[1]))
        if same:
            pairs[position] = same.pop()
    open_ours = [position for position in range(len(ours)) if position not in pairs]
    taken = set(pairs.values())
    open_theirs = [position for position in range(len(theirs)) if position not in taken]
    by_length: dict[int, list[tuple[int, tuple[str, ...]]]] = {}
    for right in open_theirs:
        if features := theirs[right].features:
            by_length.setdefault(len(features), []).append((right, features))
    likely = sorted(
        (-similarity, abs(left - right), left, right)
        for left in open_ours
        if (features := ours[left].features)
        for right, others in by_length.get(len(features), ())
        if (similarity := _similarity(features, others)) >= 0.5
    )
    for _, _, left, right in likely:
        if left not in pairs and right not in taken:
            pairs[left] = right
            taken.add(right)
    return pairs


def _similarity(first: tuple[str, ...], second: tuple[str, ...]) -> float:
    """The share of features that two terms have in common: word, role, arguments; the same word breaks ties."""
    no_role = first[1] == second[1] == ""
    features = len(first) - no_role
    same: int = sum(map(eq, first, second)) - no_role
    return (same + 0.1 * (first[0] == second[0])) / features


def _changes(first: _Piece, second: _Piece) -> tuple[str, ...]:
    if first.features is None or second.features is None or len(first.features) != len(second.features):
        return ()
    word, role, *arguments = first.features
    other_word, other_role, *other_arguments = second.features
    differing = [(a, b) for a, b in zip(arguments, other_arguments, strict=True) if a != b]
    are_names = [a[:1].isupper() or b[:1].isupper() for a, b in differing]
    present = (
        not all(are_names),
        role != other_role,
        word != other_word or any(are_names),
        first.definite != second.definite,
    )
    return tuple(compress(("index", "role", "name", "definiteness"), present))


def _extra_term(piece: _Piece, dialect: Dialect) -> TermPair:
    return TermPair(None, piece.text(dialect), ("extra",) if piece.features else ("ill-formed",))


def _misordered_positions(positions: Iterable[int]) -> set[int]:
    """The positions outside of the longest increasing subsequence."""
    tails: list[int] = []
    before: dict[int, int | None] = {}
    for position in positions:
        at = bisect_left(tails, position)
        before[position] = tails[at - 1] if at else None
        tails[at : at + 1] = [position]
    in_order, last = set(), tails[-1] if tails else None
    while last is not None:
        in_order.add(last)
        last = before[last]
    return before.keys() - in_order
