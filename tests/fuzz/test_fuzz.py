"""A short run of every campaign: the program neither fails, nor hangs, nor grows, nor says anything else.

Each runs in a separate process, as `make fuzz` runs it, because campaigns fork and set limits.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from case_selection import cases
from command_line import CommandOutput, run_python

pytestmark = pytest.mark.slow

TESTS = Path(__file__).parents[1]
SHORT = {"readers": 250, "languages": 400, "damage": 10, "kills": 1, "server": 15, "requests": 100, "names": 8}
"""Inputs of each campaign: a few seconds each. Every night there are many more, and others.

Kills take longest, and run at night: by day, tests of runs, trainings and tables cover killing and resuming.
"""


def run_with_fuzz(*arguments: object) -> CommandOutput:
    """Runs Python with the campaigns on its path."""
    path = os.pathsep.join(map(str, (TESTS, TESTS / "helpers", TESTS.parent / "src")))
    return run_python(*arguments, env={"PYTHONPATH": path, "OMP_NUM_THREADS": "1"})


@pytest.mark.parametrize("campaign", cases((name for name in SHORT if name != "kills"), ["kills"]))
def test_a_short_campaign_finds_nothing(campaign: str, tmp_path: Path) -> None:
    output = run_with_fuzz("-m", "fuzz", campaign, "--seed", 11, "--count", SHORT[campaign], "--keep", tmp_path)
    assert output.code == 0, output.out + output.err[-3000:]


BROKEN = """
import sys
from pathlib import Path
from fuzz import campaign, readers
from wug.families import cogs

cogs.check = lambda path, options: [][1 // (b"AND" in path.read_bytes()) :]

def found(first, count):
    tried = campaign.run(readers.Campaign(only="cogs.tsv"), 1, first=first, count=count, keep=Path(sys.argv[1]))
    return [finding for finding in tried.findings if "ZeroDivisionError" in finding.what]

(one,) = found(0, 40)
(again,) = found(one.number, 1)
print(one.number, again.number, one.folder, sep="\\n")
"""


def test_a_fault_is_found_kept_and_found_again_by_its_number(tmp_path: Path) -> None:
    """A reader is broken on purpose: a campaign must not be without findings because it tries nothing."""
    output = run_with_fuzz("-c", BROKEN, tmp_path)
    assert output.code == 0, output.err
    number, again, folder = output.out.splitlines()
    assert number == again
    assert Path(folder).name == number
    assert b"AND" not in next(Path(folder).glob("*.tsv")).read_bytes()
    assert "ZeroDivisionError" in (Path(folder) / "finding.txt").read_text(encoding="utf-8")
