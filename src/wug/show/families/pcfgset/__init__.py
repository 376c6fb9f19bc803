"""PCFG SET: accuracy and consistency by function, depth, length and steps; answers beside their targets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from wug.show.families import Place, Section, Shown, shown
from wug.show.families._grouped import spread_note
from wug.show.families.pcfgset._localism import localism
from wug.show.families.pcfgset._overgeneralisation import overgeneralisation
from wug.show.families.pcfgset._plain import plain
from wug.show.families.pcfgset._substitutivity import substitutivity
from wug.types import Result

PARTS: Mapping[str, Callable[[Result, Place], dict[str, Any]]] = {
    "unrolled_accuracy": localism,
    "accuracy_twin": substitutivity,
    "overgeneralisation_peak": overgeneralisation,
    "overgeneralisation": overgeneralisation,
}
"""What shows a test, by a check that only this test has; all others are plain."""


def section(result: Result, place: Place) -> Section:
    """Estimates, charts, a sample of answers."""
    checks = {estimate.check for estimate in result.estimates}
    part = next((shown for check, shown in PARTS.items() if check in checks), plain)
    blank: dict[str, Any] = {"tally": [], "batches": [], "trees": [], "left": 0, "what": "", "verb": ""}
    values = {**blank, "overall": _overall(result), "note": spread_note(result), **part(result, place)}
    return Section("pcfgset.html", values)


def _overall(result: Result) -> list[Shown]:
    return [shown(result, estimate) for estimate in result.estimates if estimate.group == "all"]
