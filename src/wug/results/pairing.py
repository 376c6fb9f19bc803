"""Pairs the outcomes of two sides item by item, and tests the difference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from wug import stats_paired as paired
from wug.arrays import Floats, Integers
from wug.outcomes import Derivation, Metric, Result
from wug.results.columns import identifier, literal
from wug.results.outcomes import OutcomeFile
from wug.results.queries import OutcomeTable
from wug.results.records import Run, StoredResult
from wug.stats import in_order_of_appearance

if TYPE_CHECKING:
    from numpy.typing import NDArray

Arrays: TypeAlias = "Mapping[str | Derivation, NDArray[Any]]"
"""The outcomes of a result: hashes of texts, values, and values of derived metrics."""

MIX = 0x9E3779B97F4A7C15
"""A large odd number that spreads hashes (2**64 divided by the golden ratio)."""


class MetricColumn(NamedTuple):
    """The values of one metric, without outcomes that have no value."""

    judged: bool
    """Whether values are right or wrong (1 and 0), not numbers."""
    units: Integers
    """Hash of the item, or of the first item with the same source."""
    keys: Integers
    """Hash of the item and of the index of the outcome in it; unique."""
    positions: Integers
    """Positions in the result."""
    values: Floats | NDArray[np.int8]
    non_finite: int
    """Number of infinite values, which are left out."""


class Paired(NamedTuple):
    """Outcomes that both sides have, in the order of the first side's first run."""

    units: Integers
    judged: bool
    first: Floats
    """One row per run of the side, or per step."""
    second: Floats
    positions: Integers
    """Position of each outcome in the first run of each side: two columns."""
    left_out: tuple[int, int]
    """Outcomes of the first and of the second side that the other lacks."""

    @property
    def binary(self) -> bool:
        """Whether every value is right or wrong, and none a mean of several outcomes of an item."""
        return self.judged and all(bool(np.isin(side, (0, 1)).all()) for side in (self.first, self.second))

    @property
    def differences(self) -> Floats:
        """The difference of each outcome's mean over runs, second minus first."""
        difference: Floats = self.second.mean(axis=0) - self.first.mean(axis=0)
        return difference

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """Outcomes that both have right, only the first, only the second, neither, in the first runs."""
        first, second = self.first[0] > 0, self.second[0] > 0
        each = (first & second, first & ~second, ~first & second, ~first & ~second)
        both, only_first, only_second, neither = (int(np.sum(flags)) for flags in each)
        return both, only_first, only_second, neither


class Clusters(NamedTuple):
    """The items of paired outcomes, with the sum and the number of their differences."""

    units: Integers
    """Hashes of the items, in order of appearance."""
    sums: Floats
    absolute_difference: Floats
    """The sum of absolute differences: 0 if the sides agree on all outcomes of an item."""
    sizes: Floats
    firsts: Integers
    """The index of each item's first outcome."""
    single: bool
    """Whether each item has one outcome."""


class Verdict(NamedTuple):
    """The interval and the test of a difference."""

    low: float | None
    high: float | None
    interval_method: str
    tested: paired.SignificanceTest


class ComparedRuns(Protocol):
    """What a comparison reads: runs of a store (`RunReader`), or results in memory."""

    def runs(self) -> Sequence[Run]:
        """All runs."""

    def run(self, number: int) -> Run:
        """A run; an error if there is none with this number."""

    def stored_by_run(self, runs: Sequence[int]) -> Mapping[int, list[StoredResult]]:
        """The results of runs, by run."""

    def rows(self, result: int, *, keep: bool = False) -> OutcomeTable:
        """The outcomes of a result; with `keep`, they may stay in memory."""

    def outcome_file(self, result: int) -> OutcomeFile:
        """The file with the outcomes of a result."""


class ColumnLoader:
    """Reads the columns of results, each file once; results on the same items share the arrays that are equal."""

    def __init__(self, reader: ComparedRuns) -> None:
        self._reader = reader
        self._columns: dict[int, dict[str, MetricColumn]] = {}
        self._arrays: dict[bytes, Integers] = {}
        """By checksum."""

    def load(self, results: Iterable[StoredResult]) -> None:
        """Read the files of these results."""
        files: dict[Path | None, list[tuple[StoredResult, OutcomeFile]]] = {}
        for stored in results:
            if stored.id not in self._columns:
                file = self._reader.outcome_file(stored.id)
                files.setdefault(file.path, []).append((stored, file))
        for parts in files.values():
            first = parts[0][1]
            file = first._replace(first=0, rows=max(part.first + part.rows for _, part in parts))
            arrays, names = _read(file, [metric for stored, _ in parts for metric in stored.result.metrics])
            for stored, part in parts:
                mine = slice(part.first, part.first + part.rows)
                own = {name: array[mine] for name, array in arrays.items()}
                self._columns[stored.id] = self._columns_by_metric(stored.result, own, names)

    def columns(self, stored: StoredResult) -> dict[str, MetricColumn]:
        """The column of each metric of a result, in order of appearance."""
        if stored.id not in self._columns:
            self.load([stored])
        return self._columns[stored.id]

    def _columns_by_metric(self, result: Result, arrays: Arrays, names: Mapping[str, int]) -> dict[str, MetricColumn]:
        columns: dict[str, MetricColumn] = {}
        units, has_value = _units(arrays), ~np.isnan(arrays["value"])
        rows = {name: np.flatnonzero((arrays["metric"] == number) & has_value) for name, number in names.items()}
        values = {name: (of_metric, arrays["value"], arrays["judged"]) for name, of_metric in rows.items()}
        for name, how in _derivations(result.metrics):
            if how.metric in rows:
                values[name] = rows[how.metric], arrays[how], np.zeros(len(units), bool)
        for name, (of_metric, numbers, judged) in values.items():
            finite = of_metric[np.isfinite(numbers[of_metric])]
            if len(finite):
                all_judged = bool(judged[finite].all())
                kept = numbers[finite].astype(np.int8) if all_judged else numbers[finite]
                columns[name] = MetricColumn(
                    all_judged,
                    self._shared(units[finite]),
                    self._shared(_keys(arrays["item"][finite])),
                    self._shared(finite),
                    kept,
                    len(of_metric) - len(finite),
                )
        return columns

    def _shared(self, array: Integers) -> Integers:
        """An array that equals this one: that of an earlier result, if there is one."""
        return self._arrays.setdefault(blake2b(array.tobytes()).digest(), array)


def _read(file: OutcomeFile, metrics: Sequence[Metric]) -> tuple[Arrays, dict[str, int]]:
    """The outcomes of a file as arrays, with hashes of texts and the values of derived metrics, and names of metrics.

    Names are in the order in which metrics occur, with their hashes; divided metrics (`Metric.split_by`) are
    `metric:value`.
    """
    by_role = {
        role: {column.field: identifier(column.name) for column in file.columns if column.role == role}
        for role in ("group", "detail")
    }
    texts = [identifier(one.name) for one in file.columns if one[1:] == ("detail", "source", "VARCHAR")]
    source = texts[0] if texts else "NULL"
    fields = {metric.name: by_role["group"].get(metric.split_by) for metric in metrics if metric.split_by}
    cases = "".join(
        f"WHEN metric = {literal(name)} THEN concat_ws(':', metric, {field}) "
        for name, field in fields.items()
        if field
    )
    name = f"CASE {cases}ELSE metric END" if cases else "metric"
    selected: dict[str | Derivation, str] = {
        "item": "hash(item)",
        "metric": f"hash({name})",
        "value": "value",
        "judged": "judged",
        "source": f"hash({source})",
        "has_source": f"{source} IS NOT NULL",
        **{how: _sql(how, by_role["detail"]) for _, how in _derivations(metrics)},
    }
    columns = ", ".join(f"{sql} AS c{number}" for number, sql in enumerate(selected.values()))
    table = OutcomeTable(lambda: file)
    with table.run(f"SELECT {columns} FROM {{table}} ORDER BY position", ()) as db:
        fetched = db.fetchnumpy().values()
    names = table.query(f"SELECT {name} AS name, hash(name) FROM {{table}} GROUP BY ALL ORDER BY min(position)")
    return {
        key: np.ma.filled(array, np.nan) if array.dtype.kind == "f" else np.ma.getdata(array)
        for key, array in zip(selected, fetched, strict=True)
    }, dict(names)


def _derivations(metrics: Iterable[Metric]) -> list[tuple[str, Derivation]]:
    """The metrics whose values are computed from the outcomes of others, and how."""
    return [(one.name, one.derived) for one in metrics if one.derived is not None and not one.derived.standardised]


def _sql(how: Derivation, details: Mapping[str, str]) -> str:
    """The value of a derived metric, by the columns of details; NULL if one is missing."""
    fields = [how.plus, *([how.minus] if how.minus else [])]
    if not all(field in details for field in fields):
        return "NULL::DOUBLE"
    return f"{how.factor!r} * ({' - '.join(f'TRY_CAST({details[field]} AS DOUBLE)' for field in fields)})"


def _units(arrays: Arrays) -> Integers:
    """The item of each outcome, or the first item with the same source: such outcomes are not independent."""
    items, rows = arrays["item"], np.flatnonzero(arrays["has_source"])
    _, first, inverse = np.unique(arrays["source"][rows], return_index=True, return_inverse=True)
    own, representative = items[rows], items[rows][first][inverse]
    repeats = own != representative
    # The last source of an item counts.
    replaced = dict(zip(own[repeats].tolist(), representative[repeats].tolist(), strict=True))
    return np.array([replaced.get(item, item) for item in items.tolist()], items.dtype) if replaced else items


def _keys(items: Integers) -> Integers:
    """A hash of each outcome's item and of its index in the item."""
    order = np.argsort(items, kind="stable")
    begins = np.flatnonzero(np.diff(items[order], prepend=~items[order[:1]]))
    times = np.arange(len(items)) - np.repeat(begins, np.diff([*begins, len(items)]))
    keys = items.copy()
    keys[order] += times.astype(np.uint64) * np.uint64(MIX)
    return keys


def pair(
    first: Sequence[MetricColumn],
    second: Sequence[MetricColumn],
    steps: tuple[Sequence[float], Sequence[float]] | None = None,
) -> Paired:
    """The outcomes that all runs of both sides have; with `steps`, one row per step, the mean of its runs."""
    every = _same_unit([*first, *second])
    first, second = every[: len(first)], every[len(first) :]
    keys = first[0].keys
    for column in every[1:]:
        keys = keys if column.keys is keys else keys[np.isin(keys, column.keys)]
    rows = []
    for column in every:
        order = np.arange(len(keys)) if column.keys is keys else np.argsort(column.keys)
        rows.append(order if column.keys is keys else order[np.searchsorted(column.keys, keys, sorter=order)])
    values = np.stack([column.values[row] for column, row in zip(every, rows, strict=True)]).astype(np.float64)
    left, right = rows[0], rows[len(first)]
    ours, theirs = values[: len(first)], values[len(first) :]
    if steps is not None:
        ours, theirs = _by_step(ours, steps[0]), _by_step(theirs, steps[1])
    shared = len(keys)
    return Paired(
        units=first[0].units[left],
        judged=all(column.judged for column in every),
        first=ours,
        second=theirs,
        positions=np.stack([first[0].positions[left], second[0].positions[right]], axis=1),
        left_out=(max(len(c.keys) for c in first) - shared, max(len(c.keys) for c in second) - shared),
    )


def _same_unit(columns: Sequence[MetricColumn]) -> Sequence[MetricColumn]:
    """The columns; those of item means if the columns have different numbers of outcomes per item."""
    if len({len(column.keys) for column in columns}) == 1:
        return columns
    most = {int(np.unique(column.units, return_counts=True)[1].max(initial=0)) for column in columns}
    return columns if len(most) == 1 else [item_means(column) for column in columns]


def item_means(column: MetricColumn) -> MetricColumn:
    """The column with the mean of each item's values."""
    units, firsts, inverse, sizes = np.unique(column.units, return_index=True, return_inverse=True, return_counts=True)
    means = np.bincount(inverse, weights=column.values) / sizes
    return MetricColumn(column.judged, units, units, column.positions[firsts], means, column.non_finite)


def _by_step(rows: Floats, steps: Sequence[float]) -> Floats:
    """The mean of the rows of each step."""
    of = np.asarray(steps)
    return np.stack([rows[of == step].mean(axis=0) for step in np.unique(of)])


def pooled(parts: Sequence[tuple[str, Paired]]) -> Paired:
    """Several metrics pooled; items of different suites stay different."""
    suites = list(dict.fromkeys(suite for suite, _ in parts))
    return Paired(
        units=np.concatenate([part.units + np.uint64(suites.index(suite) * MIX % 2**64) for suite, part in parts]),
        judged=all(part.judged for _, part in parts),
        first=np.concatenate([part.first for _, part in parts], axis=1),
        second=np.concatenate([part.second for _, part in parts], axis=1),
        positions=np.concatenate([part.positions for _, part in parts]),
        left_out=(sum(part.left_out[0] for _, part in parts), sum(part.left_out[1] for _, part in parts)),
    )


def cluster(rows: Paired) -> Clusters:
    """The paired outcomes by item, in order of appearance."""
    differences = rows.differences
    of, firsts = in_order_of_appearance(rows.units)
    sums, absolute_difference, sizes = (
        np.bincount(of, weights=weights).astype(np.float64)
        for weights in (differences, np.abs(differences), np.ones(len(of)))
    )
    return Clusters(rows.units[firsts], sums, absolute_difference, sizes, firsts, len(firsts) == len(of))


def judge(rows: Paired, clusters: Clusters, interval: paired.IntervalKind, seed: int, tests: int) -> Verdict:
    """The interval and the p-value of the difference, in a comparison with this number of `tests`.

    McNemar's test and Tango's interval for right or wrong with one run per side and one outcome per item. Otherwise
    (numbers, means over runs, several outcomes per item) Student's t test and interval, clustered by item. The
    permutation test accompanies a bootstrap interval, and tests differences without variance, which have no interval.
    """
    if rows.binary and clusters.single and len(rows.first) == len(rows.second) == 1:
        only_first = int(np.sum(rows.first[0] > rows.second[0]))
        only_second = int(np.sum(rows.first[0] < rows.second[0]))
        tango = paired.tango(only_first, only_second, len(rows.units))
        return Verdict(tango.low, tango.high, "tango", paired.mcnemar(only_first, only_second))
    # Sums that differ from 0 only by rounding are 0.
    sums = np.where(np.abs(clusters.sums) < 1e-12, 0.0, clusters.sums)
    by = "" if clusters.single else "cluster "
    if interval == "bca" and len(sums) <= paired.MAX_BOOTSTRAP_CLUSTERS:
        flipped, bounds = paired.flip_signs(sums, seed, tests), paired.bca_interval(sums, clusters.sizes, seed)
        if bounds is None:
            return Verdict(None, None, "", flipped)
        return Verdict(bounds.low, bounds.high, f"{by}bca", flipped)
    bounds, tested = paired.t_interval(sums, clusters.sizes), paired.t_test(sums, clusters.sizes)
    if bounds is None or tested is None:
        return Verdict(None, None, "", paired.flip_signs(sums, seed, tests))
    return Verdict(bounds.low, bounds.high, f"{by}t", paired.SignificanceTest(tested.p, f"{by}{tested.method}"))
