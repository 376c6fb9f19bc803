"""The program ends as every Python program does: with the code of the command, once all that waits is done."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from command_line import run_python, wug

PROGRAM = """
import atexit, sys, tempfile, threading, types
sys.modules["torch"] = types.ModuleType("torch")
from wug.cli.main import main
atexit.register(print, "exit function", flush=True)
class Loud:
    def __del__(self):
        print("finalized")
kept = Loud()
folder = tempfile.TemporaryDirectory(prefix="of-the-program-", dir=sys.argv.pop(1))
late = threading.Timer(0.2, print, ("late",))
late.start()
main()
"""


@pytest.mark.parametrize(("command", "code"), [(("--version",), 0), (("check", "nowhere.json"), 1), (("runn",), 2)])
def test_it_ends_with_the_code_of_the_command_once_all_that_waits_is_done(
    command: tuple[str, ...], code: int, tmp_path: Path
) -> None:
    output = run_python("-c", PROGRAM, tmp_path, *command)
    assert output.code == code, output.err
    assert all(word in output.out for word in ("late", "exit function", "finalized"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_output_is_not_an_internal_error(closed: str) -> None:
    said = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m wug list models {closed}"], capture_output=True, text=True, check=False
    )
    assert said.returncode == 0
    assert "wug itself failed" not in said.stdout + said.stderr


@pytest.mark.parametrize(
    ("option", "hint"),
    [
        ("--batch-size", "Options of models are written -M batch=…"),
        ("--batch", "Options of models are written -M batch=…"),
        ("--dtype", "Options of models are written -M dtype=…"),
        ("--join", "Options of suites are written -S join=…"),
        ("--limt", "Did you mean --limit?"),
    ],
)
def test_an_unknown_option_comes_with_what_to_write(option: str, hint: str) -> None:
    said = wug("run", "wug_coord", option, "4")
    assert said.code == 2
    assert f"No such option: {option}. {hint}" in said.err


def test_an_option_that_resembles_none_comes_without_a_guess() -> None:
    said = wug("run", "wug_coord", "--frobnicate", "x")
    assert said.code == 2
    assert said.err.rstrip().endswith("No such option: --frobnicate")
