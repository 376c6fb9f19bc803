"""Reads what comparisons compare: runs, their results, and the values of these as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from wug.arrays import Floats, Integers
from wug.outcomes import Derivation, Metric, Result
from wug.results.columns import identifier, literal
from wug.results.outcomes import OutcomeFile
from wug.results.queries import OutcomeTable
from wug.results.records import Run, StoredResult

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


class ResultLoader:
    """Reads runs, their results and the columns of these, each once; columns on the same items share equal arrays."""

    def __init__(self, reader: ComparedRuns) -> None:
        self.reader = reader
        self._runs: dict[int, Run] | None = None
        self._results: dict[int, list[StoredResult]] = {}
        self._columns: dict[int, dict[str, MetricColumn]] = {}
        self._arrays: dict[bytes, Integers] = {}
        """By checksum."""

    def runs(self) -> Mapping[int, Run]:
        """All runs by number."""
        if self._runs is None:
            self._runs = {run.id: run for run in self.reader.runs()}
        return self._runs

    def results(self, runs: Sequence[int]) -> Mapping[int, Sequence[StoredResult]]:
        """The results of these runs, and of others that were read before."""
        missing = [run for run in runs if run not in self._results]
        self._results |= self.reader.stored_by_run(missing) if missing else {}
        return self._results

    def load_columns(self, results: Iterable[StoredResult]) -> None:
        """Read the files of these results."""
        files: dict[Path | None, list[tuple[StoredResult, OutcomeFile]]] = {}
        for stored in results:
            if stored.id not in self._columns:
                file = self.reader.outcome_file(stored.id)
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
            self.load_columns([stored])
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
