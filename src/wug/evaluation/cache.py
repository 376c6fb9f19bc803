"""The output cache: a SQLite table of blocks of model outputs, so that nothing is computed twice.

A block holds up to a thousand outputs, compressed, with their keys and one CRC-32 over all of it: a table with one row
per output is read four times as slowly, and cannot be compressed as well. So outputs that come one by one are written
at once, and joined when there are enough for a block. A damaged block is dropped and computed again. The file may be
deleted at any time. A file that cannot be read is renamed and replaced.
"""

from __future__ import annotations

import logging
import sqlite3
import zlib
from collections import OrderedDict
from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from wug.arrays import Indices
from wug.errors import StoreError
from wug.results.sqlite import (
    SIDECAR_SUFFIXES,
    SQLITE_ERRORS,
    Connection,
    application_id_of,
    create_tables,
    describe,
    is_damage,
    make_private,
    transaction,
)

APPLICATION_ID = 0x77756741
"""Written to the header of the SQLite file to identify a cache of wug (`wugA`)."""
VERSION = 6
"""Schema version; the outputs of an earlier one are dropped, as they can be computed again."""
KEY_BYTES = 12
KEY_PARTS = np.dtype([("head", "u4"), ("tail", "u8")])
INDEX_ENTRY = np.dtype([("head", "u4"), ("block", "i4"), ("position", "i4")])
BLOCK_OUTPUTS = 1024
BLOCKS_IN_MEMORY = 64
COMPRESSION_LEVEL = 1
"""Level of zlib; higher levels take several times as long and save a few per cent."""
TABLES = """
DROP TABLE IF EXISTS answers;
DROP TABLE IF EXISTS blocks;
DROP TABLE IF EXISTS models;
CREATE TABLE models (id INTEGER PRIMARY KEY, key BLOB UNIQUE, name TEXT, noise REAL);
CREATE TABLE blocks (
    id INTEGER PRIMARY KEY AUTOINCREMENT, model INTEGER, keys BLOB, sizes BLOB, outputs BLOB, crc INTEGER,
    written INTEGER DEFAULT (unixepoch()));
CREATE INDEX blocks_by_model ON blocks (model, id)
"""
"""The tables, in place of those of an earlier version."""

Block: TypeAlias = tuple[bytes, bytes, bytes, int]
"""Keys, sizes and compressed outputs, and their CRC-32."""

log = logging.getLogger("wug")


class CachedOutputs(NamedTuple):
    """The outputs of one model in the cache."""

    model: str
    outputs: int
    bytes: int
    written: float
    """When the latest output was written, in seconds since 1970."""


class _Index:
    """The block and position of each key of a model."""

    def __init__(self) -> None:
        self.newest = 0
        """The number of the last block in the index."""
        self._tails = np.full(1, 2**64 - 1, np.uint64)
        """The last eight bytes of each key as a number, sorted: numbers are found faster than texts."""
        self._entries = np.zeros(1, INDEX_ENTRY)  # with one of block 0, so that it is never empty
        self._added: list[tuple[int, bytes]] = []

    def add(self, block: int, keys: bytes) -> None:
        """Add a block; its keys are found after `sort`."""
        self.newest = max(self.newest, block)
        self._added.append((block, keys[: len(keys) // KEY_BYTES * KEY_BYTES]))

    def find(self, keys: npt.NDArray[np.bytes_]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Block and position of each key; block 0 for an unknown key."""
        parts, last = keys.view(KEY_PARTS), len(self._tails) - 1
        order = np.argsort(parts["tail"])  # neighbours in the index are found one after the other
        heads, tails = parts["head"][order], parts["tail"][order]
        at = np.minimum(np.searchsorted(self._tails, tails), last)
        while (other := (self._tails[at] == tails) & (self._entries["head"][at] != heads) & (at < last)).any():
            at[other] += 1  # hardly ever: only the heads of two keys differ
        entries, (blocks, positions) = self._entries[at], np.empty((2, len(at)), np.int32)
        blocks[order] = np.where((self._tails[at] == tails) & (entries["head"] == heads), entries["block"], 0)
        positions[order] = entries["position"]
        return blocks, positions

    def forget(self, block: int) -> None:
        """Remove a block that turned out to be damaged."""
        kept = self._entries["block"] != block
        self._tails, self._entries = self._tails[kept], self._entries[kept]

    def sort(self) -> None:
        """Sort the keys that were added, so that they are found."""
        if not self._added:
            return
        added, self._added = self._added, []
        sizes = [len(keys) // KEY_BYTES for _, keys in added]
        parts = _as_array(b"".join(keys for _, keys in added)).view(KEY_PARTS)
        new = np.empty(len(parts), INDEX_ENTRY)
        new["head"], new["block"] = parts["head"], np.repeat(np.array([block for block, _ in added], np.int32), sizes)
        new["position"] = np.concatenate([np.arange(size, dtype=np.int32) for size in sizes])
        tails, entries = np.concatenate([self._tails, parts["tail"]]), np.concatenate([self._entries, new])
        del added, parts, new  # sorting takes as much memory again
        order = np.argsort(tails, kind="stable")
        self._tails, self._entries = tails[order], entries[order]


class Cache:
    """Model outputs by key, in a file; without a path, in a temporary file that is deleted on close."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.damaged = 0
        """Outputs lost since this was opened, because their block failed its checksum."""
        self._indexes: dict[bytes, _Index] = {}
        self._recent: OrderedDict[int, list[bytes]] = OrderedDict()
        """The outputs of the blocks that were used last."""
        self._small: dict[bytes, tuple[list[int], list[tuple[bytes, bytes]]]] = {}
        """By model, the numbers and rows of small blocks that were written here and can be joined."""
        try:
            self._db = self._open()
        except (sqlite3.Error, OSError, ValueError) as error:
            if not self._set_aside(error):
                raise self._unusable(error) from None
            self._db = self._open()

    def missing(self, model: bytes, keys: bytes) -> tuple[Indices, int]:
        """The positions of the distinct keys without an output, and the number of distinct keys."""
        index = self._index(model)
        distinct, first = np.unique(_as_array(keys), return_index=True)
        blocks, _ = index.find(distinct)
        return first[blocks == 0], len(distinct)

    def read(self, model: bytes, keys: bytes) -> list[bytes | None]:
        """The output of each key; None if there is none or its block was damaged."""
        index, requested = self._index(model), _as_array(keys)
        blocks, positions = index.find(requested)
        stored: list[bytes | None] = [None] * len(requested)
        order = np.argsort(blocks, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(blocks[order])) + 1) if len(order) else []:
            number = int(blocks[rows[0]])
            outputs = self._outputs(model, number) if number else None
            if number and outputs is None:
                index.forget(number)
            if outputs is not None:
                for at, position in zip(rows.tolist(), positions[rows].tolist(), strict=True):
                    stored[at] = outputs[position]
        return stored

    def release(self, model: bytes) -> None:
        """Free the memory that the keys of a model take, until they are needed again."""
        self._indexes.pop(model, None)

    def rows(self, model: bytes) -> list[tuple[bytes, bytes]]:
        """All keys and outputs of a model."""
        blocks = self._execute(
            "SELECT blocks.id, keys FROM blocks JOIN models ON models.id = model WHERE key = ?", model
        )
        outputs = [(keys, self._outputs(model, number) or []) for number, keys in blocks]
        return [
            (keys[KEY_BYTES * at : KEY_BYTES * (at + 1)], output)
            for keys, values in outputs
            for at, output in enumerate(values)
        ]

    def write(self, model: bytes, name: str, rows: Sequence[tuple[bytes, bytes]]) -> None:
        """Store the outputs of some keys, all of them or none; `name` is the model's id, for people.

        Small blocks are joined when they have enough outputs for a full one.
        """
        small, waiting = self._small.pop(model, ([], []))
        waiting = [*waiting, *rows]
        is_full = len(waiting) >= BLOCK_OUTPUTS
        try:
            written = self._write(model, name, _packed(model, waiting if is_full else rows), small if is_full else ())
        except SQLITE_ERRORS as error:
            self._renew(error)
            small, written = [], self._write(model, name, _packed(model, waiting), ())
        if is_full:
            self.release(model)
        else:
            self._small[model] = ([*small, *written], waiting)

    def noise(self, model: bytes) -> float | None:
        """The rounding noise of a model's outputs, in nats per sentence; None if none was measured."""
        rows = self._execute("SELECT noise FROM models WHERE key = ?", model)
        return float(rows[0][0]) if rows and isinstance(rows[0][0], float) else None

    def set_noise(self, model: bytes, name: str, noise: float) -> None:
        """Store the rounding noise of a model's outputs."""
        sql = "INSERT INTO models (key, name, noise) VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET noise = ?"
        self._execute(sql, model, name, noise, noise)

    def models(self) -> list[CachedOutputs]:
        """The models with outputs in the cache, the largest first."""
        sql = (
            "SELECT name, sum(length(keys)) / ?, sum(length(keys) + length(sizes) + length(outputs)),"
            " max(written) FROM blocks JOIN models ON models.id = model GROUP BY name ORDER BY 3 DESC, name"
        )
        return [CachedOutputs(*row) for row in self._execute(sql, KEY_BYTES)]

    def clear(self, *, model: str | None = None, before: float | None = None) -> int:
        """Delete the outputs of a model, or those written before a time, or all; returns how many."""
        conditions = {"model IN (SELECT id FROM models WHERE name = ?)": model, "written < ?": before}
        chosen = {sql: value for sql, value in conditions.items() if value is not None}
        where = " AND ".join(chosen) or "TRUE"
        count = f"SELECT coalesce(sum(length(keys)), 0) / ? FROM blocks WHERE {where}"
        counted = self._execute(count, KEY_BYTES, *chosen.values())
        self._execute(f"DELETE FROM blocks WHERE {where}", *chosen.values())
        self._execute("DELETE FROM models WHERE id NOT IN (SELECT model FROM blocks)")
        self._execute("VACUUM")
        self._forget()
        return int(counted[0][0])

    def report_damage(self) -> None:
        """Log how many outputs were damaged since the last call."""
        if self.damaged:
            log.warning("%s outputs in the cache were damaged and were computed again", f"{self.damaged:,}")
            self.damaged = 0

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _index(self, model: bytes) -> _Index:
        """The index of a model, updated with blocks that other processes have written."""
        index = self._indexes.setdefault(model, _Index())
        sql = "SELECT blocks.id, keys FROM blocks JOIN models ON models.id = model WHERE key = ? AND blocks.id > ?"
        for number, keys in self._execute(f"{sql} ORDER BY blocks.id", model, index.newest):
            index.add(number, keys if isinstance(keys, bytes) else b"")
        index.sort()
        return index

    def _outputs(self, model: bytes, number: int) -> list[bytes] | None:
        """The outputs of a block; None if it is missing or damaged; a damaged block is deleted and counted."""
        if number in self._recent:
            self._recent.move_to_end(number)
            return self._recent[number]
        rows = self._execute("SELECT keys, sizes, outputs, crc FROM blocks WHERE id = ?", number)
        if not rows:
            return None
        *content, crc = rows[0]
        if not all(isinstance(part, bytes) for part in content) or crc != _crc(model, *content):
            self._execute("DELETE FROM blocks WHERE id = ?", number)
            self.damaged += len(content[0]) // KEY_BYTES if isinstance(content[0], bytes) else 1
            return None
        bounds = accumulate(np.frombuffer(content[1], "<u4").tolist(), initial=0)
        data = zlib.decompress(content[2])
        outputs = self._recent[number] = [data[low:high] for low, high in pairwise(bounds)]
        if len(self._recent) > BLOCKS_IN_MEMORY:
            self._recent.popitem(last=False)
        return outputs

    def _write(self, model: bytes, name: str, blocks: Sequence[Block], replaced: Sequence[int]) -> list[int]:
        """Write blocks in place of others, and return their numbers."""
        with transaction(self._db):
            self._db.execute("INSERT OR IGNORE INTO models (key, name) VALUES (?, ?)", (model, name))
            (number,) = self._db.execute("SELECT id FROM models WHERE key = ?", (model,)).fetchone()
            self._db.executemany("DELETE FROM blocks WHERE id = ?", ((other,) for other in replaced))
            sql = "INSERT INTO blocks (model, keys, sizes, outputs, crc) VALUES (?, ?, ?, ?, ?) RETURNING id"
            return [int(self._db.execute(sql, (number, *block)).fetchone()[0]) for block in blocks]

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
                create_tables(db, TABLES, APPLICATION_ID, VERSION)
        except BaseException:
            db.close()
            raise
        return db

    def _require_ours(self, db: sqlite3.Connection) -> None:
        """Refuse another program's file before anything in it is changed."""
        (version,) = db.execute("PRAGMA user_version").fetchone()
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application != APPLICATION_ID and (application or tables):
            raise self._foreign()
        if version > VERSION:
            raise StoreError(f"the cache {self.path} was written by a newer wug: choose another with --cache")

    def _execute(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a statement; none if the file turns out to be damaged, and is replaced."""
        try:
            return self._db.execute(sql, values).fetchall()
        except SQLITE_ERRORS as error:
            self._renew(error)
            return []

    def _renew(self, error: Exception) -> None:
        self._db.close()
        self._forget()
        if not self._set_aside(error):
            raise self._unusable(error) from None
        self._db = self._open()

    def _forget(self) -> None:
        """Forget what was in the file."""
        self._indexes.clear()
        self._recent.clear()
        self._small.clear()

    def _set_aside(self, error: Exception) -> bool:
        """Rename a damaged cache of wug, and return whether that was done; other files are never touched."""
        if self.path is None or not is_damage(error) or application_id_of(self.path) != APPLICATION_ID:
            return False
        aside = self.path.with_name(f"{self.path.name}.damaged")
        try:
            self.path.replace(aside)
            for tail in SIDECAR_SUFFIXES:
                self.path.with_name(self.path.name + tail).unlink(missing_ok=True)
        except OSError:
            return False
        log.warning("the cache %s is damaged (%s): renamed to %s and replaced", self.path, error, aside.name)
        return True

    def _unusable(self, error: Exception) -> StoreError:
        if self.path is None:
            return StoreError(f"the temporary cache of this run cannot be used: {describe(error)}")
        damaged, ours = is_damage(error), application_id_of(self.path) == APPLICATION_ID
        if damaged and not ours:
            return self._foreign()
        fix = "Delete it, or name another" if damaged else "Name another"
        return StoreError(
            f"the cache {self.path} cannot be used: {describe(error)}. {fix} with --cache, or use --no-cache"
        )

    def _foreign(self) -> StoreError:
        return StoreError(f"{self.path} is not a cache of wug and is not changed. Name another file with --cache")


def _packed(model: bytes, rows: Sequence[tuple[bytes, bytes]]) -> list[Block]:
    blocks = []
    for start in range(0, len(rows), BLOCK_OUTPUTS):
        keys, values = zip(*rows[start : start + BLOCK_OUTPUTS], strict=True)
        sizes = np.array([len(value) for value in values], "<u4").tobytes()
        content = (b"".join(keys), sizes, zlib.compress(b"".join(values), COMPRESSION_LEVEL))
        blocks.append((*content, _crc(model, *content)))
    return blocks


def _crc(model: bytes, keys: bytes, sizes: bytes, outputs: bytes) -> int:
    return zlib.crc32(outputs, zlib.crc32(sizes, zlib.crc32(model + keys)))


def _as_array(keys: bytes) -> npt.NDArray[np.bytes_]:
    return np.frombuffer(keys, f"S{KEY_BYTES}")
