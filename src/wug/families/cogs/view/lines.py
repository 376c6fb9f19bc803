"""A line with gold form and prediction side by side, term by term."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from wug.families.cogs.logical_form import DIALECTS, Dialect, TermPair, difference, recognise
from wug.families.cogs.view.errors import errors_of, label
from wug.families.cogs.view.types import FIRST
from wug.rows import Filter, Placed, Rows
from wug.types import Outcome, Result
from wug.views.marked import Piece, Pieces, marked, shortened
from wug.views.numbers import number
from wug.views.parts import Cell, Code, Column, Item, Part, Prose, Row, Table, carrier

TERMS = 80
"""Terms of a line that are shown; the rest of it is counted."""
FARTHEST = 20_000
"""Characters of a prediction that are looked at: a model may go on for ever."""
FEW = 200
"""Gold forms that tell which dialect they are in."""


def line(row: Placed, judgements: Sequence[Placed], *, dialect: Dialect) -> Item:
    """A line: its sentence, its gold form, and where it is wrong the difference."""
    outcome = carrier(judgements, "gold")
    sentence, gold = (str(outcome.detail.get(key) or "") for key in ("sentence", "gold"))
    right = outcome.value is True or "prediction" not in outcome.detail
    if right:
        return Item(sentence=shortened(sentence), parts=(Code(gold),) if gold else ())
    pairs = difference(gold, str(outcome.detail["prediction"])[:FARTHEST], dialect)
    facts = [*_facts(outcome), *([f"{len(pairs) - TERMS} more terms are left out"] if len(pairs) > TERMS else [])]
    columns = (Column("gold"), Column("prediction"), Column("difference"))
    table = Table("terms", "", columns, (("", tuple(map(_row, pairs[:TERMS]))),), style="terms")
    parts: tuple[Part, ...] = (*([Prose(" · ".join(facts))] if facts else []), table)
    return Item(sentence=shortened(sentence), chips=tuple(map(label, errors_of(outcome))), parts=parts)


def dialect_of(result: Result, rows: Rows) -> Dialect:
    """The dialect of the forms, as the suite says it; else as the gold forms show it."""
    given = result.meta.get("dialect")
    if (known := next((dialect for dialect in DIALECTS if dialect == given), None)) is not None:
        return known
    found = rows.each(Filter(FIRST), keys=("gold",))
    return recognise(str(row.outcome.detail["gold"]) for row in islice(found, FEW) if "gold" in row.outcome.detail)


def _facts(outcome: Outcome) -> list[str]:
    detail = outcome.detail
    facts = []
    if isinstance(detail.get("edit_distance"), int | float):
        facts.append(f"edit distance {number(detail['edit_distance'])}")
    if isinstance(detail.get("terms_f1"), int | float):
        facts.append(f"F1 of terms {number(detail['terms_f1'])}")
    if broken := [shortened(str(rule)) for rule in detail.get("violations") or ()]:
        facts.append(f"breaks {', '.join(broken)}")
    return facts


def _row(pair: TermPair) -> Row:
    changes = ", ".join(map(label, pair.changes)) or ("different" if pair.gold != pair.prediction else "")
    if pair.gold is None or pair.prediction is None:
        gold, prediction = _whole(pair.gold), _whole(pair.prediction)
    else:
        gold, prediction = marked(pair.gold, pair.prediction)
    cells = (Cell("–", pieces=gold, mark="ins"), Cell("–", pieces=prediction), Cell(changes))
    return Row(cells, quiet=not changes)


def _whole(term: str | None) -> Pieces:
    return () if term is None else (Piece(shortened(term), differs=True),)
