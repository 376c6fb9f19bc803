"""Published values: the nine rows of the reference table, and what others have recorded."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from command_line import Values, wug
from reference import FOLDER, reference
from wug.families import morphology
from wug.files import read_lines

JUDGEMENTS = "morphology/sigmorphon2021"
WITHIN = {"aic": 1e-5, "log_likelihood": 1e-5}
"""Agreement with glmmTMB; correlations are recorded to six digits."""
METRICS = ("spearman_by_lemma", "preference_accuracy", "pearson", "spearman", "log_likelihood", "aic")


@pytest.fixture(autouse=True)
def _few_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """No published value is a limit of an interval."""
    monkeypatch.setattr("wug.families.morphology.statistics.BOOTSTRAP_SAMPLES", 50)


def expected() -> list[dict[str, str]]:
    path = FOLDER / "morphology/expected.tsv"
    return list(csv.DictReader(read_lines(path), delimiter="\t")) if path.exists() else []


def scored(gold: Path, predictions: Path, *options: object) -> Values:
    (values,) = wug(
        "score", "morphology", "--gold", gold, "--predictions", predictions, *options, "--format", "json", "--no-save"
    ).values
    return values


@pytest.mark.parametrize("row", expected(), ids=lambda row: f"{row['language']}-{row['system']}-{row['join']}")
def test_every_value_of_the_reference_table_comes_out(row: dict[str, str]) -> None:
    gold = reference(f"{JUDGEMENTS}/{row['language']}.judgements.dev.gz")
    same = row["system"] == "judgements.dev"
    system = gold if same else reference(f"morphology/systems/{row['language']}.{row['system']}.gz")
    options = ["--reference-compat"] if row["join"] == "merge" else []
    said = wug(
        "score", "morphology", "--gold", gold, "--predictions", system, *options, "--format", "json", "--no-save"
    )
    (values,) = said.values
    for metric in METRICS:
        assert values[metric, "all"] == pytest.approx(float(row[metric]), abs=WITHIN.get(metric, 1e-6)), metric
    (result,) = said.results
    counts = {one["metric"]: one["n"] for one in result["estimates"] if one["group"] == "all"}
    assert counts["preference_accuracy"] == int(row["preference_n"])
    assert counts["spearman_by_lemma"] == int(row["lemmas_used"])
    assert counts["pearson"] == int(row["rows"])


def test_the_reference_table_is_there() -> None:
    reference("morphology/expected.tsv")
    assert len(expected()) == 9


def test_medians_of_individual_ratings_are_the_published_ratings() -> None:
    found = {}
    for language in ("deu", "eng"):
        (medians,) = morphology.read(reference(f"{JUDGEMENTS}/{language}.judgements.individual.dev.gz"), {})
        (published,) = morphology.read(reference(f"{JUDGEMENTS}/{language}.judgements.dev.gz"), {})
        known = {(item.lemma, form.text): form.rating for item in medians.items for form in item.forms}
        pairs = [(form.rating, known.get((item.lemma, form.text))) for item in published.items for form in item.forms]
        there = [(rating, median) for rating, median in pairs if median is not None and rating is not None]
        found[language] = sum(abs(rating - median) < 0.006 for rating, median in there), len(there)
    assert found["deu"] == (150, 150)
    assert found["eng"] == (121, 144)


def test_test_files_have_the_ipa_g_and_no_ratings() -> None:
    (suite,) = morphology.read(reference(f"{JUDGEMENTS}/deu.judgements.tst.gz"), {})
    assert len(suite.items) == 133
    assert sorted({len(item.forms) for item in suite.items}) == [1, 2, 4]
    assert not any(item.rated for item in suite.items)
    assert all("ɡ" not in form.text for item in suite.items for form in item.forms)
    assert any("lines have the IPA letter ɡ" in str(problem) for problem in suite.parsed.problems)


def test_the_repeated_german_line_is_reported() -> None:
    (suite,) = morphology.read(reference(f"{JUDGEMENTS}/deu.judgements.dev.gz"), {})
    (warning,) = [str(problem) for problem in suite.parsed.problems]
    assert "'g ə h eː n t' of 'h eː n ə n' is there 2 times" in warning


def mingen(name: str) -> Path:
    """A file of colincwilson/mingen, which names no licence: skipped where nobody has put it."""
    path = FOLDER / "morphology/mingen" / name
    if not path.exists():
        pytest.skip(f"published data is not here: {path}")
    return path


@pytest.mark.parametrize(
    ("name", "aic", "r"),
    [
        ("deu_wug_dev_predict.tsv", -127.5508, 0.7561073),
        ("eng_wug_dev_predict_confidence.tsv", -103.1094, 0.4976706),
    ],
)
def test_scores_of_wilson_and_li_give_their_recorded_values(tmp_path: Path, name: str, aic: float, r: float) -> None:
    rows = list(csv.DictReader(read_lines(mingen(name)), delimiter="\t"))
    gold, system = tmp_path / f"{name[:3]}.judgements.dev", tmp_path / "system.tsv"
    for path, column in ((gold, "human_rating"), (system, "model_rating")):
        lines = (f"{row['wordform1']}\t{row['wordform2']}\tV;PST\t{row[column] or 0}\n" for row in rows)
        path.write_text("".join(lines), encoding="utf-8")
    values = scored(gold, system)
    assert values["aic", "all"] == pytest.approx(aic, abs=1e-3)
    assert values["pearson", "all"] == pytest.approx(r, abs=1e-6)


RULES, ANALOGY = "Rule-based model predicted", "Analogical model predicted"


@pytest.mark.parametrize(
    ("rating", "system", "regular", "irregular"),
    [
        ("mean_rating_phonotactic_adjusted", RULES, 0.744, 0.571),
        ("mean_rating_phonotactic_adjusted", ANALOGY, 0.447, 0.488),
        ("production_prob_phonotactic_resid", RULES, 0.693, 0.333),
        ("production_prob_phonotactic_resid", ANALOGY, 0.474, 0.517),
    ],
)
def test_correlations_of_albright_and_hayes_come_out(
    tmp_path: Path, rating: str, system: str, regular: float, irregular: float
) -> None:
    lines = mingen("AlbrightHayes2003_Wug.tsv").read_text(encoding="utf-8").splitlines()
    header, *rows = [line.split("\t") for line in lines if not line.startswith("#")]
    seen: set[tuple[str, bool]] = set()
    kept = []
    for row in (dict(zip(header, row, strict=True)) for row in rows):
        key = (row["lemma"], row["past_type"] == "regular")
        if row["lemma_type"] != "Peripheral" and key not in seen:  # the regular and the first irregular form
            seen.add(key)
            kept.append(row)
    gold, path = tmp_path / "gold.tsv", tmp_path / "system.tsv"
    gold.write_text("\n".join("\t".join(row) for row in (header, *(row.values() for row in kept))), encoding="utf-8")
    path.write_text(
        "".join(f"{row['lemma_ipa']}\t{row['past_ipa']}\tV;PST\t{row[system]}\n" for row in kept), encoding="utf-8"
    )
    values = scored(gold, path, "--rating", rating)
    assert values["pearson", "form=regular"] == pytest.approx(regular, abs=6e-4)
    assert values["pearson", "form=irregular"] == pytest.approx(irregular, abs=6e-4)


def test_aic_does_not_depend_on_the_scale_of_the_scores(tmp_path: Path) -> None:
    gold = reference(f"{JUDGEMENTS}/eng.judgements.dev.gz")
    system = reference("morphology/systems/eng.noisy.tsv.gz")
    lines = [line.split("\t") for line in read_lines(system)]
    changed = tmp_path / "changed.tsv"
    text = "".join(f"{lemma}\t{form}\t{tag}\t{1e4 - 3e3 * float(score)}\n" for lemma, form, tag, score in lines)
    changed.write_text(text, encoding="utf-8")
    assert scored(gold, changed)["aic", "all"] == pytest.approx(scored(gold, system)["aic", "all"], abs=1e-5)
