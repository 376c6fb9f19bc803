"""Rows in memory and rows in a store: whatever the outcomes and whatever is asked of them, both say the same."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shares import examples
from wug.errors import InputError, WugError
from wug.results.store import Store
from wug.rows import Filter, InMemory, Placed, Rows
from wug.types import Outcome, Result

LETTERS = "aAbßSsΣσςéÉİiK\"\\'/%_:|=.$ \n\x00\x7f😀n"
"""Capital and small letters, also such as have several forms, and the marks of JSON, SQL and paths."""
WORDS = st.text(LETTERS, max_size=4)
VALUES = st.one_of(
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
    check=st.sampled_from(["accuracy", "margin", "É", ""]),
    value=VALUES,
    groups=st.dictionaries(FIELDS, st.sampled_from(["x", "y", 'x"', "É", ""]), max_size=2),
    detail=st.dictionaries(WORDS, DETAILS, max_size=2),
)
FILTERS = st.builds(
    Filter,
    check=st.one_of(st.none(), st.sampled_from(["accuracy", "margin", "É", "", "none"])),
    value=st.sampled_from([None, None, "true", "false", "none"]),
    group=st.one_of(st.none(), st.tuples(FIELDS, st.sampled_from(["x", "y", 'x"', "É", "", "z"]))),
    text=st.one_of(st.none(), WORDS),
    order=st.sampled_from(["place", "lowest", "highest"]),
)


def stored(outcomes: list[Outcome], folder: str) -> Rows:
    """The outcomes as they come out of a store, which has others beside them."""
    store = Store(Path(folder) / "wug.db")
    run = store.begin("key", "m", "wug run")
    other = Outcome("1", "accuracy", True, {"half": "x"}, {"a": "a"})
    for rows in ([other], outcomes, [other]):
        store.add(run, Result("s", "pairs", "m", "complete", "wug:0", len(rows), (), (), tuple(rows)))  # type: ignore[arg-type]
    return store.reader.rows(2)


def told(found: Any) -> Any:
    """Rows, pages and the like as what can be compared: NaN, which equals nothing, is None in a store."""
    match found:
        case Placed(place, outcome):
            value = None if outcome.value is None or math.isnan(outcome.value) else (type(outcome.value), outcome.value)
            value = (float, float(value[1])) if value and value[0] is int else value
            return place, outcome.item, outcome.check, value, dict(outcome.groups), dict(outcome.detail)
        case list() | tuple():
            return [told(part) for part in found]
        case _:
            return found


def walked(rows: Rows, wanted: Filter, size: int) -> list[Any]:
    """Every page from the first to the last, and back again."""
    pages = [rows.page(wanted, size=size)]
    while pages[-1].after is not None:
        pages.append(rows.page(wanted, after=pages[-1].after, size=size))
    back = [pages[-1]]
    while back[-1].before is not None:
        back.append(rows.page(wanted, before=back[-1].before, size=size))
    return [(told(page.rows), page.before, page.after) for page in (*pages, *back)]


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(OUTCOMES, max_size=12), st.lists(FILTERS, min_size=1, max_size=6), st.integers(1, 4), st.data())
def test_rows_in_memory_and_in_a_store_say_the_same(
    outcomes: list[Outcome], filters: list[Filter], size: int, data: st.DataObject
) -> None:
    memory = InMemory(outcomes)
    with tempfile.TemporaryDirectory() as folder:
        store = stored(outcomes, folder)
        assert store.checks() == memory.checks()
        for check in (*memory.checks(), "no such check"):
            assert store.tally(check) == memory.tally(check)
            for field in ("half", 'q"uote', "no such field"):
                assert store.groups(check, field) == memory.groups(check, field)
        for wanted in filters:
            assert store.count(wanted) == memory.count(wanted)
            assert told(list(store.each(wanted))) == told(list(memory.each(wanted)))
            assert list(store.places(wanted)) == list(memory.places(wanted))
            assert list(memory.places(wanted)) == sorted(row.place for row in memory.each(wanted))
            keys = data.draw(st.lists(WORDS, max_size=2))
            few = list(store.each(wanted, keys=keys, most=size))
            assert told(few) == told(list(memory.each(wanted, keys=keys, most=size)))
            assert walked(store, wanted, size) == walked(memory, wanted, size)
            for place in range(len(outcomes)):  # from anywhere, wanted or not
                for side in ("after", "before"):
                    here, there = (rows.page(wanted, **{side: place}, size=size) for rows in (memory, store))
                    assert (told(there.rows), there.before, there.after) == (told(here.rows), here.before, here.after)
        for place in range(len(outcomes)):
            row = memory.at(place)
            assert told(store.at(place)) == told(row)
            assert told(store.same_item(row)) == told(memory.same_item(row))


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(OUTCOMES, min_size=1, max_size=12), FILTERS, st.integers(1, 4))
def test_pages_there_and_back_have_every_row_that_is_wanted_once(
    outcomes: list[Outcome], wanted: Filter, size: int
) -> None:
    rows = InMemory(outcomes)
    every = told(list(rows.each(wanted)))
    pages = walked(rows, wanted, size)
    there = -(-len(every) // size) or 1
    assert [row for page, _, _ in pages[:there] for row in page] == every
    assert [row for page, _, _ in reversed(pages[there:]) for row in page] == every
    assert rows.count(wanted) == len(every)


ROWS = (
    Outcome("1", "margin", 2.5),
    Outcome("2", "margin", None),
    Outcome("3", "margin", -1.0),
    Outcome("4", "margin", 2.5),
    Outcome("5", "margin", math.nan),
)


@pytest.fixture(params=["memory", "store"])
def rows(request: pytest.FixtureRequest, tmp_path: Path) -> Rows:
    return InMemory(ROWS) if request.param == "memory" else stored(list(ROWS), str(tmp_path))


@pytest.mark.parametrize(("order", "items"), [("place", "12345"), ("lowest", "31425"), ("highest", "14325")])
def test_outcomes_without_a_value_come_last_and_equal_ones_as_the_suite_has_them(
    rows: Rows, order: Any, items: str
) -> None:
    wanted = Filter("margin", order=order)
    assert "".join(row.outcome.item for row in rows.each(wanted)) == items
    second = rows.page(wanted, after=rows.page(wanted, size=2).after, size=2)
    assert "".join(row.outcome.item for row in second.rows) == items[2:4]


def test_an_outcome_that_is_not_there_is_an_error(rows: Rows) -> None:
    with pytest.raises(WugError, match="there is no outcome 5"):
        rows.at(5)
    with pytest.raises(WugError, match="there is no outcome 9"):
        rows.page(Filter(order="lowest"), after=9)
    assert rows.page(Filter(), after=9).rows == ()


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
@pytest.mark.parametrize("made", [InMemory, stored])
def test_a_text_is_looked_for_in_what_was_said_not_in_how_it_is_kept(
    made: Any, text: str, found: bool, tmp_path: Path
) -> None:
    detail = {"good": 'She said "hi" in C:\\Temp, straße, NAÏVE\ntwo\nlines', "deep": [["Token", 1.5]]}
    outcomes = [Outcome("Item 7", "accuracy", True, {}, detail)]
    rows = made(outcomes) if made is InMemory else made(outcomes, str(tmp_path))
    assert rows.count(Filter(text=text)) == found


def test_a_value_that_there_is_none_of_is_refused() -> None:
    with pytest.raises(InputError, match=r"'maybe' is no value to look for\. Use one of true, false, none"):
        Filter(value="maybe")
