"""A word LSTM comes out of every kind of file as it went in, whatever PyTorch wrote it."""

from __future__ import annotations

import gzip
import os
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from pickles import Call, Named, Reference, legacy, storage, tensor
from wug.errors import InputError, ModelError, WugError
from wug.models import lstm
from wug.models.spec import ModelSpec
from wug.requests import Request

WORDS = "<unk> <eos> the boy swims .".split()
TEXT = "the boy swims ."
KINDS = ["LSTM", "GRU", "RNN_TANH", "RNN_RELU"]


@pytest.fixture
def rnn_model(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The class `model.RNNModel`, as those have it who save whole modules."""

    class RNNModel(torch.nn.Module):
        def __init__(self, kind: str = "LSTM", *, bias: bool = True, tied: bool = False, **settings: Any) -> None:
            super().__init__()
            torch.manual_seed(1)
            if kind.startswith("RNN_"):
                settings["nonlinearity"] = kind[4:].lower()
            self.drop = torch.nn.Dropout(0.2)
            self.encoder = torch.nn.Embedding(len(WORDS), 4)
            self.rnn = getattr(torch.nn, kind[:4].rstrip("_"))(4, 4, 2, dropout=0.2, bias=bias, **settings)
            self.decoder = torch.nn.Linear(settings.get("proj_size", 4), len(WORDS), bias=bias)
            if tied:
                self.decoder.weight = self.encoder.weight
            self.rnn_type, self.nhid, self.nlayers = kind, 4, 2

    module = types.ModuleType("model")
    RNNModel.__module__, RNNModel.__qualname__ = "model", "RNNModel"
    module.RNNModel = RNNModel  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "model", module)
    return RNNModel


def expected(model: Any) -> list[float]:
    """What torch itself makes of the text after <eos>."""
    ids = [1, *(WORDS.index(word) for word in TEXT.split())]
    with torch.no_grad():
        outputs, _ = model.eval().rnn(model.encoder(torch.tensor(ids[:-1])[:, None]))
        shares = model.decoder(outputs[:, 0]).log_softmax(dim=1)
    return [shares[place, number].item() for place, number in enumerate(ids[1:])]


def found(path: Path) -> list[float | None]:
    (path.parent / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    options = {"vocab": str(path.parent / "vocab.txt"), "device": "cpu"}
    return list(lstm.load(ModelSpec("lstm", str(path), options=options)).score([Request(TEXT)])[0].logprobs)


def save(path: Path, value: Any, *, zipped: bool = True, protocol: int = 2) -> Path:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Couldn't retrieve source code")
        torch.save(value, path, _use_new_zipfile_serialization=zipped, pickle_protocol=protocol)
    return path


@pytest.mark.parametrize("protocol", [2, 4])
@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_module_scores_as_torch_does(
    rnn_model: Any, tmp_path: Path, kind: str, zipped: bool, protocol: int
) -> None:
    model = rnn_model(kind)
    path = save(tmp_path / "model.pt", model, zipped=zipped, protocol=protocol)
    assert found(path) == pytest.approx(expected(model), abs=1e-5)


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_a_state_dict_scores_as_torch_does(rnn_model: Any, tmp_path: Path, kind: str, zipped: bool) -> None:
    model = rnn_model(kind)
    assert found(save(tmp_path / "weights.pt", model.state_dict(), zipped=zipped)) == pytest.approx(
        expected(model), abs=1e-5
    )


def test_weights_may_lie_deeper_in_a_checkpoint(rnn_model: Any, tmp_path: Path) -> None:
    model = rnn_model()
    weights = {f"module.{name}": value for name, value in model.state_dict().items()}
    path = save(tmp_path / "checkpoint.pt", {"epoch": 3, "state_dict": weights, "lr": 20.0})
    assert found(path) == pytest.approx(expected(model), abs=1e-5)


@pytest.mark.parametrize("tied", [True, False])
def test_safetensors_score_as_torch_does(rnn_model: Any, tmp_path: Path, tied: bool) -> None:
    model = rnn_model(tied=tied)
    weights = {name: value for name, value in model.state_dict().items() if not tied or name != "decoder.weight"}
    save_file(weights, tmp_path / "model.safetensors")
    assert found(tmp_path / "model.safetensors") == pytest.approx(expected(model), abs=1e-5)


@pytest.mark.parametrize("zipped", [True, False])
def test_tied_weights_are_read_twice_from_one_place(rnn_model: Any, tmp_path: Path, zipped: bool) -> None:
    model = rnn_model(tied=True)
    assert found(save(tmp_path / "model.pt", model, zipped=zipped)) == pytest.approx(expected(model), abs=1e-5)


def test_a_model_without_biases_is_read(rnn_model: Any, tmp_path: Path) -> None:
    model = rnn_model(bias=False)
    assert found(save(tmp_path / "model.pt", model)) == pytest.approx(expected(model), abs=1e-5)


def test_a_model_in_half_precision_is_read(rnn_model: Any, tmp_path: Path) -> None:
    model = rnn_model().half()
    path = save(tmp_path / "model.pt", model, zipped=False)
    assert found(path) == pytest.approx(expected(model.float()), abs=1e-5)


def old_module(name: str, parameters: dict[str, Any], parts: dict[str, Any], **attributes: Any) -> Call:
    """A module as PyTorch 0.3 pickles it."""
    kind = Named(*name.rsplit(".", 1))
    ordered = Named("collections", "OrderedDict")
    state = {
        "_backend": Call(Named("torch.nn.backends.thnn", "_get_thnn_function_backend")),
        "_parameters": Call(ordered, ([[key, value] for key, value in parameters.items()],)),
        "_buffers": Call(ordered),
        "_backward_hooks": Call(ordered),
        "_forward_hooks": Call(ordered),
        "_forward_pre_hooks": Call(ordered),
        "_modules": Call(ordered, ([[key, value] for key, value in parts.items()],)),
        "training": True,
        **attributes,
    }
    return Call(Reference(("module", kind, "model.py", "class RNNModel: …")), (), state, new=True)


def test_a_module_of_pytorch_0_3_from_a_gpu_scores_as_torch_does(rnn_model: Any, tmp_path: Path) -> None:
    model = rnn_model()
    data: dict[str, Any] = {}

    def parameter(value: Any) -> Call:
        key = str(94000000 + len(data))
        data[key] = value.detach().numpy().astype("<f4").ravel()
        strides = tuple(step // 4 for step in value.detach().numpy().strides)
        made = tensor(storage(key, len(data[key])), tuple(value.shape), strides)
        return Call(
            Named("torch.nn.parameter", "Parameter"), (made,), (True, False, Call(Named("collections", "OrderedDict")))
        )

    def parameters(part: Any) -> dict[str, Any]:
        return {name: parameter(value) for name, value in part.named_parameters()}

    dropout = Call(Named("torch.backends.cudnn.rnn", "Unserializable"), (), "<unserializable>", new=True)
    parts = {
        "drop": old_module("torch.nn.modules.dropout.Dropout", {}, {}, p=0.2, inplace=False),
        "encoder": old_module("torch.nn.modules.sparse.Embedding", parameters(model.encoder), {}, max_norm=None),
        "rnn": old_module(
            "torch.nn.modules.rnn.LSTM",
            parameters(model.rnn),
            {},
            mode="LSTM",
            bidirectional=False,
            dropout_state={"desc_0": dropout},
            _data_ptrs=[],
        ),
        "decoder": old_module("torch.nn.modules.linear.Linear", parameters(model.decoder), {}),
    }
    root = old_module("model.RNNModel", {}, parts, rnn_type="LSTM", nhid=4, nlayers=2)
    path = tmp_path / "hidden4_batch128_dropout0.2_lr20.0.pt"
    path.write_bytes(legacy(root, data))
    assert found(path) == pytest.approx(expected(model), abs=1e-5)


@pytest.mark.parametrize("zipped", [True, False])
def test_a_whole_module_with_an_unlisted_part_is_refused_by_name(rnn_model: Any, tmp_path: Path, zipped: bool) -> None:
    model = rnn_model()
    model.extra = torch.nn.Conv1d(1, 1, 1)
    with pytest.raises(ModelError, match=r"model\.pt: refused.*torch\.nn\.modules\.conv\.Conv1d.*state_dict"):
        found(save(tmp_path / "model.pt", model, zipped=zipped))


@pytest.mark.parametrize("zipped", [True, False])
def test_a_module_whose_pickle_runs_a_command_is_refused_and_nothing_is_run(
    rnn_model: Any, tmp_path: Path, zipped: bool
) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return os.system, (f"touch {tmp_path / 'touched'}",)

    model = rnn_model()
    model.evil = Evil()
    with pytest.raises(ModelError, match=r"(os|posix)\.system"):
        found(save(tmp_path / "model.pt", model, zipped=zipped))
    assert not (tmp_path / "touched").exists()


@pytest.mark.parametrize("content", [b"", b"\x00" * 50, b"PK\x03\x04", b"12345678{", b"12345678{}", b"word\n" * 20])
def test_other_bytes_are_a_clear_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "model.pt").write_bytes(content)
    with pytest.raises(ModelError, match=r"model\.pt"):
        found(tmp_path / "model.pt")


@pytest.mark.parametrize("zipped", [True, False])
def test_a_truncated_module_is_a_clear_error(rnn_model: Any, tmp_path: Path, zipped: bool) -> None:
    path = save(tmp_path / "model.pt", rnn_model(), zipped=zipped)
    whole = path.read_bytes()
    for length in [*range(0, len(whole), 197), len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(ModelError, match=r"model\.pt"):
            found(path)


def test_a_truncated_safetensors_file_is_a_clear_error(rnn_model: Any, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_file(rnn_model().state_dict(), path)
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(ModelError, match="damaged or incomplete"):
        found(path)


def test_a_gzipped_file_is_distinguished_from_a_damaged_one(rnn_model: Any, tmp_path: Path) -> None:
    packed = gzip.compress(save(tmp_path / "model.pt", rnn_model().state_dict()).read_bytes())
    for content, message in ((packed, "it is gzipped. Unpack it first"), (packed[:12], "Download or copy it again")):
        (tmp_path / "model.pt").write_bytes(content)
        with pytest.raises(WugError, match=message):
            found(tmp_path / "model.pt")


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        found(tmp_path / "none.pt")


@pytest.mark.parametrize("whole", [True, False])
def test_a_model_with_projections_scores_as_torch_does(rnn_model: Any, tmp_path: Path, whole: bool) -> None:
    model = rnn_model(proj_size=2)
    path = save(tmp_path / "model.pt", model if whole else model.state_dict())
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="LSTM with projections")
        by_torch = expected(model)
    assert found(path) == pytest.approx(by_torch, abs=1e-5)


def test_layers_that_are_no_language_model_are_refused(rnn_model: Any, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="bidirectional"):
        found(save(tmp_path / "model.pt", rnn_model(bidirectional=True)))


def change(weights: dict[str, Any], name: str) -> None:
    match name:
        case "no encoder":
            weights["embedding.weight"] = weights.pop("encoder.weight")
        case "two encoders":
            weights["teacher.encoder.weight"] = weights["encoder.weight"]
        case "no layers":
            for key in [key for key in weights if key.startswith("rnn.")]:
                del weights[key]
        case "missing bias":
            del weights["rnn.bias_hh_l1"]
        case "wide decoder":
            weights["decoder.weight"] = torch.zeros(len(WORDS), 9)
        case "other layers":
            weights["rnn.weight_hh_l0"] = torch.zeros(20, 4)
        case "projection":
            weights["rnn.weight_hr_l0"] = torch.zeros(2, 4)
        case "one projection":
            weights["rnn.weight_hr_l0"] = torch.zeros(4, 4)
        case "extra":
            weights["rnn.weight_hh_l7"] = torch.zeros(16, 4)
        case "simple":
            for key in [key for key in weights if key.startswith("rnn.")]:
                weights[key] = weights[key][:4]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no encoder", r"one encoder\.weight.* has none \(decoder\.bias, decoder\.weight, embedding\.weight"),
        ("two encoders", r"this file has 2"),
        ("no layers", r"rnn\.weight_ih_l0 or"),
        ("missing bias", r"rnn\.bias_hh_l1 is missing"),
        ("wide decoder", r"rnn\.weight_ih_l0 is 16 × 4 where 36 × 4 was expected"),
        ("other layers", r"rnn\.weight_hh_l0 of 20 × 4 does not fit layers of a known kind"),
        ("projection", r"proj_size has to be smaller"),
        ("one projection", r"proj_size has to be smaller"),
        ("extra", r"rnn\.weight_hh_l7 does not belong to a model of this kind"),
        ("simple", r"RNN_TANH or RNN_RELU\. Give the whole module"),
    ],
)
def test_weights_that_do_not_fit_are_named(rnn_model: Any, tmp_path: Path, name: str, message: str) -> None:
    weights = dict(rnn_model().state_dict())
    change(weights, name)
    with pytest.raises(ModelError, match=message):
        found(save(tmp_path / "weights.pt", weights))


def test_a_file_without_tensors_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no tensors at all"):
        found(save(tmp_path / "weights.pt", {"epoch": 3}))


def test_numbers_that_are_no_module_and_no_dictionary_are_no_model(tmp_path: Path) -> None:
    path = tmp_path / "weights.pt"
    path.write_bytes(legacy(tensor(storage("7", 6), (6,), (1,)), {"7": np.arange(6, dtype="<f4")}))
    with pytest.raises(ModelError, match=r"encoder\.weight"):
        found(path)


def test_a_dictionary_that_contains_itself_ends(tmp_path: Path) -> None:
    looped: dict[str, Any] = {}
    looped["again"] = looped
    path = tmp_path / "weights.pt"
    path.write_bytes(legacy(looped, {}))
    with pytest.raises(ModelError, match="no tensors at all"):
        found(path)


def test_a_dictionary_with_millions_of_references_ends(tmp_path: Path) -> None:
    referred: dict[str, Any] = {}
    for _ in range(7):
        referred = {str(number): referred for number in range(100)}
    path = tmp_path / "weights.pt"
    path.write_bytes(legacy(referred, {}))
    with pytest.raises(ModelError, match="no tensors at all"):
        found(path)
