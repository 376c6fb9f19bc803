"""Substitutivity: whether a synonym is answered alike, function by function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wug.show import charts
from wug.show.families import Figure, Place, Shown, percent, shown
from wug.show.families._grouped import (
    by_field,
    counts_items,
    curve,
    curve_points,
    dots,
    intervals_are,
    point,
)
from wug.show.families._marked import marked
from wug.show.families.pcfgset._answers import Answer, Line, as_it_is, batches, text_of
from wug.show.families.pcfgset._plain import band_note
from wug.types import Outcome, Result

CHECK = "consistency"
SERIES = {CHECK: "consistent", "accuracy_original": "right with the function", "accuracy_twin": "right with its twin"}
PARTS = {"consistent_correct": "equal and right", "consistent_incorrect": "equal and wrong"}
REST = "not equal"


def substitutivity(result: Result, place: Place) -> dict[str, Any]:
    """What the page shows of a substitutivity test."""
    judged = [outcome for outcome in result.outcomes if outcome.check == CHECK]
    unlike = [outcome for outcome in judged if outcome.value is False]
    found, left = batches(unlike, judged, place.room, "function", _answer)
    figures = list(_figures(result, place))
    return {"figures": figures, "batches": found, "left": left, "what": "answers that differ", "verb": "differ"}


def _figures(result: Result, place: Place) -> Iterator[Figure]:
    fields = {check: by_field(result, check) for check in SERIES}
    if parts := _parts(result):
        yield Figure(
            id=f"{place.id}-shares",
            chart=charts.shares(parts, title="share of pairs", colours={REST: 6}),
            title="The two answers, by function",
            note="The answers to a source and to the same source with a twin of one function.",
            columns=("function", "the answers are", "share", "n"),
            rows=tuple(
                (part.row, part.series, percent(part.value), "–" if part.count is None else f"{part.count:,}")
                for part in parts
            ),
        )
    points = [
        point(row, series=name)
        for function in (row.group for row in fields[CHECK].get("function", ()))
        for check, name in SERIES.items()
        for row in fields[check].get("function", ())
        if row.group == function
    ]
    if points:
        yield dots(
            f"{place.id}-functions",
            "Consistency and accuracy, by function",
            points,
            note=intervals_are(result, CHECK),
            what="share of pairs",
            first="function",
            series="answers are",
        )
    for field, x in (("functions", "number of functions"), ("depth", "depth")):
        curves = [p for check, name in SERIES.items() for p in curve_points(fields[check].get(field, ()), name)]
        if len({p.x for p in curves}) > 1:
            title, note = f"Consistency and accuracy, by {x}", band_note(result, CHECK)
            yield curve(f"{place.id}-by-{field}", title, curves, note=note, x=x, what="share of pairs")


def _parts(result: Result) -> list[charts.Part]:
    """For all pairs and each function: equal and right, equal and wrong, not equal."""
    rows: dict[str, dict[str, Shown]] = {}
    for found in result.estimates:
        if found.check in (*PARTS, CHECK) and (found.group == "all" or found.group.startswith("function=")):
            name = found.group.partition("=")[2] or "all functions"
            rows.setdefault(name, {})[found.check] = shown(result, found)
    parts = []
    for name, row in rows.items():
        if len(row) <= len(PARTS):
            continue
        values = {label: row[check].value for check, label in PARTS.items()} | {REST: 1 - row[CHECK].value}
        items = row[CHECK].n if counts_items(result, CHECK) else None
        for label, value in values.items():
            parts.append(charts.Part(name, label, value, None if items is None else round(value * items)))
    return parts


def _answer(outcome: Outcome) -> Answer:
    source, twin, target = (text_of(outcome, key) for key in ("source", "twin", "target"))
    first, second = text_of(outcome, "answer"), text_of(outcome, "twin_answer")
    ours, theirs = marked(first, second)
    right = {True: ("✓", "ins"), False: ("✗", "del")}
    (sign, mark), (other_sign, other_mark) = right[first == target], right[second == target]
    lines = (
        Line("source", as_it_is(source)),
        Line("with twin", marked(source, twin)[1], "mark"),
        Line("target", as_it_is(target)),
        Line(f"{sign} answer", ours, mark),
        Line(f"{other_sign} twin's answer", theirs, other_mark),
    )
    note = "only the first is right" if first == target else "only the twin's is right" if second == target else ""
    return Answer(outcome.item, note or "both are wrong", lines)
