"""The outcomes of a result as columns, read from the run store without making an object of every row."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from wug.errors import StoreError
from wug.runs.signature import fields_of
from wug.runs.sqlite import FAULTS, why
from wug.runs.store import Store, result_of, result_rows, sound_outcomes
from wug.stats import same_source

if TYPE_CHECKING:
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"


@dataclass(frozen=True, slots=True)
class Kept:
    """A result in the store, without its outcomes."""

    id: int
    run: int
    suite: str
    kind: str
    status: str
    signature: str
    descriptions: Mapping[str, str]
    headlines: tuple[str, ...]

    @property
    def fields(self) -> dict[str, str]:
        """The signature's fields."""
        return fields_of(self.signature)

    @property
    def test(self) -> tuple[str, str, str]:
        """What was asked: family, name and checksum."""
        return self.kind, self.suite, self.fields.get("suite", "").rpartition("@")[2]


@dataclass(frozen=True, slots=True)
class Column:
    """The values of one check, outcome by outcome; those with nothing to judge left out."""

    judged: bool
    """Right or wrong, as 1 and 0; else numbers."""
    items: tuple[str, ...]
    """What each belongs to: its item, or the first item that was asked the same source."""
    keys: tuple[str, ...]
    """The item, with a number where it comes again: no two are the same."""
    places: tuple[int, ...]
    """Which outcome of the result."""
    values: Floats
    odd: int
    """Values that are no finite numbers, left out."""


@contextmanager
def reading(store: Store) -> Iterator[sqlite3.Connection]:
    """A connection of one's own to the store's file."""
    try:
        with closing(sqlite3.connect(store.path, timeout=60, isolation_level=None)) as db:
            db.row_factory = sqlite3.Row
            yield db
    except FAULTS as error:
        raise StoreError(f"the run store {store.path} cannot be read: {why(error)}") from None


def kept(db: sqlite3.Connection, run: int) -> list[Kept]:
    """The results of a run, in the order in which they were made."""
    return [_kept(row) for row in result_rows(db, run)]


def _kept(row: sqlite3.Row) -> Kept:
    found = result_of(row, "")
    return Kept(
        id=row["id"],
        run=row["run"],
        suite=row["suite"],
        kind=row["kind"],
        status=row["status"],
        signature=row["signature"],
        descriptions=found.descriptions,
        headlines=tuple(check.name for check in found.checks if check.headline),
    )


def columns(db: sqlite3.Connection, result: int) -> dict[str, Column]:
    """The column of each check of a result."""
    kept = db.execute("SELECT * FROM results WHERE id = ?", (result,)).fetchone()
    rows: dict[str, list[tuple[str, int, float, int]]] = {}
    odd: dict[str, int] = {}
    found = db.execute("SELECT * FROM outcomes WHERE result = ? ORDER BY place", (result,))
    for row in sound_outcomes(kept, found):
        check, value = row["measure"], row["value"]
        if value is None:
            continue
        if math.isfinite(value):
            rows.setdefault(check, []).append((row["item"], row["place"], value, row["judged"]))
        else:
            odd[check] = odd.get(check, 0) + 1
    first = same_source(_sources(db, result))
    return {check: _column(each, odd.get(check, 0), first) for check, each in rows.items()}


def details(
    db: sqlite3.Connection, result: int, places: Sequence[int]
) -> dict[int, tuple[dict[str, str], dict[str, Any]]]:
    """Groups and detail of some outcomes of a result, by place."""
    found = {}
    for place in places:
        row = db.execute(
            "SELECT groups, detail FROM outcomes WHERE result = ? AND place = ?", (result, place)
        ).fetchone()
        found[place] = (json.loads(row[0]), json.loads(row[1]))
    return found


def _sources(db: sqlite3.Connection, result: int) -> Iterator[tuple[str, object]]:
    """Every item of a result with what was asked, where its detail has that."""
    yield from db.execute(
        "SELECT item, json_extract(detail, '$.source') FROM outcomes"
        " WHERE result = ? AND json_valid(detail) ORDER BY place",
        (result,),
    )


def _column(rows: Sequence[tuple[str, int, float, int]], odd: int, first: Mapping[str, str]) -> Column:
    """The outcomes of a check; `first` has the item that stands for another."""
    items, places, values, judged = zip(*rows, strict=True)
    units = tuple(first.get(item, item) for item in items) if first else items
    return Column(all(judged), units, _keys(items), places, np.asarray(values, np.float64), odd)


def _keys(items: tuple[str, ...]) -> tuple[str, ...]:
    """The items, from their second coming on with a number."""
    if len(set(items)) == len(items):
        return items
    times: dict[str, int] = {}
    keys = []
    for item in items:
        times[item] = times.get(item, 0) + 1
        keys.append(item if times[item] == 1 else f"{item}\0{times[item]}")
    return tuple(keys)
