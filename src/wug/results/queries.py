"""Queries on the outcomes of a result: filter, search, count and join, as SQL on Parquet with DuckDB.

This is the only implementation. Outcomes of a result that is not in a store are written to a temporary file first.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from wug.errors import InputError
from wug.outcomes import Outcome, Result
from wug.results.columns import identifier, storable
from wug.results.database import connect, database_errors, source
from wug.results.outcomes import OutcomeDecoder, OutcomeFile, PackedOutcomes, collected, temporary_folder
from wug.rows import Filter, OutcomeRow, Rows

if TYPE_CHECKING:
    import duckdb

FETCHED_ROWS = 2_048
"""Rows that are fetched from DuckDB at a time; a table that is kept in memory has no more."""
NOTHING = "(SELECT 0 AS position, '' AS item, '' AS metric, 0.0::DOUBLE AS value, FALSE AS judged WHERE FALSE)"
"""The table of a result without outcomes."""
NUMBERS = ("DOUBLE", "BIGINT")
VALUES = {"true": "judged AND value = 1", "false": "judged AND value = 0", "none": "value IS NULL"}

Sql = tuple[str, tuple[Any, ...]]
"""A part of a query, and its parameters."""


class OutcomeTable:
    """The outcomes of a result as a table."""

    def __init__(self, locate: Callable[[], OutcomeFile], *, keep: bool = False) -> None:
        self.locate = locate
        """Finds the file; called for each query, since it may be replaced by another one with the same rows."""
        self.keep = keep
        """Whether a small table is read once for several queries and stays in memory."""

    def metrics(self) -> list[str]:
        """The metrics of the outcomes, sorted."""
        return sorted({metric for metric, _ in self._tallies})

    def tally(self, metric: str) -> dict[str, int]:
        """The number of outcomes of a metric by value: `true`, `false`, `none`, and "" for all."""
        counts = {value: self._tallies[storable(metric), value] for value in ("", *VALUES)}
        return {**counts, "": sum(counts.values())}

    def each(
        self, filter: Filter, *, keys: Collection[str] | None = None, limit: int | None = None
    ) -> Iterator[OutcomeRow]:
        """The outcomes that match a filter; with `keys`, others of their details may be missing."""
        if (cached := self._cached) is not None and filter == Filter(filter.metric, filter.value):
            metric = None if filter.metric is None else storable(filter.metric)
            rows = (row for row in cached[1] if metric in (None, row[2]) and filter.value in (None, _value_of(row)))
            return islice(map(cached[0], rows), limit)
        where, values = self._where(filter)
        limited = "" if limit is None else f" LIMIT {limit}"
        return self._rows(f"WHERE {where} ORDER BY position{limited}", *values, keys=keys)

    def numbers(self, filter: Filter, keys: Collection[str]) -> dict[str, np.ma.MaskedArray[Any, Any]]:
        """The fields among `keys` whose details are all numbers, for the outcomes that match a filter."""
        columns = [column for column in self.locate().columns if column.role == "detail" and column.field in keys]
        fields = {
            column.field: f"CAST({identifier(column.name)} AS DOUBLE)" for column in columns if column.type in NUMBERS
        }
        where, values = self._where(filter)
        with self.run(f"SELECT {', '.join(['position', *fields.values()])} FROM {{table}} WHERE {where}", values) as db:
            _, *arrays = db.fetchnumpy().values()
        return dict(zip(fields, map(np.ma.asarray, arrays), strict=True))

    def kinds(self, metric: str) -> list[tuple[Outcome, list[int]]]:
        """The outcomes of a metric by groups and value: the first of each kind, and the positions of all of it."""
        groups = [identifier(column.name) for column in self.locate().columns if column.role == "group"]
        by = ", ".join(["value", "judged", *groups])
        kinds = f"SELECT list(position ORDER BY position) AS kind FROM {{table}} WHERE metric = ? GROUP BY {by}"
        positions_by_kind = [positions for (positions,) in self.query(f"{kinds} ORDER BY kind", metric)]
        first = self.read([positions[0] for positions in positions_by_kind])
        return [(row.outcome, positions) for row, positions in zip(first, positions_by_kind, strict=True)]

    def positions(self, filter: Filter) -> Sequence[int]:
        """The positions of the outcomes that match a filter, ascending."""
        where, values = self._where(filter)
        with self.run(f"SELECT position FROM {{table}} WHERE {where} ORDER BY position", values) as db:
            return [int(position) for position in np.asarray(db.fetchnumpy()["position"]).tolist()]

    def at(self, position: int) -> OutcomeRow:
        """The outcome at a position."""
        return self.read([position])[0]

    def read(self, positions: Sequence[int]) -> list[OutcomeRow]:
        """The outcomes at these positions, in this order."""
        rows = {row.position: row for row in self._rows_with("position", 0, set(positions))}
        for position in positions:
            if position not in rows:
                raise InputError(f"there is no outcome {position}")
        return [rows[position] for position in positions]

    def of_item(self, name: str) -> tuple[OutcomeRow, ...]:
        """All outcomes of an item; none if there is no such item."""
        return tuple(self._rows_with("item", 1, {storable(name)}))

    def same_item(self, row: OutcomeRow) -> tuple[OutcomeRow, ...]:
        """All outcomes of a row's item, its own among them."""
        return self.same_items([row])[0]

    def same_items(self, rows: Sequence[OutcomeRow]) -> list[tuple[OutcomeRow, ...]]:
        """For each row, all outcomes of its item, read together."""
        rows_by_item: dict[str, list[OutcomeRow]] = {}
        for row in self._rows_with("item", 1, {storable(row.outcome.item) for row in rows}):
            rows_by_item.setdefault(row.outcome.item, []).append(row)
        return [tuple(rows_by_item.get(row.outcome.item, ())) for row in rows]

    def __len__(self) -> int:
        return self.locate().rows

    def _where(self, filter: Filter) -> Sql:
        """The condition of a filter."""
        parts: list[str] = ["TRUE"]
        values: list[Any] = []
        if filter.metric is not None:
            parts.append("metric = ?")
            values.append(filter.metric)
        if filter.value is not None:
            parts.append(VALUES[filter.value])
        columns = self.locate().columns
        if filter.group is not None:
            field, value = filter.group
            named = [column for column in columns if (column.role, column.field) == ("group", field)]
            parts.append(f"CAST({identifier(named[0].name)} AS VARCHAR) = ?" if named else "FALSE")
            values += [value] if named else []
        if filter.text:
            sought = filter.text.casefold()
            details = [column for column in columns if column.role == "detail" and _has_text(column.type)]
            mentions = [
                _mentions("item", "VARCHAR"),
                *(_mentions(identifier(detail.name), detail.type) for detail in details),
            ]
            parts.append(f"({' OR '.join(mentions)})")
            values += [sought] * len(mentions)
        return " AND ".join(parts), tuple(values)

    def _rows_with(self, column: str, index: int, values: Collection[Any]) -> Iterator[OutcomeRow]:
        """The outcomes with one of some values in a column, by position."""
        if self._cached is None:
            return self._rows(f"WHERE {column} IN (SELECT unnest(?)) ORDER BY position", list(values))
        return map(self._cached[0], [row for row in self._cached[1] if row[index] in values])

    @cached_property
    def _cached(self) -> tuple[OutcomeDecoder, list[tuple[Any, ...]]] | None:
        """All rows of a small table that is kept, decoded when they are needed."""
        if not self.keep or len(self) > FETCHED_ROWS:
            return None
        names, decode = self._selected()
        return decode, self.query(f"SELECT {names} FROM {{table}} ORDER BY position")

    @cached_property
    def _tallies(self) -> Counter[tuple[str, str]]:
        """The number of outcomes by metric and value; "" for other numbers."""
        if self._cached is not None:
            return Counter((row[2], _value_of(row)) for row in self._cached[1])
        cases = " ".join(f"WHEN {sql} THEN '{name}'" for name, sql in VALUES.items())
        counted = f"SELECT metric, CASE {cases} ELSE '' END, count(*) FROM {{table}} GROUP BY 1, 2"
        return Counter({(metric, kind): count for metric, kind, count in self.query(counted)})

    def _selected(self, keys: Collection[str] | None = None) -> tuple[str, OutcomeDecoder]:
        """The columns of outcomes in SQL, and what decodes them."""
        columns = self.locate().columns
        groups = [column for column in columns if column.role == "group"]
        details = [one for one in columns if one.role == "detail" and (keys is None or one.field in keys)]
        shown = [identifier(column.name) for column in (*groups, *details)]
        return ", ".join(["position", "item", "metric", "value", "judged", *shown]), OutcomeDecoder(groups, details)

    def _rows(self, rest: str, *values: Any, keys: Collection[str] | None = None) -> Iterator[OutcomeRow]:
        """Outcomes of a query, streamed."""
        names, decode = self._selected(keys)
        with self.run(f"SELECT {names} FROM {{table}} {rest}", values) as db:
            while rows := db.fetchmany(FETCHED_ROWS):
                yield from map(decode, rows)

    def query(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of a query; `{table}` is replaced by the outcomes."""
        with self.run(sql, values) as db:
            return db.fetchall()

    @contextmanager
    def run(self, sql: str, values: Sequence[Any]) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection with the result of a query; `{table}` is replaced by the outcomes."""
        import duckdb

        parameters = [storable(value) if isinstance(value, str) else value for value in values]
        file = self.locate()
        with database_errors((file.path or Path()).parent), connect() as db:
            try:
                db.execute(sql.replace("{table}", _table(file)), parameters)
            except duckdb.IOException:  # replaced at this moment by a file with more results
                if (now := self.locate()) == file:
                    raise
                db.execute(sql.replace("{table}", _table(now)), parameters)
            yield db


@dataclass(frozen=True, slots=True, eq=False)
class StoredOutcomes(Sequence[Outcome]):
    """The outcomes of a result in a file, in order, read when they are needed."""

    table: OutcomeTable

    def __len__(self) -> int:
        return len(self.table)

    def __iter__(self) -> Iterator[Outcome]:
        return (row.outcome for row in self.table.each(Filter()))

    @overload
    def __getitem__(self, index: int) -> Outcome: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Outcome, ...]: ...

    def __getitem__(self, index: int | slice) -> Outcome | tuple[Outcome, ...]:
        positions = range(len(self))[index]
        if isinstance(positions, int):
            return self.table.at(positions).outcome
        return tuple(row.outcome for row in self.table.read(positions))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]


def table_of(outcomes: Sequence[Outcome]) -> OutcomeTable:
    """The outcomes as a table; those in memory are written to a file that is deleted with the table."""
    if isinstance(outcomes, StoredOutcomes):
        return outcomes.table
    folder = tempfile.mkdtemp(prefix="wug-outcomes-")
    try:
        file = collected(outcomes).write(Path(folder) / "outcomes.parquet", "", "")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    table = OutcomeTable(lambda: file)
    weakref.finalize(table, shutil.rmtree, folder, ignore_errors=True)
    return table


def unpack(packed: PackedOutcomes) -> tuple[Outcome, ...]:
    """The outcomes that another process sent."""
    with temporary_folder() as folder:
        file = packed.write(folder / "outcomes.parquet", "", "")
        return tuple(row.outcome for row in OutcomeTable(lambda: file).each(Filter()))


def rows_of(result: Result) -> Rows:
    """The outcomes of a result as a table."""
    return table_of(result.outcomes)


def _table(file: OutcomeFile) -> str:
    """The rows of a file that belong to the result, with positions from 0."""
    if file.path is None:
        return NOTHING
    last = file.first + file.rows - 1
    shifted = f"* REPLACE (position - {file.first} AS position)" if file.first else "*"
    return f"(SELECT {shifted} FROM {source(file.path)} WHERE position BETWEEN {file.first} AND {last})"


def _value_of(row: tuple[Any, ...]) -> str:
    """The value of a row of a query, as in `VALUES`; "" for other numbers."""
    if row[3] is None:
        return "none"
    return str(row[3] == 1).lower() if row[4] else ""


def _has_text(kind: Any) -> bool:
    """Whether values of a type may contain text."""
    match kind:
        case [part]:
            return _has_text(part)
        case dict():
            return any(map(_has_text, kind.values()))
    return kind in ("VARCHAR", "JSON")


def _mentions(column: str, kind: Any) -> str:
    """A condition: whether a column contains a case-folded text."""
    if kind == "VARCHAR":  # most text is ASCII, which needs no call of Python
        folded = f"CASE WHEN strlen({column}) = length({column}) THEN lower({column}) ELSE casefold({column}) END"
        return f"coalesce(contains({folded}, ?), FALSE)"
    text = column if kind == "JSON" else f"CAST(to_json({column}) AS VARCHAR)"
    return f"coalesce(json_mentions({text}, ?), FALSE)"
