"""Models in fewer bits, on several devices, with adapters and in GGUF files, against plain forward passes."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

from tiny import save_causal, sentences
from tiny_gguf import save_gguf
from tiny_masked import save_masked
from tiny_seq2seq import save_seq2seq
from wug.errors import InputError, MissingExtra, ModelError
from wug.models import causal, masked, seq2seq
from wug.models.huggingface import adapters, loading, quantization
from wug.models.spec import ModelSpec
from wug.requests import Request

TEXTS = sentences(40)
CLOSE = 1e-4
"""Nats, in float32."""


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama whose matrices have rows of whole blocks of 64 numbers."""
    folder = tmp_path_factory.mktemp("models") / "llama"
    return save_causal(folder, "llama", hidden_size=64, intermediate_size=128)


def opened(folder: Path, **options: str) -> causal.CausalModel:
    return causal.load(ModelSpec("causal", str(folder), None, options))


def scored(model: causal.CausalModel) -> npt.NDArray[np.float64]:
    return np.concatenate([np.array(answer.logprobs) for answer in model.score([Request(text) for text in TEXTS])])


def forward(model: Any, folder: Path) -> npt.NDArray[np.float64]:
    """The log-probabilities of the texts, each asked by itself by transformers."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    found = []
    for text in TEXTS:
        ids = torch.tensor([[tokenizer.bos_token_id, *tokenizer(text, add_special_tokens=False)["input_ids"]]])
        with torch.inference_mode():
            shares = model(input_ids=ids).logits[0].double().log_softmax(-1)
        found.append(shares[:-1].gather(1, ids[0, 1:, None])[:, 0].numpy())
    return np.concatenate(found)


def plain(folder: Path, **settings: Any) -> Any:
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, **settings).eval()


def rounded_to_8_bits(weight: Any) -> Any:
    """Each row in whole steps, of which its largest number has 127.5; rounding decides where that one goes."""
    step = weight.abs().amax(dim=1, keepdim=True) / 127.5
    return (weight * (1.0 / step)).round().clamp(-128, 127) * step


def shortened(folder: Path, shorten: Callable[[Any], Any]) -> Any:
    """The model with the matrices of its layers rounded."""
    model = plain(folder)
    for name, layer in model.named_modules():
        if name.endswith("_proj"):
            layer.weight.data = shorten(layer.weight.data)
    return model


def rounded_to_4_bits(weight: Any) -> Any:
    """As bitsandbytes gives the matrix back."""
    from bitsandbytes.functional import dequantize_4bit, quantize_4bit

    return dequantize_4bit(*quantize_4bit(weight, quant_type="nf4"))


def test_8_bits_score_as_rounded_weights_do_in_trees_and_alone(llama: Path) -> None:
    pytest.importorskip("torchao")
    model = opened(llama, quantize="int8", engine="tree")
    assert np.abs(scored(model) - forward(shortened(llama, rounded_to_8_bits), llama)).max() < CLOSE
    assert np.abs(scored(model) - scored(opened(llama, quantize="int8", engine="plain"))).max() < CLOSE
    assert np.abs(scored(model) - forward(plain(llama), llama)).max() > 100 * CLOSE


def test_4_bits_score_as_unpacked_weights_do_in_trees_and_alone(llama: Path) -> None:
    pytest.importorskip("bitsandbytes")
    model = opened(llama, quantize="int4", engine="tree")
    assert np.abs(scored(model) - scored(opened(llama, quantize="int4", engine="plain"))).max() < CLOSE
    assert np.abs(scored(model) - forward(shortened(llama, rounded_to_4_bits), llama)).max() < CLOSE
    assert np.abs(scored(model) - forward(plain(llama), llama)).max() > 100 * CLOSE


@pytest.mark.parametrize(("quantize", "package"), [("int8", "torchao"), ("int4", "bitsandbytes")])
def test_fewer_bits_are_in_the_signature_which_files_tell_before_loading(
    llama: Path, quantize: str, package: str
) -> None:
    pytest.importorskip(package)
    options = {"quantize": quantize}
    model, told = opened(llama, **options), causal.identify(ModelSpec("causal", str(llama), None, options))
    assert told is not None
    assert (told.id, told.options) == (model.id, model.options)
    assert model.options == {**opened(llama).options, "quantize": {"int8": "int8", "int4": "nf4"}[quantize]}


def test_a_layer_that_is_misread_is_refused(llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("bitsandbytes")
    import bitsandbytes as bnb

    right = bnb.nn.Linear4bit.forward
    monkeypatch.setattr(bnb.nn.Linear4bit, "forward", lambda self, inputs: right(self, inputs).flip(-1))
    with pytest.raises(ModelError, match=r"quantize=int4 on cpu: layer .*proj \(64 to 64\) is off by \d+% where 9%"):
        opened(llama, quantize="int4")


def test_a_layer_that_cannot_be_computed_is_refused(llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("bitsandbytes")
    import bitsandbytes as bnb

    def broken(self: Any, inputs: Any) -> Any:
        raise RuntimeError("shape '[256, 10]' is invalid")

    monkeypatch.setattr(bnb.nn.Linear4bit, "forward", broken)
    with pytest.raises(ModelError, match=r"cannot be computed \(shape .* is invalid\)\. Use quantize=int8"):
        opened(llama, quantize="int4")


def test_a_model_without_layers_that_can_be_shortened_is_refused(tiny_causal: Callable[..., Path]) -> None:
    """GPT-2's matrices have another layer type, which torchao leaves unchanged."""
    pytest.importorskip("torchao")
    with pytest.raises(ModelError, match="quantize=int8 changes none of its layers"):
        opened(tiny_causal("gpt2"), quantize="int8")


def test_what_is_not_installed_is_said_with_the_command(llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bitsandbytes", None)
    with pytest.raises(MissingExtra, match=r"quantize=int4 needs .* pip install 'wug\[bigger\]'"):
        quantization.quantization_settings("int4", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"device_map=auto needs .* pip install 'wug\[bigger\]'"):
        loading._require("accelerate", "device_map=auto")


def test_a_spread_out_model_is_the_same_model(llama: Path) -> None:
    pytest.importorskip("accelerate")
    here, spread = opened(llama), opened(llama, device_map="auto")
    assert (spread.id, spread.options) == (here.id, here.options)
    assert np.abs(scored(spread) - scored(here)).max() < CLOSE


def test_layers_that_have_no_room_are_read_from_disk(llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("accelerate")
    expected = forward(plain(llama), llama)
    monkeypatch.setattr("transformers.integrations.accelerate.get_max_memory", lambda *_: {"cpu": 350_000})
    model = opened(llama, device_map="auto", engine="tree")
    assert any(tensor.is_meta for tensor in model.engine.model.parameters())
    assert np.abs(scored(model) - expected).max() < CLOSE


def test_one_device_and_several_are_not_requested_together(llama: Path) -> None:
    with pytest.raises(InputError, match="Leave one of the two out"):
        opened(llama, device_map="auto", device="cpu")


def save_adapter(base: Path, folder: Path, seed: int, **settings: Any) -> Path:
    """A LoRA adapter of random weights for two matrices of each layer."""
    peft = pytest.importorskip("peft")

    torch.manual_seed(seed)
    config = peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False, **settings)
    peft.get_peft_model(plain(base), config).save_pretrained(folder)
    return folder


def test_an_adapter_scores_as_peft_does(llama: Path, tmp_path: Path) -> None:
    adapter = save_adapter(llama, tmp_path / "adapter", 1)
    import peft

    model = opened(llama, adapter=str(adapter), engine="tree")
    expected = forward(peft.PeftModel.from_pretrained(plain(llama), adapter).eval(), llama)
    assert np.abs(scored(model) - expected).max() < CLOSE
    assert np.abs(expected - forward(plain(llama), llama)).max() > 100 * CLOSE


@pytest.mark.parametrize(
    ("quantize", "package", "shorten"),
    [("int8", "torchao", rounded_to_8_bits), ("int4", "bitsandbytes", rounded_to_4_bits)],
)
def test_an_adapter_on_top_of_fewer_bits_scores_as_peft_does_on_rounded_weights(
    llama: Path, tmp_path: Path, quantize: str, package: str, shorten: Callable[[Any], Any]
) -> None:
    pytest.importorskip(package)
    adapter = save_adapter(llama, tmp_path / "adapter", 1)
    import peft

    expected = forward(peft.PeftModel.from_pretrained(shortened(llama, shorten), adapter).eval(), llama)
    model = opened(llama, adapter=str(adapter), quantize=quantize, engine="tree")
    assert np.abs(scored(model) - expected).max() < CLOSE


def test_two_adapters_are_two_models_whatever_their_folders_are_called(llama: Path, tmp_path: Path) -> None:
    one, other = (save_adapter(llama, tmp_path / str(seed) / "adapter", seed) for seed in (1, 2))
    first, second = (opened(llama, adapter=str(folder)) for folder in (one, other))
    assert first.options == second.options == {**opened(llama).options, "adapter": "adapter"}
    assert len({first.id, second.id, opened(llama).id}) == 3
    told = causal.identify(ModelSpec("causal", str(llama), None, {"adapter": str(one)}))
    assert told is not None
    assert (told.id, told.options) == (first.id, first.options)


def test_an_adapter_of_another_model_is_refused(llama: Path, tmp_path: Path) -> None:
    deeper = save_causal(tmp_path / "deeper", "llama", hidden_size=64, intermediate_size=128, num_hidden_layers=3)
    adapter = save_adapter(deeper, tmp_path / "adapter", 1)
    with pytest.raises(ModelError, match=r"weights are for no layer of this model .*trained on another model"):
        opened(llama, adapter=str(adapter))
    shallow = save_adapter(llama, tmp_path / "shallow", 1)
    with pytest.raises(ModelError, match=r"weights are not in the adapter .*trained on another model"):
        opened(deeper, adapter=str(shallow))


def test_an_adapter_with_words_of_its_own_is_refused(
    llama: Path, tmp_path: Path, tiny_causal: Callable[..., Path]
) -> None:
    adapter = save_adapter(llama, tmp_path / "adapter", 1)
    shutil.copy(llama / "tokenizer.json", adapter)
    opened(llama, adapter=str(adapter))
    shutil.copy(tiny_causal("llama", "metaspace") / "tokenizer.json", adapter)
    with pytest.raises(ModelError, match="its tokenizer has other words than that of the model"):
        opened(llama, adapter=str(adapter))


def test_what_is_no_adapter_is_refused(llama: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such folder"):
        opened(llama, adapter=str(tmp_path / "nothing"))
    with pytest.raises(ModelError, match=r"no adapter_config\.json"):
        opened(llama, adapter=str(llama))
    with pytest.raises(ModelError, match="It is an adapter: name the model that it was trained on"):
        opened(save_adapter(llama, tmp_path / "adapter", 1))


def change(file: Path, **fields: Any) -> None:
    """Set fields of a JSON file."""
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | fields), encoding="utf-8")


@pytest.mark.parametrize(
    "fields",
    [
        {"megatron_config": {"hidden_size": 64}},
        {"megatron_core": "evil"},
        {"megatron_config": {}, "megatron_core": "megatron.evil"},
        {"peft_type": "XLORA", "adapters": {"0": "elsewhere"}},
    ],
)
def test_an_adapter_that_names_a_module_to_import_is_refused_before_peft_sees_it(
    llama: Path, tmp_path: Path, fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    adapter = save_adapter(llama, tmp_path / "adapter", 1)
    change(adapter / "adapter_config.json", **fields)
    monkeypatch.setitem(sys.modules, "peft", None)  # an import of peft would fail with another message
    with pytest.raises(
        ModelError, match=r"adapter_config\.json sets (megatron_config|megatron_core|adapters), .* refused"
    ):
        opened(llama, adapter=str(adapter))


@pytest.mark.parametrize(
    "fields",
    [
        {"target_modules": "(([a-z_.0-9]+)+)+!"},
        {"exclude_modules": "(([a-z_.0-9]+)+)+!"},
        {"alpha_pattern": {"(([a-z_.0-9]+)+)+!": 8}},
        {"modules_to_save": ["(([a-z_.0-9]+)+)+!"]},
    ],
)
def test_an_adapter_with_an_expression_that_hardly_ends_is_refused(
    llama: Path, tmp_path: Path, fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    adapter = save_adapter(llama, tmp_path / "adapter", 1)
    change(adapter / "adapter_config.json", **fields)
    monkeypatch.setattr(adapters, "MATCHING_S", 1.0)
    with pytest.raises(ModelError, match=r"a regular expression in adapter_config\.json takes more than 1 seconds"):
        opened(llama, adapter=str(adapter))


def test_an_adapter_with_a_harmless_expression_is_taken(llama: Path, tmp_path: Path) -> None:
    adapter = save_adapter(llama, tmp_path / "adapter", 1)
    expected = scored(opened(llama, adapter=str(adapter)))
    change(adapter / "adapter_config.json", target_modules=r".*\.self_attn\.(q|v)_proj")
    assert np.abs(scored(opened(llama, adapter=str(adapter))) - expected).max() < CLOSE


@pytest.mark.parametrize("content", ["[]", "{", "null"])
def test_a_damaged_description_of_an_adapter_is_named(llama: Path, tmp_path: Path, content: str) -> None:
    adapter = save_adapter(llama, tmp_path / "adapter", 1)
    (adapter / "adapter_config.json").write_text(content, encoding="utf-8")
    problem = r"adapter_config\.json: (not JSON|expected a JSON object).* Download or copy it again"
    with pytest.raises(ModelError, match=rf"{llama}, adapter={adapter}.*{problem}"):
        opened(llama, adapter=str(adapter))


@pytest.fixture(scope="module")
def gguf_file(tmp_path_factory: pytest.TempPathFactory, llama: Path) -> Path:
    pytest.importorskip("gguf")
    return save_gguf(llama, tmp_path_factory.mktemp("gguf") / "small.gguf")


def test_a_gguf_file_scores_as_the_model_that_it_was_made_of(
    llama: Path, gguf_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    model = opened(gguf_file, engine="tree")
    assert capsys.readouterr().err == ""
    assert np.abs(scored(model) - forward(plain(llama), llama)).max() < CLOSE
    same = opened(gguf_file.parent, gguf=gguf_file.name)
    assert model.id == same.id
    assert model.id.startswith("causal/small.gguf@")


def test_a_gguf_file_of_8_bits_scores_as_its_unpacked_weights(llama: Path, tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf")

    model = opened(save_gguf(llama, tmp_path / "small.gguf", eight_bits=True))
    kind = gguf.GGMLQuantizationType.Q8_0
    rounded = plain(llama)
    for parameter in rounded.parameters():
        if parameter.dim() > 1:
            packed = gguf.quants.quantize(parameter.detach().numpy(), kind)
            parameter.data = torch.from_numpy(gguf.quants.dequantize(packed, kind))
    assert np.abs(scored(model) - forward(rounded, llama)).max() < CLOSE
    assert np.abs(scored(model) - forward(plain(llama), llama)).max() > 10 * CLOSE


def test_gguf_files_that_are_not_there_or_damaged_are_refused(gguf_file: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"It has a GGUF file: -M gguf=small\.gguf"):
        opened(gguf_file.parent)
    with pytest.raises(ModelError, match=r"no such file: .*other\.gguf"):
        opened(gguf_file.parent, gguf="other.gguf")
    with pytest.raises(ModelError, match="a GGUF file has its own number format"):
        opened(gguf_file, quantize="int8")
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(gguf_file.read_bytes()[:5000])
    with pytest.raises(ModelError, match="cannot be loaded"):
        opened(damaged)


def test_a_gguf_file_with_more_layers_than_any_model_has_is_refused_at_once(llama: Path, tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    folder = tmp_path / "deep"
    shutil.copytree(llama, folder)
    change(folder / "config.json", num_hidden_layers=10**9)
    file = save_gguf(folder, tmp_path / "deep.gguf")
    with pytest.raises(ModelError, match=r"deep\.gguf sets llama\.block_count: 1,000,000,000, and at most 10,000"):
        opened(file)


def test_rows_of_no_whole_blocks_are_read_rightly_or_refused(tmp_path: Path) -> None:
    """On CPUs bitsandbytes takes every row to begin with a block (seen in 0.50.2)."""
    pytest.importorskip("bitsandbytes")
    folder = save_causal(tmp_path / "llama", "llama", hidden_size=64, intermediate_size=96)
    weight = plain(folder).model.layers[0].mlp.down_proj.weight.data
    flat = rounded_to_4_bits(weight.reshape(-1, 64)).reshape(weight.shape)
    if float((rounded_to_4_bits(weight) - flat).norm()) < 1e-6:
        expected = shortened(folder, lambda each: rounded_to_4_bits(each.reshape(-1, 64)).reshape(each.shape))
        assert np.abs(scored(opened(folder, quantize="int4")) - forward(expected, folder)).max() < CLOSE
    else:
        with pytest.raises(ModelError, match=r"layer .*down_proj \(96 to 64\) is off by"):
            opened(folder, quantize="int4")


def test_masked_models_take_fewer_bits_and_adapters(tmp_path: Path) -> None:
    peft = pytest.importorskip("peft")
    pytest.importorskip("torchao")

    folder = save_masked(tmp_path / "bert")
    base = AutoModelForMaskedLM.from_pretrained(folder, dtype=torch.float32).eval()
    torch.manual_seed(1)
    config = peft.LoraConfig(r=2, target_modules=["query", "value"], init_lora_weights=False)
    changed = peft.get_peft_model(base, config).eval()
    changed.save_pretrained(tmp_path / "adapter")
    model = masked.load(ModelSpec("masked", str(folder), None, {"adapter": str(tmp_path / "adapter")}))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = tokenizer("the boy", return_tensors="pt")["input_ids"]
    hidden = ids.clone()
    hidden[0, 1] = tokenizer.mask_token_id
    with torch.inference_mode():
        expected = float(changed(input_ids=hidden).logits[0, 1].log_softmax(-1)[ids[0, 1]])
    assert model.score([Request("the boy")])[0].logprobs[0] == pytest.approx(expected, abs=CLOSE)
    assert model.options["adapter"] == "adapter"
    eight = masked.load(ModelSpec("masked", str(folder), None, {"quantize": "int8"}))
    whole = masked.load(ModelSpec("masked", str(folder), None, {}))
    assert eight.options == {**whole.options, "quantize": "int8"}
    rounded, plain = (
        np.array(asked.score([Request("the boy")])[0].logprobs, dtype=np.float64) for asked in (eight, whole)
    )
    assert 0 < np.abs(rounded - plain).max() < 0.5


def test_encoder_decoders_in_8_bits_write_on_pytorch_under_a_signature_of_their_own(tmp_path: Path) -> None:
    pytest.importorskip("torchao")
    folder = save_seq2seq(tmp_path / "t5")
    model = seq2seq.load(ModelSpec("seq2seq", str(folder), None, {"quantize": "int8"}))
    whole = seq2seq.load(ModelSpec("seq2seq", str(folder), None, {"engine": "transformers"}))
    assert model.options == {**whole.options, "quantize": "int8"}
    assert model.id == whole.id
    with pytest.raises(ModelError, match=r"engine=ctranslate is not possible.*leave quantize and adapter out"):
        seq2seq.load(ModelSpec("seq2seq", str(folder), None, {"quantize": "int8", "engine": "ctranslate"}))
