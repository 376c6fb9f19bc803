"""Files and options that no one should write: one message, with the place and the fix."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from command_line import refused, wug

DIGITS = "9" * 5000
NAMES = {"long": "n" * 300, "long path": "./" + "n" * 300 + ".json", "nul": "a\0b", "home": "~no-one-here/x.json"}


COMMANDS = [
    "run {}", "check {}", "convert {} out.csv", "score cogs {} {}", "run wug_agreement_pp --model {}",
    "run wug_agreement_pp --model causal:{}", "run wug_agreement_pp --model lstm:{} -M vocab={}",
    "run wug_agreement_pp --model ngram:{}", "run wug_agreement_pp --model replay:{}",
    "run wug_agreement_pp --model masked:{}", "run wug_cogs_test --model command:{}",
    "run wug_cogs_test --model seq2seq:{}", "run wug_cogs_test --model attention_lstm:{}",
    "run wug_agreement -S slor={}", "make cogs -o {}/x", "make agreement --lexicon {}",
]  # fmt: skip


def reaches(command: str, kind: str) -> bool:
    """Whether a name gets as far as the command: click opens files itself, knows no ~, and refuses a NUL."""
    return command.split()[0] not in ("convert", "score", "make") or kind in ("long", "long path")


@pytest.mark.parametrize(("command", "kind"), [case for case in product(COMMANDS, NAMES) if reaches(*case)])
def test_names_that_no_file_can_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, kind: str) -> None:
    name = NAMES[kind]
    monkeypatch.chdir(tmp_path)
    said = wug(*(part.format(*[name] * part.count("{}")) for part in command.split()))
    refused(said)
    assert len(said.err) < 2000


@pytest.mark.parametrize(
    "command",
    ["show {}", "report {}", "export {}", "compare {} 1", "run wug_agreement_pp --limit {}",
     "run wug_agreement_pp -M batch={}", "run wug_cogs_test -S seed={}", "run wug_agreement_pp --seed {}"],
)  # fmt: skip
def test_numbers_of_thousands_of_digits(command: str) -> None:
    refused(wug(*command.format(DIGITS).split()))


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("s.json", "[" * 100_000 + "]" * 100_000, "syntaxgym"),
        ("s.json", '{"meta":' + '{"a":' * 100_000 + "1" + "}" * 100_001, "syntaxgym"),
        ("p.jsonl", '{"sentence_good":' + "[" * 100_000 + "]" * 100_000 + ',"sentence_bad":"b"}\n', "pairs"),
        ("p.jsonl", '{"sentence_good":"A","sentence_bad":"b","UID":' + DIGITS + "}\n", "pairs"),
        ("p.jsonl", '{"sentence_good":"A \\ud800","sentence_bad":"b","UID":"x"}\n', "pairs"),
        ("p.jsonl", '{"sentence_good":"A","sentence_bad":"b","UID":"\\udfff"}\n', "pairs"),
        ("c.csv", "item_number,condition_name,region_number,content\n1,a," + DIGITS + ",The\n", "syntaxgym"),
        ("c.csv", "item_number,condition_name,region_number,content\n1,a,1,T\rhe\n", "syntaxgym"),
        ("c.csv", "good,bad\nA\rB,C\n", "pairs"),
    ],
)
def test_faults_of_files(tmp_path: Path, name: str, text: str, kind: str) -> None:
    path = tmp_path / name
    path.write_text(text, newline="")
    for more in ((), ("--kind", kind)):
        said = wug("check", path, *more)
        assert said.code == 1
        assert "wug itself failed" not in said.err
        assert len(said.out) < 3000


def test_tables_whose_lines_end_in_carriage_returns_are_read(tmp_path: Path) -> None:
    table = tmp_path / "mac.csv"
    table.write_text("item_number,condition_name,region_number,content\r1,a,1,The\r1,a,2,cat\r", newline="")
    assert "good" in wug("check", table).out
    table.write_text("good,bad\rA cat sits.,A cat sit.\rA dog sits.,A dog sit.\r", newline="")
    out = tmp_path / "out.tsv"
    said = wug("convert", table, out, "--kind", "pairs", "-S", "good=good", "-S", "bad=bad")
    assert said.code == 0, said.err
    assert out.read_text().count("sits") == 2


@pytest.mark.parametrize("name", ["s.tsv", "s.json"])
def test_another_encoding_is_called_by_its_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes("good\tbad\nA cat sits.\tA cat sit.\n".encode("utf-16"))
    for more in ((), ("--kind", "pairs")):
        refused(wug("run", tmp_path / name, *more), "UTF-16 text", "not UTF-8", "Save the file as UTF-8")


def test_a_prediction_nested_too_deeply_is_shown_in_part(tmp_path: Path) -> None:
    suite = json.loads(Path(str(_suite())).read_text())
    suite["predictions"] = [{"type": "formula", "formula": "(" * 100_000 + "1" + ")" * 100_000 + " > 0"}]
    path = tmp_path / "deep.json"
    path.write_text(json.dumps(suite))
    said = wug("check", path)
    assert said.code == 1
    assert "40" in said.out
    assert len(said.out) < 3000


def test_a_bomb_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b'{"meta": {"name": "' + b"a" * 3_000_000 + b'"}}'))
    monkeypatch.setenv("WUG_MAX_BYTES", "1000000")
    refused(wug("run", path, "--kind", "syntaxgym"), "bomb.json.gz", "1,000,000 bytes", "WUG_MAX_BYTES=")


@pytest.mark.parametrize("command", ["schema syntaxgym", "list models", "check wug_agreement_pp", "--help"])
def test_a_full_disk_under_the_output_is_one_message(command: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "wug", *command.split()], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 1
    assert done.stderr == b"error: the output: No space left on device. Free some space and run the command again\n"


def test_a_folder_named_like_a_built_in_suite_hides_nothing_from_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "localism").mkdir()
    monkeypatch.chdir(tmp_path)
    assert "localism" in wug("list", "suites", "--format", "json").out


@pytest.mark.parametrize(
    ("package", "command"),
    [
        ("vl_convert", "compare 1 2 -o chart.svg"),
        ("altair", "export 1 --chart -o chart.svg"),
        ("pyarrow.parquet", "export 1 --what estimates -o rows.parquet"),
        ("altair", "demo -o demo"),
        ("altair", "make pcfgset -o data --chart chart.svg"),
    ],
)
def test_packages_for_output_are_requested_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, package, None)
    refused(wug(*command.split()), "pip install 'wug[")
    assert not (tmp_path / "data").exists()
    assert not (tmp_path / "demo").exists()


def test_without_packages_that_draw_a_report_has_the_numbers_of_its_charts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    gold, answers = tmp_path / "gold.tsv", tmp_path / "answers.tsv"
    form, other = ("* cat ( x _ 1 ) ; sleep . agent ( x _ 2 , x _ 1 )", "dog ( x _ 1 )")
    gold.write_text(f"The cat slept .\t{form}\tin_distribution\n" * 2, encoding="utf-8")
    answers.write_text(f"{form}\n{other}\n", encoding="utf-8")
    for package in ("altair", "vl_convert", "scipy"):
        monkeypatch.setitem(sys.modules, package, None)
    for _ in range(2):
        assert wug("score", "cogs", "--gold", str(gold), "--predictions", str(answers)).code == 0
    made = wug("report", "1", "2", "-o", "page.html")
    assert made.code == 0
    assert "pip install 'wug[report]'" in made.err
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert 'data-chart="' not in page
    assert page.count("<summary>The numbers of this chart</summary>") == page.count('<details class="quiet" open>') > 0
    assert "50.0%" in page or "50.0%" in page


def _suite() -> Path:
    from wug.evaluation.suites import builtin_suites

    assert os.environ["WUG_STORE"]
    return builtin_suites()["wug_agreement_pp"]
