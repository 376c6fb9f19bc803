"""The published files and the published numbers."""

from __future__ import annotations

import csv
import gzip
import json
import random
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from command_line import wug
from published_scores import COGS_METRICS, cogs_metric
from reference import reference
from wug import data
from wug.evaluation.suites import open_suites
from wug.families import cogs
from wug.families.cogs.logical_form import canonical, equivalent, parse, violations
from wug.families.cogs.read import GENERALISATIONS
from wug.families.cogs.suite import read_gold
from wug.outcomes import Estimate

FILES = {
    "cogs/train.tsv.gz": ("cogs-train", "cogs", 24_155),
    "cogs/dev.tsv.gz": ("cogs-dev", "cogs", 3_000),
    "cogs/test.tsv.gz": ("cogs-test", "cogs", 3_000),
    "cogs/gen.tsv.gz": ("cogs-gen-2022", "cogs", 21_000),
    "cogs/gen_2020_unfixed.tsv.gz": ("cogs-gen-2020", "cogs", 21_000),
    "cogs/slog/cogs_LF_dev.tsv.gz": ("slog-dev", "slog", 4_046),
    "cogs/slog/cogs_LF_test.tsv.gz": ("slog-test", "slog", 4_046),
    "cogs/recogs/recogs_v2_dev.tsv.gz": ("recogs-v2-dev", "recogs", 3_000),
    "cogs/recogs/recogs_v2_test.tsv.gz": ("recogs-v2-test", "recogs", 3_000),
    "cogs/recogs/recogs_positional_index_dev.tsv.gz": ("recogs-positional-dev", "recogs", 3_000),
    "cogs/recogs/recogs_positional_index_test.tsv.gz": ("recogs-positional-test", "recogs", 3_000),
    "cogs/recogs/variable_free_dev.tsv.gz": ("variable-free-dev", "variable_free", 3_000),
    "cogs/recogs/variable_free_test.tsv.gz": ("variable-free-test", "variable_free", 3_000),
    "cogs/recogs/variable_free_gen.tsv.gz": ("variable-free-gen", "variable_free", 21_000),
}
PAIRS = ("dev_self", "gen_vs_gen2020", "rasp_test", "primitives_self", "seed_example")


@cache
def expected() -> dict[str, dict[str, str]]:
    with reference("cogs/expected.tsv").open(encoding="utf-8", newline="") as rows:
        return {row["pair"]: row for row in csv.DictReader(rows, delimiter="\t")}


def published(name: str) -> Path:
    return reference(name if name.startswith("cogs/") else f"cogs/{name}")


@pytest.mark.parametrize("name", FILES)
def test_every_published_form_is_well_formed_and_makes_sense(name: str) -> None:
    edition, dialect, count = FILES[name]
    gold = read_gold(published(name))
    assert (gold.options["edition"], gold.dialect, len(gold)) == (edition, dialect, count)
    for line in gold.items:
        parsed = parse(line.form, gold.dialect)
        assert str(parsed) == line.form
        assert violations(parsed) == []


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("compat", [True, False], ids=["as the reference", "by our definitions"])
def test_the_expected_values_are_reproduced(pair: str, compat: bool) -> None:
    row = expected()[pair]
    (scoring,) = cogs.score(published(row["gold"]), [published(row["system"])], reference_compat=compat)
    found = {estimate.metric: estimate for estimate in scoring.estimates() if estimate.group == "all"}
    assert found["exact_match"].n == int(row["n"])
    wanted = {
        column: value for column, value in row.items() if column.startswith("ref_" if compat else "prop_") and value
    }
    assert wanted or not compat
    for column, value in wanted.items():
        scale = 1 if column == "ref_ted" else 100
        assert found[cogs_metric(column)].value * scale == pytest.approx(float(value), abs=1e-6), column


def test_the_motivating_example_gives_what_is_said_of_each_prediction() -> None:
    (scoring,) = cogs.score(published("pairs/seed_example_gold.tsv"), [published("pairs/seed_example_system.tsv")])
    lines = list(scoring.per_line())
    with published("pairs/seed_example_perline.tsv").open(encoding="utf-8", newline="") as rows:
        for line, row in zip(lines, csv.DictReader(rows, delimiter="\t"), strict=True):
            assert line["edit_distance"] == int(row["ref_ted"])
            assert line["terms_f1"] == pytest.approx(float(row["ref_term_f1"]), abs=1e-6)
            assert line["predicates_f1"] == pytest.approx(float(row["ref_pred_f1"]), abs=1e-6)
            for column in ("prop_em_tok", "prop_wf", "prop_oiem_multiset", "prop_sem"):
                assert line[COGS_METRICS[column]] == bool(int(row[column])), column
            assert set(filter(None, row["prop_strict_violations"].split(","))) <= set(line["violations"])
    permuted, one_token, one_missing, off = (line["errors"] for line in lines)
    assert (permuted, one_token, one_missing) == (["order"], ["index"], ["missing"])
    assert lines[1]["edit_distance"] == 1
    assert set(off) == {"index", "name", "definiteness", "missing"}


def test_the_two_editions_of_gen_differ_in_51_lines_of_one_type() -> None:
    new, old = read_gold(published("gen.tsv.gz")), read_gold(published("gen_2020_unfixed.tsv.gz"))
    differing = [line.type for line, other in zip(new.items, old.items, strict=True) if line.form != other.form]
    assert differing == ["obj_pp_to_subj_pp"] * 51
    assert new.notices == ()
    assert "corrected in 2022" in old.notices[0]


def test_lexical_and_structural_types_have_a_thousand_lines_each() -> None:
    (scoring,) = cogs.score(published("gen.tsv.gz"), [published("gen_2020_unfixed.tsv.gz")], bleu=False)
    found: dict[str, Estimate] = {e.group: e for e in scoring.estimates() if e.metric == "exact_match"}
    assert (found["kind=lexical"].n, found["kind=structural"].n) == (18_000, 3_000)
    assert found["type=obj_pp_to_subj_pp"].value == pytest.approx(0.949)
    assert found["macro=types"].value == pytest.approx(found["all"].value)


@pytest.mark.parametrize("split", ["dev", "test"])
def test_slog_scores_full_marks_against_itself(split: str) -> None:
    gold = published(f"cogs/slog/cogs_LF_{split}.tsv.gz")
    (scoring,) = cogs.score(gold, [gold], bleu=False)
    found = {e.metric: (e.value, e.n) for e in scoring.estimates() if e.group == "all"}
    assert found["exact_match"] == found["semantic_match"] == (1, 4_046)


def test_types_have_the_sections_of_the_paper() -> None:
    sections = json.loads(published("gen_cases_to_paper_sections.json").read_text(encoding="utf-8"))
    seen: Counter[str] = Counter()
    for name, known in GENERALISATIONS.items():
        number = known.section.split()[0]
        seen[number] += 1
        assert sections[name].startswith(f"{number}.{seen[number]}. ")


def test_renamed_and_shuffled_recursion_is_recognised_every_time() -> None:
    gold = read_gold(published("gen.tsv.gz"))
    forms = [line.form for line in gold.items if line.type == "cp_recursion"]
    chance = random.Random(1)
    for form in chance.sample(forms, 300):
        numbers = sorted(set(re.findall(r"\d+", form)))
        names = dict(zip(numbers, map(str, chance.sample(range(100), len(numbers))), strict=True))
        renamed = re.sub(r"\d+", lambda match, names=names: names[match[0]], form)  # type: ignore[misc]
        prefix, semicolon, body = renamed.rpartition(" ; ")
        terms = body.split(" AND ")
        chance.shuffle(terms)
        one, other = parse(form), parse(prefix + semicolon + " AND ".join(terms))
        assert equivalent(one, other)
        assert canonical(one) == canonical(other)


def test_the_published_folder_is_recognised_and_read() -> None:
    folder = published("dev.tsv.gz").parent
    assert cogs.recognises(folder, "")
    assert [suite.options["edition"] for suite in cogs.read(folder, {})] == ["cogs-dev", "cogs-test", "cogs-gen-2022"]


def test_the_suites_of_a_published_set_have_different_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(data.FOLDER, str(tmp_path / "data"))
    copies = tmp_path / "copies"
    copies.mkdir()
    for name in ("dev", "test", "gen"):
        (copies / f"{name}.tsv").write_bytes(gzip.decompress(published(f"{name}.tsv.gz").read_bytes()))
    sections = "gen_cases_to_paper_sections"
    (copies / f"{sections}.json").write_bytes(published(f"{sections}.json").read_bytes())
    said = wug("data", "get", "cogs/dev", "cogs/test", "cogs/gen", f"cogs/{sections}", "--from", copies)
    assert "With the 51 lines of gen.tsv that the authors corrected" in said.err
    assert [suite.name for suite in open_suites("cogs")] == ["cogs-dev", "cogs-test", "cogs-gen"]
