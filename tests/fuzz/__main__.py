"""`python -m fuzz NAME… --seed S --count N`: run campaigns; exit 1 where one has a finding."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from pathlib import Path

from fuzz import campaign as campaigns

NAMES = {
    "readers": 40_000,
    "languages": 40_000,
    "damage": 600,
    "damage-causal": 60,
    "kills": 60,
    "server": 2_000,
    "requests": 10_000,
    "names": 1_000,
}
"""Every campaign, and the inputs that it is given where nothing is said: a minute's work or two.

A part of a campaign after a hyphen runs only on request.
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(NAMES)}; all by default")
    parser.add_argument("--seed", type=int, default=0, help="other seeds give other inputs")
    parser.add_argument("--count", type=int, help="inputs of each campaign")
    parser.add_argument("--seconds", type=float, help="time for each campaign, instead of a count")
    parser.add_argument("--number", type=int, help="this input alone")
    parser.add_argument("--keep", type=Path, help="a folder for the inputs of findings")
    parser.add_argument("--only", help="only inputs with this in their label, such as a format or a backend")
    given = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["NO_COLOR"] = "1"
    faults = 0
    for name in given.names or NAMES:
        if name not in NAMES:
            parser.error(f"there is no campaign {name!r}; there is: {', '.join(NAMES)}")
        module, _, part = name.partition("-")
        made = importlib.import_module(f"fuzz.{module}").Campaign(only=part or given.only)
        count = 1 if given.number is not None else given.count or (None if given.seconds else NAMES[name])
        report = campaigns.run(
            made,
            given.seed,
            count=count,
            seconds=given.seconds,
            first=given.number or 0,
            keep=given.keep,
            more=f" --only {given.only!r}" if given.only else "",
        )
        print(report.text(), flush=True)
        faults += len(report.findings)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
