"""The file of answers: nothing is asked twice, and no answer comes out other than it went in.

Answers are kept in blocks of a thousand or so, each with the keys of its answers and a checksum over all of it, so a
damaged block is told from a sound one. Whoever looks for answers reads the keys of a model first, 16 bytes an answer:
that takes less time than looking up each. The file may be deleted at any time, and one that is damaged beyond reading
is put aside for a new one.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from wug.errors import StoreError
from wug.runs.sqlite import BESIDE, FAULTS, Connection, is_damage, is_ours, make_private, mark_of, why

APPLICATION = 0x77756741
"""What SQLite keeps in the file's head to tell a cache of ours (`wugA`) from another program's file."""
VERSION = 3
"""2 added checksums, 3 blocks; answers of an earlier one are dropped, as they can be asked again."""
KEY = 16
"""Bytes of a key."""
TABLES = """
CREATE TABLE blocks (
    id INTEGER PRIMARY KEY AUTOINCREMENT, model BLOB, keys BLOB, answers BLOB, seal BLOB);
CREATE INDEX blocks_by_model ON blocks (model, id)
"""

Keys: TypeAlias = npt.NDArray[np.bytes_]
"""Keys as an array of so many bytes each; to Python, numpy gives them without the zeros at their end."""

log = logging.getLogger("wug")


@dataclass(frozen=True, slots=True)
class Block:
    """Answers that were kept together."""

    keys: Keys
    answers: bytes


class Cache:
    """A file of answers by key; without a path, one of the system's that goes when it is closed."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.damaged = 0
        """Answers that were lost since this was opened, because their block failed its checksum."""
        try:
            self._db = self._open()
        except (sqlite3.Error, OSError, ValueError) as error:
            if not self._put_aside(error):
                raise self._unusable(error) from None
            self._db = self._open()

    def keys(self, model: bytes, beyond: int = 0) -> list[tuple[int, Keys]]:
        """The numbers and keys of a model's blocks, of those with a number beyond one that is known."""
        sql = "SELECT id, keys FROM blocks WHERE model = ? AND id > ? ORDER BY id"
        try:
            rows = self._db.execute(sql, (model, beyond)).fetchall()
        except FAULTS as error:
            self._renew(error)
            return []
        return [(number, _keys(keys)) for number, keys in rows if isinstance(keys, bytes)]

    def block(self, model: bytes, number: int) -> Block | None:
        """A block of a model's answers; None where it is gone. One that is damaged is dropped, and counted."""
        try:
            row = self._db.execute("SELECT model, keys, answers, seal FROM blocks WHERE id = ?", (number,)).fetchone()
            if row is None:
                return None
            if all(isinstance(part, bytes) for part in row) and row[0] == model and row[3] == _seal(*row[:3]):
                return Block(_keys(row[1]), row[2])
            self._db.execute("DELETE FROM blocks WHERE id = ?", (number,))
        except FAULTS as error:
            self._renew(error)
            return None
        self.damaged += len(row[1]) // KEY if isinstance(row[1], bytes) else 1
        return None

    def write(self, model: bytes, blocks: Sequence[Block]) -> None:
        """Keep blocks of a model's answers, all of them or none."""
        packed = [(model, block.keys.tobytes(), block.answers) for block in blocks]
        sealed = [(*row, _seal(*row)) for row in packed]
        try:
            self._write(sealed)
        except FAULTS as error:
            self._renew(error)
            self._write(sealed)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

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
                _prepare(db)
        except BaseException:
            db.close()
            raise
        return db

    def _require_ours(self, db: sqlite3.Connection) -> None:
        """Refuse another program's file before anything in it is changed."""
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if not is_ours(db, APPLICATION, {"answers", "blocks", "sqlite_sequence"}):
            raise StoreError(f"{self.path} is no answer cache of wug's: choose another file with --cache")
        if version > VERSION:
            raise StoreError(f"the answer cache {self.path} was written by a newer wug: choose another with --cache")

    def _write(self, rows: Iterable[tuple[bytes, bytes, bytes, bytes]]) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            self._db.executemany("INSERT INTO blocks (model, keys, answers, seal) VALUES (?, ?, ?, ?)", rows)
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
        if self.path is None or not is_damage(error) or mark_of(self.path) != APPLICATION:
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
            f"the answer cache {self.path or 'of this run'} cannot be used: {why(error)}. It may be deleted; or choose "
            "another with --cache, or none with --no-cache"
        )


def _prepare(db: sqlite3.Connection) -> None:
    """Make the table in a new file, or anew in one of an earlier version."""
    db.execute("BEGIN IMMEDIATE")
    try:
        if db.execute("PRAGMA user_version").fetchone() != (VERSION,):  # nobody else was quicker
            for statement in ("DROP TABLE IF EXISTS answers", "DROP TABLE IF EXISTS blocks", *TABLES.split(";")):
                db.execute(statement)
            db.execute(f"PRAGMA application_id={APPLICATION}")
            db.execute(f"PRAGMA user_version={VERSION}")
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _keys(data: bytes) -> Keys:
    """Keys as they are kept; where a damaged row has a part of one at its end, without it."""
    return np.frombuffer(data[: len(data) // KEY * KEY], f"S{KEY}")


def _seal(model: bytes, keys: bytes, answers: bytes) -> bytes:
    digest = hashlib.blake2b(keys, digest_size=8, key=model)
    digest.update(answers)
    return digest.digest()
