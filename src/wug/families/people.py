"""How far people agree: with the labels of a set, with each other, and in their ratings.

An item's responses are those that can be used; a rater who judged an item several times counts once, with the mean.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import numpy.typing as npt

from wug.arrays import Floats
from wug.families.commands import ScoredTable
from wug.families.correlations import pearson
from wug.families.people_tables import BLIMP_ITEMS, PeopleData, read_people
from wug.files import checksum, checksum_of, read_bytes
from wug.formatting import plural
from wug.identity import OVERALL
from wug.outcomes import Estimate, Metric, Notice, Outcome, SuiteOutput
from wug.record_tables import stem
from wug.stats import mean_interval, ratio_interval, wilson

SPLITS = 1000
SPLIT_SEED = 0
MIN_CORRELATED_ITEMS = 3
_TIE = 1e-9
"""Shares that differ by less are equal: means of repeated responses are rounded."""
CHOICE_METRICS = (
    Metric("majority_agreement", meaning="items with a majority of responses for the label; ties fail"),
    Metric("item_agreement", meaning="the mean over items of the proportion of responses that agree with the label"),
    Metric("agreement", headline=False, meaning="responses that agree with the label"),
    Metric("paradigm_agreement", headline=False, meaning="the mean of the agreement in each paradigm"),
    Metric("leave_one_out", meaning="responses that agree with the majority of the other raters; a tie counts half"),
    Metric("ties", "count", "lower", headline=False, meaning="items without a majority"),
)
RATING_METRICS = (
    Metric("rating_difference_z", "score", meaning="mean z score of good sentences minus that of bad ones, per pair"),
    Metric("rating_preference", meaning="pairs whose good sentence has the higher mean z score"),
    Metric("rating_good", "score", "neither", headline=False, meaning="mean rating of good sentences"),
    Metric("rating_bad", "score", "neither", headline=False, meaning="mean rating of bad sentences"),
)
RATERS = (
    Metric("raters", "count", "neither", headline=False, meaning="median number of raters per item or sentence"),
    Metric("raters_min", "count", "neither", headline=False, meaning="smallest number of raters per item or sentence"),
    Metric("raters_max", "count", "neither", headline=False, meaning="largest number of raters per item or sentence"),
)
CEILINGS = (
    Metric("split_half", "score", meaning="Spearman-Brown reliability of item means, from random halves of the raters"),
    Metric("noise_ceiling", "score", meaning="the correlation that a perfect model of the mean response could reach"),
)


def score_people(path: Path, options: Mapping[str, str]) -> tuple[ScoredTable, str, list[SuiteOutput]]:
    """The agreement of people in a file, read with `PEOPLE_OPTIONS`: a suite, the id of the people, and estimates."""
    data = read_people(path, options)
    metrics: tuple[Metric, ...]
    if data.counts:
        rows, metrics = list(_summary_rows(data)), tuple(replace(one, headline=True) for one in CHOICE_METRICS)
    elif data.rated:
        rows, metrics = list(_rating_rows(data)), (*RATING_METRICS, *RATERS, *CEILINGS)
    else:
        rows, metrics = list(_choice_rows(data)), (*CHOICE_METRICS, *RATERS, *CEILINGS)
    used = {row.metric for row in rows if not isinstance(row, Notice)}
    items = checksum_of([*(one.name for one in data.items), *(one.name for one in data.counts)])
    suite = ScoredTable(
        stem(path),
        "people",
        items,
        {"format": data.format, **options},
        [metric for metric in metrics if metric.name in used],
        len(data.items) or len(data.counts),
        {"format": data.format, "responses": len(data.responses) or sum(one.responses for one in data.counts)},
    )
    return suite, f"people/{stem(path)}@{checksum(read_bytes(path))}", [*rows, *map(Notice, data.notices)]


def _choice_rows(data: PeopleData) -> Iterator[SuiteOutput]:
    cells = RaterMeans(data)
    judged, majorities, margins = cells.judged, 2 * cells.agreeing - cells.raters, cells.human_margins()
    for index in judged:
        item = data.items[index]
        texts = {"good": item.good, "bad": item.bad} if item.good else {}
        detail = {**texts, "human": float(margins[index]), "responses": int(cells.sizes[index])}
        yield Outcome(item.name, "majority_agreement", bool(majorities[index] >= _TIE), item.groups, detail)
        yield Outcome(
            item.name, "item_agreement", float(cells.agreeing[index] / cells.raters[index]), item.groups, detail
        )
    yield _ratio("agreement", cells.agreeing[judged], cells.raters[judged], len(data.responses))
    yield from _paradigm_agreement(data, cells)
    yield from cells.leave_one_out()
    ties = int((np.abs(majorities[judged]) < _TIE).sum())
    yield Estimate("ties", OVERALL, float(ties), len(judged))
    yield from cells.ceilings()
    if ties:
        yield Notice(f"{plural(ties, 'item')} tied, counted as failures")
    yield from _response_rows(data, cells)


class RaterMeans:
    """The responses of a rater to an item, or to a sentence of it for ratings, as one cell with their mean."""

    def __init__(self, data: PeopleData) -> None:
        self.rated = data.rated
        known: dict[str | int, int] = {}  # a response without a rater has a separate one
        names = (n if one.rater is None else one.rater for n, one in enumerate(data.responses))
        who = np.array([known.setdefault(name, len(known)) for name in names], np.int64)
        sides, width = 2 if data.rated else 1, len(known)
        self.items = np.array([sides * one.item + (sides > 1 and not one.good) for one in data.responses], np.int64)
        self.values: Floats = np.array([one.value for one in data.responses], np.float64)
        keys, self.cell_of = np.unique(self.items * width + who, return_inverse=True)
        self.cell_items = keys // width
        self.cell_raters = keys % width
        self.cell_sizes = np.bincount(self.cell_of)
        self.cell_means: Floats = np.bincount(self.cell_of, weights=self.values) / self.cell_sizes
        count = len(data.items) * sides
        self.agreeing: Floats = np.bincount(self.cell_items, self.cell_means, count).astype(np.float64)
        self.raters: Floats = np.maximum(np.bincount(self.cell_items, minlength=count), _TIE).astype(np.float64)
        self.sizes = np.bincount(self.items, minlength=count)
        self.judged: list[int] = np.flatnonzero(self.sizes).tolist()
        self.scores, self.constant = _z_scores(self) if data.rated and not data.z_scored else (self.cell_means, 0)
        """What each cell says: a z score, NaN for a rater without one; for choices the mean."""

    def human_margins(self) -> Floats:
        """By how much people prefer the good sentence of each item; NaN without usable responses to it.

        The difference of the mean z scores; for choices, twice the proportion that agrees with the label, minus 1.
        """
        usable = np.isfinite(self.scores)
        items, count = self.cell_items[usable], len(self.sizes)
        raters = np.bincount(items, minlength=count)
        means = np.bincount(items, self.scores[usable], count) / np.where(raters > 0, raters, np.nan)
        return means[::2] - means[1::2] if self.rated else 2 * means - 1

    def ceilings(self, pairs: Collection[int] | None = None) -> Iterator[SuiteOutput]:
        """Split-half reliability and noise ceiling of the means of all items, or of the margins of some pairs.

        The margins of ratings are differences: a rater of both sentences of a pair is in the same half for both.
        """
        sides = 2 if self.rated and pairs is not None else 1
        usable = np.isfinite(self.scores)
        if pairs is not None:
            usable &= np.isin(self.cell_items // sides, list(pairs))
        items, width = self.cell_items[usable], int(self.cell_raters.max()) + 1
        keys, at = np.unique(items // sides * width + self.cell_raters[usable], return_inverse=True)
        _, starts, rows, sizes = np.unique(keys // width, return_index=True, return_inverse=True, return_counts=True)
        padded = np.full((sides, len(sizes), sizes.max(initial=0)), np.nan)
        padded[items % sides, rows[at], (np.arange(len(keys)) - starts[rows])[at]] = self.scores[usable]
        has_several_raters = (np.isfinite(padded).sum(axis=2) > 1).all(axis=0)
        yield from _ceilings(padded[:, has_several_raters])

    def notices(self) -> Iterator[str]:
        """Raters who judged something twice, or who cannot be used."""
        what = "sentence" if self.rated else "item"
        if again := int((self.cell_sizes > 1).sum()):
            yield f"{plural(again, 'case')} of a rater judging the same {what} more than once: the mean counts"
        if self.constant:
            yield f"{plural(self.constant, 'rater')} left out of the z scores: all ratings are equal"

    def leave_one_out(self) -> Iterator[Estimate]:
        """The agreement of each response with the majority of the other raters; nothing with one rater per item."""
        own_means = self.cell_means[self.cell_of]
        others = self.raters[self.items] - 1
        doubled = 2 * (self.agreeing[self.items] - own_means) - others
        agrees = np.where(np.abs(doubled) < _TIE, 0.5, np.where(doubled > 0, self.values, 1 - self.values))
        has_others = others > 0.5
        if has_others.any():
            tops = np.bincount(self.items[has_others], agrees[has_others]).astype(np.float64)
            bottoms = np.bincount(self.items[has_others]).astype(np.float64)
            yield _ratio("leave_one_out", tops[bottoms > 0], bottoms[bottoms > 0], int(has_others.sum()))


def _ratio(metric: str, tops: Floats, bottoms: Floats, n: int) -> Estimate:
    """A share of responses, with an interval by item."""
    interval_result = ratio_interval(tops, bottoms)
    value = float(tops.sum() / bottoms.sum())
    method = interval_result.method if interval_result.interval is None else f"{interval_result.method}, by item"
    return Estimate.of(metric, OVERALL, value, n, interval_result.interval, method)


def _paradigm_agreement(data: PeopleData, cells: RaterMeans) -> Iterator[Estimate]:
    paradigms: dict[str, list[int]] = {}
    for index in cells.judged:
        if paradigm := data.items[index].groups.get("paradigm"):
            paradigms.setdefault(paradigm, []).append(index)
    if len(paradigms) > 1:
        yield _mean(
            "paradigm_agreement", [float(cells.agreeing[p].sum() / cells.raters[p].sum()) for p in paradigms.values()]
        )


def _mean(metric: str, values: list[float]) -> Estimate:
    interval = mean_interval(values)
    return Estimate.of(metric, OVERALL, fmean(values), len(values), interval, None if interval is None else "t")


def _ceilings(values: npt.NDArray[Any]) -> Iterator[SuiteOutput]:
    """Split-half reliability and noise ceiling; `values` are by side, item and rater, NaN for none."""
    n = values.shape[1]
    if n < MIN_CORRELATED_ITEMS:
        yield Notice("no split-half reliability: fewer than 3 items have two raters")
        return
    r = _mean_split_correlation(values)
    if r is None:
        yield Notice("no split-half reliability: all items have the same mean")
        return
    reliability = 2 * r / (1 + r) if r > -1 else -math.inf
    yield Estimate("split_half", OVERALL, reliability, n, method=f"none: {SPLITS:,} splits, seed {SPLIT_SEED}")
    if reliability >= 0:
        yield Estimate("noise_ceiling", OVERALL, math.sqrt(reliability), n)
    else:
        yield Notice("no noise ceiling: the halves of the raters correlate negatively")


def _mean_split_correlation(values: npt.NDArray[Any]) -> float | None:
    """The mean correlation over items of the means of two random halves of their raters, or of their differences."""
    rng = np.random.default_rng(SPLIT_SEED)
    is_judged = np.isfinite(values)
    filled, sizes = np.where(is_judged, values, 0.0), is_judged.sum(axis=2)
    totals, half = filled.sum(axis=2), sizes // 2
    correlations = []
    for _ in range(SPLITS):
        keys = np.where(is_judged, rng.random(values.shape[1:]), 2.0)
        first = np.argsort(np.argsort(keys, axis=2), axis=2) < half[:, :, None]
        sums = np.where(first, filled, 0.0).sum(axis=2)
        one, other = map(np.subtract.reduce, (sums / half, (totals - sums) / (sizes - half)))
        if (r := pearson(one, other)) is not None:
            correlations.append(r)
    return fmean(correlations) if correlations else None


def _response_rows(data: PeopleData, cells: RaterMeans) -> Iterator[SuiteOutput]:
    """The number of raters per item, and items that nobody judged."""
    sizes = np.bincount(cells.cell_items)[np.unique(cells.cell_items)]
    for metric, value in (("raters", np.median(sizes)), ("raters_min", sizes.min()), ("raters_max", sizes.max())):
        yield Estimate(metric, OVERALL, float(value), len(sizes))
    if without := len(data.items) - len(np.unique([one.item for one in data.responses])):
        yield Notice(f"{plural(without, 'item')} without responses left out")
    yield from map(Notice, cells.notices())


def _rating_rows(data: PeopleData) -> Iterator[SuiteOutput]:
    cells = RaterMeans(data)
    means = cells.agreeing / cells.raters
    left_out = 0
    for index, (item, difference) in enumerate(zip(data.items, cells.human_margins().tolist(), strict=True)):
        good, bad = 2 * index, 2 * index + 1
        if math.isnan(difference):
            left_out += 1
            continue
        detail = {"human": difference, "responses": int(cells.sizes[good] + cells.sizes[bad])}
        yield Outcome(item.name, "rating_difference_z", difference, item.groups, detail)
        yield Outcome(item.name, "rating_preference", difference > 0, item.groups, detail)
        yield Outcome(item.name, "rating_good", float(means[good]), item.groups)
        yield Outcome(item.name, "rating_bad", float(means[bad]), item.groups)
    if any(one.rater is not None for one in data.responses):
        yield from cells.ceilings()
        yield from _response_rows(data, cells)
    if left_out:
        yield Notice(f"{plural(left_out, 'pair')} left out: no usable rating of one sentence")


def _z_scores(cells: RaterMeans) -> tuple[Floats, int]:
    """The z score of each cell over all ratings of its rater (sample SD), and the number of raters without one."""
    who = cells.cell_raters[cells.cell_of]
    counts = np.bincount(who)
    means = np.bincount(who, weights=cells.values) / np.maximum(counts, 1)
    squares = np.bincount(who, weights=(cells.values - means[who]) ** 2)
    deviations = np.sqrt(squares / np.maximum(counts - 1, 1))
    usable = deviations > 0
    scaled = (cells.cell_means - means[cells.cell_raters]) / np.where(usable, deviations, np.nan)[cells.cell_raters]
    return scaled, int(((counts > 0) & ~usable).sum())


def _summary_rows(data: PeopleData) -> Iterator[SuiteOutput]:
    """What counts per paradigm can tell."""
    counts = data.counts
    if all(one.accepted is not None for one in counts):
        for one in counts:
            yield Outcome(one.name, "item_agreement", one.mean, one.groups, {"responses": one.responses})
        accepted, items = sum(one.accepted or 0 for one in counts), BLIMP_ITEMS * len(counts)
        interval = wilson(accepted, items)
        yield Estimate.of("majority_agreement", OVERALL, accepted / items, items, interval, "wilson")
        yield Notice("means per paradigm only: no leave-one-out agreement and no ceiling")
        return
    agreeing = np.array([one.agreeing or 0 for one in counts], np.float64)
    totals = np.array([one.responses for one in counts], np.float64)
    yield _ratio("agreement", agreeing, totals, int(totals.sum()))
    yield _mean("paradigm_agreement", [one.mean for one in counts])
    yield Notice("counts per paradigm only: no majority agreement, no leave-one-out agreement and no ceiling")
