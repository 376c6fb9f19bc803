"""Prints the coverage of each package of wug, and fails if one is too low.

`make coverage` calls it with the JSON report of coverage.py.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

PACKAGE = 90.0
"""Per cent of the lines of each package that tests must reach."""
ALL = 95.0
"""And of all lines."""


def by_package(report: dict[str, dict[str, dict[str, dict[str, int]]]]) -> dict[str, tuple[int, int]]:
    """Covered lines and all lines of each package, modules of the top under their own names."""
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, file in report["files"].items():
        parts = Path(name).parts
        package = parts[parts.index("wug") + 1].removesuffix(".py")
        found[package][0] += file["summary"]["covered_lines"]
        found[package][1] += file["summary"]["num_statements"]
    return {package: (covered, lines) for package, (covered, lines) in sorted(found.items())}


def main(path: str) -> int:
    """Print the table; 1 where something is too low."""
    found = by_package(json.loads(Path(path).read_text(encoding="utf-8")))
    low = []
    for package, (covered, lines) in found.items():
        share = 100 * covered / lines if lines else 100.0
        print(f"{package:20} {covered:6,} of {lines:6,} lines  {share:5.1f} %")
        if share < PACKAGE:
            low.append(f"{package} is below {PACKAGE:g} %")
    covered, lines = (sum(each) for each in zip(*found.values(), strict=True))
    print(f"{'all':20} {covered:6,} of {lines:6,} lines  {100 * covered / lines:5.1f} %")
    if 100 * covered / lines < ALL:
        low.append(f"all together are below {ALL:g} %")
    for line in low:
        print(line, file=sys.stderr)
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
