"""A run whose outputs are all cached loads no model."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest

from command_line import run_python, wug
from evaluating import cached, record
from fake_models import FakeScorer
from wug import registry
from wug.errors import ModelError
from wug.evaluation.cache import Cache
from wug.evaluation.handle import ModelHandle
from wug.evaluation.models import builtin_models, model_spec, open_model
from wug.evaluation.suites import open_suites
from wug.models import Identity, ModelSpec
from wug.models.weights.fingerprints import fingerprint
from wug.requests import Request
from wug.results.store import Store
from wug.traits import BackendTraits

pytestmark = pytest.mark.slow

HEAVY = ("torch", "transformers", "ctranslate2")
COMMANDS = f"""
import io, json, sys
from contextlib import redirect_stdout
from wug.cli.main import main

printed = []
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["wug", *arguments]
    with redirect_stdout(io.StringIO()) as out:
        try:
            main()
        except SystemExit as end:
            assert end.code == 0, arguments
    printed.append(out.getvalue())
print(json.dumps([printed, [name for name in {HEAVY!r} if name in sys.modules]]))
"""
"""Runs commands, and prints what each printed, and which heavy packages they imported."""
ASKED = {
    "wug-causal": "wug_agreement_pp",
    "wug-masked": "wug_agreement_pp",
    "wug-lstm": "wug_agreement_pp",
    "wug-cogs": "wug_cogs_test",
    "wug-pcfg": "localism",  # whose later questions are made of earlier answers
}


def command(folder: Path, model: object, suite: str = "wug_agreement_pp") -> list[str]:
    """A small run."""
    files = ("--cache", folder / "answers.db", "--store", folder / "store")
    options = ("--limit", 2, "--device", "cpu", "--format", "json", *files)
    return list(map(str, ("run", suite, "--model", model, *options)))


def run(folder: Path, model: object, *more: object, suite: str = "wug_agreement_pp") -> str:
    """What a small run printed."""
    said = wug(*command(folder, model, suite), *more)
    assert said.code == 0, said.err
    return said.out


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the LSTMs that are loaded from now on."""
    found: list[str] = []
    backend = registry.find("models", "lstm")
    load = backend.load

    def noted(spec: ModelSpec) -> object:
        found.append(spec.name)
        return load(spec)

    monkeypatch.setattr(backend, "load", noted)
    return found


def copied(folder: Path, name: str = "wug-lstm") -> Path:
    """A separate copy of the model, to be damaged."""
    return Path(shutil.copytree(builtin_models()[name], folder / "model"))


def test_a_cached_run_prints_the_same_without_torch_or_transformers(tmp_path: Path) -> None:
    first = [run(tmp_path, model, suite=suite) for model, suite in ASKED.items()]
    again = run_python("-c", COMMANDS, json.dumps([command(tmp_path, model, suite) for model, suite in ASKED.items()]))
    assert again.code == 0, again.err
    assert json.loads(again.out) == [first, []]


def test_a_changed_weight_is_noticed(tmp_path: Path, loads: list[str]) -> None:
    model = copied(tmp_path)
    first = run(tmp_path, model)
    weights = bytearray((model / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (model / "model.safetensors").write_bytes(weights)
    again = run(tmp_path, model)
    assert loads == [str(model)] * 2
    assert json.loads(again)[0]["model"] != json.loads(first)[0]["model"]


def test_a_model_that_is_gone_is_an_error_whatever_the_cache_has(tmp_path: Path) -> None:
    model = copied(tmp_path, "wug-causal")
    run(tmp_path, f"causal:{model}")
    shutil.rmtree(model)
    cache = ("--cache", tmp_path / "answers.db")
    said = wug("run", "wug_agreement_pp", "--model", f"causal:{model}", "--limit", 2, *cache)
    assert (said.code, said.out) == (1, "")
    assert f"error: causal:{model}: no such folder" in said.err


def test_a_cache_that_lost_answers_asks_for_them_again(tmp_path: Path, loads: list[str]) -> None:
    first = run(tmp_path, "wug-lstm")
    assert (run(tmp_path, "wug-lstm"), len(loads)) == (first, 1)
    with closing(sqlite3.connect(tmp_path / "answers.db")) as db, db:
        db.execute("DELETE FROM blocks WHERE id IN (SELECT id FROM blocks LIMIT 1)")
    assert (run(tmp_path, "wug-lstm"), len(loads)) == (first, 2)


def test_without_a_cache_the_model_is_asked(tmp_path: Path, loads: list[str]) -> None:
    first = run(tmp_path, "wug-lstm")
    assert (run(tmp_path, "wug-lstm", "--no-cache"), len(loads)) == (first, 2)


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("wug-causal", {}),
        ("wug-causal", {"bos": "no"}),
        ("wug-causal", {"bos": "yes", "boundary": "yes", "dtype": "bfloat16"}),
        ("wug-causal", {"bos": "<|endoftext|>"}),
        ("wug-masked", {}),
        ("wug-masked", {"pll": "original", "dtype": "float16"}),
        ("wug-lstm", {}),
        ("wug-lstm", {"eos": "yes", "lowercase": "no", "words": "spaces", "dtype": "float64"}),
        ("wug-cogs", {}),
        ("wug-cogs", {"engine": "transformers", "beams": "2", "prefix": "say ", "max_length": "7"}),
        ("wug-pcfg", {"dtype": "bfloat16"}),
        ("prompt:wug-causal", {}),
        ("prompt:wug-causal", {"template": "{source} is", "stop": ".", "max_length": "5"}),
    ],
)
def test_what_files_say_is_what_the_loaded_model_says(model: str, options: dict[str, str]) -> None:
    kind, _, name = model.rpartition(":")
    spec = model_spec(name, {"device": "cpu", **options})
    if kind:
        spec = replace(spec, backend=kind)
    backend = registry.find("models", spec.backend)
    identity, loaded = backend.identify(spec), backend.load(spec)
    bounded = getattr(loaded, "bounded", False)
    context = getattr(loaded, "training_context", None)
    assert identity == Identity(loaded.id, dict(loaded.options), backend.TRAITS.returns, bounded, context)


def test_a_command_is_known_before_it_is_started() -> None:
    backend = registry.find("models", "command")
    spec = model_spec(f"command:{sys.executable} -c 'pass'", {"id": "7"})
    loaded = backend.load(spec)
    assert backend.identify(spec) == Identity(loaded.id, dict(loaded.options), "text")
    assert loaded.options["id"] == "7"
    assert backend.identify(model_spec("command:no-such-program-here x")) is None


def test_only_loading_tells_what_the_files_leave_open(tmp_path: Path) -> None:
    def identified(name: str, **options: str) -> object:
        spec = model_spec(name, options)
        return registry.find("models", spec.backend).identify(spec)

    assert identified("wug-causal", dtype="auto") is None
    assert identified("wug-causal", trust_remote_code="yes") is None
    assert identified("wug-lstm", state="carry") is None
    assert identified("causal:org/model") is None
    assert identified("causal:org/model@main") is None
    assert identified("seq2seq:org/model@" + "0" * 40) is None

    model = copied(tmp_path, "wug-causal")
    (model / "tokenizer_config.json").write_text('{"tokenizer_class": "GPT2Tokenizer"}')
    assert identified(f"causal:{model}") is None  # a class with its own BOS token
    assert identified(f"causal:{model}", bos="no") is not None
    (model / "config.json").write_text('{"architectures": ["LlamaForCausalLM"], "quantization_config": {}}')
    assert identified(f"causal:{model}", bos="no") is None


def test_a_pinned_model_of_the_hub_is_known_by_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    constants = pytest.importorskip("huggingface_hub.constants")
    commit = "0123456789abcdef" * 2 + "01234567"
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    shutil.copytree(builtin_models()["wug-masked"], tmp_path / "models--org--model" / "snapshots" / commit)
    opened = open_model(f"masked:org/model@{commit}")
    assert opened.id == "masked/org/model@0123456789ab"
    assert dict(opened.options) == {"dtype": "float32", "pll": "within_word_l2r"}


def deferred(model: FakeScorer, *, known_as: str = "fake/scorer@1") -> ModelHandle:
    return ModelHandle(Identity(known_as, {}, "scores"), lambda: model, ModelSpec("fake", "lengths"))


def test_a_model_that_is_another_once_it_is_loaded_ends_the_run(tmp_path: Path) -> None:
    store, cache = Store(tmp_path / "store"), Cache(tmp_path / "answers.db")
    suites = open_suites("wug_agreement_pp")
    for other in (FakeScorer(id="fake/scorer@2"), FakeScorer(options={"dtype": "float16"})):
        with pytest.raises(ModelError, match=r"fake/scorer@1 became fake/scorer@.* when it was loaded"):
            record(suites, deferred(other), command="wug run", store=store, cache=cache)
        assert other.batches == []
    assert store.runs() == []


def test_asked_again_it_is_the_model_that_was_loaded(tmp_path: Path) -> None:
    opened = deferred(FakeScorer(id="fake/scorer@2"))
    suites = open_suites("wug_agreement_pp")
    with pytest.raises(ModelError):
        record(suites, opened, command="wug run")
    (result,) = record(suites, opened, command="wug run").results
    assert result.model == "fake/scorer@2"


def test_the_model_is_asked_in_chunks_of_its_own_size(tmp_path: Path) -> None:
    model = FakeScorer(chunk=5)
    record([open_suites("wug_agreement_pp")[0].sample(3)], deferred(model), command="wug run")
    assert {len(batch) for batch in model.batches[:-1]} == {5}


def test_how_much_a_model_likes_at_a_time_is_its_own_to_say() -> None:
    opened = deferred(FakeScorer(chunk=5))
    assert cached(opened).chunk > 5  # the cache takes more, and hands on no more than the model likes
    assert opened.chunk == 5  # as copies on a cluster say, which are to be asked like the model here


class TwoRounds:
    """A suite that asks more when it has heard the first answer."""

    name, kind, needs, checksum = "two", "pairs", "scores", "1"
    options: ClassVar[dict[str, str]] = {}
    metrics = ()
    meta: ClassVar[dict[str, str]] = {}

    def __len__(self) -> int:
        return 1

    def requests(self) -> list[Request]:
        return [Request("first")]

    def run(self, model: Any) -> object:
        model.score([Request("first")])
        model.score([Request("second")])
        return iter(())


def test_a_model_that_cannot_be_loaded_in_the_middle_ends_the_run(tmp_path: Path) -> None:
    def fail() -> FakeScorer:
        raise ModelError("no such folder")

    store, cache = Store(tmp_path / "store"), Cache(tmp_path / "answers.db")
    cached(FakeScorer(), cache, lambda done, total: None).score([Request("first")])
    gone = ModelHandle(Identity("fake/scorer@1", {}, "scores"), fail)
    suites: list[Any] = [TwoRounds()]
    with pytest.raises(ModelError, match="no such folder"):
        record(suites, gone, command="wug run", store=store, cache=cache)
    assert [(kept.status, store.results(kept.id)) for kept in store.runs()] == [("failed", [])]


def test_a_backend_without_identify_is_loaded_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = ModuleType("backend")
    vars(backend).update(OPTIONS=(), TRAITS=BackendTraits(), load=lambda spec: FakeScorer())
    monkeypatch.setattr(registry, "find", lambda folder, name: backend)
    assert isinstance(open_model(ModelSpec("fake", "lengths")).model, FakeScorer)


def test_what_a_deferred_model_can_is_known_before_it_is_loaded() -> None:
    def fail() -> object:
        raise AssertionError("it was loaded")

    scorer = ModelHandle(Identity("fake/a@1", {}, "scores"), fail)
    generator = ModelHandle(Identity("fake/b@1", {}, "text"), fail)
    assert (scorer.returns, generator.returns) == ("scores", "text")
    assert not scorer.is_loaded


def test_a_folder_that_did_not_change_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wug.models.weights import fingerprints

    model = copied(tmp_path)
    for path in model.iterdir():
        os.utime(path, (1e9, 1e9))
    read: list[str] = []
    digest = fingerprints._chunk_digest

    def noted(chunk: tuple[Path, int]) -> bytes:
        read.append(chunk[0].name)
        return digest(chunk)

    monkeypatch.setattr(fingerprints, "_chunk_digest", noted)
    first = fingerprint(model)
    times = len(read)
    assert fingerprint(model) == first
    assert len(read) == times > 0
    (model / "vocab.txt").write_text("another")  # just now, so it may be written to again at what is the same time
    assert fingerprint(model) != first
    before = len(read)
    fingerprint(model)
    assert len(read) > before
