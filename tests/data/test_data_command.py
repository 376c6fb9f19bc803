"""`wug data` and `wug run NAME` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import refused, run_python, wug
from fake_datasets import COMMIT, CONTENT, Mirror
from wug import data


def test_list_shows_sets_of_a_family_and_a_language() -> None:
    rows = json.loads(wug("data", "list", "--family", "pairs", "--language", "fr", "--format", "json").out)
    assert [row["set"] for row in rows] == ["clams-fr", "multiblimp", "qfrblimp"]
    assert rows[2]["licence"] == "CC-BY-NC-SA-4.0"
    assert rows[2]["title"].startswith("QFrBLiMP")
    assert not rows[2]["fetched"]
    table = wug("data", "list").out.splitlines()
    assert [line.split()[0] for line in table if line[0] != " "] == ["set", *data.names()]


def test_list_of_nothing_says_so() -> None:
    said = wug("data", "list", "--language", "tlh")
    assert (said.code, said.out, said.err) == (0, "", "no such set\n")


def test_show_tells_licence_citation_source_and_parts() -> None:
    said = wug("data", "show", "cogs")
    lines = dict(line.split(maxsplit=1) for line in said.out.splitlines()[1:])
    assert lines["licence"] == "MIT"
    assert lines["cite"] == "Kim & Linzen 2020, EMNLP"
    assert lines["source"] == "github.com/najoungkim/COGS at 165a7b669eade971fa47bf568a2e51925360fed8"
    assert lines["path"] == "not fetched: wug data get cogs"
    assert "gen" in lines["parts"].split(", ")
    files = json.loads(wug("data", "show", "cogs/gen", "--format", "json").out)["files"]
    assert [(file["path"], file["size"]) for file in files] == [("data/gen.tsv", 5532102)]


def test_get_shows_the_licence_then_fetches_then_prints_where(mirror: Mirror, data_folder: Path) -> None:
    said = wug("data", "get", "wugs/binding", "wugs/more")
    assert said.code == 0
    folder = data_folder / "wugs" / COMMIT[:12]
    assert said.out.splitlines() == [str(folder / "binding.jsonl"), str(folder / "more")]
    assert said.err.splitlines()[0] == "wugs/binding: 1 file, 0.2 kB, licence: MIT · cite Berko 1958, Word 14"
    assert wug("data", "path", "wugs/more").out == f"{folder / 'more'}\n"


def test_nothing_is_fetched_while_one_licence_is_not_accepted(mirror: Mirror) -> None:
    said = wug("data", "get", "wugs", "guarded")
    refused(said, "CC-BY-NC-4.0", "Its licence allows no commercial use.", "wug data get guarded --accept")
    assert mirror.asked == []
    assert wug("data", "get", "wugs", "guarded", "--accept").code == 0


def test_get_from_a_folder_needs_no_network(made_up: None, tmp_path: Path) -> None:
    for number, content in enumerate(CONTENT.values()):
        (tmp_path / str(number)).write_bytes(content)
    said = wug("data", "get", "wugs", "--from", tmp_path)
    assert said.code == 0, said.err
    assert data.fetched("wugs")
    refused(wug("data", "get", "guarded", "--from", tmp_path), "--accept")


def test_path_of_a_group_prints_its_files_one_a_line(mirror: Mirror, data_folder: Path) -> None:
    wug("data", "get", "wugs")
    names = ["agreement.jsonl", "more/a = (1), +#2.tsv", "more/train.tsv", "more/unseen.tsv"]
    found = wug("data", "path", "wugs/both").out.splitlines()
    assert found == [str(data_folder / "wugs" / COMMIT[:12] / name) for name in names]


def test_cite_prints_every_set_that_is_requested() -> None:
    said = wug("data", "cite", "blimp", "cogs")
    assert [line for line in said.out.splitlines() if line.startswith("@")] == [
        "@article{warstadt2020,",
        "@inproceedings{kim2020,",
    ]


@pytest.mark.parametrize("what", ["show", "get", "path", "cite"])
def test_a_typo_gets_the_nearest_name(what: str) -> None:
    refused(wug("data", what, "turblinp"), "unknown test set 'turblinp'. Did you mean 'turblimp'?")


def test_a_run_of_a_set_that_is_not_here_is_reported_in_three_lines() -> None:
    said = wug("run", "blimp", "--model", "wug-causal")
    refused(said)
    assert said.err.splitlines() == [
        "error: blimp is not on this machine: BLiMP: The Benchmark of Linguistic Minimal Pairs for English "
        "(Warstadt et al. 2020, TACL 8)",
        "    67 files, 29.6 MB from github.com/alexwarstadt/blimp, licence: CC-BY-4.0",
        "    wug data get blimp    (or run it with --fetch)",
    ]
    refused(wug("run", "blimp/anaphor_agrement", "--model", "wug-causal"), "Did you mean 'anaphor_agreement'?")
    assert (
        wug("run", "blimp/*island*").err.splitlines()[2]
        == "    wug data get 'blimp/*island*'    (or run it with --fetch)"
    )
    # What is called like a family says how its built-in suites are called.
    assert wug("run", "cogs").err.splitlines()[2:] == [
        "    wug data get cogs    (or run it with --fetch); built-in suites: wug_cogs"
    ]
    refused(wug("run", "turblinp", "--model", "wug-causal"), "Did you mean 'turblimp'?")


def test_a_set_that_is_here_is_opened_by_its_name(mirror: Mirror) -> None:
    from wug.evaluation.suites import open_suites

    data.get("wugs/binding")
    (suite,) = open_suites("wugs/binding")
    assert (suite.kind, suite.name, len(suite)) == ("pairs", "binding", 3)
    data.get("wugs/agreement")
    (whole,) = open_suites("wugs")
    assert (whole.name, len(whole)) == ("wugs", 2003)
    (some,) = open_suites("wugs/*g*.jsonl")
    assert (some.name, len(some)) == ("wugs/*g*.jsonl", 2003)


def test_the_licence_of_a_set_travels_into_results_terminal_and_report(mirror: Mirror, tmp_path: Path) -> None:
    data.get("guarded", accept=True)
    (result,) = wug("run", "guarded", "--model", "wug-causal", "--format", "json").results
    assert result["data"]["licence"] == "CC-BY-NC-4.0"
    assert result["data"]["commit"] == COMMIT
    line = "data: Not for trade · licence: CC-BY-NC-4.0 · cite Berko 1958, Word 14 (wug data cite guarded)"
    assert line in wug("run", "guarded", "--model", "wug-causal").out.replace("\n", " ").replace("  ", " ")
    assert wug("report", "1", "-o", tmp_path / "page.html").code == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "CC-BY-NC-4.0" in page
    assert f"github.com/nobody/guarded at {COMMIT}" in page
    # The same files by their path are the same set; a copy elsewhere is not known.
    by_path = wug("run", data.path("guarded"), "--model", "wug-causal", "--format", "json").results
    assert by_path[0]["data"] == result["data"]
    copy = tmp_path / "binding.jsonl"
    copy.write_bytes(data.path("guarded").read_bytes())
    assert "data" not in wug("run", copy, "--model", "wug-causal", "--format", "json").results[0]


def test_fetch_shows_the_licence_and_brings_what_a_run_needs(mirror: Mirror) -> None:
    said = wug("run", "wugs", "--fetch", "--model", "wug-causal", "--limit", 4, "--format", "json")
    assert said.err.splitlines()[0] == "wugs: 2 files, 0.1 MB, licence: MIT · cite Berko 1958, Word 14"
    assert said.results[0]["n"] == 4
    assert [path for path, _ in mirror.asked] == ["data/agreement.jsonl", "data/binding.jsonl"]
    assert wug("run", "wugs", "--fetch", "--model", "wug-causal", "--limit", 4).code == 0
    assert len(mirror.asked) == 2  # what is here is not asked for again


@pytest.mark.parametrize("name", ["guarded", "unlicensed"])
def test_fetch_needs_accept_where_the_licence_does_not_allow_every_use(mirror: Mirror, name: str) -> None:
    refused(wug("run", name, "--fetch", "--model", "wug-causal"), f"wug data get {name} --accept")
    assert mirror.asked == []
    assert wug("run", name, "--fetch", "--accept", "--model", "wug-causal").code == 0
    refused(wug("run", name, "--accept", "--model", "wug-causal"), "--accept is for --fetch")


def test_fetch_leaves_files_and_built_in_suites_alone(mirror: Mirror, tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_bytes(CONTENT["data/binding.jsonl"])
    assert wug("run", path, "wug_npi", "--fetch", "--model", "wug-causal", "--limit", 2).code == 0
    assert mirror.asked == []


def test_help_imports_nothing_of_the_catalogue() -> None:
    code = (
        "import sys; sys.argv = ['wug', '--help']\n"
        "from wug.cli.main import cli\n"
        "try: cli()\n"
        "except SystemExit: pass\n"
        "print([name for name in sys.modules if name.startswith(('wug.data', 'httpx', 'filelock', 'rich'))])"
    )
    printed = run_python("-c", code).out
    assert printed.splitlines()[-1] == "[]"
    assert "\n  data " in printed
