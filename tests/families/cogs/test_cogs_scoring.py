"""What predictions are worth, over a corpus."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug import stats
from wug.errors import FormulaError, InputError
from wug.families import cogs
from wug.families.cogs.logical_form import equivalent, is_well_formed, parse, term_errors
from wug.families.cogs.logical_form.match import order_invariant
from wug.families.cogs.suite import ScoredPredictions, per_line, write_per_line
from wug.outcomes import Estimate, Notice, Outcome

GOLD = (
    ("Emma napped .", "nap . agent ( x _ 1 , Emma )", "prim_to_subj_proper"),
    ("A cat napped .", "cat ( x _ 1 ) AND nap . agent ( x _ 2 , x _ 1 )", "prim_to_subj_common"),
    ("The cat napped .", "* cat ( x _ 1 ) ; nap . agent ( x _ 2 , x _ 1 )", "cp_recursion"),
    ("shark", "LAMBDA a . shark ( a )", "primitive"),
)
# Right; renamed; the name wrong and a duplicate; ill-formed.
ANSWERS = (
    "nap . agent ( x _ 1 , Emma )",
    "cat ( x _ 3 ) AND nap . agent ( x _ 2 , x _ 3 )",
    "* dog ( x _ 1 ) ; nap . agent ( x _ 2 , x _ 1 ) AND nap . agent ( x _ 2 , x _ 1 )",
    "LAMBDA a . shark ( a",
)


def write(folder: Path, name: str, *answers: str) -> Path:
    rows = [(sentence, answer, kind) for (sentence, _, kind), answer in zip(GOLD, answers, strict=True)]
    path = folder / name
    path.write_text("".join("\t".join(row) + "\n" for row in rows))
    return path


@pytest.fixture
def scored(tmp_path: Path) -> ScoredPredictions:
    gold = write(tmp_path, "gold.tsv", *(form for _, form, _ in GOLD))
    return cogs.score(gold, [write(tmp_path, "system.tsv", *ANSWERS)])[0]


def values(scoring: ScoredPredictions, group: str = "all") -> dict[str, Estimate]:
    return {estimate.metric: estimate for estimate in scoring.estimates() if estimate.group == group}


def test_an_exact_prediction_makes_no_more_sense_than_its_gold_form(tmp_path: Path) -> None:
    forms = ("cat ( x _ 1 )", "cat ( x _ 1 ) AND cat ( x _ 1 )")
    gold = tmp_path / "gold.tsv"
    gold.write_text("".join(f"cat\t{form}\tprimitive\n" for form in forms))
    (system,) = cogs.score(gold, [gold])
    assert [line["well_formed_strict"] for line in system.per_line()] == [True, False]


def test_shares_are_counted_over_all_lines(scored: ScoredPredictions) -> None:
    found = values(scored)
    assert {metric: found[metric].value for metric in list(found)[:6]} == {
        "exact_match": 1 / 4,
        "semantic_match": 2 / 4,
        "order_invariant_match": 1 / 4,
        "well_formed": 3 / 4,
        "well_formed_strict": 2 / 4,
        "exact_match_string": 1 / 4,
    }
    interval = stats.wilson(1, 4)
    assert (found["exact_match"].low, found["exact_match"].high) == (interval.low, interval.high)


def test_distances_are_means(scored: ScoredPredictions) -> None:
    # Edits: none; two indices; one noun and a conjunct of 12 tokens with its AND; one bracket.
    found = values(scored)
    edits, lengths = (0, 2, 14, 1), (10, 19, 33, 7)
    assert found["edit_distance"].value == pytest.approx(sum(edits) / 4)
    normalised = sum(a / b for a, b in zip(edits, lengths, strict=True)) / 4
    assert found["edit_distance_normalised"].value == pytest.approx(normalised)
    interval = stats.mean_interval([float(edit) for edit in edits])
    assert interval is not None
    assert found["edit_distance"].low == pytest.approx(interval.low)


def test_micro_scores_are_made_of_summed_counts(scored: ScoredPredictions) -> None:
    # Terms: common 1 + 0 + 1 + 0; predicted 1 + 2 + 3 + 0; gold 1 + 2 + 2 + 1.
    found = values(scored)
    assert found["terms_precision"].value == pytest.approx(2 / 6)
    assert found["terms_recall"].value == pytest.approx(2 / 6)
    assert found["terms_f1"].value == pytest.approx(2 * 2 / 12)
    # Names: one of one in the first line, none anywhere else.
    assert found["names_f1"].value == 1.0


def test_macro_scores_are_means_over_lines_and_nothing_against_nothing_is_whole(scored: ScoredPredictions) -> None:
    found = values(scored)
    # F1 of terms: 1, 0, 2 * 1 / 5, 0.
    assert found["terms_f1_macro"].value == pytest.approx((1 + 0 + 2 / 5 + 0) / 4)
    # No line but the first has names, on either side.
    assert found["names_f1_macro"].value == 1.0
    # Indices: 1 of 1; {2} of {1, 1, 2}; all three of three, and two too many; none on either side.
    assert found["indices_f1_macro"].value == pytest.approx((1 + 1 / 3 + 2 * 3 / 8 + 1) / 4)


def test_prefix_and_body_are_counted_apart_for_all_lines(scored: ScoredPredictions) -> None:
    found = values(scored)
    assert found["terms_prefix_recall"].value == 0.0
    assert found["predicates_body_precision"].value == pytest.approx(4 / 5)
    assert "terms_prefix_f1" not in values(scored, "type=cp_recursion")


def test_results_are_broken_down_by_type_and_kind_in_the_order_of_the_paper(scored: ScoredPredictions) -> None:
    groups = [estimate.group for estimate in scored.estimates() if estimate.metric == "exact_match"]
    assert groups == [
        "all",
        "kind=lexical",
        "kind=structural",
        "type=prim_to_subj_common",
        "type=prim_to_subj_proper",
        "type=cp_recursion",
        "type=primitive",
        "macro=types",
    ]
    assert values(scored, "kind=lexical")["exact_match"].value == 1 / 2
    assert values(scored, "macro=types")["semantic_match"].value == 2 / 4
    assert values(scored, "macro=types")["semantic_match"].n == 4


def test_bleu_counts_the_tokens_of_logical_forms(tmp_path: Path) -> None:
    """One of ten tokens is wrong, and with it 2 of 9 bigrams, 2 of 8 trigrams and 2 of 7 four-grams."""
    (tmp_path / "gold.tsv").write_text("\t".join(GOLD[0]) + "\n")
    (tmp_path / "system.txt").write_text("nap . agent  ( x _ 1 , Liam )\n")
    found = values(cogs.score(tmp_path / "gold.tsv", [tmp_path / "system.txt"])[0])
    assert found["bleu"].value == pytest.approx(100 * (9 / 10 * 7 / 9 * 6 / 8 * 5 / 7) ** (1 / 4))


def test_smatch_is_given_on_request(tmp_path: Path, scored: ScoredPredictions) -> None:
    assert "smatch_f1" not in values(scored)
    (graded,) = cogs.score(Path(scored.suite.file), [tmp_path / "system.tsv"], smatch=True, bleu=False)
    # Whole; whole; the nap alone of the set of two on each side; ill-formed.
    assert values(graded)["smatch_f1"].value == pytest.approx((1 + 1 + 1 / 2 + 0) / 4)
    assert "bleu" not in values(graded)
    assert graded.suite.options["smatch"] == "seed 0"


def test_every_line_can_be_looked_at(scored: ScoredPredictions) -> None:
    lines = list(scored.per_line())
    assert [line["errors"] for line in lines] == [[], ["index"], ["name", "extra"], ["ill-formed"]]
    assert lines[2]["violations"] == ["duplicate"]
    assert lines[3]["violations"] == ["unreadable: expected ',' or ')', found the end"]
    assert lines[1] | {"line": 2, "type": "prim_to_subj_common", "terms_f1": 0.0, "edit_distance": 2} == lines[1]


def test_lines_are_written_as_a_table_or_as_json(tmp_path: Path, scored: ScoredPredictions) -> None:
    write_per_line(scored.per_line(), tmp_path / "lines.tsv")
    header, *rows = [line.split("\t") for line in (tmp_path / "lines.tsv").read_text().splitlines()]
    first = dict(zip(header, rows[0], strict=True))
    assert (first["line"], first["exact_match"], first["terms_f1"], first["errors"]) == ("1", "1", "1", "")
    write_per_line(scored.per_line(), tmp_path / "lines.jsonl")
    loaded = [json.loads(line) for line in (tmp_path / "lines.jsonl").read_text().splitlines()]
    assert loaded == list(scored.per_line())


def test_a_tab_in_a_prediction_does_not_break_the_table(tmp_path: Path) -> None:
    write_per_line([{"prediction": "a\tb\n", "value": math.nan}], tmp_path / "lines.tsv")
    assert (tmp_path / "lines.tsv").read_text() == "prediction\tvalue\na\\tb\\n\t\n"


def test_the_lines_with_each_kind_of_error_are_listed(scored: ScoredPredictions) -> None:
    found = {line["line"]: line["errors"] for line in scored.per_line()}
    assert found == {1: [], 2: ["index"], 3: ["name", "extra"], 4: ["ill-formed"]}


PIECES = (
    "cat ( x _ 1 )",
    "nap . agent ( x _ 2 , x _ 1 )",
    "cat ( x _ 4 )",
    "nap . agent ( x _ 2 , x _ 4 )",
    "dog ( x _ 1 )",
)


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=4), st.booleans())
def test_the_errors_of_a_line_are_those_that_reading_the_forms_again_would_give(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[str], broken: bool
) -> None:
    folder = tmp_path_factory.mktemp("errors")
    answers = [form for _, form, _ in GOLD]
    gold = write(folder, "gold.tsv", *answers)
    answers[1] = " AND ".join(pieces)[: -1 if broken else None]
    (judged,) = cogs.score(gold, [write(folder, "system.tsv", *answers)])
    line = list(judged.per_line())[1]
    assert line["errors"] == list(errors_of_forms(GOLD[1][1], answers[1]))


def errors_of_forms(gold: str, prediction: str) -> tuple[str, ...]:
    """The kinds of error, from the forms alone."""
    ours = parse(gold, "cogs")
    try:
        theirs = parse(prediction, "cogs")
    except FormulaError:
        return ("ill-formed",)
    if ours == theirs or not is_well_formed(theirs):
        return () if ours == theirs else ("ill-formed",)
    if order_invariant(ours, theirs):
        return ("order",)
    return term_errors(ours, theirs, renamed=equivalent(ours, theirs))


def test_rows_have_two_outcomes_a_line_and_everything_else_as_estimates(scored: ScoredPredictions) -> None:
    rows = list(scored.rows())
    outcomes = [row for row in rows if isinstance(row, Outcome)]
    assert [(o.item, o.metric, o.value) for o in outcomes[:4]] == [
        ("1", "exact_match", True),
        ("1", "semantic_match", True),
        ("2", "exact_match", False),
        ("2", "semantic_match", True),
    ]
    assert outcomes[2].groups == {"type": "prim_to_subj_common", "kind": "lexical"}
    assert outcomes[2].detail["errors"] == ["index"]
    assert outcomes[2].detail["prediction"] == ANSWERS[1]
    assert "prediction" not in outcomes[0].detail
    json.dumps([dict(o.detail) for o in outcomes])
    given = {(row.metric, row.group) for row in rows if isinstance(row, Estimate)}
    made = {(row.metric, row.group) for row in stats.estimates(outcomes)}
    every = {(row.metric, row.group) for row in scored.estimates()}
    assert given | made == every
    assert not given & made


def test_estimates_made_of_outcomes_are_those_made_of_columns(scored: ScoredPredictions) -> None:
    made = {(e.metric, e.group): e for e in stats.estimates(r for r in scored.rows() if isinstance(r, Outcome))}
    of_columns = {(e.metric, e.group): e for e in scored.estimates()}
    assert made
    assert {key: of_columns[key] for key in made} == made


def test_several_systems_give_mean_and_sample_deviation(tmp_path: Path, scored: ScoredPredictions) -> None:
    perfect = write(tmp_path, "seed_2.tsv", *(form for _, form, _ in GOLD))
    both = cogs.score(Path(scored.suite.file), [tmp_path / "system.tsv", perfect])
    means = {(e.metric, e.group): e for e in stats.mean_over_runs([system.estimates() for system in both])}
    found = means["exact_match", "all"]
    deviation = math.sqrt((0.25 - 0.625) ** 2 + (1 - 0.625) ** 2)
    assert (found.value, found.n) == (0.625, 2)
    assert found.high == pytest.approx(0.625 + deviation)
    assert [line["system"] for line in per_line(both)][::4] == [str(tmp_path / "system.tsv"), str(perfect)]


def test_a_fault_in_one_of_several_files_leaves_nothing_scored(tmp_path: Path, scored: ScoredPredictions) -> None:
    (tmp_path / "short.txt").write_text("Emma\n")
    with pytest.raises(InputError, match=r"short\.txt, line 2: 1 prediction for 4 sources"):
        cogs.score(Path(scored.suite.file), [tmp_path / "system.tsv", tmp_path / "short.txt"])


def test_the_way_of_the_first_evaluator_is_a_mode_of_its_own(tmp_path: Path, scored: ScoredPredictions) -> None:
    (found,) = cogs.score(Path(scored.suite.file), [tmp_path / "system.tsv"], reference_compat=True)
    all_lines = values(found)
    assert "semantic_match" not in all_lines
    assert found.suite.options["reference_compat"] == "yes"
    # The ill-formed line is not counted: 1 + 0 + 1 of 1 + 2 + 2 terms on either side, duplicates once.
    assert all_lines["terms_recall"].value == pytest.approx(2 / 5)
    assert all_lines["terms_recall_macro"].value == pytest.approx((1 + 0 + 1 / 2 + 0) / 4)
    assert next(iter(found.per_line())).keys() >= {"exact_match", "arguments_f1"}
    metrics = {row.metric for row in found.rows() if isinstance(row, Outcome)}
    assert metrics == {"exact_match"}


def test_empty_predictions_are_counted_and_shown(tmp_path: Path, scored: ScoredPredictions) -> None:
    (empty,) = cogs.score(Path(scored.suite.file), [write(tmp_path, "empty.tsv", "", "", "", "")])
    assert empty.warnings == ("4 of 4 predictions are empty",)
    assert Notice("4 of 4 predictions are empty") in list(empty.rows())
    assert values(empty)["edit_distance_normalised"].value == 1.0
    assert values(empty)["bleu"].value == 0.0


def test_the_signature_says_dialect_and_edition(scored: ScoredPredictions) -> None:
    assert scored.suite.options == {"dialect": "cogs", "edition": "unpublished"}


def test_a_system_with_few_lines_wrong_has_no_interval_of_its_distances_and_says_why(tmp_path: Path) -> None:
    """Of 50 lines 2 are wrong: two distances say nothing about those not seen; the share has its interval."""
    gold = [f"Emma napped {n} .\tnap . agent ( x _ {n} , Emma )\tin_distribution" for n in range(50)]
    (tmp_path / "gold.tsv").write_text("\n".join(gold) + "\n")
    right = [line.split("\t")[1] for line in gold]
    (tmp_path / "right.txt").write_text("\n".join(right) + "\n")
    (tmp_path / "wrong.txt").write_text("\n".join(["nap", "nap . agent ( x _ 9 , Emma )", *right[2:]]) + "\n")

    def over_all(name: str) -> dict[str, Estimate]:
        (scored,) = cogs.score(tmp_path / "gold.tsv", [tmp_path / name])
        return {e.metric: e for e in scored.estimates() if e.group == "all"}

    right_ones, wrong_ones = over_all("right.txt"), over_all("wrong.txt")
    assert right_ones["edit_distance"].method == "none: all values are 0"
    assert right_ones["terms_f1"].method == right_ones["terms_f1_macro"].method == "none: all values are 1"
    assert wrong_ones["edit_distance"].method == "none: only 2 of 50 values differ from 0"
    assert wrong_ones["terms_f1"].method == "none: only 2 of 50 values differ from 1"
    assert wrong_ones["edit_distance"].low is wrong_ones["terms_f1"].low is None
    assert wrong_ones["exact_match"].method == "wilson"


def test_recogs_forms_have_their_authors_exact_match_beside_ours(tmp_path: Path, scored: ScoredPredictions) -> None:
    form = "Emma ( 3 ) ; nap ( 4 ) AND agent ( 4 , 3 )"
    gold, system = tmp_path / "recogs.tsv", tmp_path / "predicted.txt"
    gold.write_text("".join(f"Emma napped {n} .\t{form}\tin_distribution\n" for n in range(3)))
    system.write_text(f"{form}\n{form.replace('3', '8')}\n{form} AND agent ( 4 , 3 )\n")
    found = values(cogs.score(gold, [system])[0])
    assert (found["recogs_exact_match"].value, found["recogs_exact_match"].method) == (2 / 3, "wilson")
    assert found["semantic_match"].value == 1.0
    assert "recogs_exact_match" not in values(scored)


def test_one_line_has_no_interval(tmp_path: Path) -> None:
    (tmp_path / "one.tsv").write_text("\t".join(GOLD[0]) + "\n")
    found: dict[str, Any] = values(cogs.score(tmp_path / "one.tsv", [tmp_path / "one.tsv"])[0])
    assert found["edit_distance"].method is None
    assert found["terms_f1"].value == 1.0
    assert np.isfinite(found["bleu"].value)
