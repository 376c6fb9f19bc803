"""The run store as it is read: runs, their results, the outcomes of a result.

Every thread has a connection of its own that can only read, so a look never stands in a writer's way. The file may be
deleted, replaced or damaged at any moment: each look says so, and a file that is put in its place is read instead.
"""

from __future__ import annotations

import functools
import json
import os
import socket
import sqlite3
import threading
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, get_args

from wug.errors import StoreError
from wug.results.checksums import damaged, damaged_run, require_sound, run_seal, seal, sound_outcomes, summary_seal
from wug.results.progress import Progress, progress_of
from wug.results.schema import SPOKEN, VERSION, require_columns
from wug.results.sqlite import FAULTS, Connection, why
from wug.results.stored_rows import StoredOutcomes, StoredRows, mentions_text, read_row
from wug.rows import Placed, Rows
from wug.types import Check, Estimate, Outcome, Result, Signature, Status, phenomenon_of

CHECKED = 200_000
"""Outcomes of a result that are all checked before any is shown, a second's work; of more, those that are shown."""
RUNS = (
    "SELECT runs.*, (SELECT count(*) FROM results WHERE run = runs.id) AS suites, progress.done, progress.questions,"
    " progress.suites AS wanted, progress.began, progress.cached, progress.told"
    " FROM runs LEFT JOIN progress ON progress.run = runs.id"
)


@dataclass(frozen=True, slots=True)
class Run:
    """One model's go at some suites."""

    id: int
    status: Status
    model: str
    command: str
    started: str
    finished: str | None
    suites: int
    """Results kept so far."""
    specification: str | None = None
    """The model as the user named it, `kind:name@revision`; None where that is not known."""
    revision: str | None = None
    name: str | None = None
    """What a user called the run."""
    note: str | None = None
    removed: str | None = None
    """When a user removed the run; it stays in the store, so that this can be undone."""
    origin: str | None = None
    """`editor` for a scoring from the suite editor; None for a run of a command."""
    message: str | None = None
    """Why it failed, as the run itself said it."""
    sweep: int | None = None
    """The sweep that it is part of."""
    progress: Progress | None = None
    """How far it came, as it said itself last; None where it never did."""

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
    """The rest as the store has it; it is read when it is asked for, since a page shows few of many."""

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Those over all items."""
        return _read_summary(self.text).estimates

    @property
    def checks(self) -> tuple[Check, ...]:
        """What they are; nothing of results that were kept before checks were."""
        return _read_summary(self.text).checks

    @property
    def phenomenon(self) -> str:
        """The phenomenon that the suite tests; empty if it names none."""
        return _read_summary(self.text).phenomenon

    @property
    def fault(self) -> str:
        """Why its row cannot be read; empty where it can."""
        return _read_summary(self.text).fault


class Sibling(NamedTuple):
    """A result of another run on the same suite."""

    id: int
    run: int
    model: str


class StoredResult(NamedTuple):
    """A result without its outcomes, and where it stands in the store."""

    id: int
    run: int
    result: Result


@dataclass(frozen=True, slots=True)
class RunReader:
    """The runs of a store, to look at."""

    path: Path
    _checked: set[tuple[tuple[int, int], int]] = field(default_factory=set, init=False, compare=False, repr=False)
    """Results, by their file, whose outcomes were seen to be as they were written."""
    _thread: threading.local = field(default_factory=threading.local, init=False, compare=False, repr=False)

    def state(self) -> tuple[str, bool]:
        """A word that changes with anything that a page shows of the runs, and whether a run goes on."""
        row = self.one(
            "SELECT (SELECT count(*) FROM runs) AS runs, (SELECT max(id) FROM results) AS newest,"
            " (SELECT max(finished) FROM runs) AS finished, (SELECT total(told) FROM progress) AS told"
        )
        running = self.each("SELECT host, pid FROM runs WHERE status = 'running' AND removed IS NULL")
        going = sum(_goes_on(run) for run in running)
        said = self.each("SELECT id, name, note, removed FROM runs WHERE coalesce(name, note, removed) IS NOT NULL")
        parts = [*(str(row[name] or 0) for name in ("runs", "newest", "finished", "told")), str(going)]
        return "-".join([*parts, seal(*map(tuple, said)).hex()]).replace(":", "").replace("+", ""), going > 0

    def runs(self, *, removed: bool = False) -> list[Run]:
        """All runs that were not removed, or all that were; the latest first."""
        which = "NOT NULL" if removed else "NULL"
        return [_run_of(row) for row in self.each(f"{RUNS} WHERE removed IS {which} ORDER BY id DESC")]

    def run(self, number: int, *, removed: bool = False) -> Run:
        """One run, or an error that says which there are; one that was removed only where that may be."""
        row = self.one(f"{RUNS} WHERE id = ?", number)
        if row is not None and row["removed"] is not None and not removed:
            raise StoreError(f"run {number} was removed; wug runs undo {number} brings it back")
        if row is None:
            newest = self.one("SELECT max(id) AS id FROM runs WHERE removed IS NULL")["id"]
            known = "there is none yet: wug run SUITE --model MODEL" if newest is None else f"the latest is {newest}"
            raise StoreError(f"no run {number} in {self.path}; {known}")
        if row["seal"] != run_seal(row):
            raise damaged_run(number, "the checksum of its row does not fit")
        return _run_of(row)

    def overview(self, runs: Sequence[int] | None = None) -> list[Summary]:
        """The results of these runs, or of all, each with its estimates over all items."""
        where = "" if runs is None else f"AND results.run IN ({','.join('?' * len(runs))})"
        rows = self.each(
            "SELECT results.id, results.run, runs.model, suite, kind, results.status, n, summary, summary_seal"
            f" FROM results JOIN runs ON runs.id = results.run WHERE removed IS NULL {where} ORDER BY results.id",
            *(runs or ()),
        )
        return [_summary_of(row) for row in rows]

    def stored(self, run: int, *, outcomes: bool = False) -> list[StoredResult]:
        """The results of a run in the order in which they were made, with their outcomes or without them.

        They are refused where one of them is not as it was written, or is not there. Outcomes stay in the store, and
        are read when someone looks.
        """
        model = self.run(run).model
        rows = list(self.each("SELECT * FROM results WHERE run = ? ORDER BY id", run))
        for row in rows:
            require_sound(row)
        kept = self.one("SELECT kept FROM runs WHERE id = ?", run)["kept"]
        if kept is not None and kept != len(rows):
            raise damaged_run(run, f"{len(rows)} of its {kept} results are there")
        found = []
        for row in rows:
            if outcomes:
                deque(map(read_row, self._rows(row)), maxlen=0)
            kept = StoredOutcomes(self, row["id"], row["outcomes"]) if outcomes else ()
            found.append(StoredResult(row["id"], run, _result_of(row, model, kept)))
        return found

    def result(self, number: int) -> tuple[Result, Run]:
        """A result without its outcomes, and its run."""
        row = self._sound(number)
        run = self.run(row["run"])
        return _result_of(row, run.model), run

    def rows(self, result: int) -> Rows:
        """The outcomes of a result."""
        row = self._sound(result)
        return StoredRows(self, result, checked=row["chain"] is None or row["outcomes"] <= CHECKED)

    def every(self, result: int) -> Iterator[Placed]:
        """All outcomes of a result in their order; however many they are, an error follows where one is missing."""
        return map(read_row, self._rows(self._row(result)))

    def models(self) -> list[str]:
        """Every model that has a run."""
        return [str(row["model"]) for row in self.each("SELECT DISTINCT model FROM runs ORDER BY model")]

    def sweep_names(self) -> dict[int, str]:
        """Names of all sweeps by id."""
        return {row["id"]: str(row["name"]) for row in self.each("SELECT id, name FROM sweeps")}

    def sweep_statuses(self) -> dict[int, dict[str, int]]:
        """For each sweep, the number of models by status of their run."""
        found: dict[int, dict[str, int]] = {}
        for row in self.each(
            "SELECT sweep, status, count(DISTINCT specification) AS models FROM runs"
            " WHERE sweep IS NOT NULL AND removed IS NULL GROUP BY sweep, status"
        ):
            found.setdefault(row["sweep"], {})[str(row["status"])] = row["models"]
        return found

    def siblings(self, result: int) -> list[Sibling]:
        """The complete results of other runs on the same suite, the latest first."""
        rows = self.each(
            "SELECT other.id, other.run, runs.model FROM results AS own JOIN results AS other"
            " ON other.suite = own.suite AND other.kind = own.kind AND other.run != own.run"
            " JOIN runs ON runs.id = other.run WHERE own.id = ? AND other.status = 'complete'"
            " AND runs.removed IS NULL ORDER BY other.id DESC",
            result,
        )
        return [Sibling(row["id"], row["run"], str(row["model"])) for row in rows]

    def variants_by_option(self, result: int, option: str) -> dict[str, int]:
        """The newest result for each value of an option, among those that differ in that option only.

        Without the option in its signature, a result has its default, "no".
        """
        row = self._row(result)
        signature = _signature_of(row)
        rows = self.each(
            "SELECT results.* FROM results JOIN runs ON runs.id = run WHERE suite = ? AND kind = ?"
            " AND results.status = 'complete' AND removed IS NULL ORDER BY results.id",
            *(row["suite"], row["kind"]),
        )
        found: dict[str, int] = {}
        for other in rows:
            theirs = _signature_of(other)
            if dict(theirs.without(option).fields) == dict(signature.without(option).fields):
                found[theirs.get(option) or "no"] = other["id"]
        return {**found, signature.get(option) or "no": result}

    def head(self, result: int) -> dict[str, Any]:
        """The signature and the warnings of a result."""
        row = self._row(result)
        try:
            require_sound(row)
            return {"signature": _signature_of(row), "warnings": [str(text) for text in json.loads(row["warnings"])]}
        except (StoreError, ValueError, TypeError, RecursionError) as error:
            return {"signature": str(row["signature"]), "warnings": [str(error)]}

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """What this thread reads meanwhile is the store as it is at one moment."""
        connection = self._connection()
        try:
            connection.execute("BEGIN")
        except FAULTS as error:
            raise StoreError(f"the run store {self.path} cannot be read: {why(error)}") from None
        try:
            yield
        finally:
            with suppress(*FAULTS):
                connection.rollback()

    def identity(self) -> tuple[int, int]:
        """What tells the file from another that is put in its place; StoreError where there is none."""
        try:
            found = self.path.stat()
        except OSError as error:
            raise StoreError(
                f"the run store {self.path} is gone ({error.strerror}): it was deleted or moved. Put it back, or start "
                "wug view again"
            ) from None
        return found.st_dev, found.st_ino

    def damage(self) -> str:
        """What is wrong with the file as a database; empty where nothing is."""
        try:
            (found,) = self.one("PRAGMA quick_check(1)")
        except StoreError as error:
            return str(error)
        return "" if found == "ok" else f"the run store {self.path} is damaged: {found}"

    def one(self, sql: str, *values: Any) -> Any:
        """The first row that a question to the store gives; None where it gives none."""
        return next(self.each(sql, *values), None)

    def each(self, sql: str, *values: Any) -> Iterator[Any]:
        """Rows as they come; a fault may show at any of them."""
        try:
            found = self._connection().execute(sql, values)
            while (row := found.fetchone()) is not None:
                yield row
        except (*FAULTS, OverflowError) as error:
            raise StoreError(f"the run store {self.path} cannot be read: {why(error)}") from None

    def _row(self, result: int) -> Any:
        row = self.one("SELECT * FROM results WHERE id = ?", result)
        if row is None:
            raise StoreError(
                f"no result {result} in {self.path}. A run that is taken up again makes its results anew: look for it "
                "among all runs"
            )
        return row

    def _rows(self, result: Any) -> Iterator[Any]:
        """The rows of a result's outcomes, all of them and in order."""
        rows = self.each("SELECT * FROM outcomes WHERE result = ? ORDER BY place", result["id"])
        return sound_outcomes(result, rows)

    def _sound(self, result: int) -> Any:
        """The row of a result that is not damaged; its outcomes are gone through once, unless there are very many."""
        row = self._row(result)
        require_sound(row)
        known = (self.identity(), result)
        if known in self._checked or row["outcomes"] > CHECKED:
            return row
        found = Counter((outcome["measure"], outcome["value"]) for outcome in self._rows(row))
        counted = self.each(
            "SELECT measure, value, count(*) AS n FROM outcomes INDEXED BY outcomes_by_check WHERE result = ?"
            " GROUP BY measure, value",
            result,
        )
        if {(group["measure"], group["value"]): group["n"] for group in counted} != found:
            raise StoreError(f"the run store {self.path} is damaged: an index does not fit its table")
        self._checked.add(known)
        return row

    def _connection(self) -> sqlite3.Connection:
        """The connection of this thread, to the file that is there now."""
        identity = self.identity()
        known: _OfThread | None = getattr(self._thread, "db", None)
        if known is None or known.identity != identity:
            self._thread.db = known = _OfThread(identity, self._opened())
        return known.connection

    def _opened(self) -> sqlite3.Connection:
        # It is used by this thread alone, and may be closed by another.
        made = sqlite3.connect(
            f"{self.path.resolve().as_uri()}?mode=ro", uri=True, timeout=10, factory=Connection, check_same_thread=False
        )
        try:
            made.row_factory = sqlite3.Row
            # A damaged letter is shown as such and hides nothing else.
            made.text_factory = lambda data: data.decode("utf-8", "replace")
            made.create_function("mentions", 4, mentions_text, deterministic=True)
            made.execute("PRAGMA query_only=ON")
            made.execute("PRAGMA cache_size=-1000")
            (version,) = made.execute("PRAGMA user_version").fetchone()
        except FAULTS:
            made.close()
            raise
        if version != VERSION:
            made.close()
            raise StoreError(
                f"{self.path} is no run store of this version of wug (it says {version}, not {VERSION}). Start wug "
                "view again, or choose another store with --db"
            )
        require_columns(made)
        return made


class _OfThread:
    """A thread's connection to a file, closed when the thread ends.

    A connection refers to itself, by its cache of statements, so that without this it would wait for the garbage
    collector, which in a large process comes late.
    """

    def __init__(self, identity: tuple[int, int], connection: sqlite3.Connection) -> None:
        self.identity, self.connection = identity, connection

    def __del__(self) -> None:
        self.connection.close()


def _result_of(row: Any, model: str, outcomes: Sequence[Outcome] = ()) -> Result:
    """A row of the store as a result, with these outcomes."""
    try:
        return Result(
            suite=row["suite"],
            kind=row["kind"],
            model=model,
            status=row["status"],
            signature=_signature_of(row),
            n=row["n"],
            estimates=tuple(Estimate(**fields) for fields in json.loads(row["estimates"])),
            warnings=tuple(json.loads(row["warnings"])),
            outcomes=outcomes,
            descriptions=json.loads(row["descriptions"]),
            meta=json.loads(row["meta"]),
            checks=tuple(Check(**fields) for fields in json.loads(row["checks"] or "[]")),
        )
    except (ValueError, TypeError, RecursionError) as error:
        raise damaged(row, str(error)) from None


def _signature_of(row: Any) -> Signature:
    try:
        return Signature(tuple((str(key), str(value)) for key, value in json.loads(row["signature"])))
    except (ValueError, TypeError, RecursionError):
        return Signature((("", str(row["signature"])),))  # of a damaged row, which is refused elsewhere


def _run_of(row: Any) -> Run:
    """A run as it is; one whose process was killed while it was written is as good as interrupted.

    Whatever a damaged row holds, it can be shown: what is no status counts as failed.
    """
    status: Status = row["status"] if row["status"] in get_args(Status) else "failed"
    texts = {name: "" if row[name] is None else str(row[name]) for name in ("model", "command", "started")}
    said: dict[str, Any] = {name: None if row[name] is None else str(row[name]) for name in SPOKEN}
    return Run(
        id=row["id"],
        status="interrupted" if status == "running" and not _goes_on(row) else status,
        finished=None if row["finished"] is None else str(row["finished"]),
        suites=row["suites"],
        specification=row["specification"],
        revision=row["revision"],
        sweep=row["sweep"],
        progress=progress_of(row),
        **said,
        **texts,
    )


def _goes_on(row: Any) -> bool:
    """Whether the process that writes a run is there; it may be this one."""
    host, pid = row["host"], row["pid"]
    if not isinstance(host, str) or not isinstance(pid, int) or not 0 < pid < 2**31:
        return False
    return pid == os.getpid() or alive(host, pid)


def alive(host: str | None, pid: int | None) -> bool:
    """Whether another process that writes a run still goes on; one on another machine counts as alive."""
    if pid is None or host is None:
        return False
    if host != socket.gethostname():
        return True
    if pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    """Whether a process was killed and only its entry is left, as where nobody waits for it; Linux alone tells."""
    try:
        # The name of the program stands in brackets, and may hold anything.
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] == "Z"
    except (OSError, IndexError):
        return False


@dataclass(frozen=True, slots=True)
class _Whole:
    """The estimates of a result over all items, and what goes with them."""

    estimates: tuple[Estimate, ...] = ()
    checks: tuple[Check, ...] = ()
    phenomenon: str = ""
    fault: str = ""


def _summary_of(row: Any) -> Summary:
    status: Status = row["status"] if row["status"] in get_args(Status) else "failed"
    return Summary(
        id=row["id"],
        run=row["run"],
        model=str(row["model"]),
        suite=str(row["suite"]),
        kind=str(row["kind"]),
        status=status,
        n=row["n"] if isinstance(row["n"], int) else 0,
        text=row["summary"] if row["summary_seal"] == summary_seal(row) else "",
    )


@functools.lru_cache(maxsize=4096)
def _read_summary(text: str) -> _Whole:
    if not text:
        return _Whole(fault="its row is damaged (its checksum does not fit)")
    try:
        found = json.loads(text)
        whole = tuple(Estimate(**fields) for fields in found["estimates"])
        checks = tuple(Check(*fields) for fields in found.get("checks") or ())
        return _Whole(whole, checks, phenomenon_of(found))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        return _Whole(fault=f"its row is damaged ({error})")
