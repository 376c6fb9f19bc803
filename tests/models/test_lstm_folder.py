"""A word LSTM in a folder scores as torch.nn.LSTM run step by step, and says what is wrong with a folder."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from wug.errors import InputError, ModelError, WugError
from wug.evaluation.models import model_spec, open_model
from wug.models import lstm
from wug.models.lstm.weights import save_word_lstm
from wug.models.spec import ModelSpec
from wug.requests import Request

WORDS = "<unk> <eos> who didn't she see ? the boy swims . Who".split()
TEXT = "who didn't she see?"
CONFIG: dict[str, Any] = {
    "kind": "LSTM", "layers": 2, "width": 5, "hidden": 9, "projection": 5, "tied": True, "lowercase": False,
    "words": "punctuation",
}  # fmt: skip
UNPROJECTED = {**CONFIG, "projection": None, "tied": False}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """torch says once that projections are computed by its own kernels."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="LSTM with projections")
        yield


def network(config: dict[str, Any], seed: int = 0) -> Any:
    """The model as torch's modules."""
    torch.manual_seed(seed)
    kind, hidden, projection = config["kind"], config["hidden"], config["projection"]
    extra: dict[str, Any] = {"proj_size": projection} if projection else {}
    if kind.startswith("RNN_"):
        extra["nonlinearity"] = kind[4:].lower()
    parts = torch.nn.ModuleDict(
        {
            "encoder": torch.nn.Embedding(len(WORDS), config["width"]),
            "rnn": getattr(torch.nn, kind[:4].rstrip("_"))(config["width"], hidden, config["layers"], **extra),
            "decoder": torch.nn.Linear(projection or hidden, len(WORDS)),
        }
    )
    if config["tied"]:
        parts["decoder"].weight = parts["encoder"].weight
    return parts


def step_by_step(parts: Any, words: list[str]) -> list[float]:
    """Log-probabilities of the words after <eos>, one call of torch's module for each."""
    ids = [WORDS.index("<eos>"), *(WORDS.index(word if word in WORDS else "<unk>") for word in words)]
    state, values = None, []
    with torch.no_grad():
        for before, after in pairwise(ids):
            embedded = parts["encoder"](torch.tensor([[before]]))
            output, state = parts["rnn"](embedded, state)
            values.append(parts["decoder"](output[0, 0]).log_softmax(dim=0)[after].item())
    return values


def saved(folder: Path, config: dict[str, Any] = CONFIG, *, dtype: str = "float32", seed: int = 0) -> Any:
    parts = network(config, seed)
    state = {name: value.to(getattr(torch, dtype)) for name, value in parts.state_dict().items()}
    save_word_lstm(folder, state, config, WORDS)
    return parts


def load(folder: Path, **options: str) -> lstm.WordLSTM:
    return lstm.load(ModelSpec("lstm", str(folder), options={"device": "cpu", **options}))


def logprobs(model: Any, text: str = TEXT) -> list[float]:
    return list(model.score([Request(text)])[0].logprobs)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN_TANH", "RNN_RELU"])
def test_a_folder_scores_as_torch_does_step_by_step(tmp_path: Path, kind: str) -> None:
    parts = saved(tmp_path, {**UNPROJECTED, "kind": kind})
    assert logprobs(load(tmp_path)) == pytest.approx(step_by_step(parts, WORDS[2:7]), abs=1e-5)


@pytest.mark.parametrize("tied", [True, False])
def test_projections_score_as_torch_does_step_by_step(tmp_path: Path, tied: bool) -> None:
    parts = saved(tmp_path, {**CONFIG, "tied": tied})
    model = load(tmp_path)
    assert [tuple(part.shape) for part in model._network.start()] == [(2, 1, 5), (2, 1, 9)]
    assert logprobs(model) == pytest.approx(step_by_step(parts, WORDS[2:7]), abs=1e-5)


def test_a_carried_state_has_projections_too(tmp_path: Path) -> None:
    parts = saved(tmp_path)
    answers = load(tmp_path, state="carry").score([Request("the boy swims."), Request("who?")])
    expected = step_by_step(parts, "the boy swims . <eos> who ?".split())
    assert [value for one in answers for value in one.logprobs] == pytest.approx(expected[:4] + expected[5:], abs=1e-5)


def test_weights_in_half_precision_are_computed_in_float32(tmp_path: Path) -> None:
    parts = saved(tmp_path, dtype="float16").half().float()
    model = load(tmp_path)
    assert model.options["dtype"] == "float32"
    assert logprobs(model) == pytest.approx(step_by_step(parts, WORDS[2:7]), abs=1e-5)


def test_tied_weights_are_written_once(tmp_path: Path) -> None:
    saved(tmp_path)
    with safe_open(tmp_path / "model.safetensors", "pt") as file:
        names = set(file.keys())
    layers = {
        f"rnn.{kind}_l{n}" for kind in ("weight_ih", "weight_hh", "weight_hr", "bias_ih", "bias_hh") for n in (0, 1)
    }
    assert names == layers | {"encoder.weight", "decoder.bias"}


def test_the_configuration_says_what_the_model_is_and_keeps_what_else_was_given(tmp_path: Path) -> None:
    save_word_lstm(tmp_path, network(CONFIG).state_dict(), {**CONFIG, "seed": 7}, WORDS)
    stored = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    assert stored == {"architectures": ["WordLSTM"], "model_type": "wug-lstm", **CONFIG, "seed": 7}
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == [
        "config.json", "model.safetensors", "vocab.txt",
    ]  # fmt: skip


def test_names_as_torch_compile_gives_them_are_understood(tmp_path: Path) -> None:
    parts = saved(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    save_file({f"_orig_mod.{name}": value for name, value in tensors.items()}, tmp_path / "model.safetensors")
    assert logprobs(load(tmp_path)) == pytest.approx(step_by_step(parts, WORDS[2:7]), abs=1e-5)


def test_a_bare_folder_is_known_by_its_configuration(tmp_path: Path) -> None:
    saved(tmp_path)
    assert model_spec(str(tmp_path)).backend == "lstm"
    model = open_model(f"{tmp_path}?device=cpu")
    assert logprobs(model) == logprobs(load(tmp_path))
    assert model.id.startswith(f"lstm/{tmp_path.name}@")


def test_the_folder_says_how_texts_become_words_and_options_win(tmp_path: Path) -> None:
    parts = saved(tmp_path, {**CONFIG, "lowercase": True})
    model = load(tmp_path)
    assert model.options == {
        "dtype": "float32", "state": "fresh", "eos": "no", "lowercase": "yes", "words": "punctuation",
    }  # fmt: skip
    assert logprobs(model, "WHO see?") == pytest.approx(step_by_step(parts, ["who", "see", "?"]), abs=1e-5)
    plain = load(tmp_path, lowercase="no", words="spaces")
    assert plain.options == {"dtype": "float32", "state": "fresh", "eos": "no"}
    assert logprobs(plain, "Who see? ?") == pytest.approx(step_by_step(parts, ["Who", "<unk>", "?"]), abs=1e-5)


def test_words_have_their_places_in_the_text(tmp_path: Path) -> None:
    saved(tmp_path)
    (scored,) = load(tmp_path).score([Request("the wug's boy.")])
    assert (scored.starts, scored.ends) == ((0, 4, 10, 13), (3, 9, 13, 14))
    assert scored.token_names == ("the", "<unk>", "boy", ".")


def test_a_file_of_weights_takes_the_option_too(tmp_path: Path) -> None:
    parts = network(UNPROJECTED)
    torch.save(dict(parts.state_dict()), tmp_path / "model.pt")
    (tmp_path / "words.txt").write_text("\n".join(WORDS), encoding="utf-8")
    model = load(tmp_path / "model.pt", vocab=str(tmp_path / "words.txt"), words="punctuation")
    assert logprobs(model) == pytest.approx(step_by_step(parts, WORDS[2:7]), abs=1e-5)


def test_the_id_changes_with_weights_words_and_kind(tmp_path: Path) -> None:
    config = {**UNPROJECTED, "kind": "RNN_TANH"}
    ids = []
    for given, seed in ((config, 0), (config, 0), (config, 1), ({**config, "kind": "RNN_RELU"}, 0)):
        saved(tmp_path, given, seed=seed)
        ids.append(load(tmp_path).id)
    assert ids[0] == ids[1]
    assert len(set(ids)) == 3


def change(folder: Path, **fields: Any) -> None:
    path = folder / "config.json"
    stored = json.loads(path.read_text(encoding="utf-8")) | fields
    path.write_text(json.dumps({name: value for name, value in stored.items() if value != "absent"}), encoding="utf-8")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"hidden": 8}, r"says hidden 8, and model\.safetensors has 9"),
        ({"projection": None}, r"says projection null, and model\.safetensors has 5"),
        ({"tied": False}, r"says tied false, and model\.safetensors has true"),
        ({"layers": 1}, r"says layers 1, and model\.safetensors has 2"),
        ({"kind": "GRU"}, r"rnn\.weight_hh_l0 of 36 × 9 does not fit layers of the kind GRU"),
        ({"kind": "Transformer"}, r"config\.json, kind: is \"Transformer\"; expected one of LSTM, GRU"),
        ({"layers": "two"}, r"layers: is \"two\"; expected a whole number above 0"),
        ({"width": True}, r"width: is true; expected a whole number"),
        ({"tied": "absent"}, r"tied: is missing; expected true or false"),
        ({"words": "syllables"}, r"words: is \"syllables\"; expected one of spaces, punctuation"),
        ({"model_type": "gpt2"}, r"model_type is \"gpt2\" where \"wug-lstm\" was expected"),
        ({"model_type": "absent"}, r"model_type is null"),
    ],
)
def test_a_configuration_that_does_not_fit_is_refused(tmp_path: Path, fields: dict[str, Any], message: str) -> None:
    saved(tmp_path)
    change(tmp_path, **fields)
    with pytest.raises((InputError, ModelError), match=message):
        load(tmp_path)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "vocab.txt"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    saved(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(InputError, match=f"{name}: no such file"):
        load(tmp_path)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none: no such file or folder"):
        load(tmp_path / "none")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("config.json", "{", r"config\.json: not JSON"),
        ("config.json", "[]", r"config\.json: expected a JSON object"),
        ("vocab.txt", "<unk>\n<eos>\n", r"12 words and .*vocab\.txt has 2"),
        ("model.safetensors", "12345678{", r"model\.safetensors: damaged"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, name: str, content: str, message: str) -> None:
    saved(tmp_path)
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises((InputError, ModelError), match=message):
        load(tmp_path)


@pytest.mark.parametrize("content", ["[]", "{}", '{"architectures": null}', '{"architectures": ["Oracle", 3]}'])
def test_a_bare_folder_that_says_nothing_of_its_kind_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "config.json").write_text(content, encoding="utf-8")
    with pytest.raises(WugError, match=r"does not say what kind of model|expected a JSON object"):
        model_spec(str(tmp_path))


def test_a_vocabulary_that_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'the' is there already"):
        save_word_lstm(tmp_path, network(CONFIG).state_dict(), CONFIG, [*WORDS[:-1], "the"])
    assert not (tmp_path / "config.json").exists()
