"""Runs and results as rows of the index."""

from __future__ import annotations

import functools
import json
import os
import socket
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, get_args

from wug.outcomes import Estimate, Metric, Outcome, Result, Signature, Status, phenomenon_of
from wug.results.progress import Progress, progress_of
from wug.results.schema import RESULT, RUN_UNCHECKED, damaged, row_checksum

MAX_CACHED_SUMMARIES = 16_384
"""Summaries of results that are kept for the next overview."""


@dataclass(frozen=True, slots=True)
class Run:
    """One model evaluated on some suites."""

    id: int
    status: Status
    model: str
    command: str
    started: str
    finished: str | None
    suites: int
    """Number of results in the store."""
    specification: str | None = None
    """The model as the user named it, `kind:name@revision`; None if unknown."""
    revision: str | None = None
    name: str | None = None
    """Name that a user gave the run."""
    note: str | None = None
    removed: str | None = None
    """When a user removed the run; it stays in the store, so that this can be undone."""
    origin: str | None = None
    """`editor` for a scoring from the suite editor; None for a run of a command."""
    message: str | None = None
    """Why it failed."""
    sweep: int | None = None
    """The sweep that it is part of."""
    progress: Progress | None = None
    """Its last report of progress; None if it never sent one."""

    @property
    def is_draft(self) -> bool:
        """Whether it is a scoring from the suite editor."""
        return self.origin == "editor"


@dataclass(frozen=True, slots=True)
class Summary:
    """What an overview shows of a result."""

    id: int
    run: int
    model: str
    suite: str
    kind: str
    status: Status
    n: int
    text: str
    """Estimates, metrics and phenomenon as JSON, parsed on demand; empty if the row is damaged."""

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """The estimates over all items."""
        return _parse_summary(self.text).estimates

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics of these estimates."""
        return _parse_summary(self.text).metrics

    @property
    def phenomenon(self) -> str:
        """The phenomenon that the suite tests; empty if it names none, or tests several."""
        phenomena = self.phenomena
        return next(iter(phenomena)) if len(phenomena) == 1 else _parse_summary(self.text).phenomenon

    @property
    def phenomena(self) -> Mapping[str, Estimate]:
        """The headline by phenomenon: that of the suite, or those of its groups."""
        return _parse_summary(self.text).phenomena

    @property
    def measurable(self) -> bool:
        """Whether its proportions say anything about the model."""
        return _parse_summary(self.text).measurable

    @property
    def failure(self) -> str:
        """The error that ended it, if it failed."""
        return _parse_summary(self.text).failure

    @property
    def error(self) -> str:
        """Why its row cannot be read; empty if it can."""
        return _parse_summary(self.text).error


class Sibling(NamedTuple):
    """A result of another run on the same suite."""

    id: int
    run: int
    model: str


class StoredResult(NamedTuple):
    """A result with its number and that of its run."""

    id: int
    run: int
    result: Result


def result_of_row(row: sqlite3.Row, model: str, outcomes: Sequence[Outcome] = ()) -> Result:
    """The result in a row of the index, with these outcomes."""
    try:
        return Result(
            suite=row["suite"],
            kind=row["kind"],
            model=model,
            status=row["status"],
            signature=signature_of_row(row),
            n=row["n"],
            estimates=tuple(Estimate(**fields) for fields in json.loads(row["estimates"])),
            warnings=tuple(json.loads(row["warnings"])),
            outcomes=outcomes,
            meta=json.loads(row["meta"]),
            metrics=tuple(Metric(**fields) for fields in json.loads(row["metrics"])),
            measurable=_parse_summary(row["summary"]).measurable,
            failure=_parse_summary(row["summary"]).failure,
        )
    except (ValueError, TypeError, RecursionError) as error:
        raise damaged(row, str(error)) from None


def signature_of_row(row: sqlite3.Row) -> Signature:
    """The signature in a row of the index."""
    try:
        return Signature(tuple((str(key), str(value)) for key, value in json.loads(row["signature"])))
    except (ValueError, TypeError, RecursionError):
        return Signature((("", str(row["signature"])),))  # a damaged row, which is refused elsewhere


def run_of_row(row: sqlite3.Row) -> Run:
    """The run in a row of the index; one whose process was killed is interrupted.

    Any row can be shown, damaged ones as well: an unknown status counts as failed.
    """
    status: Status = row["status"] if row["status"] in get_args(Status) else "failed"
    texts = {name: "" if row[name] is None else str(row[name]) for name in ("model", "command", "started")}
    more: dict[str, Any] = {name: None if row[name] is None else str(row[name]) for name in RUN_UNCHECKED}
    return Run(
        id=row["id"],
        status="interrupted" if status == "running" and not is_running(row["host"], row["pid"]) else status,
        finished=None if row["finished"] is None else str(row["finished"]),
        suites=row["suites"],
        specification=row["specification"],
        revision=row["revision"],
        sweep=row["sweep"],
        progress=progress_of(row),
        **more,
        **texts,
    )


@functools.lru_cache(maxsize=MAX_CACHED_SUMMARIES)
def summary_of_row(row: sqlite3.Row) -> Summary:
    """The summary in a row of results joined with runs; equal rows are read once."""
    status: Status = row["status"] if row["status"] in get_args(Status) else "failed"
    return Summary(
        id=row["id"],
        run=row["run"],
        model=str(row["model"]),
        suite=str(row["suite"]),
        kind=str(row["kind"]),
        status=status,
        n=row["n"] if isinstance(row["n"], int) else 0,
        text=row["summary"] if row["checksum"] == row_checksum(row, RESULT) else "",
    )


def is_running(host: object, pid: object, *, elsewhere: bool = False) -> bool:
    """Whether the process that writes a run exists: any on another machine, and this one unless `elsewhere`."""
    if not isinstance(host, str) or not isinstance(pid, int) or not 0 < pid < 2**31:
        return False
    if host != socket.gethostname():
        return True
    if pid == os.getpid():
        return not elsewhere
    try:
        os.kill(pid, 0)
        # A process that was killed and not waited for. The name of the program, in brackets, may contain anything.
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] != "Z"
    except ProcessLookupError:
        return False
    except (OSError, IndexError):  # of another user, or not on Linux
        return True


@dataclass(frozen=True, slots=True)
class _Parsed:
    """The text of a summary, parsed."""

    estimates: tuple[Estimate, ...] = ()
    metrics: tuple[Metric, ...] = ()
    phenomenon: str = ""
    phenomena: Mapping[str, Estimate] = field(default_factory=dict)
    error: str = ""
    measurable: bool = True
    failure: str = ""


@functools.lru_cache(maxsize=MAX_CACHED_SUMMARIES)
def _parse_summary(text: str) -> _Parsed:
    if not text:
        return _Parsed(error="its row is damaged (its checksum does not match)")
    try:
        fields_of_result = json.loads(text)
        overall = tuple(Estimate(**fields) for fields in fields_of_result["estimates"])
        metrics = tuple(Metric(*fields) for fields in fields_of_result.get("metrics") or ())
        phenomenon = phenomenon_of(fields_of_result)
        parts = {fields["group"]: Estimate(**fields) for fields in fields_of_result.get("phenomena") or ()}
        headline = next((one.name for one in metrics if one.headline), overall[0].metric if overall else "")
        own = [(phenomenon, one) for one in overall if phenomenon and one.metric == headline]
        measurable, failure = fields_of_result.get("measurable") is not False, str(fields_of_result.get("failure", ""))
        return _Parsed(overall, metrics, phenomenon, dict(own) or parts, measurable=measurable, failure=failure)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        return _Parsed(error=f"its row is damaged ({error})")
