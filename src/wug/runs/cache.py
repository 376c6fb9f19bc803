"""The file of answers: nothing is asked twice, and no answer comes out other than it went in.

A value is kept with a checksum that covers its key too, so a damaged row, or one under another's key, is told from a
sound one. The file may be deleted at any time, and one that is damaged beyond reading is put aside for a new one.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

from wug.errors import StoreError
from wug.runs.sqlite import BESIDE, FAULTS, Connection, is_damage, is_ours, make_private, mark_of, why

READ = 500
"""Keys looked up in one statement; SQLite allows 999 at least."""
APPLICATION = 0x77756741
"""What SQLite keeps in the file's head to tell a cache of ours (`wugA`) from another program's file."""
VERSION = 2
"""2 added checksums; answers of an earlier one are dropped, as they can be asked again."""
CHECK = 8
"""Bytes of a checksum."""

log = logging.getLogger("wug")


class Cache:
    """A file of answers by key."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damaged = 0
        """Rows that failed their checksum since this was opened."""
        try:
            self._db = self._open()
        except (sqlite3.Error, OSError, ValueError) as error:
            if not self._put_aside(error):
                raise self._unusable(error) from None
            self._db = self._open()

    def read(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The values of those keys that are there and sound."""
        try:
            return self._read(keys)
        except FAULTS as error:
            self._renew(error)
            return {}

    def write(self, rows: Iterable[tuple[bytes, bytes]]) -> None:
        """Keep answers, all of them or none."""
        sealed = [(key, value + _checksum(key, value)) for key, value in rows]
        try:
            self._write(sealed)
        except FAULTS as error:
            self._renew(error)
            self._write(sealed)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _open(self) -> sqlite3.Connection:
        make_private(self.path)
        db = sqlite3.connect(self.path, timeout=60, isolation_level=None, check_same_thread=False, factory=Connection)
        try:
            self._require_ours(db)
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=NORMAL")
            (version,) = db.execute("PRAGMA user_version").fetchone()
            if version < VERSION:
                _prepare(db)
        except BaseException:
            db.close()
            raise
        return db

    def _require_ours(self, db: sqlite3.Connection) -> None:
        """Refuse another program's file before anything in it is changed."""
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if not is_ours(db, APPLICATION, {"answers"}):
            raise StoreError(f"{self.path} is no answer cache of wug's: choose another file with --cache")
        if version > VERSION:
            raise StoreError(f"the answer cache {self.path} was written by a newer wug: choose another with --cache")

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        found: dict[bytes, bytes] = {}
        for first in range(0, len(keys), READ):
            some = keys[first : first + READ]
            marks = ",".join("?" * len(some))
            for key, sealed in self._db.execute(f"SELECT key, value FROM answers WHERE key IN ({marks})", some):
                value = sealed[:-CHECK] if isinstance(sealed, bytes) else b""
                if isinstance(sealed, bytes) and sealed[-CHECK:] == _checksum(key, value):
                    found[key] = value
                else:
                    self.damaged += 1
        return found

    def _write(self, rows: Iterable[tuple[bytes, bytes]]) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            self._db.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?)", rows)
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def _renew(self, error: Exception) -> None:
        """Go on with a new file where this one turned out to be damaged, or say why that cannot be."""
        self._db.close()
        if not self._put_aside(error):
            raise self._unusable(error) from None
        self._db = self._open()

    def _put_aside(self, error: Exception) -> bool:
        """Whether a damaged cache of ours was put aside; another program's file is never touched."""
        if not is_damage(error) or mark_of(self.path) != APPLICATION:
            return False
        aside = self.path.with_name(f"{self.path.name}.damaged")
        try:
            self.path.replace(aside)
            for tail in BESIDE:
                self.path.with_name(self.path.name + tail).unlink(missing_ok=True)
        except OSError:
            return False
        log.warning("the answer cache %s is damaged (%s): put aside as %s, begun anew", self.path, error, aside.name)
        return True

    def _unusable(self, error: Exception) -> StoreError:
        return StoreError(
            f"the answer cache {self.path} cannot be used: {why(error)}. It may be deleted; or choose another with "
            "--cache, or none with --no-cache"
        )


def _prepare(db: sqlite3.Connection) -> None:
    """Make the table in a new file, or anew in one of an earlier version."""
    db.execute("BEGIN IMMEDIATE")
    try:
        if db.execute("PRAGMA user_version").fetchone() != (VERSION,):  # nobody else was quicker
            db.execute("DROP TABLE IF EXISTS answers")
            db.execute("CREATE TABLE answers (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")
            db.execute(f"PRAGMA application_id={APPLICATION}")
            db.execute(f"PRAGMA user_version={VERSION}")
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _checksum(key: bytes, value: bytes) -> bytes:
    return hashlib.blake2b(value, digest_size=CHECK, key=key).digest()
