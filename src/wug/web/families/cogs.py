"""COGS: matches by type as the paper groups them, kinds of error, gold and prediction term by term."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from wug.show.families import Figure, Shown, shown
from wug.show.families._grouped import spread_note
from wug.show.families.cogs import MAIN
from wug.show.families.cogs._errors import error_figure, error_table
from wug.show.families.cogs._lines import WrongLine, batches
from wug.show.families.cogs._types import FIRST, kinds, type_figure, type_table
from wug.types import Outcome
from wug.web.families import Item, Look, Query

SIZE = 15
LATER = {"errors": "What is wrong with the wrong lines"}


@dataclass(frozen=True, slots=True)
class Row:
    """A line: its sentence, its gold form, and where it is wrong the difference."""

    sentence: str
    gold: str
    wrong: WrongLine | None


def check(look: Look) -> str:
    """Exact matches: these outcomes carry the forms."""
    checks = [e.check for e in look.result.estimates if e.group == "all"]
    return FIRST if FIRST in checks else next(iter(checks), FIRST)


def figures(look: Look, query: Query) -> list[Figure]:
    """Matches of every type."""
    made = type_figure(look.result, kinds(look.result), look.place)
    return [made] if made else []


def later(look: Look, name: str, query: Query) -> Figure | None:
    """Kinds of error."""
    return error_figure(_sketches(look), look.place) if name == "errors" else None


def values(look: Look) -> dict[str, Any]:
    """Measures and types; errors by type are read afterwards."""
    whole = {e.check: shown(look.result, e) for e in look.result.estimates if e.group == "all"}
    more: list[Shown] = [row for name, row in whole.items() if name not in MAIN]
    return {
        "main": [whole[name] for name in MAIN if name in whole],
        "more": more,
        "note": spread_note(look.result),
        "types": type_table(look.result, kinds(look.result)),
    }


def fragment(look: Look) -> dict[str, Any]:
    """What takes a look at every line: errors type by type."""
    return {"errors": error_table(_sketches(look), kinds(look.result))}


def rows(look: Look, items: Sequence[Item]) -> list[Row]:
    """Every line with its difference."""
    made = []
    for item in items:
        outcome = item.detail("gold")
        sentence, gold = (str(outcome.detail.get(key) or "") for key in ("sentence", "gold"))
        made.append(Row(sentence, gold, _wrong(look, outcome)))
    return made


def _wrong(look: Look, outcome: Outcome) -> WrongLine | None:
    """The difference of a line, made by the report; None where it is right."""
    if "gold" not in outcome.detail or "prediction" not in outcome.detail:
        return None
    failed = replace(outcome, value=False)
    found, _ = batches(look.result, [failed], {}, 1)
    return found[0].lines[0] if found and found[0].lines else None


def _sketches(look: Look) -> list[Outcome]:
    return list(look.shelf.sketches(look.id, FIRST, "errors", "violations"))
