"""Asking a model for logical forms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from fake_models import FakeGenerator
from wug.errors import ModelError
from wug.evaluation.evaluate import build_result
from wug.families import cogs
from wug.families.cogs import OPTIONS
from wug.families.cogs.read import GENERALISATIONS, SLOG_TYPES
from wug.families.cogs.suite import CogsSuite
from wug.outcomes import Estimate, Outcome
from wug.requests import Answer

LINES = (
    "Emma napped .\tnap . agent ( x _ 1 , Emma )\tprim_to_subj_proper",
    "A cat napped .\tcat ( x _ 1 ) AND nap . agent ( x _ 2 , x _ 1 )\tcp_recursion",
)


@pytest.fixture
def suite(tmp_path: Path) -> CogsSuite:
    (tmp_path / "gen.tsv").write_text("\n".join(LINES))
    (found,) = cogs.read(tmp_path / "gen.tsv", {"bleu": "no"})
    assert isinstance(found, CogsSuite)
    return found


def test_a_suite_asks_for_every_sentence(suite: CogsSuite) -> None:
    assert list(suite.requests()) == ["Emma napped .", "A cat napped ."]
    assert (suite.name, suite.kind, suite.needs, len(suite)) == ("cogs-gen", "cogs", "text", 2)


def test_a_model_is_judged_by_its_answers(suite: CogsSuite) -> None:
    answers = {
        "Emma napped .": "nap . agent ( x _ 1 , Emma )",
        "A cat napped .": "cat ( x _ 4 ) AND nap . agent ( x _ 2 , x _ 4 )\n",
    }
    rows = list(suite.run(FakeGenerator(answers.__getitem__)))
    outcomes = [(row.item, row.metric, row.value) for row in rows if isinstance(row, Outcome)]
    assert outcomes == [
        ("1", "exact_match", True),
        ("1", "semantic_match", True),
        ("2", "exact_match", False),
        ("2", "semantic_match", True),
    ]
    assert {row.metric for row in rows if isinstance(row, Estimate)} <= {metric.name for metric in suite.metrics}


def test_an_answer_too_few_is_an_error(suite: CogsSuite) -> None:
    class Short(FakeGenerator):
        def generate(self, sources: Sequence[str]) -> list[str | Answer]:
            return super().generate(sources)[:-1]

    with pytest.raises(ModelError, match="fake/generator@1 gave 1 answers to 2 sources"):
        list(suite.run(Short(str)))


def test_a_suite_can_be_cut_short_and_says_so(suite: CogsSuite) -> None:
    short = suite.sample(1)
    assert (len(short), short.options["limit"]) == (1, "1 by group")
    assert suite.sample(5) == suite


def test_the_signature_names_what_a_number_depends_on(suite: CogsSuite, tmp_path: Path) -> None:
    assert suite.options == {"dialect": "cogs", "edition": "unpublished"}
    (other,) = cogs.read(tmp_path / "gen.tsv", {"reference_compat": "yes"})
    assert other.options["reference_compat"] == "yes"


def test_pages_learn_the_types_as_the_paper_groups_them(suite: CogsSuite) -> None:
    assert [(entry["type"], entry["section"], entry["kind"]) for entry in suite.meta["types"]] == [
        ("prim_to_subj_proper", "3.1 known words in new grammatical roles", "lexical"),
        ("cp_recursion", "3.3 deeper recursion", "structural"),
    ]


def test_the_types_of_slog_have_four_classes(tmp_path: Path) -> None:
    classes = {"recursion depth": 6, "modifier position": 4, "gap position": 2, "wh-questions": 5}
    assert Counter(known.section for known in SLOG_TYPES.values()) == classes
    assert not SLOG_TYPES.keys() & GENERALISATIONS.keys()
    path = tmp_path / "gen.tsv"
    path.write_text("".join(f"A cat {name}\tsleep . agent ( x _ 2 , ? )\t{name}\n" for name in reversed(SLOG_TYPES)))
    (suite,) = cogs.read(path, {"bleu": "no"})
    assert [entry["type"] for entry in suite.meta["types"]] == list(SLOG_TYPES)
    (scored,) = cogs.score(path, [path], bleu=False)
    found = {e.group: e.n for e in scored.estimates() if e.metric == "exact_match"}
    assert {name: found[f"class={name}"] for name in classes} == classes
    assert [group for group in found if group.startswith("type=")] == [f"type={name}" for name in SLOG_TYPES]
    by_line = {row.groups["type"]: row.groups for row in scored.rows() if isinstance(row, Outcome)}
    assert by_line["Q_long_mv"] == {"type": "Q_long_mv", "kind": "structural", "class": "wh-questions"}


def test_types_are_in_the_order_of_the_paper_however_lines_are_scored(tmp_path: Path) -> None:
    """In the file, cp_recursion (3.3.1) comes before subj_to_obj_common (3.1.1)."""
    forms = ("cat ( x _ 1 )\tcp_recursion", "cat ( x _ 1 )\tsubj_to_obj_common", "cat ( x _ 1 )\tpp_recursion")
    (tmp_path / "gen.tsv").write_text("\n".join(f"A cat {n}\t{form}" for n, form in enumerate(forms)))
    (suite,) = cogs.read(tmp_path / "gen.tsv", {"bleu": "no"})
    rows = suite.run(FakeGenerator(lambda source: "cat"))
    found = build_result(suite, "parrot", "", rows).estimates
    for metric in ("exact_match", "well_formed"):  # made of the lines' outcomes; given by the suite
        groups = [one.group for one in found if one.metric == metric]
        types = ["type=subj_to_obj_common", "type=cp_recursion", "type=pp_recursion"]
        assert [group for group in groups if group.startswith("type=")] == types
        assert groups[0] == "all"


def test_there_are_21_types_of_which_three_are_structural() -> None:
    kinds = [known.kind for known in GENERALISATIONS.values()]
    assert (len(kinds), kinds.count("structural")) == (21, 3)


def test_every_option_is_explained() -> None:
    assert all(option.help for option in OPTIONS)


def test_a_sample_is_spread_over_the_types_and_keeps_its_line_numbers(tmp_path: Path) -> None:
    lines = [f"A cat slept .\tcat ( x _ 1 ) AND sleep . agent ( x _ 2 , x _ 1 )\ttype_{n // 3}" for n in range(9)]
    (tmp_path / "gen.tsv").write_text("\n".join(lines) + "\n")
    (suite,) = cogs.read(tmp_path / "gen.tsv", {})
    assert isinstance(suite, CogsSuite)
    short = suite.sample(3)
    assert [line.type for line in short.items] == ["type_0", "type_1", "type_2"]
    assert [line.number for line in short.items] == [1, 4, 7]
