"""Whatever the architecture and the company, each text gets the numbers that it gets alone from the model."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

import tiny_architectures
from wug.models._trial import choose_engine

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
    assert (engine.ways.layout is None) == ("sentence by sentence" in caplog.text)
    # GPT-Neo counts its window in places of the row: only the plain way is right for it.
    assert (engine.ways.layout is None) == (name == "gpt_neo")


def test_a_window_matters_at_these_lengths() -> None:
    """Else the tests above could not fail."""
    narrow, wide = with_window("mistral", 40), with_window("mistral", 400)
    (text,) = tiny_architectures.texts([98])
    a, b = (np.array(tiny_architectures.alone(model, text)) for model in (narrow, wide))
    assert np.abs(a - b)[:39].max() < 1e-5
    assert np.abs(a - b)[41:].max() > 0.1
