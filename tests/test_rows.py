"""Queries on outcomes: whatever the outcomes and the filter, DuckDB gives what a plain loop in Python gives."""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from case_selection import examples
from wug.errors import InputError, WugError
from wug.outcomes import Outcome, Result
from wug.results.queries import table_of
from wug.results.store import Store
from wug.rows import VALUES, Filter, OutcomeRow, Rows

LETTERS = "aAbßSsΣσςéÉİiK\"\\'/%_:|=.$ \n\x00\x7f😀n"
"""Capital and small letters, also such as have several forms, and the marks of JSON, SQL and paths."""
WORDS = st.text(LETTERS, max_size=4)
NUMBERS = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0.0, 1.0, -1.0, 0.5, 1e-300, math.inf, -math.inf, math.nan]),
    st.floats(allow_nan=True, width=32),
)
DETAILS = st.recursive(
    st.one_of(WORDS, st.none(), st.booleans(), st.integers(-3, 3)),
    lambda parts: st.one_of(st.lists(parts, max_size=2), st.dictionaries(WORDS, parts, max_size=2)),
    max_leaves=4,
)
FIELDS = st.sampled_from(["half", "a", "", 'q"uote', "back\\slash", "$.a", "É"])
OUTCOMES = st.builds(
    Outcome,
    item=st.one_of(st.sampled_from(["1", "2"]), WORDS),
    metric=st.sampled_from(["accuracy", "margin", "É", ""]),
    value=NUMBERS,
    groups=st.dictionaries(FIELDS, st.sampled_from(["x", "y", 'x"', "É", ""]), max_size=2),
    detail=st.dictionaries(WORDS, DETAILS, max_size=2),
)
FILTERS = st.builds(
    Filter,
    metric=st.one_of(st.none(), st.sampled_from(["accuracy", "margin", "É", "", "none"])),
    value=st.sampled_from([None, None, "true", "false", "none"]),
    group=st.one_of(st.none(), st.tuples(FIELDS, st.sampled_from(["x", "y", 'x"', "É", "", "z"]))),
    text=st.one_of(st.none(), WORDS),
)


@dataclass(frozen=True, slots=True)
class Reference:
    """What every query means, in plain Python."""

    outcomes: Sequence[Outcome]
    _items: dict[str, list[OutcomeRow]] = field(default_factory=dict, init=False, compare=False, repr=False)

    def metrics(self) -> list[str]:
        return sorted({outcome.metric for outcome in self.outcomes})

    def tally(self, metric: str) -> dict[str, int]:
        found = Counter(_word(outcome) for outcome in self.outcomes if outcome.metric == metric)
        return {"": found.total(), **{value: found[value] for value in VALUES}}

    def each(
        self, filter: Filter, *, keys: Collection[str] | None = None, limit: int | None = None
    ) -> Iterator[OutcomeRow]:
        some = [self.at(place) for place in self.positions(filter)][:limit]
        yield from some if keys is None else only(some, keys)

    def numbers(self, filter: Filter, keys: Collection[str]) -> Mapping[str, np.ma.MaskedArray[Any, Any]]:
        found = {key: [outcome.detail.get(key) for outcome in self.outcomes] for key in keys}
        return {
            key: np.ma.masked_array(
                [math.nan if (value := values[place]) is None else float(value) for place in self.positions(filter)],
                [values[place] is None for place in self.positions(filter)],
            )
            for key, values in found.items()
            if {type(value) for value in values} - {type(None)} in ({int}, {float}, {int, float})
        }

    def kinds(self, metric: str) -> list[tuple[Outcome, list[int]]]:
        found: dict[tuple[object, ...], list[int]] = {}
        for place, outcome in enumerate(self.outcomes):
            if outcome.metric == metric:
                value = None if _word(outcome) == "none" else outcome.value
                key = (type(value) is bool, value, frozenset(outcome.groups.items()))
                found.setdefault(key, []).append(place)
        return [(self.outcomes[places[0]], places) for places in found.values()]

    def positions(self, filter: Filter) -> Sequence[int]:
        return [place for place, outcome in enumerate(self.outcomes) if fits(outcome, filter)]

    def at(self, place: int) -> OutcomeRow:
        if not 0 <= place < len(self.outcomes):
            raise InputError(f"there is no outcome {place}")
        return OutcomeRow(place, self.outcomes[place])

    def read(self, positions: Sequence[int]) -> list[OutcomeRow]:
        return [self.at(position) for position in positions]

    def same_items(self, rows: Sequence[OutcomeRow]) -> list[tuple[OutcomeRow, ...]]:
        return [self.same_item(row) for row in rows]

    def same_item(self, row: OutcomeRow) -> tuple[OutcomeRow, ...]:
        return self.of_item(row.outcome.item)

    def of_item(self, name: str) -> tuple[OutcomeRow, ...]:
        if not self._items:
            for place, outcome in enumerate(self.outcomes):
                self._items.setdefault(outcome.item, []).append(OutcomeRow(place, outcome))
        return tuple(self._items.get(name, ()))


def only(rows: Iterable[OutcomeRow], keys: Collection[str]) -> Iterator[OutcomeRow]:
    """Rows with these fields of their details; `each` may have read others."""
    for row in rows:
        detail = {key: value for key, value in row.outcome.detail.items() if key in keys}
        yield OutcomeRow(row.position, replace(row.outcome, detail=detail))


def fits(outcome: Outcome, filter: Filter) -> bool:
    if filter.metric is not None and outcome.metric != filter.metric:
        return False
    if filter.value is not None and _word(outcome) != filter.value:
        return False
    if filter.group is not None and outcome.groups.get(filter.group[0]) != filter.group[1]:
        return False
    return not filter.text or mentions(outcome, filter.text)


def mentions(outcome: Outcome, text: str) -> bool:
    sought = text.casefold()
    return any(sought in found.casefold() for found in (outcome.item, *_texts(outcome.detail)))


def _texts(detail: Any) -> Iterator[str]:
    if isinstance(detail, str):
        yield detail
    elif isinstance(detail, Mapping | list | tuple):
        for part in detail.values() if isinstance(detail, Mapping) else detail:
            yield from _texts(part)


def _word(outcome: Outcome) -> str:
    if outcome.value is None or math.isnan(outcome.value):  # a store, too, takes NaN for nothing to judge
        return "none"
    return str(outcome.value).lower() if isinstance(outcome.value, bool) else ""


def stored(outcomes: list[Outcome], folder: str, *, keep: bool = False) -> Rows:
    """The outcomes as they come out of a store, which has others, too."""
    store = Store(Path(folder) / "store")
    run = store.begin("key", "m", "wug run")
    other = Outcome("1", "accuracy", True, {"half": "x"}, {"a": "a"})
    for rows in ([other], outcomes, [other]):
        store.add(run, Result("s", "pairs", "m", "complete", "wug:0", len(rows), (), (), tuple(rows)))  # type: ignore[arg-type]
    return store.reader.rows(2, keep=keep)


def present(data: Any) -> Any:
    """Data without fields that are None, which are the same as absent ones."""
    if isinstance(data, dict):
        return {name: present(part) for name, part in data.items() if part is not None}
    return [present(part) for part in data] if isinstance(data, list | tuple) else data


def told(found: Any) -> Any:
    """Rows and the like as what can be compared: NaN, which equals nothing, is None in a store."""
    match found:
        case OutcomeRow(place, outcome):
            value = None if outcome.value is None or math.isnan(outcome.value) else (type(outcome.value), outcome.value)
            value = (float, float(value[1])) if value and value[0] is int else value
            return place, outcome.item, outcome.metric, value, dict(outcome.groups), present(outcome.detail)
        case list() | tuple():
            return [told(part) for part in found]
        case _:
            return found


@settings(max_examples=examples(80), deadline=None)
@given(st.lists(OUTCOMES, max_size=12), st.lists(FILTERS, min_size=1, max_size=6), st.integers(1, 4), st.data())
def test_queries_give_what_a_loop_gives(
    outcomes: list[Outcome], filters: list[Filter], size: int, data: st.DataObject
) -> None:
    memory = Reference(outcomes)
    with tempfile.TemporaryDirectory() as folder:
        store = stored(outcomes, folder, keep=data.draw(st.booleans()))
        assert store.metrics() == memory.metrics()
        for metric in (*memory.metrics(), "no such check"):
            assert store.tally(metric) == memory.tally(metric)
            ours, theirs = store.kinds(metric), memory.kinds(metric)
            assert [(first.groups, places) for first, places in ours] == [(one.groups, some) for one, some in theirs]
        every_key = {key for outcome in outcomes for key in outcome.detail}
        for filter in filters:
            assert told(list(store.each(filter))) == told(list(memory.each(filter)))
            assert list(store.positions(filter)) == list(memory.positions(filter))
            numbers, expected = (rows.numbers(filter, every_key) for rows in (store, memory))
            assert {key: column.tolist() for key, column in numbers.items()} == {
                key: column.tolist() for key, column in expected.items()
            }
            assert list(memory.positions(filter)) == sorted(row.position for row in memory.each(filter))
            keys = data.draw(st.lists(WORDS, max_size=2))
            few = list(only(store.each(filter, keys=keys, limit=size), keys))
            assert told(few) == told(list(memory.each(filter, keys=keys, limit=size)))
        for place in range(len(outcomes)):
            row = memory.at(place)
            assert told(store.at(place)) == told(row)
            assert told(store.same_item(row)) == told(memory.same_item(row))
            assert told(store.of_item(row.outcome.item)) == told(memory.of_item(row.outcome.item))
        every = [memory.at(place) for place in range(len(outcomes))]
        assert told(store.read(range(len(outcomes))[::-1])) == told(every[::-1])
        assert told(store.same_items(every)) == told(memory.same_items(every))


ROWS = (
    Outcome("1", "margin", 2.5),
    Outcome("2", "margin", None),
    Outcome("3", "margin", -1.0),
    Outcome("4", "margin", 2.5),
    Outcome("5", "margin", math.nan),
)


@pytest.fixture(params=["reference", "memory", "store", "kept"])
def rows(request: pytest.FixtureRequest, tmp_path: Path) -> Rows:
    made: dict[str, Callable[[], Rows]] = {
        "reference": lambda: Reference(ROWS),
        "memory": lambda: table_of(ROWS),
        "store": lambda: stored(list(ROWS), str(tmp_path)),
        "kept": lambda: stored(list(ROWS), str(tmp_path), keep=True),
    }
    return made[request.param]()


def test_an_outcome_that_is_not_there_is_an_error(rows: Rows) -> None:
    with pytest.raises(WugError, match="there is no outcome 5"):
        rows.at(5)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('said "HI"', True),
        ("c:\\temp", True),
        ("STRASSE", True),
        ("naïVE", True),
        ("two\nlines", True),
        ("token", True),
        ("good", False),  # the name of a field
        ('":', False),  # how JSON is written
        ("item 7", True),
    ],
)
@pytest.mark.parametrize("made", [Reference, table_of])
def test_a_text_is_looked_for_in_what_was_said_not_in_how_it_is_kept(
    made: Callable[[Sequence[Outcome]], Rows], text: str, found: bool
) -> None:
    detail = {"good": 'She said "hi" in C:\\Temp, straße, NAÏVE\ntwo\nlines', "deep": [["Token", 1.5]]}
    outcomes = [Outcome("Item 7", "accuracy", True, {}, detail)]
    assert len(made(outcomes).positions(Filter(text=text))) == found


def test_a_value_that_there_is_none_of_is_refused() -> None:
    with pytest.raises(InputError, match=r"'maybe' is not a value to filter by\. Use one of true, false, none"):
        Filter(value="maybe")
