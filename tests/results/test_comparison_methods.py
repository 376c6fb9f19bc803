"""Results of one run that differ in an option, compared item by item."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tiny_chat
from browsing import client_of
from command_line import refused, wug
from wug.results.comparison import ComparisonSettings, compare
from wug.results.store import Store
from wug.views.report import choose_figure
from wug.web.site import Site

METHODS = "direct,in_template,forced_choice"
SENTENCES = ("the boy swims", "the girl sees", "nobody saw", "the authors swim", "a guard is tall")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models, each with one result per method, and a run with one result."""
    folder = tmp_path_factory.mktemp("methods")
    pairs = folder / "pairs.jsonl"
    rows = [{"sentence_good": f"{text} .", "sentence_bad": f"{text[::-1]} ."} for text in SENTENCES]
    pairs.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, methods in (("llama", METHODS), ("gemma", METHODS), ("qwen", "direct")):
        model = tiny_chat.save(folder / name, tiny_chat.TEMPLATES[name], seed=len(name))
        said = wug("run", pairs, "--model", f"causal:{model}", "-S", f"method={methods}", "--store", folder / "store")
        assert said.code == 0, said.err
    return folder / "store"


def test_the_sides_of_one_run_are_its_results(store: Path) -> None:
    opened = Store(store)
    found = compare(opened, [[1]])
    assert [side.name for side in found.sides] == [f"method={name}" for name in METHODS.split(",")]
    direct, in_template, choice = opened.results(1)
    by_template, by_choice = found.contrasts
    assert (by_template.metric, by_template.n, by_choice.n) == ("accuracy", 5, 5)
    values = [next(e.value for e in one.estimates if (e.metric, e.group) == ("accuracy", "all")) for one in
              (direct, in_template, choice)]  # fmt: skip
    assert (by_template.value_first, by_template.value_second) == (values[0], values[1])
    # Each pair has two presentations: their mean is compared with the one verdict of the other side.
    assert by_choice.value_second == pytest.approx(values[2])
    assert by_choice.method != "McNemar (score)"


def test_results_of_two_runs_are_compared_method_by_method(store: Path) -> None:
    found = compare(Store(store), [[1], [2]], ComparisonSettings(metrics=["accuracy"]))
    assert [one.suite for one in found.contrasts] == [f"pairs (method={name})" for name in METHODS.split(",")]
    assert [one.n for one in found.contrasts] == [5, 5, 10]


def test_a_run_with_one_result_is_not_compared_with_itself(store: Path) -> None:
    refused(wug("compare", "3", "--store", store), "two runs", "-S method=direct,in_template")


def test_a_chart_compares_methods(store: Path) -> None:
    results = Store(store).results(1)
    figure = choose_figure(results, "Methods on pairs, llama")
    shown = {(row[0], row[1]): row[2] for row in figure.rows}
    assert {method for method, _ in shown} == set(METHODS.split(","))
    assert ("forced_choice", "bias") in shown
    verdicts = [{one.item: one.value for one in result.outcomes if one.metric == "accuracy"} for result in results[:2]]
    same = sum(verdicts[0][item] == verdicts[1][item] for item in verdicts[0]) / 5
    assert shown["in_template", "agreement with direct"] == f"{100 * same:.1f}%"
    answers = choose_figure(results, "Answers and their biases")
    assert [row[0] for row in answers.rows][:3] == ["accuracy", "accuracy, good first", "accuracy, bad first"]


def test_pages_and_tables_name_the_method(store: Path, tmp_path: Path) -> None:
    assert "pairs (method=forced_choice)" in wug("show", "1", "--store", store).out
    page = tmp_path / "page.html"
    assert wug("report", "1", "-o", page, "--store", store).code == 0
    text = page.read_text()
    assert "Methods on pairs, llama" in text
    assert "pairs (method=in_template)" in text


def test_the_page_of_a_run_compares_its_methods(store: Path, tmp_path: Path) -> None:
    client = client_of(Site(Store(store), cache=tmp_path / "answers.db"))
    page = client.get("/run/1").text
    assert "Methods on pairs, llama" in page
    assert "pairs (method=yes_no)" not in page
    assert "pairs (method=forced_choice)" in page
    assert client.get("/run/1/figure.vl.json").status_code == 200
    assert "Answers and their biases" in client.get("/result/3").text
    assert "Methods on pairs" not in client.get("/run/3").text
