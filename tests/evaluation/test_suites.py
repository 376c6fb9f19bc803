"""Names of suites, and ambiguous ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from wug.errors import InputError, UnknownName
from wug.evaluation.suites import builtin_suites, open_suites, suite_paths

PAIR = '{"sentence_good": "The wug sleeps.", "sentence_bad": "The wug sleep."}\n'


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WUG_DATA", str(tmp_path / "sets"))
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("family", ["syntaxgym", "pairs", "pcfgset", "cogs"])
def test_built_in_suites_of_a_family_have_a_name(family: str) -> None:
    assert suite_paths(f"wug_{family}") == [path for path in builtin_suites().values() if path.parent.name == family]


def test_pairs_are_built_in_suites_too_since_no_set_is_called_so() -> None:
    assert suite_paths("pairs") == suite_paths("wug_pairs")


def test_an_unknown_name_is_reported_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'wug_syntaxgym'"):
        suite_paths("wug_syntaxgim")


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("wug_reflexive", r"/.*wug_reflexive\.json for the built-in suite"),
        ("wug_cogs", "/.*/cogs for the built-in suites"),
        ("turblimp", r'"\$\(wug data path turblimp\)" for the published set turblimp'),
        ("turblimp/base", ".* for the published set turblimp/base"),
    ],
)
def test_a_folder_called_like_a_suite_is_distinguished(name: str, meaning: str, here: Path) -> None:
    (here / name).mkdir(parents=True)
    (here / name / "a.jsonl").write_text(PAIR, encoding="utf-8")
    with pytest.raises(InputError, match=f"^{name} is ambiguous: write ./{name} for the folder here, or {meaning}"):
        open_suites(name)
    (suite,) = open_suites(f"./{name}")
    assert len(suite) == 1


def test_a_file_with_an_ending_and_a_folder_below_a_sets_name_mean_themselves(here: Path) -> None:
    (here / "blimp" / "data").mkdir(parents=True)
    (here / "blimp" / "data" / "a.jsonl").write_text(PAIR, encoding="utf-8")
    assert [suite.name for suite in open_suites(["blimp/data", "blimp/data/a.jsonl"])] == ["data", "a"]


def test_a_set_with_its_name_on_the_hub_is_reported_with_its_own_name() -> None:
    with pytest.raises(InputError, match=r"no such file or folder\. The published set is called blimp$"):
        open_suites("nyu-mll/blimp")
