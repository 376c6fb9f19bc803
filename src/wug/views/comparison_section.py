"""The part of a report that compares its models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wug.views import comparison as text
from wug.views.comparison_chart import figures
from wug.views.parts import Figure

if TYPE_CHECKING:
    from wug.results.comparison import Comparison, Contrast, Side


@dataclass(frozen=True, slots=True)
class Compared:
    """A contrast as a row of the page."""

    contrast: Contrast
    cells: tuple[str, ...]
    counts: str
    """Such as `both right 40 · only A 3 · only B 9 · neither 8`; empty for numbers."""
    items: tuple[tuple[str, str, tuple[str, ...]], ...]
    """Item, what differs, what explains it, line by line."""


@dataclass(frozen=True, slots=True)
class Couple:
    """Two sides and their contrasts."""

    first: Side
    second: Side
    names: tuple[str, str]
    """What the two are called."""
    head: tuple[str, ...]
    rows: tuple[Compared, ...]


@dataclass(frozen=True, slots=True)
class ComparedSection:
    """What the template shows."""

    couples: tuple[Couple, ...]
    figures: tuple[Figure, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


def compared(comparison: Comparison) -> ComparedSection:
    """The section about a comparison."""
    names = text.side_names(comparison)
    return ComparedSection(
        couples=tuple(
            Couple(
                *(first, second, (names[first.label], names[second.label])),
                *(tuple(text.head(first.label, second.label)), tuple(map(_row, contrasts))),
            )
            for first, second, contrasts in text.couples(comparison)
        ),
        figures=tuple(figures(comparison)),
        notes=tuple(text.notes(comparison)),
        warnings=tuple(text.warnings(comparison)),
    )


def _row(contrast: Contrast) -> Compared:
    return Compared(
        contrast=contrast,
        cells=tuple(text.line(contrast)),
        counts=text.counts(contrast),
        items=tuple(
            (
                one.item,
                text.differing(one, contrast),
                tuple(f"{label}: {said}" if label else said for label, said in text.explanations(one, contrast)),
            )
            for one in contrast.disagreements
        ),
    )
