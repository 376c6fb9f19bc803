"""The program ends as every Python program does: with the code of the command, once all that waits is done."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

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
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path), *command], capture_output=True, text=True, check=False
    )
    assert found.returncode == code, found.stderr
    assert all(word in found.stdout for word in ("late", "exit function", "finalized"))
    assert not list(tmp_path.iterdir())
