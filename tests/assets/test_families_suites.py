"""The built-in suites of all families: readable, unchanged, and made by the commands in their cards."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from case_selection import cases
from command_line import wug
from wug import registry
from wug.evaluation.checking import check_file
from wug.evaluation.suites import builtin_suites, open_suites, recognised_family, suite_paths
from wug.families.cogs.make import Sizes, make
from wug.families.pcfgset.language import meaning, pairs
from wug.families.pcfgset.make import corpus
from wug.files import read_lines

pytestmark = pytest.mark.slow

SUITES = {
    # the name that a user gives: family, name in results, items, checksum
    "wug_places": ("choices", "wug_places", 36, "0c93fc19a52c"),
    "wug_cogs_gen": ("cogs", "wug_cogs_gen", 2_100, "d8cd2040b548"),
    "wug_cogs_test": ("cogs", "wug_cogs_test", 1_000, "ab3229d1f942"),
    "wug_agreement": ("pairs", "wug_agreement", 1_500, "17cd0ef8298c"),
    "wug_coord": ("pairs", "wug_coord", 940, "d10c481fd5a8"),
    "wug_npi": ("pairs", "wug_npi", 800, "c708dbbb3d76"),
    "wug_reflexives": ("pairs", "wug_reflexives", 300, "1257c3f3c998"),
    "wug_tense": ("pairs", "wug_tense", 500, "807516bba222"),
    "localism": ("pcfgset", "localism", 2_000, "8764fb57aba8"),
    "overgeneralisation": ("pcfgset", "overgeneralisation_test", 2_000, "bbb08f990edf"),
    "productivity": ("pcfgset", "productivity", 2_000, "47ee4afee77a"),
    "substitutivity": ("pcfgset", "substitutivity", 2_000, "7d1d82fc0b02"),
    "systematicity": ("pcfgset", "systematicity", 2_000, "ff42e0b92b8b"),
    "task_accuracy": ("pcfgset", "task_accuracy", 2_000, "1494aaf53715"),
}
MORPHOLOGY = 10
"""Suites with tests in tests/families/morphology."""
SYNTAXGYM = 6
LIMIT = 3_000_000
"""Bytes of all built-in suites together."""

each = pytest.mark.parametrize("name", SUITES)


def folder(family: str) -> Path:
    return suite_paths(f"wug_{family}")[0].parent


def card(family: str) -> str:
    return (folder(family) / "README.md").read_text(encoding="utf-8")


@cache
def sources() -> frozenset[str]:
    """All sources of the PCFG SET suites; of unrolled ones the whole."""
    found: set[str] = set()
    for path in folder("pcfgset").rglob("*.gz"):
        lines = read_lines(path)
        if ".src" in path.name:
            found.update(lines)
        elif ".tsv" in path.name:
            found.update(line.split("\t")[1].strip() for line in lines if line.startswith("original\t"))
    return frozenset(found)


def test_every_family_has_suites_and_they_take_little_room() -> None:
    found = builtin_suites()
    without_suite = {"babylm", "reading", "scan"}  # files of the challenge; people's times; the published commands
    assert {path.parent.name for path in found.values()} == set(registry.names("families")) - without_suite
    assert set(found) >= set(SUITES)
    assert len(found) == len(SUITES) + SYNTAXGYM + MORPHOLOGY
    files = [path for path in folder("cogs").parent.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < LIMIT


@each
def test_a_suite_is_read_with_all_its_items_and_unchanged(name: str) -> None:
    family, called, items, checksum = SUITES[name]
    (suite,) = open_suites(name)
    assert (suite.kind, suite.name, len(suite), suite.checksum) == (family, called, items, checksum)


@each
def test_the_check_finds_nothing_and_the_family_is_recognised(name: str) -> None:
    (path,) = suite_paths(name)
    assert recognised_family(path).name == SUITES[name][0]
    assert check_file(path) == []


@pytest.mark.parametrize("family", ["choices", "cogs", "pairs", "pcfgset", "syntaxgym"])
def test_the_name_of_a_family_opens_all_of_its_suites(family: str) -> None:
    names = {SUITES[name][1] for name in SUITES if SUITES[name][0] == family}
    found = {suite.name for suite in open_suites(f"wug_{family}")}
    assert found == names if family != "syntaxgym" else len(found) == SYNTAXGYM


@each
def test_the_card_of_a_family_tells_of_the_suite_with_its_number_of_items(name: str) -> None:
    family, _, items, _ = SUITES[name]
    (row,) = [line for line in card(family).splitlines() if line.startswith(f"| `{name}` |")]
    assert row.split("|")[-2].strip() == f"{items:,}"
    assert "Licence: MIT" in card(family)


def test_the_list_shows_every_suite_with_its_family_its_items_and_a_line_about_it() -> None:
    rows = {row["suite"]: row for row in wug("list", "suites", "--format", "json").results}
    for name, (family, _, items, _) in SUITES.items():
        assert (rows[name]["family"], rows[name]["items"]) == (family, items)
    assert all(row["about"] and "`" not in row["about"] for row in rows.values())
    assert rows["localism"]["about"] == "Do direct and stepwise outputs match?"


@pytest.mark.skipif(shutil.which("bash") is None or shutil.which("gzip") is None, reason="the cards are for bash")
@pytest.mark.parametrize("family", cases(["cogs", "pairs"], ["pcfgset"]))
def test_the_commands_of_the_card_make_the_suites(family: str, tmp_path: Path) -> None:
    (recipe,) = re.findall(r"```bash\n(.*?)```", card(family), re.DOTALL)
    command = 'wug() { "$PYTHON" -c "from wug.cli.main import main; main()" --quiet "$@"; }\n'
    told = subprocess.run(
        ["bash", "-euc", command + recipe],
        cwd=tmp_path,
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    committed = [path for path in folder(family).rglob("*") if path.is_file() and path.suffix != ".md"]
    assert committed
    for path in committed:
        again = tmp_path / path.relative_to(folder(family))
        assert read_lines(again) == read_lines(path), path.name


def test_the_first_command_of_the_card_of_pcfg_set_makes_its_first_suite(tmp_path: Path) -> None:
    """The others make theirs of it; all of them are run at night."""
    assert "\nwug make pcfgset --seed 2 --samples 20330 -o base\n" in card("pcfgset")
    assert wug("make", "pcfgset", "--seed", 2, "--samples", 20330, "-o", tmp_path / "base").code == 0
    for ending in ("src", "tgt"):
        made = read_lines(folder("pcfgset") / "task_accuracy" / f"test.{ending}.gz")
        assert read_lines(tmp_path / "base" / f"test.{ending}")[:2000] == made


def test_compressed_files_do_not_say_when_they_were_made() -> None:
    for path in folder("cogs").parent.rglob("*.gz"):
        with gzip.open(path) as file:
            file.read(1)
            assert file.mtime == 0


def test_an_oracle_gets_every_pcfg_set_suite_right() -> None:
    found = {}
    for result in wug("run", "wug_pcfgset", "--model", "oracle:pcfgset", "--no-save", "--format", "json").results:
        found[result["suite"]] = {e["metric"]: e["value"] for e in result["estimates"] if e["group"] == "all"}
    assert len(found) == 6
    for name in ("task_accuracy", "systematicity", "productivity"):
        assert found[name]["accuracy"] == 1
    assert found["localism"] == {"consistency": 1, "unrolled_accuracy": 1, "original_accuracy": 1}
    assert found["substitutivity"]["consistent_correct"] == 1
    assert found["overgeneralisation_test"] == {"overgeneralisation": 1, "memorisation": 0}


def test_pcfg_set_suites_hold_what_they_are_named_for() -> None:
    from wug.families.pcfgset.language import HELD_OUT, arity

    of = {name: read_lines(folder("pcfgset") / name / "test.src.gz") for name in ("systematicity", "productivity")}
    assert all(set(HELD_OUT) & set(pairs(line.split())) for line in of["systematicity"])
    assert min(sum(arity(word) is not None for word in line.split()) for line in of["productivity"]) == 9
    exceptions = folder("pcfgset") / "overgeneralisation"
    targets = zip(*(read_lines(exceptions / f"test_{kind}.tgt.gz") for kind in ("exception", "original")), strict=True)
    assert all(exception != original for exception, original in targets)


def test_pcfg_set_suites_have_nothing_of_a_corpus_with_seed_1() -> None:
    assert len(sources()) == 9_467
    trained = corpus.corpus(corpus.share_out(10_000), seed=1)
    assert not sources() & {sample.source for samples in trained.values() for sample in samples}
    symbols = {word for source in sources() for word in meaning(source).split()}
    assert symbols <= set(corpus.SYMBOLS)


def test_the_cogs_suites_are_of_the_set_with_seed_1_and_not_in_its_training_lines() -> None:
    made = make(1, Sizes(test=1_000, each=100))
    trained = {line.sentence for line in made["train.tsv"]}
    known = {word for sentence in trained for word in sentence.split()}
    for name in ("wug_cogs_gen", "wug_cogs_test"):
        sentences = [line.split("\t")[0] for line in read_lines(builtin_suites()[name])]
        assert not trained & set(sentences)
        assert {word for sentence in sentences for word in sentence.split()} <= known
