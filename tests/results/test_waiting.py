"""Outcomes on their way into the store, and how they are read there."""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import made_runs
from wug import stats
from wug.errors import StoreError
from wug.results import spool as waiting
from wug.results.checksums import seal
from wug.results.schema import dump
from wug.results.spool import OutcomeSpool
from wug.results.store import Store
from wug.rows import Filter, fields_of, rows_of
from wug.stats import Collected
from wug.types import Outcome, Result

OUTCOMES = tuple(
    Outcome(f"item {n}", "accuracy", n % 3 > 0, {"half": "first" if n < 9 else "second"}, {"good": f"a {n}"})
    for n in range(17)
)


def result(outcomes: tuple[Outcome, ...] = OUTCOMES) -> Result:
    return made_runs.result("one", "causal/x@1", outcomes)


def test_outcomes_that_waited_in_a_file_are_kept_like_those_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "AT_ONCE", 5)
    store = Store(tmp_path / "wug.db")
    number = store.begin("key", "causal/x@1", "wug run")
    held = OutcomeSpool()
    for outcome in OUTCOMES:
        held.add(outcome)
    kept = store.add(number, result(()), held)
    store.finish(number, "complete")
    assert kept.outcomes == OUTCOMES
    assert store.results(number)[0].outcomes == OUTCOMES
    store.close()


def test_a_folder_for_waiting_outcomes_that_is_full_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> object:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(waiting, "AT_ONCE", 1)
    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.raises(StoreError, match="No space left on device"):
        OutcomeSpool().add(OUTCOMES[0])


def test_outcomes_in_the_store_are_a_sequence_like_those_in_memory(tmp_path: Path) -> None:
    made_runs.keep(tmp_path / "wug.db", result())
    (kept,) = Store(tmp_path / "wug.db").results(1)
    assert len(kept.outcomes) == 17
    assert (kept.outcomes[-1], kept.outcomes[2:5]) == (OUTCOMES[-1], OUTCOMES[2:5])
    assert kept.outcomes == OUTCOMES
    assert kept.outcomes != OUTCOMES[1:]
    assert fields_of(kept) == fields_of(result()) == ["half"]
    failing = Filter(check="accuracy", value="false")
    assert list(rows_of(kept).each(failing)) == list(rows_of(result()).each(failing))
    with pytest.raises(IndexError):
        kept.outcomes[17]


def test_values_that_are_taken_in_one_by_one_know_how_many_items_they_have() -> None:
    collected = Collected()
    for outcome in (*OUTCOMES, *OUTCOMES):
        collected.add(outcome)
    assert collected.items == 17
    whole = collected.estimates("wilson")[0]
    assert (whole.n, whole.method) == (34, "wilson, by item")


def test_items_whose_outcomes_come_apart_are_counted_once_and_repeat_no_source_of_their_own() -> None:
    apart = [("a", "s"), ("b", "s"), ("a", "s"), ("c", "t"), ("b", "s")]
    collected = Collected()
    for item, source in apart:
        collected.add(Outcome(item, "accuracy", True, {}, {"source": source}))
    assert collected.items == 3
    # a and b were asked the same, c another thing: 4 rows and 1, worth 25 / (16 + 1) independent ones (Kish).
    (whole,) = collected.estimates("wilson")
    assert (whole.n, whole.method) == (5, "wilson, by source")
    assert whole.low == pytest.approx(stats.wilson(25 / 17, 25 / 17).low)
    alone = Collected()
    for item, source in (("a", "s"), ("c", "t"), ("a", "s")):
        alone.add(Outcome(item, "accuracy", True, {}, {"source": source}))
    assert alone.estimates("wilson")[0].method == "wilson, by item"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda some: st.lists(some, max_size=3) | st.dictionaries(st.text(max_size=3), some, max_size=3),
        max_leaves=8,
    )
)
def test_what_is_kept_is_written_as_pythons_json_writes_it(data: object) -> None:
    compact = (",", ":")
    try:
        written = json.dumps(data, ensure_ascii=False, separators=compact)
        written.encode()
    except UnicodeEncodeError:  # half a character
        written = json.dumps(data, separators=compact)
    assert dump(data) == written


def test_a_row_has_the_seal_that_reading_it_expects() -> None:
    """Whatever its value, and whether its groups are known already, are another's equals, or have the same place."""
    shared = {"type": "a\x1f'b\""}
    values = [True, False, 1, 0.0, -0.0, 2.5, math.nan, None]
    outcomes = [Outcome(f"é{n}", "check", value, shared, {"x": "\"'"}) for n, value in enumerate(values)]
    outcomes += [Outcome("1", "check", 1.0, {"group": str(n)}, {}) for n in range(3 * waiting.KNOWN)]
    held = OutcomeSpool()
    for outcome in outcomes:
        held.add(outcome)
    rows = list(held)
    assert [row[-1] for row in rows] == [seal(*row[:-1]) for row in rows]
    assert [json.loads(row[5]) for row in rows] == [dict(outcome.groups) for outcome in outcomes]
    assert [row[3:5] for row in rows[: len(values)]] == [
        (1.0, 1), (0.0, 1), (1.0, 0), (0.0, 0), (0.0, 0), (2.5, 0), (None, 0), (None, 0),
    ]  # fmt: skip
    assert str(rows[4][3]) == "0.0"  # SQLite keeps no sign of a zero


def test_groups_are_counted_alike_whether_outcomes_share_them_or_have_equal_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stats, "LATELY", 3)
    kinds = [{"number": str(n)} for n in range(5)]
    sharing, apart = Collected(), Collected()
    for n in range(40):
        sharing.add(Outcome(str(n), "accuracy", n % 3 == 0, kinds[n * n % 5]))
        apart.add(Outcome(str(n), "accuracy", n % 3 == 0, dict(kinds[n * n % 5])))
    assert sharing.estimates("wilson") == apart.estimates("wilson")
    assert {one.group: one.n for one in sharing.estimates("wilson")} == {
        "all": 40, "number=0": 8, "number=1": 16, "number=4": 16,
    }  # fmt: skip


def test_groups_that_are_changed_between_two_outcomes_are_taken_as_they_are() -> None:
    """As a family from elsewhere may do it: the same mapping, written anew for each outcome."""
    groups: dict[str, str] = {}
    held, collected = OutcomeSpool(), Collected()
    for n, kind in enumerate(["a", "b", "b"]):
        groups["kind"] = kind
        outcome = Outcome(str(n), "accuracy", True, groups)
        held.add(outcome)
        collected.add(outcome)
    assert [json.loads(row[5]) for row in held] == [{"kind": "a"}, {"kind": "b"}, {"kind": "b"}]
    assert {one.group: one.n for one in collected.estimates("wilson")} == {"all": 3, "kind=a": 1, "kind=b": 2}
