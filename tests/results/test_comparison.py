"""Runs compared on the items that they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest

from run_factory import keep, outcomes, result
from wug.errors import InputError, StoreError, UnknownName
from wug.outcomes import Metric, Outcome
from wug.results.comparison import ComparisonSettings, compare, side_label
from wug.results.contrasts import Contrast, RunComparison
from wug.results.store import Store

A, B = "causal/a@1", "causal/b@2"
RIGHT, WRONG = True, False


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "store"


def compared(db: Path, *sides: list[int], **choice: object) -> RunComparison:
    return compare(Store(db), sides, ComparisonSettings(**choice))  # type: ignore[arg-type]


def only(comparison: RunComparison) -> Contrast:
    (contrast,) = comparison.contrasts
    return contrast


def test_right_or_wrong_is_counted_item_by_item(db: Path) -> None:
    """Both 1, only the first 1, only the second 5, neither 1: McNemar's chi-squared is 16 / 6, so p is .1025."""
    keep(db, result("s", A, outcomes({"accuracy": [RIGHT, RIGHT, *[WRONG] * 5, WRONG]})))
    keep(db, result("s", B, outcomes({"accuracy": [RIGHT, WRONG, *[RIGHT] * 5, WRONG]})))
    found = only(compared(db, [1], [2]))
    assert (found.both, found.only_first, found.only_second, found.neither) == (1, 1, 5, 1)
    assert (found.value_first, found.value_second, found.difference) == (2 / 8, 6 / 8, 4 / 8)
    assert (found.method, found.interval_method) == ("McNemar (score)", "tango")
    assert found.p == pytest.approx(0.1025, abs=5e-5)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.5 < found.high
    assert (found.n, found.items, found.disagreeing, found.share) == (8, 8, 6, True)
    assert (found.first.label, found.first.name, found.second.label, found.second.name) == ("A", A, "B", B)


def test_items_are_paired_by_name_in_whatever_order_they_come(db: Path) -> None:
    keep(db, result("s", A, outcomes({"accuracy": [RIGHT, WRONG, WRONG]}, ["x", "y", "z"])))
    keep(db, result("s", B, outcomes({"accuracy": [WRONG, WRONG, RIGHT]}, ["z", "y", "x"])))
    assert only(compared(db, [1], [2])).disagreeing == 0


def test_metrics_are_in_the_order_of_their_own_suite_not_of_another_in_the_same_file(db: Path) -> None:
    verdicts = [RIGHT, WRONG, RIGHT]
    short = outcomes({"prediction_0": verdicts, "all_predictions": verdicts})
    long = outcomes({"prediction_0": verdicts, "prediction_1": verdicts, "all_predictions": verdicts})
    for model in (A, B):
        keep(db, result("s", model, short), result("t", model, long))
    found = [contrast.metric for contrast in compared(db, [1], [2]).contrasts if contrast.suite == "t"]
    assert found == ["prediction_0", "prediction_1", "all_predictions"]


def test_two_identical_models_differ_by_0_with_p_1_everywhere(db: Path) -> None:
    rng = np.random.default_rng(0)
    values: dict[str, Sequence[bool | float | None]] = {
        "accuracy": [bool(value) for value in rng.random(40) < 0.6],
        "f1": [float(value) for value in rng.random(40)],
        "prediction_0": [bool(value) for value in rng.random(40) < 0.3],
    }
    for model in (A, B):
        rows = outcomes(values)
        keep(db, result("s", model, rows), result("t", model, [*rows, *rows]))
    found = compared(db, [1], [2], pool=True)
    assert len(found.contrasts) == 9
    assert {(c.difference, c.p, c.p_holm, c.disagreeing) for c in found.contrasts} == {(0.0, 1.0, 1.0, 0)}
    assert all(c.low is None or c.low < 0 < (c.high or 0) for c in found.contrasts)


def test_means_of_numbers_are_compared_by_the_test_that_their_interval_belongs_to(db: Path) -> None:
    from scipy.stats import permutation_test, ttest_rel

    first, second = [1.0, 2.0, 3.5, 1.0, 0.5], [2.0, 2.5, 3.0, 2.5, 0.75]
    keep(db, result("s", A, outcomes({"f1": first})))
    keep(db, result("s", B, outcomes({"f1": second})))
    found = only(compared(db, [1], [2]))
    differences = np.array(second) - np.array(first)
    expected = ttest_rel(second, first)
    interval = expected.confidence_interval()
    assert found.p == pytest.approx(expected.pvalue)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert (found.method, found.interval_method, found.share, found.both) == ("t test", "t", False, None)
    assert found.difference == pytest.approx(differences.mean())
    drawn = only(compared(db, [1], [2], interval="bca"))
    flipped = permutation_test((differences,), np.mean, permutation_type="samples", n_resamples=2**30).pvalue
    assert (drawn.method, drawn.interval_method) == ("exact permutation", "bca")
    assert drawn.p == pytest.approx(flipped)


def test_an_item_with_several_outcomes_is_a_cluster(db: Path) -> None:
    """Item x changes three times, y never, z once: sums 3, 0, 1."""
    items = ["x", "x", "x", "y", "z"]
    keep(db, result("s", A, outcomes({"accuracy": [WRONG, WRONG, WRONG, RIGHT, WRONG]}, items)))
    keep(db, result("s", B, outcomes({"accuracy": [RIGHT] * 5}, items)))
    found = only(compared(db, [1], [2]))
    assert (found.n, found.items, found.method, found.interval_method) == (5, 3, "cluster t test", "cluster t")
    # mean 4/5, residuals 3 - 12/5, 0 - 4/5, 1 - 4/5: error √(3/2 · 1.04) / 5, t = 3.2026 with 2 degrees of freedom
    assert found.p == pytest.approx(0.0852, abs=5e-5)


def test_items_that_ask_the_same_source_are_a_cluster(db: Path) -> None:
    """Items 1 to 3 ask one source and change; 4 does not; 5 changes: sums 3, 0, 1."""
    sources = ["copy A1", "copy A1", "copy A1", "echo B2", "echo C3"]

    def rows(values: list[bool]) -> list[Outcome]:
        made = [
            (Outcome(str(n), "accuracy", value, {}, {"source": source}), Outcome(str(n), "consistency", value))
            for n, (value, source) in enumerate(zip(values, sources, strict=True), 1)
        ]
        return [outcome for pair in made for outcome in pair]

    keep(db, result("s", A, rows([WRONG, WRONG, WRONG, RIGHT, WRONG])))
    keep(db, result("s", B, rows([RIGHT] * 5)))
    for found in compared(db, [1], [2], items=5).contrasts:
        assert (found.n, found.items, found.interval_method) == (5, 3, "cluster t")
        assert found.p == pytest.approx(0.0852, abs=5e-5)
        assert [one.item for one in found.disagreements] == ["1", "5"]


def test_checks_of_one_item_are_pooled_by_item_on_request(db: Path) -> None:
    first = {"prediction_0": [WRONG] * 4, "prediction_1": [WRONG] * 4, "all_predictions": [WRONG] * 4}
    second = {"prediction_0": [RIGHT] * 4, "prediction_1": [RIGHT] * 4, "all_predictions": [RIGHT] * 4}
    keep(db, replace(result("s", A, outcomes(first)), kind="syntaxgym"))
    keep(db, replace(result("s", B, outcomes(second)), kind="syntaxgym"))
    found = compared(db, [1], [2], pool=True).contrasts
    assert [c.metric for c in found] == ["prediction_0", "prediction_1", "all_predictions", "prediction_*"]
    assert (found[-1].n, found[-1].items, found[-1].p) == (8, 4, 2 / 16)


def test_an_item_on_which_two_checks_turn_round_differs_though_its_mean_does_not(db: Path) -> None:
    keep(db, result("s", A, outcomes({"prediction_0": [WRONG, RIGHT], "prediction_1": [RIGHT, RIGHT]})))
    keep(db, result("s", B, outcomes({"prediction_0": [RIGHT, RIGHT], "prediction_1": [WRONG, RIGHT]})))
    pooled = compared(db, [1], [2], pool=True, items=5).contrasts[-1]
    assert (pooled.metric, pooled.difference, pooled.p, pooled.disagreeing) == ("prediction_*", 0.0, 1.0, 1)
    assert [one.item for one in pooled.disagreements] == ["1"]


def test_all_suites_are_pooled_too(db: Path) -> None:
    for model, value in ((A, WRONG), (B, RIGHT)):
        keep(db, *(result(suite, model, outcomes({"accuracy": [value] * 3})) for suite in ("s", "t")))
    last = compared(db, [1], [2], pool=True).contrasts[-1]
    assert (last.suite, last.metric, last.n, last.items) == ("all suites", "accuracy", 6, 6)
    assert last.p == pytest.approx(0.0143, abs=5e-5)  # (6 - 0)² / 6 = 6 is chi-squared


def test_all_predictions_is_left_out_where_it_repeats_the_only_one(db: Path) -> None:
    for model in (A, B):
        metrics = (Metric("all_predictions", headline=False), Metric("prediction_0"))
        keep(db, result("s", model, outcomes({"prediction_0": [RIGHT], "all_predictions": [RIGHT]}), metrics=metrics))
    assert only(compared(db, [1], [2])).metric == "prediction_0"
    assert only(compared(db, [1], [2], metrics=["all*"])).metric == "all_predictions"


def test_a_suite_may_name_the_checks_to_compare(db: Path) -> None:
    values = {"match": [RIGHT, WRONG], "obscure": [RIGHT, WRONG]}
    for model in (A, B):
        keep(db, result("s", model, outcomes(values), metrics=(Metric("match"), Metric("obscure", headline=False))))
    assert only(compared(db, [1], [2])).metric == "match"
    assert len(compared(db, [1], [2], metrics=["*"]).contrasts) == 2


def test_holms_correction_is_over_all_tests_shown(db: Path) -> None:
    for model, better in ((A, 0), (B, 6), ("causal/c@3", 9)):
        keep(
            db,
            *(
                result(suite, model, outcomes({"accuracy": [RIGHT] * min(10, easy + better) + [WRONG] * 10}))
                for suite, easy in (("s", 0), ("t", 2))
            ),
        )
    found = compared(db, [1], [2], [3])
    assert [(c.first.label, c.second.label, c.suite) for c in found.contrasts] == [
        ("A", "B", "s"),
        ("A", "B", "t"),
        ("A", "C", "s"),
        ("A", "C", "t"),
    ]
    assert found.tests == 4
    by_p = sorted(found.contrasts, key=lambda contrast: contrast.p)
    largest = accumulate((min(1.0, (4 - place) * contrast.p) for place, contrast in enumerate(by_p)), max)
    assert [contrast.p_holm for contrast in by_p] == pytest.approx(list(largest))


def test_every_two_are_compared_on_request(db: Path) -> None:
    for model in (A, B, "causal/c@3"):
        keep(db, result("s", model, outcomes({"accuracy": [RIGHT, WRONG]})))
    pairs = [(c.first.label, c.second.label) for c in compared(db, [1], [2], [3], all_pairs=True).contrasts]
    assert pairs == [("A", "B"), ("A", "C"), ("B", "C")]


def test_runs_of_a_group_count_as_their_mean_with_their_spread(db: Path) -> None:
    for model, values in (
        ("causal/m-seed1@1", [RIGHT, RIGHT, WRONG, WRONG]),
        ("causal/m-seed2@2", [RIGHT, WRONG, WRONG, WRONG]),
        ("causal/n@3", [RIGHT, RIGHT, RIGHT, WRONG]),
    ):
        keep(db, result("s", model, outcomes({"accuracy": values})))
    found = only(compared(db, [1, 2], [3]))
    assert (found.value_first, found.value_second) == (3 / 8, 3 / 4)
    assert found.first.name == "causal/m-seed… (mean of runs 1, 2)"
    assert found.spread_first is not None
    assert found.spread_first.values == (0.5, 0.25)
    assert found.spread_first.deviation == pytest.approx(0.25 / 2**0.5)
    assert (found.spread_second, found.both, found.method) == (None, None, "t test")
    assert found.p == pytest.approx(0.2152, abs=5e-5)  # differences 0, 1/2, 1, 0: t = 1.567 with 3 degrees of freedom


def test_disagreements_come_with_what_explains_them(db: Path) -> None:
    keep(db, result("s", A, outcomes({"accuracy": [RIGHT, WRONG, RIGHT]}, margin=2)))
    keep(db, result("s", B, outcomes({"accuracy": [RIGHT, RIGHT, WRONG]}, margin=-1)))
    found = only(compared(db, [1], [2], items=1))
    assert found.disagreeing == 2
    (one,) = found.disagreements
    assert (one.item, one.first, one.second) == ("2", 0.0, 1.0)
    assert (one.detail_first["margin"], one.detail_second) == (2, {"sentence": "sentence 2", "margin": -1})


def test_of_numbers_the_items_that_differ_most_come_first(db: Path) -> None:
    keep(db, result("s", A, outcomes({"f1": [0.5, 0.5, 0.5]})))
    keep(db, result("s", B, outcomes({"f1": [0.6, 0.1, 0.5]})))
    assert [one.item for one in only(compared(db, [1], [2], items=5)).disagreements] == ["2", "1"]


def test_outcomes_without_a_partner_are_left_out_and_said(db: Path) -> None:
    keep(db, result("s", A, outcomes({"accuracy": [RIGHT, WRONG, None, WRONG]})))
    keep(db, result("s", B, outcomes({"accuracy": [RIGHT, RIGHT, RIGHT]})))
    found = only(compared(db, [1], [2]))
    assert found.n == 2
    assert found.warnings == (
        "1 outcome of A left out: the other side does not have them",
        "1 outcome of B left out: the other side does not have them",
    )


def test_another_version_of_a_suite_is_not_compared(db: Path) -> None:
    rows = outcomes({"accuracy": [RIGHT, WRONG]})
    keep(db, result("s", A, rows, mark="aaaa"), result("t", A, rows))
    keep(db, result("s", B, rows, mark="bbbb"), result("t", B, rows))
    found = compared(db, [1], [2])
    assert only(found).suite == "t"
    assert any("run 1 had aaaa; run 2 had bbbb" in warning for warning in found.warnings)


def test_other_scoring_options_are_said(db: Path) -> None:
    rows = outcomes({"accuracy": [RIGHT, WRONG]})
    keep(db, result("s", A, rows, options={"unit": "bits", "join": "space"}))
    keep(db, result("s", B, rows, options={"unit": "bits", "join": "none", "limit": "2"}))
    found = compared(db, [1], [2])
    assert "different settings, join – A: space; B: none (every suite)" in found.warnings
    assert "different settings, limit – A: none; B: 2 (every suite)" in found.warnings


def test_options_that_only_another_kind_of_model_has_are_not_held_against_it(db: Path) -> None:
    rows = outcomes({"accuracy": [RIGHT, WRONG]})
    keep(db, result("s", "causal/a@1", rows, options={"unit": "bits", "bos": "yes"}))
    keep(db, result("s", "lstm/b@2", rows, options={"unit": "bits", "state": "fresh"}))
    assert not [warning for warning in compared(db, [1], [2]).warnings if "same way" in warning]


def test_suites_that_only_one_has_are_left_out_and_said(db: Path) -> None:
    rows = outcomes({"accuracy": [RIGHT, WRONG]})
    keep(db, result("s", A, rows), result("mine", A, rows))
    keep(db, result("s", B, rows), result("broken", B, rows, status="failed"))
    found = compared(db, [1], [2])
    assert "left out, since B was not evaluated on it: mine" in found.warnings
    assert "left out: suite broken of run 2, which is failed" in found.warnings


def test_the_newest_result_of_each_suite_is_taken_from_the_runs_of_a_model(db: Path) -> None:
    good, bad = outcomes({"accuracy": [RIGHT] * 4}), outcomes({"accuracy": [WRONG] * 4})
    keep(db, result("s", A, bad), result("old", A, good))
    keep(db, result("s", A, good), result("t", A, bad, status="interrupted"))
    keep(db, result("t", A, good), result("mine", A, good))
    keep(db, result("s", B, bad), result("t", B, bad), result("old", B, bad))
    found = compare(Store(db), [[1, 2, 3], [4]], ComparisonSettings(newest=[0]))
    assert {c.suite: (c.value_first, c.value_second) for c in found.contrasts} == {
        "s": (1.0, 0.0),
        "old": (1.0, 0.0),
        "t": (1.0, 0.0),
    }
    assert found.sides[0].name == A
    assert found.contrasts[0].spread_first is None
    assert "left out, since B was not evaluated on it: mine" in found.warnings


def test_runs_without_a_common_suite_are_refused(db: Path) -> None:
    rows = outcomes({"accuracy": [RIGHT, WRONG]})
    keep(db, result("s", A, rows))
    keep(db, result("t", B, rows))
    with pytest.raises(InputError, match=r"share no suite. Run 1 has s@1f3a. Run 2 has t@1f3a"):
        compared(db, [1], [2])


def test_runs_that_cannot_be_compared_are_refused(db: Path) -> None:
    keep(db, result("s", A, outcomes({"accuracy": [RIGHT]})))
    keep(db, result("s", B, outcomes({"accuracy": [RIGHT]})), status="running", command="wug run s --model b")
    with pytest.raises(InputError, match="run 1 is given twice"):
        compared(db, [1], [1])
    with pytest.raises(StoreError, match=r"no run 7 .* the latest is 2"):
        compared(db, [1], [7])
    with pytest.raises(InputError, match=r"run 2 is still running.*wug run s --model b"):
        compared(db, [1], [2])
    with pytest.raises(InputError, match="needs at least two runs"):
        compared(db, [1])


def test_unknown_suites_and_checks_have_suggestions(db: Path) -> None:
    for model in (A, B):
        keep(db, result("number_prep", model, outcomes({"accuracy": [RIGHT, WRONG]})))
    with pytest.raises(UnknownName, match="Did you mean 'number_prep'"):
        compared(db, [1], [2], suites=["nmber_prep"])
    with pytest.raises(UnknownName, match="Did you mean 'accuracy'"):
        compared(db, [1], [2], metrics=["acuracy"])


def test_runs_that_share_no_item_are_refused(db: Path) -> None:
    keep(db, result("s", A, outcomes({"accuracy": [RIGHT]}, ["x"])))
    keep(db, result("s", B, outcomes({"accuracy": [RIGHT]}, ["y"])))
    with pytest.raises(InputError, match="share no item"):
        compared(db, [1], [2])


def test_one_model_in_two_runs_is_distinguished_by_their_numbers(db: Path) -> None:
    for _ in range(2):
        keep(db, result("s", A, outcomes({"accuracy": [RIGHT]})))
    assert [side.name for side in compared(db, [1], [2]).sides] == [f"{A} (run 1)", f"{A} (run 2)"]


def test_drawn_signs_and_samples_are_seeded(db: Path) -> None:
    rng = np.random.default_rng(0)
    for model in (A, B):
        keep(db, result("s", model, outcomes({"f1": [float(value) for value in rng.random(50)]})))
    first, again = (compared(db, [1], [2], interval="bca", seed=3) for _ in range(2))
    assert first == again
    assert only(first).interval_method == "bca"
    assert only(first) != only(compared(db, [1], [2], interval="bca", seed=4))


def test_groups_that_are_different_quantities_are_compared_one_by_one(db: Path) -> None:
    """Differences by measure: 1 and 3 for x, -1 and -2 for y; their mean over both would be 0.25."""
    measured = {"x": ([1.0, 2.0], [2.0, 5.0]), "y": ([5.0, 6.0], [4.0, 4.0])}
    for side, model in enumerate((A, B)):
        rows = [
            Outcome(str(item), "gain", values[side][item], {"measure": name}, {})
            for item in range(2)
            for name, values in measured.items()
        ]
        keep(db, result("s", model, rows, metrics=(Metric("gain", "nats", split_by="measure"),)))
    found = compared(db, [1], [2])
    assert {c.metric: (c.n, c.difference) for c in found.contrasts} == {"gain:x": (2, 2.0), "gain:y": (2, -1.5)}
    assert only(compared(db, [1], [2], metrics=["gain:y"])).difference == -1.5
    assert len(compared(db, [1], [2], metrics=["gain"]).contrasts) == 2


def test_sides_after_z_have_a_letter_and_a_number() -> None:
    assert [side_label(side) for side in (0, 1, 25, 26, 53)] == ["A", "B", "Z", "A2", "B3"]
