"""Syntax-COGS: trees, tags and answers as targets."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import wug
from wug.errors import InputError
from wug.evaluation.checking import check_file
from wug.evaluation.evaluate import build_result
from wug.families import cogs
from wug.families.cogs.syntax import SyntaxSuite, brackets, recognise_syntax
from wug.outcomes import Estimate, Outcome, Signature
from wug.results.queries import table_of
from wug.train.examples import read_examples
from wug.views.family_views import items_of, parts_of
from wug.views.parts import Figure

TREE = "( S ( NP ( N Liam ) ) ( VP ( V saw ) ( NP ( Det a ) ( N box ) ) ) )"
TREES = f"Liam saw a box .\t{TREE}\tin_distribution\nshark\t( N shark )\tprimitive\n"
TAGS = "Liam saw a box .\tN V Det N\tsubj_to_obj_common\nA box burned .\tDet N V\tcp_recursion\n"
ANSWERS = "Liam saw a box .\tWhat did Liam see ?\ta box\tin_distribution\n"
LABELS = st.sampled_from(["S", "NP", "VP", "PP"])


def written(folder: Path, text: str, name: str = "dev.tsv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def suite_of(path: Path, **options: str) -> SyntaxSuite:
    (suite,) = cogs.read(path, options)
    assert isinstance(suite, SyntaxSuite)
    return suite


def nested(tree: object) -> str:
    """A tree as text: a pair is a label with its children, a string is a word with the tag N."""
    if isinstance(tree, str):
        return f"( N {tree} )"
    assert isinstance(tree, tuple)
    label, children = tree
    return f"( {label} {' '.join(map(nested, children))} )"


def spans(tree: object, start: int, found: Counter[tuple[str, int, int]]) -> int:
    """The phrases of such a tree, by recursion; the position after its last word."""
    if isinstance(tree, str):
        return start + 1
    assert isinstance(tree, tuple)
    end = start
    for child in tree[1]:
        end = spans(child, end, found)
    found[tree[0], start, end] += 1
    return end


@given(
    st.recursive(
        st.sampled_from(["a", "b"]),
        lambda inner: st.tuples(LABELS, st.lists(inner, min_size=1, max_size=3)),
        max_leaves=9,
    )
)
def test_the_phrases_of_a_tree_are_those_that_recursion_finds(tree: object) -> None:
    expected: Counter[tuple[str, int, int]] = Counter()
    spans(tree, 0, expected)
    assert brackets(nested(tree)) == expected


@pytest.mark.parametrize(
    "text", ["", "S", "( S", "( S )", "( S ( NP ) )", "( )", ") (", "( N a ) ( N b )", "( S a ) b", "( ( N a ) )"]
)
def test_what_is_not_a_tree_has_no_phrases(text: str) -> None:
    assert brackets(text) is None


@pytest.mark.parametrize(("text", "dialect"), [(TREES, "tree"), (TAGS, "tags"), (ANSWERS, "answers")])
def test_the_dialect_is_that_of_the_content(tmp_path: Path, text: str, dialect: str) -> None:
    path = written(tmp_path, text)
    assert recognise_syntax(text) == dialect
    assert cogs.recognises(path, text)
    assert cogs.recognises(tmp_path, "")
    suite = suite_of(path)
    assert (suite.name, suite.kind, suite.options["dialect"]) == (f"cogs-{dialect}-dev", "cogs", dialect)
    assert check_file(path, "cogs") == []


def test_other_files_are_not_syntax() -> None:
    assert recognise_syntax("Emma napped .\tnap . agent ( x _ 1 , Emma )\tprim_to_subj_proper\n") is None
    assert recognise_syntax("a\tb\tc d ?\te\tf\tg\n") is None


def test_a_question_belongs_to_the_source(tmp_path: Path) -> None:
    path = written(tmp_path, ANSWERS, "train.tsv")
    suite = suite_of(path)
    assert suite.requests() == ["Liam saw a box . What did Liam see ?"]
    assert suite.items[0].form == "a box"
    examples = read_examples(tmp_path)
    assert (examples.sources, examples.targets) == (("Liam saw a box . What did Liam see ?",), ("a box",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Liam ran .\tN V .\ta\n", "'.' is not a tag. There is: AUX, BY, C, Det, INF, N, P, V"),
        ("Liam ran .\tN V N\ta\n", "3 tags for 2 words"),
        ("Liam ran .\tN\n", "2 columns, not 3 (sentence, tags and type, separated by tabs)"),
        ("Liam ran .\t\ta\n", "a column is empty"),
    ],
)
def test_errors_in_tags_are_reported(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, TAGS + text)
    assert [(p.place, p.message) for p in check_file(path, "cogs", {"dialect": "tags"})] == [("line 3", message)]
    with pytest.raises(InputError, match=re.escape(message)):
        cogs.read(path, {"dialect": "tags"})


def test_the_words_of_a_tree_are_those_of_the_sentence(tmp_path: Path) -> None:
    path = written(tmp_path, f"Liam saw the box .\t{TREE}\ta\nLiam .\t( N Liam\ta\n")
    found = [problem.message for problem in check_file(path, "cogs", {"dialect": "tree"})]
    assert found == [
        "the words of the tree are not those of the sentence",
        "not a tree: every bracket needs a label and a word",
    ]


def test_trees_are_compared_phrase_by_phrase_as_evalb_does(tmp_path: Path) -> None:
    """Gold: S(0,4) NP(0,1) VP(1,4) NP(2,4). Predicted: S, NP(0,1), VP and PP(2,4): 3 of 4 are right."""
    suite = suite_of(written(tmp_path, TREES))
    rows = list(suite.score([TREE.replace("( NP ( Det", "( PP ( Det"), "( N shark"]))
    found = {(row.item, row.metric): row.value for row in rows if isinstance(row, Outcome)}
    assert found["1", "exact_match"] is False
    assert found["1", "bracket_f1_macro"] == 0.75
    assert (found["1", "well_formed"], found["2", "well_formed"]) == (True, False)
    assert found["2", "bracket_f1_macro"] == 1  # neither has a phrase: a tag is not one
    whole = {row.group: row.value for row in rows if isinstance(row, Estimate)}
    assert whole == {"all": 0.75, "type=in_distribution": 0.75, "type=primitive": 1}


def test_a_file_scores_full_marks_against_itself(tmp_path: Path) -> None:
    path = written(tmp_path, TREES)
    said = wug("score", "cogs", "--gold", path, "--predictions", path, "--no-save", "--format", "json")
    assert said.values[0]["exact_match", "all"] == said.values[0]["bracket_f1", "all"] == 1
    assert wug("score", "cogs", "--gold", path, "--predictions", path, "--per-line", tmp_path / "o.tsv").code == 2


def test_tags_are_compared_one_by_one_and_types_have_their_kind(tmp_path: Path) -> None:
    suite = suite_of(written(tmp_path, TAGS))
    rows = list(suite.score(["N V Det N", "Det N"]))
    found = {(row.item, row.metric): row for row in rows if isinstance(row, Outcome)}
    assert found["2", "tag_accuracy"].value == pytest.approx(2 / 3)
    assert found["2", "exact_match"].groups == {"type": "cp_recursion", "kind": "structural"}
    assert len(suite.sample(1)) == 1


def test_a_view_shows_types_and_wrong_outputs(tmp_path: Path) -> None:
    suite = suite_of(written(tmp_path, TAGS))
    rows = list(suite.score(["N V Det N", "Det N"]))
    result = build_result(suite, "toy/model", Signature((("suite", "x"),)), rows)
    outcomes = table_of([row for row in rows if isinstance(row, Outcome)])
    assert "types" in {part.id for part in parts_of(result, outcomes) if isinstance(part, Figure)}
    assert items_of(result, outcomes).samples[0].verb == "wrong"
