"""Stores of every earlier version open and show what they showed, and what is damaged in them is still refused.

`store_v3.sql` is a store as version 3 wrote it; those of the versions before lack some of its columns.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from wug.errors import StoreError
from wug.results.comparison import compare
from wug.results.learning_curves import learning_curves
from wug.results.schema import SPOKEN, VERSION
from wug.results.store import Store
from wug.rows import Filter
from wug.types import Check, Outcome, Signature

COMMAND = (
    "wug run reflexives --model causal:org/pythia@step1000 --model 'causal:org/pythia@step20?dtype=float32' "
    "--model=masked:bert"
)
SEALS = {"outcomes": ("seal",), "results": ("outcomes", "chain", "seal", "summary_seal"), "runs": ("kept", "seal")}
"""What version 3 added."""


def third(path: Path) -> Path:
    """A store of version 3."""
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript((Path(__file__).parent / "store_v3.sql").read_text(encoding="utf-8"))
    return path


def second(path: Path) -> Path:
    """The same as version 2 wrote it."""
    with closing(sqlite3.connect(third(path))) as db, db:
        for table, columns in SEALS.items():
            for column in columns:
                db.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        db.execute("ALTER TABLE results DROP COLUMN checks")
        db.execute("PRAGMA user_version=2")
        db.execute("PRAGMA application_id=0")
    return path


def first(path: Path) -> Path:
    """The same as version 1 wrote it."""
    with closing(sqlite3.connect(second(path))) as db, db:
        db.execute("DROP INDEX outcomes_by_check")
        db.execute("ALTER TABLE results DROP COLUMN summary")
        db.execute("PRAGMA user_version=1")
    return path


def fourth(path: Path) -> Path:
    """The same as version 4 wrote it: brought forward, without what version 5 added."""
    Store(third(path)).close()
    with closing(sqlite3.connect(path)) as db, db:
        for table in ("progress", "sweeps"):
            db.execute(f"DROP TABLE {table}")
        db.execute("DROP INDEX runs_by_sweep")
        for column in (*SPOKEN, "sweep"):
            db.execute(f"ALTER TABLE runs DROP COLUMN {column}")
        db.execute("PRAGMA user_version=4")
    return path


def made(path: Path, make: Callable[[Path], Path]) -> Store:
    return Store(make(path / "wug.db"))


@pytest.fixture(params=[first, second, third, fourth])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return made(tmp_path, request.param)


def test_a_store_of_an_earlier_version_has_the_same_results(store: Store) -> None:
    (result,) = store.results(1)
    assert (result.suite, result.kind, result.model, result.n) == ("reflexives", "pairs", "causal/org/pythia@aaa", 4)
    assert {(e.check, e.group): e.value for e in result.estimates} == {
        ("accuracy", "all"): 1.0,
        ("accuracy", "half=first"): 1.0,
        ("accuracy", "half=second"): 1.0,
        ("margin", "all"): 0.5,
    }
    assert result.outcomes[:2] == (
        Outcome("0", "accuracy", True, {"half": "first"}, {"good": 'She said "naïve" 0', "bad": "back\\slash"}),
        Outcome("0", "margin", -0.25),
    )
    assert [outcome.value for outcome in result.outcomes[4:]] == [True, 0.75, None, 1.25]
    assert [summary.estimates[0].value for summary in store.reader.overview() if summary.estimates] == [
        1.0,
        pytest.approx(1 / 3),
        pytest.approx(2 / 3),
        pytest.approx(2 / 3),
    ]
    assert store.results(3)[1].warnings == ("failed: no answer",)


def test_signatures_that_were_kept_as_text_have_fields(store: Store) -> None:
    signature = store.results(1)[0].signature
    assert signature == Signature(
        (
            ("wug", "0.4.0"),
            ("suite", "reflexives@1f3a"),
            ("model", "causal/org/pythia@aaa,float32"),
            ("endpoint", "http://host:80/v1"),
            ("unit", "bits"),
            ("boundary", "yes"),
        )
    )


def test_outcomes_of_an_earlier_version_are_read_page_by_page(store: Store) -> None:
    rows = store.reader.rows(2)
    assert rows.tally("accuracy") == {"": 4, "true": 1, "false": 2, "none": 1}
    assert [row.outcome.item for row in rows.each(Filter("margin", order="highest"))] == ["3", "2", "1", "0"]
    assert rows.count(Filter(text='"NAÏVE" 2')) == 1
    assert [row.place for row in rows.same_item(rows.at(4))] == [4, 5]


def test_runs_of_an_earlier_version_say_what_the_user_called_their_models(store: Store) -> None:
    named = {run.id: (run.specification, run.revision) for run in store.runs()}
    assert named == {
        1: ("causal:org/pythia@step1000", "step1000"),
        2: ("causal:org/pythia@step20", "step20"),
        3: ("masked:bert", None),
        4: (None, None),
    }
    assert store.run(1).command == COMMAND
    (curve, _) = sorted(learning_curves(store, [1, 2], checks=["*"]).curves, key=lambda curve: curve.check)
    assert [(point.step, point.value) for point in curve.points] == [(20, pytest.approx(1 / 3)), (1000, 1.0)]


def test_runs_of_an_earlier_version_are_compared(store: Store) -> None:
    (accuracy, *_) = compare(store, [[1], [2]]).contrasts
    assert (accuracy.n, accuracy.both, accuracy.only_first, accuracy.only_second) == (3, 1, 2, 0)


def test_checks_that_were_kept_stay(tmp_path: Path) -> None:
    checks = made(tmp_path, third).results(1)[0].checks
    assert checks[1] == Check("margin", "bits", headline=False)


def test_a_store_is_brought_forward_once(store: Store) -> None:
    expected = [store.results(run.id) for run in store.runs()]
    store.close()
    for _ in range(2):
        again = Store(store.path)
        assert [again.results(run.id) for run in again.runs()] == expected
        again.close()
    with closing(sqlite3.connect(store.path)) as db, db:
        assert db.execute("PRAGMA user_version").fetchone() == (VERSION,)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE results SET estimates = replace(estimates, '0.5', '0.75') WHERE id = 1",
        "UPDATE results SET signature = replace(signature, 'bits', 'nats') WHERE id = 1",
        "UPDATE results SET outcomes = 7 WHERE id = 1",
        "UPDATE outcomes SET value = 0 WHERE result = 1 AND place = 0",
        "UPDATE outcomes SET value = 0 WHERE result = 1 AND place = 1",
        "DELETE FROM outcomes WHERE result = 1 AND place = 7",
        "UPDATE runs SET command = 'wug run other' WHERE id = 1",
        "UPDATE runs SET model = 'causal/other@1' WHERE id = 1",
    ],
)
def test_what_was_damaged_before_is_refused_after(tmp_path: Path, change: str) -> None:
    path = third(tmp_path / "wug.db")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(change)
    store = Store(path)
    with pytest.raises(StoreError, match="the run store is damaged here"):
        store.results(1)
    assert len(store.results(2)) == 1


def test_a_store_that_was_sealed_before_checks_were_kept_opens(tmp_path: Path) -> None:
    path = third(tmp_path / "wug.db")
    from wug.results.checksums import RESULT, result_seal

    with closing(sqlite3.connect(path)) as db, db:
        db.row_factory = sqlite3.Row
        names = [name for name in RESULT if name != "checks"]
        for row in db.execute("SELECT * FROM results").fetchall():
            seal = result_seal(row, row["outcomes"], row["chain"], names)
            db.execute("UPDATE results SET seal = ? WHERE id = ?", (seal, row["id"]))
        db.execute("ALTER TABLE results DROP COLUMN checks")
    assert Store(path).results(1)[0].estimates[0].value == 1.0


def test_a_zero_with_a_sign_is_no_damage(tmp_path: Path) -> None:
    path = third(tmp_path / "wug.db")
    from wug.results.checksums import Chain, result_seal, seal

    with closing(sqlite3.connect(path)) as db, db:
        db.row_factory = sqlite3.Row
        chain = Chain()
        for row in db.execute("SELECT * FROM outcomes WHERE result = 1 ORDER BY place").fetchall():
            mark = row["seal"]
            if row["place"] == 1:
                mark = seal(1, row["item"], row["measure"], -0.0, 0, row["groups"], row["detail"])
                db.execute("UPDATE outcomes SET value = ?, seal = ? WHERE result = 1 AND place = 1", (-0.0, mark))
            chain.add(mark)
        row = db.execute("SELECT * FROM results WHERE id = 1").fetchone()
        made = result_seal(row, chain.length, chain.seal)
        db.execute("UPDATE results SET chain = ?, seal = ? WHERE id = 1", (chain.seal, made))
    assert Store(path).results(1)[0].outcomes[1].value == 0.0
