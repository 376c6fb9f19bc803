"""Write anew what the pages show as output, where it is no longer what is printed.

    PYTHONPATH=src:tests python tests/docs/write_outputs.py [PAGE…]

Of an output with one `...` line, as many lines as before are kept at its beginning and at its end.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from doc_blocks import PAGES
from doc_run import Ran, run


def rewritten(page: Path, ran: list[Ran]) -> list[str]:
    """The lines of a page with its outputs as they are today."""
    lines = page.read_text(encoding="utf-8").split("\n")
    for one in sorted(ran, key=lambda one: -one.first):
        if one.shown and one.fault and one.code == one.expected_code:
            lines[one.first - 1 : one.first - 1 + len(one.shown)] = _cut(
                (one.results.strip("\n") or one.said.strip("\n")).split("\n"), one.shown
            )
    return lines


def _cut(said: list[str], shown: list[str]) -> list[str]:
    """What is printed, as long as what was shown of it."""
    said = [line.rstrip() for line in said]
    gaps = [number for number, line in enumerate(shown) if line.strip() in ("...", "…")]
    if len(gaps) != 1:
        return said
    head, tail = gaps[0], len(shown) - gaps[0] - 1
    return [*said[:head], "...", *(said[-tail:] if tail else [])] if head + tail < len(said) else said


if __name__ == "__main__":
    for page in [Path(name).resolve() for name in sys.argv[1:]] or PAGES:
        with tempfile.TemporaryDirectory() as folder:
            ran = list(run(page, Path(folder) / "page"))
        page.write_text("\n".join(rewritten(page, ran)), encoding="utf-8")
        for one in ran:
            if one.fault and one.code != one.expected_code:
                print(one.fault, file=sys.stderr)
