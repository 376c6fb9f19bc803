"""The measures of every line, as columns, and what they come to over groups of lines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from wug.stats import ratio_interval, wilson
from wug.types import Estimate

Groups: TypeAlias = Mapping[str, NDArray[np.intp]]
"""The lines of each group, `all` first."""
SCORES = ("precision", "recall", "f1")
OVER_TYPES = "macro=types"
"""The group of values that are means over the types, each counting alike."""


@dataclass(frozen=True, slots=True)
class Counts:
    """For each line, how many things prediction and gold form share, and how many each has."""

    common: NDArray[np.float64]
    predicted: NDArray[np.float64]
    gold: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Table:
    """The measures of all lines."""

    flags: Mapping[str, NDArray[np.bool_]]
    numbers: Mapping[str, NDArray[np.float64]]
    counts: Mapping[str, Counts]
    """For each feature in a zone (`terms`, `terms_prefix`), what its precision, recall and F1 are made of."""
    main: tuple[str, ...]
    """The features that are broken down by group; the others are given for all lines alone."""
    nothing: float = 1.0
    """Precision, recall and F1 where neither side has any."""
    harmonic: bool = False
    """Whether the macro F1 is that of the macro precision and recall, rather than the mean of the lines' F1."""
    corpus: Mapping[str, float] = field(default_factory=dict)
    """Values of all lines together."""

    def __len__(self) -> int:
        return len(next(iter(self.flags.values())))

    def scores(self, feature: str) -> dict[str, NDArray[np.float64]]:
        """Precision, recall and F1 of every line."""
        counts = self.counts[feature]
        return {name: self._ratio(*_parts(counts, name)) for name in SCORES}

    def _ratio(
        self, top: NDArray[np.float64], bottom: NDArray[np.float64], both: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        found = np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)
        return np.where(both == 0, self.nothing, found)


def estimates(table: Table, groups: Groups) -> list[Estimate]:
    """Every value of every group: shares, means, micro and macro averages, each with its interval."""
    found: list[Estimate] = []
    for check, flags in table.flags.items():
        found += _over_types([_share(check, group, flags[lines]) for group, lines in groups.items()])
    for check, numbers in table.numbers.items():
        found += _over_types([_mean(check, group, numbers[lines]) for group, lines in groups.items()])
    for check, value in table.corpus.items():
        found.append(Estimate(check, "all", value, len(table)))
    for feature, counts in table.counts.items():
        within = groups if feature in table.main else {"all": groups["all"]}
        lines_scores = table.scores(feature)
        for name in SCORES:
            top, bottom, both = _parts(counts, name)
            check = f"{feature}_{name}"
            micro = [_micro(table, check, group, top[i], bottom[i], both[i]) for group, i in within.items()]
            found += _over_types(micro)
        for name in SCORES:
            check = f"{feature}_{name}_macro"
            means = [_mean(check, group, lines_scores[name][lines]) for group, lines in within.items()]
            if table.harmonic and name == "f1":
                means = [_harmonic(mean, lines_scores, within[mean.group]) for mean in means]
            found += _over_types(means)
    return found


def _parts(counts: Counts, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Top and bottom of a ratio, and what is 0 where neither side has anything."""
    both = counts.predicted + counts.gold
    if name == "f1":
        return 2 * counts.common, both, both
    return counts.common, counts.predicted if name == "precision" else counts.gold, both


def _share(check: str, group: str, flags: NDArray[np.bool_]) -> Estimate:
    successes, n = int(flags.sum()), len(flags)
    interval = wilson(successes, n)
    return Estimate(check, group, successes / n, n, interval.low, interval.high, "wilson")


def _mean(check: str, group: str, values: NDArray[np.float64]) -> Estimate:
    n, mean = len(values), float(values.mean())
    made = ratio_interval(values, np.ones(n))
    if made.interval is None:
        return Estimate(check, group, mean, n, method=made.method)
    return Estimate(check, group, mean, n, made.interval.low, made.interval.high, made.method)


def _micro(
    table: Table,
    check: str,
    group: str,
    top: NDArray[np.float64],
    bottom: NDArray[np.float64],
    both: NDArray[np.float64],
) -> Estimate:
    """The ratio of two sums over lines, with the interval of a ratio estimator (lines are the sample)."""
    n, below = len(top), float(bottom.sum())
    if below == 0:
        return Estimate(check, group, table.nothing if both.sum() == 0 else 0.0, n)
    ratio, made = float(top.sum()) / below, ratio_interval(top, bottom)
    if made.interval is None:
        return Estimate(check, group, ratio, n, method=made.method)
    low, high = max(0.0, made.interval.low), min(1.0, made.interval.high)
    return Estimate(check, group, ratio, n, low, high, "ratio" if made.method == "t" else f"ratio, {made.method}")


def _harmonic(mean: Estimate, scores: Mapping[str, NDArray[np.float64]], lines: NDArray[np.intp]) -> Estimate:
    precision, recall = (float(scores[name][lines].mean()) for name in ("precision", "recall"))
    value = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return Estimate(mean.check, mean.group, value, mean.n)


def _over_types(found: list[Estimate]) -> Iterator[Estimate]:
    """The estimates and, where there are several types, the mean of those of the types."""
    yield from found
    by_type = [estimate.value for estimate in found if estimate.group.startswith("type=")]
    if len(by_type) > 1:
        yield Estimate(found[0].check, OVER_TYPES, math.fsum(by_type) / len(by_type), len(by_type))
