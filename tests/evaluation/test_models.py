"""Names of models, and ambiguous ones."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from wug.errors import InputError, UnknownName
from wug.evaluation.models import builtin_models, model_spec


def test_a_folder_called_like_a_built_in_model_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(builtin_models()["wug-causal"], tmp_path / "wug-causal")
    with pytest.raises(InputError) as caught:
        model_spec("wug-causal?dtype=float32")
    assert str(caught.value) == (
        "wug-causal is ambiguous: write ./wug-causal for the folder here, "
        f"or {builtin_models()['wug-causal']} for the built-in model"
    )
    for text in ("./wug-causal", str(tmp_path / "wug-causal"), "causal:./wug-causal", "causal:wug-causal"):
        assert model_spec(text).name.endswith("wug-causal")
        assert "assets" not in model_spec(text).name
    assert model_spec(str(builtin_models()["wug-causal"])).backend == "causal"


def test_a_built_in_model_may_be_named_with_its_kind() -> None:
    spec = model_spec("causal:wug-causal?dtype=bfloat16")
    assert (spec.backend, spec.name, dict(spec.options)) == (
        "causal",
        str(builtin_models()["wug-causal"]),
        {"dtype": "bfloat16"},
    )


def test_a_name_like_a_built_in_models_is_told_with_it() -> None:
    with pytest.raises(UnknownName, match=r"unknown model 'wug_causal'\. Did you mean 'wug-causal'"):
        model_spec("wug_causal")
