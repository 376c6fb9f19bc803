"""Rows of a store that may be damaged, as objects: whatever is in them, a page can show it or say that it cannot."""

from __future__ import annotations

from typing import Any, get_args

from wug.errors import StoreError
from wug.runs import _rows, store
from wug.runs.store import Run
from wug.types import Status

STATUSES = get_args(Status)


def decoded(data: bytes) -> str:
    """Text of the store; a damaged letter is shown as such and hides nothing else."""
    return data.decode("utf-8", "replace")


def run_of(row: Any) -> Run:
    """A run; what is no status counts as failed."""
    texts = {name: _text(row[name]) for name in ("model", "command", "started")}
    finished = None if row["finished"] is None else _text(row["finished"])
    return store.run_of({**row, **texts, **_process(row), "finished": finished, "status": _status(row["status"])})


def goes_on(row: Any) -> bool:
    """Whether the process that writes a run is there."""
    return store.goes_on(_process(row))


def kept(row: Any) -> _rows.Kept:
    """A result of an overview."""
    return _rows.kept({**row, "status": _status(row["status"])})


def placed(row: Any) -> _rows.Placed:
    """An outcome with its place."""
    value = row["value"]
    if value is not None and not isinstance(value, int | float):
        raise StoreError(f"outcome {row['place']} of result {row['result']} is damaged: {value!r} is no number")
    return _rows.placed(row)


def _process(row: Any) -> dict[str, Any]:
    """Host and number of the process that writes a run, where they can be that."""
    pid = row["pid"]
    fits = isinstance(pid, int) and 0 < pid < 2**31
    return {"host": row["host"] if isinstance(row["host"], str) else None, "pid": pid if fits else None}


def _status(value: Any) -> Status:
    found: Status = value if value in STATUSES else "failed"
    return found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)
