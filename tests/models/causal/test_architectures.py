"""Whatever the architecture and the company, each text gets the numbers that it gets alone from the model."""

from __future__ import annotations

import logging
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

import tiny_architectures
from case_selection import each_kind, share
from wug.errors import ModelError
from wug.models.causal import selftest as _trial
from wug.models.causal.selftest import choose_engine
from wug.models.tokenization.ragged import Ragged

LENGTHS = [98, 1, 2, 17, 128, 200, 60, 129, 41, 17, 3, 127]
"""Around the windows below, a row of a tree (128) and what is longer than that."""

WINDOWED = [
    ("mistral", 40), ("gemma2", 33), ("gemma3_text", 40), ("olmo3", 64), ("cohere2", 24), ("starcoder2", 100),
    ("gpt_oss", 40), ("exaone4", 31), ("vaultgemma", 40), ("cwm", 57), ("ministral", 126), ("qwen2", 40),
    ("llama4_text", 48), ("modernbert-decoder", 40), ("gpt_neo", 50),
]  # fmt: skip


def compare(model: Any, lengths: list[int], *, seed: int = 7) -> tuple[float, Any]:
    """The largest difference in nats between texts in company and each alone, without wug; and the engine."""
    engine = choose_engine(model)
    texts = tiny_architectures.texts(lengths, seed=seed)
    gaps = [
        float(np.abs(np.array(tiny_architectures.alone(model, text)) - found).max(initial=0))
        for text, found in zip(texts, engine.logprobs(texts), strict=True)
    ]
    return max(gaps), engine


def with_window(name: str, window: int) -> Any:
    return tiny_architectures.model(tiny_architectures.configuration(name, window=window))


@pytest.mark.parametrize(("name", "window"), WINDOWED)
def test_an_attention_window_shorter_than_a_row_is_kept(
    name: str, window: int, caplog: pytest.LogCaptureFixture
) -> None:
    model = with_window(name, window)
    with caplog.at_level(logging.WARNING, "wug"):
        gap, engine = compare(model, LENGTHS)
    assert gap < 1e-4
    assert (engine.methods.layout is None) == ("sentence by sentence" in caplog.text)
    # GPT-Neo counts its window in places of the row: only the plain way is right for it.
    assert (engine.methods.layout is None) == (name == "gpt_neo")


def test_a_window_matters_at_these_lengths() -> None:
    """Else the tests above could not fail."""
    narrow, wide = with_window("mistral", 40), with_window("mistral", 400)
    (text,) = tiny_architectures.texts([98])
    a, b = (np.array(tiny_architectures.alone(model, text)) for model in (narrow, wide))
    assert np.abs(a - b)[:39].max() < 1e-5
    assert np.abs(a - b)[41:].max() > 0.1


LONGROPE = {
    "rope_type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": 64,
    "short_factor": [1.0] * 4, "long_factor": [1.0, 2.0, 4.0, 8.0],
}  # fmt: skip
COMPANY: dict[str, dict[str, Any]] = {
    "phi3": {"rope_parameters": LONGROPE, "original_max_position_embeddings": 64},
    "llama": {"rope_parameters": LONGROPE},
    "gpt2": {},
    "gpt_neox": {},
    "gemma4_text": {},
    "qwen3_5_text": {},
    "bloom": {},
    "mamba2": {},
    "rwkv": {},
    "roberta": {},
    "bart": {},
    "deepseek_v32": {},
    "mixtral": {},
    "falcon": {},
    "reformer": {},
    "lfm2_moe": {},
}


@pytest.mark.parametrize("name", ["phi3", *share(list(COMPANY)[1:], 3)])
def test_a_text_has_the_same_scores_alone_and_in_a_batch(name: str) -> None:
    model = tiny_architectures.model(tiny_architectures.configuration(name, window=70, **COMPANY[name]))
    engine = choose_engine(model)
    texts = tiny_architectures.texts([6, 40, 64, 65, 98])
    company: dict[str, list[list[int]]] = {
        "none": [],
        "short": tiny_architectures.texts([1, 2, 3], seed=1),
        "long": tiny_architectures.texts([200, 140], seed=2),
        "many": tiny_architectures.texts([*range(1, 100, 9), 64, 65, 128], seed=3),
    }
    for text in texts:
        measured = tiny_architectures.alone(model, text)
        for kind, others in company.items():
            found = engine.logprobs([*others, text])[-1]
            assert np.abs(found - measured).max() < 1e-4, (kind, len(text))


def test_with_longrope_the_length_of_a_text_changes_its_beginning() -> None:
    """Else company could not matter."""
    model = tiny_architectures.model(tiny_architectures.configuration("phi3", **COMPANY["phi3"]))
    (text,) = tiny_architectures.texts([98])
    whole, beginning = (np.array(tiny_architectures.alone(model, part)) for part in (text, text[:60]))
    assert np.abs(whole[:59] - beginning).max() > 0.1


def test_past_a_window_that_no_row_holds_texts_are_asked_alone() -> None:
    model = tiny_architectures.model(tiny_architectures.configuration("mistral", window=150))
    engine = choose_engine(model)
    batches = engine.plan(Ragged.of(tiny_architectures.texts([150, 149, 151, 180])))
    assert sorted(len(batch.tokens) for batch in batches) == [1, 1, 2]


ENCODERS = ["bert", "roberta", "electra", "megatron-bert", "rembert", "roformer", "xlm", "xlnet"]
TRIED = each_kind(product(ENCODERS, ["float32", "bfloat16"]), lambda case: case[0])


@pytest.mark.parametrize(("name", "dtype"), TRIED)
def test_an_untrained_encoder_is_no_causal_model(name: str, dtype: str) -> None:
    config = tiny_architectures.configuration(name, **({} if name in ("xlm", "xlnet") else {"is_decoder": False}))
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config).eval().to(getattr(torch, dtype))
    with pytest.raises(ModelError, match="not a causal model"):
        choose_engine(model)


def test_an_untrained_model_with_right_context_is_detected_without_its_configuration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(tiny_architectures.configuration("bert", is_decoder=False)).eval()
    monkeypatch.setattr(_trial, "require_causal_configuration", lambda model: None)
    with pytest.raises(ModelError, match="scores of the same beginning differ"):
        choose_engine(model)


@pytest.mark.parametrize("name", ["gpt2", "gpt_neox", "mixtral", "gpt_oss", "mamba"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_an_untrained_causal_model_is_one(name: str, dtype: str) -> None:
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(tiny_architectures.configuration(name, window=40)).eval()
    assert choose_engine(model.to(getattr(torch, dtype))).methods.padded


def test_a_model_that_padding_disturbs_is_asked_one_text_at_a_time(caplog: pytest.LogCaptureFixture) -> None:
    """DeepSeek's indexer selects a number of tokens of a row, including the padding."""
    model = tiny_architectures.model(tiny_architectures.configuration("deepseek_v32", index_topk=64))
    with caplog.at_level(logging.WARNING, "wug"):
        engine = choose_engine(model)
    assert not engine.methods.padded
    assert "one text at a time" in caplog.text
    batches = engine.plan(Ragged.of(tiny_architectures.texts([5, 9, 9])))
    assert [len(batch.tokens) for batch in batches] == [1, 1, 1]
