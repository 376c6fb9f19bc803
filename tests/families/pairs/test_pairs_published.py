"""Judging published log-probabilities; figures of Gulordava et al. (2018) and their supplement."""

from __future__ import annotations

from pathlib import Path

import pytest

from published_scores import BEST, FIVE_BEST, GULORDAVA
from reference import reference
from wug.errors import SuiteError, UnknownName
from wug.families.pairs import read, read_published
from wug.outcomes import Notice, Outcome
from wug.stats import estimates, mean_over_runs

HEADER = "pattern\tconstr_id\tsent_id\tform\tclass\ttype\tlen_prefix\tsent\tfreq\tmodel\tother\n"


def percent(path: Path, columns: list[str] | None = None) -> dict[str, tuple[float, int]]:
    """Accuracies in percent to two places, and how many pairs they are of."""
    (rows,) = read_published(path, columns).columns.values()
    outcomes = [row for row in rows if isinstance(row, Outcome)]
    return {found.group: (round(100 * found.value, 2), found.n) for found in estimates(outcomes)}


def test_the_distributed_model_is_80_49_on_original_and_71_82_on_nonce_sentences() -> None:
    found = percent(reference(f"{GULORDAVA}/best_model.tab.gz"), [BEST])
    assert found["type=original"] == (80.49, 41)
    assert found["type=nonce"] == (71.82, 369)
    assert found["pattern_type=L__NOUN_VERB_VERB/original"] == (84.0, 25)
    assert found["pattern_type=L__NOUN_VERB_VERB/nonce"] == (68.44, 225)
    assert found["pattern_type=R__VERB_NOUN_CCONJ_VERB/original"] == (75.0, 16)
    assert found["pattern_type=R__VERB_NOUN_CCONJ_VERB/nonce"] == (77.08, 144)


def test_without_a_column_the_one_that_the_format_does_not_have_is_judged() -> None:
    path = reference(f"{GULORDAVA}/best_model.tab.gz")
    assert percent(path) == percent(path, [BEST])


def test_the_frequency_baseline_is_65_85_and_42_55() -> None:
    found = percent(reference(f"{GULORDAVA}/best_model.tab.gz"), ["freq"])
    assert (found["type=original"], found["type=nonce"]) == ((65.85, 41), (42.55, 369))


@pytest.mark.parametrize(
    ("name", "original", "nonce"), [("best_model_srnn", 73.17, 64.23), ("best_model_ngram_lstm", 70.73, 56.64)]
)
def test_the_best_of_the_other_architectures_are_as_in_the_supplement(name: str, original: float, nonce: float) -> None:
    found = percent(reference(f"{GULORDAVA}/{name}.tab.gz"))
    assert (found["type=original"][0], found["type=nonce"][0]) == (original, nonce)


def test_the_five_best_models_have_the_published_mean_and_standard_deviation() -> None:
    columns = read_published(reference(f"{GULORDAVA}/all_models.tab.gz"), FIVE_BEST).columns
    assert list(columns) == list(FIVE_BEST)
    each = [estimates(row for row in rows if isinstance(row, Outcome)) for rows in columns.values()]
    means = {found.group: found for found in mean_over_runs(each)}
    for group, mean, spread in (("type=original", 80.98, 2.04), ("type=nonce", 74.09, 1.64)):
        found = means[group]
        assert (found.metric, found.n) == ("accuracy", 5)
        assert round(100 * found.value, 2) == mean
        assert found.high is not None
        assert round(100 * (found.high - found.value), 2) == spread


def test_all_68_models_are_judged_at_once() -> None:
    columns = read_published(reference(f"{GULORDAVA}/all_models.tab.gz")).columns
    assert len(columns) == 68
    assert {sum(isinstance(row, Outcome) for row in rows) for rows in columns.values()} == {410}


def scored(folder: Path, *rows: str) -> Path:
    path = folder / "scored.tab"
    path.write_text(HEADER + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    return path


GOOD = "p\t1\t0\tis\tcorrect\toriginal\t2\tthe cat is\t5"
BAD = "p\t1\t0\tare\twrong\toriginal\t2\tthe cat is\t7"


def test_a_tie_is_a_failure_and_told(tmp_path: Path) -> None:
    path = scored(tmp_path, f"{GOOD}\t-1.0\t-1", f"{BAD}\t-1\t-2")
    outcome, notice = read_published(path, ["model"]).columns["model"]
    assert isinstance(outcome, Outcome)
    assert (outcome.item, outcome.metric, outcome.value) == ("p/1/0", "accuracy", False)
    assert outcome.detail == {"good": -1.0, "bad": -1.0, "forms": "is/are"}
    assert notice == Notice("1 pair tied in column model, counted as failures")


def test_an_unknown_column_gets_the_nearest_one(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'model'"):
        read_published(scored(tmp_path, f"{GOOD}\t-1\t-3", f"{BAD}\t-2\t-2"), ["modell"])


@pytest.mark.parametrize("value", ["", "low", "nan"])
def test_a_value_that_is_no_number_is_an_error_with_its_line(tmp_path: Path, value: str) -> None:
    with pytest.raises(SuiteError, match="line 3: model is"):
        read_published(scored(tmp_path, f"{GOOD}\t-1\t-3", f"{BAD}\t{value}\t-2"), ["model"])


def test_a_file_without_log_probabilities_says_so(tmp_path: Path) -> None:
    path = tmp_path / "plain.tab"
    path.write_text(HEADER.replace("\tmodel\tother", "") + f"{GOOD}\n{BAD}\n", encoding="utf-8")
    with pytest.raises(SuiteError, match="no column with log-probabilities"):
        read_published(path)


def test_published_columns_belong_to_the_suite_of_their_file(tmp_path: Path) -> None:
    path = scored(tmp_path, f"{GOOD}\t-1\t-3", f"{BAD}\t-2\t-2")
    found = read_published(path)
    assert {name: [row.value for row in rows] for name, rows in found.columns.items()} == {  # type: ignore[union-attr]
        "model": [True],
        "other": [False],
    }
    (suite,) = read(path, {})
    assert (found.suite.name, found.suite.checksum) == (suite.name, suite.checksum)
    assert found.suite.options["target"] == "given"
