"""The outcomes of a result in the run store: filtered, sorted, page by page, each checked against its seal."""

from __future__ import annotations

import functools
import json
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, overload

from wug.errors import StoreError
from wug.results.checksums import is_sealed
from wug.rows import PAGE, Elsewhere, Filter, Page, Placed, Rows, mentions
from wug.types import Outcome, Value

if TYPE_CHECKING:
    from wug.results.reader import RunReader


@dataclass(frozen=True, slots=True)
class StoredRows:
    """The outcomes of a result in the store."""

    reader: RunReader
    result: int
    checked: bool = False
    """Whether all of them were seen to be as they were written; else each is checked as it comes."""

    def checks(self) -> list[str]:
        """The checks that there are outcomes of."""
        found: list[str] = []
        beyond, last = ">=", ""
        while True:  # a step of the index for each check, rather than a walk over all rows
            row = self.reader.one(
                f"SELECT measure FROM outcomes WHERE result = ? AND measure {beyond} ? ORDER BY measure LIMIT 1",
                *(self.result, last),
            )
            # An index that is damaged could lead round in a circle.
            if row is None or (last := str(row["measure"])) in found:
                return found
            found.append(last)
            beyond = ">"

    def tally(self, check: str) -> dict[str, int]:
        """How many outcomes a check has: all of them under ``, those `true`, `false` and `none`."""
        counts = {"": 0, "true": 0, "false": 0, "none": 0}
        for row in self.reader.each(
            "SELECT value, sum(judged) AS judged, count(*) AS n FROM outcomes INDEXED BY outcomes_by_check"
            " WHERE result = ? AND measure = ? GROUP BY value",
            *(self.result, check),
        ):
            counts[""] += row["n"]
            if row["value"] is None:
                counts["none"] += row["n"]
            else:
                counts["true" if row["value"] else "false"] += row["judged"]
        return counts

    def count(self, wanted: Filter) -> int:
        """How many outcomes are wanted."""
        if wanted.check is not None and wanted.group is None and not wanted.text:
            return self.tally(wanted.check)[wanted.value or ""]
        where, values = _condition(wanted)
        row = self.reader.one(f"SELECT count(*) AS n FROM outcomes WHERE result = ?{where}", self.result, *values)
        return int(row["n"])

    def each(self, wanted: Filter, *, keys: Collection[str] | None = None, most: int | None = None) -> Iterator[Placed]:
        """All outcomes that are wanted, one after the other."""
        return islice(self._walk(wanted, keys=keys, checked=self.checked), most)

    def places(self, wanted: Filter) -> Sequence[int]:
        """The places of all outcomes that are wanted; a million of them take eight megabytes."""
        where, values = _condition(wanted)
        sql = f"SELECT place FROM outcomes WHERE result = ?{where} ORDER BY place"
        return array("q", (int(row["place"]) for row in self.reader.each(sql, self.result, *values)))

    def page(self, wanted: Filter, *, after: int | None = None, before: int | None = None, size: int = PAGE) -> Page:
        """Outcomes behind the one at the place `after`, or in front of `before`."""
        back = before is not None
        bound = before if back else after
        found = list(islice(self._walk(wanted, bound, back=back), size + 1))
        more, rows = len(found) > size, tuple(found[:size])
        if not rows:
            return Page(())
        beside = bound is not None and next(self._walk(wanted, rows[0].place, back=not back), None) is not None
        first, last = (rows[-1], rows[0]) if back else (rows[0], rows[-1])
        front, behind = (more, beside) if back else (beside, more)
        return Page(rows[::-1] if back else rows, first.place if front else None, last.place if behind else None)

    def at(self, place: int) -> Placed:
        """The outcome at a place."""
        row = self.reader.one("SELECT * FROM outcomes WHERE result = ? AND place = ?", self.result, place)
        if row is None:
            raise StoreError(f"there is no outcome {place} in result {self.result}")
        return placed(row)

    def same_item(self, row: Placed) -> tuple[Placed, ...]:
        """All judgements of an outcome's item, its own among them."""
        return tuple(
            placed(found)
            for found in self.reader.each(
                "SELECT * FROM outcomes INDEXED BY outcomes_by_item WHERE result = ? AND item = ? ORDER BY place",
                *(self.result, row.outcome.item),
            )
        )

    def groups(self, check: str, field: str) -> list[Mapping[str, str]]:
        """The groups of one outcome for each value of a field."""
        found: dict[str | None, Mapping[str, str]] = {}
        # Items have few groups: as texts they are told apart without reading any.
        for row in self.reader.each(
            "SELECT groups, min(place) AS place FROM outcomes WHERE result = ? AND measure = ?"
            " GROUP BY groups ORDER BY place",
            *(self.result, check),
        ):
            groups = _fields(row["groups"])
            found.setdefault(groups.get(field), groups)
        return list(found.values())

    def _walk(
        self,
        wanted: Filter,
        bound: int | None = None,
        *,
        back: bool = False,
        keys: Collection[str] | None = None,
        checked: bool = False,
    ) -> Iterator[Placed]:
        """The outcomes that are wanted behind the one at `bound`, or `back` from there."""
        where, values = _condition(wanted)
        # Failing items may be few among very many: the index finds them, and gives them in the order of their places.
        by = " INDEXED BY outcomes_by_check" if wanted.check is not None and wanted.value is not None else ""
        for stretch, order, limits in self._stretches(wanted, bound, back):
            sql = f"SELECT * FROM outcomes{by} WHERE result = ?{where}{stretch} ORDER BY {order}"
            for row in self.reader.each(sql, self.result, *values, *limits):
                yield (read_row if checked else placed)(row, keys)

    def _stretches(self, wanted: Filter, bound: int | None, back: bool) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
        """Conditions, orders and values of what is asked one after the other: outcomes with a value, those without."""
        beyond, places = ("<", "place DESC") if back else (">", "place")
        if wanted.order == "place":
            yield ("", places, ()) if bound is None else (f" AND place {beyond} ?", places, (bound,))
            return
        fall = (wanted.order == "highest") != back
        valued, values = " AND value IS NOT NULL", f"value {'DESC' if fall else 'ASC'}, {places}"
        missing = " AND value IS NULL"
        value = None if bound is None else self.at(bound).outcome.value
        ends: list[tuple[str, str, tuple[Any, ...]]] = [(valued, values, ()), (missing, places, ())]
        if bound is not None and value is None:
            ends[1] = (f"{missing} AND place {beyond} ?", places, (bound,))
        elif bound is not None:
            sign = "<" if fall else ">"
            limit = f"{valued} AND value {sign}= ? AND (value {sign} ? OR place {beyond} ?)"
            ends[0] = (limit, values, (value, value, bound))
        if bound is not None and (value is None) != back:
            del ends[0 if value is None else 1]
        yield from reversed(ends) if back else ends


@dataclass(frozen=True, slots=True, eq=False)
class StoredOutcomes(Elsewhere):
    """The outcomes of a result in the store, in their order, read anew by everyone who goes through them."""

    reader: RunReader
    result: int
    size: int

    def rows(self) -> Rows:
        """The same, filtered, sorted, page by page."""
        return self.reader.rows(self.result)

    def fields(self) -> list[str]:
        """What they are grouped by, in the order in which it comes."""
        rows = self.reader.each(
            "SELECT groups, min(place) AS place FROM outcomes WHERE result = ? GROUP BY groups ORDER BY place",
            self.result,
        )
        return list(dict.fromkeys(field for row in rows for field in _fields(row["groups"])))

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Outcome]:
        return (found.outcome for found in self.reader.every(self.result))

    @overload
    def __getitem__(self, place: int) -> Outcome: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Outcome, ...]: ...

    def __getitem__(self, place: int | slice) -> Outcome | tuple[Outcome, ...]:
        if isinstance(place, slice):
            return tuple(self)[place]
        return self.rows().at(range(self.size)[place]).outcome

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]


def _condition(wanted: Filter) -> tuple[str, tuple[Any, ...]]:
    """The rest of a SQL condition, and its values."""
    parts: list[str] = []
    values: list[Any] = []
    if wanted.check is not None:
        parts.append("measure = ?")
        values.append(wanted.check)
    if wanted.value is not None:
        known = {"true": "value = 1 AND judged = 1", "false": "value = 0 AND judged = 1", "none": "value IS NULL"}
        parts.append(known[wanted.value])
    if wanted.group is not None:
        parts.append(
            "CASE WHEN json_valid(groups) THEN EXISTS"
            " (SELECT 1 FROM json_each(groups) AS pair WHERE pair.key = ? AND pair.value = ?) END"
        )
        values += wanted.group
    if wanted.text:
        sought = wanted.text.casefold()
        # As bytes, in which damaged letters do no harm.
        parts.append("mentions(CAST(item AS BLOB), CAST(detail AS BLOB), ?, ?)")
        values += [sought, json.dumps(sought, ensure_ascii=False)[1:-1]]
    return "".join(f" AND {part}" for part in parts), tuple(values)


def mentions_text(item: bytes, detail: bytes, sought: str, escaped: str) -> bool:
    """For SQLite: whether a row mentions a text, which is given in small letters, and as JSON writes it.

    Most rows do not, and that is told without reading their JSON.
    """
    name, written = item.decode("utf-8", "replace"), detail.decode("utf-8", "replace")
    if escaped in written.casefold() or "\\u" in written or sought in name.casefold():
        return mentions(Outcome(name, "", None, {}, _fields(written)), sought)
    return False


def placed(row: Any, keys: Collection[str] | None = None) -> Placed:
    """An outcome of the store; refused where it is not as it was written."""
    if row["seal"] is not None and not is_sealed(row):
        raise StoreError(f"outcome {row['place']} is damaged in the run store: its checksum does not fit")
    return read_row(row, keys)


def read_row(row: Any, keys: Collection[str] | None = None) -> Placed:
    """An outcome of the store whose seal was checked before, with these parts of its detail, or all."""
    value = row["value"]
    if value is not None and not isinstance(value, int | float):
        raise StoreError(f"outcome {row['place']} of result {row['result']} is damaged: {value!r} is no number")
    judged: Value = bool(value) if row["judged"] else value
    groups, detail = dict(_groups(row["groups"])), _fields(row["detail"])
    if keys is not None:
        detail = {key: detail[key] for key in detail if key in keys}
    return Placed(row["place"], Outcome(str(row["item"]), str(row["measure"]), judged, groups, detail))


@functools.lru_cache(maxsize=256)
def _groups(text: str) -> Mapping[str, str]:
    """The groups of an outcome; neighbours have the same."""
    return _fields(text)


def _fields(text: str) -> Mapping[str, Any]:
    """The fields that a column holds; one that is damaged says so."""
    try:
        found = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {"damaged": str(text)[:200]}
