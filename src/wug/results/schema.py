"""The tables of the run store, and how a store of an earlier version is brought forward."""

from __future__ import annotations

import json
import shlex
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

from wug.errors import StoreError
from wug.results.checksums import RESULT, RUN, result_seal, run_seal, summary_seal
from wug.types import Check, Signature, phenomenon_of

TABLES = """
CREATE TABLE IF NOT EXISTS runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, status TEXT NOT NULL, model TEXT NOT NULL,
    command TEXT NOT NULL, started TEXT NOT NULL, finished TEXT, version TEXT NOT NULL, host TEXT, pid INTEGER,
    kept INTEGER, seal BLOB, specification TEXT, revision TEXT, name TEXT, note TEXT, removed TEXT, origin TEXT,
    message TEXT, sweep INTEGER REFERENCES sweeps ON DELETE SET NULL);
CREATE TABLE IF NOT EXISTS sweeps (
    id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, name TEXT NOT NULL, command TEXT NOT NULL,
    started TEXT NOT NULL, plan TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS progress (
    run INTEGER PRIMARY KEY REFERENCES runs ON DELETE CASCADE, done INTEGER NOT NULL, questions INTEGER NOT NULL,
    judged INTEGER NOT NULL, suites INTEGER NOT NULL, began REAL NOT NULL, cached INTEGER NOT NULL, told REAL NOT NULL);
CREATE TABLE IF NOT EXISTS results (
    id INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    suite TEXT NOT NULL, kind TEXT NOT NULL, status TEXT NOT NULL, signature TEXT NOT NULL, n INTEGER NOT NULL,
    estimates TEXT NOT NULL, warnings TEXT NOT NULL, descriptions TEXT NOT NULL, meta TEXT NOT NULL, checks TEXT,
    summary TEXT, outcomes INTEGER, chain BLOB, seal BLOB, summary_seal BLOB);
CREATE TABLE IF NOT EXISTS outcomes (
    result INTEGER NOT NULL REFERENCES results ON DELETE CASCADE, place INTEGER NOT NULL, item TEXT NOT NULL,
    measure TEXT NOT NULL, value REAL, judged INTEGER NOT NULL, groups TEXT NOT NULL, detail TEXT NOT NULL,
    seal BLOB, PRIMARY KEY (result, place)) WITHOUT ROWID
"""
INDEXES = """
DROP INDEX IF EXISTS outcomes_by_check;
CREATE INDEX outcomes_by_check ON outcomes (result, measure, value, place, judged);
CREATE INDEX IF NOT EXISTS outcomes_by_item ON outcomes (result, item);
CREATE INDEX IF NOT EXISTS results_by_run ON results (run);
CREATE INDEX IF NOT EXISTS runs_by_sweep ON runs (sweep)
"""
"""The first serves pages of failing items, sorted pages and counts; the second all judgements of an item."""
VERSION = 5
"""2 added `results.summary` (what an overview shows of a result) and `outcomes_by_check`; 3 the seals; 4 signatures as
fields, what the user called the model, and `outcomes_by_item`; 5 what people say of a run (`name`, `note`, `removed`),
where it came from, why it failed, how far it is, and sweeps."""
SPOKEN = ("name", "note", "removed", "origin", "message")
"""Columns of a run that no seal covers: they may change at any time, and no number depends on them."""
ADDED = {
    "runs": {
        "kept": "INTEGER",
        "seal": "BLOB",
        "specification": "TEXT",
        "revision": "TEXT",
        "sweep": "INTEGER",
        **dict.fromkeys(SPOKEN, "TEXT"),
    },
    "results": {
        **dict.fromkeys(["checks", "summary"], "TEXT"),
        **dict.fromkeys(["chain", "seal", "summary_seal"], "BLOB"),
        "outcomes": "INTEGER",
    },
    "outcomes": {"seal": "BLOB"},
}
"""Columns that the first version did not have."""
APPLICATION = 0x77756752
"""What SQLite keeps in the file's head to tell a store of ours (`wugR`) from another program's file."""
COLUMNS = {
    "runs": {*RUN, *SPOKEN, "sweep", "status", "finished", "host", "pid", "seal"},
    "sweeps": {"id", "key", "name", "command", "started", "plan"},
    "progress": {"run", "done", "questions", "judged", "suites", "began", "cached", "told"},
    "results": {"id", *RESULT, "outcomes", "chain", "seal", "summary_seal"},
    "outcomes": {"result", "place", "item", "measure", "value", "judged", "groups", "detail", "seal"},
}


def require_columns(db: sqlite3.Connection) -> None:
    """Refuse a store whose tables are not as they were made."""
    for table, names in COLUMNS.items():
        if not names <= _columns(db, table):
            raise StoreError(f"the run store is damaged: its table {table} lacks columns. Choose another with --db")


def prepare(db: sqlite3.Connection) -> None:
    """Make the tables, or bring those of an earlier version forward; call it within a transaction."""
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version == VERSION:  # another process was quicker
        return
    before = {table: _columns(db, table) for table in COLUMNS}
    _execute(db, TABLES)
    for table, columns in ADDED.items():
        for name in columns.keys() - _columns(db, table):
            db.execute(f"ALTER TABLE {table} ADD COLUMN {name} {columns[name]}")
    _execute(db, INDEXES)
    if version < 4:  # version 5 changed no column that a seal covers
        for row in db.execute("SELECT * FROM results").fetchall():
            _bring_result(db, {**row}, before["results"])
        runs = db.execute("SELECT * FROM runs ORDER BY id").fetchall()
        for row in runs:
            _bring_run(db, {**row}, before["runs"], runs)
    db.execute(f"PRAGMA application_id={APPLICATION}")
    db.execute(f"PRAGMA user_version={VERSION}")


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def dump(data: Any) -> str:
    """JSON as the store keeps it."""
    text = _encode(data)
    # Half a character cannot be written as UTF-8, but as an escape of JSON's.
    return text if is_unicode(text) else json.dumps(data, separators=(",", ":"))


def is_unicode(text: str) -> bool:
    """Whether a text has no half characters, which no file can hold."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def summary_of(estimates: Sequence[Mapping[str, Any]], meta: Mapping[str, Any], checks: Sequence[Check] = ()) -> str:
    """What an overview shows of a result, as JSON: its estimates over all items, what they are, its phenomenon."""
    whole = [fields for fields in estimates if fields["group"] == "all"]
    named = {fields["check"] for fields in whole}
    known = [(check.name, check.unit, check.better, check.headline) for check in checks if check.name in named]
    return dump({"estimates": whole, "checks": known, "phenomenon": phenomenon_of(meta)})


def _bring_result(db: sqlite3.Connection, row: dict[str, Any], before: Collection[str]) -> None:
    """Bring a result forward and seal it anew; one that is damaged stays as it is, and is refused when it is read.

    A result of the first two versions is sealed as it is: what its outcomes were before cannot be known.
    """
    sealed = [name for name in RESULT if name in before]
    if row["seal"] is not None and row["seal"] != result_seal(row, row["outcomes"], row["chain"], sealed):
        return
    try:
        row["summary"] = row["summary"] or summary_of(json.loads(row["estimates"]), json.loads(row["meta"]))
        row["signature"] = dump(Signature.read(row["signature"]).fields)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return
    if row["seal"] is None:
        counted = db.execute("SELECT count(*) FROM outcomes WHERE result = ?", (row["id"],))
        row["outcomes"] = counted.fetchone()[0]
    row |= {"seal": result_seal(row, row["outcomes"], row["chain"]), "summary_seal": summary_seal(row)}
    _update(db, "results", row, ("signature", "summary", "outcomes", "seal", "summary_seal"))


def _bring_run(db: sqlite3.Connection, row: dict[str, Any], before: Collection[str], runs: Sequence[Any]) -> None:
    """Bring a run forward and seal it anew; one that is damaged stays as it is."""
    if row["seal"] is not None and row["seal"] != run_seal(row, [name for name in RUN if name in before]):
        return
    word = _named_in_command(row, runs)
    name = word.partition("?")[0]
    plain = not name.startswith(("command:", "endpoint:"))  # whose names may contain these marks themselves
    row["specification"] = (name if plain else word) or None
    row["revision"] = name.rpartition("@")[2] if plain and "@" in name else None
    row["seal"] = run_seal(row)
    _update(db, "runs", row, ("specification", "revision", "seal"))


def _named_in_command(run: Any, runs: Sequence[Any]) -> str:
    """What a command calls the model of a run of its; empty where that cannot be told."""
    try:
        words = shlex.split(run["command"])
    except (ValueError, TypeError, AttributeError):
        return ""
    named = [word for option, word in pairwise(words) if option == "--model"]
    named += [word.partition("=")[2] for word in words if word.startswith("--model=")]
    name = _bare(run["model"])
    fitting = [word for word in named if name.rpartition("/")[2] in word] or named
    # Several revisions of one model in one command have runs one after the other.
    same = [other["id"] for other in runs if other["command"] == run["command"] and _bare(other["model"]) == name]
    return fitting[same.index(run["id"]) % len(fitting)] if fitting else ""


def _bare(model: object) -> str:
    """A model's name without kind and fingerprint."""
    return str(model).partition("/")[2].rpartition("@")[0] or str(model)


def _update(db: sqlite3.Connection, table: str, row: Mapping[str, Any], names: Sequence[str]) -> None:
    changes = ", ".join(f"{name} = ?" for name in names)
    db.execute(f"UPDATE {table} SET {changes} WHERE id = ?", (*(row[name] for name in names), row["id"]))


def _columns(db: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in db.execute(f"PRAGMA table_info({table})")}


def _execute(db: sqlite3.Connection, statements: str) -> None:
    """One after the other; `executescript` would end the transaction."""
    for statement in statements.split(";"):
        db.execute(statement)
