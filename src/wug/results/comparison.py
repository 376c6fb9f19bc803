"""Models compared on the items that they share: who is better, by how much, how surely.

A side is a run, or several runs of one model (seeds, checkpoints) taken together. Each suite and metric that two
sides share is one contrast: the difference of the second from the first, with an interval and a p-value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, groupby, takewhile
from statistics import stdev
from typing import Any

import numpy as np

from wug import registry
from wug.results import pairing as _pairing
from wug.results import shared_items as _shared
from wug.results.reader import RunReader
from wug.results.records import Run
from wug.results.store import Store
from wug.stats_paired import IntervalKind, holm
from wug.types import Signature

EVERYTHING = "all suites"
"""The suite of a contrast over several suites together."""
TINY = 1e-12
"""Differences below are rounding."""


@dataclass(frozen=True, slots=True)
class Side:
    """What is compared: a run, or several runs taken together."""

    label: str
    """A, B, C … in the order in which they were given."""
    name: str
    """The model, with the numbers of the runs where that alone does not tell the sides apart."""
    runs: tuple[int, ...]
    models: tuple[str, ...]
    """Of each run."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How the runs of one side differ."""

    values: tuple[float, ...]
    """The value of each run, in the order of `Side.runs`."""
    deviation: float | None
    """Their standard deviation (n - 1); None for a single run."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An item on which two sides differ."""

    item: str
    first: float
    """The value of the first side: 1 right, 0 wrong, or a number; a mean where it has several runs."""
    second: float
    groups: Mapping[str, str] = field(default_factory=dict)
    detail_first: Mapping[str, Any] = field(default_factory=dict)
    """What explains the judgement of the first side (of its first run)."""
    detail_second: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Contrast:
    """Two sides on one metric of one suite."""

    suite: str
    kind: str
    metric: str
    """Its name, or a pattern such as `prediction_*` for several metrics of an item taken together."""
    reading: str
    """What the metric means in plain English; may be empty."""
    first: Side
    second: Side
    share: bool
    """Whether values are shares of right answers, to be shown in per cent; else means of numbers."""
    n: int
    """Outcomes compared: those that both sides have."""
    items: int
    """Items that they belong to: the units that are drawn anew, or whose signs are flipped."""
    value_first: float
    value_second: float
    difference: float
    """`value_second - value_first`."""
    low: float | None
    """The 95 % interval of the difference; None where there is too little to make one."""
    high: float | None
    interval_method: str
    """`tango`, `t`, `cluster t`, `bca`, `cluster bca`; empty without an interval."""
    p: float
    """Two-sided, unadjusted: below 0.05 exactly where the interval excludes 0, unless that is a bootstrap one."""
    p_holm: float
    """Corrected for all tests of the comparison."""
    method: str
    """How p was found: `McNemar (score)`, `t test`, `cluster t test`, `permutation (9,999 draws)`, …"""
    both: int | None = None
    """Outcomes that both have right; None where they are no judgements, or means over runs."""
    only_first: int | None = None
    only_second: int | None = None
    neither: int | None = None
    disagreeing: int = 0
    """Items on which the sides differ."""
    disagreements: tuple[Disagreement, ...] = ()
    """The first of them, as many as were asked for; of numbers, those that differ most."""
    spread_first: Spread | None = None
    """Where a side has several runs."""
    spread_second: Spread | None = None
    signatures: tuple[Signature, ...] = ()
    """Of all results that went into it, the first side's first."""
    warnings: tuple[str, ...] = ()

    @property
    def significant(self) -> bool:
        """Whether the sides are told apart: the corrected p is below 0.05."""
        return self.p_holm < 0.05

    @property
    def higher(self) -> Side | None:
        """The side with the higher value, or None where they are equal; see `significant` for how sure that is."""
        if self.difference == 0:
            return None
        return self.second if self.difference > 0 else self.first


@dataclass(frozen=True, slots=True)
class Comparison:
    """Every contrast of some sides."""

    sides: tuple[Side, ...]
    contrasts: tuple[Contrast, ...]
    """Pair of sides by pair of sides; within a pair in the order of the first side's suites and metrics."""
    seed: int
    warnings: tuple[str, ...] = ()
    """About suites that were left out, or that were not asked in the same way."""

    @property
    def tests(self) -> int:
        """How many tests Holm's correction is for: all of them."""
        return len(self.contrasts)


@dataclass(frozen=True, slots=True)
class Choice:
    """What is compared of what the sides share, and how."""

    suites: Sequence[str] = ()
    """Names; `*` and `?` stand for any characters. All, where there is none."""
    metrics: Sequence[str] = ()
    """Likewise; without one, those that a suite names as its headlines."""
    all_pairs: bool = False
    """Every two sides; else each with the first."""
    pool: bool = False
    """One more contrast for each suite with several right-or-wrong metrics, over all of them, clustered by item;
    and one over all suites."""
    items: int = 0
    """Disagreements to list with each contrast."""
    interval: IntervalKind = "t"
    """Of means; the interval of right or wrong, one outcome an item, is always Tango's."""
    seed: int = 0
    skip: int = 0
    """Disagreements to pass over before those that are listed."""


def compare(
    store: Store,
    sides: Sequence[Sequence[int]],
    choice: Choice | None = None,
    steps: Sequence[Sequence[float]] | None = None,
    loader: _shared.ResultLoader | None = None,
) -> Comparison:
    """The contrasts of each side with the first, or of every two; a side is the numbers of its runs.

    If the steps of each side's runs are given, every step counts the same, however many of the runs are of it. A
    `loader` that several comparisons share reads each run once.
    """
    choice = choice or Choice()
    labels = [_label(place) for place in range(len(sides))]
    couples = [(a, b) for a, b in combinations(range(len(sides)), 2) if choice.all_pairs or a == 0]
    loader = loader or _shared.ResultLoader(store.reader)
    shared = _shared.share(loader, sides, choice.suites, labels)
    work = _Work(store.reader, _name_sides(shared.sides, labels), choice)
    parts: dict[tuple[int, int], list[_Part]] = {couple: [] for couple in couples}
    loader.columns.load(stored for test in shared.tests for side in test.results.values() for stored in side)
    for test in shared.tests:
        columns = {place: [loader.columns.columns(stored) for stored in side] for place, side in test.results.items()}
        metrics = _shared.choose(test, columns, choice.metrics)
        for couple in couples:
            of = None if steps is None else (steps[couple[0]], steps[couple[1]])
            parts[couple] += _paired(test, columns, couple, metrics, of)
    tests = [(couple, *test) for couple in couples for test in work.tests(parts[couple])]
    if not tests:
        raise _shared.nothing_to_compare(store.reader, shared.tests, choice.metrics)
    found = [work.contrast(*test, tests=len(tests)) for test in tests]
    corrected = holm([contrast.p for contrast in found])
    contrasts = tuple(replace(contrast, p_holm=p) for contrast, p in zip(found, corrected, strict=True))
    return Comparison(work.sides, contrasts, choice.seed, shared.warnings)


@dataclass(frozen=True, slots=True)
class _Part:
    """The paired outcomes of one metric of a suite."""

    test: _shared.Test
    metric: str
    rows: _pairing.Paired
    non_finite: int


@dataclass(frozen=True, slots=True)
class _Work:
    """What every contrast is made with."""

    reader: RunReader
    sides: tuple[Side, ...]
    choice: Choice

    def tests(self, parts: Sequence[_Part]) -> Iterator[tuple[Sequence[_Part], str, str]]:
        """Parts, suite and metric of each contrast: suite by suite each metric, then what is pooled of these."""
        together: list[_Part] = []
        suites = [list(some) for _, some in groupby(parts, key=lambda part: part.test)]
        for some in suites:
            for part in some:
                yield [part], part.test.name, part.metric
            # What sums up other metrics says nothing that each does not.
            summary = registry.offered("families", some[0].test.kind, "SUMMARY")
            judged = [part for part in some if part.rows.judged and part.metric != summary]
            together += judged
            if self.choice.pool and len(judged) > 1:
                yield judged, some[0].test.name, _pattern([part.metric for part in judged])
        if self.choice.pool and len(suites) > 1 and together:
            yield together, EVERYTHING, _pattern([part.metric for part in together])

    def contrast(
        self, couple: tuple[int, int], parts: Sequence[_Part], suite: str, metric: str, *, tests: int
    ) -> Contrast:
        """Two sides on one metric, or on several together; Holm's correction is still to come."""
        rows = parts[0].rows if len(parts) == 1 else _pairing.pooled([(part.test.name, part.rows) for part in parts])
        clusters = _pairing.cluster(rows)
        verdict = _pairing.judge(rows, clusters, self.choice.interval, self.choice.seed, tests)
        first, second = (self.sides[place] for place in couple)
        values = [float(side.mean()) for side in (rows.first, rows.second)]
        counts = _counts(rows) if rows.judged and len(rows.first) == len(rows.second) == 1 else (None,) * 4
        # An item of numbers is one outcome: the mean over its cluster would not fit its details.
        listed = rows if rows.judged else replace(rows, units=np.arange(len(rows.units)))
        items = clusters if rows.judged else _pairing.cluster(listed)
        results = [stored.result for part in parts for place in couple for stored in part.test.results[place]]
        return Contrast(
            suite=suite,
            kind=parts[0].test.kind if len({part.test.kind for part in parts}) == 1 else "",
            metric=metric,
            reading=parts[0].test.first.result.metric(metric).meaning or _reading(parts),
            first=first,
            second=second,
            share=rows.judged,
            n=len(rows.units),
            items=len(clusters.units),
            value_first=values[0],
            value_second=values[1],
            difference=_rounded(values[1] - values[0]),
            low=verdict.low,
            high=verdict.high,
            interval_method=verdict.interval_method,
            p=verdict.tested.p,
            p_holm=verdict.tested.p,
            method=verdict.tested.method,
            both=counts[0],
            only_first=counts[1],
            only_second=counts[2],
            neither=counts[3],
            disagreeing=int((items.apart > TINY).sum()),
            disagreements=tuple(self._disagreements(couple, parts, listed, items)),
            spread_first=_spread(rows.first, first),
            spread_second=_spread(rows.second, second),
            signatures=tuple(dict.fromkeys(result.signature for result in results)),
            warnings=tuple(_warnings(parts, rows, (first, second))),
        )

    def _disagreements(
        self, couple: tuple[int, int], parts: Sequence[_Part], rows: _pairing.Paired, clusters: _pairing.Clusters
    ) -> Iterator[Disagreement]:
        """The items that differ most; with their details where one metric is compared."""
        listed = slice(self.choice.skip, self.choice.skip + self.choice.items)
        order = np.argsort(-clusters.apart / clusters.sizes, kind="stable")[listed]
        chosen = [int(place) for place in order if clusters.apart[place] > TINY]
        lengths = np.cumsum([len(part.rows.units) for part in parts])
        several = len({part.test.name for part in parts}) > 1
        for number in chosen:
            mine = slice(number, number + 1) if clusters.single else rows.units == clusters.units[number]
            values = [float(side[:, mine].mean()) for side in (rows.first, rows.second)]
            row = int(clusters.firsts[number])
            part = parts[int(np.searchsorted(lengths, row, side="right"))]
            positions = rows.positions[row].tolist()
            tables = [self.reader.rows(part.test.results[place][0].id) for place in couple]
            first, second = (table.at(position).outcome for table, position in zip(tables, positions, strict=True))
            if len(parts) > 1:
                yield Disagreement(f"{part.test.name}: {first.item}" if several else first.item, values[0], values[1])
            else:
                yield Disagreement(first.item, values[0], values[1], first.groups, first.detail, second.detail)


def _label(place: int) -> str:
    """The letter of a side, with a number from the second alphabet on."""
    turn, letter = divmod(place, 26)
    return chr(ord("A") + letter) + (str(turn + 1) if turn else "")


def _name_sides(sides: Sequence[Sequence[Run]], labels: Sequence[str]) -> tuple[Side, ...]:
    """The sides by their models; with the numbers of their runs where that leaves any doubt."""
    names = [_common([run.model for run in side]) for side in sides]
    named = []
    for label, side, name in zip(labels, sides, names, strict=True):
        numbers = ", ".join(str(run.id) for run in side)
        if len(side) > 1:
            name = f"{name} (mean of runs {numbers})"
        elif names.count(name) > 1:
            name = f"{name} (run {numbers})"
        named.append(Side(label, name, tuple(run.id for run in side), tuple(run.model for run in side)))
    return tuple(named)


def _common(models: Sequence[str]) -> str:
    """What models are all called by: their name, or how their names begin and an ellipsis."""
    if len(set(models)) == 1:
        return models[0]
    start = _start(models).rstrip("-_@/.")
    return f"{start}…" if "/" in start else "several models"


def _paired(
    test: _shared.Test,
    columns: Mapping[int, Sequence[Mapping[str, _pairing.MetricColumn]]],
    couple: tuple[int, int],
    metrics: Sequence[str],
    steps: tuple[Sequence[float], Sequence[float]] | None,
) -> Iterator[_Part]:
    """The outcomes of two sides, for each metric that all their runs have."""
    if not all(place in columns for place in couple):
        return
    for metric in metrics:
        sides = [[run[metric] for run in columns[place] if metric in run] for place in couple]
        if all(len(side) == len(columns[place]) for side, place in zip(sides, couple, strict=True)):
            rows = _pairing.pair(sides[0], sides[1], steps)
            if len(rows.units):
                yield _Part(test, metric, rows, sum(column.non_finite for side in sides for column in side))


def _counts(rows: _pairing.Paired) -> tuple[int, int, int, int]:
    """Both right, only the first, only the second, neither."""
    first, second = rows.first[0] > 0, rows.second[0] > 0
    return (
        int(np.sum(first & second)),
        int(np.sum(first & ~second)),
        int(np.sum(~first & second)),
        int(np.sum(~first & ~second)),
    )


def _spread(values: _pairing.Floats, side: Side) -> Spread | None:
    if len(values) == 1 or len(values) != len(side.runs):
        return None
    means = tuple(float(run.mean()) for run in values)
    return Spread(means, stdev(means))


def _rounded(difference: float) -> float:
    """0 where there is nothing but rounding."""
    return difference if abs(difference) > TINY else 0.0


def _pattern(metrics: Sequence[str]) -> str:
    """A name for several metrics together: how they all begin, or `*`."""
    several = list(dict.fromkeys(metrics))
    return several[0] if len(several) == 1 else f"{_start(several)}*"


def _start(names: Sequence[str]) -> str:
    """How all names begin."""
    return "".join(
        letters[0] for letters in takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    )


def _reading(parts: Sequence[_Part]) -> str:
    if len(parts) == 1:
        return ""
    metrics = list(dict.fromkeys(part.metric for part in parts))
    return f"{', '.join(metrics) if len(metrics) <= 4 else f'{len(metrics)} metrics'} together, clustered by item"


def _warnings(parts: Sequence[_Part], rows: _pairing.Paired, sides: tuple[Side, Side]) -> Iterator[str]:
    for side, count in zip(sides, rows.left_out, strict=True):
        if count:
            outcomes = f"{count:,} outcome{'s' * (count != 1)}"
            yield f"{outcomes} of {side.label} left out: the other has none to compare with"
    if left := sum(part.non_finite for part in parts):
        yield f"{left:,} value{'s' * (left != 1)} left out: no finite number"
