"""A device that computes something else than the CPU is noticed, and left unless it was asked for."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import torch
from transformers import T5Config, T5ForConditionalGeneration

import tiny_architectures
from wug.models.huggingface import device_selftest, loading
from wug.models.spec import Loading, ModelSpec


class Elsewhere(torch.nn.Module):
    """A model that believes itself on a GPU once it is moved; there its answers are off by `fault`."""

    def __init__(self, inner: Any, fault: Any) -> None:
        super().__init__()
        self.inner, self.fault, self.where = inner, fault, "cpu"

    @property
    def config(self) -> Any:
        return self.inner.config

    @property
    def dtype(self) -> Any:
        return self.inner.dtype

    @property
    def device(self) -> Any:
        return torch.device("cpu")

    def get_input_embeddings(self) -> Any:
        return self.inner.get_input_embeddings()

    def to(self, *where: Any, **_: Any) -> Elsewhere:
        self.where = str(where[0])
        return self

    def forward(self, input_ids: Any, **inputs: Any) -> Any:
        answer = self.inner(input_ids=input_ids, **inputs)
        if self.where != "cpu":
            answer.logits = self.fault(answer.logits)
        return answer


def moved(fault: Any, *, required: bool = False, dtype: Any = torch.float32, name: str = "gpt2") -> Elsewhere:
    model = tiny_architectures.model(tiny_architectures.configuration(name)).to(dtype)
    settled: Elsewhere = device_selftest.move_to_device(Elsewhere(model, fault), "mps", required=required)
    return settled


def noisy(logits: Any) -> Any:
    return logits + torch.linspace(0, 3, logits.shape[-1])


def test_a_device_that_computes_the_same_is_used(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "wug"):
        assert moved(lambda logits: logits + 1e-5).where == "mps"
    assert not [record for record in caplog.records if record.name == "wug"]


@pytest.mark.parametrize(
    "fault",
    [
        noisy,
        lambda logits: logits.roll(1, dims=1),  # the answers of other places
        lambda logits: logits * torch.nan,
        lambda logits: torch.cat([logits[:, :-1], logits[:, -1:] * 1.1], dim=1),  # one place alone
    ],
)
def test_a_device_that_computes_something_else_is_left(fault: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "wug"):
        assert moved(fault).where == "cpu"
    assert "differ from the CPU's" in caplog.text
    assert "Continuing on the CPU" in caplog.text


def test_a_device_that_was_requested_is_kept_with_a_notice(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "wug"):
        assert moved(noisy, required=True).where == "mps"
    assert "used as you asked" in caplog.text


def test_a_device_that_cannot_compute_the_model_is_left(caplog: pytest.LogCaptureFixture) -> None:
    def missing(_: Any) -> Any:
        raise RuntimeError("aten::cumsum is not implemented for this device")

    with caplog.at_level(logging.WARNING, "wug"):
        assert moved(missing).where == "cpu"
    assert "cannot be computed there (aten::cumsum" in caplog.text


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_measured_by_float32_with_room_for_its_rounding(dtype: Any) -> None:
    assert moved(lambda logits: logits, dtype=dtype).where == "mps"
    assert moved(noisy, dtype=dtype).where == "cpu"
    assert moved(lambda logits: logits, dtype=dtype).dtype is dtype


def test_a_gpu_that_may_shorten_products_has_more_room() -> None:
    before = torch.get_float32_matmul_precision()
    strict = device_selftest.tolerance(torch.float32)
    try:
        torch.set_float32_matmul_precision("high")
        assert device_selftest.tolerance(torch.float32) > strict
    finally:
        torch.set_float32_matmul_precision(before)


def test_the_first_model_of_a_shape_gets_the_full_self_test_the_others_a_short_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(device_selftest, "PASSED", set())
    lengths: list[list[int]] = []
    measure = device_selftest._logprobs

    def noted(model: Any, probes: list[list[int]]) -> Any:
        lengths.append([len(probe) for probe in probes])
        return measure(model, probes)

    monkeypatch.setattr(device_selftest, "_logprobs", noted)
    model = tiny_architectures.model(tiny_architectures.configuration("gpt2"))

    def place(fault: Any) -> str:
        settled: Elsewhere = device_selftest.move_to_device(
            Elsewhere(model, fault), "mps", required=False, architecture="one"
        )
        return settled.where

    assert place(noisy) == "cpu"
    assert place(lambda logits: logits) == "mps"  # the first on which the device was right
    assert place(lambda logits: logits) == "mps"
    assert place(noisy) == "cpu"
    # Each is measured on the CPU and on the device.
    assert lengths == [[3, 24, 128]] * 4 + [[3, 24]] * 4


def test_a_text_to_text_model_is_measured_too(caplog: pytest.LogCaptureFixture) -> None:
    config = T5Config(vocab_size=60, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, decoder_start_token_id=0)
    torch.manual_seed(0)
    model = T5ForConditionalGeneration(config).eval()
    assert device_selftest.move_to_device(Elsewhere(model, lambda logits: logits), "mps", required=False).where == "mps"
    assert device_selftest.move_to_device(Elsewhere(model, noisy), "mps", required=False).where == "cpu"


def test_loading_asks_whether_the_device_can_be_trusted(tiny_causal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, bool]] = []

    def settle(model: Any, device: str, *, required: bool, architecture: str | None) -> Any:
        assert architecture is not None
        seen.append((device, required))
        return model

    monkeypatch.setattr(device_selftest, "move_to_device", settle)
    for options in ({}, {"device": "auto"}, {"device": "mps"}):
        spec = ModelSpec("causal", str(tiny_causal()), options=options)
        loading.load(spec, "AutoModelForCausalLM", Loading(device="mps"))
    assert seen == [("mps", False), ("mps", False), ("mps", True)]
