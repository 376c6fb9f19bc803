"""Of checkpoints of one training the first is tried in full; a few probes confirm for the others what was found."""

from __future__ import annotations

import copy
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tiny
import tiny_architectures
from wug.models import causal
from wug.models.causal import forward, selftest
from wug.models.huggingface.device_selftest import architecture_digest
from wug.models.spec import Loading, ModelSpec
from wug.requests import Request


@pytest.fixture
def full_trials(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The models that are tried in full, in an environment in which nothing is known of any shape."""
    found: list[str] = []
    plain = selftest._require_causal

    def noted(alone: Any, *given: Any) -> None:
        found.append(type(alone.model).__name__)
        plain(alone, *given)

    monkeypatch.setattr(selftest, "_require_causal", noted)
    monkeypatch.setattr(selftest, "PASSED", {})
    return found


def checkpoint(folder: Path, number: int) -> ModelSpec:
    return ModelSpec("causal", str(tiny.save_causal(folder / f"step-{number}", seed=number)), None, {"device": "cpu"})


def model(name: str = "gpt2", **options: Any) -> Any:
    return tiny_architectures.model(tiny_architectures.configuration(name, **options))


@pytest.mark.parametrize("name", ["gpt2", "gpt_neox", "llama", "gemma2", "mistral"])
def test_a_cached_self_test_gives_the_engine_of_a_full_one(name: str, full_trials: list[str]) -> None:
    first, second = model(name), model(name)
    with torch.no_grad():
        for parameter in second.parameters():
            parameter.mul_(0.9)
    again = copy.deepcopy(second)  # the weights of a model are packed at its first request
    selftest.choose_engine(first, architecture="one")
    quick = selftest.choose_engine(second, architecture="one")
    assert len(full_trials) == 1
    full = selftest.choose_engine(again)
    assert len(full_trials) == 2
    assert replace(quick.methods, output_layer=None, pool=None) == replace(full.methods, output_layer=None, pool=None)
    assert (quick.methods.pool is None) == (full.methods.pool is None)
    assert (quick.methods.output_layer is None) == (full.methods.output_layer is None)
    texts = tiny_architectures.texts([98, 1, 17, 128, 200, 60])
    for a, b in zip(quick.logprobs(texts), full.logprobs(texts), strict=True):
        assert np.array_equal(a, b)


def test_answers_and_identity_of_a_second_checkpoint_are_those_it_has_by_itself(
    tmp_path: Path, full_trials: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = [Request(text) for text in tiny.sentences(40)]
    causal.load(checkpoint(tmp_path, 1))
    beside = causal.load(checkpoint(tmp_path, 2))
    assert len(full_trials) == 1
    monkeypatch.setattr(selftest, "PASSED", {})
    alone = causal.load(checkpoint(tmp_path, 2))
    assert len(full_trials) == 2
    assert (beside.id, beside.options, beside.chunk) == (alone.id, alone.options, alone.chunk)
    assert [answer.logprobs for answer in beside.score(requests)] == [a.logprobs for a in alone.score(requests)]


def test_a_model_for_which_it_is_not_confirmed_is_tried_in_full(
    full_trials: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    selftest.choose_engine(model(), architecture="one")
    blind = model()
    plain = blind.forward

    def by_place(*given: Any, position_ids: Any = None, **more: Any) -> Any:
        """Positions in the row instead of the given ones: right for one text alone, wrong in a tree."""
        return plain(*given, **more)

    blind.forward = by_place
    with caplog.at_level(logging.WARNING, "wug"):
        engine = selftest.choose_engine(blind, architecture="one")
    assert len(full_trials) == 2
    assert engine.methods.layout is None
    assert "sentence by sentence" in caplog.text


def test_what_is_not_good_in_every_way_is_tried_in_full_each_time(
    full_trials: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        caplog.clear()
        with caplog.at_level(logging.WARNING, "wug"):
            selftest.choose_engine(model("gpt_neo", window=50), architecture="one")
        assert "sentence by sentence" in caplog.text  # each run says so
    assert len(full_trials) == 2


def test_the_plain_way_is_not_exchanged_for_trees(full_trials: list[str]) -> None:
    selftest.choose_engine(model(), architecture="one")
    assert selftest.choose_engine(model(), architecture="one", method="plain").methods.layout is None


def test_shapes_are_the_same_for_checkpoints_and_differ_in_what_matters() -> None:
    first, second, other = model(), model(), model("llama")
    usual = Loading()
    assert architecture_digest(first, usual, "cpu") == architecture_digest(second, usual, "cpu")
    second.config._name_or_path = "elsewhere"
    assert architecture_digest(first, usual, "cpu") == architecture_digest(second, usual, "cpu")
    others = [
        architecture_digest(other, usual, "cpu"),
        architecture_digest(first, usual, "cuda"),
        architecture_digest(model().to(torch.bfloat16), usual, "cpu"),
    ]
    second.config.layer_norm_epsilon = 0.1
    others.append(architecture_digest(second, usual, "cpu"))
    assert len({architecture_digest(first, usual, "cpu"), *others}) == 5


@pytest.mark.parametrize(
    "how",
    [
        Loading(trust_remote_code=True),
        Loading(quantize="int8"),
        Loading(adapter=Path("somewhere")),
        Loading(device_map="auto"),
        Loading(gguf="model.gguf"),
    ],
)
def test_what_is_more_than_its_class_and_configuration_has_no_shape(how: Loading) -> None:
    assert architecture_digest(model(), how, "cpu") is None


def test_attention_of_cudnn_is_disabled_meanwhile() -> None:
    from torch.backends.cuda import cudnn_sdp_enabled

    before = cudnn_sdp_enabled()
    with forward._without_cudnn_attention(torch.device("cuda")):
        assert not cudnn_sdp_enabled()
    assert cudnn_sdp_enabled() == before
