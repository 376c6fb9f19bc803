"""Wrong lines with gold form and prediction side by side, term by term."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wug.families.cogs.logical_form import DIALECTS, Dialect, TermPair, difference, recognise
from wug.show.families import number
from wug.show.families._marked import Piece, Pieces, marked, shortened
from wug.show.families._spread import spread
from wug.show.families.cogs._errors import errors_of, label
from wug.show.families.cogs._types import Kind
from wug.types import Outcome, Result

TERMS = 80
"""Terms of a line that are shown; the rest of it is counted."""
FARTHEST = 20_000
"""Characters of a prediction that are looked at: a model may go on for ever."""


@dataclass(frozen=True, slots=True)
class TermRow:
    """A term of the gold form beside that of the prediction, either of which may be missing."""

    gold: Pieces
    prediction: Pieces
    changes: str
    """What differs; empty where the two are the same."""


@dataclass(frozen=True, slots=True)
class WrongLine:
    """A line as the page shows it."""

    line: str
    sentence: str
    errors: tuple[str, ...]
    facts: tuple[str, ...]
    rows: tuple[TermRow, ...]
    more: int
    """Terms that are left out."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Wrong lines of one type, and how many there are."""

    name: str
    title: str
    wrong: int
    total: int
    lines: tuple[WrongLine, ...]


def batches(result: Result, judged: Sequence[Outcome], types: Mapping[str, Kind], room: int) -> tuple[list[Batch], int]:
    """A sample of the wrong lines by type, and how many are left out."""

    def name(outcome: Outcome) -> str:
        return str(outcome.groups.get("type", ""))

    wrong = [outcome for outcome in judged if outcome.value is False and "gold" in outcome.detail]
    counts, sizes = Counter(map(name, wrong)), Counter(map(name, judged))
    dialect = _dialect(result, wrong)
    shown = spread(wrong, room, name)
    found = [
        Batch(
            name=of,
            title=types[of].title if of in types else "",
            wrong=counts[of],
            total=sizes[of],
            lines=tuple(_line(outcome, dialect) for outcome in shown[of]),
        )
        for of in (*types, *(of for of in shown if of not in types))
        if of in shown
    ]
    return found, len(wrong) - sum(len(batch.lines) for batch in found)


def _line(outcome: Outcome, dialect: Dialect) -> WrongLine:
    detail = outcome.detail
    gold = str(detail["gold"])
    prediction = str(detail.get("prediction", gold))
    pairs = difference(gold, prediction[:FARTHEST], dialect)
    facts = []
    if isinstance(detail.get("edit_distance"), int | float):
        facts.append(f"edit distance {number(detail['edit_distance'])}")
    if isinstance(detail.get("terms_f1"), int | float):
        facts.append(f"F1 of terms {number(detail['terms_f1'])}")
    broken = [shortened(str(rule)) for rule in detail.get("violations") or ()]
    if broken:
        facts.append(f"breaks {', '.join(broken)}")
    return WrongLine(
        line=outcome.item,
        sentence=shortened(str(detail.get("sentence") or "")),
        errors=tuple(map(label, errors_of(outcome))),
        facts=tuple(facts),
        rows=tuple(map(_row, pairs[:TERMS])),
        more=max(0, len(pairs) - TERMS),
    )


def _row(pair: TermPair) -> TermRow:
    changes = ", ".join(map(label, pair.changes))
    if pair.gold is None or pair.prediction is None:
        return TermRow(_whole(pair.gold), _whole(pair.prediction), changes or "different")
    gold, prediction = marked(pair.gold, pair.prediction)
    return TermRow(gold, prediction, changes or ("different" if pair.gold != pair.prediction else ""))


def _whole(term: str | None) -> Pieces:
    return () if term is None else (Piece(shortened(term), differs=True),)


def _dialect(result: Result, wrong: Sequence[Outcome]) -> Dialect:
    """The dialect of the forms, as the suite says it; else as the gold forms show it."""
    given = result.meta.get("dialect")
    found = next((known for known in DIALECTS if known == given), None)
    return found or recognise(str(outcome.detail["gold"]) for outcome in wrong)
