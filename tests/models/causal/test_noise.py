"""The self-test measures the rounding noise of a model, and no noise hides a wrong mask, window or position."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from case_selection import each_kind
from wug.models.causal.attention_windows import Reach
from wug.models.causal.forward import CausalEngine, ScoringMethods
from wug.models.causal.noise import MAX_NATS, Noise, smallest_tolerance, structural_copy
from wug.models.causal.selftest import choose_engine

torch: Any = pytest.importorskip("torch")
transformers: Any = pytest.importorskip("transformers")

DTYPES = ("float32", "bfloat16")
DEPTHS = (2, 32)
SPREADS = (0.05, 0.2)
"""Standard deviations of weights: with small ones, errors are far below the noise of half precision."""
COMMON: dict[str, Any] = {"vocab_size": 200, "max_position_embeddings": 512}
SHAPE: dict[str, Any] = {"hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4, "num_key_value_heads": 4}


def made(model: Any, dtype: str) -> Any:
    return model.eval().to(getattr(torch, dtype))


def llama(layers: int, dtype: str, spread: float = 0.2, cls: Any = None) -> Any:
    torch.manual_seed(7)
    config = transformers.LlamaConfig(num_hidden_layers=layers, initializer_range=spread, **COMMON, **SHAPE)
    return made((cls or transformers.LlamaForCausalLM)(config), dtype)


def windowed(layers: int, dtype: str) -> Any:
    """Every second layer sees the nearest 16 tokens only."""
    torch.manual_seed(7)
    kinds = ["sliding_attention", "full_attention"] * (layers // 2)
    config = transformers.Qwen2Config(
        num_hidden_layers=layers,
        layer_types=kinds,
        use_sliding_window=True,
        sliding_window=16,
        initializer_range=0.2,
        **COMMON,
        **SHAPE,
    )
    return made(transformers.Qwen2ForCausalLM(config), dtype)


class IgnoresPositions(transformers.LlamaForCausalLM):
    """Numbers tokens by their place in the row, whatever positions it is given."""

    def forward(self, input_ids: Any = None, position_ids: Any = None, **given: Any) -> Any:
        return super().forward(input_ids=input_ids, **given)


class MisreadsMasks(transformers.LlamaForCausalLM):
    """Takes what an additive mask has at 0 for hidden, as if it were a boolean mask of hidden tokens."""

    def forward(self, input_ids: Any = None, attention_mask: Any = None, **given: Any) -> Any:
        if attention_mask is not None and attention_mask.dim() == 4:
            causal = torch.ones(attention_mask.shape[-2:], dtype=torch.bool, device=input_ids.device).tril()
            attention_mask = torch.zeros_like(attention_mask).masked_fill(
                ~causal, torch.finfo(attention_mask.dtype).min
            )
        return super().forward(input_ids=input_ids, attention_mask=attention_mask, **given)


def with_row_distances(layers: int, dtype: str, spread: float) -> Any:
    """Attention falls with the distance in the row (ALiBi)."""
    torch.manual_seed(7)
    config = transformers.BloomConfig(
        vocab_size=200, hidden_size=64, n_layer=layers, n_head=4, initializer_range=spread
    )
    return made(transformers.BloomForCausalLM(config), dtype)


FAULTY: dict[str, Callable[[int, str, float], Any]] = {
    "positions": lambda layers, dtype, spread: llama(layers, dtype, spread, IgnoresPositions),
    "masks": lambda layers, dtype, spread: llama(layers, dtype, spread, MisreadsMasks),
    "distances": with_row_distances,
}


FAULTS = list(product(FAULTY, SPREADS, DEPTHS, DTYPES))
SOME_FAULTS = each_kind(FAULTS, lambda case: (case[0], case[3]), most=2)


@pytest.mark.parametrize(("fault", "spread", "layers", "dtype"), SOME_FAULTS)
def test_a_model_for_which_trees_are_wrong_is_scored_without_them(
    fault: str, spread: float, layers: int, dtype: str
) -> None:
    assert choose_engine(FAULTY[fault](layers, dtype, spread)).methods.layout is None


@pytest.mark.parametrize("layers", DEPTHS)
@pytest.mark.parametrize("fault", FAULTY)
def test_so_is_one_of_which_no_copy_can_be_made(fault: str, layers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of one that is quantized, or not all in memory."""
    monkeypatch.setattr("wug.models.causal.selftest.structural_copy", lambda model: None)
    assert choose_engine(FAULTY[fault](layers, "bfloat16", 0.05)).methods.layout is None
    assert choose_engine(llama(layers, "bfloat16")).methods.layout == Reach()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layers", DEPTHS)
def test_a_window_is_kept_in_trees(layers: int, dtype: str) -> None:
    layout = choose_engine(windowed(layers, dtype)).methods.layout
    assert layout == {"full_attention": Reach(), "sliding_attention": Reach(window=16)}


@pytest.mark.parametrize("layers", DEPTHS)
def test_a_missing_window_shows_on_the_small_copy(layers: int) -> None:
    few = structural_copy(windowed(layers, "bfloat16"))
    assert few is not None
    assert few.dtype == torch.float32
    assert few.config.layer_types == ["sliding_attention", "full_attention"]
    text = list(range(1, 60))
    right = CausalEngine(few, ScoringMethods()).logprobs([text])[0]
    wrong = CausalEngine(few, ScoringMethods(layout=Reach())).logprobs([text, [*text[:30], 5, 6]])[0]
    assert np.abs(right - wrong).max() > 0.01


@pytest.mark.parametrize("layers", DEPTHS)
def test_trees_stay_on_where_only_rounding_differs(layers: int) -> None:
    engine = choose_engine(llama(layers, "bfloat16"), method="tree")
    assert engine.methods.layout == Reach()
    assert engine.noise is not None
    assert engine.noise.largest > 0


def test_trees_differ_from_single_texts_by_the_noise_on_texts_that_were_not_probed() -> None:
    model = llama(32, "bfloat16")
    draw = np.random.default_rng(3)
    start = draw.integers(1, 200, 12).tolist()
    texts = [[*start, *draw.integers(1, 200, 12).tolist()] for _ in range(40)]
    engine = choose_engine(model)
    pairs = zip(CausalEngine(model, ScoringMethods()).logprobs(texts), engine.logprobs(texts), strict=True)
    gaps = np.concatenate([np.abs(alone - tree) for alone, tree in pairs])
    assert engine.noise is not None
    assert gaps.max() <= engine.noise.tolerance(model.dtype)


def test_the_model_is_as_before_once_its_copy_is_made() -> None:
    model = windowed(4, "bfloat16")
    before = (list(model.model.layers), list(model.config.layer_types), model.config.num_hidden_layers)
    assert structural_copy(model) is not None
    assert (list(model.model.layers), list(model.config.layer_types), model.config.num_hidden_layers) == before


def test_a_model_whose_layers_are_not_found_has_no_copy() -> None:
    torch.manual_seed(7)
    model = made(transformers.GPT2LMHeadModel(transformers.GPT2Config(n_layer=2, n_embd=32, n_head=4)), "bfloat16")
    model.config.n_layer = 5
    assert structural_copy(model) is None


def test_the_tolerance_follows_the_noise_within_bounds() -> None:
    assert Noise(0.0).tolerance(torch.bfloat16) == smallest_tolerance(torch.bfloat16)
    assert Noise(0.14).tolerance(torch.bfloat16) == pytest.approx(0.56)
    assert Noise(4.6e-5).tolerance(torch.float32) == pytest.approx(1.84e-4)
    assert Noise(1.0).tolerance(torch.float32) == MAX_NATS["torch.float32"]


def test_trees_stay_on_for_a_model_that_is_partly_on_disk(tmp_path: Path) -> None:
    accelerate = pytest.importorskip("accelerate")
    model = llama(6, "bfloat16")
    texts = [[1, 2, 3, 4, 5, 6], [1, 2, 3, 9, 8]]
    expected = CausalEngine(model, ScoringMethods()).logprobs(texts)
    devices = {"model.embed_tokens": "cpu", "model.norm": "cpu", "model.rotary_emb": "cpu", "lm_head": "cpu"}
    devices |= {f"model.layers.{number}": "cpu" if number < 3 else "disk" for number in range(6)}
    model = accelerate.dispatch_model(model, devices, main_device="cpu", offload_dir=str(tmp_path))
    assert any(parameter.is_meta for parameter in model.parameters())
    engine = choose_engine(model)
    assert engine.methods.layout == Reach()
    for found, wanted in zip(engine.logprobs(texts), expected, strict=True):
        assert found == pytest.approx(wanted, abs=0.15)
