"""Sweeps in the terminal: one line among runs, curves, models by suites, two of them step by step."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import trainings
from command_line import refused, wug


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A training with two seeds that learns faster than another one."""
    monkeypatch.chdir(tmp_path)
    trainings.suite(tmp_path / "words.jsonl")
    trainings.training(tmp_path / "fast/seed1", {1: 0, 10: 2, 100: 4})
    trainings.training(tmp_path / "fast/seed2", {1: 2, 10: 4, 100: 4})
    trainings.training(tmp_path / "slow", {1: 0, 10: 1, 1000: 4})
    for name, pattern in (("fast", "fast/*/*"), ("slow", "slow/*")):
        assert wug("run", "words.jsonl", "--model", f"ngram:{pattern}.arpa", "--sweep", name).code == 0


def test_a_sweep_is_one_line_among_the_runs() -> None:
    assert wug("run", "words.jsonl", "--model", "ngram:slow/checkpoint-1.arpa").code == 0
    lines = [line.split() for line in wug("list", "runs").out.splitlines()]
    assert [line[0] for line in lines] == ["run", "10", "sweep:slow", "sweep:fast"]
    assert lines[3][3:7] == ["6", "complete", "6", "models"]
    assert len(json.loads(wug("list", "runs", "--format", "json").out)) == 10


def test_the_curves_of_a_sweep_are_means_over_seeds_at_each_step() -> None:
    said = wug("show", "sweep:fast")
    assert [line.split() for line in said.out.splitlines()[1:4]] == [
        ["1", "25.0%"],
        ["10", "75.0%"],
        ["100", "100.0%"],
    ]
    assert "Means of up to 2 runs per step." in said.out
    assert "6 models: 6 complete" in said.err
    curves = json.loads(wug("show", "sweep:1", "--format", "json").out)["curves"]
    assert [(point["step"], point["value"], point["runs"]) for point in curves[0]["points"]] == [
        (1, 0.25, [1, 4]),
        (10, 0.75, [2, 5]),
        (100, 1.0, [3, 6]),
    ]
    assert [curve["series"] for curve in curves] == ["ngram:fast"]


def test_the_matrix_of_a_sweep_has_a_line_for_each_model() -> None:
    rows = wug("show", "sweep:slow", "--matrix", "--format", "csv").out.splitlines()
    assert rows[0] == "model,run,status,suite,metric,value,low,high,n"
    assert [row.split(",")[:6] for row in rows[1:]] == [
        [f"ngram:slow/checkpoint-{step}.arpa", str(run), "complete", "words", "accuracy", value]
        for step, run, value in ((1, 7, "0.0"), (10, 8, "0.25"), (1000, 9, "1.0"))
    ]
    table = wug("show", "sweep:slow", "--matrix").out.splitlines()
    assert table[1].split() == ["ngram:slow/checkpoint-1.arpa", "0.0%"]
    assert table[4] == "Values: accuracy."


def test_the_matrix_of_a_sweep_names_the_metric_of_each_suite() -> None:
    models = ("--model", "ngram:slow/*.arpa", "--sweep", "both")
    assert wug("run", "words.jsonl", "wug_reflexive", "--limit", "2", *models).code == 0
    said = wug("show", "sweep:both", "--matrix").out
    assert "Values: accuracy (words), all predictions (wug_reflexive)." in " ".join(said.split())


def test_two_sweeps_are_compared_at_the_steps_that_both_have() -> None:
    found = json.loads(wug("compare", "--curve", "sweep:slow", "sweep:fast", "--format", "json").out)
    assert (found["first"], found["second"]) == ("slow", "fast")
    assert [(one["step"], one["first"], one["second"], one["difference"]) for one in found["steps"]] == [
        (None, 0.125, 0.5, 0.375),  # over steps 1 and 10: 0 and 1 of 4; with two seeds 0, 2 and 2, 4 of 4
        (1, 0.0, 0.25, 0.25),
        (10, 0.25, 0.75, 0.5),
    ]
    table = wug("compare", "--curve", "sweep:slow", "sweep:fast").out
    assert table.splitlines()[:2] == ["A = slow", "B = fast"]


def test_over_all_steps_each_counts_the_same_however_many_seeds_it_has() -> None:
    """The first seed has 0, 2 and 4 of 4 right; the second is there at step 1 alone, with 2: 1/4, 2/4 and 4/4."""
    Path("some.txt").write_text("ngram:fast/seed1/*.arpa\nngram:fast/seed2/checkpoint-1.arpa\n")
    for name, models in (("one", "ngram:fast/seed1/*.arpa"), ("some", "@some.txt")):
        assert wug("run", "words.jsonl", "--model", models, "--sweep", name).code == 0
    found = json.loads(wug("compare", "--curve", "sweep:one", "sweep:some", "--format", "json").out)
    whole = found["steps"][0]
    assert whole["step"] is None
    assert (whole["first"], whole["second"], whole["difference"]) == pytest.approx((6 / 12, 7 / 12, 1 / 12))


def test_a_sweep_is_a_side_of_a_comparison() -> None:
    found = json.loads(wug("compare", "sweep:slow", "sweep:fast", "--format", "json").out)
    assert [len(side["runs"]) for side in found["sides"]] == [3, 6]


def test_an_unknown_sweep_is_refused_with_a_list() -> None:
    refused(wug("show", "sweep:fasst"), "unknown sweep 'fasst'. Did you mean 'fast'?")
    refused(wug("compare", "--curve", "sweep:fast", "sweep:x"), "unknown sweep 'x'")
    refused(wug("compare", "--curve", "sweep:fast", "sweep:slow", "sweep:1"), "--curve compares two sweeps")


def test_names_without_steps_give_a_matrix(tmp_path: Path) -> None:
    for name in ("a", "b"):
        trainings.checkpoint(tmp_path / "plain" / f"{name}.arpa", 1)
    assert wug("run", "words.jsonl", "--model", "ngram:plain/*", "--sweep", "plain").code == 0
    assert wug("show", "sweep:plain").out.splitlines()[1].split() == ["ngram:plain/a.arpa", "25.0%"]
    refused(wug("compare", "--curve", "sweep:plain"), "so there is no curve to draw")
    refused(wug("show", "sweep:plain", "--by", "group"), "so there is no curve to draw")


def lines() -> list[str]:
    return [line.split()[0] for line in wug("list", "runs").out.splitlines()]


def test_a_sweep_is_removed_as_one_thing_and_brought_back() -> None:
    said = wug("runs", "rm", "sweep:fast")
    assert "removed sweep:fast (6 runs). To restore: wug runs undo" in said.err
    assert lines() == ["run", "sweep:slow"]
    refused(wug("show", "sweep:fast"), "unknown sweep 'fast'")
    assert "restored" in wug("runs", "undo").err
    assert lines() == ["run", "sweep:slow", "sweep:fast"]
    wug("runs", "rm", "sweep:fast", "sweep:slow")
    assert "restored sweep:fast (6 runs)" in wug("runs", "undo", "sweep:fast").err
    assert lines() == ["run", "sweep:fast"]


def test_a_removed_sweep_is_computed_again_and_gone_after_a_purge() -> None:
    wug("runs", "rm", "sweep:slow")
    command = ("run", "words.jsonl", "--model", "ngram:slow/*.arpa", "--sweep", "slow")
    assert "3 of 3 models done ·" in wug(*command).err  # none of them before
    assert lines() == ["run", "sweep:slow", "sweep:fast"]
    wug("runs", "rm", "sweep:slow")
    assert "6 removed runs deleted for good" in wug("runs", "purge").err
    assert lines() == ["run", "sweep:fast"]


def test_an_unknown_sweep_is_not_removed() -> None:
    refused(wug("runs", "rm", "sweep:fas"), "Did you mean 'fast'?")
    refused(wug("runs", "undo", "sweep:fast"), "no run of a sweep 'fast' was removed")
    assert lines() == ["run", "sweep:slow", "sweep:fast"]


def test_the_curves_of_a_field_are_rows_and_as_many_steps_as_fit_are_columns(tmp_path: Path) -> None:
    """Two models at twelve steps: in percent, a paradigm's place times ten, and the step; b is better by one half."""
    paradigms = ("wh_island", "adjunct_island", "causative", "passive_1", "npi_present_1")
    for name, better in (("a", 0.0), ("b", 0.005)):
        for step in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12):
            results = {
                f"blimp_{task}": {"acc,none": place / 10 + step / 100 + better, "sample_len": 1000}
                for place, task in enumerate(paradigms)
            }
            content = {"results": results, "model_name": name, "config": {"model_args": {"revision": f"step{step}"}}}
            (tmp_path / f"{name}{step}.json").write_text(json.dumps(content))
    said = wug("import", *tmp_path.glob("[ab]*.json"), "--sweep", "p")
    assert [line.split() for line in said.out.splitlines()[:2]] == [["step", "a", "b"], ["1", "21.0%", "21.5%"]]
    assert "24 runs saved" in said.err
    again = wug("import", *tmp_path.glob("[ab]*.json"), "--sweep", "p", "--by", "paradigms")
    assert (again.code, "warning: --by: unknown field 'paradigms'. Did you mean 'paradigm'?" in again.err) == (0, True)
    matrix = wug("show", "sweep:p", "--matrix", "--format", "csv").out.splitlines()
    assert [row.split(",")[0] for row in matrix[1:4]] == [f"imported:a@step{step}" for step in (1, 2, 3)]
    note, head, *rows = wug("show", "sweep:p", "--by", "paradigm").out.splitlines()
    assert note == "8 of 12 steps; all with --format csv"
    assert head.split() == ["step", "1", "3", "4", "6", "7", "9", "10", "12"]
    assert [row.split()[:4] for row in rows[:8:2]] == [  # by field and phenomenon
        ["npi_present_1", "·", "a", "41.0%"],
        ["causative", "·", "a", "21.0%"],
        ["passive_1", "·", "a", "31.0%"],
        ["adjunct_island", "·", "a", "11.0%"],
    ]
    both = wug("show", "sweep:p", "--by", "phenomenon", "--by", "field", "--format", "json").out
    assert {"island_effects", "syntax"} <= {curve["suite"] for curve in json.loads(both)["curves"]}
    every = wug("show", "sweep:p", "--by", "all", "--format", "json").out
    assert {"island_effects", "syntax", "wh_island"} <= {curve["suite"] for curve in json.loads(every)["curves"]}


def test_options_that_a_sweep_has_no_use_for_are_refused() -> None:
    refused(wug("show", "sweep:fast", "--by", "phenomenom"), "unknown field 'phenomenom'")
    refused(wug("show", "sweep:fast", "--failing"), "name some runs")
    refused(wug("show", "sweep:fast", "--effects"), "name some runs")
    refused(wug("show", "sweep:fast", "--matrix", "--by", "group"), "--matrix")
