"""`wug train`: every kind of model learns, resumes after a kill, is tested after epochs, and refuses wrong options."""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from answers import texts
from command_line import CommandOutput, refused, start_wug, wug
from wug.evaluation.models import model_spec, open_model
from wug.models.attention_lstm import ATTENTIONS, STARTS, load_attention_lstm
from wug.requests import Request
from wug.results.store import Store
from wug.train import steps
from wug.train.loop import TrainingFolder
from wug.train.options import KINDS as OPTIONS

pytestmark = pytest.mark.slow

CORES = ("--batch-size", 4, "--device", "cpu", "--seed", 3)
TINY = (*CORES, "--layers", 1, "--embedding-size", 16, "--ffn-size", 16)
KINDS: dict[str, tuple[Any, ...]] = {
    "causal": (*TINY, "--vocab", 300, "--context-length", 16, "--heads", 2),
    "masked": (*TINY, "--vocab", 300, "--context-length", 16, "--heads", 2),
    "lstm": (*TINY, "--vocab", 300, "--context-length", 16),
}


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """A page of short sentences."""
    subjects, verbs = ("the cat", "a dog", "the old man", "my aunt"), ("sleeps", "saw a bird", "ran", "left him")
    sentences = [f"{s.capitalize()} {v}." for s, v in itertools.product(subjects, verbs)]
    path = tmp_path / "text.txt"
    path.write_text("\n".join(sentences * 4) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    """A folder as of PCFG SET, in which two words are copied or turned round."""
    folder = tmp_path / "data"
    folder.mkdir()
    pairs = [(f"{one}1", f"{two}2") for one in "ABCD" for two in "EFGH"]
    sources = [f"{verb} {one} {two}" for verb in ("copy", "reverse") for one, two in pairs]
    targets = [f"{one} {two}" for one, two in pairs] + [f"{two} {one}" for one, two in pairs]
    for part in ("train", "test"):
        (folder / f"{part}.src").write_text("\n".join(sources) + "\n", encoding="utf-8")
        (folder / f"{part}.tgt").write_text("\n".join(targets) + "\n", encoding="utf-8")
    return folder


def train(kind: str, material: Path, folder: Path, *more: object) -> CommandOutput:
    usual = KINDS.get(kind, TINY)
    pairs = (usual[place : place + 2] for place in range(0, len(usual), 2) if usual[place] not in more)
    return wug("train", kind, material, "-o", folder, *itertools.chain(*pairs), *more)


def curve(folder: Path) -> Any:
    """The losses in a folder's loss.tsv."""
    return np.loadtxt(folder / "training" / "loss.tsv", skiprows=1)[:, 1]


@pytest.mark.parametrize(("kind", "backend"), [("causal", "causal"), ("masked", "masked"), ("lstm", "lstm")])
def test_a_model_of_text_learns_and_its_backend_scores_with_it(
    tmp_path: Path, text: Path, kind: str, backend: str
) -> None:
    folder = tmp_path / "model"
    said = train(kind, text, folder, "--steps", 60, "--learning-rate", 2e-2, "--dtype", "float16")
    assert (said.code, said.out.startswith(f"trained {folder}: 60 steps")) == (0, True), said.err
    losses = curve(folder)
    assert losses[-10:].mean() < 0.7 * losses[:5].mean()
    assert model_spec(str(folder)).backend == backend
    model: Any = open_model(str(folder), {"device": "cpu"})
    usual, odd = model.score([Request("The cat sleeps."), Request("sleeps. cat The")])
    assert sum(filter(None, usual.logprobs)) > sum(filter(None, odd.logprobs))
    assert "wug train" in (folder / "README.md").read_text(encoding="utf-8")
    assert model.training_context == "sentence"


@pytest.mark.parametrize("kind", ["causal", "masked", "lstm"])
def test_a_model_says_that_it_learnt_paragraphs(tmp_path: Path, text: Path, kind: str) -> None:
    assert train(kind, text, tmp_path / "model", "--steps", 2, "--unit", "paragraph").code == 0
    assert json.loads((tmp_path / "model" / "config.json").read_text())["training_context"] == "paragraph"
    assert "It saw one paragraph at a time" in (tmp_path / "model" / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("kind", "encoding"),
    [
        ("causal", "the BOS token `<|endoftext|>` before a text"),
        ("masked", "a text between `<s>` and `</s>`"),
        ("seq2seq", "`</s>` after a text"),
        ("lstm", None),
    ],
)
def test_a_card_says_how_others_score_the_model_as_wug_does(
    tmp_path: Path, text: Path, examples: Path, kind: str, encoding: str | None
) -> None:
    material, folder = examples if kind == "seq2seq" else text, tmp_path / "model"
    assert train(kind, material, folder, "--steps", 2, "--dtype", "float16").code == 0
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "| weights | float16 |" in card
    assert ("It saw one sentence at a time" in card) == (kind != "seq2seq")
    assert ("dtype=torch.float32" in card) == (encoding is not None)
    assert encoding is None or encoding in card


def test_a_card_says_nothing_about_the_dtype_of_weights_in_float32(tmp_path: Path, text: Path) -> None:
    assert train("causal", text, tmp_path / "model", "--steps", 2).code == 0
    card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    assert "| weights | float32 |" in card
    assert "torch.float32" not in card


@pytest.mark.parametrize(("network", "backend"), [("t5", "seq2seq"), ("lstm", "attention_lstm")])
def test_a_model_that_answers_learns_its_examples_by_heart(
    tmp_path: Path, examples: Path, network: str, backend: str
) -> None:
    folder = tmp_path / "model"
    sizes = "--layers 1 --embedding-size 32 --ffn-size 64 --dropout 0 --learning-rate 0.01 --batch-size 32".split()
    options = ("--network", network, "--steps", 200, "--device", "cpu", "--dtype", "float16")
    assert wug("train", "seq2seq", examples, "-o", folder, *sizes, *options).code == 0
    assert model_spec(str(folder)).backend == backend
    (values,) = wug("run", examples / "test.src", "--model", folder, "--device", "cpu", "--format", "json").values
    assert values["accuracy", "all"] == 1


def test_a_killed_and_resumed_training_has_the_curve_of_an_unbroken_one(tmp_path: Path, examples: Path) -> None:
    options = ("--network", "lstm", "--steps", 120, "--checkpoint-every", 10)
    assert train("seq2seq", examples, tmp_path / "whole", *options).code == 0
    broken = tmp_path / "broken"
    command = ["train", "seq2seq", examples, "-o", broken, *TINY, *options]
    process = start_wug(*command, stdout=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"})
    kept = broken / "training" / "checkpoint.pt"
    while not kept.exists() and process.poll() is None:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    _, errors = process.communicate()
    assert process.returncode == -signal.SIGKILL, errors
    assert not (broken / "training" / "loss.tsv").exists()
    assert kept.exists()
    assert train("seq2seq", examples, broken, *options).code == 0
    assert len(curve(broken)) == 120
    np.testing.assert_allclose(curve(broken), curve(tmp_path / "whole"), rtol=0, atol=1e-5)
    assert not kept.exists()


@pytest.mark.parametrize("kind", ["causal", "masked", "lstm"])
def test_a_model_of_text_goes_on_from_its_checkpoint(
    tmp_path: Path, text: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("--steps", 12, "--checkpoint-every", 5)
    assert train(kind, text, tmp_path / "whole", *options).code == 0
    write = TrainingFolder.write

    def interrupted(self: TrainingFolder, *given: Any) -> None:
        write(self, *given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(TrainingFolder, "write", interrupted)
        said = train(kind, text, tmp_path / "broken", *options)
    assert (said.code, "run the same command to resume" in said.err) == (130, True)
    assert train(kind, text, tmp_path / "broken", *options).code == 0
    np.testing.assert_allclose(curve(tmp_path / "broken"), curve(tmp_path / "whole"), rtol=0, atol=1e-5)


def test_a_finished_training_is_left_alone_and_other_options_are_refused(tmp_path: Path, examples: Path) -> None:
    folder = tmp_path / "model"
    assert train("seq2seq", examples, folder, "--steps", 3).code == 0
    written = (folder / "model.safetensors").stat().st_mtime_ns
    said = train("seq2seq", examples, folder, "--steps", 3)
    assert (said.code, said.out) == (0, "")
    assert "is already trained" in said.err
    refused(train("seq2seq", examples, folder, "--steps", 4), str(folder), "steps = 3, now 4", "another folder")
    refused(train("seq2seq", examples, folder, "--epochs", 3), "a finished training with epochs = not given, now 3")
    refused(train("seq2seq", examples, folder, "--steps", 3, "--dtype", "bfloat16"), "now 'bfloat16'")
    refused(train("seq2seq", examples, folder, "--steps", 3, "--precision", "bfloat16"), "now 'bfloat16'")
    refused(train("seq2seq", examples, folder, "--steps", 4, "--seed", 9), "steps = 3", "seed = 3, now 9")
    refused(train("seq2seq", examples, folder, "--steps", 3, "--heads", 2), "heads = 4, now 2")
    refused(train("seq2seq", examples, folder, "--steps", 3, "--network", "lstm"), "kind = 'seq2seq'")
    (examples / "train.src").write_text("copy A\n", encoding="utf-8")
    (examples / "train.tgt").write_text("A\n", encoding="utf-8")
    refused(train("seq2seq", examples, folder, "--steps", 3), "the examples' checksum")
    assert (folder / "model.safetensors").stat().st_mtime_ns == written


def test_a_text_that_was_refused_leaves_nothing_behind_for_the_next(tmp_path: Path, text: Path) -> None:
    short = tmp_path / "short.txt"
    short.write_text("One word.\n", encoding="utf-8")
    for kind in KINDS:
        folder = tmp_path / kind
        refused(train(kind, short, folder, "--steps", 1), "not enough for a row of 16", "--context-length")
        assert train(kind, text, folder, "--steps", 1).code == 0


@pytest.mark.parametrize("network", ["t5", "lstm"])
def test_every_epoch_is_tested_and_kept_as_a_run(tmp_path: Path, examples: Path, network: str) -> None:
    options = ("--network", network, "--batch-size", 16, "--epochs", 3, "--suite", examples / "test.src")
    said = train("seq2seq", examples, tmp_path / "model", *options)
    assert said.code == 0, said.err
    runs = Store(Path(os.environ["WUG_STORE"])).runs()
    assert sorted(run.model.partition("@")[0].rpartition("/")[2] for run in runs) == [
        "model-epoch1", "model-epoch2", "model-epoch3",
    ]  # fmt: skip
    assert {run.status for run in runs} == {"complete"}
    assert [line for line in said.err.splitlines() if line.startswith("epoch ")][-1].startswith("epoch 3, step 6: data")
    assert not (tmp_path / "model" / "epochs").exists()


def test_models_of_epochs_are_kept_when_requested_and_tests_skip_epochs(tmp_path: Path, examples: Path) -> None:
    options = ("--network", "lstm", "--batch-size", 16, "--epochs", 4, "--suite", examples / "test.src")
    assert train("seq2seq", examples, tmp_path / "m", *options, "--every", 2, "--keep-epochs").code == 0
    kept = sorted((tmp_path / "m" / "epochs").iterdir())
    assert [path.name for path in kept] == ["m-epoch2", "m-epoch4"]
    model: Any = open_model(str(kept[0]), {"device": "cpu"})
    assert len(texts(model.generate(["copy A1 E2"]))) == 1


@pytest.mark.parametrize("network", ["t5", "lstm"])
def test_patience_ends_a_training_whose_results_do_not_rise(tmp_path: Path, examples: Path, network: str) -> None:
    options = (
        *"--learning-rate 1e-7 --batch-size 16 --epochs 9 --suite".split(),
        examples / "test.src",
        "--network",
        network,
    )
    said = train("seq2seq", examples, tmp_path / "model", *options, "--patience", 1)
    assert said.code == 0, said.err
    assert len(Store(Path(os.environ["WUG_STORE"])).runs()) == 3  # the first is the best, and two are not better
    assert len(curve(tmp_path / "model")) == 6
    assert f"{tmp_path / 'model' / 'best'}" in said.err
    best = open_model(str(tmp_path / "model" / "best"), {"device": "cpu"})
    tested = [run.model.split("@")[1] for run in Store(Path(os.environ["WUG_STORE"])).runs()]
    assert len(set(tested)) == 3  # weights hardly move at this rate, but they do
    assert best.id.split("@")[1] == tested[-1]
    assert "is already trained" in train("seq2seq", examples, tmp_path / "model", *options, "--patience", 1).err


def test_a_model_of_text_is_tested_after_epochs(tmp_path: Path, text: Path) -> None:
    said = train("lstm", text, tmp_path / "m", "--epochs", 2, "--suite", "wug_agreement_pp", "--suite", "wug_reflexive")
    assert said.code == 0, said.err
    assert "wug_agreement_pp 0." in said.err
    assert [run.suites for run in Store(Path(os.environ["WUG_STORE"])).runs()] == [2, 2]


def test_too_little_memory_is_said_with_a_remedy(
    tmp_path: Path, examples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def starved(*given: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 3.00 GiB")

    take, folder, left = steps.TrainingSteps.take, tmp_path / "model", itertools.count()
    with monkeypatch.context() as patched:
        patched.setattr(steps.TrainingSteps, "take", starved)
        refused(train("seq2seq", examples, folder, "--steps", 6), "4 rows", "smaller --batch-size")
    with monkeypatch.context() as patched:
        patched.setattr(steps.TrainingSteps, "take", lambda *given: take(*given) if next(left) < 4 else starved())
        again = ("--steps", 6, "--batch-size", 2, "--checkpoint-every", 2)
        refused(train("seq2seq", examples, folder, *again), "2 rows", "smaller --batch-size", "checkpoint", "stays")
    assert train("seq2seq", examples, folder, *again).code == 0


def test_options_of_a_network_that_another_does_not_have_are_refused(tmp_path: Path, examples: Path) -> None:
    lstm = ("--network", "lstm", "--steps", 1)
    said = train("seq2seq", examples, tmp_path / "m", *lstm, "--heads", 4)
    refused(said, "--heads is for --network t5")
    assert said.code == 2
    refused(train("seq2seq", examples, tmp_path / "m", *lstm, "--ffn-size", 15), "15 cells", "even --ffn-size")
    shared = ("--network", "lstm", "--steps", 1, "--share-layers")
    refused(train("seq2seq", examples, tmp_path / "m", *shared), "--share-layers is for --network t5")
    for words in (("--attention", "dot"), ("--untied",), ("--start", "normal")):
        refused(train("seq2seq", examples, tmp_path / "m", "--steps", 1, *words), f"{words[0]} is for --network lstm")


def test_an_lstm_has_defaults_of_its_own(tmp_path: Path, examples: Path) -> None:
    given = "--network lstm --steps 1 --batch-size 2 --embedding-size 8 --device cpu".split()
    assert wug("train", "seq2seq", examples, "-o", tmp_path / "m", *given).code == 0
    recipe = json.loads((tmp_path / "m" / "training" / "recipe.json").read_text(encoding="utf-8"))
    expected = {"layers": 2, "ffn_size": 512, "learning_rate": 1e-3, "optimiser": "adamw"}
    assert expected.items() <= recipe.items()
    assert not {"heads", "attention", "untied", "start"} & recipe.keys()


def test_an_lstm_begins_and_attends_as_its_options_say(tmp_path: Path, examples: Path) -> None:
    declared = {option.name: option.type for option in OPTIONS["seq2seq"]}
    assert (declared["attention"], declared["start"]) == (ATTENTIONS, STARTS)
    usual = ("--network", "lstm", "--steps", 1, "--learning-rate", "1e-9")
    other = ("--attention", "dot", "--untied", "--start", "normal")
    folders = [tmp_path / "usual", tmp_path / "other"]
    for folder, words in zip(folders, ((), other), strict=True):
        assert train("seq2seq", examples, folder, *usual, *words).code == 0
    models = [load_attention_lstm(folder)[0] for folder in folders]
    assert [(model.shape.attention, model.shape.tied) for model in models] == [("general", True), ("dot", False)]
    spreads = [float(model.source.weight.std()) for model in models]
    assert spreads == pytest.approx([0.2 / 12**0.5, 1.0], rel=0.2)  # even between -0.1 and 0.1; normal
    recipe = json.loads((folders[1] / "training" / "recipe.json").read_text(encoding="utf-8"))
    assert (recipe["attention"], recipe["untied"], recipe["start"]) == ("dot", True, "normal")


@pytest.mark.parametrize("kind", ["causal", "masked", "lstm", "seq2seq"])
def test_impossible_trainings_are_refused_with_one_message(
    tmp_path: Path, text: Path, examples: Path, kind: str
) -> None:
    material = examples if kind == "seq2seq" else text
    folder = tmp_path / "model"
    refused(train(kind, material, folder), "--steps N or --epochs N")
    refused(train(kind, material, folder, "--steps", 1, "--epochs", 1), "--steps N or --epochs N")
    refused(train(kind, material, folder, "--steps", 1, "--patience", 2), "--patience", "--suite")
    refused(
        train(kind, material, folder, "--steps", 9, "--suite", "wug_reflexive", "--patience", 2, "--average", 3),
        "--average counts back from the last step",
    )
    refused(
        train(kind, material, folder, "--steps", 1, "--suite", "wug_agreemen_pp"), "Did you mean 'wug_agreement_pp'"
    )
    refused(train(kind, material, folder, "--steps", 1, "--dropout", 1.5), "dropout must be between 0 and 1")
    refused(train(kind, material, folder, "--steps", 1, "--learning-rate", 0), "must be between 0 and 1")
    refused(train(kind, tmp_path / "none.txt", folder, "--steps", 1), "none.txt")
    refused(train(kind, material, folder, "--steps", 1, "--device", "nowhere"), "device nowhere: unknown")
    if kind != "lstm":
        refused(
            train(kind, material, folder, "--steps", 1, "--heads", 3), "an embedding size of 16", "3 attention heads"
        )


def test_a_head_of_an_odd_number_of_places_is_refused(tmp_path: Path, text: Path) -> None:
    odd = ("--steps", 1, "--embedding-size", 10, "--heads", 2)
    refused(train("causal", text, tmp_path / "m", *odd), "2 attention heads 5 dimensions", "even")
    refused(train("masked", text, tmp_path / "m", *odd), "2 attention heads 5 dimensions", "even")


@pytest.mark.parametrize("kind", ["causal", "masked", "lstm"])
def test_an_empty_text_is_refused(tmp_path: Path, kind: str) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_text("\n \n", encoding="utf-8")
    refused(train(kind, empty, tmp_path / "model", "--steps", 1), "empty.txt", "no text to train on")


def test_a_suite_that_the_model_cannot_answer_is_refused_before_training(
    tmp_path: Path, text: Path, examples: Path
) -> None:
    given = ("--steps", 1, "--suite")
    refused(train("lstm", text, tmp_path / "a", *given, examples / "test.src"), "model that generates text")
    refused(train("seq2seq", examples, tmp_path / "b", *given, "wug_reflexive"), "scores text")
    assert not list(tmp_path.glob("*/training/checkpoint.pt"))


def test_without_torch_the_remedy_is_said(tmp_path: Path, text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    refused(train("causal", text, tmp_path / "m", "--steps", 1), "pip install 'wug[hf]'")
