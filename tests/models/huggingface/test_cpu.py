"""A model with packed weights, used by several threads, gives the same numbers as before."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import torch

import tiny_architectures
from case_selection import each_kind
from wug.models.causal.selftest import choose_engine
from wug.models.huggingface.cpu import ThreadPool, linear, multiplies, prepack

LAYERS = [("gpt2", "c_fc"), ("llama", "up_proj"), ("gpt_neox", "dense"), ("opt", "fc1")]
PACKED = [(wanted, *layer) for wanted in ("auto", "plain") for layer in LAYERS]
TRIED = each_kind(PACKED, lambda case: case[1])
LENGTHS = [98, 1, 2, 17, 128, 200, 60, 129, 41, 17, 3, 127]


def packed_layers(model: Any) -> list[str]:
    return [name for name, layer in model.named_modules() if getattr(layer, "weight", layer) is None]


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize(("wanted", "name", "layer"), TRIED)
def test_packed_weights_and_threads_give_the_numbers_of_the_plain_model(name: str, layer: str, wanted: str) -> None:
    model = tiny_architectures.model(tiny_architectures.configuration(name))
    texts = tiny_architectures.texts(LENGTHS, seed=11)
    expected = [tiny_architectures.alone(model, text) for text in texts]  # before anything is packed
    engine = choose_engine(model, method=wanted)
    assert engine.methods.pool is not None
    assert any(found.endswith(layer) for found in packed_layers(model))
    for found, right in zip(engine.logprobs(texts), expected, strict=True):
        assert np.abs(found - np.array(right)).max(initial=0) < 5e-5


def test_what_a_second_layout_would_double_stays_as_it_is() -> None:
    model = tiny_architectures.model(tiny_architectures.configuration("llama", tie_word_embeddings=False))
    choose_engine(model)
    assert model.lm_head.weight is not None
    assert model.model.embed_tokens.weight is not None


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_undoing_gives_the_weights_back(name: str) -> None:
    model = tiny_architectures.model(tiny_architectures.configuration(name))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    (text,) = tiny_architectures.texts([30])
    expected = tiny_architectures.alone(model, text)
    undo = prepack(model)
    assert packed_layers(model)
    undo()
    assert not packed_layers(model)
    assert before.keys() == model.state_dict().keys()
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert tiny_architectures.alone(model, text) == expected


def test_a_model_that_packed_weights_make_wrong_gets_its_own_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def slightly_wrong(weight: Any, bias: Any, values: Any) -> Any:
        return linear(weight, bias, values) + 0.5

    model = tiny_architectures.model(tiny_architectures.configuration("llama"))
    texts = tiny_architectures.texts(LENGTHS, seed=3)
    expected = [tiny_architectures.alone(model, text) for text in texts]
    monkeypatch.setattr("wug.models.huggingface.cpu.linear", slightly_wrong)
    engine = choose_engine(model)
    assert not packed_layers(model)
    assert engine.methods.layout is not None
    for found, right in zip(engine.logprobs(texts), expected, strict=True):
        assert np.abs(found - np.array(right)).max(initial=0) < 5e-5


def test_half_precision_is_not_packed() -> None:
    assert multiplies(torch.zeros(2, 2)) == torch.backends.mkldnn.is_available()
    assert not multiplies(torch.zeros(2, 2, dtype=torch.bfloat16))
    model = tiny_architectures.model(tiny_architectures.configuration("llama")).to(torch.bfloat16)
    choose_engine(model)
    assert not packed_layers(model)


@pytest.mark.usefixtures("two_threads")
def test_code_that_a_model_brings_along_is_run_by_one_thread() -> None:
    model = tiny_architectures.model(tiny_architectures.configuration("llama"))
    seen = set()
    model.register_forward_pre_hook(lambda *_: seen.add(threading.get_ident()))
    choose_engine(model, remote_code=True).logprobs(tiny_architectures.texts(LENGTHS))
    assert seen == {threading.get_ident()}


@pytest.mark.usefixtures("two_threads")
def test_workers_compute_by_themselves_and_share_out_no_further() -> None:
    workers = ThreadPool(2)
    assert workers.free == 2
    assert torch.get_num_threads() == 2
    both_here = threading.Barrier(2)

    def look(number: int) -> tuple[int, int, int, list[int]]:
        both_here.wait()
        return number, torch.get_num_threads(), workers.free, workers.map(lambda inner: inner + number, [1, 2])

    assert workers.map(look, [10, 20]) == [(10, 1, 1, [11, 12]), (20, 1, 1, [21, 22])]
    assert workers.map(lambda _: threading.get_ident(), [0]) == [threading.get_ident()]
