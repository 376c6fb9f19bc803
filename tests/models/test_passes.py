"""Passes of T5 that is taken apart give the numbers of the model as transformers has it, and its answers."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from greedy_ways import alone
from shares import cases
from wug.models import _passes
from wug.models._ahead import Ahead
from wug.models._asking import until_end
from wug.models._decoding import Decoder
from wug.models._passes import OwnPasses, T5Passes

WORDS = 90
KINDS: dict[str, dict[str, Any]] = {
    "small": {"d_model": 24, "d_kv": 6, "num_heads": 3, "d_ff": 40, "num_layers": 2},
    "deep": {"d_model": 16, "d_kv": 12, "num_heads": 2, "d_ff": 20, "num_layers": 1, "num_decoder_layers": 5},
    "gated": {"d_model": 20, "d_kv": 4, "num_heads": 5, "d_ff": 36, "num_layers": 3, "feed_forward_proj": "gated-gelu"},
    "near": {"d_model": 32, "d_kv": 8, "num_heads": 4, "d_ff": 48, "num_layers": 2,
             "relative_attention_num_buckets": 8, "relative_attention_max_distance": 20},
    "tied": {"d_model": 24, "d_kv": 8, "num_heads": 3, "d_ff": 40, "num_layers": 2, "tie_word_embeddings": True},
}  # fmt: skip


def t5(kind: str, seed: int, architecture: str = "t5") -> Any:
    """A model of random weights that goes on for long."""
    import torch
    from transformers import AutoConfig, AutoModelForSeq2SeqLM

    marks = {"vocab_size": WORDS, "pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    config = AutoConfig.for_model(architecture, **({"tie_word_embeddings": False} | marks | KINDS[kind]))
    torch.manual_seed(seed)
    model = AutoModelForSeq2SeqLM.from_config(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(std=0.3)
    return model


def text(draw: random.Random, length: int) -> list[int]:
    return [draw.randrange(2, WORDS) for _ in range(length)]


@pytest.mark.parametrize("architecture", ["t5", "mt5"])
@pytest.mark.parametrize(("kind", "seed"), cases([(kind, 5) for kind in KINDS], [(kind, 6) for kind in KINDS]))
def test_logits_are_those_of_the_model(kind: str, seed: int, architecture: str) -> None:
    """Several answers together, of other lengths, with tokens taken back, beside a forward of the whole by itself."""
    import torch

    model, draw = t5(kind, seed, architecture), random.Random(seed)
    passes = T5Passes.of(model)
    assert passes is not None
    sources = [text(draw, length) for length in (1, 37, 300)]
    answers = [[0, *text(draw, length)] for length in (70, 5, 41)]
    with torch.inference_mode():
        memories = [passes.begin(source, 80) for source in sources]
        passes.logits(memories, [[*answer[:3], 9, 9] for answer in answers])
        for memory in memories:
            passes.forget(memory, 2)
        found = passes.logits(memories, [answer[3:] for answer in answers])
        for source, answer, mine in zip(sources, answers, found, strict=True):
            whole = model(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([answer])).logits[0, 3:]
            assert mine.shape == whole.shape
            torch.testing.assert_close(mine, whole, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("kind", "seed"), cases([("small", 7), ("gated", 8), ("near", 9)], [("deep", 7), ("tied", 8)]))
@pytest.mark.parametrize("rows", [1, 3])
def test_answers_that_are_written_together_are_those_of_generate(
    kind: str, seed: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_passes, "ROWS", rows)
    decoder, draw = Decoder(t5(kind, seed)), random.Random(seed)
    ahead = decoder.ahead
    assert isinstance(ahead, Ahead)
    assert isinstance(ahead.passes, T5Passes)
    sources = [text(draw, draw.randint(1, 60)) for _ in range(9)]
    bounds = [draw.choice([1, 7, 60, 190]) for _ in sources]
    wanted = [alone(decoder, source, bound) for source, bound in zip(sources, bounds, strict=True)]
    begun = [draw.choice([[], [*answer.tokens][:40], text(draw, 5)]) for answer in wanted]
    for answer, checked in zip(wanted, ahead.write_all(sources, bounds, begun), strict=True):
        assert checked.rivals or until_end(checked.tokens, decoder._ends) == answer


def test_a_model_whose_layers_compute_something_else_is_asked_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    attended = T5Passes._attended
    spoiled: Callable[..., Any] = lambda *given: 1.01 * attended(*given)  # noqa: E731
    monkeypatch.setattr(T5Passes, "_attended", spoiled)
    ahead = Decoder(t5("small", 3)).ahead
    assert isinstance(ahead, Ahead)
    assert isinstance(ahead.passes, OwnPasses)


def test_a_model_of_another_kind_is_asked_as_it_is() -> None:
    import torch

    assert T5Passes.of(t5("small", 3, "umt5")) is None
    assert T5Passes.of(t5("small", 3).to(torch.bfloat16)) is None


def test_few_answers_of_a_large_model_are_written_together() -> None:
    assert T5Passes(t5("small", 3)).rows == _passes.ROWS
    large = t5("small", 3)
    large.config.d_kv, large.config.num_heads, large.config.num_decoder_layers = 64, 12, 12  # T5-base
    assert T5Passes(large).rows == 1
