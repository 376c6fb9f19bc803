"""The whole command `wug run`, cold, with every output in the cache, and the same command with the model loaded.

    python benchmarks/cached.py                          all of BLiMP, the built-in wug-causal
    python benchmarks/cached.py --cache answers.db       with the outputs of a previous run: filling takes minutes
    python benchmarks/cached.py --beside OTHER/src       another version of wug, in the same run
    python benchmarks/cached.py --profile                where the time goes: imports, then functions

The sentences are BLiMP's (WUG_REFERENCE_DATA or ../shared/data) or, where that is absent, the built-in suites. Every
line is the median of some processes, in turns; all must print the same. Wall-clock time means little on a machine with
other work, so CPU time is shown too; compare ratios within one run only.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from timing import ROOT, Took, aim, took

CACHED = "wug, answered by the cache"
PLAIN = "from wug.cli.main import main; main()"
LOADING = f"""
from wug.evaluation import models
load = models.open_model
def loaded(*named):
    opened = load(*named)
    opened.backend
    return opened
models.open_model = loaded
{PLAIN}
"""


def compare(run: Sequence[str], home: Path, times: int, beside: Path | None) -> None:
    """A table of the ways to run the same, each `times` times, in turns."""
    own = ROOT / "src"
    ways = {CACHED: (own, PLAIN), "the same, the model loaded": (own, LOADING)}
    if beside is not None:
        ways[f"wug of {beside}"] = (beside, PLAIN)
    found: dict[str, list[Took]] = {name: [] for name in ways}
    for number in range(times):
        for place, (name, (source, code)) in enumerate(ways.items()):
            command = [sys.executable, "-c", code, *run, "--store", str(home / f"{number}-{place}.db")]
            found[name].append(took(command, source))
    printed = {each.printed for each in (each for some in found.values() for each in some)}
    if len(printed) > 1:
        sys.exit("they do not print the same")
    print("| way | wall, s | CPU, s | peak, MB | CPU ÷ first |\n|---|--:|--:|--:|--:|")
    first = statistics.median(each.cpu for each in next(iter(found.values())))
    for name, some in found.items():
        wall, cpu, peak = (statistics.median(getattr(each, what) for each in some) for what in ("wall", "cpu", "peak"))
        print(f"| {name} | {wall:.1f} | {cpu:.2f} | {peak:.0f} | {cpu / first:.2f} |")
        if name == CACHED:
            aim(
                "BLiMP answered by the cache, whole command, cpu",
                "≤ 5 s, ≤ 400 MB",
                f"{wall:.1f} s (CPU {cpu:.1f} s), {peak:.0f} MB",
                met=wall <= 5 and peak <= 400,
            )


def profile(run: Sequence[str], home: Path) -> None:
    """Which imports and which functions take the time."""
    command = [sys.executable, "-X", "importtime", "-c", PLAIN, *run, "--store", str(home / "imports.db")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    rows = [
        line.split("|") for line in done.stderr.splitlines() if line.startswith("import time:") and "[us]" not in line
    ]
    top = sorted(((int(total), name.strip()) for _, total, name in rows if not name.startswith("  ")), reverse=True)
    print("imports, ms:", ", ".join(f"{name} {total / 1000:.0f}" for total, name in top[:12]))
    saved = home / "profile"
    code = f"import cProfile; cProfile.run({PLAIN!r}, {str(saved)!r})"
    took([sys.executable, "-c", code, *run, "--store", str(home / "functions.db")])
    subprocess.run(
        [sys.executable, "-m", "pstats", str(saved)], input="sort cumtime\nstats wug 40\n", text=True, check=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--model", default="wug-causal")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--beside", type=Path)
    parser.add_argument("--profile", action="store_true")
    given = parser.parse_args()
    blimp = Path(os.environ.get("WUG_REFERENCE_DATA", ROOT.parent / "shared" / "data")) / "pairs" / "blimp"
    suites = str(blimp) if blimp.is_dir() else "wug_syntaxgym"
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        run = ["run", suites, "--model", given.model, "--cache", str(given.cache or home / "answers.db")]
        took([sys.executable, "-c", PLAIN, *run, "--no-save"])  # so that the cache has it all
        if given.profile:
            profile(run, home)
        else:
            compare(run, home, given.times, given.beside)


if __name__ == "__main__":
    main()
