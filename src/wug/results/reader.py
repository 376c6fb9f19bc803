"""Reading a store: runs, their results, and the outcomes of a result.

Each thread has its own read-only connection to the index, so that readers never block a writer. The store may be
deleted, replaced or damaged at any time: every query reports it, and a new index in its place is read instead.
"""

from __future__ import annotations

import functools
import hashlib
import json
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wug.errors import StoreError
from wug.outcomes import Result
from wug.results.columns import load_columns
from wug.results.outcomes import OutcomeFile
from wug.results.queries import OutcomeTable, StoredOutcomes
from wug.results.records import (
    Run,
    Sibling,
    StoredResult,
    Summary,
    is_running,
    result_of_row,
    run_of_row,
    signature_of_row,
    summary_of_row,
)
from wug.results.schema import (
    INDEX,
    OUTCOMES,
    RUN_CHECKED,
    VERSION,
    damaged,
    damaged_run,
    file_sha256,
    require_columns,
    require_sound,
    row_checksum,
)
from wug.results.sqlite import SQLITE_ERRORS, Connection, describe

RUNS = (
    "SELECT runs.*, (SELECT count(*) FROM results WHERE run = runs.id) AS suites, progress.done, progress.requests,"
    " progress.suites AS wanted, progress.started AS first_request, progress.cached, progress.updated"
    " FROM runs LEFT JOIN progress ON progress.run = runs.id"
)


@dataclass(frozen=True, slots=True)
class RunReader:
    """The runs of a store, read-only."""

    path: Path
    """The folder of the store."""
    _thread: threading.local = field(default_factory=threading.local, init=False, compare=False, repr=False)

    def state(self) -> tuple[str, bool]:
        """A text that changes with anything that a page shows of the runs, and whether a run is running."""
        row = self.one(
            "SELECT (SELECT count(*) FROM runs), (SELECT max(id) FROM results), (SELECT max(finished) FROM runs),"
            " (SELECT total(updated) FROM progress)"
        )
        running = self.each("SELECT host, pid FROM runs WHERE status = 'running' AND removed IS NULL")
        count = sum(is_running(run["host"], run["pid"]) for run in running)
        named = self.each("SELECT id, name, note, removed FROM runs WHERE coalesce(name, note, removed) IS NOT NULL")
        shown = repr([tuple(row), count, *map(tuple, named)]).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(shown, digest_size=8).hexdigest(), count > 0

    def runs(self, *, removed: bool = False) -> list[Run]:
        """All runs that were not removed, or all that were; the latest first."""
        which = "NOT NULL" if removed else "NULL"
        return [run_of_row(row) for row in self.each(f"{RUNS} WHERE removed IS {which} ORDER BY id DESC")]

    def run(self, number: int, *, removed: bool = False) -> Run:
        """One run; StoreError with the latest number if there is none. Removed runs only with `removed`."""
        row = self.one(f"{RUNS} WHERE id = ?", number)
        if row is not None and row["removed"] is not None and not removed:
            raise StoreError(f"run {number} was removed; wug runs undo {number} restores it")
        if row is None:
            newest = self.one("SELECT max(id) AS id FROM runs WHERE removed IS NULL")["id"]
            known = "there is none yet: wug run SUITE --model MODEL" if newest is None else f"the latest is {newest}"
            raise StoreError(f"no run {number} in {self.path}; {known}")
        if row["checksum"] != row_checksum(row, RUN_CHECKED):
            raise damaged_run(number, "the checksum of its row does not match")
        return run_of_row(row)

    def overview(self, runs: Sequence[int] | None = None) -> list[Summary]:
        """The results of these runs, or of all, each with its estimates over all items."""
        where = "" if runs is None else f"AND results.run IN ({','.join('?' * len(runs))})"
        rows = self.each(
            "SELECT results.*, runs.model FROM results JOIN runs ON runs.id = results.run"
            f" WHERE removed IS NULL {where} ORDER BY results.id",
            *(runs or ()),
        )
        return [summary_of_row(row) for row in rows]

    def warnings(self) -> dict[int, tuple[str, ...]]:
        """The warnings of results, by result; damaged rows are left out."""
        warnings_by_result: dict[int, tuple[str, ...]] = {}
        for row in self.each("SELECT id, warnings FROM results WHERE warnings <> '[]'"):
            with suppress(ValueError, TypeError):
                warnings_by_result[row["id"]] = tuple(map(str, json.loads(row["warnings"])))
        return warnings_by_result

    def stored(self, run: int, *, outcomes: bool = False) -> list[StoredResult]:
        """The results of a run in order, with or without their outcomes.

        StoreError if one is damaged or missing. Outcomes stay in their files and are read on demand.
        """
        return self.stored_by_run([run], outcomes=outcomes)[run]

    def stored_by_run(self, runs: Sequence[int], *, outcomes: bool = False) -> dict[int, list[StoredResult]]:
        """The results of several runs, as `stored` returns them, by run."""
        results_by_run: dict[int, list[StoredResult]] = {run: [] for run in runs}
        models = {run: self.run(run).model for run in runs}
        marks = ",".join("?" * len(runs))
        for row in list(self.each(f"SELECT * FROM results WHERE run IN ({marks}) ORDER BY id", *runs)):
            require_sound(row)
            if outcomes:
                self._file_of(row)
            stored = StoredOutcomes(self.rows(row["id"])) if outcomes else ()
            result = result_of_row(row, models[row["run"]], stored)
            results_by_run[row["run"]].append(StoredResult(row["id"], row["run"], result))
        for row in self.each(f"SELECT id, kept FROM runs WHERE id IN ({marks})", *runs):
            if row["kept"] is not None and row["kept"] != len(results_by_run[row["id"]]):
                raise damaged_run(row["id"], f"{len(results_by_run[row['id']])} of its {row['kept']} results are there")
        return results_by_run

    def result(self, number: int) -> tuple[Result, Run]:
        """A result without its outcomes, and its run."""
        row = self._sound_row(number)
        self._file_of(row)
        run = self.run(row["run"])
        return result_of_row(row, run.model), run

    def rows(self, result: int, *, keep: bool = False) -> OutcomeTable:
        """The outcomes of a result; with `keep`, those of a small one stay in memory for the next pages."""
        locate = functools.partial(self.outcome_file, result)
        return _kept_rows(self, result, (file := locate()).sha256, file.first) if keep else OutcomeTable(locate)

    def outcome_file(self, result: int) -> OutcomeFile:
        """The file with the outcomes of a result; StoreError if it is missing or damaged."""
        row = self._sound_row(result)
        try:
            return self._file_of(row)
        except StoreError:  # a run that has just finished moves its results to one file
            now = self._sound_row(result)
            if now["file"] == row["file"]:
                raise
            return self._file_of(now)

    def models(self) -> list[str]:
        """Every model that has a run."""
        return [str(row["model"]) for row in self.each("SELECT DISTINCT model FROM runs ORDER BY model")]

    def sweep_names(self) -> dict[int, str]:
        """Names of all sweeps by id."""
        return {row["id"]: str(row["name"]) for row in self.each("SELECT id, name FROM sweeps")}

    def sweep_statuses(self) -> dict[int, dict[str, int]]:
        """For each sweep, the number of models by status of their run."""
        counts: dict[int, dict[str, int]] = {}
        for row in self.each(
            "SELECT sweep, status, count(DISTINCT specification) AS models FROM runs"
            " WHERE sweep IS NOT NULL AND removed IS NULL GROUP BY sweep, status"
        ):
            counts.setdefault(row["sweep"], {})[str(row["status"])] = row["models"]
        return counts

    def siblings(self, result: int) -> list[Sibling]:
        """The complete results of other runs on the same suite, the latest first."""
        rows = self.each(
            "SELECT other.id, other.run, runs.model FROM results AS own JOIN results AS other"
            " ON other.suite = own.suite AND other.kind = own.kind AND other.run != own.run"
            " JOIN runs ON runs.id = other.run WHERE own.id = ? AND other.status = 'complete'"
            " AND runs.removed IS NULL ORDER BY other.id DESC",
            result,
        )
        return [Sibling(row["id"], row["run"], str(row["model"])) for row in rows]

    def variants_by_option(self, result: int, option: str) -> dict[str, int]:
        """The newest result for each value of an option, among those that differ in that option only.

        Without the option in its signature, a result has its default, "no".
        """
        row = self._row(result)
        signature = signature_of_row(row)
        rows = self.each(
            "SELECT results.* FROM results JOIN runs ON runs.id = run WHERE suite = ? AND kind = ?"
            " AND results.status = 'complete' AND removed IS NULL ORDER BY results.id",
            *(row["suite"], row["kind"]),
        )
        others: dict[str, int] = {}
        for other in rows:
            theirs = signature_of_row(other)
            if dict(theirs.without(option).fields) == dict(signature.without(option).fields):
                others[theirs.get(option) or "no"] = other["id"]
        return {**others, signature.get(option) or "no": result}

    def head(self, result: int) -> dict[str, Any]:
        """The signature and the warnings of a result."""
        row = self._row(result)
        try:
            require_sound(row)
            return {"signature": signature_of_row(row), "warnings": [str(text) for text in json.loads(row["warnings"])]}
        except (StoreError, ValueError, TypeError, RecursionError) as error:
            return {"signature": str(row["signature"]), "warnings": [str(error)]}

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """A context in which this thread reads the index as it is at one moment."""
        connection = self._connection()
        try:
            connection.execute("BEGIN")
        except SQLITE_ERRORS as error:
            raise StoreError(f"the store {self.path} cannot be read: {describe(error)}") from None
        try:
            yield
        finally:
            with suppress(*SQLITE_ERRORS):
                connection.rollback()

    def identity(self) -> tuple[int, int]:
        """Device and inode of the index, which change if it is replaced; StoreError if there is none."""
        try:
            status = (self.path / INDEX).stat()
        except OSError as error:
            raise StoreError(
                f"the store {self.path} is gone ({error.strerror}): it was deleted or moved. Put it back, or start "
                "wug view again"
            ) from None
        return status.st_dev, status.st_ino

    def damage(self) -> str:
        """The error that SQLite finds in the index; empty if there is none."""
        try:
            (answer,) = self.one("PRAGMA quick_check(1)")
        except StoreError as error:
            return str(error)
        return "" if answer == "ok" else f"the store {self.path} is damaged: {answer}"

    def one(self, sql: str, *values: Any) -> Any:
        """The first row of a query on the index; None if it has none."""
        return next(self.each(sql, *values), None)

    def each(self, sql: str, *values: Any) -> Iterator[Any]:
        """The rows of a query on the index; an error may occur at any of them."""
        try:
            yield from self._connection().execute(sql, values)
        except (*SQLITE_ERRORS, OverflowError) as error:
            raise StoreError(f"the store {self.path} cannot be read: {describe(error)}") from None

    def _row(self, result: int) -> sqlite3.Row:
        row: sqlite3.Row | None = self.one("SELECT * FROM results WHERE id = ?", result)
        if row is None:
            raise StoreError(
                f"no result {result} in {self.path}. A resumed run gives its results new numbers: look for it in "
                "the list of runs"
            )
        return row

    def _sound_row(self, result: int) -> sqlite3.Row:
        row = self._row(result)
        require_sound(row)
        return row

    def _file_of(self, row: sqlite3.Row) -> OutcomeFile:
        """The file of outcomes of a sound row, after its checksum was verified."""
        columns = load_columns(row["columns"])
        if row["file"] is None:
            return OutcomeFile(None, 0, 0, columns)
        path = self.path / OUTCOMES / row["file"]
        try:
            status = path.stat()
            checksum = _checksum(path, status.st_size, status.st_mtime_ns, status.st_ino)
        except OSError as error:
            raise damaged(row, f"its file {OUTCOMES}/{path.name} cannot be read: {error.strerror}") from None
        if checksum != row["sha256"]:
            raise damaged(row, f"the checksum of its file {OUTCOMES}/{path.name} does not match")
        return OutcomeFile(path, row["first"], row["rows"], columns)

    def _connection(self) -> sqlite3.Connection:
        """The connection of this thread to the current index."""
        identity = self.identity()
        known: _ThreadConnection | None = getattr(self._thread, "db", None)
        if known is None or known.identity != identity:
            self._thread.db = known = _ThreadConnection(identity, self._opened())
        return known.connection

    def _opened(self) -> sqlite3.Connection:
        # It is used by this thread alone, and may be closed by another.
        connection = sqlite3.connect(
            f"{(self.path / INDEX).resolve().as_uri()}?mode=ro",
            uri=True,
            timeout=10,
            factory=Connection,
            check_same_thread=False,
        )
        try:
            connection.row_factory = sqlite3.Row
            # A damaged character is shown as such and hides nothing else.
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            connection.execute("PRAGMA query_only=ON")
            connection.execute("PRAGMA cache_size=-1000")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
        except SQLITE_ERRORS:
            connection.close()
            raise
        if version != VERSION:
            connection.close()
            raise StoreError(
                f"{self.path} is not a store of this version of wug (schema {version}, not {VERSION}). Choose another "
                "with --store"
            )
        require_columns(connection)
        return connection


class _ThreadConnection:
    """A thread's connection to an index, closed when the thread ends.

    A connection refers to itself through its statement cache. Without this it would wait for the garbage collector,
    which runs late in a large process.
    """

    def __init__(self, identity: tuple[int, int], connection: sqlite3.Connection) -> None:
        self.identity, self.connection = identity, connection

    def __del__(self) -> None:
        self.connection.close()


@functools.lru_cache(maxsize=32)
def _kept_rows(reader: RunReader, result: int, sha256: str | None, first: int) -> OutcomeTable:
    """The outcomes of a result; file and place tell it from another one with its number in a new index."""
    return OutcomeTable(functools.partial(reader.outcome_file, result), keep=True)


@functools.lru_cache(maxsize=16_384)
def _checksum(path: Path, size: int, modified: int, inode: int) -> str:
    """The SHA-256 of a file, computed once per process unless the file changes."""
    return file_sha256(path)
