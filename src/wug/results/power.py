"""How many items a metric needs, from the results of one run (interval width) or two (difference)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from wug import stats_paired as power
from wug.errors import InputError
from wug.patterns import matches, require_matches
from wug.results import pairing, shared_items
from wug.results.result_loader import ResultLoader
from wug.results.store import Store

SHARE_WIDTH, MEAN_WIDTH = 0.1, 1.0
"""The wanted width of an interval, unless the user names one: 10 percentage points, 1 bit."""


class PowerWanted(NamedTuple):
    """What the number of items is computed for."""

    width: float | None = None
    """Of the 95% interval; None: 0.1 for proportions and 1 for other numbers."""
    difference: float | None = None
    """Between two models; None: the observed one."""
    power: float = 0.8
    suites: Sequence[str] = ()
    metrics: Sequence[str] = ()


class NeededItems(NamedTuple):
    """The number of items that one metric of a suite needs."""

    suite: str
    kind: str
    metric: str
    share: bool
    value: float
    """The mean of one run; for two runs, the difference of the second from the first."""
    deviation: float
    """The standard deviation of items, or of their differences; for judgements of two runs, the proportion of items
    on which they differ."""
    items: int
    """In the runs."""
    wanted: float
    """The width or the difference that is wanted."""
    paired: bool
    now: float = 0.0
    """The width of the interval with these items, or the power."""
    needed: int | None = None
    """Items; None: more than `MAX_ITEMS`, or no number is enough."""

    def curve(self, items: int) -> float:
        """The width of the interval, or the power, with another number of items."""
        if self.paired:
            find = power.mcnemar_power if self.share else power.paired_power
            return find(self.wanted, self.deviation, items)
        return power.share_width(self.value, items) if self.share else power.mean_width(self.deviation, items)


def needed_items(store: Store, runs: Sequence[int], wanted: PowerWanted) -> list[NeededItems]:
    """The number of items that each metric of each suite needs, from one run or two."""
    if len(runs) not in (1, 2):
        raise InputError("name one run, for the width of intervals, or two, for their difference: wug power 1 2")
    if not 0 < wanted.power < 1:
        raise InputError(f"power={wanted.power}: write a number between 0 and 1, such as 0.8")
    if any(number is not None and number <= 0 for number in (wanted.width, wanted.difference)):
        raise InputError("a wanted width or difference is a number greater than 0")
    loader = ResultLoader(store.reader)
    answers = list(_two_runs(loader, runs, wanted) if len(runs) == 2 else _one_run(loader, runs[0], wanted))
    if not answers:
        metrics = {metric.name for run in runs for one in loader.results([run])[run] for metric in one.result.metrics}
        require_matches("metric", wanted.metrics, metrics)
        raise InputError("no metric has values for two items or more")
    return answers


def _one_run(loader: ResultLoader, run: int, wanted: PowerWanted) -> Iterator[NeededItems]:
    """The items that intervals of a wanted width take."""
    shared_items.find_runs(loader, [run])
    results = loader.results([run])[run]
    require_matches("suite", wanted.suites, (stored.result.suite for stored in results))
    for stored in results:
        suite = stored.result.suite
        if not matches(suite, wanted.suites):
            continue
        columns = loader.columns(stored)
        for metric in shared_items.choose_metrics(stored.result, [columns], wanted.metrics):
            column = columns[metric]
            values = pairing.item_means(column).values
            share = column.judged and len(values) == len(column.values)
            width = wanted.width or (SHARE_WIDTH if share else MEAN_WIDTH)
            if len(values) > 1:
                mean, deviation = float(values.mean()), float(values.std(ddof=1))
                names = (suite, stored.result.kind, metric)
                observed = NeededItems(*names, share, mean, deviation, len(values), width, paired=False)
                yield _with_needed(observed, wanted.power)


def _two_runs(loader: ResultLoader, runs: Sequence[int], wanted: PowerWanted) -> Iterator[NeededItems]:
    """The items that a difference between two runs takes."""
    shared = shared_items.find_shared_suites(loader, [[run] for run in runs], wanted.suites, ("A", "B"))
    for suite in shared.suites:
        both = [loader.columns(suite.results[side][0]) for side in (0, 1)]
        for metric in shared_items.choose_metrics(suite.first.result, both, wanted.metrics):
            if not all(metric in each for each in both):
                continue
            rows = pairing.pair([both[0][metric]], [both[1][metric]])
            clusters = pairing.cluster(rows)
            share = rows.judged and clusters.single
            differences = clusters.sums / clusters.sizes
            if len(differences) < 2:
                continue
            mean = float(differences.mean())
            spread = float(np.mean(differences != 0) if share else differences.std(ddof=1))
            difference = wanted.difference or abs(mean)
            names = (suite.name, suite.first.result.kind, metric)
            observed = NeededItems(*names, share, mean, spread, len(differences), difference, paired=True)
            yield _with_needed(observed, wanted.power)


def _with_needed(observed: NeededItems, chance: float) -> NeededItems:
    """The record with the width or power now, and the items that are needed."""
    wanted = observed.wanted
    if observed.share and wanted > 1:
        raise InputError(f"{wanted:g} is more than 100%, and {observed.metric} is a proportion: write one, such as 0.1")

    def is_enough(items: int) -> bool:
        value = observed.curve(items)
        return value >= chance if observed.paired else value <= wanted

    return observed._replace(now=observed.curve(observed.items), needed=power.min_items(is_enough) if wanted else None)
