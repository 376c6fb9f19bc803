"""DuckDB, in memory: one database per process, one connection per query."""

from __future__ import annotations

import atexit
import functools
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wug.errors import StoreError, first_line
from wug.results.columns import literal

if TYPE_CHECKING:
    import duckdb

MEMORY_LIMIT = "256MB"
THREADS = 1
"""More threads hardly help with files of this size, and each needs memory."""


@functools.cache
def _database(process: int) -> duckdb.DuckDBPyConnection:
    """The database of a process; a forked process, which has none of its parent's threads, opens another."""
    import duckdb

    db = duckdb.connect(":memory:", config={"threads": THREADS, "memory_limit": MEMORY_LIMIT})
    db.execute("SET GLOBAL pandas_analyze_sample = 0")  # arrays of objects contain text; do not infer types
    db.execute("SET GLOBAL enable_external_file_cache = false")  # files are checked before they are read
    db.create_function("casefold", str.casefold, ["VARCHAR"], "VARCHAR")
    db.create_function("strict_json", strict_json, ["VARCHAR"], "VARCHAR")
    db.create_function("json_mentions", json_mentions, ["VARCHAR", "VARCHAR"], "BOOLEAN")
    atexit.register(_close, process)
    return db


def _close(process: int) -> None:
    """Close the database before the interpreter ends; otherwise DuckDB prints that its functions in Python leak."""
    if process == os.getpid():
        _database(process).close()
        _database.cache_clear()


@contextmanager
def connect() -> Iterator[duckdb.DuckDBPyConnection]:
    """A new connection, closed at the end."""
    db = _database(os.getpid()).cursor()
    try:
        yield db
    finally:
        db.close()


@contextmanager
def database_errors(where: Path) -> Iterator[None]:
    """A context in which errors of DuckDB and of the disk are raised as StoreError."""
    import duckdb

    try:
        yield
    except OSError as error:
        raise StoreError(f"outcomes cannot be written to {where}: {error.strerror or error}") from None
    except duckdb.IOException as error:
        reason = "the disk is full" if "No space left on device" in str(error) else first_line(error)
        raise StoreError(f"outcomes in {where} cannot be read or written: {reason}") from None
    except duckdb.Error as error:
        raise StoreError(f"DuckDB cannot process outcomes in {where}: {first_line(error)}") from None


def source(path: Path) -> str:
    """A Parquet file as a table in SQL; wildcards in its name are escaped."""
    escaped = re.sub(r"([*?[])", r"[\1]", str(path))
    return f"read_parquet({literal(escaped)})"


def json_mentions(text: str, sought: str) -> bool:
    """Whether a text in JSON, not the name of a field, contains `sought`, which is case-folded."""
    folded = text.casefold()
    if sought not in folded and "\\" not in folded:
        return False
    return any(sought in value.casefold() for value in _texts_in(json.loads(text)))


def strict_json(text: str) -> str:
    """JSON without NaN, infinities and lone surrogates: numbers become null, surrogates the text of an escape."""
    strict = json.dumps(json.loads(text, parse_constant=lambda name: None), ensure_ascii=False, separators=(",", ":"))
    return re.sub("[\ud800-\udfff]", lambda found: rf"\\u{ord(found[0]):x}", strict)


def _texts_in(data: Any) -> Iterator[str]:
    waiting = [data]
    while waiting:
        match waiting.pop():
            case str(text):
                yield text
            case Mapping() as fields:
                waiting.extend(fields.values())
            case list() as parts:
                waiting.extend(parts)
