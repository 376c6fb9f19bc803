"""Update the outputs that the pages show, if they are no longer what is printed, and the versions in signatures.

    PYTHONPATH=src:tests/helpers python tests/docs/write_outputs.py [PAGE…]

An output with one `...` line keeps as many lines as before at its beginning and at its end.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from doc_blocks import PAGES
from doc_run import Ran, run
from wug import __version__


def rewritten(page: Path, ran: list[Ran]) -> list[str]:
    """The lines of a page with its outputs updated."""
    lines = page.read_text(encoding="utf-8").split("\n")
    for one in sorted(ran, key=lambda one: -one.first):
        if one.shown and one.fault and one.code == one.expected_code:
            lines[one.first - 1 : one.first - 1 + len(one.shown)] = _cut(
                (one.results.strip("\n") or one.said.strip("\n")).split("\n"), one.shown
            )
    return lines


def _cut(said: list[str], shown: list[str]) -> list[str]:
    """The output, cut to the length of what was shown."""
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
        text = re.sub(r"\bwug:\d[\w.]*(?=\|)", f"wug:{__version__}", "\n".join(rewritten(page, ran)))
        page.write_text(text, encoding="utf-8")
        for one in ran:
            if one.fault and one.code != one.expected_code:
                print(one.fault, file=sys.stderr)
