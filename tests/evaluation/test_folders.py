"""Folders of test data: every file in them is read, or named with the reason why it is not."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from command_line import refused, wug
from wug.errors import InputError
from wug.evaluation.suites import builtin_suites, open_suites

RUSSIAN = "id,source_sentence,target_sentence,PID\n1,Он спит.,Он спят.,number\n2,Они спят.,Они спит.,number\n"
TURKISH = "good_sentence;bad_sentence;critical_region\nBen geldim.;Ben geldi.;geldim\n"
CHINESE = {"sentence_good": "她们来了。", "sentence_bad": "她们来吗。", "pair_ID": 0, "paradigm": "ma"}
CHOICES = "context,option_1,option_2,answer\nA key opens a,lock,cloud,1\n"
GOLD = "A cat slept .\tcat ( x _ 1 ) AND sleep . agent ( x _ 2 , x _ 1 )\tin_distribution\n"


def put(folder: Path, **files: str) -> Path:
    """Files of a folder; `__` in a name means a dot, `___` for a slash."""
    for name, text in files.items():
        path = folder / name.replace("___", "/").replace("__", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def line(row: object) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


def syntaxgym() -> str:
    return builtin_suites()["wug_agreement_pp"].read_text(encoding="utf-8")


def sizes(folder: Path, **options: str) -> dict[str, int]:
    """The number of items of each suite of a folder."""
    return {suite.name: len(suite) for suite in open_suites(str(folder), options)}


def test_files_of_a_folder_in_different_containers_are_one_suite(tmp_path: Path) -> None:
    folder = put(tmp_path / "mixed", ru__csv=RUSSIAN, tr__tsv=TURKISH, zh__jsonl=line(CHINESE))
    (suite,) = open_suites(str(folder))
    assert (suite.name, len(suite)) == ("mixed", 4)
    assert dict(suite.sources) == {"ru.csv": 2, "tr.tsv": 1, "zh.jsonl": 1}  # type: ignore[attr-defined]


def test_files_beside_subfolders_are_read_as_well_as_those_in_them(tmp_path: Path) -> None:
    folder = put(tmp_path / "set", top__jsonl=line(CHINESE), ru___a__csv=RUSSIAN, a___b___c___d___e___deep__csv=TURKISH)
    (suite,) = open_suites(str(folder))
    counted = dict(suite.sources)  # type: ignore[attr-defined]
    assert counted == {"a/b/c/d/e/deep.csv": 1, "ru/a.csv": 2, "top.jsonl": 1}


def test_endings_may_be_in_capital_letters(tmp_path: Path) -> None:
    put(tmp_path, zh__jsonl=line(CHINESE))
    (tmp_path / "RU.CSV").write_text(RUSSIAN, encoding="utf-8")
    assert sizes(tmp_path) == {tmp_path.name: 3}


def test_a_folder_of_several_families_has_the_suites_of_each(tmp_path: Path) -> None:
    folder = put(
        tmp_path / "all",
        zh__jsonl=line(CHINESE),
        ru__csv=RUSSIAN,
        number__json=syntaxgym(),
        keys__csv=CHOICES,
        gen__tsv=GOLD,
        sub___test__src="copy A1\n",
        sub___test__tgt="A1\n",
        words__tab="pattern\tsent\tsent_alt\nx\tCats sleep.\tCats sleeps.\n",
    )
    found = sizes(folder)
    assert found == {
        "cogs-gen": 1,
        "all": 3,
        "sub": 1,
        "keys": 1,
        "wug_agreement_pp": found["wug_agreement_pp"],
        "words": 1,
    }


def test_training_files_of_a_folder_are_not_run_beside_its_tests(tmp_path: Path) -> None:
    put(tmp_path, gen__tsv=GOLD, train__tsv=GOLD, a___test__src="copy A1\n", a___test__tgt="A1\n")
    put(tmp_path, a___train__src="copy B1\n", a___train__tgt="B1\n")
    assert sizes(tmp_path) == {"cogs-gen": 1, "a": 1}
    said = wug("check", tmp_path).out
    assert f"{tmp_path / 'train.tsv'}: left out: run with -S split=train" in said
    assert f"{tmp_path / 'a/train.src'}: left out: run with -S split=train" in said


def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path) -> None:
    put(tmp_path, a__csv=RUSSIAN, notes__csv="x,y\n1,2\n", empty__jsonl="", README__txt="Read me.\n")
    (tmp_path / "picture.csv").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    assert sizes(tmp_path) == {tmp_path.name: 2}
    said = wug("run", tmp_path, "--no-save", "--model", "ngram:none").err
    assert said.splitlines()[:4] == [
        f"warning: {tmp_path / 'README.txt'}: not read: not in a format that wug reads",
        f"warning: {tmp_path / 'empty.jsonl'}: not read: the file is empty",
        f"warning: {tmp_path / 'notes.csv'}: not read: no known format has these columns: x, y",
        f"warning: {tmp_path / 'picture.csv'}: not read: a PNG image, not text",
    ]


def test_check_counts_the_items_of_every_file_and_names_what_is_not_read(tmp_path: Path) -> None:
    put(tmp_path, a__csv=RUSSIAN, b__jsonl=line(CHINESE), notes__csv="x,y\n1,2\n", LICENCE="MIT", _hidden="")
    (tmp_path / "_hidden").rename(tmp_path / ".hidden.csv")
    said = wug("check", tmp_path)
    assert said.code == 0
    assert said.out.splitlines() == [
        f"{tmp_path}: good",
        "  a.csv: 2 items",
        "  b.jsonl: 1 item",
        "  read as rublimp; first pair: 'Он спит.' (good), 'Он спят.' (bad)",
        f"{tmp_path / 'notes.csv'}: 1 warning",
        "  warning: not read: no known format has these columns: x, y",
        f"{tmp_path / '.hidden.csv'}: left out: hidden",
        f"{tmp_path / 'LICENCE'}: left out: not a file of test data, by its name",
    ]
    assert wug("check", tmp_path, "--strict").code == 1


def test_check_counts_the_items_of_a_file(tmp_path: Path) -> None:
    put(tmp_path, a__csv=RUSSIAN)
    assert wug("check", tmp_path / "a.csv").out.startswith(f"{tmp_path / 'a.csv'}: good (2 items)\n")


def test_a_run_says_with_v_how_many_items_it_took_from_each_file(tmp_path: Path) -> None:
    put(tmp_path, a__csv=RUSSIAN, b__jsonl=line(CHINESE), LICENCE="MIT")
    said = wug("run", tmp_path, "--no-save", "-v", "--format", "json", "--model", "ngram:none")
    assert f"{tmp_path / 'a.csv'}: 2 items\n{tmp_path / 'b.jsonl'}: 1 item\n" in said.err
    assert f"{tmp_path / 'LICENCE'}: left out: not a file of test data, by its name\n" in said.err
    assert "LICENCE" not in wug("run", tmp_path, "--no-save", "--model", "ngram:none").err


def test_other_json_files_of_a_folder_are_no_broken_suites(tmp_path: Path) -> None:
    put(tmp_path, number__json=syntaxgym(), config__json='{"layers": 2}', results__json="[]")
    assert list(sizes(tmp_path)) == ["wug_agreement_pp"]
    (tmp_path / "broken.json").write_text(syntaxgym()[:-100], encoding="utf-8")
    with pytest.raises(InputError, match=r"broken\.json.*not valid JSON"):
        open_suites(str(tmp_path))


def test_a_folder_without_test_data_says_what_is_in_it(tmp_path: Path) -> None:
    refused(wug("run", tmp_path), "the folder is empty")
    put(tmp_path, notes__csv="x,y\n1,2\n", LICENCE="MIT")
    refused(
        wug("run", tmp_path),
        "no file in this folder can be read as test data",
        "notes.csv: no known format has these columns: x, y",
        "LICENCE: not a file of test data, by its name",
    )


def test_the_same_pairs_in_two_containers_count_once_and_that_is_said(tmp_path: Path) -> None:
    put(tmp_path, p__csv="good_sentence,bad_sentence\nA cat.,A cats.\n")
    put(tmp_path, p__jsonl=line({"good_sentence": "A cat.", "bad_sentence": "A cats."}))
    said = wug("check", tmp_path).out
    assert "warning: p.csv: not read: its 1 pair is in p.jsonl" in said
    assert sizes(tmp_path) == {tmp_path.name: 1}


def test_files_of_one_stem_with_different_pairs_are_both_read(tmp_path: Path) -> None:
    put(tmp_path, p__csv="good_sentence,bad_sentence\nA cat.,A cats.\nA dog.,A dogs.\n")
    put(tmp_path, p__jsonl=line({"good_sentence": "A cat.", "bad_sentence": "A cats."}))
    (suite,) = open_suites(str(tmp_path))
    assert [pair.item for pair in suite.items] == ["p.csv/1", "p.csv/2", "p.jsonl/1"]  # type: ignore[attr-defined]


def test_named_columns_are_those_of_every_table_in_a_folder_that_has_them(tmp_path: Path) -> None:
    put(tmp_path, a__csv="yes,no\nIt rains.,It rain.\n", b__tsv="no\tyes\nIt snow.\tIt snows.\n", c__csv="x\n1\n")
    assert sizes(tmp_path, good="yes", bad="no") == {tmp_path.name: 2}


def test_compressed_files_of_a_folder_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(line(CHINESE).encode()))
    put(tmp_path, b__csv=RUSSIAN)
    assert sizes(tmp_path) == {tmp_path.name: 3}


def test_a_folder_with_very_many_files_is_refused(tmp_path: Path) -> None:
    for number in range(2001):
        (tmp_path / f"{number}.csv").touch()
    refused(wug("run", tmp_path), "more than 2,000 files")


def test_a_conversion_takes_one_suite_and_drops_no_other(tmp_path: Path) -> None:
    put(tmp_path / "in", a__json=syntaxgym(), b__json=syntaxgym())
    refused(wug("convert", tmp_path / "in", tmp_path / "out.csv"), "has 2 suites: convert them one at a time")


def test_a_suite_that_is_there_twice_is_run_once_and_that_is_said(tmp_path: Path) -> None:
    put(tmp_path, a__json=syntaxgym(), b__json=syntaxgym())
    said = wug("run", tmp_path, "--no-save", "--model", "ngram:none").err
    assert "warning: wug_agreement_pp is listed twice with the same content; it is evaluated once" in said


def test_a_folder_of_alternating_lines_says_how_to_read_them(tmp_path: Path) -> None:
    put(tmp_path, a__txt="A cat.\nA cats.\n")
    refused(wug("run", tmp_path), "a.txt: not in a format that wug reads", "add -S lines=good-bad")
    assert sizes(tmp_path, lines="good-bad") == {tmp_path.name: 1}


@pytest.mark.parametrize(("name", "text"), [("gen.tsv", GOLD), ("test.src", "copy A1\n")])
def test_a_file_of_another_split_than_is_requested_is_refused(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "test.tgt").write_text("A1\n", encoding="utf-8")
    split = name.partition(".")[0]
    with pytest.raises(InputError, match=f"this is the split {split}, but split=dev was given"):
        open_suites(str(tmp_path / name), {"split": "dev"})
    assert len(open_suites(str(tmp_path / name), {"split": split})) == 1


def test_with_a_split_no_other_gold_file_of_a_folder_is_run(tmp_path: Path) -> None:
    put(tmp_path, gen__tsv=GOLD, extra__tsv=GOLD, dev__tsv=GOLD)
    assert sizes(tmp_path) == {"cogs-gen": 1, "cogs-dev": 1, "extra": 1}
    assert sizes(tmp_path, split="gen") == {"cogs-gen": 1}
    assert "extra.tsv: left out: not in the split gen" in wug("check", tmp_path, "-S", "split=gen").out


def test_compressed_companions_are_one_suite_with_their_file(tmp_path: Path) -> None:
    files = {"a.text": "the cat is here\n", "a.gold": "2\tis\tare\t0\n", "a.eval": "2\n"}
    files |= {"b.src": "copy A1\n", "b.tgt": "A1\n"}
    for name, text in files.items():
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    assert sorted(suite.kind for suite in open_suites(str(tmp_path))) == ["pairs", "pcfgset"]
    assert wug("check", tmp_path).out.count(": good") == 2
    put(tmp_path, a__tab="pattern\tsent\tsent_alt\nx\tCats sleep.\tCats sleeps.\n")
    assert sizes(tmp_path) == {"a": 1, f"{tmp_path.name}_b": 1}


def test_with_a_kind_files_of_other_families_are_named_as_such(tmp_path: Path) -> None:
    put(tmp_path, a__csv=RUSSIAN, number__json=syntaxgym())
    said = wug("check", tmp_path, "--kind", "pairs").out
    assert f"{tmp_path / 'number.json'}: 1 warning\n  warning: not read: not recognised as pairs" in said
