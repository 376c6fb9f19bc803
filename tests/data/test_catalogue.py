"""The catalogue's form, and the names of sets and parts."""

from __future__ import annotations

import csv
import re
from pathlib import Path, PurePosixPath

import pytest

from reference import reference
from wug import data, registry
from wug.data.catalogue import File, TestSet, catalogue
from wug.errors import UnknownName
from wug.evaluation.suites import BUILTIN_PREFIX, builtin_suites
from wug.options import read

SETS = list(catalogue().values())
LICENCES = {"Apache-2.0", "BSD-3-Clause", "CC-BY-4.0", "CC-BY-NC-4.0", "CC-BY-NC-SA-4.0", "CC-BY-SA-4.0", "MIT"}


def by_name(chosen: TestSet) -> str:
    return chosen.name


def test_there_are_at_least_twenty_sets_and_some_of_every_family() -> None:
    assert len(SETS) >= 20
    for family in registry.names("families"):
        assert data.names(family), family


def test_a_set_that_a_family_reads_is_filed_under_it() -> None:
    assert data.names("choices") == ["ewok"]


@pytest.mark.parametrize("chosen", SETS, ids=by_name)
def test_a_set_has_all_that_a_user_asks_for(chosen: TestSet) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", chosen.name)
    assert chosen.title
    assert chosen.items
    assert chosen.family in {*registry.names("families"), "reading", "other"}
    assert all(re.fullmatch(r"[a-z]{2,3}(-[A-Z]{2})?|artificial", code) for code in chosen.languages)
    assert chosen.languages
    assert chosen.licence is None or set(chosen.licence.split(" AND ")) <= LICENCES
    assert re.fullmatch(r"github\.com/[\w.-]+/[\w.-]+", chosen.repository)
    assert re.fullmatch(r"[0-9a-f]{40}", chosen.commit)
    for paper in chosen.papers:
        assert paper.kind in ("article", "inproceedings", "misc")
        assert {"author", "title", "year"} <= paper.fields.keys()
        assert str(paper.fields["year"]) in paper.short
    assert chosen.papers


@pytest.mark.parametrize("chosen", SETS, ids=by_name)
def test_every_file_has_a_checksum_and_a_place_of_its_own(chosen: TestSet) -> None:
    for file in chosen.files:
        if file.size is None:
            assert re.fullmatch(r"git:[0-9a-f]{40}", file.checksum)
        else:
            assert re.fullmatch(r"[0-9a-f]{64}", file.checksum)
            assert file.size > 0
        assert not PurePosixPath(file.path).is_absolute()
        assert not {"..", "", "."} & set(file.path.split("/"))
        assert file.path.endswith(file.name)
    # Some systems do not tell upper from lower case.
    assert len({file.name.lower() for file in chosen.files}) == len(chosen.files) > 0


@pytest.mark.parametrize("chosen", SETS, ids=by_name)
def test_every_part_that_is_named_has_files(chosen: TestSet) -> None:
    for part in (*chosen.part_names(), *chosen.suite):
        assert chosen.select(part), part
    for patterns in (*chosen.parts.values(), chosen.training):
        assert all(chosen.select(pattern) for pattern in patterns)


def test_no_set_is_called_like_a_built_in_suite_or_like_those_of_a_family() -> None:
    families = {path.parent.name for path in builtin_suites().values()}
    assert families == {"choices", "cogs", "morphology", "pairs", "pcfgset", "syntaxgym"}
    builtin = {*builtin_suites(), *(f"{BUILTIN_PREFIX}{family}" for family in families), "pairs"}
    assert not set(data.names()) & builtin
    assert not {name for name in builtin if data.is_known(name)}


@pytest.mark.parametrize("chosen", SETS, ids=by_name)
def test_the_options_of_a_set_are_options_of_its_family(chosen: TestSet) -> None:
    if chosen.options:
        read(registry.find("families", chosen.family).OPTIONS, chosen.options, chosen.family)


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("cogs/gen", ["gen.tsv"]),
        ("syntaxgym/number_prep", ["number_prep.json"]),
        ("syntaxgym/number_prep.json", ["number_prep.json"]),
        ("blimp/anaphor_agreement", ["anaphor_gender_agreement.jsonl", "anaphor_number_agreement.jsonl"]),
        ("pcfgset/productivity/test", ["productivity/test.src", "productivity/test.tgt"]),
        ("multiblimp/fra", ["multiblimp.jsonl"]),
        ("bl2mp/*_level*", ["bl2mp_level.jsonl"]),
        ("sling/haishi_ma", ["SLING_Data/AlternativeQuestion/haishi_ma.jsonl"]),
    ],
)
def test_a_part_is_a_group_a_folder_a_file_or_a_pattern(name: str, files: list[str]) -> None:
    assert [file.name for file in data.find(name).files] == files


def test_blimp_has_its_twelve_phenomena_and_each_paradigm_in_one_of_them() -> None:
    blimp = data.find("blimp").set
    grouped = sorted(name for names in blimp.parts.values() for name in names)
    assert grouped == sorted(file.name for file in blimp.files)
    assert len(grouped) == 67


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("blimp", [""]),
        ("turblimp/base", ["base"]),
        ("pcfgset/localism", ["localism"]),
        ("cogs/gen", ["gen.tsv"]),
        ("blimp/anaphor_agreement", ["anaphor_gender_agreement.jsonl", "anaphor_number_agreement.jsonl"]),
    ],
)
def test_files_that_fill_a_folder_are_found_by_the_folder(name: str, places: list[str]) -> None:
    assert data.find(name).paths == places


def test_a_run_of_a_whole_set_takes_its_test_material() -> None:
    assert data.find("turblimp").for_run().paths == ["base"]
    assert data.find("recogs").for_run().paths == ["recogs_v2"]
    assert [file.name for file in data.find("cogs").for_run().without_training().files] == [
        *("dev.tsv", "gen.tsv", "gen_cases_to_paper_sections.json", "test.tsv")
    ]
    assert [file.name for file in data.find("cogs/train").without_training().files] == ["train.tsv"]
    assert [file.name for file in data.find("jblimp").for_run().files] == ["validated/validated_minimal_pairs.jsonl"]


def test_an_unknown_name_comes_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"unknown test set 'blimpp'\. Did you mean 'blimp'\?"):
        data.find("blimpp")
    with pytest.raises(UnknownName, match=r"part of syntaxgym 'numberprep'\. Did you mean 'number_prep'\?"):
        data.find("syntaxgym/numberprep")
    with pytest.raises(UnknownName, match="unknown part of multiblimp 'nld'"):
        data.find("multiblimp/nld")


def test_sets_of_a_language_are_those_of_its_countries_too() -> None:
    assert {"clams-fr", "qfrblimp"} <= set(data.names(language="fr"))
    assert data.names(language="fr-CA") == ["qfrblimp"]
    assert "malindo-blimp" in data.names("pairs", "ms")


@pytest.mark.parametrize(
    "name",
    [
        *("gulordava-en", "linzen-filtered", "naturalstories", "qfrblimp", "bl2mp", "bert-syntax"),  # non-commercial
        *("climp", "gevalm", "zhoblimp"),  # no licence
        *("ewok", "jblimp"),  # terms beyond the licence
    ],
)
def test_licences_that_do_not_allow_every_use_are_restrictions(name: str) -> None:
    assert data.find(name).set.restriction


@pytest.mark.parametrize("name", ["blimp", "syntaxgym", "cogs", "pcfgset", "crows-pairs", "clams-de"])
def test_free_licences_are_none(name: str) -> None:
    assert data.find(name).set.restriction is None


def test_the_checksum_of_a_git_blob_is_gits(tmp_path: Path) -> None:
    # printf 'what is up, doc?' | git hash-object --stdin, the example of the Git book
    path = tmp_path / "doc"
    path.write_bytes(b"what is up, doc?")
    file = File("doc", "doc", "git:bd9dbf5aae1a3862dd1526723246b20206e5fc37", None)
    assert file.checksum_of(path) == file.checksum


def test_a_citation_is_bibtex_below_licence_and_version() -> None:
    assert data.cite("linzen-filtered").split("\n\n")[1].splitlines() == [
        "@article{linzen2016,",
        "  author = {Linzen, Tal and Dupoux, Emmanuel and Goldberg, Yoav},",
        "  title = {{Assessing the Ability of LSTMs to Learn Syntax-Sensitive Dependencies}},",
        "  journal = {Transactions of the Association for Computational Linguistics},",
        "  year = {2016},",
        "  volume = {4},",
        "  doi = {10.1162/tacl_a_00115},",
        "}",
    ]
    assert data.cite("linzen-filtered").splitlines()[0].endswith("(linzen-filtered): CC-BY-NC-4.0")


LATER = ("albright-hayes", "babylm", "sigmorphon-2021")
"""Sets that were added after the list was checked: their files were hashed from the repositories at their commits."""
LISTED = [chosen for chosen in SETS if chosen.name not in LATER]


def test_every_file_is_as_the_checked_list_has_it() -> None:
    with reference("../catalogue/files.tsv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    known = {(row["repo"], row["commit"], row["path"]): row for row in rows}
    for chosen in LISTED:
        for file in chosen.files:
            row = known[chosen.repository.removeprefix("github.com/"), chosen.commit, file.path]
            if row["status"] == "absent":
                assert file.checksum == f"git:{row['git_blob']}"
            else:
                assert (file.checksum, file.size) == (row["sha256"], int(row["bytes"]))


def test_licences_and_languages_are_as_the_checked_list_has_them() -> None:
    with reference("../catalogue/sets.tsv").open(encoding="utf-8", newline="") as lines:
        rows = {row["set"]: row for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)}
    for chosen in LISTED:
        row = rows["multiblimp-fr" if chosen.name == "multiblimp" else chosen.name]
        assert (chosen.licence or "none").partition(" AND ")[0] == row["licence"], chosen.name
        assert ";".join(chosen.languages) == row["languages"]
        # The same authors and years, whatever the place of publication is called.
        cited = row["citation"].replace("sentences of ", "").split("; ")
        assert [paper.short.partition(",")[0] for paper in chosen.papers] == [
            each.partition(",")[0] for each in cited
        ], chosen.name
