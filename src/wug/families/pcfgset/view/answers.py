"""Strings of symbols below each other: a source, what should be answered, what is."""

from __future__ import annotations

from collections.abc import Sequence

from wug.rows import Placed
from wug.views.marked import Pieces, unmarked
from wug.views.parts import Line, carrier


def texts(judgements: Sequence[Placed], *keys: str) -> list[str]:
    """Strings of the detail that carries an item's answer; empty where it has none."""
    detail = carrier(judgements, "answer").detail
    return [str(detail.get(key) or "") for key in keys]


def line(label: str, text: str) -> Line:
    """A string with nothing marked."""
    return Line(label, unmarked(text))


def judged(label: str, pieces: Pieces, *, right: bool) -> Line:
    """A string that is right or wrong, and says so."""
    return Line(f"{'✓' if right else '✗'} {label}", pieces, "ins" if right else "del")
