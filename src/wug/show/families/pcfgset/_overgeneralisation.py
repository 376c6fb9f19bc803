"""Overgeneralisation: exceptions read by the rules or as exceptions, over epochs or once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wug.show import charts
from wug.show.families import Figure, Place, percent
from wug.show.families._grouped import by_field, counts_items, curve, curve_points, overall_of
from wug.show.families._marked import marked
from wug.show.families.pcfgset._answers import Answer, Line, as_it_is, batches, text_of
from wug.types import Outcome, Result

RULES, EXCEPTION, NEITHER = "by the rules", "as an exception", "otherwise"
SERIES = {"overgeneralisation": RULES, "memorisation": EXCEPTION}


def overgeneralisation(result: Result, place: Place) -> dict[str, Any]:
    """What the page shows of an overgeneralisation test: the course over epochs, or what one model answers."""
    judged = [outcome for outcome in result.outcomes if outcome.check == "overgeneralisation"]
    found, left = batches(judged, judged, place.room, "pair", _answer, counted=lambda outcome: outcome.value is True)
    figures = [*_profile(result, place), *_shares(result, place)]
    return {"figures": figures, "batches": found, "left": left, "what": "answers", "verb": RULES}


def _profile(result: Result, place: Place) -> Iterator[Figure]:
    """Both shares over the epochs, with the peak of overgeneralisation."""
    points = [p for check in SERIES for p in curve_points(by_field(result, check).get("epoch", ()), check)]
    if not points:
        return
    ruled = [p for p in points if p.series == "overgeneralisation"]
    # The first, where several are highest. A mean over runs has none: its highest value is not the mean of theirs.
    peak = max(ruled, key=lambda p: (p.value, -p.x)) if ruled and counts_items(result, "overgeneralisation") else None
    yield curve(
        f"{place.id}-profile",
        "Exceptions over the epochs",
        points,
        note=(
            "Overgeneralisation is the share of exceptions that are answered by the rules, memorisation the share "
            "that are answered as exceptions."
        ),
        x="epoch",
        what="share of exceptions",
        peak=peak if peak and peak.value > 0 else None,
    )


def _shares(result: Result, place: Place) -> Iterator[Figure]:
    """For all exceptions, those of two functions alone, and each pair: by the rules, as an exception, otherwise."""
    whole = {row.check: row for row in overall_of(result, *SERIES)}
    if len(whole) < len(SERIES):
        return
    fields = {check: by_field(result, check) for check in SERIES}
    rows = {"all exceptions": whole}
    for check, found in fields.items():
        for row in found.get("functions", ()):
            if row.group == "2":
                rows.setdefault("of two functions", {})[check] = row
        for row in found.get("pair", ()):
            rows.setdefault(row.group, {})[check] = row
    parts = []
    for name, cells in rows.items():
        values = {label: cells[check].value for check, label in SERIES.items() if check in cells}
        values[NEITHER] = max(0.0, 1 - sum(values.values()))
        items = next(iter(cells.values())).n if counts_items(result, "overgeneralisation") else None
        for label, value in values.items():
            parts.append(charts.Part(name, label, value, None if items is None else round(value * items)))
    yield Figure(
        id=f"{place.id}-shares",
        chart=charts.shares(parts, title="share of exceptions", colours={NEITHER: 6}),
        title="How exceptions are answered",
        note="The published figures are those of exceptions of two functions.",
        columns=("exceptions", "answered", "share", "n"),
        rows=tuple(
            (part.row, part.series, percent(part.value), "–" if part.count is None else f"{part.count:,}")
            for part in parts
        ),
    )


def _answer(outcome: Outcome) -> Answer:
    source, ruled, exception, answer = (text_of(outcome, key) for key in ("source", "original", "exception", "answer"))
    note = RULES if answer == ruled else EXCEPTION if answer == exception else NEITHER
    shown = as_it_is(answer) if note != NEITHER else marked(ruled, answer)[1]
    lines = (
        Line("source", as_it_is(source)),
        Line(RULES, as_it_is(ruled)),
        Line(EXCEPTION, as_it_is(exception)),
        Line("answer", shown),
    )
    return Answer(outcome.item, f"answered {note}", lines, fails=note == NEITHER)
