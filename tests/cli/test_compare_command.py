"""`wug compare`, and what `wug report` and `wug export` say of several runs."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import pytest

from command_line import refused, wug
from run_factory import keep, outcomes, result

A, B = "causal/a@1", "causal/b@2"


@pytest.fixture
def db() -> Path:
    """Two runs of two suites, and four checkpoints."""
    path = Path(os.environ["WUG_STORE"])
    path.parent.mkdir(parents=True, exist_ok=True)
    for model, right in ((A, 10), (B, 30)):
        rows = outcomes({"accuracy": [True] * right + [False] * (30 - right)})
        keep(path, result("words", model, rows), result("forms", model, outcomes({"f1": [right / 40, 0.25, 0.125]})))
    for step in (0, 100, 200, 400):
        rows = outcomes({"accuracy": [place * 20 < step for place in range(30)]})
        keep(path, result("words", f"causal/step{step}@{step}", rows))
    return path


def test_two_runs_are_compared(db: Path) -> None:
    said = wug("compare", 1, 2)
    assert said.code == 0
    assert "B better" in said.out
    assert "wug compare 1 2 --items 10" in said.err


@pytest.mark.parametrize("form", ["json", "csv", "tsv", "md", "latex"])
def test_every_format_goes_to_stdout_or_to_a_file_by_its_suffix(db: Path, tmp_path: Path, form: str) -> None:
    said = wug("compare", 1, 2, "--format", form)
    assert said.code == 0, said.err
    path = tmp_path / f"table.{'tex' if form == 'latex' else form}"
    assert wug("compare", 1, 2, "-o", path).code == 0
    assert path.read_text(encoding="utf-8") == said.out


def test_groups_of_runs_are_compared(db: Path) -> None:
    (found,) = json.loads(wug("compare", "1,3", "2,6", "--suite", "w*", "--format", "json").out)["contrasts"]
    assert (found["value_first"], found["value_second"]) == (10 / 60, pytest.approx(50 / 60))
    assert found["spread_second"]["values"] == [1.0, pytest.approx(20 / 30)]


def test_a_curve_is_a_table_and_a_chart(db: Path, tmp_path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(wug("compare", "--curve", 3, 6, 4, 5, "--format", "csv").out)))
    assert [(row["step"], row["runs"]) for row in rows] == [
        ("0.0", "3"),
        ("100.0", "4"),
        ("200.0", "5"),
        ("400.0", "6"),
    ]
    assert "66.7%" in wug("compare", "--curve", 3, 6).out
    assert wug("compare", "--curve", 3, 4, 5, 6, "-o", tmp_path / "curve.svg").code == 0
    assert "training step" in (tmp_path / "curve.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "start"), [("c.svg", b"<svg"), ("c.png", b"\x89PNG"), ("c.html", b"<!DOCTYPE html>")])
def test_charts_and_pages_are_chosen_by_suffix(db: Path, tmp_path: Path, name: str, start: bytes) -> None:
    assert wug("compare", 1, 2, "-o", tmp_path / name).code == 0
    assert (tmp_path / name).read_bytes().startswith(start)


def test_a_report_of_several_runs_compares_them(db: Path, tmp_path: Path) -> None:
    assert wug("report", 1, 2, "-o", tmp_path / "page.html").code == 0
    assert 'id="comparison"' in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert wug("report", 1, "-o", tmp_path / "page.html").code == 0
    assert 'id="comparison"' not in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_report_of_runs_that_share_nothing_says_so(db: Path, tmp_path: Path) -> None:
    keep(db, result("other", A, outcomes({"accuracy": [True]})))
    said = wug("report", 1, 7, "-o", tmp_path / "page.html")
    assert (said.code, "the page has no comparison: the runs share no suite" in said.err) == (0, True)


def test_comparisons_are_exported(db: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    rows = list(csv.DictReader(io.StringIO(wug("export", 1, 2, "--what", "comparison").out)))
    assert [row["verdict"] for row in rows] == ["B better", "no difference shown"]
    assert r"\begin{tabular}" in wug("export", 1, 2, "--what", "comparison", "--to", "latex").out
    lines = wug("export", 1, 2, "--what", "comparison", "--to", "jsonl").out.splitlines()
    assert [json.loads(line)["suite"] for line in lines] == [row["suite"] for row in rows]
    assert wug("export", 1, 2, "--what", "comparison", "-o", tmp_path / "c.parquet").code == 0
    assert pq.read_table(tmp_path / "c.parquet").column("only_second").to_pylist() == [20, None]
    assert wug("export", 1, 2, "--what", "comparison", "--chart", "-o", tmp_path / "c.svg").code == 0


def test_outcomes_and_estimates_are_exported_in_every_text_format(db: Path) -> None:
    assert len(json.loads(wug("export", 1, "--to", "json").out)) == 33
    assert len(json.loads(wug("export", 1, 2, "--suite", "forms", "--to", "json").out)) == 6
    assert "| words | causal/a@1 | 1 | accuracy | 1 |" in wug("export", 1, "--what", "outcomes", "--to", "md").out
    assert r"\begin{longtable}" in wug("export", 1, "--what", "outcomes", "--to", "latex").out
    assert r"words & accuracy & all & 33.3\% &" in wug("export", 1, "--to", "latex").out


@pytest.mark.parametrize("name", ["chart.svg", "chart.png"])
def test_charts_of_a_run_are_exported(db: Path, tmp_path: Path, name: str) -> None:
    assert wug("export", 1, "--chart", "--suite", "words", "-o", tmp_path / name).code == 0
    assert (tmp_path / name).stat().st_size > 500


def test_bad_input_is_refused_with_a_message(db: Path, tmp_path: Path) -> None:
    refused(wug("compare", 1, 1), "run 1 is given twice")
    refused(wug("compare", 1, 99), "no run 99", "the latest is 6")
    refused(wug("compare", 1), "at least two runs, or groups of runs")
    refused(wug("compare", 1, "x"), "no run 'x' in", "last")
    refused(wug("compare", 1, 2, "--suite", "wrods"), "Did you mean 'words'?")
    refused(wug("compare", 1, 2, "-o", tmp_path / "x.docx"), "cannot be written as .docx")
    refused(wug("compare", 1, 2, "--steps", "1,2"), "--steps is for --curve")
    refused(wug("compare", "--curve", 1, 2), "--steps 0,1000")
    refused(wug("compare", "--curve", 1, 2, "--steps", "one,two"), "write numbers joined by commas")
    refused(wug("export", 1, "--chart"), "name a file with -o")
    refused(wug("export", 1, "--chart", "--figure", "none-such", "-o", tmp_path / "x.svg"), "no chart has 'none-such'")
    refused(wug("export", 1, "--what", "comparison"), "two runs")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("export", 1, "--what", "suite", "--to", "csv"), "--what suite writes JSON, not csv: leave --to out"),
        (("export", 1, "--what", "suite", "-o", "x.csv"), "x.csv: cannot be written as .csv: use .json"),
        (("export", 1, "--to", "csv", "-o", "x.json"), "its suffix means json, not csv"),
        (("export", 1, "--chart", "--to", "csv", "-o", "x.svg"), "leave --to out"),
        (("compare", 1, 2, "--format", "csv", "-o", "x.md"), "its suffix means markdown, not csv"),
        (("compare", 1, 2, "--format", "csv", "-o", "x.html"), "its suffix means html, not csv"),
        (("make", "coord", "--n", 1, "-o", "x.csv"), "x.csv: cannot be written as .csv: use .tab .tsv .txt"),
        (("surprisal", "t.txt", "--format", "csv", "-o", "x.json"), "its suffix means json, not csv"),
    ],
)
def test_a_file_is_written_in_the_format_of_its_suffix_or_not_at_all(
    db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[object, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.txt").write_text("A wug.\n", encoding="utf-8")
    refused(wug(*words), message)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("x.")] == []


def test_an_unknown_format_of_an_export_is_refused_before_runs_are_looked_up(db: Path) -> None:
    refused(wug("export", 99, "--to", "latexx"), "unknown format 'latexx'. Did you mean 'latex'?")
