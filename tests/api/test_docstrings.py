"""The docstrings of public names: every parameter is described, and every example runs."""

from __future__ import annotations

import doctest
import inspect
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import command_line
import wug

SECTION = re.compile(r"(?m)^(Args|Returns|Yields|Raises|Examples):$")
FUNCTIONS = [name for name in dir(wug) if not inspect.isclass(getattr(wug, name))]


def methods(kind: type) -> Iterator[tuple[str, Any]]:
    for name, value in vars(kind).items():
        if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, classmethod | staticmethod)):
            yield name, getattr(kind, name)


EVERY = {name: getattr(wug, name) for name in FUNCTIONS}
DESCRIBED = {
    f"{name}.{key}": method
    for name in dir(wug)
    if inspect.isclass(getattr(wug, name))
    for key, method in methods(getattr(wug, name))
    if SECTION.search(inspect.getdoc(method) or "")
}
"""Methods whose first line is not enough."""


def sections(thing: object) -> dict[str, str]:
    """The text of each section of a docstring, without its indentation."""
    parts = SECTION.split(inspect.getdoc(thing) or "")
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("name", [*EVERY, *DESCRIBED])
def test_every_parameter_and_what_is_returned_is_described(name: str) -> None:
    function = {**EVERY, **DESCRIBED}[name]
    found, signature = sections(function), inspect.signature(function)
    described = re.findall(r"(?m)^    \*{0,2}(\w+): ", found.get("Args", ""))
    assert described == [parameter for parameter in signature.parameters if parameter not in ("self", "cls")]
    if name in EVERY and signature.return_annotation not in ("None", None):  # of a method, the first line says it
        assert "Returns" in found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_says_what_it_raises_by_names_of_errors(name: str) -> None:
    raised = re.findall(r"(?m)^    (\w+): ", sections(getattr(wug, name))["Raises"])
    assert raised
    from wug import errors

    assert all(issubclass(getattr(errors, one), wug.WugError) for one in raised)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the examples read: a store, tables, and results of another program."""
    made = tmp_path_factory.mktemp("docstrings")
    wug.run("wug_agreement_pp", limit=4, store=made / "runs")
    words = "The old keys to the small cabinet are on the wooden table again".split()
    rows = [
        (story, zone, word, 2 + (zone * 7 + story * 3) % 9, 300 + 7 * len(word) + (zone * 37 + story * 11) % 50)
        for story in range(1, 13)
        for zone, word in enumerate(words, 1)
    ]
    text = "".join(",".join(map(str, row)) + "\n" for row in [("story", "word_n", "word", "bits", "rt"), *rows])
    (made / "times.csv").write_text(text, encoding="utf-8")
    answers = "".join(f"s{n % 3},r{n // 3},{int(n % 3 != 1 or n == 1)}\n" for n in range(12))
    (made / "answers.csv").write_text(f"sentence,who,right\n{answers}", encoding="utf-8")
    wug.run("wug_coord", limit=4, store=made / "other")
    assert command_line.wug("export", 1, "--store", made / "other", "--to", "lm-eval", "-o", made / "results").code == 0
    return made


@pytest.mark.parametrize("name", dir(wug))
def test_every_public_name_has_an_example_that_runs(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    thing = getattr(wug, name)
    assert "Examples" in sections(thing)
    finder, runner = doctest.DocTestFinder(recurse=True), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    said: list[str] = []
    for test in finder.find(thing, name, globs={"wug": wug, "math": math}):
        runner.run(test, out=said.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(said)
