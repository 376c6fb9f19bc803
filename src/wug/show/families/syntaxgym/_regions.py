"""The measured sentences of an item, as a result's rows carry them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from wug.types import Outcome

ATOM = re.compile(r"\(\s*([^;()\[\]]+?)\s*;\s*%([^%;]*)%\s*\)")
"""A region of a condition in a formula: `(6;%match_sing%)`."""


@dataclass(frozen=True, slots=True)
class Region:
    """A region of a sentence with its tokens."""

    number: int
    content: str
    value: float | None
    """Bits; None where the metric gives none, or no finite one."""
    tokens: tuple[tuple[str, float | None], ...]
    unknown: tuple[str, ...]


Conditions: TypeAlias = dict[str, tuple[Region, ...]]
"""Condition → its regions in order."""


def conditions(outcome: Outcome) -> Conditions:
    """The sentences that an outcome carries; empty where it carries none."""
    given = outcome.detail.get("conditions")
    if not isinstance(given, Mapping):
        return {}
    return {
        str(name): tuple(sorted(map(_region, condition.get("regions", ())), key=lambda region: region.number))
        for name, condition in given.items()
    }


def sentence(regions: tuple[Region, ...]) -> str:
    """The text of the regions."""
    return " ".join(region.content for region in regions if region.content)


def finite(value: object) -> float | None:
    """`value` where it is a number that can be shown."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def _region(given: Mapping[str, Any]) -> Region:
    return Region(
        number=int(given["number"]),
        content=str(given.get("content") or "").strip(),
        value=finite(given.get("value")),
        tokens=tuple((str(text), finite(surprisal)) for text, surprisal in given.get("tokens") or ()),
        unknown=tuple(map(str, given.get("oovs") or ())),
    )
