"""A loaded model is the model that its folder is: the same name, key and numbers, until its weights change."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import tiny
import tiny_masked
import tiny_seq2seq
from evaluating import cached
from wug.errors import InputError, ModelError, UnknownOption
from wug.evaluation.handle import ModelHandle
from wug.evaluation.models import open_loaded, open_model
from wug.requests import Request, text_of

TEXTS = ["the boy swims .", "a girl that nobody saw is tall", "naïve dogs"]
AUTO = {"causal": "AutoModelForCausalLM", "masked": "AutoModelForMaskedLM", "seq2seq": "AutoModelForSeq2SeqLM"}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {
        "causal": tiny.save_causal(tmp_path_factory.mktemp("causal")),
        "masked": tiny_masked.save_masked(tmp_path_factory.mktemp("masked")),
        "seq2seq": tiny_seq2seq.save_seq2seq(tmp_path_factory.mktemp("seq2seq")),
    }


def loaded(kind: str, folder: Path | str, **settings: Any) -> tuple[Any, Any]:
    """A model and its tokenizer as a user has them, without a word to wug."""
    import transformers

    model = getattr(transformers, AUTO[kind]).from_pretrained(folder, **settings)
    kept = {name: settings[name] for name in settings if name == "cache_dir"}
    return model, transformers.AutoTokenizer.from_pretrained(folder, **kept)


def key(opened: ModelHandle) -> str:
    """What answers are kept under."""
    return cached(opened)._key.hex()


def answers(opened: ModelHandle, kind: str) -> list[Any]:
    if kind == "seq2seq":
        return [text_of(answer) for answer in opened.generate(tiny_seq2seq.sources(6))]
    return [scored.logprobs for scored in opened.score([Request(text) for text in TEXTS])]


@pytest.mark.parametrize("kind", list(AUTO))
def test_a_loaded_model_is_the_model_of_its_folder(kind: str, folders: dict[str, Path]) -> None:
    ours = open_loaded(*loaded(kind, folders[kind]))
    theirs = open_model(f"{kind}:{folders[kind]}")
    assert (ours.id, ours.options, key(ours)) == (theirs.id, theirs.options, key(theirs))
    assert str(ours.spec) == str(theirs.spec)
    assert answers(ours, kind) == answers(theirs, kind)


def test_a_model_in_another_number_format_is_the_one_that_is_opened_in_it(folders: dict[str, Path]) -> None:
    import torch

    ours = open_loaded(*loaded("causal", folders["causal"], dtype=torch.bfloat16))
    theirs = open_model(f"causal:{folders['causal']}", {"dtype": "bfloat16"})
    assert (ours.id, ours.options, key(ours)) == (theirs.id, theirs.options, key(theirs))
    assert answers(ours, "causal") == answers(theirs, "causal")


def test_the_tokenizer_beside_the_model_is_taken_where_none_is_given(folders: dict[str, Path]) -> None:
    model, _ = loaded("causal", folders["causal"])
    assert open_loaded(model).id == open_model(f"causal:{folders['causal']}").id


def test_a_model_of_the_hub_is_the_revision_that_it_was_loaded_from(
    folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The Hugging Face Hub's libraries keep each revision in a folder named after its commit."""
    from huggingface_hub import constants

    commit = "0123456789abcdef0123456789abcdef01234567"
    kept = tmp_path / "models--someone--tiny"
    shutil.copytree(folders["causal"], kept / "snapshots" / commit)
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text(commit)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    ours = open_loaded(*loaded("causal", "someone/tiny", cache_dir=tmp_path))
    assert ours.id == "causal/someone/tiny@0123456789ab"
    assert str(ours.spec) == "causal:someone/tiny"
    for name in ("someone/tiny", f"someone/tiny@{commit}"):
        theirs = open_model(f"causal:{name}")
        assert (theirs.id, key(theirs)) == (ours.id, key(ours))
        assert answers(theirs, "causal") == answers(ours, "causal")


def test_weights_that_were_changed_before_make_another_model(folders: dict[str, Path]) -> None:
    import torch

    theirs = open_model(f"causal:{folders['causal']}")
    model, tokenizer = loaded("causal", folders["causal"])
    with torch.no_grad():
        model.transformer.h[0].mlp.c_fc.weight[0, 0] += 0.5
    ours = open_loaded(model, tokenizer)
    assert ours.id.partition("@")[0] == theirs.id.partition("@")[0]
    assert ours.id != theirs.id
    assert ours.spec is None  # nothing on the disk is this model
    again = open_loaded(model, tokenizer)
    assert (again.id, key(again)) == (ours.id, key(ours))


def test_a_model_of_no_folder_is_known_by_its_content(folders: dict[str, Path], tmp_path: Path) -> None:
    model, tokenizer = loaded("causal", folders["causal"])
    model.config._name_or_path = ""
    nameless = open_loaded(model, tokenizer)
    assert nameless.id.startswith("causal/GPT2LMHeadModel@")
    assert answers(nameless, "causal") == answers(open_model(f"causal:{folders['causal']}"), "causal")
    with pytest.raises(InputError, match=r"Give one: wug\.open_model"):
        open_loaded(model)


@pytest.mark.parametrize("way", ["step", "data", "load"])
def test_weights_that_change_afterwards_are_noticed(way: str, folders: dict[str, Path]) -> None:
    import torch

    model, tokenizer = loaded("causal", folders["causal"])
    opened = open_loaded(model, tokenizer)
    before = answers(opened, "causal")
    if way == "step":
        model.train()
        batch = tokenizer(TEXTS[0], return_tensors="pt")
        model(**batch, labels=batch["input_ids"]).loss.backward()
        torch.optim.SGD(model.parameters(), lr=0.1).step()
    elif way == "data":
        for parameter in model.parameters():
            parameter.data.mul_(1.01)
    else:
        model.load_state_dict({name: tensor * 1.01 for name, tensor in model.state_dict().items()})
    with pytest.raises(ModelError, match="its weights changed, or were moved, since it was opened"):
        answers(opened, "causal")
    with pytest.raises(ModelError, match="its weights changed"):
        opened.likeliest(TEXTS[0], 1, 3)
    again = open_loaded(model, tokenizer)
    assert again.id != opened.id
    assert answers(again, "causal") != before


@pytest.mark.parametrize("kind", list(AUTO))
def test_the_users_model_stays_as_it_was(kind: str, folders: dict[str, Path]) -> None:
    model, tokenizer = loaded(kind, folders[kind])
    model.train()
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    settings = getattr(model, "generation_config", None)  # of those that write
    modules = list(model.modules())
    opened = open_loaded(model, tokenizer)
    first = answers(opened, kind)
    assert model.training
    assert all(now is before for now, before in zip(model.modules(), modules, strict=True))
    assert all(module.training for module in modules)
    assert getattr(model, "generation_config", None) is settings
    assert all(parameter.requires_grad for parameter in model.parameters())
    now = model.state_dict()
    assert now.keys() == weights.keys()
    assert all(bool((weights[name] == now[name]).all()) for name in weights)
    assert answers(opened, kind) == first  # no dropout, though the model is being trained


def test_another_tokenizer_makes_another_model(folders: dict[str, Path]) -> None:
    model, tokenizer = loaded("causal", folders["causal"])
    tokenizer.bos_token = None
    ours = open_loaded(model, tokenizer)
    assert ours.id != open_model(f"causal:{folders['causal']}").id
    assert ours.options["bos"] == "no"


def test_calling_the_tokenizer_makes_no_other_model(folders: dict[str, Path]) -> None:
    model, tokenizer = loaded("masked", folders["masked"])
    tokenizer(TEXTS, padding=True, truncation=True, max_length=3)
    assert open_loaded(model, tokenizer).id == open_model(f"masked:{folders['masked']}").id


def test_options_of_asking_are_taken_and_those_of_loading_refused(folders: dict[str, Path]) -> None:
    model, tokenizer = loaded("causal", folders["causal"])
    given = {"bos": "no"}
    ours, theirs = open_loaded(model, tokenizer, given), open_model(f"causal:{folders['causal']}", given)
    assert (ours.id, ours.options, key(ours)) == (theirs.id, theirs.options, key(theirs))
    with pytest.raises(InputError, match="device=cpu: the model is loaded already"):
        open_loaded(model, tokenizer, {"device": "cpu"})
    with pytest.raises(UnknownOption, match="Did you mean 'boundary'"):
        open_loaded(model, tokenizer, {"boundry": "yes"})


def test_a_model_without_a_head_is_refused(folders: dict[str, Path]) -> None:
    import transformers

    model = transformers.AutoModel.from_pretrained(folders["causal"])
    with pytest.raises(ModelError, match="GPT2Model is not a language model that wug can evaluate"):
        open_loaded(model)
