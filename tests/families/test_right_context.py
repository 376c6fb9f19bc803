"""A result tells where the model saw words that a reader has not come to yet."""

from __future__ import annotations

import pytest

import wug
from fake_models import FakeScorer
from wug.requests import Scored

SENTENCES = {"match": ["the boy", "swims"], "mismatch": ["the boy", "swim"]}


def flat_scored(text: str) -> Scored:
    """All tokens are equally probable."""
    return Scored(text, (0, text.index("swim")), (7, len(text)), (-1.0, -1.0))


def suite(*predictions: str) -> wug.Suite:
    conditions = [
        {
            "condition_name": name,
            "regions": [{"region_number": n, "content": text} for n, text in enumerate(texts, start=1)],
        }
        for name, texts in SENTENCES.items()
    ]
    return wug.read_suite(
        {
            "meta": {"name": "agreement"},
            "region_meta": {"1": "subject", "2": "verb"},
            "predictions": list(predictions),
            "items": [{"item_number": 1, "conditions": conditions}],
        }
    )


def pairs(target: str) -> wug.Suite:
    return wug.read_suite([{"sentence_good": "the boy swims", "sentence_bad": "the boy swim"}], target=target)


def told(suite: wug.Suite, kind: str) -> bool:
    (result,) = wug.run(suite, FakeScorer(flat_scored, f"{kind}/flat@1"))
    return any("sees the words to the right of a" in warning for warning in result.warnings)


@pytest.mark.parametrize(
    ("kind", "predictions", "expected"),
    [
        ("masked", ["(2;%match%) < (2;%mismatch%)"], True),
        ("masked", ["(*;%match%) < (*;%mismatch%)", "(verb;%match%) < (2;%mismatch%)"], True),
        ("masked", ["(*;%match%) < (*;%mismatch%)"], False),
        ("causal", ["(2;%match%) < (2;%mismatch%)"], False),
        ("someone's", ["(2;%match%) < (2;%mismatch%)"], False),
    ],
)
def test_regions_of_a_masked_model_are_seen_from_both_sides(kind: str, predictions: list[str], expected: bool) -> None:
    assert told(suite(*predictions), kind) is expected


@pytest.mark.parametrize(
    ("kind", "target", "expected"), [("masked", "word", True), ("masked", "sentence", False), ("causal", "word", False)]
)
def test_target_words_of_a_masked_model_are_seen_from_both_sides(kind: str, target: str, expected: bool) -> None:
    assert told(pairs(target), kind) is expected
