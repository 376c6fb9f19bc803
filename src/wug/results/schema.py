"""The index of a store: its SQLite tables, the summaries in it, and the checksums of its rows."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from wug import registry
from wug.errors import StoreError
from wug.identity import Group
from wug.outcomes import Estimate, Result, phenomenon_of
from wug.results.columns import dump
from wug.stats import wilson

INDEX = "index.sqlite"
OUTCOMES = "outcomes"
VERSION = 3
"""Schema version; a store of another version is refused."""
APPLICATION_ID = 0x77756753
"""Written to the header of the SQLite file to identify an index of wug (`wugS`)."""
TABLES = """
CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, status TEXT NOT NULL, model TEXT NOT NULL,
    command TEXT NOT NULL, started TEXT NOT NULL, finished TEXT, version TEXT NOT NULL, host TEXT, pid INTEGER,
    kept INTEGER, checksum BLOB, specification TEXT, revision TEXT, name TEXT, note TEXT, removed TEXT, origin TEXT,
    message TEXT, sweep INTEGER REFERENCES sweeps ON DELETE SET NULL);
CREATE TABLE sweeps (
    id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, name TEXT NOT NULL, command TEXT NOT NULL,
    started TEXT NOT NULL, plan TEXT NOT NULL);
CREATE TABLE progress (
    run INTEGER PRIMARY KEY REFERENCES runs ON DELETE CASCADE, done INTEGER NOT NULL, requests INTEGER NOT NULL,
    judged INTEGER NOT NULL, suites INTEGER NOT NULL, started REAL NOT NULL, cached INTEGER NOT NULL,
    updated REAL NOT NULL);
CREATE TABLE results (
    id INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    suite TEXT NOT NULL, kind TEXT NOT NULL, status TEXT NOT NULL, signature TEXT NOT NULL, n INTEGER NOT NULL,
    summary TEXT NOT NULL, estimates TEXT NOT NULL, warnings TEXT NOT NULL,
    meta TEXT NOT NULL, metrics TEXT NOT NULL, file TEXT, sha256 TEXT, first INTEGER NOT NULL, rows INTEGER NOT NULL,
    columns TEXT NOT NULL, checksum BLOB NOT NULL);
CREATE INDEX results_by_run ON results (run);
CREATE INDEX runs_by_sweep ON runs (sweep)
"""
RUN_CHECKED = ("id", "key", "model", "command", "started", "version", "kept", "specification", "revision")
"""Columns of a run that its checksum covers: those that do not change while it is running, and `kept`."""
RUN_UNCHECKED = ("name", "note", "removed", "origin", "message")
"""Columns of a run that may change at any time, and that no number depends on."""
RESULT = (
    *("run", "suite", "kind", "status", "signature", "n", "summary", "estimates", "warnings", "meta"),
    *("metrics", "file", "sha256", "first", "rows", "columns"),
)
"""Columns of a result that its checksum covers: all but its number."""
COLUMNS = {
    "runs": {*RUN_CHECKED, *RUN_UNCHECKED, "sweep", "status", "finished", "host", "pid", "checksum"},
    "sweeps": {"id", "key", "name", "command", "started", "plan"},
    "progress": {"run", "done", "requests", "judged", "suites", "started", "cached", "updated"},
    "results": {"id", *RESULT, "checksum"},
}
PHENOMENON_FIELDS = ("phenomenon", "term", "pattern", "paradigm")
"""Group fields that tell the phenomenon of an item; the first that a family knows is used."""


def require_columns(db: sqlite3.Connection) -> None:
    """Refuse an index whose tables lack columns."""
    for table, names in COLUMNS.items():
        if not names <= {row[1] for row in db.execute(f"PRAGMA table_info({table})")}:
            raise StoreError(f"the store is damaged: its table {table} lacks columns. Choose another with --store")


def summary_of(result: Result) -> str:
    """What an overview shows of a result, as JSON; `measurable` and `failure` only if they have no default value."""
    whole = result.overall
    named = {name for one in whole for name in (one.metric, one.metric.partition(":")[0])}
    metrics = [
        (m.name, m.unit, m.better, m.headline, *(("", None, m.split_by) if m.split_by else ()))
        for m in result.metrics
        if m.name in named
    ]
    phenomena = [asdict(estimate) for estimate in phenomenon_scores(result)]
    phenomenon = phenomenon_of(result.meta)
    estimates = list(map(asdict, whole))
    summary = {"estimates": estimates, "metrics": metrics, "phenomenon": phenomenon, "phenomena": phenomena}
    measurable = {} if result.measurable else {"measurable": False}
    return dump({**summary, **measurable, **({"failure": result.failure} if result.failure else {})})


def phenomenon_scores(result: Result) -> list[Estimate]:
    """The headline of a result by phenomenon, as estimates whose group is the name of the phenomenon.

    The traits of a family say which groups belong to which phenomenon, as patterns of their names. Groups that it
    does not mention belong to none.
    """
    headline = result.headline
    if headline is None or result.metric(headline.metric).unit != "share" or not result.measurable:
        return []
    patterns = registry.family_traits(result.kind).phenomena
    for field in PHENOMENON_FIELDS:
        counts: dict[str, tuple[float, int]] = {}
        for name, estimate in _groups(result, headline.metric, field, patterns):
            right, n = counts.get(name, (0.0, 0))
            counts[name] = (right + estimate.value * estimate.n, n + estimate.n)
        if counts:
            return [
                Estimate.of(headline.metric, name, right / n if n else 0.0, n, wilson(round(right), n), "wilson")
                for name, (right, n) in counts.items()
            ]
    return []


def _groups(result: Result, metric: str, field: str, patterns: Mapping[str, str]) -> Iterator[tuple[str, Estimate]]:
    """The estimates of a field's groups that belong to a phenomenon, with its name."""
    for estimate in result.estimates:
        group = Group.parse(estimate.group)
        if estimate.metric == metric and group.field == field:
            value = group.value.lower().replace("-", "_").replace(" ", "_")
            name = next((name for pattern, name in patterns.items() if fnmatchcase(value, pattern)), None)
            if name is not None:
                yield name, estimate


def row_checksum(row: Mapping[str, Any] | sqlite3.Row, names: Sequence[str]) -> bytes:
    """A checksum of these columns: eight bytes."""
    text = "\x1f".join([repr(row[name]) for name in names])
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def require_sound(row: sqlite3.Row) -> None:
    """Refuse a result whose row fails its checksum."""
    if row["checksum"] != row_checksum(row, RESULT):
        raise damaged(row, "the checksum of its row does not match")


def damaged_run(run: int, how: str) -> StoreError:
    """The error for a damaged run."""
    return StoreError(f"run {run}: the store is damaged here ({how}), so the run is not shown. {_AGAIN}")


def damaged(row: Mapping[str, Any] | sqlite3.Row, how: str) -> StoreError:
    """The error for a damaged result."""
    return StoreError(
        f"run {row['run']}, suite {row['suite']}: the store is damaged here ({how}), so this result is not shown. "
        f"{_AGAIN}"
    )


_AGAIN = "Repeat the command of the run (wug list runs)"


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
