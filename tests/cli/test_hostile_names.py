"""Names that would steer a terminal, stop a chart or start a spreadsheet: they are only shown."""

from __future__ import annotations

import csv
import io
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from command_line import refused, run_wug, wug
from run_factory import keep, outcomes, result

ESCAPE = "\x1b[31mred\x07\x9b5m\r"
SHOWN = r"\x1b[31mred\x07\x9b5m"


@pytest.fixture
def db() -> Path:
    """Two runs whose names all have escape sequences in them."""
    path = Path(os.environ["WUG_STORE"])
    path.parent.mkdir(parents=True, exist_ok=True)
    for right in (1, 3):
        rows = outcomes({f"check{ESCAPE}": [True] * right + [False] * (4 - right)}, sentence=f"s{ESCAPE}")
        rows = [replace(row, groups={"group": f"{place % 2}{ESCAPE}"}) for place, row in enumerate(rows)]
        made = result(f"suite{ESCAPE}", f"causal/m{right}{ESCAPE}@1", rows, warnings=(f"warning{ESCAPE}",))
        keep(path, made, command=f"wug run {ESCAPE}")
    return path


def steers(text: str) -> bool:
    """Whether a terminal would do something other than show the text."""
    return any((ord(ch) < 32 and ch not in "\n\t") or 127 <= ord(ch) < 160 for ch in text)


@pytest.mark.parametrize(
    "command",
    ["show 1", "show 1 --failing", "show 1 --format md", "show 1 --format latex", "compare 1 2", "list runs",
     "compare 1 2 --items 3", "compare 1 2 --format md", "export 1 --to md --what outcomes", "export 1 --to latex"],
)  # fmt: skip
def test_no_escape_sequence_reaches_the_terminal(db: Path, command: str) -> None:
    said = wug(*command.split())
    assert said.code == 0, said.err
    assert not steers(said.out)
    assert not steers(said.err)
    assert "x1b" in said.out


def test_errors_show_escape_sequences(db: Path, tmp_path: Path) -> None:
    said = wug("run", tmp_path / f"{ESCAPE}.json")
    refused(said, SHOWN, "no such file")
    assert not steers(said.err)
    said = wug("export", 1, "--suite", "x", "--figure", ESCAPE, "-o", tmp_path / "chart.svg")
    refused(said)
    assert not steers(said.err)


def test_json_keeps_names_as_they_are(db: Path) -> None:
    (found,) = wug("show", 1, "--format", "json").results
    assert found["suite"] == f"suite{ESCAPE}"


def test_a_report_shows_names_with_control_characters(db: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    # In a separate process: the chart library would end this one.
    output = run_wug("report", 1, 2, "-o", page)
    assert output.code == 0, output.err[-500:]
    assert SHOWN in page.read_text()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-16"])
def test_a_terminal_of_any_encoding_gets_its_output(db: Path, encoding: str) -> None:
    for command in (["show", 1], ["list", "runs"], ["check", "wug_agreement_pp"]):
        assert wug(*command, encoding=encoding).code == 0
    refused(wug("show", "x…", encoding=encoding))


def test_spreadsheets_get_no_formulas(tmp_path: Path) -> None:
    db = Path(os.environ["WUG_STORE"])
    db.parent.mkdir(parents=True, exist_ok=True)
    names = ["=1+1", "+cmd", "-x", "@sum", "-3.5", "plain"]
    keep(db, result("s", "m", outcomes({"accuracy": [True] * 6}, items=names)))

    def items(*more: str) -> list[str]:
        rows = csv.DictReader(io.StringIO(wug("export", 1, "--to", "csv", *more).out))
        return [row["item"] for row in rows]

    assert items() == ["'=1+1", "'+cmd", "'-x", "'@sum", "-3.5", "plain"]
    assert items("--raw") == names
    assert [row["item"] for row in json.loads(wug("export", 1, "--to", "json").out)] == names
