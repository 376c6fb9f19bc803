"""Choices: reading, scoring, chance and ties."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from command_line import wug
from fake_models import FakeScorer, word_scores
from wug.errors import InputError, SuiteError
from wug.evaluation.checking import check_file
from wug.evaluation.evaluate import build_result
from wug.evaluation.suites import open_suites, recognised_family
from wug.families import choices
from wug.families.choices.items import Candidate
from wug.families.choices.suite import ChoicesSuite
from wug.interfaces import Suite
from wug.outcomes import Estimate, Result
from wug.results.queries import table_of
from wug.views.family_views import items_of
from wug.views.text import item_lines

CONTEXT = "Ann has a cup in"


def words(logprobs: Mapping[str, float | None] | None = None) -> FakeScorer:
    """A model to which all other words, such as those of contexts, are much less probable."""
    return FakeScorer(word_scores(logprobs, other=-100.0), "words")


def jsonl(folder: Path, *rows: Mapping[str, Any], name: str = "items.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), encoding="utf-8")
    return path


def row(*options: str, answer: object = 1, context: str = CONTEXT, **more: object) -> dict[str, Any]:
    return {"context": context, "options": list(options), "answer": answer, **more}


def only(suites: Sequence[Suite]) -> ChoicesSuite:
    """The one suite that was read."""
    (suite,) = suites
    assert isinstance(suite, ChoicesSuite)
    return suite


def run(path: Path, model: FakeScorer, **options: str) -> Result:
    (suite,) = choices.read(path, options)
    return build_result(suite, "words", "wug:0", suite.run(model))


def estimate(result: Result, metric: str, group: str = "all") -> Estimate:
    [found] = [one for one in result.estimates if (one.metric, one.group) == (metric, group)]
    return found


# Scores.


def test_the_score_is_that_of_the_option_and_the_context_is_given(tmp_path: Path) -> None:
    path = jsonl(tmp_path, row("her hand", "my hand"))
    model = words({"her": -2.0, "my": -3.0, "hand": -1.0})
    result = run(path, model)
    assert [one.text[slice(*one.span)] for one in model.requests if one.span] == ["her hand", "my hand"]
    [outcome] = result.outcomes
    assert outcome.detail == {
        "context": CONTEXT, "options": [" her hand", " my hand"], "right": 1, "logprobs": [-3.0, -4.0],
        "margin": pytest.approx(1 / math.log(2)),
    }  # fmt: skip
    assert outcome.value is True


@pytest.mark.parametrize(
    ("normalise", "scores"),
    [
        # "ä b" is -2 - 3, two tokens, three characters, four bytes; "cd" is -4, one token, two characters.
        ("none", [-5.0, -4.0]),
        ("token", [-2.5, -4.0]),
        ("character", [-5 / 3, -2.0]),
        ("byte", [-5 / 4, -2.0]),
    ],
)
def test_scores_can_be_normalised(tmp_path: Path, normalise: str, scores: list[float]) -> None:
    result = run(jsonl(tmp_path, row("ä b", "cd")), words({"ä": -2.0, "b": -3.0, "cd": -4.0}), normalise=normalise)
    [outcome] = result.outcomes
    assert outcome.detail.get("scores", outcome.detail["logprobs"]) == scores
    assert outcome.value is (scores[0] > scores[1])


def test_chance_is_the_mean_of_one_over_the_options_in_each_group_too(tmp_path: Path) -> None:
    path = jsonl(tmp_path, row("a", "b", type="two"), row("a", "b", "c", "d", type="four"), row("a", "b", type="two"))
    result = run(path, words({"a": -1.0}))
    assert estimate(result, "chance").value == pytest.approx((1 / 2 + 1 / 4 + 1 / 2) / 3)
    assert estimate(result, "chance", "type=two").value == 0.5
    assert estimate(result, "chance", "type=four").value == 0.25
    same = run(jsonl(tmp_path, row("a", "b", type="x"), row("a", "b", type="y")), words({"a": -1.0}))
    assert [(one.group, one.value) for one in same.estimates if one.metric == "chance"] == [("all", 0.5)]


def test_a_tie_is_no_success_and_counted_apart(tmp_path: Path) -> None:
    path = jsonl(tmp_path, row("a", "b"), row("a", "c"), row("d", "a", "b"))
    result = run(path, words({"a": -1.0, "b": -1.0, "c": -2.0, "d": -3.0}))
    # The third is not a tie: two wrong options have the highest score, and the right one has not.
    assert [one.value for one in result.outcomes] == [False, True, False]
    assert estimate(result, "ties").value == pytest.approx(1 / 3)
    assert result.warnings == ("1 item tied, counted as failures",)
    assert result.measurable


def test_ties_on_all_items_measure_nothing(tmp_path: Path) -> None:
    path = jsonl(tmp_path, row("a", "b"), row("a", "b", "c"))
    result = run(path, words({"a": -1.0, "b": -1.0, "c": -2.0}))
    assert result.warnings == ("all 2 items tied, counted as failures: the accuracy is not measurable",)
    assert not result.measurable


def test_an_item_whose_option_begins_inside_a_token_is_not_judged(tmp_path: Path) -> None:
    path = jsonl(tmp_path, row("able", "happy", context="She is un"), row("able", "happy"))
    result = run(path, words({"able": -1.0}), join="none")
    assert [one.value for one in result.outcomes] == [None, None]
    assert result.warnings == (
        "2 of 2 items not judged: a token spans the end of the context and the beginning of an option",
    )
    assert estimate(run(path, words({"able": -1.0})), "accuracy").value == 1.0


def test_an_option_without_a_log_probability_is_not_judged(tmp_path: Path) -> None:
    result = run(jsonl(tmp_path, row("a", "b", context=""), row("a c", "b c")), words({"a": None, "c": -1.0}))
    assert [one.value for one in result.outcomes] == [None, True]
    assert result.warnings == (
        "1 of 2 items not judged: the model gives no log-probability for an option",
        "1 token without a log-probability in the options of 1 item, counted as 0",
    )
    assert result.n == 1


def test_an_item_with_an_option_without_tokens_is_excluded_and_counted(tmp_path: Path) -> None:
    path = jsonl(tmp_path, row("a", "b"), row("猫", "b"), row("a", "猫 b"))
    result = run(path, FakeScorer(word_scores({"a": -1.0}, -100.0, "[!-~]+")))
    assert [one.value for one in result.outcomes] == [True, None, None]
    assert result.warnings == ("2 of 3 items not judged: no token begins where an option does",)
    assert result.n == estimate(result, "accuracy").n == estimate(result, "chance").n == 1


def test_the_questions_up_front_are_those_that_a_run_asks(tmp_path: Path) -> None:
    path = jsonl(tmp_path, *(row("a", "b", *"cde"[: number % 3]) for number in range(10)))
    (suite,) = choices.read(path, {})
    model = words()
    list(suite.run(model))
    assert model.requests == list(suite.requests())
    some = suite.sample(4)
    assert (len(some), some.options["limit"]) == (4, "4")


# Formats.

EWOK = {
    "Context1": "The stone is heavy.", "Context2": "The stone is light.", "Target1": "It is hard to lift.",
    "Target2": "It is easy to lift.", "Domain": "weight", "ContextType": "direct", "ContextDiff": "antonym",
    "TargetDiff": "concept swap", "ConceptA": "heavy",
}  # fmt: skip
COMPS = {
    "id": 7, "property": "can bark", "acceptable_concept": "dog", "unacceptable_concept": "cat",
    "prefix_acceptable": "A dog", "prefix_unacceptable": "A cat", "property_phrase": "can bark.",
    "negative_sample_type": "taxonomic", "similarity": 0.5,
}  # fmt: skip
BOXES: dict[str, Any] = {
    "input_prefix": "Box 0 contains the cup. Box 1 contains the pen. Box 0 contains", "numops": 0,
    "options": [" the cup.", " the pen.", " nothing."],
}  # fmt: skip


def test_ewok_asks_of_each_target_in_which_context_it_is_more_probable(tmp_path: Path) -> None:
    path = jsonl(tmp_path, EWOK)
    assert recognised_family(path).name == "choices"
    suite = only(choices.read(path, {}))
    first, second = suite.items
    assert [one.text for one in first.candidates] == [
        "The stone is heavy. It is hard to lift.", "The stone is light. It is hard to lift.",
    ]  # fmt: skip
    assert [one.text for one in second.candidates] == [
        "The stone is heavy. It is easy to lift.", "The stone is light. It is easy to lift.",
    ]  # fmt: skip
    assert (first.item, first.right, second.item, second.right) == ("1/1", 0, "1/2", 1)
    groups = {
        "domain": "weight", "context_type": "direct", "context_contrast": "antonym", "target_contrast": "concept swap",
    }  # fmt: skip
    assert first.groups == {**groups, "target": "1"}


def test_ewok_can_compare_the_targets_of_a_context(tmp_path: Path) -> None:
    suite = only(choices.read(jsonl(tmp_path, EWOK), {"compare": "targets"}))
    first, second = suite.items
    assert [one.text for one in first.candidates] == [
        "The stone is heavy. It is hard to lift.", "The stone is heavy. It is easy to lift.",
    ]  # fmt: skip
    assert (first.right, second.right, second.groups["context"]) == (0, 1, "2")
    assert suite.options["compare"] == "targets"


def test_the_two_items_of_a_row_are_one_unit_and_both_must_hold(tmp_path: Path) -> None:
    path = jsonl(tmp_path, *[EWOK] * 4)
    # "easy" and "hard" are as probable in both contexts: four items tie; of no row both are right.
    result = run(path, words())
    assert estimate(result, "ties").value == 1.0
    assert estimate(result, "both").value == 0.0
    accuracy = estimate(result, "accuracy")
    assert (accuracy.n, accuracy.method) == (8, "wilson, by source")
    assert estimate(result, "both").n == 4


def test_comps_asks_after_which_concept_the_phrase_is_more_probable(tmp_path: Path) -> None:
    suite = only(open_suites(str(jsonl(tmp_path, COMPS))))
    [choice] = suite.items
    assert choice.candidates == (Candidate("A dog", " can bark."), Candidate("A cat", " can bark."))
    assert (choice.item, choice.right, choice.groups) == ("7", 0, {"negative_sample": "taxonomic"})


def test_entity_tracking_has_the_right_option_first(tmp_path: Path) -> None:
    suite = only(open_suites(str(jsonl(tmp_path, BOXES))))
    [choice] = suite.items
    assert [one.text for one in choice.candidates] == [BOXES["input_prefix"] + option for option in BOXES["options"]]
    assert (choice.right, choice.groups) == (0, {"operations": "0"})


@pytest.mark.parametrize(("delimiter", "name"), [(",", "t.csv"), ("\t", "t.tsv"), (";", "t.csv")])
def test_a_plain_table_may_have_a_column_for_each_option(tmp_path: Path, delimiter: str, name: str) -> None:
    rows = [["context", "option_1", "option_2", "option_10", "answer"], ["Ann", "sat", "sit", "sits", "3"]]
    rows.append(["Bob", "sat", "sit", "", "sit"])
    path = tmp_path / name
    path.write_text("\n".join(delimiter.join(cells) for cells in rows), encoding="utf-8")
    suite = only(open_suites(str(path)))
    assert [[one.words for one in choice.candidates] for choice in suite.items] == [
        ["sat", "sit", "sits"], ["sat", "sit"],
    ]  # fmt: skip
    assert [choice.right for choice in suite.items] == [2, 1]


def test_a_table_of_other_columns_is_read_as_the_user_says(tmp_path: Path) -> None:
    path = jsonl(tmp_path, {"ctx": "Ann", "endings": ["sat", "sit"], "label": 0, "topic": "posture", "n": "a"})
    options = {"context": "ctx", "options": "endings", "answer": "label", "answers_from": "0", "item": "n"}
    suite = only(open_suites(str(path), {**options, "groups": "topic"}, family="choices"))
    [choice] = suite.items
    assert (choice.item, choice.right, choice.groups) == ("a", 0, {"topic": "posture"})


@pytest.mark.parametrize(
    ("context", "option", "join", "text"),
    [
        ("She", "sat", "space", "She sat"),
        ("She ", "sat", "space", "She sat"),
        ("She", " sat", "space", "She sat"),
        ("Answer:\n", "yes ", "space", "Answer:\nyes"),
        ("", "Yes", "space", "Yes"),
        ("un", "able", "none", "unable"),
        ("他", "来了", "none", "他来了"),
    ],
)
def test_a_space_is_put_where_context_and_option_have_none(
    tmp_path: Path, context: str, option: str, join: str, text: str
) -> None:
    suite = only(choices.read(jsonl(tmp_path, row(option, "x", context=context)), {"join": join}))
    asked = suite.items[0].candidates[0]
    assert asked.text == text
    assert text[slice(*asked.span)] == option.strip()


# Errors.


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"answer": 3}, "line 1: answer is '3': write the number of the right option, 1 to 2, its letter, or its text"),
        (
            {"answer": 0},
            "answer is '0': options are counted from 1. If they are counted from 0, add -S answers_from=0",
        ),
        ({"answer": "maybe"}, "answer is 'maybe': write the number"),
        ({"answer": True}, "answer is 'True': write the number"),
        ({"options": ["2", "1"], "answer": "1"}, "it may be option 1 or option 2. Write the text of only one"),
        ({"options": ["sat", "sat"], "answer": "sat"}, "it may be option 1 or option 2"),
        ({"options": "sat"}, "options is 'sat': write a list of texts"),
        ({"options": ["sat"]}, "1 of at least 2 options"),
        ({"options": ["sat", " "]}, "an option is empty"),
        ({"options": ["sat", 3]}, "write a list of texts"),
        ({"context": None}, "context is missing"),
        ({"context": 4}, "context is '4', not text"),
    ],
)
def test_a_fault_is_reported_with_its_place_and_a_remedy(tmp_path: Path, given: dict[str, Any], fault: str) -> None:
    path = jsonl(tmp_path, {**row("sat", "sit"), **given})
    with pytest.raises(SuiteError) as refused:
        choices.read(path, {})
    assert fault in str(refused.value)
    assert "line 1" in str(refused.value)
    assert any(problem.level == "error" for problem in check_file(path, "choices"))


def test_all_faults_of_a_file_are_reported_at_once(tmp_path: Path) -> None:
    path = jsonl(tmp_path, row("a", "b", answer=9), row("a", "b"), {**EWOK, "context": 3, "options": [], "answer": 1})
    assert len(check_file(path, "choices")) == 3
    path = tmp_path / "t.csv"
    path.write_text("context,option_1,option_2,option_3,answer\nA,b,,c,1\n", encoding="utf-8")
    assert [str(one) for one in check_file(path, "choices")] == ["line 2: option_2 is empty, and others follow"]


def test_a_missing_column_is_reported_with_the_nearest(tmp_path: Path) -> None:
    path = jsonl(tmp_path, row("a", "b"))
    with pytest.raises(SuiteError, match=r"column 'contxt' is missing\. Did you mean 'context'"):
        choices.read(path, {"context": "contxt"})
    with pytest.raises(SuiteError, match="column 'topic' is missing"):
        choices.read(path, {"groups": "topic"})


def test_what_is_no_choice_is_refused_with_a_remedy(tmp_path: Path) -> None:
    path = jsonl(tmp_path, {"question": "?", "a": "b"})
    with pytest.raises(InputError, match=r"none of the formats of choices .*-S context=COLUMN"):
        choices.read(path, {})
    with pytest.raises(InputError, match="no such file"):
        choices.read(tmp_path / "nothing.jsonl", {})


def test_oddities_are_counted(tmp_path: Path) -> None:
    path = jsonl(tmp_path, row("sat", "sat"), row("来了", "走了", context="他"), row("a", "b"), row("a", "b"))
    assert [str(problem) for problem in check_file(path, "choices")] == [
        "1 item with the same option twice: 1",
        "1 item: a space is put between context and option in a script without spaces: add -S join=none (2)",
        "2 items that occur more than once: 3, 4",
    ]


# As users see them.


def test_an_item_shows_every_option_with_its_score_and_marks_the_chosen_one(tmp_path: Path) -> None:
    result = run(jsonl(tmp_path, row("her hand", "my hand", "a bag")), words({"her": -9.0, "a": -1.0}))
    rows = table_of(result.outcomes)
    items = items_of(result, rows)
    item = items.show(rows.at(0), rows.same_item(rows.at(0)))
    assert list(item_lines(item)) == [
        f"context  {CONTEXT}", "right    her hand  −157.25", "other    my hand  −288.54",
        "other    [-a bag-]  −145.71",
    ]  # fmt: skip
    assert item.note == "by −11.54"  # −8 nats / ln 2
    assert item.sentences == (f"{CONTEXT} her hand", f"{CONTEXT} a bag")


def test_contexts_that_differ_are_shown_with_their_options(tmp_path: Path) -> None:
    result = run(jsonl(tmp_path, COMPS), words({}))
    rows = table_of(result.outcomes)
    item = items_of(result, rows).show(rows.at(0), ())
    assert list(item_lines(item)) == ["right  [+A dog+] can bark.  −288.54", "other  [-A cat-] can bark.  −288.54"]
    assert item.note == "tie"


def test_the_command_line_shows_chance_beside_accuracy(tmp_path: Path) -> None:
    path = jsonl(tmp_path, row("her hand.", "hand her.", "the of and."))
    said = wug("run", path, "--model", "wug-causal", "--no-save", "--no-cache", "--device", "cpu", "--format", "json")
    [result] = said.results
    values = {one["metric"]: one["value"] for one in result["estimates"]}
    assert values.pop("margin") > 0
    assert values == {
        "accuracy": 1.0, "chance": pytest.approx(1 / 3), "ties": 0.0,
    }  # fmt: skip
    table = wug("run", path, "--model", "wug-causal", "--no-save", "--no-cache", "--device", "cpu").out
    assert "33.3%" in table
    assert wug("check", path).out.startswith(f"{path}: good (")
    assert json.loads(wug("schema", "choices").out)["required"] == ["context", "options", "answer"]


def test_options_that_are_there_twice_are_counted_among_the_items_that_were_scored(tmp_path: Path) -> None:
    path = jsonl(tmp_path, row("a", "b"), *[row("a", "b", "b")] * 8)
    (suite,) = choices.read(path, {})
    sample = suite.sample(2)
    assert sample.notices == ("1 item with the same option twice: 6",)  # type: ignore[attr-defined]
    left = choices.read(path, {"exclude": "1"})[0].sample(2).notices  # type: ignore[attr-defined]
    assert [text.partition(":")[0] for text in left] == [
        "2 items with the same option twice",
        "1 of 9 items excluded (exclude=1)",
    ]
    assert suite.notices[0].startswith("8 items with the same option twice")  # type: ignore[attr-defined]


def test_the_check_shows_which_option_is_right(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text("context,option_1,option_2,answer\nA key opens a,cloud,lock,2\n", encoding="utf-8")
    assert wug("check", path).out.splitlines()[1:] == [
        "  read as table; first item: 'A key opens a lock' (right), 'A key opens a cloud'"
    ]


@pytest.mark.parametrize(
    ("row", "options", "message"),
    [
        ("Context1,Context2,Target1,Target2\nA,B,C,D\n", {"item": "Target1"}, "item is for tables"),
        ("context,option_1,option_2,answer\nA,B,C,1\n", {"compare": "targets"}, "compare=targets is for EWoK"),
    ],
)
def test_an_option_that_the_format_does_not_have_is_refused(
    tmp_path: Path, row: str, options: dict[str, str], message: str
) -> None:
    path = tmp_path / "c.csv"
    path.write_text(row, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        choices.read(path, options)
