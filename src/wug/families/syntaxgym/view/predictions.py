"""Predictions: what each says, how it fares, the regions that it compares, and its comparisons on an item."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from wug.errors import FormulaError
from wug.families.sampling import spread
from wug.families.syntaxgym import formula
from wug.families.syntaxgym.checks import prediction_of
from wug.families.syntaxgym.view.regions import names_of
from wug.rows import Filter, Rows
from wug.types import Outcome, Result
from wug.views.numbers import bits, finite, headlines
from wug.views.parts import Card, Margin, Verdict, Verdicts

LOOKED_AT, MARGINS = 1000, 300
"""Items, from the first on, whose margins are looked at; and those that are shown."""


def cards(result: Result, rows: Rows) -> Iterator[Card]:
    """A card for each prediction, by every metric."""
    for shown in headlines(result):
        if (prediction := prediction_of(shown.check)) is None:
            continue
        known = formula_of(result, prediction.index)
        source, text = known["source"], known["canonical"] or known["source"]
        counts = rows.tally(shown.check)
        yield Card(
            title=prediction.title,
            check=shown.check,
            shown=shown,
            reading=shown.reading or known["english"],
            formula=text,
            source=source if "".join(source.split()) != "".join(text.split()) else "",
            passed=counts["true"],
            failed=counts["false"],
            margins=tuple(_margins(rows, shown.check)),
        )


def _margins(rows: Rows, check: str) -> list[Margin]:
    """By how many bits a prediction holds for each item, the least first; of very many, of some."""
    found = [
        Margin(row.outcome.item, row.place, margin, row.outcome.value is True)
        for row in rows.each(Filter(check), keys=("margin",), most=LOOKED_AT)
        if (margin := finite(row.outcome.detail.get("margin"))) is not None and row.outcome.value is not None
    ]
    return sorted(spread(found, MARGINS), key=lambda margin: margin.value)


def formula_of(result: Result, index: int) -> dict[str, str]:
    """Source, canonical form and English of a prediction; empty strings for what is not known."""
    given = result.meta.get("formulas") or ()
    known: Mapping[str, Any] = given[index] if index < len(given) else {}
    return {key: str(known.get(key) or "") for key in ("source", "canonical", "english")}


def compared_regions(result: Result) -> list[frozenset[int]]:
    """The numbers of the regions that each prediction speaks of; none for one that speaks of whole sentences."""
    numbers = {name: region for region, name in reversed(names_of(result, ()).items())}
    return [
        frozenset(number for region in _regions(known) if isinstance(number := numbers.get(region, region), int))
        for known in result.meta.get("formulas") or ()
    ]


def verdicts(outcome: Outcome) -> Verdicts | None:
    """The comparisons of a prediction on an item; None for a check that makes none."""
    given = outcome.detail.get("comparisons") or ()
    return Verdicts(tuple(map(_verdict, given))) if given else None


def _regions(known: Mapping[str, Any]) -> list[Any]:
    """What a formula calls the regions that it speaks of; nothing of one that cannot be read."""
    given = known.get("regions")
    if given is None:  # kept before the regions were
        try:
            given = formula.parse(str(known.get("canonical") or known.get("source") or "")).atoms()
        except FormulaError:
            return []
    return [region for region, _ in given]


def _verdict(given: Mapping[str, Any]) -> Verdict:
    left, right = ("∞" if (side := finite(given.get(key))) is None else bits(side) for key in ("left", "right"))
    text = f"{left} {given.get('operator') or ''} {right}"
    return Verdict(bool(given.get("holds")), text, str(given.get("formula") or ""))
