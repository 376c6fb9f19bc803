"""The run store, read page by page: never more of it in memory than a page shows.

Every thread has a connection of its own that can only read, so a look never stands in a writer's way. The file may be
deleted, replaced or damaged at any moment: each look says so, and a file that is put in its place is read instead.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from wug.errors import StoreError
from wug.runs import _damaged_rows as damaged_rows
from wug.runs._rows import Filter, Kept, Placed, condition, mapping
from wug.runs.seals import run_seal
from wug.runs.signature import fields_of
from wug.runs.sqlite import FAULTS, Connection, why
from wug.runs.store import VERSION, Run, require_columns, require_sound, result_of, sound_outcomes
from wug.types import Outcome, Result

__all__ = ["Filter", "Kept", "Page", "Placed", "Shelf"]

PAGE = 50
"""Outcomes on a page."""
CHECKED = 200_000
"""Outcomes of a result that are all checked before a page shows any, a second's work; of more, those that it shows."""
NEAR = 40
"""Places before and behind an outcome in which the others of its item stand."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some outcomes, and where the pages beside it begin."""

    rows: tuple[Placed, ...]
    before: int | None
    """Give it as `before` for the page in front; None where there is none."""
    after: int | None
    """Give it as `after` for the next page; None where there is none."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """The runs of a store, to look at."""

    path: Path
    _checked: set[int] = field(default_factory=set, init=False, compare=False, repr=False)
    """Results whose outcomes were seen to be as they were written."""
    _own: threading.local = field(default_factory=threading.local, init=False, compare=False, repr=False)

    def state(self) -> tuple[str, bool]:
        """A word that changes with anything that a page shows of the runs, and whether a run goes on."""
        row = self._one(
            "SELECT (SELECT count(*) FROM runs) AS runs, (SELECT max(id) FROM results) AS newest,"
            " (SELECT max(finished) FROM runs) AS finished"
        )
        running = self._all("SELECT host, pid FROM runs WHERE status = 'running'")
        going = [one for one in running if damaged_rows.goes_on(one)]
        parts = [*(str(row[name] or 0) for name in ("runs", "newest", "finished")), str(len(going))]
        return "-".join(parts).replace(":", "").replace("+", ""), bool(going)

    def runs(self) -> list[Run]:
        """All runs, the latest first."""
        rows = self._all(
            "SELECT runs.*, (SELECT count(*) FROM results WHERE run = runs.id) AS suites FROM runs ORDER BY id DESC"
        )
        return [damaged_rows.run_of(row) for row in rows]

    def run(self, number: int) -> Run:
        """One run, or an error that says which there are."""
        row = self._one(
            "SELECT runs.*, (SELECT count(*) FROM results WHERE run = runs.id) AS suites FROM runs WHERE id = ?",
            (number,),
        )
        if row is not None and row["seal"] != run_seal(row):
            raise StoreError(f"run {number}: the run store is damaged here (the checksum of its row does not fit)")
        if row is None:
            newest = self._one("SELECT max(id) AS id FROM runs")["id"]
            there = "there is none yet: wug run SUITE --model MODEL" if newest is None else f"the latest is {newest}"
            raise StoreError(f"no run {number} in {self.path}; {there}")
        return damaged_rows.run_of(row)

    def overview(self, runs: Sequence[int] | None = None) -> list[Kept]:
        """The results of these runs, or of all, each with its estimates over all items."""
        where = ""
        values: tuple[int, ...] = ()
        if runs is not None:
            where, values = f"WHERE results.run IN ({','.join('?' * len(runs))})", tuple(runs)
        rows = self._all(
            "SELECT results.id, results.run, runs.model, suite, kind, results.status, n, summary, summary_seal"
            f" FROM results JOIN runs ON runs.id = results.run {where} ORDER BY results.id",
            values,
        )
        return [damaged_rows.kept(row) for row in rows]

    def result(self, number: int) -> tuple[Result, Run]:
        """A result without its outcomes, and its run."""
        row = self._one("SELECT * FROM results WHERE id = ?", (number,))
        if row is None:
            raise StoreError(
                f"no result {number} in {self.path}. A run that is taken up again makes its results anew: look for it "
                "among all runs"
            )
        self._require_sound(row)
        run = self.run(row["run"])
        return result_of(row, run.model), run

    def _require_sound(self, row: Any) -> None:
        """Refuse a damaged result; its outcomes are gone through once, and not where there are very many."""
        require_sound(row)
        if row["id"] in self._checked or row["outcomes"] > CHECKED:
            return
        every = self._each("SELECT * FROM outcomes WHERE result = ? ORDER BY place", (row["id"],))
        found = Counter((one["measure"], one["value"]) for one in sound_outcomes(row, every))
        counted = self._all(
            "SELECT measure, value, count(*) AS n FROM outcomes INDEXED BY outcomes_by_check WHERE result = ?"
            " GROUP BY measure, value",
            (row["id"],),
        )
        if {(one["measure"], one["value"]): one["n"] for one in counted} != found:
            raise StoreError(f"the run store {self.path} is damaged: an index does not fit its table")
        self._checked.add(row["id"])

    def otherwise(self, result: int, option: str) -> dict[str, int]:
        """Of a result and those that differ from it in one option alone, the latest for each value of the option."""
        suite, kind, signature = self._one("SELECT suite, kind, signature FROM results WHERE id = ?", (result,))
        rows = self._all(
            "SELECT id, signature FROM results WHERE suite = ? AND kind = ? AND status = 'complete' ORDER BY id",
            (suite, kind),
        )
        wanted = fields_of(signature)
        own = wanted.pop(option, "no")
        found: dict[str, int] = {}
        for row in rows:
            fields = fields_of(row["signature"])
            value = fields.pop(option, "no")
            if fields == wanted:
                found[value] = row["id"]
        return {**found, own: result}

    def head(self, result: int) -> dict[str, Any]:
        """The signature and the warnings of a result."""
        row = self._one("SELECT * FROM results WHERE id = ?", (result,))
        if row is None:
            raise StoreError(f"result {result} is no longer in {self.path}")
        try:
            require_sound(row)
            warnings = [str(text) for text in json.loads(row["warnings"])]
        except (StoreError, ValueError, TypeError, RecursionError) as error:
            warnings = [str(error)]
        return {"signature": str(row["signature"]), "warnings": warnings}

    def any_outcome(self, result: int) -> bool:
        """Whether a result has outcomes."""
        return self._one("SELECT 1 FROM outcomes WHERE result = ? LIMIT 1", (result,)) is not None

    def checks(self, result: int) -> list[str]:
        """The checks of a result's outcomes."""
        found: list[str] = []
        last = ""
        while True:  # a step of the index for each check, rather than a walk over all rows
            row = self._one(
                "SELECT measure FROM outcomes WHERE result = ? AND measure > ? ORDER BY measure LIMIT 1", (result, last)
            )
            if row is None:
                return found
            last = str(row["measure"])
            if last in found:  # an index that is damaged could lead round in a circle
                return found
            found.append(last)

    def tally(self, result: int, check: str) -> dict[str, int]:
        """How many outcomes a check has: all of them under ``, those `true`, `false` and `none`."""
        counts: dict[str, int] = {"": 0, "true": 0, "false": 0, "none": 0}
        # The index alone answers this; whether numbers are judgements, one row tells.
        rows = self._all(
            "SELECT value, count(*) AS n FROM outcomes WHERE result = ? AND measure = ? GROUP BY value", (result, check)
        )
        judged = self._one(
            "SELECT judged FROM outcomes WHERE result = ? AND measure = ? AND value IS NOT NULL LIMIT 1",
            (result, check),
        )
        for row in rows:
            counts[""] += row["n"]
            if row["value"] is None:
                counts["none"] = row["n"]
            elif judged is not None and judged["judged"]:
                counts["true" if row["value"] else "false"] += row["n"]
        return counts

    def count(self, result: int, wanted: Filter) -> int:
        """How many outcomes are wanted."""
        where, values = condition(wanted)
        if wanted.check is not None and wanted.group is None and not wanted.text:
            return self.tally(result, wanted.check)[wanted.value or ""]
        return int(self._one(f"SELECT count(*) AS n FROM outcomes WHERE result = ?{where}", (result, *values))["n"])

    def page(
        self, result: int, wanted: Filter, *, after: int = -1, before: int | None = None, size: int = PAGE
    ) -> Page:
        """Outcomes in their order behind the place `after`, or in front of `before`."""
        where, values = condition(wanted)
        if before is None:
            limits, order, bound = "place > ?", "ASC", after
        else:
            limits, order, bound = "place < ?", "DESC", before
        # Failing items may be few among very many: the index finds them, and gives them in the order of their places.
        by = " INDEXED BY outcomes_by_check" if wanted.check is not None and wanted.value is not None else ""
        rows = self._all(
            f"SELECT * FROM outcomes{by} WHERE result = ?{where} AND {limits} ORDER BY place {order} LIMIT ?",
            (result, *values, bound, size + 1),
        )
        more, rows = len(rows) > size, rows[:size]
        if before is not None:
            rows = rows[::-1]
        found = tuple(damaged_rows.placed(row) for row in rows)
        if not found:
            return Page((), None, None)
        front = more if before is not None else after >= 0
        behind = more if before is None else True
        return Page(found, found[0].place if front else None, found[-1].place if behind else None)

    def outcomes(self, result: int, wanted: Filter, *, most: int | None = None) -> Iterator[Placed]:
        """All outcomes that are wanted, one after the other."""
        where, values = condition(wanted)
        limit = "" if most is None else f" LIMIT {int(most)}"
        rows = self._each(f"SELECT * FROM outcomes WHERE result = ?{where} ORDER BY place{limit}", (result, *values))
        return (damaged_rows.placed(row) for row in rows)

    def place(self, result: int, place: int) -> Placed:
        """The outcome at a place."""
        row = self._one("SELECT * FROM outcomes WHERE result = ? AND place = ?", (result, place))
        if row is None:
            raise StoreError(f"result {result} has no outcome {place}")
        return damaged_rows.placed(row)

    def item(self, result: int, item: str) -> list[Placed]:
        """Every outcome of an item."""
        rows = self._all("SELECT * FROM outcomes WHERE result = ? AND item = ? ORDER BY place", (result, item))
        return [damaged_rows.placed(row) for row in rows]

    def same_item(self, result: int, rows: Sequence[Placed]) -> list[tuple[Placed, ...]]:
        """For each outcome all of its item; a suite judges an item as a whole before the next."""
        found = []
        for row in rows:
            near = self._all(
                "SELECT * FROM outcomes WHERE result = ? AND place BETWEEN ? AND ? AND item = ? ORDER BY place",
                (result, row.place - NEAR, row.place + NEAR, row.outcome.item),
            )
            found.append(tuple(damaged_rows.placed(one) for one in near))
        return found

    def groups(self, result: int, check: str, field: str) -> list[dict[str, str]]:
        """The groups of one outcome for each value of a field."""
        rows = self._all(
            "SELECT groups FROM outcomes WHERE result = ? AND measure = ? "
            " GROUP BY CASE WHEN json_valid(groups) THEN json_extract(groups, ?) END",
            (result, check, f'$."{field}"'),
        )
        return [{str(key): str(value) for key, value in mapping(row["groups"]).items()} for row in rows]

    def sampled_groups(self, result: int, most: int = 500) -> list[dict[str, str]]:
        """The groups of some outcomes, evenly spaced over the result."""
        last = self._one("SELECT max(place) AS last FROM outcomes WHERE result = ?", (result,))["last"] or 0
        places = sorted({place * last // most for place in range(most + 1)})
        marks = ",".join("?" * len(places))
        rows = self._all(f"SELECT groups FROM outcomes WHERE result = ? AND place IN ({marks})", (result, *places))
        return [{str(key): str(value) for key, value in mapping(row["groups"]).items()} for row in rows]

    def sketches(self, result: int, check: str, *keys: str) -> Iterator[Outcome]:
        """Every outcome of a check with these parts of its detail alone: a page holds them all."""
        for row in self._each(
            "SELECT * FROM outcomes WHERE result = ? AND measure = ? ORDER BY place", (result, check)
        ):
            found = damaged_rows.placed(row).outcome
            yield replace(found, detail={key: found.detail[key] for key in keys if key in found.detail})

    def numbers(self, result: int, check: str, *keys: str) -> Iterator[tuple[Any, ...]]:
        """The value of each outcome of a check, with these parts of its detail; None for one that it lacks."""
        for row in self._each("SELECT value, detail FROM outcomes WHERE result = ? AND measure = ?", (result, check)):
            detail = mapping(row["detail"])
            yield (row["value"], *(detail.get(key) for key in keys))

    def rows(self, result: int) -> Any:
        """The outcomes of a result."""
        return _Rows(self, result)

    def identity(self) -> tuple[int, int]:
        """What tells the file from another that is put in its place; StoreError where there is none."""
        try:
            there = self.path.stat()
        except OSError as error:
            raise StoreError(
                f"the run store {self.path} is gone ({error.strerror}): it was deleted or moved. Put it back, or start "
                "wug view again"
            ) from None
        return there.st_dev, there.st_ino

    def damage(self) -> str:
        """What is wrong with the file as a database; empty where nothing is."""
        try:
            (found,) = self._all("PRAGMA quick_check(1)")[0]
        except StoreError as error:
            return str(error)
        return "" if found == "ok" else f"the run store {self.path} is damaged: {found}"

    def _one(self, sql: str, values: Sequence[Any] = ()) -> Any:
        return next(self._each(sql, values), None)

    def _all(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        return list(self._each(sql, values))

    def _each(self, sql: str, values: Sequence[Any]) -> Iterator[Any]:
        """Rows as they come; a fault may show at any of them."""
        try:
            found = self._connection().execute(sql, values)
            while (row := found.fetchone()) is not None:
                yield row
        except (*FAULTS, OverflowError) as error:
            raise StoreError(f"the run store {self.path} cannot be read: {why(error)}") from None

    def _connection(self) -> sqlite3.Connection:
        """The connection of this thread, to the file that is there now."""
        identity = self.identity()
        known: tuple[tuple[int, int], sqlite3.Connection] | None = getattr(self._own, "db", None)
        if known is not None and known[0] == identity:
            return known[1]
        if known is not None:
            known[1].close()
        made = self._opened()
        self._own.db = (identity, made)
        return made

    def _opened(self) -> sqlite3.Connection:
        made = sqlite3.connect(f"{self.path.resolve().as_uri()}?mode=ro", uri=True, timeout=10, factory=Connection)
        try:
            made.row_factory = sqlite3.Row
            made.text_factory = damaged_rows.decoded
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


@dataclass(frozen=True, slots=True)
class _Rows:
    """For the time being."""

    shelf: Shelf
    result: int

    def checks(self) -> Any:
        return self.shelf.checks(self.result)

    def tally(self, check: str) -> Any:
        return self.shelf.tally(self.result, check)

    def count(self, wanted: Any) -> Any:
        return self.shelf.count(self.result, wanted)

    def each(self, wanted: Any, *, keys: Any = None, most: int | None = None) -> Any:
        for row in self.shelf.outcomes(self.result, wanted, most=most):
            detail = {k: v for k, v in row.outcome.detail.items() if keys is None or k in keys}
            yield Placed(row.place, replace(row.outcome, detail=detail))

    def page(self, wanted: Any, *, after: int | None = None, before: int | None = None, size: int = 50) -> Any:
        return self.shelf.page(self.result, wanted, after=-1 if after is None else after, before=before, size=size)

    def at(self, place: int) -> Any:
        return self.shelf.place(self.result, place)

    def same_item(self, row: Any) -> Any:
        return self.shelf.same_item(self.result, [row])[0]

    def groups(self, check: str, field: str) -> Any:
        return self.shelf.groups(self.result, check, field)
