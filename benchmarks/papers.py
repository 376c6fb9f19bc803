"""The papers' tables on a GPU that is there for some minutes: what is worth most comes first, and all of it resumes.

    python benchmarks/papers.py --folder papers --dry-run            the rounds, their trainings and minutes
    python benchmarks/papers.py --folder papers --try                steps per second: with CUDA graphs, and compiled
    python benchmarks/papers.py --folder papers --minutes 9          as far as it comes; a repeated call resumes
    python benchmarks/papers.py --folder papers --round 2            the LSTMs alone
    python benchmarks/papers.py --folder papers --minutes 3 --small  a trial on a CPU

After every call `FOLDER/tables` has the tables as far as they are known (JSON with recipe, seeds and signatures), and
`FOLDER/home.tar.gz` what to take home: tables, results, recipes and losses of the trainings, logs, no weights.
"""

from __future__ import annotations

import argparse
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

RATE = 131 + 141 / 2.7
"""Steps per second, of 256 rows each, on one H200 under MPS: five trainings of 6.4M and three of COGS, side by side."""


@dataclass(frozen=True)
class Stage:
    """A part of a table, as options of `wug reproduce`."""

    recipe: str
    options: tuple[str, ...]
    trainings: int
    steps: int
    """That all of them take, as steps of 256 rows of PCFG SET: one of COGS costs 1 / 2.7 of such a one."""


HUPKES, KIM = 3 * 22_000 + 32_000 + 14_000, round(3 * 24_000 / 2.7)
LSTM = round((5 * 14_000 + 3 * 8_000 * 2) * 0.6)
"""Counted in the same steps: an LSTM's take 0.6 of one on PCFG SET, and on COGS twice as long."""
ROUNDS = (
    (
        Stage("hupkes2020", ("--network", "transformer", "--seed", "1"), 5, HUPKES),
        Stage("kim2020", ("--network", "transformer"), 3, KIM),
    ),
    (
        Stage("hupkes2020", ("--network", "lstm", "--seed", "1"), 5, LSTM),
        Stage("kim2020", ("--network", "lstm"), 3, 0),  # counted with the others
    ),
    (Stage("hupkes2020", ("--network", "transformer", "--seed", "2", "--seed", "3"), 8, 2 * HUPKES),),
)
"""What is trained side by side, and what after it."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=9.0, help="when to stop")
    parser.add_argument("--round", type=int, action="append", dest="rounds", help="this round alone; repeatable")
    parser.add_argument("--jobs", type=int, help="trainings of a stage side by side; by default all")
    parser.add_argument("--device")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--try", dest="trial", action="store_true")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    wanted = [(number, stages) for number, stages in enumerate(ROUNDS, 1) if number in (given.rounds or (number,))]
    if given.dry_run:
        for number, stages in wanted:
            print(f"round {number}: {sum(stage.steps for stage in stages) / RATE / 60:.0f} min of training on one H200")
            for stage in stages:
                print(f"  {stage.trainings} trainings: wug reproduce {stage.recipe} {' '.join(stage.options)}")
        return 0
    if shutil.which("nvidia-cuda-mps-control"):
        # Kernels of several processes then run at the same time, which they else do in turns.
        subprocess.run(["nvidia-cuda-mps-control", "-d"], check=False)
    if given.trial:
        return trial(given.folder, given.device, small=given.small)
    ends = time.monotonic() + 60 * given.minutes
    code = 0
    for number, stages in wanted:
        with ThreadPoolExecutor(len(stages)) as side_by_side:
            code = max(side_by_side.map(lambda stage: run(stage, given, ends), stages))
        for stage in stages:
            table(stage, given, number)
        if code:
            break
    pack(given.folder)
    return code


def run(stage: Stage, given: argparse.Namespace, ends: float) -> int:
    """Take a stage as far as time allows; 0 where it is done."""
    begun = time.monotonic()
    process = subprocess.Popen(command(stage, given))
    code: int | None = None
    try:
        code = process.wait(timeout=max(0.0, ends - begun))
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGTERM)  # which ends its trainings as well: they resume from their checkpoints
        process.wait()
    state = "not done yet" if code is None else "done" if code == 0 else f"failed ({code})"
    what = f"{stage.recipe} {' '.join(stage.options)}"
    print(f"{what}: {state}, {time.monotonic() - begun:.0f} s", flush=True)
    return 1 if code is None else code


def command(stage: Stage, given: argparse.Namespace) -> list[str]:
    # Commands of the steps name the folder, so its name must be the same in every call.
    folder = given.folder / (f"{stage.recipe}-small" if given.small else stage.recipe)
    more = [*(["--device", given.device] if given.device else []), *(["--small"] if given.small else [])]
    wug = [sys.executable, "-m", "wug", "reproduce", stage.recipe, *stage.options]
    return [*wug, "--folder", str(folder), "--jobs", str(given.jobs or stage.trainings), *more]


def table(stage: Stage, given: argparse.Namespace, number: int) -> None:
    """Write the table as far as it is known, without taking a step."""
    tables = given.folder / "tables"
    tables.mkdir(exist_ok=True)
    for form in ("json", "md"):
        out = tables / f"{number}-{stage.recipe}.{form}"
        subprocess.run([*command(stage, given), "--so-far", "-o", str(out)], check=False)


def trial(folder: Path, device: str | None, *, small: bool) -> int:
    """Steps per second of the Transformer of PCFG SET at the end of a short training, recorded and compiled."""
    material, steps = folder / "trial", "60" if small else "600"
    if not material.exists():
        samples = ["--samples", "600"] if small else []
        subprocess.run(
            [sys.executable, "-m", "wug", "make", "pcfgset", *samples, "--seed", "1", "-o", str(material)], check=True
        )
    options = "--batch-size 256 --optimiser muon --learning-rate 2e-3".split()
    sizes = "--layers 1 --embedding-size 32 --ffn-size 64".split() if small else []
    for compiled in ("no", "yes"):
        shutil.rmtree(folder / "trained", ignore_errors=True)
        train = [sys.executable, "-m", "wug", "train", "seq2seq", str(material), "-o", str(folder / "trained")]
        more = ["--steps", steps, "--compile", compiled, *(["--device", device] if device else [])]
        begun = time.monotonic()
        said = subprocess.run([*train, *options, *sizes, *more], capture_output=True, text=True, check=False)
        rates = re.findall(r"([\d.]+) steps/s", said.stderr)
        seconds = time.monotonic() - begun
        print(
            f"compile {compiled}: {rates[-1] if rates else said.stderr} steps/s at the end, {seconds:.0f} s in all",
            flush=True,
        )
    return 0


def pack(folder: Path) -> None:
    """Put all that is small into one archive."""
    with tarfile.open(folder / "home.tar.gz", "w:gz") as tar:
        for path in kept(folder):
            tar.add(path, path.relative_to(folder))
    print(f"{folder / 'home.tar.gz'}: {(folder / 'home.tar.gz').stat().st_size / 1e6:.1f} MB")


def kept(folder: Path) -> Iterator[Path]:
    yield from sorted((folder / "tables").glob("*"))
    for pattern in ("*/results/*.json", "*/commands/*.json", "*/logs/*", "*/models/*/README.md", "*/runs"):
        yield from sorted(folder.glob(pattern))
    for name in ("recipe.json", "loss.tsv", "finished"):
        yield from sorted(folder.glob(f"*/models/*/training/{name}"))


if __name__ == "__main__":
    sys.exit(main())
