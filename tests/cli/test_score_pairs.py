"""`wug score pairs` on small files."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from command_line import refused, wug

HEADER = "pattern\tconstr_id\tsent_id\tform\tclass\ttype\tlen_prefix\tsent\tone\tother\n"
ROWS = (
    "p\t1\t0\tis\tcorrect\toriginal\t2\tthe cat is <eos>\t-1\t-3\n"
    "p\t1\t0\tare\twrong\toriginal\t2\tthe cat is <eos>\t-2\t-2\n"
    "p\t1\t1\tare\tcorrect\tgenerated\t2\tthe dogs are <eos>\t-1\t-1\n"
    "p\t1\t1\tis\twrong\tgenerated\t2\tthe dogs are <eos>\t-5\t-1\n"
)


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    path = tmp_path / "scored.tab"
    path.write_text(HEADER + ROWS, encoding="utf-8")
    return path


def test_a_column_is_a_model(scored: Path) -> None:
    said = wug("score", "pairs", "--predictions", scored, "--column", "one", "--format", "json")
    (result,) = said.results
    assert (result["suite"], result["kind"], result["n"]) == ("scored", "pairs", 2)
    assert result["model"].startswith("file/one@")
    assert said.values[0]["accuracy", "all"] == 1.0
    assert "target:given" in result["signature"]


def test_without_a_column_all_are_judged_and_their_mean(scored: Path) -> None:
    said = wug("score", "pairs", "--predictions", scored, "--format", "json")
    assert [values["accuracy", "all"] for values in said.values] == [1.0, 0.0, 0.5]
    assert [values["accuracy", "type=nonce"] for values in said.values] == [1.0, 0.0, 0.5]
    assert said.results[1]["warnings"] == ["1 pair tied in column other, counted as failures"]
    assert said.results[2]["model"].startswith("mean/2 runs@")
    assert said.results[2]["signature"].endswith("|sd:sample")


def test_a_gzipped_file_gives_the_same_values(scored: Path) -> None:
    zipped = scored.with_name("scored.tab.gz")
    zipped.write_bytes(gzip.compress(scored.read_bytes()))
    ours, theirs = (wug("score", "pairs", "--predictions", path, "--format", "json") for path in (scored, zipped))
    assert ours.values == theirs.values


def test_the_runs_are_kept_unless_told_otherwise(scored: Path) -> None:
    said = wug("score", "pairs", "--predictions", scored)
    assert "runs 1 2 3 saved" in said.err
    assert wug("show", 2, "--format", "json").values == [said_values(scored)[1]]
    assert "saved" not in wug("score", "pairs", "--predictions", scored, "--no-save").err
    assert wug("show", 4).code == 1


def said_values(scored: Path) -> list[dict[tuple[str, str], float]]:
    return wug("score", "pairs", "--predictions", scored, "--no-save", "--format", "json").values


@pytest.mark.parametrize(
    ("form", "part"),
    [
        ("table", "accuracy"),
        ("csv", "scored,pairs,file/one@"),
        ("tsv", "scored\tpairs\tfile/one@"),
        ("md", "| scored | file/one@"),
        ("latex", r"scored & mean/2 runs@"),
    ],
)
def test_every_format_is_printed(scored: Path, form: str, part: str) -> None:
    assert part in wug("score", "pairs", "--predictions", scored, "--format", form).out


def test_a_mean_is_printed_with_its_deviation_in_per_cent(scored: Path) -> None:
    out = wug("score", "pairs", "--predictions", scored, "--no-save", "--format", "md").out
    mean = next(line for line in out.splitlines() if "mean/2" in line and "| all |" in line)
    assert "| 50.0% | ± 70.7 | 2 |" in mean  # the deviation of 1 and 0 as a sample is √½


def test_an_unknown_column_is_refused_with_the_nearest(scored: Path) -> None:
    refused(wug("score", "pairs", "--predictions", scored, "--column", "othe"), "'othe'", "Did you mean 'other'?")


def test_a_column_without_numbers_is_refused_with_its_lines(scored: Path) -> None:
    refused(wug("score", "pairs", "--predictions", scored, "--column", "form"), "line 2: form is 'is', not a number")


def test_a_row_without_a_partner_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "short.tab"
    path.write_text(HEADER + ROWS.split("\n")[0] + "\n", encoding="utf-8")
    refused(wug("score", "pairs", "--predictions", path), "line 2", "has no wrong row")


def test_lines_of_json_that_lack_a_field_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "short.jsonl"
    path.write_text('{"pattern": "p", "constr_id": "1"}\n', encoding="utf-8")
    refused(wug("score", "pairs", "--predictions", path), "'sent_id' is missing")


def test_a_header_without_rows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "none.tab"
    path.write_text(HEADER, encoding="utf-8")
    refused(wug("score", "pairs", "--predictions", path), "the file has no pairs")
