"""Minimal pairs: accuracy by pattern or paradigm, margins, the pairs that fail with what differs in them."""

from __future__ import annotations

from wug.show.families import Place, Section, overall
from wug.show.families._grouped import overall_of, spread_note
from wug.show.families.pairs._failing import batches, hardest
from wug.show.families.pairs._figures import columns_figure, group_figures
from wug.show.families.pairs._judged import CHECK, judgements, tally
from wug.show.families.pairs._margins import margins_figure
from wug.types import Result


def section(result: Result, place: Place) -> Section:
    """Accuracy, its charts, margins, failing pairs."""
    judged = judgements(result)
    several = len({one.column for one in judged}) > 1
    scale = _scale(result)
    columns = columns_figure(result, place)
    margins = [margin for one in judged if (margin := one.margin) is not None and one.value is not None]
    histogram = margins_figure(f"{place.id}-margins", margins, scale)
    failed, left = ([], 0) if several else batches(judged, place.room)
    hard, hard_left = hardest(judged, place.room) if several else ([], 0)
    figures = [columns, *group_figures(result, judged, place), histogram]
    values = {
        "overall": overall_of(result, CHECK) or overall(result),
        "note": spread_note(result),
        "tally": [] if several else tally(judged),
        "figures": [figure for figure in figures if figure is not None],
        "batches": failed,
        "left": left,
        "hardest": hard,
        "hardest_left": hard_left,
        "scale": scale,
    }
    return Section("pairs.html", values)


def _scale(result: Result) -> str:
    """What the scores of a pair are, as the signature says it."""
    fields = dict(result.signature.fields)
    if "slor" in fields:
        return "SLOR"
    per = fields.get("normalise", "none")
    return "log-probability (nats)" if per == "none" else f"log-probability per {per} (nats)"
