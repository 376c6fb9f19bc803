"""Linking functions: published formulas on invented numbers, and their use by pairs and choices."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from fake_models import FakeScorer
from reference import reference
from wug.errors import InputError
from wug.families import choices, pairs
from wug.families.links import LINKS, LinkedText, LinkParameters
from wug.interfaces import Suite
from wug.outcomes import Notice, Outcome, SuiteOutput
from wug.requests import Scored, Token

COLUMNS = {
    "sum": "sum",
    "token": "mean_token",
    "word": "mean_word",
    "character": "mean_character",
    "byte": "mean_byte",
    "penlp": "penlp(alpha=0.8)",
    "normlp": "normlp",
    "slln": "slln(alpha=0.5)",
    "slor": "slor",
    "morcela": "morcela(beta=0.6,gamma=4)",
}
GIVEN = LinkParameters(morcela_beta=0.6, morcela_gamma=4)


def rows(name: str) -> list[dict[str, str]]:
    with reference(f"judgements/linking/{name}").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.mark.parametrize("link", LINKS)
def test_the_worked_cases_are_reproduced(link: str) -> None:
    for tokens, expected in zip(rows("tokens.tsv"), rows("scores.tsv"), strict=True):
        logprobs, unigrams = (
            [float(value) for value in tokens[name].split()] for name in ("logprobs", "unigram_logprobs")
        )
        one = LinkedText(tokens["sentence"], math.fsum(logprobs), len(logprobs), math.fsum(unigrams), len(unigrams))
        assert LINKS[link](one, GIVEN) == pytest.approx(float(expected[COLUMNS[link]]), abs=1e-9)


def test_morcela_with_one_and_zero_is_slor() -> None:
    one = LinkedText("a b", -7.0, 2, -9.0, 2)
    assert LINKS["morcela"](one, LinkParameters(morcela_beta=1, morcela_gamma=0)) == LINKS["slor"](one, GIVEN) == 1


def words(logprobs: Mapping[str, float]) -> FakeScorer:
    """The first word of a text is half as probable, in log-probabilities, as after others."""

    def scored(text: str) -> Scored:
        found = re.finditer(r"\S+", text)
        return Scored.of(text, [Token(w[0], *w.span(), logprobs[w[0]] * (1 if w.start() > 1 else 2)) for w in found])

    return FakeScorer(scored, chunk=6)


def verdicts(suite: Suite, model: FakeScorer) -> tuple[dict[str, list[object]], list[str]]:
    found: list[SuiteOutput] = list(suite.run(model))
    values: dict[str, list[object]] = {}
    for row in found:
        if isinstance(row, Outcome):
            values.setdefault(row.metric, []).append(row.value)
    return values, [row.text for row in found if isinstance(row, Notice)]


def pair_suite(tmp_path: Path, *both: tuple[str, str], **options: str) -> Suite:
    path = tmp_path / "p.jsonl"
    path.write_text(
        "".join(json.dumps({"sentence_good": good, "sentence_bad": bad}) + "\n" for good, bad in both), encoding="utf-8"
    )
    (suite,) = pairs.read(path, options)
    return suite


MODEL = {"a": -1.0, "bb": -2.0, "c": -1.5}


def test_several_links_are_computed_from_one_pass(tmp_path: Path) -> None:
    # Sums -2 - 1 - 1.5 = -4.5 and -4; means -1.5 and -4.
    suite = pair_suite(tmp_path, ("a a c", "bb"), ("c", "bb"), link="sum,token,slln")
    model = words(MODEL)
    values, notices = verdicts(suite, model)
    assert values == {"accuracy": [False, True], "accuracy:token": [True, True], "accuracy:slln": [True, True]}
    assert len(model.requests) == 4
    assert "judged differently than by sum, of 2 pairs: 1 by token, 1 by slln" in notices
    assert dict(suite.options) == {"target": "sentence", "link": "sum,token,slln", "slln_alpha": "0.5"}
    judged = [metric.name for metric in suite.metrics if metric.derived is None]
    assert judged == ["accuracy", "accuracy:token", "accuracy:slln"]


def test_normalise_is_an_alias(tmp_path: Path) -> None:
    one, other = (pair_suite(tmp_path, ("a a c", "bb"), **{name: "token"}) for name in ("link", "normalise"))
    assert one == other
    assert one.options["normalise"] == "token"


def test_all_links_are_those_that_have_what_they_need(tmp_path: Path) -> None:
    counts = tmp_path / "counts.txt"
    counts.write_text("a 6\nbb 2\nc 1\n", encoding="utf-8")
    plain = pair_suite(tmp_path, ("a", "bb"), link="all")
    assert plain.options["link"] == "sum,token,word,character,byte,penlp,slln"
    more = pair_suite(tmp_path, ("a", "bb"), link="all", unigrams=str(counts), unigram_unit="token")
    assert more.options["link"] == "sum,token,word,character,byte,penlp,normlp,slor,slln"
    assert more.options["unigram_unit"] == "token"


def test_slor_by_a_file_is_the_link_with_unigrams(tmp_path: Path) -> None:
    counts = tmp_path / "counts.txt"
    counts.write_text("a 6\nbb 2\nc 1\n", encoding="utf-8")
    one = pair_suite(tmp_path, ("a c", "bb c"), slor=str(counts))
    other = pair_suite(tmp_path, ("a c", "bb c"), link="slor", unigrams=str(counts))
    assert one == other
    by_token = pair_suite(tmp_path, ("a c", "bb c"), link="slor", unigrams=str(counts), unigram_unit="token")
    # Tokens are words here: the same judgements, under another signature.
    assert verdicts(one, words(MODEL)) == verdicts(by_token, words(MODEL))
    assert by_token.options["unigram_unit"] == "token"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"link": "slor"}, "slor needs a unigram model: add unigrams=FILE"),
        ({"link": "mean"}, "use one of sum, token"),
        ({"link": "token", "normalise": "word"}, "leave one of them out"),
        ({"link": "morcela"}, "morcela needs morcela_beta=NUMBER"),
        ({"slln_alpha": "2"}, "from 0 to 1"),
    ],
)
def test_contradictions_are_refused(tmp_path: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        pair_suite(tmp_path, ("a", "bb"), **options)


def choice_suite(tmp_path: Path, **options: str) -> Suite:
    path = tmp_path / "c.jsonl"
    path.write_text(json.dumps({"context": "a", "options": ["bb", "c c"], "answer": 1}) + "\n", encoding="utf-8")
    (suite,) = choices.read(path, options)
    return suite


def test_choices_have_links_and_mutual_information(tmp_path: Path) -> None:
    # Given the context: -2 and -3. Alone, after a space: -4 and -3 - 1.5. PMI: 2 and 1.5.
    suite, model = choice_suite(tmp_path, link="sum,token,pmi"), words(MODEL)
    values, notices = verdicts(suite, model)
    assert values == {"accuracy": [True], "accuracy:token": [False], "accuracy:pmi": [True]}
    assert [request.text for request in model.requests] == ["a bb", "a c c", " bb", " c c"]
    assert model.requests == list(suite.requests())
    assert "judged differently than by sum, of 1 item: 1 by token, 0 by pmi" in notices
    assert suite.options["link"] == "sum,token,pmi"


def test_a_premise_takes_the_place_of_the_context(tmp_path: Path) -> None:
    suite, model = choice_suite(tmp_path, link="pmi", premise="c"), words(MODEL)
    list(suite.run(model))
    assert [request.text for request in model.requests] == ["a bb", "a c c", "c bb", "c c c"]
    assert suite.options["premise"] == "c"
    with pytest.raises(InputError, match="premise is about pmi"):
        choice_suite(tmp_path, premise="c")
