"""PCFG SET: accuracy and consistency by function, depth and steps; answers beside their targets; trees of answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from wug.runs.browse import Filter
from wug.show.families import Figure
from wug.show.families._grouped import spread_note
from wug.show.families._marked import Piece, Pieces, marked, shortened
from wug.show.families.pcfgset import section
from wug.show.families.pcfgset._answers import Line, as_it_is, text_of
from wug.show.families.pcfgset._trees import Drawn, drawn
from wug.types import Outcome
from wug.web.families import Item, Look, Query

SIZE = 20
LATER = {"single": "Single steps by function", "inputs": "Single steps by the length of their inputs"}
MOST = 5000
"""Samples whose single steps are looked at; of more, the first."""
CARRIERS = ("consistency", "overgeneralisation", "accuracy")


@dataclass(frozen=True, slots=True)
class Row:
    """An item: a tree of answers, or answers beside what they should be."""

    tree: Drawn | None
    note: str
    lines: tuple[Line, ...]


def check(look: Look) -> str:
    """The check that carries the answers."""
    checks = [e.check for e in look.result.estimates if e.group == "all"]
    return next((name for name in CARRIERS if name in checks), look.headline)


def figures(look: Look, query: Query) -> list[Figure]:
    """Charts by function, depth, length and steps."""
    found: list[Figure] = section(look.result, look.place).values["figures"]
    return found


def later(look: Look, name: str, query: Query) -> Figure | None:
    """How single steps of localism fare."""
    if not _is_localism(look):
        return None
    outcomes = tuple(p.outcome for p in look.shelf.outcomes(look.id, Filter("consistency"), most=MOST))
    found: list[Figure] = section(replace(look.result, outcomes=outcomes), look.place).values["figures"]
    made = next((figure for figure in found if figure.id == f"f-{name}"), None)
    if made is None or len(outcomes) < MOST:
        return made
    return replace(made, note=f"{made.note} Of the first {MOST:,} samples.")


def values(look: Look) -> dict[str, Any]:
    """What stands in the place of intervals, and whether there is a tree to draw."""
    return {"note": spread_note(look.result), "tree": _is_localism(look)}


def rows(look: Look, items: Sequence[Item]) -> list[Row]:
    """Every item with its answers."""
    return [_row(item) for item in items]


def _is_localism(look: Look) -> bool:
    return any(e.check == "unrolled_accuracy" for e in look.result.estimates)


def _row(item: Item) -> Row:
    outcome = item.detail("answer")
    if outcome.detail.get("steps"):
        tree = drawn(outcome)
        note = "every step is right" if outcome.value is True and not _diverges(outcome.detail) else tree.note
        return Row(replace(tree, note=note), note, tree.lines)
    if "twin_answer" in outcome.detail:
        return Row(None, *_twins(outcome))
    if "exception" in outcome.detail:
        return Row(None, *_exception(outcome))
    return Row(None, *_plain(outcome))


def _diverges(detail: Mapping[str, Any]) -> bool:
    return any(step.get("diverges") for step in detail.get("steps") or ())


def _twins(outcome: Outcome) -> tuple[str, tuple[Line, ...]]:
    source, twin, target = (text_of(outcome, key) for key in ("source", "twin", "target"))
    first, second = text_of(outcome, "answer"), text_of(outcome, "twin_answer")
    ours, theirs = marked(first, second)
    lines = (
        Line("source", as_it_is(source)),
        Line("with twin", marked(source, twin)[1], "mark"),
        Line("target", as_it_is(target)),
        Line(f"{_sign(first == target)} answer", ours, _mark(first == target)),
        Line(f"{_sign(second == target)} twin's answer", theirs, _mark(second == target)),
    )
    if first == second:
        return ("equal and right" if first == target else "equal and wrong"), lines
    only = "only the first is right" if first == target else "only the twin's is right" if second == target else ""
    return only or "both are wrong", lines


def _exception(outcome: Outcome) -> tuple[str, tuple[Line, ...]]:
    source, ruled, exception, answer = (text_of(outcome, key) for key in ("source", "original", "exception", "answer"))
    how = "by the rules" if answer == ruled else "as an exception" if answer == exception else "otherwise"
    lines = (
        Line("source", as_it_is(source)),
        Line("by the rules", as_it_is(ruled)),
        Line("as an exception", as_it_is(exception)),
        Line("answer", as_it_is(answer) if how != "otherwise" else marked(ruled, answer)[1]),
    )
    return f"answered {how}", lines


def _plain(outcome: Outcome) -> tuple[str, tuple[Line, ...]]:
    source, target, answer = (text_of(outcome, key) for key in ("source", "target", "answer"))
    wanted, said = marked(target, answer) if target != answer else (_whole(target), _whole(answer))
    lines = (
        Line("source", as_it_is(source)),
        Line("target", wanted, "ins"),
        Line(f"{_sign(target == answer)} answer", said),
    )
    return "", lines


def _whole(text: str) -> Pieces:
    return (Piece(shortened(text)),) if text else ()


def _sign(right: bool) -> str:
    return "✓" if right else "✗"


def _mark(right: bool) -> str:
    return "ins" if right else "del"
