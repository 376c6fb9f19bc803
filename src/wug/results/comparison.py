"""Paired comparison of models on the items that they share.

A side is a run, or several runs of one model (seeds, checkpoints). Each suite and metric that two sides share is one
contrast: the difference, second minus first, with an interval and a p-value.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, groupby, takewhile
from statistics import stdev

import numpy as np

from wug import registry
from wug.arrays import Floats
from wug.formatting import plural
from wug.outcomes import Outcome
from wug.results.contrasts import Contrast, Disagreement, RunComparison, Side, Spread
from wug.results.pairing import Clusters, Paired, cluster, judge, pair, pooled, unpaired_contrasts
from wug.results.records import Run
from wug.results.result_loader import ComparedRuns, MetricColumn, ResultLoader
from wug.results.shared_items import SharedSuite, choose_metrics, find_shared_suites, no_shared_outcomes
from wug.results.store import Store
from wug.stats_paired import IntervalKind, holm

FEW_ITEMS = 200
"""Outcomes of results with no more items stay in memory, where several contrasts list some of them."""
EVERYTHING = "all suites"
"""The suite of a contrast that pools several suites."""
ROUNDING = 1e-12
"""Smaller differences are rounding errors."""


@dataclass(frozen=True, slots=True)
class ComparisonSettings:
    """What to compare, and how."""

    suites: Sequence[str] = ()
    """Names with wildcards `*` and `?`; empty for all."""
    metrics: Sequence[str] = ()
    """Likewise; empty for the headline metrics of each suite."""
    all_pairs: bool = False
    """Compare all pairs of sides; otherwise each side with the first."""
    pool: bool = False
    """Add one contrast per suite that pools its right-or-wrong metrics, clustered by item, and one that pools all
    suites."""
    items: int = 0
    """Disagreements to list per contrast."""
    interval: IntervalKind = "t"
    """For means; right or wrong with one outcome per item always has Tango's interval."""
    seed: int = 0
    skip: int = 0
    """Disagreements to skip before those that are listed."""
    newest: Collection[int] = ()
    """Places of sides whose runs are not replicates: the newest result of any of them on each suite is compared."""


def compare(store: Store, sides: Sequence[Sequence[int]], settings: ComparisonSettings | None = None) -> RunComparison:
    """Compare runs of a store: each side with the first, or all pairs; a side is given by the numbers of its runs.

    The sides of a single run are its results of the same suite, such as those of several methods.
    """
    return compare_loaded(ResultLoader(store.reader), sides, settings or ComparisonSettings())


def compare_loaded(
    loader: ResultLoader,
    sides: Sequence[Sequence[int]],
    settings: ComparisonSettings,
    steps: Sequence[Sequence[float]] | None = None,
) -> RunComparison:
    """Compare runs that `loader` reads, as `compare` does; a loader that several comparisons share reads each run once.

    With the training steps of each side's runs, every step has the same weight, whatever its number of runs.
    """
    labels = [side_label(side_number) for side_number in range(len(sides))]
    shared = find_shared_suites(loader, sides, settings.suites, labels, settings.newest)
    side_pairs = [(a, b) for a, b in combinations(range(len(shared.sides)), 2) if settings.all_pairs or a == 0]
    builder = _ContrastBuilder(loader.reader, _name_sides(shared.sides, shared.names, settings.newest), settings)
    paired: dict[tuple[int, int], list[_PairedMetric]] = {side_pair: [] for side_pair in side_pairs}
    loader.load_columns(stored for suite in shared.suites for side in suite.results.values() for stored in side)
    for suite in shared.suites:
        columns = {side: [loader.columns(stored) for stored in runs] for side, runs in suite.results.items()}
        every = (run for side in columns.values() for run in side)
        metrics = choose_metrics(suite.first.result, every, settings.metrics)
        for side_pair in side_pairs:
            steps_of_pair = None if steps is None else (steps[side_pair[0]], steps[side_pair[1]])
            paired[side_pair] += _paired(suite, columns, side_pair, metrics, steps_of_pair)
    tests = [(side_pair, *test) for side_pair in side_pairs for test in builder.tests(paired[side_pair])]
    found = [builder.contrast(*test, tests=len(tests)) for test in tests]
    found += [
        contrast
        for side_pair in side_pairs
        for suite in shared.suites
        if not any(part.suite is suite for part in paired[side_pair])
        and not all(loader.columns(stored) for side in side_pair for stored in suite.results.get(side, ()))
        for contrast in unpaired_contrasts(suite, builder.sides, side_pair, settings.metrics)
    ]
    if not found:
        raise no_shared_outcomes(loader.reader, shared.suites, settings.metrics)
    corrected = holm([contrast.p for contrast in found])
    contrasts = tuple(replace(contrast, p_holm=p) for contrast, p in zip(found, corrected, strict=True))
    return RunComparison(builder.sides, contrasts, settings.seed, shared.warnings)


@dataclass(frozen=True, slots=True)
class _PairedMetric:
    """The paired outcomes of one metric of a suite."""

    suite: SharedSuite
    metric: str
    rows: Paired
    non_finite: int


@dataclass(frozen=True, slots=True)
class _ContrastBuilder:
    """What all contrasts share."""

    reader: ComparedRuns
    sides: tuple[Side, ...]
    settings: ComparisonSettings

    def tests(self, parts: Sequence[_PairedMetric]) -> Iterator[tuple[Sequence[_PairedMetric], str, str]]:
        """Parts, suite and metric of each contrast: suite by suite each metric, then the pooled ones."""
        together: list[_PairedMetric] = []
        suites = [list(of_suite) for _, of_suite in groupby(parts, key=lambda part: part.suite)]
        for of_suite in suites:
            for part in of_suite:
                yield [part], part.suite.name, part.metric
            # A metric that summarises the others would count them twice.
            summary = registry.family_traits(of_suite[0].suite.kind).summary
            judged = [part for part in of_suite if part.rows.judged and part.metric != summary]
            together += judged
            if self.settings.pool and len(judged) > 1:
                yield judged, of_suite[0].suite.name, _pattern([part.metric for part in judged])
        if self.settings.pool and len(suites) > 1 and together:
            yield together, EVERYTHING, _pattern([part.metric for part in together])

    def contrast(
        self, side_pair: tuple[int, int], parts: Sequence[_PairedMetric], suite: str, metric: str, *, tests: int
    ) -> Contrast:
        """The contrast of two sides on one metric or on pooled metrics, before Holm's correction."""
        rows = parts[0].rows if len(parts) == 1 else pooled([(part.suite.name, part.rows) for part in parts])
        clusters = cluster(rows)
        verdict = judge(rows, clusters, self.settings.interval, self.settings.seed, tests)
        first, second = (self.sides[side_number] for side_number in side_pair)
        values = [float(side.mean()) for side in (rows.first, rows.second)]
        difference = values[1] - values[0]
        counts = rows.counts if rows.binary and len(rows.first) == len(rows.second) == 1 else (None,) * 4
        # An item of numbers is one outcome: the mean over its cluster would not fit its details.
        listed = rows if rows.judged else rows._replace(units=np.arange(len(rows.units)))
        items = clusters if rows.judged else cluster(listed)
        results = [stored.result for part in parts for number in side_pair for stored in part.suite.results[number]]
        directions = {part.suite.first.result.metric(part.metric).better for part in parts}
        return Contrast(
            suite=suite,
            kind=parts[0].suite.kind if len({part.suite.kind for part in parts}) == 1 else "",
            metric=metric,
            meaning=parts[0].suite.first.result.metric(metric).meaning or _meaning(parts),
            first=first,
            second=second,
            share=rows.judged,
            better=directions.pop() if len(directions) == 1 else "neither",
            n=len(rows.units),
            items=len(clusters.units),
            value_first=values[0],
            value_second=values[1],
            difference=difference if abs(difference) > ROUNDING else 0.0,
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
            disagreeing=int((items.absolute_difference > ROUNDING).sum()),
            disagreements=tuple(self._disagreements(side_pair, parts, listed, items)),
            spread_first=_spread(rows.first, first),
            spread_second=_spread(rows.second, second),
            signatures=tuple(dict.fromkeys(result.signature for result in results)),
            warnings=tuple(_warnings(parts, rows, (first, second))),
        )

    def _disagreements(
        self,
        side_pair: tuple[int, int],
        parts: Sequence[_PairedMetric],
        rows: Paired,
        clusters: Clusters,
    ) -> Iterator[Disagreement]:
        """The items that differ most; with details if one metric is compared."""
        listed = slice(self.settings.skip, self.settings.skip + self.settings.items)
        order = np.argsort(-clusters.absolute_difference / clusters.sizes, kind="stable")[listed]
        chosen = [int(index) for index in order if clusters.absolute_difference[index] > ROUNDING]
        lengths = np.cumsum([len(part.rows.units) for part in parts])
        several = len({part.suite.name for part in parts}) > 1
        rows_of = {number: int(clusters.firsts[number]) for number in chosen}
        part_of = {number: int(np.searchsorted(lengths, row, side="right")) for number, row in rows_of.items()}
        outcomes: dict[int, list[Outcome]] = {number: [] for number in chosen}
        for index, part in enumerate(parts):
            own = [number for number in chosen if part_of[number] == index]
            for side, stored in enumerate(part.suite.results[one][0] for one in side_pair if own):
                positions = [int(rows.positions[rows_of[number], side]) for number in own]
                rows_read = self.reader.rows(stored.id, keep=stored.result.n <= FEW_ITEMS).read(positions)
                for number, read in zip(own, rows_read, strict=True):
                    outcomes[number].append(read.outcome)
        for number in chosen:
            mine = slice(number, number + 1) if clusters.single else rows.units == clusters.units[number]
            values = [float(side[:, mine].mean()) for side in (rows.first, rows.second)]
            first, second = outcomes[number]
            if len(parts) > 1:
                name = parts[part_of[number]].suite.name
                yield Disagreement(f"{name}: {first.item}" if several else first.item, values[0], values[1])
            else:
                yield Disagreement(first.item, values[0], values[1], first.groups, first.detail, second.detail)


def side_label(index: int) -> str:
    """The letter of a side, followed by a number after Z."""
    turn, letter = divmod(index, 26)
    return chr(ord("A") + letter) + (str(turn + 1) if turn else "")


def _name_sides(sides: Sequence[Sequence[Run]], names: Sequence[str], newest: Collection[int] = ()) -> tuple[Side, ...]:
    """The sides with the given names, or named by their models, with run numbers if names repeat."""
    names = list(names) or [_common([run.model for run in side]) for side in sides]
    labels = map(side_label, range(len(sides)))
    named = []
    for side_number, (label, side, name) in enumerate(zip(labels, sides, names, strict=True)):
        numbers = ", ".join(str(run.id) for run in side)
        if len(side) > 1 and side_number not in newest:
            name = f"{name} (mean of runs {numbers})"
        elif names.count(name) > 1:
            name = f"{name} (run {numbers})"
        runs, models = tuple(run.id for run in side), tuple(run.model for run in side)
        named.append(Side(label, name, runs, models, side_number in newest))
    return tuple(named)


def _common(models: Sequence[str]) -> str:
    """The common name of models: their name, or the common beginning and an ellipsis."""
    if len(set(models)) == 1:
        return models[0]
    start = _prefix(models).rstrip("-_@/.")
    return f"{start}…" if "/" in start else "several models"


def _paired(
    suite: SharedSuite,
    columns: Mapping[int, Sequence[Mapping[str, MetricColumn]]],
    side_pair: tuple[int, int],
    metrics: Sequence[str],
    steps: tuple[Sequence[float], Sequence[float]] | None,
) -> Iterator[_PairedMetric]:
    """The paired outcomes of two sides, for each metric that all their runs have."""
    if not all(side_number in columns for side_number in side_pair):
        return
    for metric in metrics:
        sides = [[run[metric] for run in columns[side_number] if metric in run] for side_number in side_pair]
        if all(len(side) == len(columns[side_number]) for side, side_number in zip(sides, side_pair, strict=True)):
            rows = pair(sides[0], sides[1], steps)
            if len(rows.units):
                yield _PairedMetric(suite, metric, rows, sum(column.non_finite for side in sides for column in side))


def _spread(values: Floats, side: Side) -> Spread | None:
    if len(values) == 1 or len(values) != len(side.runs):
        return None
    means = tuple(float(run.mean()) for run in values)
    return Spread(means, stdev(means))


def _pattern(metrics: Sequence[str]) -> str:
    """The name of pooled metrics: their common beginning and `*`."""
    several = list(dict.fromkeys(metrics))
    return several[0] if len(several) == 1 else f"{_prefix(several)}*"


def _prefix(names: Sequence[str]) -> str:
    return "".join(part[0] for part in takewhile(lambda part: len(set(part)) == 1, zip(*names, strict=False)))


def _meaning(parts: Sequence[_PairedMetric]) -> str:
    if len(parts) == 1:
        return parts[0].suite.first.result.metric(parts[0].metric).meaning
    metrics = list(dict.fromkeys(part.metric for part in parts))
    return f"{', '.join(metrics) if len(metrics) <= 4 else f'{len(metrics)} metrics'} pooled, clustered by item"


def _warnings(parts: Sequence[_PairedMetric], rows: Paired, sides: tuple[Side, Side]) -> Iterator[str]:
    for side, count in zip(sides, rows.left_out, strict=True):
        if count:
            yield f"{plural(count, 'outcome')} of {side.label} left out: the other side does not have them"
    if left := sum(part.non_finite for part in parts):
        yield f"{plural(left, 'value')} left out: not finite"
