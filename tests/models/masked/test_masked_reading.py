"""What masked models return in addition to log-probabilities, and long texts in windows."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

import tiny
import tiny_masked
from wug.models import ModelSpec, masked
from wug.models.tokenization.sliding_windows import on_both_sides
from wug.requests import Request, TextScoring


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_masked.save_masked(tmp_path_factory.mktemp("bert"), "bert")


def load(folder: Path) -> masked.MaskedModel:
    return masked.load(ModelSpec("masked", str(folder), options={"device": "cpu", "pll": "original"}))


def at_mask(folder: Path, ids: list[int], place: int) -> Any:
    """The logits at one place of a sequence with that place masked, by transformers alone."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForMaskedLM.from_pretrained(folder).eval()
    copy = [tokenizer.mask_token_id if n == place else token for n, token in enumerate(ids)]
    with torch.inference_mode():
        return model(input_ids=torch.tensor([copy])).logits[0, place].double()


def test_entropy_and_rank_are_those_at_the_masked_place(folder: Path) -> None:
    text = "the boy swims near nobody"
    model = load(folder)
    (plain,) = model.score([Request(text)])
    (found,) = model.score([Request(text, scoring=TextScoring(distribution=True))])
    assert found.logprobs == pytest.approx(plain.logprobs, abs=1e-5)
    assert plain.entropies is None
    ids = model.tokenize.hf(text)["input_ids"]
    for number, (nats, rank) in enumerate(zip(found.entropies or (), found.ranks or (), strict=True), 1):
        logits = at_mask(folder, ids, number)
        logs = torch.log_softmax(logits, -1)
        assert nats == pytest.approx(-float((logs.exp() * logs).sum()), abs=1e-4)
        assert rank == int((logits > logits[ids[number]]).sum()) + 1


def test_a_long_text_is_asked_in_windows_that_see_both_sides(folder: Path) -> None:
    model = load(folder)
    text = " ".join(tiny.sentences(12, seed=2))
    window, stride = 21, 8
    scoring = TextScoring(window=window, stride=stride)
    (found,) = model.score([Request(text, scoring=scoring)])
    tokenizer = model.tokenize.hf
    begin, end = tokenizer.cls_token_id, tokenizer.sep_token_id
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert len(ids) > 3 * window
    pieces = list(on_both_sides(len(ids), window - 2, stride))
    for place in range(0, len(ids), 3):
        low, high = next((a, d) for a, b, c, d in pieces if b <= place < c)
        logits = at_mask(folder, [begin, *ids[low:high], end], place - low + 1)
        assert found.logprobs[place] == pytest.approx(float(torch.log_softmax(logits, -1)[ids[place]]), abs=1e-4)
    assert not any(value is None or math.isnan(value) for value in found.logprobs)
