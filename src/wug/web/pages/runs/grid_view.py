"""The grid of models by suites as the template shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wug.views.numbers import Shown, number

SHADE_THRESHOLDS = (0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.995)
"""Proportions at which a cell's shade changes: finer where models differ, and 100% has its own."""
SPARKLINE_WIDTH_PX, SPARKLINE_HEIGHT_PX, SPARKLINE_POINTS = 48, 14, 24


@dataclass(frozen=True, slots=True)
class Sparkline:
    """A small line chart."""

    points: str
    """Points of an SVG polyline."""
    count: int
    """Number of values."""

    @classmethod
    def through(cls, values: Sequence[float]) -> Sparkline | None:
        """A line through the values, sampled if there are many; None for fewer than two."""
        if len(values) < 2:
            return None
        last = len(values) - 1
        sampled = {round(index * last / (SPARKLINE_POINTS - 1)) for index in range(SPARKLINE_POINTS)}
        indices = sorted(sampled) if last >= SPARKLINE_POINTS else range(len(values))
        # Proportions share the axis from 0 to 1, so that lines can be compared; other numbers fill the height.
        proportions = all(0 <= value <= 1 for value in values)
        low, high = (0.0, 1.0) if proportions else (min(values), max(values))
        span = (high - low) or 1.0
        heights = {i: 1 + (SPARKLINE_HEIGHT_PX - 2) * (1 - (values[i] - low) / span) for i in indices}
        drawn = [f"{SPARKLINE_WIDTH_PX * i / last:.0f},{height:.1f}" for i, height in heights.items()]
        return cls(" ".join(drawn), len(values))


@dataclass(frozen=True, slots=True)
class GridCell:
    """The newest result of a model on a suite."""

    result: int
    run: int
    status: str
    fault: str
    shown: Shown | None
    later: str = ""
    """Status of a later result that is not complete and was skipped."""
    sparkline: Sparkline | None = None
    """For a sweep: the values of its models."""

    @property
    def text(self) -> str:
        """The value without a unit, such as `71.2`."""
        if self.shown is None:
            return "–"
        if not self.shown.share:
            return number(self.shown.value)
        text = f"{100 * self.shown.value:.1f}"
        return "100" if text == "100.0" else text

    @property
    def shade(self) -> str:
        """CSS class of the background: the higher a proportion, the stronger."""
        if self.shown is None or not self.shown.share or not 0 <= self.shown.value <= 1:
            return ""
        return f"h{sum(self.shown.value >= threshold for threshold in SHADE_THRESHOLDS)}"


@dataclass(frozen=True, slots=True)
class GridRow:
    """A model in the grid, or a sweep over several."""

    key: str
    """The model's id, or `sweep:3`."""
    name: str
    kind: str
    """The backend; for a sweep, its number of models."""
    url: str
    """Its run, the list of its runs, or its sweep."""
    runs: tuple[int, ...]
    """Newest first."""
    newest: str
    """Start time of the newest run."""
    pinned: bool
    cells: tuple[GridCell | None, ...]
    fingerprint: str
    """Changes with anything that the row shows."""

    @property
    def is_sweep(self) -> bool:
        """Whether it is a sweep."""
        return self.key.startswith("sweep:")


@dataclass(frozen=True, slots=True)
class GridColumn:
    """A suite in the grid."""

    suite: str
    family: str
    phenomenon: str
    pinned: bool = False

    @property
    def headings(self) -> tuple[str, str]:
        """The family and the phenomenon above it."""
        return ("pinned", "") if self.pinned else (self.family, self.phenomenon)


@dataclass(frozen=True, slots=True)
class ResultGrid:
    """One page of the grid."""

    rows: tuple[GridRow, ...]
    columns: tuple[GridColumn, ...]
    family_spans: tuple[tuple[str, int], ...]
    """Headings above the columns, each with its number of columns."""
    phenomenon_spans: tuple[tuple[str, int], ...]
    row_count: int
    """Rows on all pages."""
    sweep_count: int
    """Those of them that are sweeps."""
    suite_count: int
    pages: int
    column_pages: int
    families: tuple[str, ...]
    """Choices of the filter."""
    phenomena: tuple[str, ...]
    """Choices of the filter."""
    fingerprint: str
    """Changes with the rows and columns of the page."""
