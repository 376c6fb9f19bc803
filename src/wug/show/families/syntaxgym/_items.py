"""Items as tables: a row for each condition, a column for each region, each token shaded by its bits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wug.show.families import plain
from wug.show.families.syntaxgym._regions import Conditions, Region, sentence
from wug.types import Result

SHADES = 10
BITS = 2
"""Bits to a shade: the same on every page, so that pages can be compared."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token as the page shows it."""

    text: str
    shade: str
    """The class of its colour."""
    bits: str


@dataclass(frozen=True, slots=True)
class Cell:
    """A region of a condition."""

    tokens: tuple[Token, ...]
    value: str
    """The region's value, where it is not that of its one token."""
    unknown: str
    """The words in it that the model does not know."""


@dataclass(frozen=True, slots=True)
class Item:
    """An item with its sentences."""

    item: str
    sentence: str
    """Its first, to know it by."""
    failed: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell | None, ...]], ...]
    """Condition, and its regions; None for one that it has not."""


def items(result: Result, measured: Mapping[str, Conditions], names: Mapping[int, str], metric: str) -> list[Item]:
    """The items as tables with a column for each region in `names`."""
    failed: dict[str, list[str]] = {}
    for outcome in result.outcomes:
        if outcome.value is False and not outcome.check.startswith("all_predictions"):
            failed.setdefault(outcome.item, []).append(plain(outcome.check))
    return [
        Item(
            item=item,
            sentence=sentence(next(iter(conditions.values()))),
            failed=tuple(failed.get(item, ())),
            rows=tuple((condition, _cells(regions, names, metric)) for condition, regions in conditions.items()),
        )
        for item, conditions in measured.items()
    ]


def _cells(regions: tuple[Region, ...], names: Mapping[int, str], metric: str) -> tuple[Cell | None, ...]:
    cells = {region.number: _cell(region, metric) for region in regions}
    return tuple(cells.get(number) for number in names)


def _cell(region: Region, metric: str) -> Cell:
    tokens = region.tokens or (((region.content, region.value),) if region.content else ())
    several = len(tokens) > 1 and region.value is not None
    sign = "Σ" if metric == "sum" else metric
    return Cell(
        tokens=tuple(_token(text, surprisal) for text, surprisal in tokens),
        value=f"{sign} {region.value:.1f}" if several else "",
        unknown=", ".join(region.unknown),
    )


def _token(text: str, surprisal: float | None) -> Token:
    seen = text.strip() or "␣"
    if surprisal is None:
        return Token(seen, "sx", "–")
    return Token(seen, f"s{min(SHADES - 1, max(0, int(surprisal / BITS)))}", f"{surprisal:.1f}".replace("-", "−"))
