"""Names of models, ambiguous ones, and patterns and lists."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wug.errors import InputError, ModelError, UnknownName
from wug.evaluation.models import ExpandedModel, builtin_models, expand, is_pattern, model_spec, natural_sort_key
from wug.models.huggingface import hub as hub_access
from wug.models.huggingface.hub import required_files


def texts(*given: str) -> list[str]:
    return [named.text for named in expand(given)]


def folders(root: Path, *names: str) -> None:
    for name in names:
        (root / name).mkdir(parents=True)
        (root / name / "config.json").write_text("{}")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_folders_that_fit_come_in_natural_order(tmp_path: Path) -> None:
    folders(tmp_path, "runs/b/checkpoint-20", "runs/a/checkpoint-100", "runs/a/checkpoint-20", "runs/a/checkpoint-3")
    assert texts("causal:runs/*/checkpoint-*") == [
        "causal:runs/a/checkpoint-3",
        "causal:runs/a/checkpoint-20",
        "causal:runs/a/checkpoint-100",
        "causal:runs/b/checkpoint-20",
    ]
    assert texts("runs/b/*") == ["runs/b/checkpoint-20"]


def test_what_is_no_model_is_passed_over_among_models(tmp_path: Path) -> None:
    folders(tmp_path, "runs/checkpoint-1")
    (tmp_path / "runs" / "log.txt").write_text("")
    (tmp_path / "runs" / "empty").mkdir()
    assert texts("causal:runs/*") == ["causal:runs/checkpoint-1"]


def test_options_of_a_pattern_are_those_of_each_model(tmp_path: Path) -> None:
    folders(tmp_path, "runs/checkpoint-1", "runs/checkpoint-2")
    assert texts("causal:runs/checkpoint-[12]?dtype=bfloat16") == [
        "causal:runs/checkpoint-1?dtype=bfloat16",
        "causal:runs/checkpoint-2?dtype=bfloat16",
    ]


def test_files_fit_too_where_models_are_files(tmp_path: Path) -> None:
    for step in (10, 9):
        (tmp_path / f"m{step}.arpa").write_text("")
    assert texts("ngram:m*.arpa") == ["ngram:m9.arpa", "ngram:m10.arpa"]


def test_a_plain_name_and_a_name_with_a_question_mark_are_no_patterns() -> None:
    assert texts("causal:gpt2?bos=no", "command:cat *.txt", "endpoint:http://x/v1?model=a*") == [
        "causal:gpt2?bos=no",
        "command:cat *.txt",
        "endpoint:http://x/v1?model=a*",
    ]
    assert not is_pattern("causal:gpt2?bos=no")
    assert is_pattern("causal:org/name@step*")


def test_a_folder_whose_name_has_brackets_is_itself(tmp_path: Path) -> None:
    folders(tmp_path, "run[1]")
    assert texts("causal:run[1]") == ["causal:run[1]"]


def test_a_list_has_one_model_a_line_with_options_and_comments(tmp_path: Path) -> None:
    folders(tmp_path, "runs/checkpoint-1", "runs/checkpoint-2")
    (tmp_path / "models.txt").write_text(
        "# what we compare\ncausal:gpt2?bos=no   # without a start\n\ncausal:runs/*\ncausal:gpt2?bos=no\n"
    )
    assert texts("@models.txt") == ["causal:gpt2?bos=no", "causal:runs/checkpoint-1", "causal:runs/checkpoint-2"]


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "no such list of models"), ("# none\n", "the list contains no model"), ("@x.txt", "another list")],
)
def test_a_list_that_cannot_be_used_is_refused(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "models.txt").write_text(content)
    with pytest.raises(InputError, match=message):
        expand(["@models.txt"])


def test_a_pattern_that_fits_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"unknown kind of model 'casual'\. Did you mean 'causal'\?"):
        expand(["casual:runs/*"])
    with pytest.raises(InputError, match="no file or folder matches the model 'causal:runs/\\*'"):
        expand(["causal:runs/*"])
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "log.txt").write_text("")
    with pytest.raises(InputError, match=r"1 files or folders match, such as runs/log\.txt, but none is a model"):
        expand(["causal:runs/*"])


def hub(monkeypatch: pytest.MonkeyPatch, revisions: dict[str, str] | Exception) -> None:
    """A hub that has one model with these revisions, or is away."""
    import huggingface_hub

    def list_repo_refs(self: object, name: str) -> Any:
        assert name == "org/pythia"
        if isinstance(revisions, Exception):
            raise revisions
        refs = [SimpleNamespace(name=key, target_commit=commit) for key, commit in revisions.items()]
        return SimpleNamespace(branches=refs[:2], tags=refs[2:])

    monkeypatch.setattr(huggingface_hub.HfApi, "list_repo_refs", list_repo_refs)
    monkeypatch.setattr(hub_access, "is_hub_offline", lambda: False)


def test_revisions_of_the_hub_come_in_natural_order_with_their_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    hub(monkeypatch, {"main": "m", "step1000": "b", "step8": "a", "step-final": "c"})
    assert expand(["causal:org/pythia@step[0-9]*?bos=no"]) == [
        ExpandedModel("causal:org/pythia@step8?bos=no", "a"),
        ExpandedModel("causal:org/pythia@step1000?bos=no", "b"),
    ]


def test_a_pattern_that_fits_no_revision_is_refused_with_those_there(monkeypatch: pytest.MonkeyPatch) -> None:
    hub(monkeypatch, {"main": "m", "step8": "a"})
    with pytest.raises(InputError, match=r"no revision of org/pythia matches 'stage\*'. Revisions: main, step8"):
        expand(["causal:org/pythia@stage*"])


def test_without_the_hub_the_revisions_on_this_machine_are_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from huggingface_hub import constants

    hub(monkeypatch, ConnectionError("no route"))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ModelError, match=r"since the Hugging Face Hub cannot be reached \(no route\)"):
        expand(["causal:org/pythia@step*"])
    refs = tmp_path / "models--org--pythia" / "refs"
    refs.mkdir(parents=True)
    (refs / "step8").write_text("a" * 40)
    assert expand(["causal:org/pythia@step*"]) == [ExpandedModel("causal:org/pythia@step8", "a" * 40)]
    assert "the Hugging Face Hub cannot be reached; using 1 revisions on this machine" in caplog.text


def test_numbers_in_names_are_compared_as_numbers() -> None:
    assert sorted(["a10b", "a9b", "a", "9"], key=natural_sort_key) == ["9", "a", "a9b", "a10b"]


def test_of_weights_in_two_formats_the_safe_one_is_fetched() -> None:
    files = ["README.md", "config.json", "model.safetensors", "pytorch_model.bin", "onnx/config.json", "vocab.txt"]
    assert required_files(files) == ["config.json", "model.safetensors", "vocab.txt"]
    assert required_files(["config.json", "pytorch_model.bin", "optimizer.bin"]) == ["config.json", "pytorch_model.bin"]


def test_a_folder_called_like_a_built_in_model_is_distinguished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_a_name_like_a_built_in_models_is_reported_with_it() -> None:
    with pytest.raises(UnknownName, match=r"unknown model 'wug_causal'\. Did you mean 'wug-causal'"):
        model_spec("wug_causal")
