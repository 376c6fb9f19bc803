"""The folder of a store that holds Parquet files of outcomes; each file is written once and never changed."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from wug.results.columns import FIXED, identifier
from wug.results.database import connect, database_errors, source
from wug.results.outcomes import OutcomeFile, copy_to
from wug.results.schema import file_sha256

NAME = re.compile(r"(\d+)-[0-9a-f]{8}\.parquet(\.tmp)?")
"""Names of files: the number of the run, and a random part; `.tmp` until they are complete."""


class OutcomeFolder:
    """Writes, merges and deletes files of outcomes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def temporary(self, run: int) -> Iterator[Path]:
        """A path for a new file; if it still exists at the end, it is deleted."""
        path = self.path / f"{run:06d}-{secrets.token_hex(4)}.parquet.tmp"
        try:
            yield path
        finally:
            with suppress(OSError):
                path.unlink(missing_ok=True)

    def place(self, file: OutcomeFile) -> OutcomeFile:
        """Sync a temporary file and give it its final name; returns it with its SHA-256."""
        if file.path is None:
            return file
        with database_errors(self.path):
            final = file.path.with_suffix("")
            with file.path.open("rb") as written:
                os.fsync(written.fileno())
            sha256 = file_sha256(file.path)
            file.path.rename(final)
            if os.name == "posix":  # elsewhere a folder cannot be opened
                folder = os.open(self.path, os.O_RDONLY)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)
        return file._replace(path=final, sha256=sha256)

    def copy(self, run: int, file: OutcomeFile) -> OutcomeFile:
        """Copy a file of another store."""
        if file.path is None:
            return file
        with self.temporary(run) as temporary, database_errors(self.path):
            temporary.write_bytes(file.path.read_bytes())
            return self.place(file._replace(path=temporary))

    def merge(self, run: int, parts: Sequence[OutcomeFile]) -> list[OutcomeFile]:
        """Merge files with the same columns into one; returns the rows of each in it."""
        columns = parts[0].columns
        names = ", ".join(identifier(name) for name in [*list(FIXED)[1:], *(column.name for column in columns)])
        selects, merged = [], []
        first = 0
        for part in parts:
            assert part.path is not None
            position = f"CAST(position + {first} AS INTEGER) AS position"
            selects.append(f"SELECT {position}, {names} FROM {source(part.path)}")
            merged.append(part._replace(first=first))
            first += part.rows
        with self.temporary(run) as temporary:
            with database_errors(self.path), connect() as db:
                db.execute(copy_to(" UNION ALL ".join(selects), temporary, columns))
            placed = self.place(OutcomeFile(temporary, 0, first, columns))
        return [part._replace(path=placed.path, sha256=placed.sha256) for part in merged]

    def delete(self, files: Collection[OutcomeFile]) -> None:
        """Delete files that no result has any more."""
        for file in files:
            if file.path is not None:
                with suppress(OSError):
                    file.path.unlink(missing_ok=True)

    def delete_orphans(self, known: Collection[str], deletable: Callable[[int], bool]) -> None:
        """Delete files that are not known, if they belong to a run whose files may be deleted."""
        for path in self.path.iterdir():
            match = NAME.fullmatch(path.name)
            if match and path.name not in known and deletable(int(match[1])):
                with suppress(OSError):
                    path.unlink()
