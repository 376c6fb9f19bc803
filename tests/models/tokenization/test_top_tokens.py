"""What a model finds most probable at a place, against plain transformers."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

import tiny_masked
from wug.models import causal, masked
from wug.models.spec import ModelSpec
from wug.requests import Request, TextScoring

TEXT = "the unbelievable boy swims ."


def expected(tokenizer: Any, logits: Any, most: int) -> list[tuple[str, float]]:
    """The most probable tokens by a loop over the vocabulary."""
    values = [float(value) for value in logits]
    total = math.log(math.fsum(math.exp(value - max(values)) for value in values)) + max(values)
    ranked = sorted(range(len(values)), key=lambda index: -values[index])[:most]
    return [(tokenizer.decode([index]), values[index] - total) for index in ranked]


def compare(found: list[Any], wanted: list[tuple[str, float]]) -> None:
    assert [token.logprob for token in found] == pytest.approx([value for _, value in wanted], abs=1e-4)
    for token, (text, _) in zip(found, wanted, strict=True):
        if "\ufffd" not in text and text:
            assert token.text == text


@pytest.mark.parametrize("tokenizer", ["byte_level", "no_bos"])
def test_a_causal_models_likeliest_continuations_are_those_of_transformers(
    tiny_causal: Callable[..., Path], tokenizer: str
) -> None:
    folder = tiny_causal("gpt2", tokenizer)
    model = causal.load(ModelSpec("causal", str(folder), options={"device": "cpu"}))
    plain, tokens = AutoModelForCausalLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    ids = tokens(TEXT, add_special_tokens=False).input_ids
    lead = [] if tokenizer == "no_bos" else [tokens.bos_token_id]
    for place in range(len(ids)):
        context = lead + ids[:place]
        found = model.likeliest(TEXT, place)
        if not context:
            assert found == []
            continue
        with torch.no_grad():
            logits = plain(torch.tensor([context])).logits[0, -1]
        compare(found, expected(tokens, logits, 10))
    assert model.likeliest(TEXT, len(ids)) == []
    assert model.likeliest("", 0) == []


def test_the_likeliest_token_of_a_place_has_the_rank_one_and_its_own_log_probability(
    tiny_causal: Callable[..., Path],
) -> None:
    model = causal.load(ModelSpec("causal", str(tiny_causal()), options={"device": "cpu"}))
    (scored,) = model.score([Request(TEXT, scoring=TextScoring(distribution=True))])
    assert scored.ranks is not None
    for place, (rank, logprob) in enumerate(zip(scored.ranks, scored.logprobs, strict=True)):
        found = model.likeliest(TEXT, place, count=5)
        assert len(found) == 5
        assert rank is not None
        if rank <= 5:
            assert found[rank - 1].logprob == pytest.approx(logprob, abs=1e-4)


@pytest.mark.parametrize("metric", ["within_word_l2r", "original"])
def test_a_masked_models_likeliest_tokens_are_those_under_the_mask(tmp_path: Path, metric: str) -> None:
    folder = tiny_masked.save_masked(tmp_path / "bert")
    model = masked.load(ModelSpec("masked", str(folder), options={"device": "cpu", "pll": metric}))
    plain, tokens = AutoModelForMaskedLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    encoded = tokens(TEXT)
    words = encoded.word_ids()
    for place in range(len(encoded.input_ids) - 2):
        ids = list(encoded.input_ids)
        for other in range(place + 1, len(ids) - 1):
            if other == place + 1 or (metric == "within_word_l2r" and words[other] == words[place + 1]):
                ids[other] = tokens.mask_token_id
        with torch.no_grad():
            logits = plain(torch.tensor([ids])).logits[0, place + 1]
        compare(model.likeliest(TEXT, place), expected(tokens, logits, 10))
    assert model.likeliest(TEXT, 99) == []
