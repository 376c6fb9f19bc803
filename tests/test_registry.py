"""The registry: what is installed is looked up once, and a broken package is a notice, not the end."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType

import pytest

from command_line import refused, wug
from wug import registry
from wug.errors import BrokenPlugin, UnknownName
from wug.evaluation import executors, suites
from wug.families.commands import MakeCommand, ScoreCommand, predictions
from wug.traits import FamilyTraits


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A package that adds a family and a backend which cannot be imported; the groups that were looked up."""
    asked: list[str] = []

    def entry_points(group: str) -> list[EntryPoint]:
        asked.append(group)
        return [EntryPoint("aardvark", "no_such_module_of_ours", group)]

    monkeypatch.setattr(registry, "entry_points", entry_points)
    _forget()
    yield asked
    _forget()


@pytest.fixture
def one_module(installed: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A family that another package has in one module, with traits of a wrong type."""
    (tmp_path / "plurals_of_wugs.py").write_text("TRAITS = {'builtin_model': 'wug-lstm'}\n")
    monkeypatch.syspath_prepend(tmp_path)
    entries = [EntryPoint("plurals", "plurals_of_wugs", "wug.families")]
    monkeypatch.setattr(registry, "entry_points", lambda group: entries if group == "wug.families" else [])


def _forget() -> None:
    for remembered in (registry._entry_points, registry._warn_once):
        remembered.cache_clear()


def test_packages_are_looked_up_once(installed: list[str]) -> None:
    for _ in range(3):
        registry.names("models")
        registry.find("models", "replay")
    assert installed == ["wug.models"]


def test_a_broken_package_is_named_and_the_others_go_on(installed: list[str], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "wug")
    assert "syntaxgym" in dict(registry.modules("families"))
    assert "aardvark" not in dict(registry.modules("families"))
    assert caplog.text.count("'aardvark', which the package no_such_module_of_ours adds, cannot be used") == 1
    with pytest.raises(BrokenPlugin, match="Repair the package"):
        registry.find("models", "aardvark")


def test_commands_go_on_beside_a_broken_package(installed: list[str]) -> None:
    said = wug("check", suites.builtin_suites()["wug_agreement_pp"])
    assert (said.code, said.err.count("aardvark")) == (0, 1)
    assert wug("list", "suites").code == 0
    assert wug("list", "models").code == 0


def test_an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'syntaxgym'"):
        registry.find("families", "syntaxgim")


def test_a_family_of_another_package_adds_commands_to_make_and_score(monkeypatch: pytest.MonkeyPatch) -> None:
    family = ModuleType("plurals")
    vars(family)["MAKE"] = (MakeCommand("plurals", lambda: "wugs", (), "Make plurals."),)
    vars(family)["SCORE"] = (ScoreCommand("plurals", lambda paths: f"{len(paths)} plurals", (predictions("Plurals"),)),)
    monkeypatch.setattr(registry, "modules", lambda folder: iter([("plurals", family)]))
    assert wug("make", "plurals").out == "wugs\n"
    assert wug("score", "plurals", "--predictions", "a", "--predictions", "b").out == "2 plurals\n"
    assert "Make plurals." in wug("make", "--help").out


@pytest.mark.usefixtures("one_module")
def test_a_family_that_is_one_module_has_no_schema() -> None:
    refused(wug("schema", "plurals"), "plurals files are not JSON and have no schema")


@pytest.mark.usefixtures("one_module")
def test_traits_of_a_wrong_type_are_left_out() -> None:
    assert registry.family_traits("plurals") == FamilyTraits()


def test_other_packages_add_no_commands_and_no_pages(installed: list[str]) -> None:
    assert "aardvark" not in {*registry.names("cli"), *registry.names("web.pages"), *executors.names()}
    assert "aardvark" in registry.names("views.writers")
    assert {"wug.cli", "wug.web.pages"}.isdisjoint(installed)


@dataclass
class Options:
    """What is known of a model before it is loaded."""

    id: str
    options: dict[str, str]
    chunk: int = 1


@pytest.mark.parametrize(
    ("model", "both_sides", "sources"),
    [
        (Options("masked/x@1", {}), True, False),
        (Options("causal/x@1", {"score": "spans"}), False, False),
        (Options("seq2seq/x@1", {"score": "spans", "dtype": "float32"}), True, False),
        (Options("seq2seq/x@1", {"score": "source"}), False, True),
        (Options("seq2seq/x@1", {}), False, False),
        (Options("attention_lstm/x@1", {"score": "source"}), False, True),
    ],
)
def test_a_backend_declares_options_for_right_context_and_sources(
    model: Options, both_sides: bool, sources: bool
) -> None:
    assert (registry.sees_right_context(model), registry.reads_sources(model)) == (both_sides, sources)
