"""Predictions as the page's cards: reading, formula, accuracy, and the items for which they fail."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wug.show.families import Shown, bits, first, overall
from wug.show.families.syntaxgym._regions import ATOM, Conditions, Region, conditions, finite
from wug.types import Outcome, Result

_CHECK = re.compile(r"prediction_(\d+)(?:/(.+))?")


@dataclass(frozen=True, slots=True)
class Card:
    """A prediction as the page shows it."""

    name: str
    estimate: Shown
    english: str
    formula: str
    source: str
    """The formula as written, where that differs."""
    failed: Sequence[FailedItem]
    left: int


@dataclass(frozen=True, slots=True)
class FailedItem:
    """An item for which a prediction does not hold."""

    item: str
    margin: str
    """Bits, below 0; empty where the result does not say."""
    comparisons: tuple[Comparison, ...]
    sentences: tuple[Sentence, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One comparison of a formula, with the values on both sides."""

    holds: bool
    formula: str
    left: str
    operator: str
    right: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """A condition's sentence; the parts that a formula speaks of carry their bits."""

    condition: str
    parts: tuple[tuple[str, str], ...]
    """Text, and its value or nothing."""


def is_prediction(check: str) -> bool:
    """Whether a check is one prediction's."""
    return _CHECK.fullmatch(check) is not None


def spoken_of(result: Result, names: Mapping[int, str]) -> set[int]:
    """The numbers of the regions that the predictions speak of."""
    formulas = [_formula(result, index) for index in range(len(result.meta.get("formulas") or ()))]
    atoms = [atom for formula in formulas for atom in ATOM.findall(formula["canonical"] or formula["source"])]
    found = (_number(region, names) for region, _ in atoms)
    return {number for number in found if number is not None}


def cards(result: Result, measured: Mapping[str, Conditions], names: Mapping[int, str], room: int) -> list[Card]:
    """A card for each prediction, with no more failing items than there is room for."""
    made = []
    for row in overall(result):
        match = _CHECK.fullmatch(row.check)
        if match is None:
            continue
        formula = _formula(result, int(match[1]))
        text = formula["canonical"] or formula["source"]
        failed, left = first([o for o in result.outcomes if o.check == row.check and o.value is False], room)
        made.append(
            Card(
                name=f"Prediction {match[1]}" + (f", {match[2]}" if match[2] else ""),
                estimate=row,
                english=row.reading or formula["english"],
                formula=text,
                source=formula["source"] if _squeezed(formula["source"]) != _squeezed(text) else "",
                failed=[_failed(o, measured.get(o.item) or conditions(o), text, names) for o in failed],
                left=left,
            )
        )
    return made


def _formula(result: Result, index: int) -> dict[str, str]:
    """Source, canonical form and English of a prediction; empty strings for what is not known."""
    given = result.meta.get("formulas") or ()
    known: Mapping[str, Any] = given[index] if index < len(given) else {}
    return {key: str(known.get(key) or "") for key in ("source", "canonical", "english")}


def _squeezed(formula: str) -> str:
    return "".join(formula.split())


def _failed(outcome: Outcome, measured: Conditions, formula: str, names: Mapping[int, str]) -> FailedItem:
    atoms = ATOM.findall(formula)
    mentioned = {condition for _, condition in atoms} & measured.keys()
    margin = finite(outcome.detail.get("margin"))
    return FailedItem(
        item=outcome.item,
        margin="" if margin is None else bits(margin),
        comparisons=tuple(_comparison(given) for given in outcome.detail.get("comparisons") or ()),
        sentences=tuple(
            _sentence(condition, regions, {region for region, of in atoms if of == condition}, names)
            for condition, regions in measured.items()
            if not mentioned or condition in mentioned
        ),
    )


def _comparison(given: Mapping[str, Any]) -> Comparison:
    left, right = finite(given.get("left")), finite(given.get("right"))
    return Comparison(
        holds=bool(given.get("holds")),
        formula=str(given.get("formula") or ""),
        left="∞" if left is None else bits(left),
        operator=str(given.get("operator") or ""),
        right="∞" if right is None else bits(right),
    )


def _sentence(condition: str, regions: Sequence[Region], atoms: set[str], names: Mapping[int, str]) -> Sentence:
    # A `*` in a formula speaks of the whole sentence.
    marked = {_number(atom, names) for atom in atoms}
    parts = []
    for region in regions:
        wanted = "*" in atoms or region.number in marked
        value = bits(region.value) if wanted and region.value is not None else ""
        if region.content:
            parts.append((region.content, value))
    return Sentence(condition, tuple(parts))


def _number(region: str, names: Mapping[int, str]) -> int | None:
    """The number of a region that a formula gives by number or by name."""
    if region.isdecimal():
        return int(region)
    return next((number for number, name in names.items() if name == region), None)
