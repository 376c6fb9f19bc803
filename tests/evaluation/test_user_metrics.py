"""Metrics that users write as functions of an item's outcomes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import wug
from command_line import wug as command
from wug import registry
from wug.errors import InputError, UnknownName
from wug.evaluation.annotated_suite import AnnotatedSuite, find_metric, with_metrics
from wug.outcomes import Outcome

PAIRS = [
    {"sentence_good": "The cat sleeps.", "sentence_bad": "The cat sleep.", "field": "a"},
    {"sentence_good": "The dogs bark.", "sentence_bad": "The dogs barks.", "field": "b"},
]


def first_letter(texts: list[str]) -> list[float]:
    """A model whose log-probability of a text is minus its length."""
    return [-float(len(text)) for text in texts]


@wug.metric(unit="bits", better="lower")
def gap(outcomes: Sequence[Outcome]) -> float | None:
    """margin of the pair."""
    detail = outcomes[0].detail
    return float(detail["logprob_good"] - detail["logprob_bad"]) if outcomes[0].groups["field"] == "a" else None


def test_a_function_is_a_metric_with_estimates_in_every_group() -> None:
    [result] = wug.run(wug.read_suite(PAIRS), first_letter, metrics=[gap])
    # "The cat sleeps." has one letter more than "The cat sleep."; the other pair has no value.
    found = {(one.metric, one.group): (one.value, one.n) for one in result.estimates}
    assert found["gap", "all"] == found["gap", "field=a"] == (-1.0, 1)
    assert ("gap", "field=b") not in found
    metric = result.metric("gap")
    assert (metric.unit, metric.better, metric.meaning, metric.headline) == (
        "bits",
        "lower",
        "margin of the pair",
        True,
    )
    assert (result.signature.get("metrics") or "").startswith("gap@")
    assert "gap" in wug.run(wug.read_suite(PAIRS), first_letter, metrics=gap).to_pandas()["metric"].tolist()


def test_a_metric_can_still_be_called() -> None:
    outcome = Outcome("1", "accuracy", True, {"field": "a"}, {"logprob_good": -1.0, "logprob_bad": -3.0})
    assert gap([outcome]) == 2.0


def test_true_and_false_are_a_proportion() -> None:
    def short(outcomes: Sequence[Outcome]) -> bool:
        return len(str(outcomes[0].detail["good"])) < 15

    [result] = wug.run(wug.read_suite(PAIRS), first_letter, metrics=[short])
    [whole] = [one for one in result.estimates if (one.metric, one.group) == ("short", "all")]
    assert (whole.value, whole.n, whole.method) == (0.5, 2, "wilson")


def test_it_can_be_stored_and_compared(tmp_path: Path) -> None:
    def length(outcomes: Sequence[Outcome]) -> float:
        return float(len(str(outcomes[0].detail["good"])))

    suite = wug.read_suite(PAIRS)
    results = wug.run(suite, [first_letter, "wug-causal"], metrics=[length], store=tmp_path / "store")
    said = command("compare", "1", "2", "--metric", "length", "--store", tmp_path / "store", "--format", "json")
    assert '"metric": "length"' in said.out
    assert [result.metric("length").name for result in results] == ["length", "length"]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda outcomes: 1.0, "a metric cannot be called '<lambda>': write wug.metric"),
        (3, "3 is not a metric: write a function of an item's outcomes"),
        ("accuracy", "unknown metric 'accuracy'. A suite computes all its own metrics. Others are functions"),
        ("my:", "write the module and the function"),
        ("math:no_such", "unknown function of math 'no_such'"),
    ],
)
def test_what_is_not_a_metric_is_refused(function: object, message: str) -> None:
    with pytest.raises(wug.WugError) as error:
        wug.run(wug.read_suite(PAIRS), first_letter, metrics=[function])  # type: ignore[list-item]
    assert message in str(error.value)


def test_an_error_in_a_function_names_the_metric_and_the_item() -> None:
    def wrong(outcomes: Sequence[Outcome]) -> float:
        return float(outcomes[0].detail["no_such"])

    [result] = wug.run(wug.read_suite(PAIRS), first_letter, metrics=[wrong])
    assert result.status == "failed"
    assert "failed: metric wrong, item 1: KeyError: 'no_such'" in result.warnings
    assert result.failure == "metric wrong, item 1: KeyError: 'no_such'"


def test_text_is_not_a_value_and_infinity_is_none() -> None:
    text = wug.metric(lambda outcomes: "x", name="text")  # type: ignore[arg-type, return-value]
    with pytest.raises(InputError, match="return a number, True, False or None, not str"):
        text.outcome([Outcome("1", "accuracy", True)])
    infinite = wug.metric(lambda outcomes: math.inf, name="infinite")
    assert infinite.outcome([Outcome("1", "accuracy", True)]).value is None


def test_wrong_settings_are_refused_where_they_are_written() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'bits'"):
        wug.metric(unit="bit")  # type: ignore[call-overload]
    with pytest.raises(InputError, match="no parameter 'units'"):
        wug.metric(units="bits")  # type: ignore[call-overload]


def test_two_metrics_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="has two metrics called accuracy"):
        with_metrics([wug.read_suite(PAIRS)], [find_metric(wug.metric(lambda outcomes: 1.0, name="accuracy"))])


def test_the_command_line_takes_a_function_of_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lengths.py").write_text("def words(outcomes):\n    return len(outcomes[0].detail['good'].split())\n")
    (tmp_path / "pairs.csv").write_text("sentence_good,sentence_bad\nThe cat sleeps.,The cat sleep.\n")
    said = command(
        "run", "pairs.csv", "--metric", "lengths:words", "--model", "wug-causal", "--format", "json", "--no-save"
    )
    [result] = said.results
    assert {one["metric"]: one["value"] for one in result["estimates"]}["words"] == 3.0


def test_a_plugin_registers_a_metric_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("one", f"{__name__}:gap", "wug.metrics")
    monkeypatch.setattr(registry, "entry_points", lambda group: [entry] if group == "wug.metrics" else [])
    registry._entry_points.cache_clear()
    assert find_metric("one").metric.name == "gap"
    with pytest.raises(UnknownName, match="unknown metric 'two'"):
        find_metric("two")
    registry._entry_points.cache_clear()


def test_how_a_table_was_read_is_kept_with_further_metrics() -> None:
    (suite,) = with_metrics([wug.read_suite(PAIRS)], [find_metric(wug.metric(lambda outcomes: 1.0, name="mine"))])
    assert isinstance(suite, AnnotatedSuite)
    assert suite.understood == getattr(suite.suite, "understood", None)
    assert suite.sample(1).metrics == suite.metrics
