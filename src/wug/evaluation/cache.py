"""The output cache: one SQLite table of model outputs, keyed by digest, so that nothing is computed twice.

Each value carries a CRC-32 of its model, key and content; a damaged row is dropped and computed again. The file may be
deleted at any time. One that is damaged beyond reading is set aside and replaced.
"""

from __future__ import annotations

import logging
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from wug.errors import StoreError
from wug.results.sqlite import BESIDE, FAULTS, Connection, is_damage, is_ours, make_private, mark_of, why

APPLICATION_ID = 0x77756741
"""Written to the header of the SQLite file to identify a cache of wug (`wugA`)."""
VERSION = 4
"""Schema version; the outputs of an earlier one are dropped, as they can be computed again."""
KEY_BYTES = 12
CRC_BYTES = 4
KEYS_PER_QUERY = 500
TABLES = """
CREATE TABLE models (id INTEGER PRIMARY KEY, key BLOB UNIQUE, name TEXT);
CREATE TABLE outputs (model INTEGER, key BLOB, value BLOB, PRIMARY KEY (model, key)) WITHOUT ROWID
"""

log = logging.getLogger("wug")


class Cache:
    """Model outputs by key, in a file; without a path, in a temporary file that goes when it is closed."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.damaged = 0
        """Outputs lost since this was opened, because they failed their checksum."""
        try:
            self._db = self._open()
        except (sqlite3.Error, OSError, ValueError) as error:
            if not self._set_aside(error):
                raise self._unusable(error) from None
            self._db = self._open()

    def missing(self, model: bytes, keys: Sequence[bytes]) -> list[int]:
        """The positions of the distinct keys without a value, in order of first appearance."""
        first: dict[bytes, int] = {}
        for position, key in enumerate(keys):
            first.setdefault(key, position)
        for (key,) in self._select("key", model, list(first)):
            first.pop(key, None)
        return list(first.values())

    def read(self, model: bytes, keys: Sequence[bytes]) -> list[bytes | None]:
        """The value of each key; None where there is none or it was damaged."""
        found: dict[bytes, bytes] = {}
        damaged: list[bytes] = []
        for key, stored in self._select("key, value", model, list(dict.fromkeys(keys))):
            if isinstance(stored, bytes) and stored[:CRC_BYTES] == _crc(model, key, stored[CRC_BYTES:]):
                found[key] = stored[CRC_BYTES:]
            else:
                damaged.append(key)
        if damaged:
            self.damaged += len(damaged)
            self._drop(model, damaged)
        return [found.get(key) for key in keys]

    def rows(self, model: bytes) -> list[tuple[bytes, bytes]]:
        """All keys and values of a model."""
        keys = [key for (key,) in self._execute("SELECT key FROM outputs WHERE model = ?", self._number(model))]
        return [(key, value) for key, value in zip(keys, self.read(model, keys), strict=True) if value is not None]

    def write(self, model: bytes, name: str, rows: Sequence[tuple[bytes, bytes]]) -> None:
        """Store the values of some keys, all of them or none; `name` is the model's id, for people."""
        # In the order of the index, which keeps its pages full.
        sealed = [(key, _crc(model, key, value) + value) for key, value in sorted(rows)]
        try:
            self._write(model, name, sealed)
        except FAULTS as error:
            self._renew(error)
            self._write(model, name, sealed)

    def report_damage(self) -> None:
        """Log how many outputs were damaged since this was last called."""
        if self.damaged:
            log.warning("%s outputs in the cache were damaged and were computed again", f"{self.damaged:,}")
            self.damaged = 0

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _select(self, columns: str, model: bytes, keys: Sequence[bytes]) -> Iterator[tuple[bytes, ...]]:
        number = self._number(model)
        if number is None:
            return
        for start in range(0, len(keys), KEYS_PER_QUERY):
            some = keys[start : start + KEYS_PER_QUERY]
            marks = ",".join("?" * len(some))
            sql = f"SELECT {columns} FROM outputs WHERE model = ? AND key IN ({marks})"
            yield from self._execute(sql, number, *some)

    def _number(self, model: bytes) -> int | None:
        return next((number for (number,) in self._execute("SELECT id FROM models WHERE key = ?", model)), None)

    def _drop(self, model: bytes, keys: Iterable[bytes]) -> None:
        number = self._number(model)
        for key in keys:
            self._execute("DELETE FROM outputs WHERE model = ? AND key = ?", number, key)

    def _write(self, model: bytes, name: str, rows: Sequence[tuple[bytes, bytes]]) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            self._db.execute("INSERT OR IGNORE INTO models (key, name) VALUES (?, ?)", (model, name))
            (number,) = self._db.execute("SELECT id FROM models WHERE key = ?", (model,)).fetchone()
            self._db.executemany(
                "INSERT OR REPLACE INTO outputs VALUES (?, ?, ?)", ((number, key, value) for key, value in rows)
            )
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def _open(self) -> sqlite3.Connection:
        if self.path is not None:
            make_private(self.path)
        name = self.path or ""
        db = sqlite3.connect(name, timeout=60, isolation_level=None, check_same_thread=False, factory=Connection)
        try:
            self._require_ours(db)
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=NORMAL")
            (version,) = db.execute("PRAGMA user_version").fetchone()
            if version < VERSION:
                _create_tables(db)
        except BaseException:
            db.close()
            raise
        return db

    def _require_ours(self, db: sqlite3.Connection) -> None:
        """Refuse another program's file before anything in it is changed."""
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if not is_ours(db, APPLICATION_ID, {"answers", "blocks", "models", "outputs", "sqlite_sequence"}):
            raise StoreError(f"{self.path} is not a cache of wug: choose another file with --cache")
        if version > VERSION:
            raise StoreError(f"the cache {self.path} was written by a newer wug: choose another with --cache")

    def _execute(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a statement; none where the file turns out to be damaged, which is then replaced."""
        try:
            return self._db.execute(sql, values).fetchall()
        except FAULTS as error:
            self._renew(error)
            return []

    def _renew(self, error: Exception) -> None:
        self._db.close()
        if not self._set_aside(error):
            raise self._unusable(error) from None
        self._db = self._open()

    def _set_aside(self, error: Exception) -> bool:
        """Whether a damaged cache of ours was set aside; another program's file is never touched."""
        if self.path is None or not is_damage(error) or mark_of(self.path) != APPLICATION_ID:
            return False
        aside = self.path.with_name(f"{self.path.name}.damaged")
        try:
            self.path.replace(aside)
            for tail in BESIDE:
                self.path.with_name(self.path.name + tail).unlink(missing_ok=True)
        except OSError:
            return False
        log.warning("the cache %s is damaged (%s): set aside as %s and replaced", self.path, error, aside.name)
        return True

    def _unusable(self, error: Exception) -> StoreError:
        return StoreError(
            f"the cache {self.path or 'of this run'} cannot be used: {why(error)}. It may be deleted; or choose "
            "another with --cache, or none with --no-cache"
        )


def _create_tables(db: sqlite3.Connection) -> None:
    """Create the tables in a new file, or in one of an earlier version."""
    db.execute("BEGIN IMMEDIATE")
    try:
        if db.execute("PRAGMA user_version").fetchone() != (VERSION,):  # no other process was faster
            for table in ("answers", "blocks", "models", "outputs"):
                db.execute(f"DROP TABLE IF EXISTS {table}")
            for statement in TABLES.split(";"):
                db.execute(statement)
            db.execute(f"PRAGMA application_id={APPLICATION_ID}")
            db.execute(f"PRAGMA user_version={VERSION}")
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _crc(model: bytes, key: bytes, value: bytes) -> bytes:
    return zlib.crc32(value, zlib.crc32(model + key)).to_bytes(CRC_BYTES, "little")
