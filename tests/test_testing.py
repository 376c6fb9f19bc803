"""The conformance tests for plugins: wug's own families and backends pass them, and faulty ones do not."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import attention_models
import tiny
import tiny_masked
import tiny_seq2seq
from fake_completions import Rule, serving
from wug import registry
from wug.evaluation.models import builtin_models
from wug.evaluation.suites import builtin_suites
from wug.families.choices.suite import ChoicesSuite
from wug.models.attention_lstm import save_attention_lstm
from wug.outcomes import Metric
from wug.requests import Request, Scored, Token
from wug.results.store import Store
from wug.testing import TEXTS, check_backend, check_family
from wug.traits import BackendTraits

EXAMPLES = {
    "choices": "wug_places",
    "cogs": "wug_cogs_test",
    "morphology": "wug_plurals",
    "pairs": "wug_coord",
    "pcfgset": "task_accuracy",
    "syntaxgym": "wug_agreement_pp",
}
WITHOUT_RESULTS: Mapping[str, Sequence[str]] = {
    "cogs": ("arguments_*", "recogs_exact_match", "smatch_f1"),
    "morphology": [
        *("exact_match@*", "human_*", "*spearman*", "pearson", "preference_accuracy"),
        *("aic", "island_effect", "log_likelihood"),
    ],
}
"""Metrics that need another dialect, an option, ratings or several answers."""
SOURCES = ("copy A1 B2", "copy A1 B2 C3", "copy")
CPU = {"device": "cpu"}
ARPA = "\\data\\\nngram 1=3\n\n\\1-grams:\n-1\t<s>\n-1\t</s>\n-0.5\t<unk>\n\n\\end\\\n"


def test_every_family_has_an_example_here() -> None:
    # BabyLM is chosen by its protocol, reading times need people, and SCAN is tested on a separate file below.
    without_builtin_suite = ["babylm", "reading", "scan"]
    assert sorted([*EXAMPLES, *without_builtin_suite]) == registry.names("families")


@pytest.mark.parametrize("kind", EXAMPLES)
def test_families_of_wug_conform(kind: str) -> None:
    check_family(kind, builtin_suites()[EXAMPLES[kind]], optional=WITHOUT_RESULTS.get(kind, ()))


def test_a_family_without_a_built_in_suite_conforms(tmp_path: Path) -> None:
    path = tmp_path / "tasks_test_small.txt"
    path.write_text("IN: jump OUT: I_JUMP\nIN: walk twice OUT: I_WALK I_WALK\nIN: run left OUT: I_TURN_LEFT I_RUN\n")
    check_family("scan", path, {"oracle_length": "true"})


Made = tuple[str, Mapping[str, str], Sequence[str]]
"""The name of a model, its options, and texts or sources for it."""


def _replay(folder: Path) -> str:
    lines = [{"text": text, "tokens": [text], "logprobs": [-1.0]} for text in TEXTS]
    (folder / "scores.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return str(folder / "scores.jsonl")


def _attention_lstm(folder: Path) -> str:
    save_attention_lstm(folder / "model", attention_models.make(), attention_models.WORDS)
    return str(folder / "model")


def _arpa(folder: Path) -> str:
    (folder / "model.arpa").write_text(ARPA)
    return str(folder / "model.arpa")


def _opennmt(folder: Path) -> str:
    import torch

    torch.save(tiny_seq2seq.opennmt_checkpoint(), folder / "model.pt")
    return str(folder / "model.pt")


MODELS: dict[str, Callable[[Path], Made]] = {
    "attention_lstm": lambda folder: (_attention_lstm(folder), CPU, ("copy A B", "reverse A", "copy C D E")),
    "causal": lambda folder: (str(tiny.save_causal(folder)), CPU, TEXTS),
    "command": lambda folder: ("cp {source} {output}", {}, SOURCES),
    "ctranslate": lambda folder: (_opennmt(folder), CPU | {"max_length": "9"}, tiny_seq2seq.sources(3)),
    "function": lambda folder: ("wug_test_function:score", {"version": "1"}, TEXTS),
    "lstm": lambda folder: (str(builtin_models()["wug-lstm"]), CPU, TEXTS),
    "masked": lambda folder: (str(tiny_masked.save_masked(folder)), CPU, TEXTS),
    "ngram": lambda folder: (_arpa(folder), {}, TEXTS),
    "oracle": lambda folder: ("pcfgset", {}, SOURCES),
    "prompt": lambda folder: (str(tiny.save_causal(folder)), CPU | {"max_length": "5"}, SOURCES),
    "replay": lambda folder: (_replay(folder), {}, TEXTS),
    "seq2seq": lambda folder: (str(tiny_seq2seq.save_seq2seq(folder)), CPU, tiny_seq2seq.sources(3)),
}


def test_every_backend_has_a_model_here() -> None:
    assert sorted([*MODELS, "endpoint"]) == registry.names("models")


@pytest.mark.parametrize("kind", MODELS)
def test_backends_of_wug_conform(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "wug_test_function.py").write_text("def score(texts):\n    return [-len(text) for text in texts]\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    name, options, texts = MODELS[kind](tmp_path)
    check_backend(kind, name, options, texts)


def test_the_backend_for_servers_conforms() -> None:
    with serving(Rule()) as server:
        check_backend("endpoint", server.address)


class Constant:
    """A scorer of one token per text, which can be made to break a promise."""

    id, options, chunk, ordered = "sample/constant", dict[str, str](), 10, False
    token = Token("", 0, 1, -1.0)

    def score(self, requests: Sequence[Request]) -> list[Scored]:
        return [Scored.of(request.text, [self.token]) for request in requests]


class Empty(Constant):
    def score(self, requests: Sequence[Request]) -> list[Scored]:
        return []


class InCompany(Constant):
    def score(self, requests: Sequence[Request]) -> list[Scored]:
        token = replace(self.token, logprob=-float(len(requests)))
        return [Scored.of(request.text, [token]) for request in requests]


class Infinite(Constant):
    token = Token("", 0, 1, float("-inf"))


class Misplaced(Constant):
    token = Token("", 0, 1000, -1.0)


class OtherKind(Constant):
    id = "another/constant"


class Untyped(Constant):
    options: Any = {"bits": 2}  # noqa: RUF012 — a faulty model


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Empty, "sample/constant: 0 outputs for 3 requests"),
        (InCompany, "'The wug sleeps.': scored alone it differs by 2 nats"),
        (Infinite, "log-probabilities must be finite and at most 0, or None"),
        (Misplaced, "tokens outside of the text"),
        (OtherKind, "the id 'another/constant' must begin with sample/"),
        (Untyped, "sample/constant: options must be text"),
    ],
)
def test_a_backend_that_breaks_a_promise_is_reported(
    model: type[Constant], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = ModuleType("sample", "A sample.")
    vars(backend).update(TRAITS=BackendTraits(), OPTIONS=(), load=lambda spec: model())
    found, names = registry.find, registry.names
    monkeypatch.setattr(registry, "find", lambda folder, name: backend if name == "sample" else found(folder, name))
    monkeypatch.setattr(registry, "names", lambda folder: [*names(folder), *["sample"][: folder == "models"]])
    with pytest.raises(AssertionError, match=message):
        check_backend("sample", "constant")
    if model is Empty:
        vars(backend)["load"] = lambda spec: Constant()
        check_backend("sample", "constant")


def test_a_family_that_is_given_the_file_of_another_is_reported() -> None:
    with pytest.raises(AssertionError, match=r"pairs: .*wug_places.jsonl is read as choices"):
        check_family("pairs", builtin_suites()["wug_places"])


def test_a_family_that_accepts_a_broken_file_is_reported() -> None:
    good = builtin_suites()["wug_coord"]
    with pytest.raises(AssertionError, match=r"pairs: check\(\) finds no error in .*wug_coord.tab"):
        check_family("pairs", good, broken=good)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda metrics: [*metrics, Metric("elegance")], "choices: no result for these of its metrics: elegance"),
        (lambda metrics: [m for m in metrics if m.name != "ties"], "wug_places: not among its metrics: ties"),
    ],
)
def test_undeclared_metrics_of_a_family_are_reported(
    change: Callable[[Sequence[Metric]], Sequence[Metric]], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared: property = vars(ChoicesSuite)["metrics"]
    monkeypatch.setattr(ChoicesSuite, "metrics", property(lambda suite: change(declared.__get__(suite))))
    with pytest.raises(AssertionError, match=said):
        check_family("choices", builtin_suites()["wug_places"])
    if said.startswith("choices"):
        check_family("choices", builtin_suites()["wug_places"], optional=["eleg*"])


def test_a_family_is_checked_without_the_packages_of_the_site(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "starlette.testclient", None)
    check_family("pairs", builtin_suites()["wug_coord"])


def test_the_store_of_the_checked_pages_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Store] = []

    class Watched(Store):
        closed = False

        def __init__(self, path: Path) -> None:
            super().__init__(path)
            opened.append(self)

        def close(self) -> None:
            super().close()
            self.closed = True

    monkeypatch.setattr("wug.testing.Store", Watched)
    check_family("pairs", builtin_suites()["wug_coord"])
    assert opened
    assert all(store.closed for store in opened)  # type: ignore[attr-defined]


def test_a_family_with_a_function_of_other_parameters_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wug.families.pairs.read_back", lambda: ["nothing"])
    with pytest.raises(AssertionError, match=r"pairs: read_back must be a function of Suite"):
        check_family("pairs", builtin_suites()["wug_coord"])
