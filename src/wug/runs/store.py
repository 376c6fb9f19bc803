"""Runs and their results in one SQLite file, written suite by suite.

A run is one model's go at some suites. It is `running` until it ends; one that was killed counts as interrupted, and
the same command takes it up again under its number.
"""

from __future__ import annotations

import json
import math
import os
import socket
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from wug import __version__
from wug.errors import StoreError
from wug.runs.seals import RESULT, RUN, Chain, outcome_seal, result_seal, run_seal, seal, summary_seal
from wug.runs.sqlite import FAULTS, Connection, is_ours, make_private, why
from wug.types import Check, Estimate, Outcome, Result, Status, Value

SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, status TEXT NOT NULL, model TEXT NOT NULL,
    command TEXT NOT NULL, started TEXT NOT NULL, finished TEXT, version TEXT NOT NULL, host TEXT, pid INTEGER,
    kept INTEGER, seal BLOB);
CREATE TABLE IF NOT EXISTS results (
    id INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    suite TEXT NOT NULL, kind TEXT NOT NULL, status TEXT NOT NULL, signature TEXT NOT NULL, n INTEGER NOT NULL,
    estimates TEXT NOT NULL, warnings TEXT NOT NULL, descriptions TEXT NOT NULL, meta TEXT NOT NULL, checks TEXT,
    summary TEXT, outcomes INTEGER, chain BLOB, seal BLOB, summary_seal BLOB);
CREATE TABLE IF NOT EXISTS outcomes (
    result INTEGER NOT NULL REFERENCES results ON DELETE CASCADE, place INTEGER NOT NULL, item TEXT NOT NULL,
    measure TEXT NOT NULL, value REAL, judged INTEGER NOT NULL, groups TEXT NOT NULL, detail TEXT NOT NULL,
    seal BLOB, PRIMARY KEY (result, place)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS results_by_run ON results (run);
"""
BY_CHECK = "CREATE INDEX IF NOT EXISTS outcomes_by_check ON outcomes (result, measure, value)"
"""What a page of failing items is found by; the key of the table, and so the items' order, is at its end."""
VERSION = 3
"""2 added `results.summary` (what an overview shows of a result) and `outcomes_by_check`; 3 the seals."""
ADDED = {
    "runs": {"kept": "INTEGER", "seal": "BLOB"},
    "results": {
        **dict.fromkeys(["checks", "summary"], "TEXT"),
        **dict.fromkeys(["chain", "seal", "summary_seal"], "BLOB"),
        "outcomes": "INTEGER",
    },
    "outcomes": {"seal": "BLOB"},
}
"""Columns that the first version did not have."""
APPLICATION = 0x77756752
"""What SQLite keeps in the file's head to tell a store of ours (`wugR`) from another program's file."""
COLUMNS = {
    "runs": {*RUN, "status", "finished", "host", "pid", "seal"},
    "results": {"id", *RESULT, "outcomes", "chain", "seal", "summary_seal"},
    "outcomes": {"result", "place", "item", "measure", "value", "judged", "groups", "detail", "seal"},
}
TABLES = {*COLUMNS, "sqlite_sequence"}


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
            make_private(path)
            self._file = path.stat().st_ino
            # What a kill left behind is read here: then it is seen whether the file is whole.
            unclosed = _size(path.with_name(f"{path.name}-wal")) > 0
            self._db = sqlite3.connect(
                path, timeout=60, isolation_level=None, check_same_thread=False, factory=Connection
            )
            self._db.row_factory = sqlite3.Row
            if not is_ours(self._db, APPLICATION, TABLES):
                raise StoreError(f"{path} is no run store of wug's: choose another file with --db")
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA foreign_keys=ON")
            if unclosed:
                self._require_whole()
            (version,) = self._db.execute("PRAGMA user_version").fetchone()
            if version > VERSION:
                raise StoreError(f"the run store {path} was written by a newer wug: update wug, or use another --db")
            if version < VERSION:
                self._prepare()
            require_columns(self._db)
        except (sqlite3.Error, OSError, ValueError) as error:
            raise StoreError(f"the run store {path} cannot be used: {why(error)}. Choose another with --db") from None

    def close(self) -> None:
        """Close the file."""
        with suppress(sqlite3.Error):  # another process reads: it is done when that one closes
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._db.close()

    def _require_whole(self) -> None:
        (found,) = self._db.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise StoreError(f"the run store {self.path} is damaged ({found}). Take a copy of it, or another --db")

    def _prepare(self) -> None:
        """Make the tables, or bring those of an earlier version up to date: all of it or nothing."""
        with self._transaction():
            for statement in filter(str.strip, SCHEMA.split(";")):
                self._db.execute(statement)
            for table, columns in ADDED.items():
                there = {row["name"] for row in self._db.execute(f"PRAGMA table_info({table})")}
                for name in columns.keys() - there:
                    self._db.execute(f"ALTER TABLE {table} ADD COLUMN {name} {columns[name]}")
            self._db.execute(BY_CHECK)
            for row in self._db.execute("SELECT * FROM results WHERE seal IS NULL").fetchall():
                self._seal_older({**row})
            for row in self._db.execute("SELECT id FROM runs WHERE seal IS NULL").fetchall():
                self._seal_run(row["id"])
            self._db.execute(f"PRAGMA application_id={APPLICATION}")
            self._db.execute(f"PRAGMA user_version={VERSION}")

    def _seal_older(self, row: dict[str, Any]) -> None:
        """Seal a result of an earlier version as it is; what its outcomes were before cannot be known."""
        if row["summary"] is None:
            try:
                row["summary"] = summary_of(json.loads(row["estimates"]), json.loads(row["meta"]))
            except (ValueError, TypeError, AttributeError, KeyError):
                return  # a row that was damaged before stays as it was, and is refused when it is read
        count = self._db.execute("SELECT count(*) FROM outcomes WHERE result = ?", (row["id"],)).fetchone()[0]
        self._db.execute(
            "UPDATE results SET summary = ?, outcomes = ?, seal = ?, summary_seal = ? WHERE id = ?",
            (row["summary"], count, result_seal(row, count, None), summary_seal(row), row["id"]),
        )

    def _seal_run(self, run: int) -> int:
        """Its number, sealed as it is now."""
        row = self._db.execute("SELECT * FROM runs WHERE id = ?", (run,)).fetchone()
        self._db.execute("UPDATE runs SET seal = ? WHERE id = ?", (run_seal(row), run))
        return run

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
                        "UPDATE runs SET status = 'running', command = ?, host = ?, pid = ?, version = ?, kept = NULL"
                        " WHERE id = ?",
                        (command, socket.gethostname(), os.getpid(), __version__, row["id"]),
                    )
                    return self._seal_run(row["id"])
            made = self._db.execute(
                "INSERT INTO runs (key, status, model, command, started, version, host, pid)"
                " VALUES (?, 'running', ?, ?, ?, ?, ?, ?)",
                (key, model, command, _now(), __version__, socket.gethostname(), os.getpid()),
            )
            assert made.lastrowid is not None
            return self._seal_run(made.lastrowid)

    def add(self, run: int, result: Result) -> None:
        """Keep a result with all its outcomes."""
        estimates = [asdict(estimate) for estimate in result.estimates]
        row: dict[str, Any] = {
            "run": run,
            "suite": _storable(result.suite),
            "kind": result.kind,
            "status": result.status,
            "signature": _storable(result.signature),
            "n": result.n,
            "estimates": _dump(estimates),
            "warnings": _dump(list(result.warnings)),
            "descriptions": _dump(dict(result.descriptions)),
            "meta": _dump(dict(result.meta)),
            "checks": _dump([asdict(check) for check in result.checks]),
            "summary": summary_of(estimates, result.meta, result.checks),
        }
        with self._transaction():
            made = self._db.execute(
                f"INSERT INTO results ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", tuple(row.values())
            )
            chain = Chain()
            self._db.executemany(
                "INSERT INTO outcomes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                ((made.lastrowid, *row) for row in _outcome_rows(result.outcomes, chain)),
            )
            self._db.execute(
                "UPDATE results SET outcomes = ?, chain = ?, seal = ?, summary_seal = ? WHERE id = ?",
                (
                    chain.length,
                    chain.seal,
                    result_seal(row, chain.length, chain.seal),
                    summary_seal(row),
                    made.lastrowid,
                ),
            )

    def finish(self, run: int, status: Status) -> None:
        """Say how a run ended, and how many results it has."""
        with self._transaction():
            self._db.execute(
                "UPDATE runs SET status = ?, finished = ?, kept = (SELECT count(*) FROM results WHERE run = runs.id)"
                " WHERE id = ?",
                (status, _now(), run),
            )
            self._seal_run(run)

    def runs(self) -> list[Run]:
        """All runs, the latest first."""
        with self._reading():
            return [
                run_of(row)
                for row in self._db.execute(
                    "SELECT runs.*, (SELECT count(*) FROM results WHERE run = runs.id) AS suites"
                    " FROM runs ORDER BY id DESC"
                )
            ]

    def run(self, number: int) -> Run:
        """One run, or an error that says which there are."""
        runs = self.runs()
        for run in runs:
            if run.id == number:
                return run
        there = f"the latest is {runs[0].id}" if runs else "there is none yet: wug run SUITE --model MODEL"
        raise StoreError(f"no run {number} in {self.path}; {there}")

    def results(self, number: int, *, outcomes: bool = True) -> list[Result]:
        """The results of a run in the order in which they were made."""
        model = self.run(number).model
        with self._reading():
            rows = result_rows(self._db, number)
            return [result_of(row, model, self._outcomes(row) if outcomes else ()) for row in rows]

    def _outcomes(self, result: sqlite3.Row) -> Iterator[Outcome]:
        rows = self._db.execute("SELECT * FROM outcomes WHERE result = ? ORDER BY place", (result["id"],))
        for row in sound_outcomes(result, rows):
            yield outcome_of(row)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except FAULTS as error:
            raise StoreError(f"the run store {self.path} cannot be read: {why(error)}") from None

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            if self.path.stat().st_ino != self._file:
                raise FileNotFoundError
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
        except FileNotFoundError:
            raise StoreError(
                f"the run store {self.path} was deleted or replaced while it was in use, so nothing more is kept in "
                "it. Give the same command again: answers that are cached are not asked anew"
            ) from None
        except FAULTS as error:
            raise StoreError(
                f"the run store {self.path} cannot be written: {why(error)}. Give the same command again when that is "
                "mended, or choose another with --db: answers that are cached are not asked anew"
            ) from None


def require_columns(db: sqlite3.Connection) -> None:
    """Refuse a store whose tables are not as they were made."""
    for table, names in COLUMNS.items():
        if not names <= {row[1] for row in db.execute(f"PRAGMA table_info({table})")}:
            raise StoreError(f"the run store is damaged: its table {table} lacks columns. Choose another with --db")


def result_rows(db: sqlite3.Connection, run: int) -> list[Any]:
    """The rows of a run's results, in the order in which they were made; refused where they are not as they were."""
    rows = db.execute("SELECT * FROM results WHERE run = ? ORDER BY id", (run,)).fetchall()
    for row in rows:
        require_sound(row)
    whole = db.execute("SELECT * FROM runs WHERE id = ?", (run,)).fetchone()
    if whole is None or whole["seal"] != run_seal(whole):
        raise _damaged_run(run, "the checksum of its row does not fit")
    if whole["kept"] is not None and whole["kept"] != len(rows):
        raise _damaged_run(run, f"{len(rows)} of its {whole['kept']} results are there")
    return rows


def result_of(row: Any, model: str, outcomes: Iterable[Outcome] = ()) -> Result:
    """A row of the store as a result."""
    try:
        return Result(
            suite=row["suite"],
            kind=row["kind"],
            model=model,
            status=row["status"],
            signature=row["signature"],
            n=row["n"],
            estimates=tuple(Estimate(**fields) for fields in json.loads(row["estimates"])),
            warnings=tuple(json.loads(row["warnings"])),
            outcomes=tuple(outcomes),
            descriptions=json.loads(row["descriptions"]),
            meta=json.loads(row["meta"]),
            checks=tuple(Check(**fields) for fields in json.loads(row["checks"] or "[]")),
        )
    except (ValueError, TypeError, RecursionError) as error:
        raise _damaged(row, str(error)) from None


def outcome_of(row: Any) -> Outcome:
    """A row of the store as an outcome."""
    value: Value = bool(row["value"]) if row["judged"] else row["value"]
    return Outcome(row["item"], row["measure"], value, json.loads(row["groups"]), json.loads(row["detail"]))


def require_sound(row: Any) -> None:
    """Refuse a result whose own columns are not as they were written."""
    if row["seal"] != result_seal(row, row["outcomes"], row["chain"]):
        raise _damaged(row, "its checksum does not fit")


def sound_outcomes(result: Any, rows: Iterable[Any]) -> Iterator[Any]:
    """The rows of a result's outcomes, all of them and in order; refused where they are not as they were written."""
    sealed = result["chain"] is not None
    chain = Chain()
    for row in rows:
        if sealed and row["seal"] != outcome_seal(row):
            raise _damaged(result, f"the checksum of its outcome {row['place']} does not fit")
        chain.add(row["seal"] or b"")
        yield row
    if chain.length != result["outcomes"] or (sealed and chain.seal != result["chain"]):
        raise _damaged(result, f"{chain.length:,} of its {result['outcomes']:,} outcomes are there")


def _damaged_run(run: int, how: str) -> StoreError:
    return StoreError(
        f"run {run}: the run store is damaged here ({how}), so the run is not shown. Give its command again "
        "(wug list runs)"
    )


def _damaged(row: Any, how: str) -> StoreError:
    return StoreError(
        f"run {row['run']}, suite {row['suite']}: the run store is damaged here ({how}), so this result is not shown. "
        "Give the run's command again (wug list runs)"
    )


def _outcome_rows(outcomes: Iterable[Outcome], chain: Chain) -> Iterator[tuple[Any, ...]]:
    """What is kept of outcomes, each with its seal, which is added to the chain."""
    for place, outcome in enumerate(outcomes):
        row = (
            place,
            _storable(outcome.item),
            _storable(outcome.check),
            _real(outcome.value),
            int(isinstance(outcome.value, bool)),
            _dump(dict(outcome.groups)),
            _dump(dict(outcome.detail)),
        )
        yield (*row, chain.add(seal(*row)))


def _real(value: Value) -> float | None:
    """The value as SQLite gives it back: it has no NaN."""
    return None if value is None or math.isnan(value) else float(value)


def run_key(signatures: Sequence[str], scope: Mapping[str, Any]) -> str:
    """What makes two commands the same run: what is asked of whom, and of how much of it."""
    return _dump([list(signatures), dict(scope)])


def summary_of(estimates: Sequence[Mapping[str, Any]], meta: Mapping[str, Any], checks: Sequence[Check] = ()) -> str:
    """What an overview shows of a result, as JSON: its estimates over all items, what they are, its circuit."""
    whole = [fields for fields in estimates if fields["group"] == "all"]
    named = {fields["check"] for fields in whole}
    said = [(check.name, check.unit, check.better, check.headline) for check in checks if check.name in named]
    return _dump({"estimates": whole, "checks": said, "circuit": meta.get("circuit")})


def run_of(row: Any) -> Run:
    """A run as it is; one whose process was killed while it was written is as good as interrupted."""
    broken = row["status"] == "running" and not goes_on(row)
    status: Status = "interrupted" if broken else row["status"]
    return Run(row["id"], status, row["model"], row["command"], row["started"], row["finished"], row["suites"])


def goes_on(row: Any) -> bool:
    """Whether the process that writes a run is there; it may be this one."""
    return row["pid"] == os.getpid() or alive(row["host"], row["pid"])


def _dump(data: Any) -> str:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    # Half a character cannot be written as UTF-8, but as an escape of JSON's.
    return text if _is_unicode(text) else json.dumps(data, separators=(",", ":"))


def _storable(text: str) -> str:
    """The text, with half characters written out: SQLite takes none."""
    return text if _is_unicode(text) else text.encode("utf-8", "backslashreplace").decode()


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


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
