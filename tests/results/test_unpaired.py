"""Comparing results that have no items: intervals of differences from those of both sides."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import wug
from run_factory import keep, outcomes, result
from wug.outcomes import Estimate, Result
from wug.stats import wilson


def aggregate(model: str, right: int, n: int) -> Result:
    made = wilson(right, n)
    estimates = (Estimate("accuracy", "all", right / n, n, made.low, made.high, "wilson"),)
    return result("toy", model, [], estimates=estimates, signature="imported:lm-eval@0|program:lm_eval")


def compared(folder: Path, *results: Result) -> dict[str, object]:
    for one in results:
        keep(folder, one)
    said = wug("compare", "1", "2", "--store", folder, "--format", "json")
    assert said.code == 0, said.err
    [contrast] = json.loads(said.out)["contrasts"]
    return dict(contrast)


def test_the_interval_is_newcombes_and_the_contrast_says_that_it_is_unpaired(tmp_path: Path) -> None:
    found = compared(tmp_path / "s", aggregate("imported/a", 56, 70), aggregate("imported/b", 48, 80))
    # Newcombe 1998, Statistics in Medicine 17, Table II, contrast (a), method 10: 56/70 - 48/80 = 0.2 [0.0524, 0.3339].
    assert found["difference"] == pytest.approx(-0.2)
    assert (found["low"], found["high"]) == (pytest.approx(-0.3339, abs=5e-5), pytest.approx(-0.0524, abs=5e-5))
    assert found["interval_method"] == "newcombe, unpaired"
    assert "unpaired" in str(found["warnings"])
    assert isinstance(found["p"], float)
    assert found["p"] < 0.05


def test_p_is_below_5_percent_exactly_where_the_interval_excludes_0(tmp_path: Path) -> None:
    for number, right in enumerate(range(48, 70, 3)):
        found = compared(tmp_path / str(number), aggregate("imported/a", 48, 80), aggregate("imported/b", right, 80))
        low, p = found["low"], found["p"]
        assert isinstance(low, float)
        assert isinstance(p, float)
        assert (p < 0.05) == (low > 0)


def test_a_run_of_wug_is_compared_with_an_imported_aggregate_of_its_suite(tmp_path: Path) -> None:
    own = result("toy", "causal/x@1f", outcomes({"accuracy": [True, False, True, True]}))
    found = compared(tmp_path / "s", own, aggregate("imported/b", 48, 80))
    assert found["difference"] == pytest.approx(0.6 - 0.75)
    said = wug("compare", "1", "2", "--store", tmp_path / "s")
    assert "computed by different programs" in said.out + said.err


def test_without_an_interval_nothing_is_called_better(tmp_path: Path) -> None:
    bare = result(
        "toy", "imported/a", [], estimates=(Estimate("accuracy", "all", 0.1, 0),), signature="imported:lm-eval@0"
    )
    found = compared(tmp_path / "s", bare, aggregate("imported/b", 48, 80))
    assert (found["low"], found["p"]) == (None, 1.0)
