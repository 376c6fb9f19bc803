"""Fused kernels give the numbers of the layers that they replace."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import tiny_architectures
from wug.models.causal.forward import CausalEngine, ScoringMethods
from wug.models.huggingface.fused import ROTARY, fuse_norms, fused_rotary, rotary_module, rotate


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_an_rms_norm_is_computed_in_one_kernel(dtype: str) -> None:
    model = _random("LlamaForCausalLM", "LlamaConfig").to(getattr(torch, dtype))
    tokens = torch.arange(1, 30)[None]
    with torch.inference_mode():
        before = model(input_ids=tokens).logits.float()
        assert fuse_norms(model) == 2 * model.config.num_hidden_layers + 1
        after = model(input_ids=tokens).logits.float()
    assert torch.allclose(before, after, atol=1e-5 if dtype == "float32" else 0.05)
    assert fuse_norms(model) == 0


def test_a_norm_whose_weights_are_offsets_is_left_alone() -> None:
    model = _random("GemmaForCausalLM", "GemmaConfig", head_dim=16)
    assert fuse_norms(model) == 0


def _random(kind: str, config: str, **more: Any) -> Any:
    torch.manual_seed(5)
    settings = getattr(transformers, config)(
        vocab_size=60, hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=2,
        num_key_value_heads=2, **more,
    )  # fmt: skip
    model = getattr(transformers, kind)(settings).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.3)
    return model


@pytest.mark.parametrize("name", ["llama", "mistral", "qwen2"])
def test_fused_rotary_positions_give_the_numbers_of_the_model(name: str) -> None:
    model = tiny_architectures.model(tiny_architectures.configuration(name))
    module = rotary_module(model)
    assert module is sys.modules[type(model).__module__]
    texts = tiny_architectures.texts([40, 3, 17], seed=5)
    expected = [tiny_architectures.alone(model, text) for text in texts]
    original = getattr(module, ROTARY)
    engine = CausalEngine(model, ScoringMethods())
    engine._rotary = module  # as on a GPU
    for found, right in zip(engine.logprobs(texts), expected, strict=True):
        assert np.abs(found - np.array(right)).max(initial=0) < 1e-5
    assert getattr(module, ROTARY) is original


def test_a_pair_of_dimensions_is_rotated_by_the_angle_of_its_position() -> None:
    angle = torch.tensor([[[0.5, 0.5]]])
    found, _ = rotate(torch.tensor([[[[3.0, 4.0]]]]), torch.zeros(1, 1, 1, 2), angle.cos(), angle.sin())
    turned = complex(3, 4) * complex(np.cos(0.5), np.sin(0.5))
    assert found.flatten().tolist() == pytest.approx([turned.real, turned.imag])


def test_other_positions_are_left_to_the_model() -> None:
    gpt2 = tiny_architectures.model(tiny_architectures.configuration("gpt2"))
    assert rotary_module(gpt2) is None
    with fused_rotary(None):
        assert not hasattr(sys.modules[type(gpt2).__module__], ROTARY)


def test_an_interleaved_rotation_is_recognised_as_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_architectures.model(tiny_architectures.configuration("llama"))

    def interleaved(q: torch.Tensor, k: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> list[torch.Tensor]:
        turned = [torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2) for x in (q, k)]
        return [x * cos.unsqueeze(1) + y * sin.unsqueeze(1) for x, y in zip((q, k), turned, strict=True)]

    monkeypatch.setattr(sys.modules[type(model).__module__], ROTARY, interleaved)
    assert rotary_module(model) is None
