"""Outcomes as columns: what is collected is what is read."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

import run_factory
from wug import stats
from wug.errors import StoreError
from wug.outcomes import Outcome, Result
from wug.results import outcomes
from wug.results.columns import dump
from wug.results.database import database_errors
from wug.results.outcomes import OutcomeCollector, PackedOutcomes, collected
from wug.results.queries import rows_of, table_of, unpack
from wug.results.store import Store
from wug.rows import Filter
from wug.stats import EstimateAccumulator

OUTCOMES = tuple(
    Outcome(f"item {n}", "accuracy", n % 3 > 0, {"half": "first" if n < 9 else "second"}, {"good": f"a {n}"})
    for n in range(17)
)


def result(rows: tuple[Outcome, ...] = OUTCOMES) -> Result:
    return run_factory.result("one", "causal/x@1", rows)


def round_trip(rows: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes as they come out of a Parquet file."""
    return [row.outcome for row in table_of(rows).each(Filter())]


def test_outcomes_in_several_parts_are_stored_like_those_in_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outcomes, "MAX_ROWS_IN_MEMORY", 5)
    store = Store(tmp_path / "store")
    number = store.begin("key", "causal/x@1", "wug run")
    collector = OutcomeCollector()
    for outcome in OUTCOMES:
        collector.add(outcome)
    kept = store.add(number, result(()), collector)
    store.finish(number, "complete")
    assert kept.outcomes == OUTCOMES
    assert store.results(number)[0].outcomes == OUTCOMES
    store.close()


def test_types_are_unified_over_all_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcomes, "MAX_ROWS_IN_MEMORY", 2)
    details: list[dict[str, Any]] = [
        {"n": 1, "s": "a", "l": [1], "d": {"x": 1}, "odd": 1},
        {"n": 2},
        {"n": 0.5, "s": "b", "l": [0.5, None], "d": {"y": ["z"]}, "odd": "text"},
        {"n": math.inf, "odd": True},
        {"late": [{"deep": "é\x00"}], "odd": [math.inf, 1]},
    ]
    rows = [Outcome(str(n), "m", True, {}, detail) for n, detail in enumerate(details)]
    assert [row.detail for row in round_trip(rows)] == details
    columns = {column.name: column.type for column in collected(rows).write(tmp_path / "x", "", "").columns}
    assert columns == {
        "n": "DOUBLE", "s": "VARCHAR", "l": ["DOUBLE"], "d": {"x": "BIGINT", "y": ["VARCHAR"]}, "odd": "JSON",
        "late": [{"deep": "VARCHAR"}],
    }  # fmt: skip


def test_a_temporary_folder_that_is_full_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: object) -> object:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(outcomes, "MAX_ROWS_IN_MEMORY", 1)
    monkeypatch.setattr(tempfile, "TemporaryDirectory", full)
    with pytest.raises(StoreError, match="No space left on device"):
        OutcomeCollector().add(OUTCOMES[0])


def test_fields_with_the_same_name_have_columns_of_their_own() -> None:
    rows = [Outcome("1", "m", 0.5, {"x": "g", "value": "v"}, {"x": 1, "X": 2, "item": "i", "": 3, "a\nb": 4})]
    (found,) = round_trip(rows)
    assert (found.groups, found.detail) == (rows[0].groups, rows[0].detail)
    columns = table_of(rows).locate().columns
    assert [column.name for column in columns] == [
        "group_x", "group_value", "detail_x", "detail_x_3", "detail_item", "detail_", "detail__6",
    ]  # fmt: skip


@given(
    st.lists(
        st.dictionaries(
            st.text(max_size=3),
            st.recursive(
                st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
                lambda some: st.lists(some, max_size=3) | st.dictionaries(st.text(max_size=3), some, max_size=3),
                max_leaves=8,
            ),
            max_size=3,
        ),
        min_size=1,
        max_size=4,
    )
)
def test_details_come_back_as_they_were(details: list[dict[str, Any]]) -> None:
    rows = [Outcome(str(n), "m", True, {}, detail) for n, detail in enumerate(details)]
    assert [present(row.detail) for row in round_trip(rows)] == [present(detail) for detail in details]


def present(data: Any) -> Any:
    """Data without fields that are None, which are the same as absent ones."""
    if isinstance(data, dict):
        return {name: present(part) for name, part in data.items() if part is not None}
    return [present(part) for part in data] if isinstance(data, list) else data


def test_values_are_judgements_or_numbers_without_nan_and_without_the_sign_of_a_zero() -> None:
    values = [True, False, 1, 0.0, -0.0, 2.5, math.nan, None, math.inf, -math.inf]
    found = [row.value for row in round_trip([Outcome(str(n), "m", value) for n, value in enumerate(values)])]
    assert found == [True, False, 1.0, 0.0, 0.0, 2.5, None, None, math.inf, -math.inf]
    assert [type(value) for value in found[:3]] == [bool, bool, float]
    assert str(found[4]) == "0.0"


def test_nan_and_half_characters_in_details_are_kept() -> None:
    rows = [Outcome("1", "m", True, {}, {"nan": math.nan, "half": "\ud800", "list": ["\ud800"], "zero": -0.0})]
    (found,) = round_trip(rows)
    assert math.isnan(found.detail.pop("nan"))  # type: ignore[attr-defined]
    assert found.detail == {"half": "\ud800", "list": ["\ud800"], "zero": 0.0}
    assert str(found.detail["zero"]) == "-0.0"


def test_outcomes_in_the_store_are_a_sequence_like_those_in_memory(tmp_path: Path) -> None:
    run_factory.keep(tmp_path / "store", result())
    (kept,) = Store(tmp_path / "store").results(1)
    assert len(kept.outcomes) == 17
    assert (kept.outcomes[-1], kept.outcomes[2:5]) == (OUTCOMES[-1], OUTCOMES[2:5])
    assert kept.outcomes == OUTCOMES
    assert kept.outcomes != OUTCOMES[1:]
    failing = Filter(metric="accuracy", value="false")
    assert list(rows_of(kept).each(failing)) == list(rows_of(result()).each(failing))
    with pytest.raises(IndexError):
        kept.outcomes[17]


def test_values_that_are_taken_in_one_by_one_know_how_many_items_they_have() -> None:
    values = EstimateAccumulator()
    for outcome in (*OUTCOMES, *OUTCOMES):
        values.add(outcome)
    assert values.items == 17
    whole = values.estimates("wilson")[0]
    assert (whole.n, whole.method) == (34, "wilson, by item")


def test_scattered_outcomes_of_an_item_count_once_and_sources_are_clusters() -> None:
    apart = [("a", "s"), ("b", "s"), ("a", "s"), ("c", "t"), ("b", "s")]
    values = EstimateAccumulator()
    for item, source in apart:
        values.add(Outcome(item, "accuracy", True, {}, {"source": source}))
    assert values.items == 3
    # a and b were asked the same, c another thing: 4 rows and 1, worth 25 / (16 + 1) independent ones (Kish).
    (whole,) = values.estimates("wilson")
    assert (whole.n, whole.method) == (5, "wilson, by source")
    assert whole.low == pytest.approx(stats.wilson(25 / 17, 25 / 17).low)
    alone = EstimateAccumulator()
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


def test_groups_are_counted_alike_whether_outcomes_share_them_or_have_equal_ones() -> None:
    kinds = [{"number": str(n)} for n in range(5)]
    sharing, apart = EstimateAccumulator(), EstimateAccumulator()
    for n in range(40):
        sharing.add(Outcome(str(n), "accuracy", n % 3 == 0, kinds[n * n % 5]))
        apart.add(Outcome(str(n), "accuracy", n % 3 == 0, dict(kinds[n * n % 5])))
    assert sharing.estimates("wilson") == apart.estimates("wilson")
    assert {one.group: one.n for one in sharing.estimates("wilson")} == {
        "all": 40, "number=0": 8, "number=1": 16, "number=4": 16,
    }  # fmt: skip


def test_groups_that_are_changed_between_two_outcomes_are_taken_as_they_are() -> None:
    """As a family from elsewhere may do it: the same mapping, created again for each outcome."""
    groups: dict[str, str] = {}
    collector, values = OutcomeCollector(), EstimateAccumulator()
    for n, kind in enumerate(["a", "b", "b"]):
        groups["kind"] = kind
        outcome = Outcome(str(n), "accuracy", True, groups)
        collector.add(outcome)
        values.add(outcome)
    packed = PackedOutcomes.of(collector, "s", "m")
    assert [row.groups for row in unpack(packed)] == [{"kind": "a"}, {"kind": "b"}, {"kind": "b"}]
    assert {one.group: one.n for one in values.estimates("wilson")} == {"all": 3, "kind=a": 1, "kind=b": 2}


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    error = (
        'IO Error: Async write failed: {"exception_message":"Could not write: No space left on device","errno":"28"}'
    )
    with pytest.raises(StoreError, match=r"cannot be read or written: the disk is full$"), database_errors(tmp_path):
        raise duckdb.IOException(error)
