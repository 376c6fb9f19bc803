"""Runs and their results in one SQLite file, written suite by suite.

A run is one model's go at some suites. It is `running` until it ends; one that was killed counts as interrupted, and
the same command takes it up again under its number.
"""

from __future__ import annotations

import os
import socket
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from wug import __version__
from wug.errors import StoreError
from wug.results.checksums import result_seal, run_seal, summary_seal
from wug.results.reader import Run, RunReader, alive
from wug.results.schema import APPLICATION, COLUMNS, VERSION, dump, prepare, require_columns, summary_of
from wug.results.spool import OutcomeSpool, storable
from wug.results.sqlite import FAULTS, Connection, is_ours, make_private, why
from wug.results.stored_rows import StoredOutcomes
from wug.types import Result, Signature, Status


class Store:
    """The file of runs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reader = RunReader(path)
        """The same, to look at."""
        try:
            make_private(path)
            self._file = path.stat().st_ino
            # What a kill left behind is read here: then it is seen whether the file is whole.
            unclosed = _size(path.with_name(f"{path.name}-wal")) > 0
            self._db = sqlite3.connect(
                path, timeout=60, isolation_level=None, check_same_thread=False, factory=Connection
            )
            self._db.row_factory = sqlite3.Row
            if not is_ours(self._db, APPLICATION, {*COLUMNS, "sqlite_sequence"}):
                raise StoreError(f"{path} is no run store of wug's: choose another file with --db")
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA foreign_keys=ON")
            if unclosed:
                self._require_whole()
            (version,) = self._db.execute("PRAGMA user_version").fetchone()
            if version > VERSION:
                raise StoreError(f"the run store {path} was written by a newer wug: update wug, or use another --db")
            if version < VERSION:
                with self._transaction():
                    prepare(self._db)
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

    def _seal_run(self, run: int) -> int:
        """Its number, sealed as it is now."""
        row = self._db.execute("SELECT * FROM runs WHERE id = ?", (run,)).fetchone()
        self._db.execute("UPDATE runs SET seal = ? WHERE id = ?", (run_seal(row), run))
        return run

    @contextmanager
    def writing(
        self, key: str, model: str, command: str, **named: Any
    ) -> Iterator[tuple[int, Callable[[Result, OutcomeSpool], Result]]]:
        """The number of the run to write to, and what adds a result to it; it says by itself how the run ended."""
        number = self.begin(key, model, command, **named)
        failed = False

        def add(result: Result, outcomes: OutcomeSpool) -> Result:
            nonlocal failed
            failed = failed or result.status == "failed"
            return self.add(number, result, outcomes)

        try:
            yield number, add
        except BaseException as error:
            with suppress(StoreError):  # what went wrong first is what the user should hear of
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
        """The number of the run to write to: a new one, or one of the same key that was broken off."""
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
            for run, host, pid in self._db.execute(
                "SELECT id, host, pid FROM runs WHERE key = ? AND status IN ('running', 'interrupted')"
                " AND removed IS NULL ORDER BY id",
                (key,),
            ).fetchall():
                if not alive(host, pid):
                    self._db.execute("DELETE FROM results WHERE run = ?", (run,))
                    self._db.execute("DELETE FROM progress WHERE run = ?", (run,))
                    changes = ", ".join(f"{name} = ?" for name in row)
                    self._db.execute(f"UPDATE runs SET {changes} WHERE id = ?", (*row.values(), run))
                    return self._seal_run(run)
            return self._seal_run(self._insert("runs", {"key": key, "model": model, "started": _now(), **row}))

    def begin_sweep(self, key: str, name: str, command: str, plan: str) -> int:
        """The number of a sweep: the one of this key with what it is called and has in it now, or a new one."""
        row = {"name": storable(name), "command": command, "plan": plan}
        with self._transaction():
            found = self._db.execute("SELECT id FROM sweeps WHERE key = ?", (key,)).fetchone()
            if found is None:
                return self._insert("sweeps", {"key": key, "started": _now(), **row})
            changes = ", ".join(f"{column} = ?" for column in row)
            self._db.execute(f"UPDATE sweeps SET {changes} WHERE id = ?", (*row.values(), found["id"]))
            number: int = found["id"]
            return number

    def add(self, run: int, result: Result, outcomes: OutcomeSpool | None = None) -> Result:
        """Keep a result with all its outcomes, or with those that wait; it comes back as the store has it."""
        waiting = outcomes or OutcomeSpool()
        with closing(waiting):
            if outcomes is None:
                for outcome in result.outcomes:
                    waiting.add(outcome)
            return self._add(run, result, waiting)

    def _add(self, run: int, result: Result, waiting: OutcomeSpool) -> Result:
        estimates = [asdict(estimate) for estimate in result.estimates]
        row: dict[str, Any] = {
            "run": run,
            "suite": storable(result.suite),
            "kind": result.kind,
            "status": result.status,
            "signature": dump(result.signature.fields),
            "n": result.n,
            "estimates": dump(estimates),
            "warnings": dump(list(result.warnings)),
            "descriptions": dump(dict(result.descriptions)),
            "meta": dump(dict(result.meta)),
            "checks": dump([asdict(check) for check in result.checks]),
            "summary": summary_of(estimates, result.meta, result.checks),
        }
        with self._transaction():
            number = self._insert("results", row)
            self._db.executemany(f"INSERT INTO outcomes VALUES ({number:d}, ?, ?, ?, ?, ?, ?, ?, ?)", waiting)
            chain = waiting.chain
            made = result_seal(row, chain.length, chain.seal)
            self._db.execute(
                "UPDATE results SET outcomes = ?, chain = ?, seal = ?, summary_seal = ? WHERE id = ?",
                (chain.length, chain.seal, made, summary_seal(row), number),
            )
        return replace(result, outcomes=StoredOutcomes(self.reader, number, chain.length))

    def finish(self, run: int, status: Status, message: str | None = None) -> None:
        """Say how a run ended, why if it failed, and how many results it has."""
        with self._transaction():
            self._db.execute(
                "UPDATE runs SET status = ?, finished = ?, message = ?,"
                " kept = (SELECT count(*) FROM results WHERE run = runs.id) WHERE id = ?",
                (status, _now(), None if message is None else storable(message), run),
            )
            self._seal_run(run)

    def change(self, sql: str, *values: Any) -> int:
        """How many rows a statement changed; it is a transaction of its own."""
        with self._transaction():
            return self._db.execute(sql, values).rowcount

    def shrink(self) -> None:
        """Give the room of what was deleted back to the disk."""
        try:
            self._db.execute("VACUUM")
        except FAULTS as error:
            raise StoreError(f"the run store {self.path} cannot be written: {why(error)}") from None

    def runs(self) -> list[Run]:
        """All runs but removed ones, the latest first."""
        return self.reader.runs()

    def run(self, number: int) -> Run:
        """One run, or an error that says which there are."""
        return self.reader.run(number)

    def results(self, number: int, *, outcomes: bool = True) -> list[Result]:
        """The results of a run in the order in which they were made."""
        return [stored.result for stored in self.reader.stored(number, outcomes=outcomes)]

    def _insert(self, table: str, row: Mapping[str, Any]) -> int:
        """The number of a new row."""
        marks = ", ".join("?" * len(row))
        made = self._db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))
        assert made.lastrowid is not None
        return made.lastrowid

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


def run_key(signatures: Sequence[Signature | str], scope: Mapping[str, Any]) -> str:
    """What makes two commands the same run: what is asked of whom, and of how much of it."""
    return dump([list(map(str, signatures)), dict(scope)])


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
