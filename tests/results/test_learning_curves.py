"""Learning curves over revisions and checkpoints."""

from __future__ import annotations

from pathlib import Path

import pytest

from run_factory import keep, outcomes, result
from wug.errors import InputError
from wug.results.learning_curves import learning_curves, step_of
from wug.results.store import Store


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "store"


def checkpoint(db: Path, model: str, right: int, revision: str | None = None) -> int:
    rows = outcomes({"accuracy": [True] * right + [False] * (10 - right)})
    return keep(db, result("s", model, rows), revision=revision)


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("step1000", 1000),
        ("step-3k", 3000),
        ("stage1-step150-tokens1B", 150),
        ("chck_10M", 10_000_000),
        ("checkpoint-2500", 2500),
        ("runs/global_step40", 40),
        ("epoch_3", 3),
        ("5000", 5000),
        ("main", None),
        ("607a30d", None),
        ("gpt2", None),
    ],
)
def test_steps_are_read_from_names(name: str, step: float | None) -> None:
    assert step_of(name) == step


def test_revisions_tell_the_steps_of_runs(db: Path) -> None:
    for mark, right, revision in (("b", 9, "step1000"), ("a", 5, "step0"), ("c", 6, "step20")):
        checkpoint(db, f"causal/org/pythia@{mark}", right, revision)
    (curve,) = learning_curves(Store(db), [1, 2, 3]).curves
    assert [(point.step, point.value, point.runs) for point in curve.points] == [
        (0, 0.5, (2,)),
        (20, 0.6, (3,)),
        (1000, 0.9, (1,)),
    ]
    assert (curve.suite, curve.metric, curve.series, curve.share) == ("s", "accuracy", "causal/org/pythia", True)
    assert curve.points[0].low == pytest.approx(0.2366, abs=1e-4)  # Wilson's, of 5 in 10


def test_folders_of_checkpoints_tell_their_steps(db: Path) -> None:
    for step in (100, 200):
        checkpoint(db, f"causal/checkpoint-{step}@f{step}", 5)
    (curve,) = learning_curves(Store(db), [2, 1]).curves
    assert [point.step for point in curve.points] == [100, 200]
    assert curve.series == "causal"


def test_several_runs_at_one_step_are_one_point(db: Path) -> None:
    for seed, step, right in ((1, 10, 4), (2, 10, 6), (1, 20, 8), (2, 20, 8)):
        checkpoint(db, f"causal/m@{seed}{step}", right, f"step{step}")
    (curve,) = learning_curves(Store(db), [1, 2, 3, 4]).curves
    assert [point.value for point in curve.points] == pytest.approx([0.5, 0.8])
    assert [(point.n, point.method) for point in curve.points] == [(2, "sd of shares")] * 2


def test_steps_may_be_given(db: Path) -> None:
    for model in ("causal/a@1", "causal/a@2"):
        checkpoint(db, model, 5)
    with pytest.raises(
        InputError, match=r"the training step of run 1 \(causal/a@1\) is not in its name.*--steps 0,1000"
    ):
        learning_curves(Store(db), [1, 2])
    (curve,) = learning_curves(Store(db), [1, 2], steps=[7, 3]).curves
    assert [point.step for point in curve.points] == [3, 7]
    with pytest.raises(InputError, match="3 numbers for 2 runs"):
        learning_curves(Store(db), [1, 2], steps=[1, 2, 3])


def test_one_run_is_no_curve(db: Path) -> None:
    checkpoint(db, "causal/step1@1", 5)
    with pytest.raises(InputError, match="at least two runs"):
        learning_curves(Store(db), [1])
    checkpoint(db, "causal/step1@2", 5)
    with pytest.raises(InputError, match="no curve to draw"):
        learning_curves(Store(db), [1, 2])
