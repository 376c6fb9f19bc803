"""What config.json says is checked before transformers builds a model from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tiny import save_causal
from tiny_masked import save_masked
from tiny_seq2seq import save_seq2seq
from wug import registry
from wug.errors import InputError, ModelError
from wug.evaluation.models import builtin_models
from wug.models.spec import ModelSpec


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A model of each architecture."""
    root = tmp_path_factory.mktemp("models")
    return {
        "gpt2": save_causal(root / "gpt2", "gpt2"),
        "bert": save_masked(root / "bert", "bert"),
        "t5": save_seq2seq(root / "t5", "t5"),
        "bart": save_seq2seq(root / "bart", "bart"),
        "wug-lstm": builtin_models()["wug-lstm"],
    }


def load(kind: str, folder: Path) -> Any:
    return registry.find("models", kind).load(ModelSpec(kind, str(folder), options={"device": "cpu"}))


@pytest.mark.parametrize(
    ("asked", "architecture", "is_not", "right"),
    [
        ("causal", "t5", "a causal language model", "seq2seq"),
        ("causal", "bart", "a causal language model", "seq2seq"),
        ("causal", "bert", "a causal language model", "masked"),
        ("causal", "wug-lstm", "a causal language model", "lstm"),
        ("masked", "gpt2", "a masked language model", "causal"),
        ("masked", "t5", "a masked language model", "seq2seq"),
        ("seq2seq", "gpt2", "a sequence-to-sequence model", "causal"),
        ("seq2seq", "bert", "a sequence-to-sequence model", "masked"),
        ("prompt", "t5", "a causal language model", "seq2seq"),
        ("prompt", "bart", "a causal language model", "seq2seq"),
        ("prompt", "bert", "a causal language model", "masked"),
    ],
)
def test_a_model_of_another_kind_is_refused_with_the_kind_that_it_is(
    folders: dict[str, Path], asked: str, architecture: str, is_not: str, right: str
) -> None:
    folder = folders[architecture]
    with pytest.raises(ModelError) as error:
        load(asked, folder)
    assert str(error.value).startswith(f"{asked}:{folder}: {architecture} is not {is_not}")
    assert str(error.value).endswith(f"Use {right}:{folder}")


def changed(source: Path, target: Path, **fields: Any) -> Path:
    """A copy of a model's folder with other settings."""
    target.mkdir()
    for file in source.iterdir():
        if file.is_file():
            (target / file.name).write_bytes(file.read_bytes())
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    (target / "config.json").write_text(json.dumps(config | fields), encoding="utf-8")
    return target


@pytest.mark.parametrize(
    ("kind", "architecture", "fields"),
    [
        ("causal", "gpt2", {"n_layer": 10**9}),
        ("causal", "gpt2", {"num_hidden_layers": 10**9}),
        ("causal", "gpt2", {"text_config": {"num_hidden_layers": 10**9}}),
        ("seq2seq", "t5", {"num_decoder_layers": 10**9}),
        ("seq2seq", "bart", {"encoder_layers": 10**9}),
        ("masked", "bert", {"num_hidden_layers": 10**9}),
    ],
)
def test_more_layers_than_any_model_has_are_refused_at_once(
    folders: dict[str, Path], tmp_path: Path, kind: str, architecture: str, fields: dict[str, Any]
) -> None:
    folder = changed(folders[architecture], tmp_path / "m", **fields)
    with pytest.raises(ModelError, match=r"config\.json sets .*layers?: 1,000,000,000, and at most 10,000 are built"):
        load(kind, folder)


def test_weights_of_other_shapes_than_the_settings_say_are_explained(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = changed(folders["gpt2"], tmp_path / "m", n_positions=5)
    with pytest.raises(ModelError, match=r"weights of the checkpoint have other shapes than config\.json says"):
        load("causal", folder)


@pytest.mark.parametrize("content", ["{", "[]", "[" * 5000])
def test_a_damaged_file_of_settings_is_named(folders: dict[str, Path], tmp_path: Path, content: str) -> None:
    folder = changed(folders["gpt2"], tmp_path / "m")
    (folder / "config.json").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=r"config\.json: (not JSON|expected a JSON object)"):
        load("causal", folder)


class Harmful:
    """Runs a command when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return print, ("code was run",)


def test_pickled_weights_with_other_objects_are_refused_without_advice_to_load_them(
    folders: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import torch

    folder = changed(folders["gpt2"], tmp_path / "m")
    (folder / "model.safetensors").unlink()
    torch.save({"weight": Harmful()}, folder / "pytorch_model.bin")
    with pytest.raises(ModelError) as error:
        load("causal", folder)
    assert str(error.value).endswith("is damaged, or has more in it than tensors. Nothing in it was run")
    assert "weights_only" not in str(error.value)
    assert "code was run" not in capsys.readouterr().out
