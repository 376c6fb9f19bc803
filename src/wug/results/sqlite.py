"""SQLite files of the store and the output cache: who owns them, and what is wrong with them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

SIDECAR_SUFFIXES = ("-wal", "-shm")
"""Endings of the files that SQLite keeps beside an open one."""
APPLICATION_ID_BYTES = slice(68, 72)
"""Where the application's number stands in a file."""
SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""What a call of SQLite's may raise; where names in a file are damaged, Python cannot even read the message."""
DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "it cannot be written to",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened, or its folder cannot be written to",
    sqlite3.SQLITE_NOTADB: "it is not an SQLite file",
    sqlite3.SQLITE_CORRUPT: "it is damaged",
    sqlite3.SQLITE_IOERR: "the disk failed, or is full",
    sqlite3.SQLITE_BUSY: "another process has locked it",
}
"""SQLite's own words say less."""


class Connection(sqlite3.Connection):
    """A connection that is closed with the last reference to it; of a plain one, Python 3.13 complains then."""

    def __del__(self) -> None:
        with suppress(sqlite3.Error):  # made by another thread, which has ended: it goes with the memory
            self.close()


def code_of(error: BaseException) -> int:
    """SQLite's number for what went wrong; 0 where it gives none."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def is_damage(error: BaseException) -> bool:
    """Whether the file's content is to blame, rather than the disk, its folder or another process.

    A schema that cannot be read gives a plain error, which names no table of ours.
    """
    text = str(error)
    if isinstance(error, UnicodeDecodeError):
        return True
    return code_of(error) in DAMAGE or any(sign in text for sign in ("malformed", "no such table", "no such column"))


def describe(error: BaseException) -> str:
    """What went wrong, in words."""
    if isinstance(error, UnicodeDecodeError):
        return REASONS[sqlite3.SQLITE_CORRUPT]
    if isinstance(error, OSError):
        return error.strerror or str(error)
    reason = REASONS.get(code_of(error))
    return f"{reason} ({error})" if reason else str(error)


def application_id_of(path: Path) -> int | None:
    """The application's number in a file's head; None where it has none."""
    try:
        with path.open("rb") as file:
            head = file.read(APPLICATION_ID_BYTES.stop)
    except OSError:
        return None
    return int.from_bytes(head[APPLICATION_ID_BYTES], "big") if len(head) == APPLICATION_ID_BYTES.stop else None


def is_ours(db: sqlite3.Connection, application: int, tables: Collection[str]) -> bool:
    """Whether a file is of that application, or new, or of a time when it had no number; nothing is written."""
    (found,) = db.execute("PRAGMA application_id").fetchone()
    named = {name for (name,) in map(tuple, db.execute("SELECT name FROM sqlite_master WHERE type = 'table'"))}
    return found in (0, application) and named <= set(tables)


def make_private(path: Path) -> None:
    """Make the file, and its folder, where they are not there yet, readable by their owner alone."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not path.exists():
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
