"""Results pooled over seeds: means, with one standard deviation over runs."""

from __future__ import annotations

from dataclasses import replace
from statistics import stdev

import pytest

import run_factory
from wug import Results
from wug.errors import InputError, UnknownName
from wug.outcomes import Outcome, Result, Signature
from wug.results.average import pool, without_seed


def result(model: str, right: int, seed: str = "", suite: str = "s") -> Result:
    rows = [Outcome(str(n), "accuracy", n < right, {}, {}) for n in range(4)]
    made = run_factory.result(suite, model, rows)
    fields = [(key, model if key == "model" else value) for key, value in made.signature.fields]
    return replace(made, signature=Signature((*fields, *([("seed", seed)] if seed else []))))


def test_the_seed_is_taken_out_of_a_name() -> None:
    assert without_seed("gpt-seed1") == "gpt"
    assert without_seed("google/multiberts-seed_0") == "google/multiberts"
    assert without_seed("seed5") == "seed5"
    assert without_seed("a/seed=3/x") == "a/x"


def test_runs_that_differ_in_their_seed_are_one_result() -> None:
    results = Results([result("causal/m-seed1@a", 2), result("causal/m-seed2@b", 4), result("causal/other@c", 1)])
    pooled, other = results.pool()
    [whole] = [one for one in pooled.estimates if one.group == "all"]
    spread = stdev([0.5, 1.0])
    assert (whole.value, whole.n, whole.method) == (0.75, 2, "sd of shares")
    assert (whole.low, whole.high) == pytest.approx((0.75 - spread, 0.75 + spread))
    assert pooled.model.startswith("mean/m, 2 seeds@")
    assert other.model == "causal/other@c"


def test_a_seed_in_the_signature_counts() -> None:
    [pooled] = pool([result("oracle/x", 2, seed="1"), result("oracle/x", 3, seed="2")])
    assert pooled.signature.get("seed") is None
    assert [one.value for one in pooled.estimates if one.group == "all"] == [0.625]


def test_all_models_can_be_pooled() -> None:
    [pooled] = pool([result("causal/a@1", 2), result("causal/b@2", 4)], by="model")
    assert pooled.model.startswith("mean/2 models@")


def test_suites_stay_apart() -> None:
    found = pool([result(f"causal/m-seed{n}@{n}", n, suite=suite) for n in (1, 2) for suite in ("s", "t")])
    assert [one.suite for one in found] == ["s", "t"]


def test_nothing_to_pool_is_an_error() -> None:
    with pytest.raises(InputError, match="no two results differ in their seed alone"):
        pool([result("causal/a@1", 2), result("causal/b@2", 4)])
    with pytest.raises(UnknownName, match="value of by"):
        pool([], by="sed")  # type: ignore[arg-type]
