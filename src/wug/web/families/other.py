"""Families that have no page of their own: estimates by group, items with whatever explains them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wug.show.families import Figure
from wug.show.families._generic import facts, group_figures
from wug.web.families import Item, Look, Query

SIZE = 30
LATER: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Row:
    """An item with its facts."""

    facts: Mapping[str, Any]


def check(look: Look) -> str:
    """The headline's."""
    return look.headline


def figures(look: Look, query: Query) -> list[Figure]:
    """A chart for each field that results are broken down by."""
    return group_figures(look.result, look.place)


def later(look: Look, name: str, query: Query) -> Figure | None:
    """There are none."""
    return None


def values(look: Look) -> dict[str, Any]:
    """What the suite says of itself."""
    return {"facts": facts(look.result)}


def rows(look: Look, items: Sequence[Item]) -> list[Row]:
    """Every item with its detail."""
    return [Row({**item.outcome.groups, **item.outcome.detail}) for item in items]
