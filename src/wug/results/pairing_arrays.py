"""The outcomes of a result as arrays, from one query, for comparisons."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wug.arrays import Floats, Mask
from wug.outcomes import Derivation
from wug.results.columns import identifier
from wug.results.outcomes import OutcomeFile
from wug.results.queries import OutcomeTable

if TYPE_CHECKING:
    from numpy.typing import NDArray


class PairingArrays(NamedTuple):
    """The outcomes of a result as arrays for a comparison; items, metrics and sources are 64-bit hashes."""

    item: NDArray[np.uint64]
    metric: NDArray[np.uint64]
    value: Floats
    missing: Mask
    """Outcomes without a value."""
    judged: Mask
    source: NDArray[np.uint64]
    has_source: Mask
    metrics: Mapping[str, int]
    """The hash of each metric, in the order in which metrics occur."""
    derived: Mapping[Derivation, Floats]
    """The values of metrics that have no outcomes; NaN where there is none."""

    @classmethod
    def read(
        cls,
        files: Sequence[OutcomeFile],
        derived: Collection[Derivation] = (),
        by: Mapping[str, str] | None = None,
    ) -> list[PairingArrays]:
        """The arrays of several results in one file, with the values of derived metrics.

        Metrics in `by` are divided by a group field: `metric:value`.
        """
        whole = OutcomeFile(files[0].path, 0, max(file.first + file.rows for file in files), files[0].columns)
        source_column = ("detail", "source", "VARCHAR")
        sources = [identifier(one.name) for one in whole.columns if (one.role, one.field, one.type) == source_column]
        source = sources[0] if sources else "NULL"
        metric = _divided(whole, by or {})
        columns = f"hash(item) AS item, hash({metric}) AS metric, value, judged, "
        columns += f"hash({source}) AS source, {source} IS NULL AS none"
        numbers = {how: f"derived{index}" for index, how in enumerate(derived)}
        columns += "".join(f", {_derived(how, whole)} AS {name}" for how, name in numbers.items())
        table = OutcomeTable(lambda: whole)
        with table.run(f"SELECT {columns} FROM {{table}} ORDER BY position", ()) as db:
            fetched: dict[str, Any] = dict(db.fetchnumpy())
        names = table.query(f"SELECT {metric} AS name, hash(name) FROM {{table}} GROUP BY ALL ORDER BY min(position)")
        metrics = dict(names)
        arrays = {name: np.ma.getdata(fetched[name]) for name in ("item", "metric", "value", "source")} | {
            "missing": np.ma.getmaskarray(fetched["value"]) | np.isnan(np.ma.getdata(fetched["value"])),
            "judged": np.ma.getdata(fetched["judged"]).astype(bool),
            "has_source": ~np.ma.getdata(fetched["none"]).astype(bool),
        }
        values = {how: np.ma.filled(fetched[name], np.nan) for how, name in numbers.items()}
        parts = []
        for file in files:
            mine = slice(file.first, file.first + file.rows)
            own = {name: array[mine] for name, array in arrays.items()}
            there = set(np.unique(own["metric"]).tolist())
            named = {name: number for name, number in metrics.items() if number in there}
            parts.append(cls(**own, metrics=named, derived={how: array[mine] for how, array in values.items()}))
        return parts


def _derived(how: Derivation, file: OutcomeFile) -> str:
    """The value of a derived metric in each row, as SQL; NULL if the file lacks a column."""
    columns = {column.field: identifier(column.name) for column in file.columns if column.role == "detail"}
    fields = [how.plus, *([how.minus] if how.minus else [])]
    if any(field not in columns for field in fields):
        return "NULL::DOUBLE"
    difference = " - ".join(f"TRY_CAST({columns[field]} AS DOUBLE)" for field in fields)
    return f"{how.factor!r} * ({difference})"


def _divided(file: OutcomeFile, by: Mapping[str, str]) -> str:
    """The metric of an outcome in SQL, with the value of its group field if its metric is divided by one."""
    groups = {column.field: identifier(column.name) for column in file.columns if column.role == "group"}
    cases = (
        f"WHEN metric = '{metric.replace(chr(39), chr(39) * 2)}' THEN concat_ws(':', metric, {groups[field]}) "
        for metric, field in by.items()
        if field in groups
    )
    return f"CASE {when}ELSE metric END" if (when := "".join(cases)) else "metric"
