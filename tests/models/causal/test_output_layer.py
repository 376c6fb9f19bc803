"""The output layer in blocks gives the numbers of the model's own logits, in little memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tiny_architectures
from case_selection import cases, share
from command_line import run_python
from wug.errors import ModelError
from wug.models.causal import output_layer
from wug.models.causal.boundaries import WordStarts
from wug.models.causal.forward import CausalEngine, ScoringMethods
from wug.models.causal.selftest import choose_engine
from wug.models.tokenization.ragged import Ragged

MODELS: dict[str, dict[str, Any]] = {
    "gpt2": {},
    "llama": {},
    "mistral": {"window": 40},
    "gemma2": {"window": 33, "final_logit_softcapping": 4.0},
    "gemma3_text": {"window": 40},
    "cohere": {"logit_scale": 0.3},
    "granite": {"logits_scaling": 3.2},
    "opt": {},
    "phi": {},
    "gptj": {},
    "bloom": {},
    "mpt": {},
    "falcon": {},
    "qwen3": {"window": 40},
    "olmo2": {},
    "gpt_neox": {},
    "modernbert-decoder": {"window": 40},
    "mamba": {},
    "xglm": {},
}
LENGTHS = [3, 71, 19, 1, 150, 2, 44, 19, 128, 7]
"""None of them the length of a probe of the trial, but for a row's."""


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the 211 words of the tiny models are in four blocks, the last not full, and positions in several."""
    monkeypatch.setattr(output_layer, "BLOCK_SIZE", (13, 64))


def tiny(name: str, **settings: Any) -> Any:
    made = tiny_architectures.model(tiny_architectures.configuration(name, **settings))
    layer = made.get_output_embeddings()
    if layer.bias is not None:
        torch.nn.init.normal_(layer.bias, std=2.0)
    return made


def gap(found: list[Any], expected: list[Any]) -> float:
    return max(
        float(np.abs(np.asarray(a) - np.asarray(b)).max(initial=0)) for a, b in zip(found, expected, strict=True)
    )


@pytest.mark.parametrize("name", share(MODELS, 3))
def test_blocks_give_the_log_softmax_of_the_whole_logits(name: str) -> None:
    model = tiny(name, **MODELS[name])
    engine = choose_engine(model)
    assert engine.methods.output_layer is not None
    texts = tiny_architectures.texts(LENGTHS, seed=23)
    expected = [tiny_architectures.alone(model, text) for text in texts]
    assert gap(engine.logprobs(texts), expected) < 5e-5


@pytest.mark.parametrize("name", share(MODELS, 3))
def test_all_words_at_once_give_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU: with words that fill up the matrix, 211 to 256, and log-probabilities instead of sums."""
    monkeypatch.setattr(output_layer, "MAX_GPU_POSITIONS", 17)
    model = tiny(name, **MODELS[name])
    found = output_layer.find_output_layer(model, [3, 1, 4])
    filled_up = output_layer.OutputLayer(model.get_output_embeddings(), found.adjustment, at_once=True)
    assert len(filled_up._weight) == 256
    texts = tiny_architectures.texts(LENGTHS, seed=29)
    expected = [tiny_architectures.alone(model, text) for text in texts]
    assert gap(CausalEngine(model, ScoringMethods(output_layer=filled_up)).logprobs(texts), expected) < 5e-5


def test_all_words_at_once_close_words_too() -> None:
    model = tiny("gpt2")
    starts = WordStarts(np.arange(0, 211, 3), np.arange(1, 211, 2))
    blocks = choose_engine(model, word_starts=starts)
    filled_up = output_layer.OutputLayer(model.get_output_embeddings(), output_layer.Adjustment(), at_once=True)
    texts = tiny_architectures.texts(LENGTHS, seed=31)
    engine = CausalEngine(model, replace(blocks.methods, output_layer=filled_up), word_starts=starts)
    assert gap(engine.logprobs(texts), blocks.logprobs(texts)) < 5e-5


@pytest.mark.parametrize("name", share(MODELS, 3))
def test_blocks_round_as_the_model_does_in_half_precision(name: str) -> None:
    """Each text alone: in company the layers below round otherwise, which has nothing to do with the output."""
    model = tiny(name, **MODELS[name]).to(torch.bfloat16)
    engine = choose_engine(model)
    assert engine.methods.output_layer is not None
    texts = tiny_architectures.texts(LENGTHS, seed=23)
    one_by_one = CausalEngine(model, type(engine.methods)(output_layer=engine.methods.output_layer))
    expected = [tiny_architectures.alone(model, text) for text in texts]
    assert gap([one_by_one.logprobs([text])[0] for text in texts], expected) < 0.02


def test_biases_caps_and_scales_matter_in_these_models() -> None:
    """Else the tests above could not fail."""
    (text,) = tiny_architectures.texts([60])
    changes: dict[str, dict[str, Any]] = {"gemma2": {"final_logit_softcapping": None}, "cohere": {"logit_scale": 1.0}}
    unchanged: dict[str, Any] = {}
    for name, change in changes.items():
        a, b = (
            tiny_architectures.alone(tiny(name, **{**MODELS[name], **other}), text) for other in (unchanged, change)
        )  # fmt: skip
        assert gap([a], [b]) > 1
    assert tiny("gptj").get_output_embeddings().bias is not None
    assert tiny("phi").get_output_embeddings().bias is not None


@pytest.mark.parametrize(
    ("name", "scale", "cap"),
    [("gpt2", 1, np.inf), ("gemma2", 1, 4), ("cohere", 0.3, np.inf), ("granite", 1 / 3.2, np.inf)],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_a_model_does_to_its_logits_is_measured(name: str, scale: float, cap: float, dtype: Any) -> None:
    found = output_layer.find_output_layer(tiny(name, **MODELS[name]).to(dtype), [5, 6, 7]).adjustment
    assert found.scale == pytest.approx(scale, rel=1e-6)
    assert found.cap == pytest.approx(cap)


def altered(change: Any) -> Any:
    """A GPT-2 that changes its logits at the end of its forward pass."""
    model = tiny("gpt2")
    forward = model.forward

    def changed(*args: Any, **inputs: Any) -> Any:
        outputs = forward(*args, **inputs)
        outputs.logits = change(outputs.logits)
        return outputs

    model.forward = changed
    return model


@pytest.mark.parametrize(
    "change",
    [
        lambda logits: logits + torch.arange(logits.shape[-1]) / 100,
        lambda logits: logits.clamp(-100, 100),  # farther out than any logit of a probe
        lambda logits: logits + 0.3 * logits.roll(1, -1),
        lambda logits: torch.asinh(logits),
    ],
    ids=["a bias", "clipped", "mixed", "bent"],
)
def test_a_model_that_changes_its_logits_otherwise_computes_them_itself(change: Any) -> None:
    model = altered(change)
    with pytest.raises(ModelError, match="in an unknown way"):
        output_layer.find_output_layer(model, [5, 6, 7])
    engine = choose_engine(model)
    assert engine.methods.output_layer is None
    texts = tiny_architectures.texts(LENGTHS, seed=29)
    assert gap(engine.logprobs(texts), [tiny_architectures.alone(model, text) for text in texts]) < 5e-5


def test_an_output_that_depends_on_the_place_is_found_by_the_trial() -> None:
    def later_ones_are_flat(logits: Any) -> Any:
        return torch.cat([logits[:, :4], logits[:, 4:] / 2], dim=1)

    model = altered(later_ones_are_flat)
    output_layer.find_output_layer(model, [5, 6, 7])  # the first place shows nothing
    engine = choose_engine(model, method="plain")
    assert engine.methods.output_layer is None
    texts = tiny_architectures.texts(LENGTHS, seed=31)
    assert gap(engine.logprobs(texts), [tiny_architectures.alone(model, text) for text in texts]) < 5e-5


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("words", [None, WordStarts(np.arange(3, 211, 3), np.array([1, 2, 70, 130, 2]))])
def test_threads_and_blocks_change_nothing(words: WordStarts | None) -> None:
    model = tiny("gpt2")
    engine = choose_engine(model, word_starts=words)
    assert engine.methods.output_layer is not None
    assert torch.get_num_threads() == 2
    whole = CausalEngine(model, type(engine.methods)(), word_starts=words)
    texts = tiny_architectures.texts(LENGTHS, seed=37)
    assert gap(engine.logprobs(texts), [whole.logprobs([text])[0] for text in texts]) < 5e-5


def test_a_place_is_computed_once_however_often_it_is_asked() -> None:
    engine = choose_engine(tiny("llama"))
    texts = tiny_architectures.texts([9]) * 50 + tiny_architectures.texts([30, 30])
    seen = []
    blocks = engine.methods.output_layer.blocks  # type: ignore[union-attr]

    def counted(states: Any) -> Any:
        seen.append(len(states))
        return blocks(states)

    engine.methods.output_layer.blocks = counted  # type: ignore[method-assign, union-attr]
    batches = engine.plan(Ragged.of(texts))
    engine.logprobs(texts)
    assert sum(seen) == sum(len(np.unique(batch.parents)) for batch in batches)


MEMORY = """
import resource, sys
import torch
sys.path.insert(0, sys.argv[1])
import tiny_architectures
from wug.models.causal.selftest import choose_engine
torch.set_num_threads(1)
config = tiny_architectures.configuration("gemma2", vocab_size=int(sys.argv[2]), hidden_size=8)
tiny_architectures.LARGEST = 10_000_000
model = tiny_architectures.model(config)
engine = choose_engine(model)
assert engine.methods.output_layer is not None and engine.nodes == 1024
texts = tiny_architectures.texts([100] * 12, seed=3)
engine.logprobs(texts[:1])
# Peaks only rise: what loading took is filled up, so that anything more is seen.
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
current = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
filler = torch.ones(max(0, peak() - current) // 4)
before = peak()
engine.logprobs(texts)
print(peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize("words", cases([32_000], [64_000, 256_000]))
def test_a_large_vocabulary_takes_little_memory(words: int) -> None:
    """The logits of a batch of 1,024 places would be 125 MB, or up to a gigabyte."""
    folder = Path(tiny_architectures.__file__).parent
    output = run_python("-c", MEMORY, folder, words)
    assert output.code == 0, output.err
    assert int(output.out) < 60 << 20
