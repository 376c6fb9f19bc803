"""The metrics of every line as columns, and their estimates over groups of lines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wug.arrays import Floats
from wug.outcomes import Estimate
from wug.stats import estimate, ratio_interval

Groups: TypeAlias = Mapping[str, NDArray[np.intp]]
"""The lines of each group, `all` first."""
SCORES = ("precision", "recall", "f1")
OVER_TYPES = "macro=types"


class OverlapCounts(NamedTuple):
    """For each line, how many features prediction and gold form share, and how many each has."""

    common: Floats
    predicted: Floats
    gold: Floats


@dataclass(frozen=True, slots=True)
class MetricColumns:
    """The metrics of all lines."""

    flags: Mapping[str, NDArray[np.bool_]]
    numbers: Mapping[str, Floats]
    counts: Mapping[str, OverlapCounts]
    """The counts behind precision, recall and F1, by feature and zone (`terms`, `terms_prefix`)."""
    main: tuple[str, ...]
    """The features that are broken down by group; the others are reported for all lines only."""
    score_of_nothing: float = 1.0
    """Precision, recall and F1 if neither form has the feature."""
    harmonic: bool = False
    """Whether macro F1 is computed from macro precision and recall instead of averaging F1 over lines."""
    corpus: Mapping[str, float] = field(default_factory=dict)
    details: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)
    """The rules that each line violates, and the kinds of its errors, if they were checked."""

    def __len__(self) -> int:
        return len(next(iter(self.flags.values())))

    def scores(self, feature: str) -> dict[str, Floats]:
        """Precision, recall and F1 of every line."""
        counts = self.counts[feature]
        return {name: self._ratio(*_parts(counts, name)) for name in SCORES}

    def _ratio(self, top: Floats, bottom: Floats, both: Floats) -> Floats:
        ratios = np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)
        return np.where(both == 0, self.score_of_nothing, ratios)


def estimates(columns: MetricColumns, groups: Groups) -> list[Estimate]:
    """Every value of every group: shares, means, micro and macro averages, with intervals."""
    computed: list[Estimate] = []
    for metric, flags in columns.flags.items():
        computed += _over_types([estimate(metric, group, flags[lines].tolist()) for group, lines in groups.items()])
    for metric, numbers in columns.numbers.items():
        computed += _over_types([estimate(metric, group, numbers[lines].tolist()) for group, lines in groups.items()])
    for metric, value in columns.corpus.items():
        computed.append(Estimate(metric, "all", value, len(columns)))
    for feature, counts in columns.counts.items():
        within = groups if feature in columns.main else {"all": groups["all"]}
        lines_scores = columns.scores(feature)
        for name in SCORES:
            top, bottom, both = _parts(counts, name)
            metric, nothing = f"{feature}_{name}", columns.score_of_nothing
            micro = [_micro(metric, g, top[i], bottom[i], nothing * (not both[i].any())) for g, i in within.items()]
            computed += _over_types(micro)
        for name in SCORES:
            metric = f"{feature}_{name}_macro"
            means = [estimate(metric, g, lines_scores[name][i].tolist()) for g, i in within.items()]
            if columns.harmonic and name == "f1":
                means = [Estimate(m.metric, m.group, _harmonic_f1(lines_scores, within[m.group]), m.n) for m in means]
            computed += _over_types(means)
    return computed


def _parts(counts: OverlapCounts, name: str) -> tuple[Floats, Floats, Floats]:
    """Numerator and denominator of a score, and the size of both forms together."""
    both = counts.predicted + counts.gold
    if name == "f1":
        return 2 * counts.common, both, both
    return counts.common, counts.predicted if name == "precision" else counts.gold, both


def _micro(metric: str, group: str, top: Floats, bottom: Floats, of_nothing: float) -> Estimate:
    """The ratio of two sums over lines, with the interval of a ratio estimator (lines are the sample)."""
    n, total = len(top), float(bottom.sum())
    if total == 0:
        return Estimate(metric, group, of_nothing, n)
    ratio, ratio_result = float(top.sum()) / total, ratio_interval(top, bottom)
    if ratio_result.interval is None:
        return Estimate(metric, group, ratio, n, method=ratio_result.method)
    low, high = max(0.0, ratio_result.interval.low), min(1.0, ratio_result.interval.high)
    return Estimate(
        metric, group, ratio, n, low, high, "ratio" if ratio_result.method == "t" else f"ratio, {ratio_result.method}"
    )


def _harmonic_f1(scores: Mapping[str, Floats], lines: NDArray[np.intp]) -> float:
    precision, recall = (float(scores[name][lines].mean()) for name in ("precision", "recall"))
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _over_types(by_group: list[Estimate]) -> Iterator[Estimate]:
    """The estimates and, if there are several types, the mean over types."""
    yield from by_group
    by_type = [each.value for each in by_group if each.group.startswith("type=")]
    if len(by_type) > 1:
        yield Estimate(by_group[0].metric, OVER_TYPES, math.fsum(by_type) / len(by_type), len(by_type))
