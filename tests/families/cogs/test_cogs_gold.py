"""COGS gold files and folders."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from wug.errors import InputError, UnknownName
from wug.evaluation.checking import check_file
from wug.families import cogs
from wug.families.cogs.suite import read_gold
from wug.files import head
from wug.interfaces import Suite
from wug.problems import Problem

LINES = (
    "Emma napped .\tnap . agent ( x _ 1 , Emma )\tin_distribution",
    "A cat napped .\tcat ( x _ 1 ) AND nap . agent ( x _ 2 , x _ 1 )\tprim_to_subj_common",
    "shark\tLAMBDA a . shark ( a )\tprimitive",
)


def write(path: Path, *lines: str, end: str = "\n") -> Path:
    path.write_bytes("".join(line + end for line in lines).encode())
    return path


def test_a_file_has_sentences_forms_and_types(tmp_path: Path) -> None:
    gold = read_gold(write(tmp_path / "dev.tsv", *LINES))
    assert gold.requests() == ["Emma napped .", "A cat napped .", "shark"]
    assert gold.items[2].form == "LAMBDA a . shark ( a )"
    assert [line.type for line in gold.items] == ["in_distribution", "prim_to_subj_common", "primitive"]
    assert (gold.options, gold.name) == ({"dialect": "cogs", "edition": "unpublished"}, "cogs-dev")


def test_line_ends_and_compression_change_nothing(tmp_path: Path) -> None:
    plain = read_gold(write(tmp_path / "a.tsv", *LINES))
    windows = read_gold(write(tmp_path / "b.tsv", *LINES, end="\r\n"))
    zipped = tmp_path / "c.tsv.gz"
    zipped.write_bytes(gzip.compress((tmp_path / "a.tsv").read_bytes()))
    assert plain.checksum == windows.checksum == read_gold(zipped).checksum
    assert read_gold(zipped).name == "c"


def test_a_quote_is_a_character_like_any_other(tmp_path: Path) -> None:
    quoted = ('" Emma napped .\tnap . agent ( x _ 1 , Emma )\tin_distribution', *LINES)
    assert len(read_gold(write(tmp_path / "dev.tsv", *quoted))) == 4


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("Emma napped .\tnap . agent ( x _ 1 , Emma )",), "line 1: 2 columns, not 3"),
        ((*LINES, ""), "line 4: 1 column, not 3"),
        ((*LINES, "cat\tLAMBDA a . cat ( a )\t"), "line 4: the type is empty"),
        ((*LINES, " \tLAMBDA a . cat ( a )\tprimitive"), "line 4: the sentence is empty"),
        ((*LINES, "cat\tcat (\tprimitive"), "line 4: the gold form cannot be read as cogs: expected an argument"),
        ((*LINES, "cat\tcat ( x _ 01 )\tprimitive"), "line 4: the gold form breaks the grammar of cogs: the index"),
    ],
)
def test_a_line_that_is_no_gold_line_is_an_error_with_its_number(
    tmp_path: Path, lines: tuple[str, ...], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        read_gold(write(tmp_path / "dev.tsv", *lines))
    assert message in str(caught.value)
    assert "dev.tsv" in str(caught.value)


def test_an_empty_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"dev\.tsv: the file is empty"):
        read_gold(write(tmp_path / "dev.tsv"))


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n\x00\x00", b"a\x00b\tc\td\n"])
def test_a_binary_file_is_an_error(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "dev.tsv").write_bytes(data)
    with pytest.raises(InputError, match=r"not UTF-8 text|NUL byte|PNG image"):
        read_gold(tmp_path / "dev.tsv")


def test_a_gold_form_that_makes_no_sense_is_noticed(tmp_path: Path) -> None:
    gold = read_gold(write(tmp_path / "dev.tsv", *LINES, "odd\tnap . agent ( x _ 1 , x _ 2 )\tprimitive"))
    assert gold.notices == ("1 gold forms do not make sense, the first on line 4: see `wug check`",)


def test_the_dialect_can_be_named(tmp_path: Path) -> None:
    path = write(tmp_path / "dev.tsv", *LINES)
    assert read_gold(path, "slog").dialect == "slog"
    with pytest.raises(UnknownName, match="Did you mean 'slog'"):
        read_gold(path, "slogs")


@pytest.mark.parametrize(
    ("lines", "known"),
    [
        (LINES, True),
        (("Emma ate .\teat ( agent = Emma )\tx",), True),
        (("Emma napped .\tEmma ( 3 ) ; nap ( 4 ) AND agent ( 4 , 3 )\tx",), True),
        (("a\tb\tc",), False),
        (("sentence\tform\ttype", *LINES), False),
        (("Emma napped .\tnap . agent ( x _ 1 , Emma )",), False),
        (("append A B , C\tA B C\tx",), False),
        (("",), False),
        (("{}",), False),
    ],
)
def test_a_gold_file_is_recognised_by_its_content(tmp_path: Path, lines: tuple[str, ...], known: bool) -> None:
    path = write(tmp_path / "file.tsv", *lines)
    assert cogs.recognises(path, head(path)) is known


def test_a_folder_is_recognised_by_its_files(tmp_path: Path) -> None:
    assert not cogs.recognises(tmp_path, "")
    write(tmp_path / "gen.tsv", *LINES)
    assert cogs.recognises(tmp_path, "")
    write(tmp_path / "test.tsv", "a\tb\tc")
    assert not cogs.recognises(tmp_path, "")


def test_a_folder_gives_a_suite_for_each_file_but_the_training_one(tmp_path: Path) -> None:
    for name in ("train", "gen", "dev"):
        write(tmp_path / f"{name}.tsv", *LINES)
    suites = cogs.read(tmp_path, {})
    assert [suite.name for suite in suites] == ["cogs-dev", "cogs-gen"]
    assert all(isinstance(suite, Suite) for suite in suites)
    assert [suite.name for suite in cogs.read(tmp_path, {"split": "train, gen"})] == ["cogs-train", "cogs-gen"]


def test_a_split_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    write(tmp_path / "gen.tsv", *LINES)
    with pytest.raises(InputError, match=r"the folder has neither dev\.tsv nor dev\.tsv\.gz"):
        cogs.read(tmp_path, {"split": "dev"})
    with pytest.raises(InputError, match="split=genn: use one of train, dev, test, gen"):
        cogs.read(tmp_path, {"split": "genn"})


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"smatsch": "yes"}, "unknown option 'smatsch' of cogs. Did you mean 'smatch'"),
        ({"smatch": "perhaps"}, "smatch=perhaps: write yes or no"),
        ({"seed": "one"}, "seed=one: write a whole number"),
    ],
)
def test_an_option_that_makes_no_sense_is_an_error(tmp_path: Path, options: dict[str, str], error: str) -> None:
    with pytest.raises((UnknownName, InputError), match=error):
        cogs.read(write(tmp_path / "dev.tsv", *LINES), options)


def test_checking_names_every_fault_at_once(tmp_path: Path) -> None:
    path = write(
        tmp_path / "dev.tsv",
        LINES[0],
        "no columns",
        LINES[0],
        "cat\tcat (\tprimitive",
        "cat\tcat ( x _ 01 )\t",
        "dog\tnap . agent ( x _ 1 , x _ 2 )\tprimitive",
    )
    found = check_file(path, "cogs")
    assert [(problem.level, problem.place) for problem in found] == [
        ("error", "line 2"),
        ("error", "line 4"),
        ("error", "line 5"),
        ("error", "line 5"),
        ("warning", "line 3"),
        ("warning", "line 5"),
        ("warning", "line 6"),
    ]
    assert "the sentence is already on line 1" in found[4].message


def test_checking_a_good_file_or_folder_finds_nothing(tmp_path: Path) -> None:
    write(tmp_path / "dev.tsv", *LINES)
    write(tmp_path / "gen.tsv", *LINES)
    assert cogs.check(tmp_path, {}) == cogs.check(tmp_path / "gen.tsv", {}) == []


def test_checking_says_which_file_of_a_folder(tmp_path: Path) -> None:
    write(tmp_path / "dev.tsv", *LINES)
    write(tmp_path / "gen.tsv")
    assert cogs.check(tmp_path, {}) == [Problem("error", "gen.tsv", "the file is empty")]


def test_checking_an_empty_folder_says_what_is_missing(tmp_path: Path) -> None:
    assert "the folder has none of train.tsv" in cogs.check(tmp_path, {})[0].message
