"""SQLite files of the store and the output cache: ownership, permissions and errors."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SIDECAR_SUFFIXES = ("-wal", "-shm")
"""Suffixes of the files that SQLite creates next to an open database."""
APPLICATION_ID_BYTES = slice(68, 72)
"""The position of the application id in the file header."""
SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""Exceptions of SQLite; UnicodeDecodeError if a damaged file has damaged names in the message."""
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
"""Messages that are clearer than SQLite's."""


class Connection(sqlite3.Connection):
    """A connection that is closed with its last reference; Python 3.13 warns about a plain one."""

    def __del__(self) -> None:
        with suppress(sqlite3.Error):  # made by a thread that has ended; freed with its memory
            self.close()


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """A context whose statements are all executed, or none."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def create_tables(db: sqlite3.Connection, statements: str, application: int, version: int) -> None:
    """Create tables in a transaction, unless another process was faster."""
    with transaction(db):
        if db.execute("PRAGMA user_version").fetchone()[0] == version:
            return
        for statement in statements.split(";"):  # `executescript` would end the transaction
            db.execute(statement)
        db.execute(f"PRAGMA application_id={application}")
        db.execute(f"PRAGMA user_version={version}")


def code_of(error: BaseException) -> int:
    """SQLite's error code; 0 if there is none."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def is_damage(error: BaseException) -> bool:
    """Whether the content of the file is damaged, in contrast to errors of the disk or another process.

    A damaged schema raises an error without a code.
    """
    text = str(error)
    if isinstance(error, UnicodeDecodeError):
        return True
    return code_of(error) in DAMAGE or any(sign in text for sign in ("malformed", "no such table", "no such column"))


def describe(error: BaseException) -> str:
    """The reason of an error, as text."""
    if isinstance(error, UnicodeDecodeError):
        return REASONS[sqlite3.SQLITE_CORRUPT]
    if isinstance(error, OSError):
        return error.strerror or str(error)
    reason = REASONS.get(code_of(error))
    return f"{reason} ({error})" if reason else str(error)


def application_id_of(path: Path) -> int | None:
    """The application id in the header of a file; None if it has no header."""
    try:
        with path.open("rb") as file:
            head = file.read(APPLICATION_ID_BYTES.stop)
    except OSError:
        return None
    return int.from_bytes(head[APPLICATION_ID_BYTES], "big") if len(head) == APPLICATION_ID_BYTES.stop else None


def is_ours(db: sqlite3.Connection, application: int, tables: Collection[str]) -> bool:
    """Whether a database is new or belongs to an application; nothing is written."""
    (found_application,) = db.execute("PRAGMA application_id").fetchone()
    named = {name for (name,) in map(tuple, db.execute("SELECT name FROM sqlite_master WHERE type = 'table'"))}
    return named <= set(tables) if found_application == application else not found_application and not named


def make_private(path: Path) -> None:
    """Create a file and its folder, readable only by their owner, unless they exist."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not path.exists():
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
