"""What is made of a model's log-probabilities."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_models import FakeScorer, word_scores
from wug.errors import InputError
from wug.evaluation.evaluate import build_result
from wug.families import pairs
from wug.families.pairs.pair import difference
from wug.outcomes import Notice, Outcome, SuiteOutput
from wug.requests import Request, Scored, Token


def words(logprobs: Mapping[str, float | None] | None = None) -> FakeScorer:
    return FakeScorer(word_scores(logprobs), chunk=3)


def ascii_word_scores(logprobs: Mapping[str, float | None] | None = None) -> Callable[[str], Scored]:
    """Scores with a tokenizer that drops every word that is not ASCII."""
    return word_scores(logprobs, pattern="[!-~]+")


def unknown_word_scores(logprobs: Mapping[str, float | None], word: str) -> Callable[[str], Scored]:
    """Scores a word as the unknown token."""
    scored = word_scores(logprobs)

    def renamed(text: str) -> Scored:
        tokens = scored(text).tokens
        return Scored.of(text, [replace(token, text="<unk>") if token.text == word else token for token in tokens])

    return renamed


def table(folder: Path, *rows: str) -> Path:
    path = folder / "t.tab"
    path.write_text("\n".join(["pattern\tsent\tsent_alt", *(f"p\t{row}" for row in rows)]), encoding="utf-8")
    return path


def run(path: Path, model: FakeScorer, **options: str) -> tuple[list[Outcome], list[str]]:
    (suite,) = pairs.read(path, options)
    rows: list[SuiteOutput] = list(suite.run(model))
    notices = [row.text for row in rows if isinstance(row, Notice)]
    return [row for row in rows if isinstance(row, Outcome)], notices


def test_a_sentence_score_is_the_sum_of_its_log_probabilities(tmp_path: Path) -> None:
    (outcome,), notices = run(table(tmp_path, "cats sleep\tcats sleeps"), words({"sleep": -2.0, "sleeps": -3.0}))
    assert outcome.value is True
    assert outcome.metric == "accuracy"
    assert outcome.groups == {"pattern": "p"}
    assert outcome.detail == {
        "good": "cats sleep",
        "bad": "cats sleeps",
        "logprob_good": -3.0,
        "logprob_bad": -4.0,
    }
    assert notices == []


def test_numbers_of_tokens_are_kept_where_a_word_is_split_in_one_sentence_only(tmp_path: Path) -> None:
    model = FakeScorer(word_scores(pattern="sleep|\\w+"))
    rows = ["cats sleep\tcats sleeps", "cats sleep\tdogs sleep", "cats sleep\tcats do sleep"]
    outcomes, _ = run(table(tmp_path, *rows), model)
    kept = [{key: one.detail[key] for key in one.detail if key.startswith("tokens")} for one in outcomes]
    assert kept == [{"tokens_good": 2, "tokens_bad": 3}, {}, {}]  # the last has a word more


def test_a_word_score_asks_about_the_target_alone(tmp_path: Path) -> None:
    model = words({"sleep": -2.0, "sleeps": -3.0})
    (outcome,), _ = run(table(tmp_path, "cats sleep well\tcats sleeps well"), model, target="word")
    assert model.requests == [Request("cats sleep well", (5, 10)), Request("cats sleeps well", (5, 11))]
    assert (outcome.detail["logprob_good"], outcome.detail["logprob_bad"]) == (-2.0, -3.0)


def test_without_masking_the_whole_sentence_is_scored_and_the_target_selected(tmp_path: Path) -> None:
    model = words({"sleep": -2.0, "sleeps": -3.0})
    path = table(tmp_path, "cats sleep well\tcats sleeps well")
    (outcome,), _ = run(path, model, target="word", mask_target="no")
    assert model.requests == [Request("cats sleep well"), Request("cats sleeps well")]
    assert outcome.detail["logprob_good"] == -2.0


def test_ties_are_failures_and_counted_apart_from_identical_pairs(tmp_path: Path) -> None:
    outcomes, notices = run(table(tmp_path, "a b\ta c", "a b\ta b", "a b\ta d"), words({"d": -9.0}))
    assert [outcome.value for outcome in outcomes] == [False, False, True]
    assert notices == [
        "1 pair of identical sentences, counted as failures",
        "1 pair tied, counted as failures",
    ]


def test_ties_on_all_pairs_measure_nothing(tmp_path: Path) -> None:
    (tied,) = pairs.read(table(tmp_path, "a b\ta c", "a b\ta d"), {})
    results = [build_result(tied, "words", "wug:0", tied.run(words(known))) for known in ({}, {"d": -9.0})]
    assert [(result.measurable, result.warnings) for result in results] == [
        (False, ("all 2 pairs tied, counted as failures: the accuracy is not measurable",)),
        (True, ("1 pair tied, counted as failures",)),
    ]


@pytest.mark.parametrize(
    ("normalise", "good", "bad", "right"),
    [
        ("none", -6.0, -5.0, False),
        ("token", -2.0, -2.5, True),
        ("word", -2.0, -2.5, True),
        ("character", -0.5, -1.0, True),
    ],
)
@pytest.mark.parametrize("leading_space", ["no", "yes"])
def test_scores_can_be_normalised(
    tmp_path: Path, normalise: str, good: float, bad: float, right: bool, leading_space: str
) -> None:
    # "cats may nap" is 3 words and 12 characters long, "I nap" 2 and 5; a space before them does not count.
    path, model = table(tmp_path, "cats may nap\tI nap"), words({"cats": -2.0, "may": -2.0, "nap": -2.0, "I": -3.0})
    (outcome,), _ = run(path, model, normalise=normalise, leading_space=leading_space)
    assert (outcome.detail["logprob_good"], outcome.detail["logprob_bad"]) == (-6.0, -5.0)
    assert (outcome.detail.get("score_good", -6.0), outcome.detail.get("score_bad", -5.0)) == (good, bad)
    assert outcome.value is right


def test_slor_subtracts_what_the_words_alone_make_likely(tmp_path: Path) -> None:
    counts = tmp_path / "counts.txt"
    counts.write_text("cats 3\nsleep 5\n", encoding="utf-8")
    (outcome,), notices = run(table(tmp_path, "cats sleep\tcats nap"), words(), slor=str(counts))
    # 8 words of 2 types, and one more type for what is not listed: (3 + 1)/11, (5 + 1)/11, (0 + 1)/11.
    assert outcome.detail["score_good"] == pytest.approx((-2 - math.log(4 / 11) - math.log(6 / 11)) / 2)
    assert outcome.detail["score_bad"] == pytest.approx((-2 - math.log(4 / 11) - math.log(1 / 11)) / 2)
    assert notices == ["1 word missing from the unigram model"]


def test_slor_splits_both_sentences_of_a_pair_alike(tmp_path: Path) -> None:
    counts = tmp_path / "counts.txt"
    counts.write_text("the 9\nboys 4\nlaughs. 3\nlaugh 2\n. 5\n", encoding="utf-8")
    path = table(tmp_path, "the boys laugh.\tthe boys laughs.")
    suite = pairs.read(path, {"slor": str(counts)})[0]
    assert suite.options["slor_words"] == "spaces"  # laugh. is not listed; else laughs would not be
    (outcome,), notices = run(path, words(), slor=str(counts))
    # 23 words of 5 types and one for the rest: 10/29, 5/29, then 1/29 for "laugh." and 4/29 for "laughs.".
    alike = -3 - math.log(10 / 29) - math.log(5 / 29)
    assert outcome.detail["score_good"] == pytest.approx((alike - math.log(1 / 29)) / 3)
    assert outcome.detail["score_bad"] == pytest.approx((alike - math.log(4 / 29)) / 3)
    assert any(
        "slor_words=spaces: words missing from its list are 1 with spaces and 1 with punctuation" in n for n in notices
    )


def test_slor_splits_punctuation_off_where_that_leaves_fewer_words_unlisted(tmp_path: Path) -> None:
    counts = tmp_path / "counts.txt"
    counts.write_text("cats 3\nnap 1\nsleep 2\nsleep. 1\n. 5\n", encoding="utf-8")
    path = table(tmp_path, "cats sleep.\tcats nap.", "cats nap.\tcats sleep.")
    suite = pairs.read(path, {"slor": str(counts)})[0]
    assert suite.options["slor_words"] == "punctuation"
    assert suite.sample(1).options["slor_words"] == "punctuation"
    outcomes, _ = run(path, words(), slor=str(counts))
    # 12 words of 5 types and one for the rest; "cats sleep ." is 4/18, 3/18 and 6/18.
    expected = (-2 - math.log(4 / 18) - math.log(3 / 18) - math.log(6 / 18)) / 3
    assert [o.detail[key] for o, key in zip(outcomes, ("score_good", "score_bad"), strict=True)] == [
        pytest.approx(expected)
    ] * 2


def test_slor_words_can_be_chosen_and_need_slor(tmp_path: Path) -> None:
    counts = tmp_path / "counts.txt"
    counts.write_text("cats 3\nsleep 2\n. 5\n", encoding="utf-8")
    path = table(tmp_path, "cats sleep.\tcats nap.")
    chosen = pairs.read(path, {"slor": str(counts), "slor_words": "spaces"})[0]
    assert chosen.options["slor_words"] == "spaces"
    with pytest.raises(InputError, match="add slor=FILE"):
        pairs.read(path, {"slor_words": "spaces"})
    with pytest.raises(InputError, match="slor_words=space: use one of"):
        pairs.read(path, {"slor": str(counts), "slor_words": "space"})


@pytest.mark.parametrize("text", ["", "cats many\n", "7\n", f"cats {'9' * 5000}\n"])
def test_a_bad_list_of_counts_is_an_error(tmp_path: Path, text: str) -> None:
    counts = tmp_path / "counts.txt"
    counts.write_text(text, encoding="utf-8")
    with pytest.raises(InputError):
        run(table(tmp_path, "a b\ta c"), words(), slor=str(counts))


def test_word_log_probabilities_are_kept_on_request(tmp_path: Path) -> None:
    path = table(tmp_path, "cats sleep\tcats sleeps")
    (outcome,), _ = run(path, words({"sleep": -2.0, "cats": None}), print_word_probs="yes")
    assert outcome.detail["words_good"] == [["cats", None], ["sleep", -2.0]]
    assert outcome.detail["words_bad"] == [["cats", None], ["sleeps", -1.0]]


def test_tokens_without_a_log_probability_are_counted(tmp_path: Path) -> None:
    outcomes, notices = run(table(tmp_path, "cats sleep\tcats sleeps"), words({"cats": None, "sleeps": -3.0}))
    assert outcomes[0].value is True
    assert notices == ["2 tokens without a log-probability in 2 sentences, counted as 0"]


def test_a_target_without_a_log_probability_is_not_judged(tmp_path: Path) -> None:
    path = table(tmp_path, "cats sleep\tdogs sleep")
    (outcome,), notices = run(path, words({"cats": None, "dogs": None}), target="word")
    assert outcome.value is None
    assert "1 of 1 pairs not judged: the model gives no log-probability for one of the targets" in notices
    assert not any("tied" in notice for notice in notices)


def test_a_pair_with_a_sentence_without_tokens_is_excluded_and_counted(tmp_path: Path) -> None:
    path = table(tmp_path, "cats sleep\tcats sleeps", "猫が\tcats", "cats\t猫が", "犬が\t猫が")
    (suite,) = pairs.read(path, {})
    result = build_result(suite, "latin", "wug:0", suite.run(FakeScorer(ascii_word_scores({"sleeps": -3.0}))))
    assert [outcome.value for outcome in result.outcomes] == [True, None, None, None]
    assert result.outcomes[1].detail["why"] == "no token begins in one of the sentences"
    assert result.warnings == ("3 of 4 pairs not judged: no token begins in one of the sentences",)
    assert result.n == 1
    whole = [(estimate.metric, estimate.n) for estimate in result.estimates if estimate.group == "all"]
    assert whole == [("accuracy", 1), ("margin", 1)]


def test_an_end_mark_alone_is_no_sentence(tmp_path: Path) -> None:
    def scored(text: str) -> Scored:
        words = ascii_word_scores()(text).tokens
        return Scored.of(text, [*words, Token("</s>", len(text), len(text), -0.1)])

    outcomes, notices = run(table(tmp_path, "cats\tcats sleeps", "猫が\tcats"), FakeScorer(scored))
    assert [outcome.value for outcome in outcomes] == [True, None]
    assert notices[-1] == "1 of 2 pairs not judged: no token begins in one of the sentences"


def test_identical_sentences_without_tokens_are_no_failure(tmp_path: Path) -> None:
    (outcome,), notices = run(table(tmp_path, "猫が\t猫が"), FakeScorer(ascii_word_scores()))
    assert outcome.value is None
    assert notices[-1] == "1 of 1 pairs not judged: no token begins in one of the sentences"
    assert not any("failure" in notice for notice in notices)


def test_copies_are_counted_among_the_pairs_that_were_scored(tmp_path: Path) -> None:
    (suite,) = pairs.read(table(tmp_path, *["cats sleep\tcats sleeps"] * 9, "dogs sleep\tdogs sleeps"), {})
    counted = [row.text for row in suite.sample(3).run(words()) if isinstance(row, Notice)]
    assert counted[0] == "2 pairs are copies of others, and counted like them"
    assert next(row.text for row in suite.run(words()) if isinstance(row, Notice)).startswith("8 pairs are copies")
    assert not any("copies" in row.text for row in suite.sample(1).run(words()) if isinstance(row, Notice))


def test_warnings_about_the_file_say_so_in_a_sample(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    rows = [{"sentence_good": "", "sentence_bad": ""}, *({"sentence_good": w, "sentence_bad": "b"} for w in "acd")]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (suite,) = pairs.read(path, {})
    (notice,) = (row.text for row in suite.sample(1).run(words({"b": -2.0})) if isinstance(row, Notice))
    assert notice == "in the whole file: line 1: both sentences are empty: left out"


def test_words_the_model_does_not_know_are_counted(tmp_path: Path) -> None:
    _, notices = run(table(tmp_path, "cats sleep\tcats sleeps"), FakeScorer(unknown_word_scores({}, "sleeps")))
    assert "1 word that the model does not know, in the sentences of 1 pair" in notices


def test_targets_of_several_tokens_are_counted_and_left_out_on_request(tmp_path: Path) -> None:
    path = table(tmp_path, "cats will sleep\tcats slept", "cats sleep\tcats sleeps")
    outcomes, notices = run(path, words({"slept": -5.0}), target="word")
    assert outcomes[0].value is True
    assert notices[-1] == "1 pair of 2 with a target of several tokens; their log-probabilities are added up"
    outcomes, notices = run(path, words({"slept": -5.0}), target="word", single_piece_only="yes")
    assert [outcome.value for outcome in outcomes] == [None, False]
    assert notices[-1] == "1 of 2 pairs not judged: a target has several tokens"


def test_pairs_that_differ_in_several_places_have_no_word_score(tmp_path: Path) -> None:
    outcomes, notices = run(table(tmp_path, "a b c\tc b a", "a b\ta c", "a\ta"), words({"c": -2.0}), target="word")
    assert [outcome.value for outcome in outcomes] == [None, True, False]
    assert "1 of 3 pairs not judged: the two sentences differ in more than one place" in notices
    assert "1 pair of identical sentences, counted as failures" in notices


def test_pairs_of_all_kinds_are_judged_together_as_they_are_alone(tmp_path: Path) -> None:
    rows = [
        "cats sleep\tcats sleeps",
        "cats sleep\tcats sleep",
        "cats mute\tcats sleeps",
        "mute mute\tcats sleeps",
        "cats new\tcats sleeps",
        "dogs sleep\tdogs nap",
        "sleep\tcats sleep",
    ]
    known = {"sleep": -2.0, "nap": -2.0, "sleeps": -3.0, "mute": None}
    model = FakeScorer(unknown_word_scores(known, "new"), chunk=100)
    together, notices = run(table(tmp_path, *rows), model)
    alone = [run(table(tmp_path, row), FakeScorer(unknown_word_scores(known, "new"), chunk=3))[0][0] for row in rows]
    assert [(one.value, one.detail) for one in together] == [(one.value, one.detail) for one in alone]
    assert [one.value for one in together] == [True, False, True, None, True, False, True]
    assert notices == [
        "1 pair of identical sentences, counted as failures",
        "1 pair tied, counted as failures",
        "1 token without a log-probability in 1 sentence, counted as 0",
        "1 of 7 pairs not judged: the model gives no log-probability for one of the sentences",
        "1 word that the model does not know, in the sentences of 1 pair",
    ]


def test_the_questions_up_front_are_those_that_a_run_asks(tmp_path: Path) -> None:
    path = table(tmp_path, *(f"cat{k} sleeps\tcat{k} sleep" for k in range(7)))
    (suite,) = pairs.read(path, {})
    model = words()
    list(suite.run(model))
    assert model.requests == list(suite.requests())


def test_the_first_pairs_of_a_suite_are_a_suite_that_says_so(tmp_path: Path) -> None:
    (suite,) = pairs.read(table(tmp_path, "a b\ta c", "a b\ta d"), {"target": "word"})
    assert (len(suite.sample(1)), dict(suite.sample(1).options)["limit"]) == (1, "1")
    assert suite.sample(5) is suite


def test_the_checksum_is_of_the_pairs_and_not_of_how_they_are_scored(tmp_path: Path) -> None:
    path = table(tmp_path, "a b\ta c")
    checksums = {pairs.read(path, options)[0].checksum for options in ({}, {"target": "word"})}
    assert len(checksums) == 1
    assert pairs.read(table(tmp_path, "a b\ta d"), {})[0].checksum not in checksums


@pytest.mark.parametrize(
    ("good", "bad", "expected"),
    [
        ("the cat is here", "the cat are here", ("is", "are")),
        ("he saw himself.", "he saw themselves.", ("himself", "themselves")),
        ("he will go", "he went", ("will go", "went")),
        ("他喜欢猫", "他讨厌猫", ("喜欢", "讨厌")),
        ("same", "same", None),
        ("who did he see", "he did see who", None),
        ("a cat sleeps", "a cat", None),
        ("(yes)", "(no)", ("yes", "no")),
    ],
)
def test_the_one_place_where_sentences_differ(good: str, bad: str, expected: tuple[str, str] | None) -> None:
    found = difference(good, bad)
    assert (found and (good[found.start : found.good_end], bad[found.start : found.bad_end])) == expected


SENTENCES = st.text(alphabet="ab .'", max_size=12)


@given(SENTENCES, SENTENCES)
def test_putting_the_other_words_in_the_target_gives_the_other_sentence(good: str, bad: str) -> None:
    found: Any = difference(good, bad)
    if found is not None:
        start, ours, theirs = found.start, found.good_end, found.bad_end
        assert (good[:start] + bad[start:theirs] + good[ours:]).split() == bad.split()
        assert good[start:ours] != bad[start:theirs]
