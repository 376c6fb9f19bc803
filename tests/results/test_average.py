"""The mean over runs of one test."""

from __future__ import annotations

from wug.results.average import averages
from wug.types import Estimate, Result, Signature


def result(model: str, value: float, suite: str = "words@1") -> Result:
    mark = Signature.read(f"wug:1|suite:{suite}|model:{model}|unit:bits")
    return Result(
        "words", "pairs", model, "complete", mark, 7, (Estimate("accuracy", "all", value, 7, 0, 1, "wilson"),)
    )


def test_results_that_differ_in_the_model_alone_are_averaged() -> None:
    (mean,) = averages([result("a", 0.0), result("b", 1.0), result("a", 0.5, suite="words@2")])
    assert (mean.suite, mean.kind, mean.n, mean.status) == ("words", "pairs", 7, "complete")
    assert [estimate.value for estimate in mean.estimates] == [0.5]


def test_the_signature_names_the_runs_and_the_kind_of_deviation() -> None:
    runs = [result("a", 0.0), result("b", 1.0)]
    (sample,), (population,) = averages(runs), averages(runs, population=True)
    assert sample.model.startswith("mean/2 runs@")
    assert str(sample.signature) == f"wug:1|suite:words@1|model:{sample.model}|unit:bits|sd:sample"
    assert population.signature.get("sd") == "population"


def test_other_runs_have_another_mean_and_the_same_ones_in_another_order_have_not() -> None:
    a, b, c = result("a", 0.0), result("b", 1.0), result("c", 1.0)
    assert averages([a, b])[0].model == averages([b, a])[0].model != averages([a, c])[0].model


def test_a_single_run_has_no_mean() -> None:
    assert averages([result("a", 0.0)]) == []
