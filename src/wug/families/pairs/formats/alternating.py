"""One sentence a line, good and bad in turn, with nothing that says which is which.

Zorro begins with the bad one, a file of CLiMP with the good one: it has to be said, by the catalogue or by the user.
"""

from __future__ import annotations

from pathlib import Path

from wug.errors import InputError
from wug.families.pairs.formats.labels import Labels
from wug.families.pairs.formats.marked import stem
from wug.families.pairs.pair import GroupPool, Pair, Parsed
from wug.files import read_lines
from wug.types import Problem

ORDERS = ("good-bad", "bad-good")


def parse(path: Path, labels: Labels) -> Parsed:
    """The pairs of a file whose lines alternate, in the order that `labels` has; the file names the paradigm."""
    if labels.lines is None:
        raise InputError(
            "a sentence a line: nothing in the file says which is the good one. Where they alternate, "
            "-S lines=good-bad or -S lines=bad-good",
            file=path,
        )
    lines: list[tuple[int, str]] = []
    problems: list[Problem] = []
    for number, line in enumerate(read_lines(path), 1):
        if "\t" in line.strip():
            problems.append(Problem("error", f"line {number}", "a tab in a line that should be a sentence"))
        if line.strip() and not (line.strip() == ",0" and not lines):  # what a copy of CLiMP has for a header
            lines.append((number, line.strip()))
    for (above, _), (below, _) in zip(lines[::2], lines[1::2], strict=False):
        if below != above + 1:
            message = "an empty line between the two sentences of a pair"
            problems.append(Problem("error", f"line {above + 1}", message))
    if len(lines) % 2:
        problems.append(Problem("error", "", f"{len(lines)} sentences, which are no whole number of pairs"))
    groups = GroupPool().of({"phenomenon": stem(path).rpartition("-")[0], "paradigm": stem(path)})
    pairs = []
    for number, ((_, first), (_, second)) in enumerate(zip(lines[::2], lines[1::2], strict=False), 1):
        good, bad = (first, second) if labels.lines == "good-bad" else (second, first)
        pairs.append(Pair(str(number), good, bad, groups))
    return Parsed("lines", pairs, problems)
