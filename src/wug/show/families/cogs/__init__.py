"""COGS: matches by type as the paper groups them, kinds of error, gold and prediction side by side."""

from __future__ import annotations

from wug.show.families import Place, Section, Shown, shown
from wug.show.families._grouped import spread_note
from wug.show.families.cogs._errors import broken_rules, error_figure, error_table
from wug.show.families.cogs._lines import batches
from wug.show.families.cogs._types import FIRST, SHARES, kinds, type_figure, type_table
from wug.types import Result

MAIN = (*SHARES, "edit_distance", "edit_distance_normalised", "terms_f1", "smatch_f1", "bleu")
"""The checks for a first look."""


def section(result: Result, place: Place) -> Section:
    """Measures, types, errors, wrong lines."""
    judged = [outcome for outcome in result.outcomes if outcome.check == FIRST]
    types = kinds(result)
    main, more = _overall(result)
    found, left = batches(result, judged, types, place.room)
    values = {
        "overall": main,
        "more": more,
        "note": spread_note(result),
        "types": type_table(result, types),
        "type_figure": type_figure(result, types, place),
        "error_figure": error_figure(judged, place),
        "errors": error_table(judged, types),
        "rules": broken_rules(judged),
        "batches": found,
        "left": left,
        "facts": {key: result.meta[key] for key in ("edition", "dialect") if result.meta.get(key)},
    }
    return Section("cogs.html", values)


def _overall(result: Result) -> tuple[list[Shown], list[Shown]]:
    """The checks over all lines: those for a first look, and all others."""
    whole = {e.check: shown(result, e) for e in result.estimates if e.group == "all"}
    main = [whole[check] for check in MAIN if check in whole]
    return main, [row for check, row in whole.items() if check not in MAIN]
