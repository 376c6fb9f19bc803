"""What the benchmarks share: processes with what they took, lines of tables, and what was aimed at."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("WUG_REFERENCE_DATA", ROOT.parent / "shared" / "data"))


@dataclass(frozen=True, slots=True)
class Took:
    """What a process took."""

    wall: float
    user: float
    system: float
    peak: float
    """MB of memory."""
    printed: str

    @property
    def cpu(self) -> float:
        """Seconds of processor time."""
        return self.user + self.system


def took(command: Sequence[str], source: Path = ROOT / "src", **more: str) -> Took:
    """Run a command to its end, with wug from the folder `source`; a failure ends the benchmark."""
    path = os.pathsep.join(filter(None, [str(source), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore", **more}
    start = time.perf_counter()
    with (
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(command, env=environment, stdout=out, stderr=errors) as process,
    ):
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - start
        out.seek(0)
        errors.seek(0)
        if process.returncode:
            sys.exit(f"{' '.join(command)} ended with {process.returncode}\n{errors.read().decode()}")
        return Took(wall, used.ru_utime, used.ru_stime, used.ru_maxrss / 1024, out.read().decode())


def aim(line: str, wanted: str, got: str, *, met: bool, peer: str = "") -> None:
    """Store the aims next to the results, in the file that WUG_BENCH_AIMS names; nothing without one.

    A peer is what is measured in the same run, with its figure.
    """
    if path := os.environ.get("WUG_BENCH_AIMS"):
        with Path(path).open("a", encoding="utf-8") as file:
            row = {"line": line, "wanted": wanted, "got": got, "met": bool(met), "peer": peer}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def line(*cells: object) -> None:
    """Print a line of a table, as soon as it is known."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def head(*names: str) -> None:
    """Print the first lines of a table."""
    line(*names)
    print("|---" * len(names) + "|", flush=True)
