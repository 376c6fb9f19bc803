"""The first lines of the page of a result."""

from __future__ import annotations

import pytest

from evaluating import cached
from fake_models import FakeGenerator, FakeScorer, letter_scores
from wug.evaluation.evaluate import evaluate
from wug.evaluation.suites import builtin_suites, open_suites
from wug.results.queries import rows_of
from wug.views.family_views import intro_of, items_of

OWN_QUESTIONS = {
    "wug_agreement_pp": "Is region 4 (verb) less surprising in sing_match than in sing_mismatch?",
    "wug_plurals": "Does the model form the plural of new nouns?",
    "localism": "Is the output for the whole the same as that of its parts, computed step by step?",
    "wug_reflexives": "Does the model give the grammatical sentence a higher probability than the ungrammatical one?",
}


def question(name: str) -> str:
    (suite,) = open_suites(name)
    model = FakeScorer(letter_scores(1 / 7)) if suite.needs == "scores" else FakeGenerator(str)
    (result,) = evaluate([suite.sample(3)], cached(model))
    rows = rows_of(result)
    return intro_of(result, rows, items_of(result, rows)).question


@pytest.mark.parametrize("name", sorted(builtin_suites()))
def test_every_shipped_suite_opens_with_a_question(name: str) -> None:
    asked = question(name)
    assert "?" in asked
    assert asked[0].isupper()


@pytest.mark.parametrize("name", OWN_QUESTIONS)
def test_the_question_of_a_suite_comes_before_that_of_its_family(name: str) -> None:
    assert question(name).startswith(OWN_QUESTIONS[name])
