"""Languages: normalisation that suits any script, accuracy by language, and the macro average."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from evaluating import cached
from fake_models import FakeScorer
from wug.evaluation.evaluate import evaluate
from wug.families import pairs
from wug.outcomes import Result
from wug.requests import Scored, Token
from wug.results.queries import table_of
from wug.views import terminal
from wug.views.family_views import parts_of
from wug.views.parts import EstimatesPart, Figure


def halves(logprob: float) -> list[Token]:
    return [Token("a", 0, 1, logprob / 2), Token("b", 1, 2, logprob / 2)]


def result_of(path: Path, logprobs: dict[str, float], **options: str) -> Result:
    (suite,) = pairs.read(path, options)
    (result,) = evaluate([suite], cached(FakeScorer(lambda text: Scored.of(text, halves(logprobs[text])))))
    return result


@pytest.mark.parametrize(
    ("normalise", "good", "bad"),
    [
        ("none", -12.0, -12.0),
        ("token", -6.0, -6.0),
        ("character", -4.0, -3.0),  # 3 against 4 characters
        ("byte", -12 / 9, -3.0),  # 9 against 4 bytes of UTF-8
    ],
)
def test_a_score_is_divided_by_tokens_characters_or_bytes(
    normalise: str, good: float, bad: float, tmp_path: Path
) -> None:
    path = tmp_path / "x.csv"
    path.write_text("good_sentence,bad_sentence\n猫寝た,cats\n", encoding="utf-8")
    result = result_of(path, {"猫寝た": -12.0, "cats": -12.0}, normalise=normalise)
    (outcome,) = result.outcomes
    assert (outcome.detail.get("score_good", -12.0), outcome.detail.get("score_bad", -12.0)) == (good, bad)
    assert outcome.value is (good > bad)
    assert result.signature.get("normalise") == normalise


@pytest.fixture
def in_three_languages(tmp_path: Path) -> Result:
    """1 of 1 right in Dutch, 1 of 2 in Turkish, 1 of 4 in Japanese."""
    right = {"nl": [True], "tr": [True, False], "ja": [True, False, False, False]}
    lines = ["good_sentence,bad_sentence,language"]
    logprobs: dict[str, float] = {}
    for language, values in right.items():
        for number, value in enumerate(values):
            good, bad = f"{language} good {number}", f"{language} bad {number}"
            lines.append(f"{good},{bad},{language}")
            logprobs |= {good: -1.0 if value else -3.0, bad: -2.0}
    path = tmp_path / "x.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return result_of(path, logprobs)


def test_each_language_counts_alike_in_the_macro_average(in_three_languages: Result) -> None:
    values = {(e.metric, e.group): e.value for e in in_three_languages.estimates}
    assert values["accuracy", "all"] == pytest.approx(3 / 7)
    assert values["accuracy", "language=nl"] == 1.0
    assert values["accuracy", "language=tr"] == 0.5
    assert values["accuracy", "language=ja"] == 0.25
    assert values["macro_accuracy", "all"] == pytest.approx((1 + 0.5 + 0.25) / 3)
    (macro,) = (e for e in in_three_languages.estimates if e.metric == "macro_accuracy")
    assert macro.low is not None
    assert macro.high is not None
    assert 0 < macro.low < macro.value < macro.high < 1
    assert in_three_languages.metric("macro_accuracy").meaning == "the mean of the accuracies on 3 languages"
    assert in_three_languages.headline is not None
    assert in_three_languages.headline.metric == "accuracy"


def test_one_language_has_no_macro_average(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("good_sentence,bad_sentence\nA cat.,A cats.\n", encoding="utf-8")
    result = result_of(path, {"A cat.": -1.0, "A cats.": -2.0}, language="en")
    judged = [(e.metric, e.group) for e in result.estimates if not result.metric(e.metric).derived]
    assert judged == [("accuracy", "all"), ("accuracy", "language=en")]
    assert [metric.name for metric in result.metrics if not metric.derived] == ["accuracy"]


def test_languages_and_their_macro_average_are_shown(in_three_languages: Result) -> None:
    parts = list(parts_of(in_three_languages, table_of(in_three_languages.outcomes)))
    (numbers,) = (part for part in parts if isinstance(part, EstimatesPart) and not part.folded)
    assert [(row.metric, row.text) for row in numbers.rows] == [
        ("accuracy", "42.9%"),
        ("macro_accuracy", "58.3%"),
    ]
    (figure,) = (part for part in parts if isinstance(part, Figure) and part.title == "Accuracy by language")
    assert [row[:2] for row in figure.rows] == [
        ("nl", "100.0%"),
        ("tr", "50.0%"),
        ("ja", "25.0%"),
        ("macro average", "58.3%"),
    ]


def test_what_one_result_has_of_languages_is_not_summed_up_again(in_three_languages: Result) -> None:
    assert [table.row_count for table in terminal.across_suites([in_three_languages])] == [0]
    assert [table.row_count for table in terminal.across_suites([in_three_languages] * 2)] == [4]


def test_results_in_several_languages_are_summed_up_in_the_terminal(tmp_path: Path) -> None:
    results = []
    for language, good in (("nl", -1.0), ("tr", -3.0)):
        path = tmp_path / f"{language}.csv"
        path.write_text("good_sentence,bad_sentence\nA cat.,A cats.\n", encoding="utf-8")
        results.append(result_of(path, {"A cat.": good, "A cats.": -2.0}, language=language))
    out = io.StringIO()
    terminal.show(results, Console(file=out, width=120))
    summed = out.getvalue().splitlines()[-4:]
    assert [line.split() for line in summed] == [
        ["language", "mean", "of", "suites", "suites"],
        ["nl", "100.0%", "1"],
        ["tr", "0.0%", "1"],
        ["macro", "average", "50.0%", "2"],
    ]
