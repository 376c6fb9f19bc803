"""Fused kernels give the numbers of the layers that they replace."""

from __future__ import annotations

import copy
import sys
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import tiny_architectures
from wug.models.causal.forward import CausalEngine, ScoringMethods
from wug.models.huggingface import fused
from wug.models.huggingface.fused import ROTARY, fuse_norms, rotating, rotation_of


@pytest.fixture
def rotated_on_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rotation by PyTorch's operations, since the kernel needs a GPU."""

    def rotate(queries: Any, keys: Any, cos: Any, sin: Any) -> tuple[Any, ...]:
        half = cos.shape[-1] // 2
        swapped = (torch.cat([-states[..., half:], states[..., :half]], -1) for states in (queries, keys))
        pairs = zip((queries, keys), swapped, strict=True)
        return tuple(states * cos.unsqueeze(1) + other * sin.unsqueeze(1) for states, other in pairs)

    monkeypatch.setattr(fused, "rotate", rotate)


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


@pytest.mark.usefixtures("rotated_on_cpu")
@pytest.mark.parametrize("name", ["llama", "mistral", "qwen2"])
def test_fused_rotary_positions_give_the_numbers_of_the_model(name: str) -> None:
    model = tiny_architectures.model(tiny_architectures.configuration(name))
    module = rotation_of(model)
    assert module is sys.modules[type(model).__module__]
    texts = tiny_architectures.texts([40, 3, 17], seed=5)
    expected = [tiny_architectures.alone(model, text) for text in texts]
    original = getattr(module, ROTARY)
    engine = CausalEngine(model, ScoringMethods())
    engine._rotation = module  # as on a GPU
    for found, right in zip(engine.logprobs(texts), expected, strict=True):
        assert np.abs(found - np.array(right)).max(initial=0) < 1e-5
    assert getattr(module, ROTARY) is original


def test_other_positions_are_left_to_the_model() -> None:
    gpt2 = tiny_architectures.model(tiny_architectures.configuration("gpt2"))
    assert rotation_of(gpt2) is None
    with rotating(None):
        assert not hasattr(sys.modules[type(gpt2).__module__], ROTARY)


@pytest.mark.usefixtures("rotated_on_cpu")
def test_an_interleaved_rotation_is_recognised_as_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_architectures.model(tiny_architectures.configuration("llama"))

    def interleaved(q: torch.Tensor, k: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> list[torch.Tensor]:
        turned = [torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2) for x in (q, k)]
        return [x * cos.unsqueeze(1) + y * sin.unsqueeze(1) for x, y in zip((q, k), turned, strict=True)]

    monkeypatch.setattr(sys.modules[type(model).__module__], ROTARY, interleaved)
    assert rotation_of(model) is None


@pytest.mark.usefixtures("rotated_on_cpu")
def test_a_model_that_rotates_some_dimensions_only_keeps_its_own_rotation() -> None:
    torch.manual_seed(5)
    config = transformers.GPTNeoXConfig(
        vocab_size=60, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2
    )
    model: Any = transformers.GPTNeoXForCausalLM(config).eval()
    module = sys.modules[type(model).__module__]
    text = list(range(1, 20))
    expected = CausalEngine(model, ScoringMethods()).logprobs([text])[0]
    engine = CausalEngine(model, ScoringMethods())
    engine._rotation = module
    assert engine.logprobs([text])[0] == pytest.approx(expected, abs=1e-6)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("shape", [(2, 5, 3, 8), (3, 32, 128, 128), (1, 9, 7, 80)])
def test_the_kernel_for_gpus_gives_the_numbers_of_plain_operations(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    from wug.models.huggingface.rotary_kernel import rotated

    texts, heads, positions, size = shape
    draw = torch.Generator("cuda").manual_seed(3)
    states = torch.randn(texts, positions, heads, size, generator=draw, device="cuda").to(dtype).transpose(1, 2)
    cos, sin = (torch.randn(texts, positions, size, generator=draw, device="cuda").to(dtype) for _ in range(2))
    swapped = torch.cat([-states[..., size // 2 :], states[..., : size // 2]], -1)
    expected = states * cos[:, None] + swapped * sin[:, None]
    assert torch.equal(rotated(states, cos, sin), expected)
    twice = rotated(states[:1].expand(2, -1, -1, -1), cos[:1], sin[:1])
    assert torch.equal(twice, expected[:1].expand_as(twice))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_model_on_a_gpu_is_rotated_by_the_kernel() -> None:
    model = tiny_architectures.model(tiny_architectures.configuration("llama"))
    texts = tiny_architectures.texts([40, 3, 17], seed=5)
    expected = [tiny_architectures.alone(model, text) for text in texts]
    engine = CausalEngine(copy.deepcopy(model).cuda(), ScoringMethods())
    assert engine._rotation is not None
    for found, right in zip(engine.logprobs(texts), expected, strict=True):
        assert np.abs(found - np.array(right)).max(initial=0) < 1e-4
