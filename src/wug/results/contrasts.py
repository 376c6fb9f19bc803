"""The results of a comparison: its sides, and the contrast of two sides on each metric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wug.outcomes import Better, Signature


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: a run, or several runs."""

    label: str
    """A, B, C … in the given order."""
    name: str
    """The model, with run numbers if the model does not distinguish the sides."""
    runs: tuple[int, ...]
    models: tuple[str, ...]
    """The model of each run."""
    newest: bool = False
    """Whether the newest result of the runs on each suite is compared, not the mean of all."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The values of the runs of a side."""

    values: tuple[float, ...]
    """The value of each run, in the order of `Side.runs`."""
    deviation: float | None
    """Their standard deviation (n - 1); None for a single run."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An item on which two sides differ."""

    item: str
    first: float
    """The value of the first side: 1 right, 0 wrong, or a number; the mean of several runs."""
    second: float
    groups: Mapping[str, str] = field(default_factory=dict)
    detail_first: Mapping[str, Any] = field(default_factory=dict)
    """The details of the first side (of its first run)."""
    detail_second: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Contrast:
    """Two sides on one metric of one suite."""

    suite: str
    kind: str
    metric: str
    """Its name, or a pattern such as `prediction_*` for pooled metrics."""
    meaning: str
    """What the metric measures; may be empty."""
    first: Side
    second: Side
    share: bool
    """Whether values are proportions of correct items, shown in per cent; otherwise means of numbers."""
    better: Better
    """Which values of the metric are better; `neither` if metrics of several directions are pooled."""
    n: int
    """Compared outcomes: those that both sides have."""
    items: int
    """Items of these outcomes: the units of bootstrap and permutation."""
    value_first: float
    value_second: float
    difference: float
    """`value_second - value_first`."""
    low: float | None
    """The 95% interval of the difference; None if there are too few data."""
    high: float | None
    interval_method: str
    """`tango`, `t`, `cluster t`, `bca`, `cluster bca`; empty without an interval."""
    p: float
    """Two-sided, unadjusted: below 0.05 exactly if the interval excludes 0, except for a bootstrap interval."""
    p_holm: float
    """Adjusted for all tests of the comparison."""
    method: str
    """The test: `McNemar (score)`, `t test`, `cluster t test`, `permutation (9,999 draws)`, …"""
    both: int | None = None
    """Outcomes that both have right; None for numbers and for means over runs."""
    only_first: int | None = None
    only_second: int | None = None
    neither: int | None = None
    disagreeing: int = 0
    """Items on which the sides differ."""
    disagreements: tuple[Disagreement, ...] = ()
    """The items that differ most, up to the requested number."""
    spread_first: Spread | None = None
    """For a side with several runs."""
    spread_second: Spread | None = None
    signatures: tuple[Signature, ...] = ()
    """The signatures of all compared results, those of the first side first."""
    warnings: tuple[str, ...] = ()

    @property
    def significant(self) -> bool:
        """Whether the adjusted p is below 0.05."""
        return self.p_holm < 0.05

    @property
    def higher(self) -> Side | None:
        """The side with the higher value; None if they are equal."""
        if self.difference == 0:
            return None
        return self.second if self.difference > 0 else self.first

    @property
    def better_side(self) -> Side | None:
        """The side with the better proportion; None for numbers, equal values and metrics without a direction."""
        if not self.share or self.better == "neither" or self.higher is None:
            return None
        lower = self.first if self.higher is self.second else self.second
        return self.higher if self.better == "higher" else lower


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Every contrast of some sides."""

    sides: tuple[Side, ...]
    contrasts: tuple[Contrast, ...]
    """By pair of sides; within a pair in the order of the first side's suites and metrics."""
    seed: int
    warnings: tuple[str, ...] = ()
    """About suites that were left out, or evaluated with different settings."""

    @property
    def tests(self) -> int:
        """The number of tests in Holm's correction: all of them."""
        return len(self.contrasts)
