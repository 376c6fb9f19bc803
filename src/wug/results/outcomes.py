"""Outcomes as columns: collected while a suite is judged, written to a Parquet file, and decoded again."""

from __future__ import annotations

import json
import math
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wug.errors import StoreError
from wug.files import is_unicode
from wug.outcomes import Outcome, Value
from wug.results.columns import (
    Chunk,
    OutcomeColumn,
    Role,
    Type,
    chunk_of,
    dump_columns,
    identifier,
    literal,
    merge,
    name_columns,
    resolve_type,
    storable,
)
from wug.results.database import connect, database_errors, source
from wug.rows import OutcomeRow

MAX_ROWS_IN_MEMORY = 20_000
"""Outcomes in memory; more are written to part files until the result is complete."""
MEASURED = ("item", "metric", "value", "judged")
PARQUET = "FORMAT parquet, PARQUET_VERSION v2, COMPRESSION zstd, ROW_GROUP_SIZE 40960"
PART = "FORMAT parquet, COMPRESSION snappy"
"""The format of part files, which are read once."""
FIRST_COLUMN = 5
"""Position, item, metric, value and judged come before groups and details in a query."""
NO_VALUES = np.empty(0)


class OutcomeFile(NamedTuple):
    """Outcomes in a Parquet file: all of its rows, or some that follow one another."""

    path: Path | None
    """None if there are no outcomes."""
    first: int
    """Position of the first of them in the file."""
    rows: int
    columns: tuple[OutcomeColumn, ...]
    """The columns of groups and details."""
    sha256: str | None = None
    """The checksum of the whole file; None until it is in a store."""


class OutcomeCollector:
    """Collects outcomes as columns and writes them to a Parquet file.

    A file with several columns per outcome takes a tenth of the memory, so that outcomes beyond `MAX_ROWS_IN_MEMORY`
    are moved to part files. Their types are settled when the last outcome is known.
    """

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self.rows = 0
        """Outcomes in part files."""
        self._clear()
        self._types: dict[tuple[Role, str], Type] = {}
        self._parts: list[dict[tuple[Role, str], Chunk]] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def _clear(self) -> None:
        """Forget the outcomes in memory."""
        self._items: list[str] = []
        self._metrics: list[str] = []
        self._values: list[Value] = []
        self._groups: list[Mapping[str, str]] = []
        """The distinct groups."""
        self._known: dict[int, int] = {}
        """Their numbers, by the identity of a mapping that many outcomes share."""
        self._group_numbers: list[int] = []
        self._details: list[dict[str, Any]] = []

    def add(self, outcome: Outcome) -> None:
        """Collect one outcome; its groups and details may change afterwards."""
        number = self._known.get(id(outcome.groups))
        if number is None or self._groups[number] != outcome.groups:
            number = self._known[id(outcome.groups)] = len(self._groups)
            self._groups.append(dict(outcome.groups))
        self._details.append(dict(outcome.detail))
        self._items.append(outcome.item)
        self._metrics.append(outcome.metric)
        self._values.append(outcome.value)
        self._group_numbers.append(number)
        if len(self._items) >= MAX_ROWS_IN_MEMORY:
            self._flush()

    def write(self, path: Path, suite: str, model: str) -> OutcomeFile:
        """Write everything collected to a new file; the collector is empty afterwards."""
        if not self.rows and not self._items:
            return OutcomeFile(None, 0, 0, ())
        with database_errors(path.parent), connect() as db:
            last, arrays = self._drain()
            db.register("last_part", arrays)
            columns = name_columns({key: resolve_type(kind) for key, kind in self._types.items()})
            parts = [(part, source(self._part_path(number))) for number, part in enumerate(self._parts)]
            selects = [_select(part, table, columns) for part, table in [*parts, (last, "last_part")]]
            names = ", ".join(identifier(name) for name in (*MEASURED, *(column.name for column in columns)))
            whose = f"{literal(storable(suite))} AS suite, {literal(storable(model))} AS model"
            query = f"SELECT position, {whose}, {names} FROM ({' UNION ALL '.join(selects)})"
            db.execute(copy_to(query, path, columns))
        written = OutcomeFile(path, 0, self.rows, columns)
        self.close()
        return written

    def close(self) -> None:
        """Delete everything collected."""
        if self._folder is not None:
            self._folder.cleanup()
        self._reset()

    def _flush(self) -> None:
        part, arrays = self._drain()
        with database_errors(Path(tempfile.gettempdir())), connect() as db:
            if self._folder is None:
                self._folder = tempfile.TemporaryDirectory(prefix="wug-outcomes-")
            db.register("part", arrays)
            db.execute(f"COPY part TO {literal(str(self._part_path(len(self._parts))))} ({PART})")
        self._parts.append({key: chunk._replace(array=NO_VALUES) for key, chunk in part.items()})

    def _part_path(self, number: int) -> Path:
        assert self._folder is not None
        return Path(self._folder.name) / f"{number}.parquet"

    def _drain(self) -> tuple[dict[tuple[Role, str], Chunk], dict[str, Any]]:
        """What is in memory, as chunks by field and as arrays by column; types are merged with those so far."""
        first, self.rows = self.rows, self.rows + len(self._items)
        numbers = np.array([math.nan if value is None else value for value in self._values], np.float64)
        arrays: dict[str, Any] = {
            "position": np.arange(first, self.rows, dtype=np.int32),
            "item": _texts(self._items),
            "metric": _texts(self._metrics),
            "value": numbers + 0.0,  # turns -0.0 into 0.0; DuckDB reads NaN as NULL
            "judged": np.array([type(value) is bool for value in self._values], bool),
        }
        chunks: dict[tuple[Role, str], Chunk] = {}
        of_groups = np.array(self._group_numbers, np.intp)
        for field in dict.fromkeys(chain.from_iterable(self._groups)):
            chunk = chunk_of([groups.get(field) for groups in self._groups])
            chunks["group", field] = chunk._replace(array=chunk.array[of_groups])
        for field in dict.fromkeys(chain.from_iterable(self._details)):
            chunks["detail", field] = chunk_of([detail.get(field) for detail in self._details])
        chunks = {key: chunk for key, chunk in chunks.items() if chunk.type is not None}
        for number, (key, chunk) in enumerate(chunks.items()):
            arrays[f"{key[0]}{number}"] = chunk.array
            self._types[key] = merge(self._types.get(key), chunk.type)
        self._clear()
        return chunks, arrays


class OutcomeDecoder:
    """Makes outcomes from rows of DuckDB; columns of groups come before those of details."""

    def __init__(self, groups: Sequence[OutcomeColumn], details: Sequence[OutcomeColumn]) -> None:
        self._group_names, self._group_decoders = _decoders(groups)
        self._detail_names, self._detail_decoders = _decoders(details)
        self._first_detail = FIRST_COLUMN + len(groups)
        self._known: dict[tuple[Any, ...], Mapping[str, Any]] = {}
        """Groups by the values of their columns: many outcomes share them."""

    def __call__(self, row: tuple[Any, ...]) -> OutcomeRow:
        """One row of a query."""
        position, item, metric, number, judged = row[:FIRST_COLUMN]
        value: Value = number == 1 if judged else number
        key = row[FIRST_COLUMN : self._first_detail]
        groups = self._known.get(key)
        if groups is None:
            groups = self._known[key] = _present(self._group_names, self._group_decoders, key)
        detail = _present(self._detail_names, self._detail_decoders, row[self._first_detail :])
        return OutcomeRow(position, Outcome(item, metric, value, groups, detail))


def _decoders(columns: Sequence[OutcomeColumn]) -> tuple[list[str], dict[str, Callable[[Any], Any]]]:
    """The fields of columns, and decoders for nested values."""
    known = {column.field: _decoder(column.type) for column in columns}
    return list(known), {field: decode for field, decode in known.items() if decode is not None}


def _present(
    names: Sequence[str], decoders: Mapping[str, Callable[[Any], Any]], values: Sequence[Any]
) -> dict[str, Any]:
    present = {name: value for name, value in zip(names, values, strict=True) if value is not None}
    for name, decode in decoders.items():
        if name in present:
            present[name] = decode(present[name])
    return present


def _decoder(kind: Any) -> Callable[[Any], Any] | None:
    if kind == "JSON":
        return json.loads
    return _without_missing if isinstance(kind, list | dict) else None


def _without_missing(value: Any) -> Any:
    """A nested value without the fields that are missing."""
    if isinstance(value, dict):
        return {name: _without_missing(part) for name, part in value.items() if part is not None}
    return [_without_missing(part) for part in value] if isinstance(value, list) else value


class PackedOutcomes(NamedTuple):
    """The outcomes of one result as the bytes of a Parquet file, to be sent to another process."""

    data: bytes
    rows: int
    columns: tuple[OutcomeColumn, ...]

    @classmethod
    def of(cls, collector: OutcomeCollector, suite: str, model: str) -> PackedOutcomes:
        """Everything collected; the collector is empty afterwards."""
        with temporary_folder() as folder:
            written = collector.write(folder / "outcomes.parquet", suite, model)
            data = b"" if written.path is None else written.path.read_bytes()
            return cls(data, written.rows, written.columns)

    def write(self, path: Path, suite: str, model: str) -> OutcomeFile:
        """Write the bytes to a new file."""
        if not self.rows:
            return OutcomeFile(None, 0, 0, ())
        with database_errors(path.parent):
            path.write_bytes(self.data)
        return OutcomeFile(path, 0, self.rows, self.columns)

    def close(self) -> None:
        """Nothing to delete."""


def copy_to(query: str, path: Path, columns: Sequence[OutcomeColumn]) -> str:
    """A statement that writes a query to a Parquet file, with the fields of its columns as metadata."""
    metadata = f"KV_METADATA {{wug_columns: {literal(dump_columns(columns))}}}"
    return f"COPY ({query}) TO {literal(str(path))} ({PARQUET}, {metadata})"


def collected(outcomes: Iterable[Outcome]) -> OutcomeCollector:
    """A collector with these outcomes."""
    collector = OutcomeCollector()
    for outcome in outcomes:
        collector.add(outcome)
    return collector


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder for files of outcomes that are not kept."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="wug-outcomes-"))
    except OSError as error:
        raise StoreError(f"outcomes cannot be written to {tempfile.gettempdir()}: {error.strerror}") from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _select(part: Mapping[tuple[Role, str], Chunk], table: str, columns: Sequence[OutcomeColumn]) -> str:
    """The rows of a part with the settled types."""
    stored = {key: f"{key[0]}{number}" for number, key in enumerate(part)}
    shown = ["position", *MEASURED]
    for column in columns:
        key = (column.role, column.field)
        sql = part[key].sql(identifier(stored[key]), column.type) if key in part else "NULL"
        shown.append(f"{sql} AS {identifier(column.name)}")
    return f"SELECT {', '.join(shown)} FROM {table}"


def _texts(texts: Sequence[str]) -> np.ndarray[Any, Any]:
    array = np.empty(len(texts), object)
    array[:] = texts if is_unicode("".join(texts)) else list(map(storable, texts))
    return array
