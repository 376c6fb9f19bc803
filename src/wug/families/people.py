"""How far people agree: with the labels of a set, with each other, and in their ratings.

An item's responses are those that can be used; a rater who judged an item several times counts once, with the mean.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from wug.families.commands import ScoredTable
from wug.families.people_formats import BLIMP_ITEMS, PeopleData
from wug.families.people_tables import read_people
from wug.files import checksum, checksum_of, read_bytes
from wug.formatting import plural
from wug.identity import OVERALL
from wug.record_tables import stem
from wug.stats import Floats, mean_interval, ratio_interval, wilson
from wug.types import Estimate, Metric, Notice, Outcome, Row

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
CEILINGS = (
    Metric("raters", "count", "neither", headline=False, meaning="median number of raters per item or sentence"),
    Metric("split_half", "score", meaning="Spearman-Brown reliability of item means, from random halves of the raters"),
    Metric("noise_ceiling", "score", meaning="the correlation that a perfect model of the mean response could reach"),
)


def score_people(path: Path, options: Mapping[str, str]) -> tuple[ScoredTable, str, list[Row]]:
    """The agreement of people in a file: a suite, the id of the group of people, and estimates.

    Args:
        path: A CSV, TSV, JSONL or XLSX file of responses, ratings or counts.
        options: Values of `PEOPLE_OPTIONS`, such as `{"item": "sentence", "rater": "who", "correct": "right"}`.
    """
    data = read_people(path, options)
    metrics: tuple[Metric, ...]
    if data.counts:
        rows, metrics = list(_summary_rows(data)), tuple(replace(one, headline=True) for one in CHOICE_METRICS)
    elif data.rated:
        rows, metrics = list(_rating_rows(data)), (*RATING_METRICS, *CEILINGS)
    else:
        rows, metrics = list(_choice_rows(data)), (*CHOICE_METRICS, *CEILINGS)
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


def _choice_rows(data: PeopleData) -> Iterator[Row]:
    cells = _Cells(data)
    share = cells.agreeing / cells.raters
    tied = np.abs(2 * cells.agreeing - cells.raters) < _TIE
    for index in cells.judged:
        item = data.items[index]
        detail = {**({"good": item.good, "bad": item.bad} if item.good else {}), "human": 2 * share[index] - 1}
        detail |= {"responses": int(cells.sizes[index])}
        majority = bool(2 * cells.agreeing[index] > cells.raters[index]) and not tied[index]
        yield Outcome(item.name, "majority_agreement", bool(majority), item.groups, detail)
        yield Outcome(item.name, "item_agreement", float(share[index]), item.groups, detail)
    n = len(data.responses)
    judged = cells.judged
    yield _ratio("agreement", cells.agreeing[judged], cells.raters[judged], n)
    yield from _paradigm_agreement(data, cells)
    loo = cells.leave_one_out()
    if loo is not None:
        yield loo
    yield Estimate("ties", OVERALL, float(tied[judged].sum()), len(judged))
    yield from _ceilings(cells.cell_items, cells.cell_means)
    if ties := int(tied[judged].sum()):
        yield Notice(f"{plural(ties, 'item')} tied, counted as failures")
    yield from _response_rows(data, cells)


class _Cells:
    """The responses of a rater to an item, as one cell with their mean."""

    def __init__(self, data: PeopleData) -> None:
        known: dict[str, int] = {}
        raters = [known.setdefault(one.rater, len(known)) if one.rater is not None else -1 for one in data.responses]
        items = np.array([2 * one.item + (not one.good if data.rated else 0) for one in data.responses], np.int64)
        unnamed = len(known) + np.arange(len(raters))
        who = np.where(np.array(raters) < 0, unnamed, np.array(raters))
        self.items = items if data.rated else items // 2
        self.values: Floats = np.array([one.value for one in data.responses], np.float64)
        width = int(who.max()) + 1
        keys, self.cell_of = np.unique(self.items * width + who, return_inverse=True)
        self.cell_items = keys // width
        self.cell_raters = keys % width
        self.cell_sizes = np.bincount(self.cell_of)
        self.cell_means: Floats = np.bincount(self.cell_of, weights=self.values) / self.cell_sizes
        count = len(data.items) * (2 if data.rated else 1)
        self.agreeing: Floats = np.bincount(self.cell_items, weights=self.cell_means, minlength=count).astype(
            np.float64
        )
        self.raters: Floats = np.maximum(np.bincount(self.cell_items, minlength=count), _TIE).astype(np.float64)
        self.sizes = np.bincount(self.items, minlength=count)
        self.judged: list[int] = np.flatnonzero(self.sizes).tolist()

    def leave_one_out(self) -> Estimate | None:
        """The agreement of each response with the majority of the other raters; None with one rater per item."""
        own = self.cell_means[self.cell_of]
        others = self.raters[self.items] - 1
        doubled = 2 * (self.agreeing[self.items] - own) - others
        agrees = np.where(np.abs(doubled) < _TIE, 0.5, np.where(doubled > 0, self.values, 1 - self.values))
        some = others > 0.5
        if not some.any():
            return None
        count = len(self.sizes)
        tops = np.bincount(self.items[some], weights=agrees[some], minlength=count).astype(np.float64)
        bottoms = np.bincount(self.items[some], minlength=count)
        there = bottoms > 0
        return _ratio("leave_one_out", tops[there], bottoms[there].astype(np.float64), int(some.sum()))


def _ratio(metric: str, tops: Floats, bottoms: Floats, n: int) -> Estimate:
    """A share of responses, with an interval by item."""
    made = ratio_interval(tops, bottoms)
    value = float(tops.sum() / bottoms.sum())
    method = made.method if made.interval is None else f"{made.method}, by item"
    return Estimate.of(metric, OVERALL, value, n, made.interval, method)


def _paradigm_agreement(data: PeopleData, cells: _Cells) -> Iterator[Estimate]:
    paradigms: dict[str, list[int]] = {}
    for index in cells.judged:
        if paradigm := data.items[index].groups.get("paradigm"):
            paradigms.setdefault(paradigm, []).append(index)
    if len(paradigms) > 1:
        yield _mean(
            "paradigm_agreement", [float(cells.agreeing[p].sum() / cells.raters[p].sum()) for p in paradigms.values()]
        )


def _mean(metric: str, values: list[float]) -> Estimate:
    found = mean_interval(values)
    return Estimate.of(metric, OVERALL, fmean(values), len(values), found, None if found is None else "t")


def _ceilings(items: NDArray[np.int64], means: Floats) -> Iterator[Row]:
    """Split-half reliability and noise ceiling of the item means; `means` has one value per rater and item."""
    order = np.argsort(items, kind="stable")
    _, sizes = np.unique(items, return_counts=True)
    several = sizes > 1
    if several.sum() < MIN_CORRELATED_ITEMS:
        yield Notice("no split-half reliability: fewer than 3 items have two raters")
        return
    padded = np.full((len(sizes), int(sizes.max())), np.nan)
    padded[np.arange(padded.shape[1]) < sizes[:, None]] = means[order]
    padded, sizes = padded[several], sizes[several]
    r = _mean_split_correlation(padded, sizes)
    if r is None:
        yield Notice("no split-half reliability: all items have the same mean")
        return
    reliability = 2 * r / (1 + r) if r > -1 else -math.inf
    n = len(sizes)
    yield Estimate("split_half", OVERALL, reliability, n, method=f"none: {SPLITS:,} splits, seed {SPLIT_SEED}")
    if reliability >= 0:
        yield Estimate("noise_ceiling", OVERALL, math.sqrt(reliability), n)
    else:
        yield Notice("no noise ceiling: the halves of the raters correlate negatively")


def _mean_split_correlation(values: Floats, sizes: NDArray[np.int64]) -> float | None:
    """The mean correlation over items of the means of two random halves of their raters."""
    rng = np.random.default_rng(SPLIT_SEED)
    there = np.isfinite(values)
    filled, totals = np.where(there, values, 0.0), np.where(there, values, 0.0).sum(axis=1)
    half = sizes // 2
    found = []
    for _ in range(SPLITS):
        keys = np.where(there, rng.random(values.shape), 2.0)
        first = np.argsort(np.argsort(keys, axis=1), axis=1) < half[:, None]
        sums = np.where(first, filled, 0.0).sum(axis=1)
        one, other = sums / half, (totals - sums) / (sizes - half)
        a, b = one - one.mean(), other - other.mean()
        scale = math.sqrt(float(a @ a) * float(b @ b))
        if scale > 0:
            found.append(float(a @ b) / scale)
    return fmean(found) if found else None


def _response_rows(data: PeopleData, cells: _Cells) -> Iterator[Row]:
    """The number of raters per item, and warnings about them."""
    sizes = np.bincount(cells.cell_items)[np.unique(cells.cell_items)]
    what = "sentence" if data.rated else "item"
    low, high = float(sizes.min()), float(sizes.max())
    yield Estimate("raters", OVERALL, float(np.median(sizes)), len(sizes), low, high, "least and largest")
    if again := int((cells.cell_sizes > 1).sum()):
        yield Notice(f"{plural(again, 'case')} of a rater judging the same {what} more than once: the mean counts")
    if without := len(data.items) - len(np.unique([one.item for one in data.responses])):
        yield Notice(f"{plural(without, 'item')} without responses left out")


def _rating_rows(data: PeopleData) -> Iterator[Row]:
    cells = _Cells(data)
    z, constant = (cells.cell_means, 0) if data.z_scored else _z_scores(cells)
    usable = np.isfinite(z)
    count = 2 * len(data.items)
    sums = np.bincount(cells.cell_items[usable], weights=z[usable], minlength=count)
    raters = np.bincount(cells.cell_items[usable], minlength=count)
    left_out = 0
    for index, item in enumerate(data.items):
        good, bad = 2 * index, 2 * index + 1
        if not raters[good] or not raters[bad]:
            left_out += 1
            continue
        means = [float(cells.agreeing[at] / cells.raters[at]) for at in (good, bad)]
        difference = float(sums[good] / raters[good] - sums[bad] / raters[bad])
        detail = {"human": difference, "responses": int(cells.sizes[good] + cells.sizes[bad])}
        yield Outcome(item.name, "rating_difference_z", difference, item.groups, detail)
        yield Outcome(item.name, "rating_preference", difference > 0, item.groups, detail)
        yield Outcome(item.name, "rating_good", means[0], item.groups)
        yield Outcome(item.name, "rating_bad", means[1], item.groups)
    if any(one.rater is not None for one in data.responses):
        yield from _ceilings(cells.cell_items[usable], z[usable])
        yield from _response_rows(data, cells)
    if left_out:
        yield Notice(f"{plural(left_out, 'pair')} left out: no usable rating of one sentence")
    if constant:
        yield Notice(f"{plural(constant, 'rater')} left out of the z scores: all ratings are equal")


def _z_scores(cells: _Cells) -> tuple[Floats, int]:
    """The z score of each cell over all ratings of its rater (sample SD), and the number of raters without one."""
    who = cells.cell_raters[cells.cell_of]
    counts = np.bincount(who)
    means = np.bincount(who, weights=cells.values) / np.maximum(counts, 1)
    squares = np.bincount(who, weights=(cells.values - means[who]) ** 2)
    deviations = np.sqrt(squares / np.maximum(counts - 1, 1))
    usable = deviations > 0
    scaled = (cells.cell_means - means[cells.cell_raters]) / np.where(usable, deviations, np.nan)[cells.cell_raters]
    return scaled, int(((counts > 0) & ~usable).sum())


def _summary_rows(data: PeopleData) -> Iterator[Row]:
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
