"""A store: a folder with an index of runs and results in SQLite, and their outcomes in Parquet files.

A file of outcomes is written under a temporary name, synced and renamed, and only then entered in the index with its
SHA-256. A file that is not in the index does not count. A run is `running` until it ends; one that was killed is
interrupted, and the same command resumes it under its number.
"""

from __future__ import annotations

import os
import socket
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from wug import __version__
from wug.errors import StoreError
from wug.outcomes import Result, Signature, Status
from wug.results.columns import dump, dump_columns, storable
from wug.results.outcome_folder import OutcomeFolder
from wug.results.outcomes import OutcomeCollector, OutcomeFile, PackedOutcomes, collected
from wug.results.queries import StoredOutcomes
from wug.results.reader import RunReader
from wug.results.records import Run, is_running
from wug.results.schema import (
    APPLICATION_ID,
    COLUMNS,
    INDEX,
    OUTCOMES,
    RESULT,
    RUN_CHECKED,
    TABLES,
    VERSION,
    require_columns,
    row_checksum,
    summary_of,
)
from wug.results.sqlite import SQLITE_ERRORS, Connection, create_tables, describe, is_ours, make_private, transaction

MAX_MERGED_ROWS = 100_000
"""Results with fewer outcomes share a file with others of their run, once it is finished."""


class Store:
    """A folder of runs, open for writing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reader = RunReader(path)
        """Reads the same store."""
        self._files = OutcomeFolder(path / OUTCOMES)
        self._cleaned = False
        index = path / INDEX
        try:
            _require_folder(path)
            make_private(index)
            self._files.path.mkdir(mode=0o700, exist_ok=True)
            self._inode = index.stat().st_ino
            # A log that a killed process left is replayed here, so the index is checked.
            log = index.with_name(f"{INDEX}-wal")
            unclosed = log.exists() and log.stat().st_size > 0
            self._db = sqlite3.connect(
                index, timeout=60, isolation_level=None, check_same_thread=False, factory=Connection
            )
            self._db.row_factory = sqlite3.Row
            if not is_ours(self._db, APPLICATION_ID, {*COLUMNS, "sqlite_sequence"}):
                raise StoreError(f"{path} is not a store of wug: choose another folder with --store")
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA foreign_keys=ON")
            if unclosed and (answer := self._db.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
                raise StoreError(f"the store {path} is damaged ({answer}). Take a copy of it, or another --store")
            (version,) = self._db.execute("PRAGMA user_version").fetchone()
            if version not in (0, VERSION):
                raise StoreError(f"the store {path} was written by another version of wug: choose another with --store")
            if version == 0:
                create_tables(self._db, TABLES, APPLICATION_ID, VERSION)
            require_columns(self._db)
        except (sqlite3.Error, OSError, ValueError) as error:
            raise StoreError(
                f"the store {path} cannot be used: {describe(error)}. Choose another with --store"
            ) from None

    def close(self) -> None:
        """Close the index."""
        with suppress(sqlite3.Error):  # another process reads, and does it when it closes
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._db.close()

    @contextmanager
    def writing(
        self, key: str, model: str, command: str, **named: Any
    ) -> Iterator[tuple[int, Callable[[Result, OutcomeCollector | PackedOutcomes], Result]]]:
        """The number of the run to write to, and a function that adds a result; how the run ends is recorded."""
        number = self.begin(key, model, command, **named)
        failed = False

        def add(result: Result, outcomes: OutcomeCollector | PackedOutcomes) -> Result:
            nonlocal failed
            failed = failed or result.status == "failed"
            return self.add(number, result, outcomes)

        try:
            yield number, add
        except BaseException as error:
            with suppress(StoreError):  # the first error is the one to report
                if isinstance(error, KeyboardInterrupt):
                    self.finish(number, "interrupted")
                else:
                    self.finish(number, "failed", str(error) or type(error).__name__)
            raise
        self.finish(number, "failed" if failed else "complete")

    def begin(
        self,
        key: str,
        model: str,
        command: str,
        *,
        specification: str | None = None,
        revision: str | None = None,
        origin: str | None = None,
        sweep: int | None = None,
    ) -> int:
        """The number of the run to write to: a new one, or an interrupted one with the same key."""
        row: dict[str, Any] = {
            "status": "running",
            "command": command,
            "version": __version__,
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "kept": None,
            "specification": specification,
            "revision": revision,
            "origin": origin,
            "sweep": sweep,
            "message": None,
        }
        with self._transaction():
            if not self._cleaned:
                self._delete_orphans()
                self._cleaned = True
            for run, host, pid in self._db.execute(
                "SELECT id, host, pid FROM runs WHERE key = ? AND status IN ('running', 'interrupted')"
                " AND removed IS NULL ORDER BY id",
                (key,),
            ).fetchall():
                if not is_running(host, pid, elsewhere=True):
                    self._db.execute("DELETE FROM results WHERE run = ?", (run,))
                    self._db.execute("DELETE FROM progress WHERE run = ?", (run,))
                    self._delete_orphans(run)
                    self._update("runs", run, row)
                    return self._update_checksum("runs", run)
            return self._update_checksum(
                "runs", self._insert("runs", {"key": key, "model": model, "started": _now(), **row})
            )

    def begin_sweep(self, key: str, name: str, command: str, plan: str) -> int:
        """The number of the sweep with this key, with its plan updated, or of a new one; an old one keeps its name."""
        row = {"command": command, "plan": plan}
        with self._transaction():
            sweep = self._db.execute("SELECT id FROM sweeps WHERE key = ?", (key,)).fetchone()
            if sweep is None:
                return self._insert("sweeps", {"key": key, "name": storable(name), "started": _now(), **row})
            number: int = sweep["id"]
            self._update("sweeps", number, row)
            return number

    def add(self, run: int, result: Result, outcomes: OutcomeCollector | PackedOutcomes | None = None) -> Result:
        """Store a result with the outcomes that were collected, or else its own; returns it as stored."""
        with closing(collected(result.outcomes) if outcomes is None else outcomes) as collector:
            self._require_index()
            with self._files.temporary(run) as temporary:
                file = self._files.place(collector.write(temporary, result.suite, result.model))
        try:
            with self._transaction():
                number = self._insert_result(run, result, file)
        except BaseException:
            self._files.delete([file])
            raise
        return replace(result, outcomes=StoredOutcomes(self.reader.rows(number)))

    def finish(self, run: int, status: Status, message: str | None = None) -> None:
        """Record how a run ended, why if it failed, and how many results it has."""
        with suppress(StoreError):  # results stay in separate files
            self._merge_files(run)
        with self._transaction():
            self._db.execute(
                "UPDATE runs SET status = ?, finished = ?, message = ?,"
                " kept = (SELECT count(*) FROM results WHERE run = runs.id) WHERE id = ?",
                (status, _now(), None if message is None else storable(message), run),
            )
            self._update_checksum("runs", run)

    def change(self, sql: str, *values: Any) -> int:
        """Execute a statement in its own transaction; returns the number of changed rows."""
        with self._transaction():
            return self._db.execute(sql, values).rowcount

    def shrink(self) -> None:
        """Delete files of outcomes without a result, and give unused space in the index back to the disk."""
        with self._transaction():
            self._delete_orphans()
        try:
            self._db.execute("VACUUM")
        except SQLITE_ERRORS as error:
            raise StoreError(f"the store {self.path} cannot be written: {describe(error)}") from None

    def runs(self) -> list[Run]:
        """All runs but removed ones, the latest first."""
        return self.reader.runs()

    def run(self, number: int) -> Run:
        """One run; StoreError with the latest number if there is none."""
        return self.reader.run(number)

    def results(self, number: int, *, outcomes: bool = True) -> list[Result]:
        """The results of a run, in order."""
        return [stored.result for stored in self.reader.stored(number, outcomes=outcomes)]

    def copy_runs(self, source: RunReader, runs: Iterable[Run]) -> list[int]:
        """Copy runs with their results from another store, all or none; returns their numbers here."""
        numbers: list[int] = []
        copied: dict[Path | None, OutcomeFile] = {}
        try:
            with self._transaction():
                for run in runs:
                    row = dict(source.one("SELECT * FROM runs WHERE id = ?", run.id))
                    number = self._insert("runs", {name: row[name] for name in row if name not in ("id", "sweep")})
                    numbers.append(self._update_checksum("runs", number))
                    for stored in source.stored(run.id):
                        file = source.outcome_file(stored.id)
                        if file.path not in copied:
                            copied[file.path] = self._files.copy(number, file)
                        own = copied[file.path]
                        self._insert_result(number, stored.result, file._replace(path=own.path, sha256=own.sha256))
        except BaseException:
            self._files.delete(copied.values())
            raise
        return numbers

    def _insert_result(self, run: int, result: Result, file: OutcomeFile) -> int:
        row: dict[str, Any] = {
            "run": run,
            "suite": storable(result.suite),
            "kind": result.kind,
            "status": result.status,
            "signature": dump(result.signature.fields),
            "n": result.n,
            "summary": summary_of(result),
            "estimates": dump([asdict(estimate) for estimate in result.estimates]),
            "warnings": dump(list(result.warnings)),
            "meta": dump(dict(result.meta)),
            "metrics": dump([asdict(metric) for metric in result.metrics]),
            "file": None if file.path is None else file.path.name,
            "sha256": file.sha256,
            "first": file.first,
            "rows": file.rows,
            "columns": dump_columns(file.columns),
        }
        return self._insert("results", {**row, "checksum": row_checksum(row, RESULT)})

    def _merge_files(self, run: int) -> None:
        """Move results of a run that have the same columns and few outcomes to one file."""
        groups: dict[str, list[int]] = {}
        where = "run = ? AND file IS NOT NULL AND first = 0 AND rows < ?"
        rows = self.reader.each(f"SELECT id, columns FROM results WHERE {where} ORDER BY id", run, MAX_MERGED_ROWS)
        for row in rows:
            groups.setdefault(row["columns"], []).append(row["id"])
        for results in groups.values():
            if len(results) > 1:
                self._merge(run, results)

    def _merge(self, run: int, results: Sequence[int]) -> None:
        parts = [self.reader.outcome_file(number) for number in results]
        merged = self._files.merge(run, parts)
        with self._transaction():
            for number, file in zip(results, merged, strict=True):
                assert file.path is not None
                self._update("results", number, {"file": file.path.name, "sha256": file.sha256, "first": file.first})
                self._update_checksum("results", number)
        self._files.delete(parts)

    def _delete_orphans(self, run: int | None = None) -> None:
        """In a transaction, delete files of outcomes that no result has, of one run or of all that are not running."""
        known = {name for (name,) in self._db.execute("SELECT DISTINCT file FROM results")}
        running = {
            row["id"]
            for row in self._db.execute("SELECT id, host, pid FROM runs WHERE status = 'running'")
            if is_running(row["host"], row["pid"])
        }
        self._files.delete_orphans(known, lambda owner: owner == run if run is not None else owner not in running)

    def _update_checksum(self, table: Literal["runs", "results"], number: int) -> int:
        row = self._db.execute(f"SELECT * FROM {table} WHERE id = ?", (number,)).fetchone()
        self._update(table, number, {"checksum": row_checksum(row, RUN_CHECKED if table == "runs" else RESULT)})
        return number

    def _update(self, table: str, number: int, row: Mapping[str, Any]) -> None:
        changes = ", ".join(f"{name} = ?" for name in row)
        self._db.execute(f"UPDATE {table} SET {changes} WHERE id = ?", (*row.values(), number))

    def _insert(self, table: str, row: Mapping[str, Any]) -> int:
        marks = ", ".join("?" * len(row))
        cursor = self._db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def _require_index(self) -> None:
        try:
            if (self.path / INDEX).stat().st_ino == self._inode:
                return
        except FileNotFoundError:
            pass
        raise StoreError(
            f"the store {self.path} was deleted or replaced while it was in use, so nothing more is stored in it. "
            "Repeat the command: cached outputs are not computed again"
        )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            self._require_index()
            with transaction(self._db):
                yield
        except SQLITE_ERRORS as error:
            raise StoreError(
                f"the store {self.path} cannot be written: {describe(error)}. Fix that and repeat the command, or "
                "choose another with --store: cached outputs are not computed again"
            ) from None


def run_key(signatures: Sequence[Signature | str], scope: Mapping[str, Any]) -> str:
    """The key that identifies a run: the signatures of its results, and options of the run."""
    return dump([list(map(str, signatures)), dict(scope)])


def _require_folder(path: Path) -> None:
    """Refuse a file, and a folder with other content."""
    if path.is_file():
        raise StoreError(
            f"{path} is a file, and a store is a folder. Runs that an earlier version of wug kept in a file (wug.db) "
            "cannot be read. Choose a folder with --store"
        )
    if path.is_dir() and not (path / INDEX).exists() and any(path.iterdir()):
        raise StoreError(f"{path} is not a store of wug, and not empty: choose another folder with --store")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
