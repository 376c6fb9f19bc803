"""The sample package in `examples/plugin`, installed and used like wug's own families and backends."""

from __future__ import annotations

import ast
import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest

from browsing import client_of
from command_line import run_python, wug
from timeouts import PATIENCE
from wug import registry
from wug.results.store import Store
from wug.web.site import Site

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "plugin"
NOUNS = [line.split("\t") for line in (EXAMPLE / "berko.plurals").read_text().splitlines() if line[0] != "#"]
SHORTER = sum(len(right) < len(wrong) for _, right, wrong, _ in NOUNS)
"""Nouns that a model gets right which finds letters surprising, and nothing else."""
PAGES = ("/", "/result/1", "/result/1/items", "/result/1/outcome/0", "/result/1/figure/groups-0.vl.json")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder that the package is installed into, as anyone would install it; this process finds it, too."""
    folder = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*pip, "--target", str(folder), str(EXAMPLE)], check=True, timeout=PATIENCE)
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(folder)
        registry._entry_points.cache_clear()
        yield folder
    registry._entry_points.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "wug_plurals"]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def run(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run store with the built-in suite of the package asked of its model."""
    store = tmp_path_factory.mktemp("runs") / "store"
    command = ("run", EXAMPLE / "berko.plurals", "--model", "letters:2", "--format", "json", "--no-cache")
    [result] = json.loads(printed(*command, "--store", store))
    values = {(e["metric"], e["group"]): e["value"] for e in result["estimates"]}
    assert values["plural", "all"] == SHORTER / len(NOUNS)
    assert values["margin", "all"] == pytest.approx(sum(2 * (len(w) - len(r)) for _, r, w, _ in NOUNS) / len(NOUNS))
    assert "model:letters/2" in result["signature"]
    return store


def printed(*arguments: object) -> str:
    """What a command prints in this process."""
    output = wug(*arguments)
    assert output.code == 0, output.err
    return output.out


def python(installed: Path, *arguments: object) -> str:
    """What another program prints to which the package is installed."""
    path = [installed, *filter(None, [os.environ.get("PYTHONPATH")])]
    output = run_python(*arguments, env={"PYTHONPATH": os.pathsep.join(map(str, path))})
    assert output.code == 0, output.err
    return output.out


def test_the_sample_imports_only_what_is_stable() -> None:
    """`wug.types` is enough for a family, its view and a backend; `docs/plugins.md` promises that it is stable."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in sorted(EXAMPLE.rglob("*.py"))]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    modules = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    modules |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    assert {module for module in modules if module.partition(".")[0] == "wug"} == {"wug.types", "wug.testing"}


def test_family_and_backend_are_listed(installed: Path) -> None:
    assert "plurals" in printed("list", "suites")
    assert "letters" in printed("list", "models")


def test_a_run_is_shown_and_exported(run: Path) -> None:
    shown = printed("show", 1, "--store", run)
    assert "the right plural is more probable than the wrong one" in shown
    assert f"{100 * SHORTER / len(NOUNS):.1f}%" in shown
    exported = csv.DictReader(io.StringIO(printed("export", 1, "--to", "csv", "--store", run)))
    verdicts = {row["item"]: row["value"] for row in exported if row["metric"] == "plural"}
    assert verdicts == {singular: str(float(len(right) < len(wrong))) for singular, right, wrong, _ in NOUNS}


def test_the_report_has_the_familys_own_view(run: Path, tmp_path: Path) -> None:
    printed("report", 1, "-o", tmp_path / "page.html", "--store", run)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "This is a wug. Now there are two …" in page
    assert "Wrong plurals" in page
    assert "<ins>gutches</ins>" in page
    assert "Plural by ending" in page


def test_the_pages_have_it_too(run: Path, tmp_path: Path) -> None:
    with closing(Store(run)) as store:
        client = client_of(Site(store=store, cache=tmp_path / "answers.db", folders=()))
        answers = [client.get(address) for address in PAGES]
    assert {answer.status_code for answer in answers} == {200}
    pages = "".join(answer.text for answer in answers)
    assert "This is a wug. Now there are two …" in pages
    assert "<ins>gutches</ins>" in pages
    assert "the right plural is more probable than the wrong one" in pages


def test_the_package_conforms(installed: Path) -> None:
    python(installed, "-m", "pytest", "-q", "-p", "no:cacheprovider", EXAMPLE / "tests")


def test_the_familys_own_columns_are_written(run: Path) -> None:
    found = printed("run", EXAMPLE / "berko.plurals", "--model", "letters:2", "--format", "tsv", "--store", run)
    head, *rows = found.splitlines()
    assert head.split("\t") == ["suite", "noun", "right", "wrong", "chosen"]
    assert [row.split("\t")[1:4] for row in rows] == [noun[:3] for noun in NOUNS]


def test_without_a_model_the_one_that_the_family_names_is_used(installed: Path) -> None:
    assert "wug-causal" in printed("run", EXAMPLE / "berko.plurals", "--format", "json", "--dry-run")


EXECUTORS = [
    ["--executor", "serial"],
    ["--executor", "processes", "--workers", "2"],
    pytest.param(["--executor", "ray"], marks=pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray")),
]


@pytest.mark.parametrize("executor", EXECUTORS, ids=lambda given: given[1])
def test_a_sweep_of_its_models_runs_on_every_executor(installed: Path, tmp_path: Path, executor: list[str]) -> None:
    """The name of one model contains `?`, and `--device` reaches the backend."""
    models = ("--model", "letters:2", "--model", "letters:vowel?1:2")
    files = ("--store", tmp_path / "store", "--cache", tmp_path / "answers.db")
    given = ("run", EXAMPLE / "berko.plurals", *models, "--device", "cpu", "--format", "json", *executor, *files)
    results = json.loads(printed(*given) if "serial" in executor else python(installed, "-m", "wug", *given))
    assert [result["model"] for result in results] == ["letters/2", "letters/vowel?1:2"]
    assert [result["status"] for result in results] == ["complete", "complete"]
    # An extra e takes 2 bits of the one and 1 bit of the other, any other letter 2 bits of both.
    bits = [(2, 2), (1, 2)]
    for result, (vowel, other) in zip(results, bits, strict=True):
        margins = [_bits(wrong, vowel, other) - _bits(right, vowel, other) for _, right, wrong, _ in NOUNS]
        (margin,) = (e["value"] for e in result["estimates"] if (e["metric"], e["group"]) == ("margin", "all"))
        assert margin == pytest.approx(sum(margins) / len(NOUNS))


def _bits(word: str, vowel: int, other: int) -> int:
    return sum(vowel if letter in "aeiou" else other for letter in word)


PREFETCHED = """
import threading
import wug
from wug_plurals import letters

found = []
letters.prefetch = lambda spec: found.append(spec.name)
wug.run("berko.plurals", ["letters:1", "letters:vowel?1:2"])
for thread in threading.enumerate():
    if thread.name == "wug-prefetch":
        thread.join()
print(found)
"""


def test_the_next_model_of_a_sweep_is_prefetched(installed: Path, tmp_path: Path) -> None:
    script = PREFETCHED.replace("berko.plurals", str(EXAMPLE / "berko.plurals"))
    assert python(installed, "-c", script).strip() == "['vowel?1:2']"


def test_a_faulty_file_is_refused_with_its_lines(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.plurals").write_text("wug wugs wug z\n")
    said = wug("check", tmp_path / "bad.plurals")
    assert said.code == 1
    assert "line 1" in said.out
