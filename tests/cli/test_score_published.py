"""Every published number comes out of the command line."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from case_selection import cases
from command_line import CommandOutput, Values, wug
from pcfgset_names import our_name
from published_scores import BEST, FIVE_BEST, GULORDAVA, cogs_metric
from reference import reference

PREDICTIONS = "pcfgset/model_predictions/lstms2s"
JSON = ("--no-save", "--format", "json")


def score_plain(test: str) -> Callable[[Path], CommandOutput]:
    return lambda folder: wug("score", "pcfgset", "--predictions", folder / test / "run=1.txt.gz", *JSON)


def score_twins(condition: str) -> Callable[[Path], CommandOutput]:
    def score(folder: Path) -> CommandOutput:
        lead = folder / "substitutivity" / condition
        files = ("--predictions", lead / "run=1.txt.gz", "--twin", lead / "run=1_synonym.txt.gz")
        return wug("score", "substitutivity", *files, *JSON)

    return score


def score_log(ratio: str) -> Callable[[Path], CommandOutput]:
    def score(folder: Path) -> CommandOutput:
        log = folder / "overgeneralisation" / f"ratio={ratio}_run=1.txt"
        return wug("score", "overgeneralisation", "--predictions", log, *JSON)

    return score


def score_trace(folder: Path) -> CommandOutput:
    return wug("score", "localism", "--predictions", folder / "localism" / "run=1.txt.gz", *JSON)


TESTS: dict[str, Callable[[Path], CommandOutput]] = {
    "pcfgset": score_plain("pcfgset"),
    "systematicity": score_plain("systematicity"),
    "productivity": score_plain("productivity"),
    "substitutivity_equally_distributed": score_twins("equally_distributed"),
    "substitutivity_primitive": score_twins("primitive"),
    "localism": score_trace,
    **{f"overgeneralisation_ratio={ratio}": score_log(ratio) for ratio in ("0.0001", "0.0005", "0.001", "0.005")},
}


def expected(test: str, run: str) -> Values:
    """The published values of a run, by our names of check and group."""
    found: Values = {}
    for line in reference("pcfgset/expected.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        model, name, number, metric, value, _ = line.split("\t")
        if (model, name, number) == ("lstms2s", test, run):
            found[our_name(test, metric)] = float(value)
    assert found
    return found


BY_DAY = ("productivity", "substitutivity_primitive", "localism", "overgeneralisation_ratio=0.001")
"""One test of each command; tests/families/pcfgset reproduces the values of all of them from Python."""


@pytest.mark.parametrize("test", cases(BY_DAY, (test for test in TESTS if test not in BY_DAY)))
def test_a_run_of_each_pcfgset_test_gives_the_published_values(test: str) -> None:
    said = TESTS[test](reference(PREDICTIONS))
    (values,) = said.values
    assert said.results[0]["suite"] == test
    for key, value in expected(test, "1").items():
        assert values[key] == pytest.approx(value, abs=1e-6), key


def test_three_runs_give_the_published_mean_and_standard_deviation() -> None:
    folder = reference(f"{PREDICTIONS}/pcfgset")
    runs = [folder / f"run={run}.txt.gz" for run in (1, 2, 3)]
    *each, mean = wug("score", "pcfgset", "--predictions", *runs, *JSON).results
    accuracies = [result["estimates"][0]["value"] for result in each]
    assert accuracies == pytest.approx([expected("pcfgset", run)["accuracy", "all"] for run in "123"], abs=1e-6)
    found = mean["estimates"][0]
    assert (found["metric"], found["group"], found["n"]) == ("accuracy", "all", 3)
    assert found["value"] == pytest.approx(expected("pcfgset", "mean")["accuracy", "all"], abs=1e-6)
    assert found["high"] - found["value"] == pytest.approx(expected("pcfgset", "pstd")["accuracy", "all"], abs=1e-6)
    assert found["method"] == "population sd of shares"


def test_logs_are_averaged_over_the_runs_of_each_ratio() -> None:
    logs = sorted(reference(f"{PREDICTIONS}/overgeneralisation").glob("ratio=*.txt"))
    said = wug("score", "overgeneralisation", "--predictions", *logs, *JSON)
    means = {result["suite"]: result for result in said.results if result["model"].startswith("mean/3 runs")}
    assert len(said.results) == 12 + 4
    for test, result in means.items():
        values = {(e["metric"], e["group"]): e for e in result["estimates"]}
        for key, value in expected(test, "mean").items():
            assert values[key]["value"] == pytest.approx(value, abs=1e-6)
        for key, value in expected(test, "pstd").items():
            assert values[key]["high"] - values[key]["value"] == pytest.approx(value, abs=1e-6)


def percent(values: Values) -> dict[str, float]:
    return {group: round(100 * value, 2) for (metric, group), value in values.items() if metric == "accuracy"}


def test_the_distributed_lstm_is_80_49_on_original_and_71_82_on_nonce_sentences() -> None:
    said = wug("score", "pairs", "--predictions", reference(f"{GULORDAVA}/best_model.tab.gz"), "--column", BEST, *JSON)
    (values,) = said.values
    found = percent(values)
    assert (found["type=original"], found["type=nonce"]) == (80.49, 71.82)
    first, second = "pattern_type=L__NOUN_VERB_VERB", "pattern_type=R__VERB_NOUN_CCONJ_VERB"
    assert (found[f"{first}/original"], found[f"{first}/nonce"]) == (84.0, 68.44)
    assert (found[f"{second}/original"], found[f"{second}/nonce"]) == (75.0, 77.08)
    sizes = {e["group"]: e["n"] for e in said.results[0]["estimates"]}
    assert (sizes["type=original"], sizes["type=nonce"]) == (41, 369)


def test_the_frequency_column_is_65_85_and_42_55() -> None:
    (values,) = wug(
        "score", "pairs", "--predictions", reference(f"{GULORDAVA}/best_model.tab.gz"), "--column", "freq", *JSON
    ).values
    assert (percent(values)["type=original"], percent(values)["type=nonce"]) == (65.85, 42.55)


def test_the_five_best_models_come_with_their_mean_and_standard_deviation() -> None:
    columns = [part for name in FIVE_BEST for part in ("--column", name)]
    said = wug("score", "pairs", "--predictions", reference(f"{GULORDAVA}/all_models.tab.gz"), *columns, *JSON)
    assert [result["model"].split("@")[0] for result in said.results] == [
        *(f"file/{n}" for n in FIVE_BEST),
        "mean/5 runs",
    ]
    mean = {e["group"]: e for e in said.results[-1]["estimates"]}
    for group, value, spread in (("type=original", 80.98, 2.04), ("type=nonce", 74.09, 1.64)):
        assert round(100 * mean[group]["value"], 2) == value
        assert round(100 * (mean[group]["high"] - mean[group]["value"]), 2) == spread


def test_all_68_models_are_judged_at_once() -> None:
    said = wug("score", "pairs", "--predictions", reference(f"{GULORDAVA}/all_models.tab.gz"), *JSON)
    assert len(said.results) == 68 + 1
    assert all(result["n"] == 410 for result in said.results)


@pytest.mark.parametrize("pair", ["dev_self", "rasp_test", "primitives_self", "seed_example"])
@pytest.mark.parametrize("compat", [True, False], ids=["as the reference", "by our definitions"])
def test_cogs_pairs_give_the_published_values(pair: str, compat: bool) -> None:
    with reference("cogs/expected.tsv").open(encoding="utf-8", newline="") as rows:
        row = next(row for row in csv.DictReader(rows, delimiter="\t") if row["pair"] == pair)
    gold, system = (
        reference(name if name.startswith("cogs/") else f"cogs/{name}") for name in (row["gold"], row["system"])
    )
    flags = ("--reference-compat",) if compat else ()
    (values,) = wug("score", "cogs", "--gold", gold, "--system", system, *flags, *JSON).values
    for column, value in row.items():
        if value and column.startswith("ref_" if compat else "prop_"):
            scale = 1 if column == "ref_ted" else 100
            assert scale * values[cogs_metric(column), "all"] == pytest.approx(float(value), abs=1e-6), column
