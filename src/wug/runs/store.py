"""Runs and their results in one SQLite file, written suite by suite.

A run is one model's go at some suites. It is `running` until it ends; one that was killed stays so, and the
same command takes it up again under its number.
"""

from __future__ import annotations

import json
import os
import socket
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from wug import __version__
from wug.errors import StoreError
from wug.types import Estimate, Outcome, Result, Status, Value

SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, status TEXT NOT NULL, model TEXT NOT NULL,
    command TEXT NOT NULL, started TEXT NOT NULL, finished TEXT, version TEXT NOT NULL, host TEXT, pid INTEGER);
CREATE TABLE IF NOT EXISTS results (
    id INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    suite TEXT NOT NULL, kind TEXT NOT NULL, status TEXT NOT NULL, signature TEXT NOT NULL, n INTEGER NOT NULL,
    estimates TEXT NOT NULL, warnings TEXT NOT NULL, descriptions TEXT NOT NULL, meta TEXT NOT NULL, summary TEXT);
CREATE TABLE IF NOT EXISTS outcomes (
    result INTEGER NOT NULL REFERENCES results ON DELETE CASCADE, place INTEGER NOT NULL, item TEXT NOT NULL,
    measure TEXT NOT NULL, value REAL, judged INTEGER NOT NULL, groups TEXT NOT NULL, detail TEXT NOT NULL,
    PRIMARY KEY (result, place)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS results_by_run ON results (run);
"""
BY_CHECK = "CREATE INDEX IF NOT EXISTS outcomes_by_check ON outcomes (result, measure, value)"
"""What a page of failing items is found by; the key of the table, and so the items' order, is at its end."""
VERSION = 2
"""2 added `results.summary` (what an overview shows of a result) and `outcomes_by_check`."""


@dataclass(frozen=True, slots=True)
class Run:
    """One model's go at some suites."""

    id: int
    status: Status
    model: str
    command: str
    started: str
    finished: str | None
    suites: int
    """Results kept so far."""


class Store:
    """The file of runs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
            self._db.row_factory = sqlite3.Row
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA foreign_keys=ON")
            (version,) = self._db.execute("PRAGMA user_version").fetchone()
            if version > VERSION:
                raise StoreError(f"the run store {path} was written by a newer wug: update wug, or use another --db")
            if version < VERSION:
                self._prepare()
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"the run store {path} cannot be used: {error}. Choose another with --db") from None

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _prepare(self) -> None:
        """Make the tables, or bring those of an earlier version up to date: all of it or nothing."""
        with self._transaction():
            for statement in filter(str.strip, SCHEMA.split(";")):
                self._db.execute(statement)
            if "summary" not in {row["name"] for row in self._db.execute("PRAGMA table_info(results)")}:
                self._db.execute("ALTER TABLE results ADD COLUMN summary TEXT")
            self._db.execute(BY_CHECK)
            for row in self._db.execute("SELECT id, estimates, meta FROM results WHERE summary IS NULL").fetchall():
                try:
                    made = summary_of(json.loads(row["estimates"]), json.loads(row["meta"]))
                except (ValueError, TypeError, AttributeError):
                    continue  # a row that was damaged before stays as it was
                self._db.execute("UPDATE results SET summary = ? WHERE id = ?", (made, row["id"]))
            self._db.execute(f"PRAGMA user_version={VERSION}")

    def begin(self, key: str, model: str, command: str) -> int:
        """The number of the run to write to: a new one, or one of the same key that was broken off."""
        with self._transaction():
            for row in self._db.execute(
                "SELECT id, host, pid FROM runs WHERE key = ? AND status IN ('running', 'interrupted') ORDER BY id",
                (key,),
            ).fetchall():
                if not alive(row["host"], row["pid"]):
                    self._db.execute("DELETE FROM results WHERE run = ?", (row["id"],))
                    self._db.execute(
                        "UPDATE runs SET status = 'running', command = ?, host = ?, pid = ?, version = ? WHERE id = ?",
                        (command, socket.gethostname(), os.getpid(), __version__, row["id"]),
                    )
                    return int(row["id"])
            made = self._db.execute(
                "INSERT INTO runs (key, status, model, command, started, version, host, pid)"
                " VALUES (?, 'running', ?, ?, ?, ?, ?, ?)",
                (key, model, command, _now(), __version__, socket.gethostname(), os.getpid()),
            )
            assert made.lastrowid is not None
            return made.lastrowid

    def add(self, run: int, result: Result) -> None:
        """Keep a result with all its outcomes."""
        estimates = [asdict(estimate) for estimate in result.estimates]
        with self._transaction():
            made = self._db.execute(
                "INSERT INTO results"
                " (run, suite, kind, status, signature, n, estimates, warnings, descriptions, meta, summary)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    run, result.suite, result.kind, result.status, result.signature, result.n,
                    _dump(estimates), _dump(list(result.warnings)),
                    _dump(dict(result.descriptions)), _dump(dict(result.meta)), summary_of(estimates, result.meta),
                ),
            )  # fmt: skip
            self._db.executemany(
                "INSERT INTO outcomes VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    (made.lastrowid, place, o.item, o.check, o.value, isinstance(o.value, bool),
                     _dump(dict(o.groups)), _dump(dict(o.detail)))
                    for place, o in enumerate(result.outcomes)
                ),
            )  # fmt: skip

    def finish(self, run: int, status: Status) -> None:
        """Say how a run ended."""
        with self._transaction():
            self._db.execute("UPDATE runs SET status = ?, finished = ? WHERE id = ?", (status, _now(), run))

    def runs(self) -> list[Run]:
        """All runs, the latest first."""
        return [
            _run(row)
            for row in self._db.execute(
                "SELECT runs.*, (SELECT count(*) FROM results WHERE run = runs.id) AS suites FROM runs ORDER BY id DESC"
            )
        ]

    def run(self, number: int) -> Run:
        """One run, or an error that says which there are."""
        for run in self.runs():
            if run.id == number:
                return run
        newest = self._db.execute("SELECT max(id) FROM runs").fetchone()[0]
        there = "there is none yet: wug run SUITE --model MODEL" if newest is None else f"the latest is {newest}"
        raise StoreError(f"no run {number} in {self.path}; {there}")

    def results(self, number: int, *, outcomes: bool = True) -> list[Result]:
        """The results of a run in the order in which they were made."""
        model = self.run(number).model
        rows = self._db.execute("SELECT * FROM results WHERE run = ? ORDER BY id", (number,)).fetchall()
        return [self._result(row, model, outcomes) for row in rows]

    def _result(self, row: sqlite3.Row, model: str, outcomes: bool) -> Result:
        return Result(
            suite=row["suite"],
            kind=row["kind"],
            model=model,
            status=row["status"],
            signature=row["signature"],
            n=row["n"],
            estimates=tuple(Estimate(**fields) for fields in json.loads(row["estimates"])),
            warnings=tuple(json.loads(row["warnings"])),
            outcomes=tuple(self._outcomes(row["id"])) if outcomes else (),
            descriptions=json.loads(row["descriptions"]),
            meta=json.loads(row["meta"]),
        )

    def _outcomes(self, result: int) -> Iterator[Outcome]:
        for row in self._db.execute("SELECT * FROM outcomes WHERE result = ? ORDER BY place", (result,)):
            value: Value = bool(row["value"]) if row["judged"] else row["value"]
            yield Outcome(row["item"], row["measure"], value, json.loads(row["groups"]), json.loads(row["detail"]))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")


def run_key(signatures: Sequence[str], scope: Mapping[str, Any]) -> str:
    """What makes two commands the same run: what is asked of whom, and of how much of it."""
    return _dump([list(signatures), dict(scope)])


def summary_of(estimates: Sequence[Mapping[str, Any]], meta: Mapping[str, Any]) -> str:
    """What an overview shows of a result, as JSON: its estimates over all items, its circuit."""
    whole = [fields for fields in estimates if fields["group"] == "all"]
    return _dump({"estimates": whole, "circuit": meta.get("circuit")})


def _run(row: sqlite3.Row) -> Run:
    return Run(row["id"], row["status"], row["model"], row["command"], row["started"], row["finished"], row["suites"])


def _dump(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def alive(host: str | None, pid: int | None) -> bool:
    """Whether the process that writes a run still goes on; one on another machine counts as alive."""
    if pid is None or host is None:
        return False
    if host != socket.gethostname():
        return True
    if pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
