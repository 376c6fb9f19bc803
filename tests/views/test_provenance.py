"""Published results next to the model's own."""

from __future__ import annotations

import json
from statistics import fmean

import pytest

from reference import reference
from run_factory import result
from wug.outcomes import Estimate
from wug.views.provenance import published_results_part, published_values


def test_the_values_of_blimp_are_those_of_its_released_summary() -> None:
    lines = (reference("pairs") / "blimp_results" / "models_summary.jsonl").read_text().splitlines()
    paradigms = [row for row in map(json.loads, lines) if row["UID"] != "overall"]
    assert len(paradigms) == 67
    found = {one.model: one.value for one in published_values("blimp", "accuracy")}
    for model, column in (("GPT-2", "gpt2"), ("LSTM", "lstm"), ("Transformer-XL", "txl"), ("5-gram", "ngram")):
        assert found[model] == pytest.approx(fmean(row[column] for row in paradigms), abs=5e-4)


def test_a_model_is_placed_among_published_ones_the_best_first() -> None:
    one = result(
        "blimp", "causal/mine@1f", [], estimates=(Estimate("accuracy", "all", 0.75, 67000, 0.7, 0.8, "wilson"),)
    )
    part = published_results_part(one)
    assert part is not None
    names = [row.cells[0].text for row in part.groups[0][1]]
    assert names.index("GPT-2") < names.index("mine") < names.index("LSTM")
    [own] = [row for row in part.groups[0][1] if not row.quiet]
    assert [cell.text for cell in own.cells] == ["mine", "75.0%", "this result, [70.0, 80.0]"]
    assert "raw_results/summary/models_summary.jsonl" in part.note
    assert "items, and this result" not in part.note


def test_another_number_of_items_is_reported() -> None:
    one = result("npi_src_any", "causal/mine@1f", [], estimates=(Estimate("all_predictions", "all", 0.5, 5),))
    part = published_results_part(one)
    assert part is not None
    assert "this result of 5" in part.note


def test_a_suite_without_published_results_has_no_part() -> None:
    assert (
        published_results_part(result("toy", "causal/mine@1f", [], estimates=(Estimate("accuracy", "all", 0.5, 5),)))
        is None
    )
