"""The program ends at once, with the code of the command, and nothing of its output is lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import atexit, sys, tempfile, threading, types
sys.modules["torch"] = types.ModuleType("torch")
from wug.cli.main import program
atexit.register(print, "told", flush=True)
class Loud:
    def __del__(self):
        print("taken apart")
kept = Loud()
folder = tempfile.TemporaryDirectory(prefix="of-the-program-", dir=sys.argv.pop(1))
late = threading.Timer(0.2, print, ("late",))
late.start()
program()
"""


def ended(folder: Path, *command: str, program: str = PROGRAM) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, str(folder), *command], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(("command", "code"), [(("--version",), 0), (("check", "nowhere.json"), 1), (("runn",), 2)])
def test_it_ends_with_the_code_of_the_command_once_all_that_waits_is_done(
    command: tuple[str, ...], code: int, tmp_path: Path
) -> None:
    found = ended(tmp_path, *command)
    assert found.returncode == code, found.stderr
    assert "late" in found.stdout
    assert "told" in found.stdout
    assert "taken apart" not in found.stdout
    assert not list(tmp_path.iterdir())


def test_without_torch_python_ends_as_it_always_does(tmp_path: Path) -> None:
    plain = PROGRAM.replace('sys.modules["torch"] = types.ModuleType("torch")', "")
    found = ended(tmp_path, "--version", program=plain)
    assert found.returncode == 0
    assert "taken apart" in found.stdout


def test_an_error_of_the_program_is_shown_as_python_shows_it(tmp_path: Path) -> None:
    broken = PROGRAM.replace("from wug.cli.main import program", "from wug.cli import main as module")
    broken = broken.replace("program()\n", "module.main = lambda: 1 / 0\nmodule.program()\n")
    found = ended(tmp_path, "--version", program=broken)
    assert found.returncode == 1
    assert "ZeroDivisionError" in found.stderr
