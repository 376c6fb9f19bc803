"""BLEU against sacrebleu's, and the declared metrics."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from wug.families.cogs.metrics import METRICS, corpus_bleu

LINES = st.lists(st.sampled_from("nap agent ( x _ 1 , )".split()), max_size=12).map(" ".join)


def of_sacrebleu(gold: list[str], predictions: list[str]) -> float:
    return float(BLEU(tokenize="none", force=True).corpus_score(predictions, [gold]).score)


@given(st.lists(st.tuples(LINES, LINES), min_size=1, max_size=5))
def test_bleu_is_that_of_sacrebleu(pairs: list[tuple[str, str]]) -> None:
    gold, predictions = [one for one, _ in pairs], [other for _, other in pairs]
    assert corpus_bleu(gold, predictions) == pytest.approx(of_sacrebleu(gold, predictions))


def test_bleu_is_that_of_sacrebleu_with_more_ngrams_than_64_bits_can_number() -> None:
    chance = random.Random(0)
    gold = [" ".join(str(chance.randrange(90_000)) for _ in range(30)) for _ in range(2_000)]
    predictions = [" ".join(w if chance.random() < 0.8 else "x" for w in line.split()) for line in gold]
    assert corpus_bleu(gold, predictions) == pytest.approx(of_sacrebleu(gold, predictions))


def test_units_are_declared() -> None:
    units = {metric.name: metric.unit for metric in METRICS}
    assert len(units) == len(METRICS)
    assert (units["exact_match_string"], units["terms_f1"], units["edit_distance"]) == ("share", "score", "tokens")
