"""Predicted forms of a system, put in the order of the gold file: `families/predictions.py`, and tables without names.

sentence, prediction, type          a file like the gold file
source, target, prediction          a paste of OpenNMT's files
sentence, prediction                two columns
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wug.errors import InputError
from wug.families import predictions as readers
from wug.families.cogs.read import GoldLine
from wug.formatting import plural
from wug.record_tables import HYPOTHESIS


def read_predictions(path: Path, gold: Sequence[GoldLine]) -> tuple[list[str], list[str]]:
    """The prediction for every gold line, and warnings; InputError if there is not exactly one."""
    lines = readers.content_lines(path)
    warnings: list[str] = []
    if readers.names_columns(lines):
        rows = readers.read_named(path)
    elif "\t" in lines[0] and not HYPOTHESIS.fullmatch(lines[0]):
        rows = _unnamed_columns(lines, path, gold, warnings)
    elif lines[0].startswith('"'):
        raise InputError(
            f"the file starts with a quote character: {readers.short(lines[0])}. No logical form does; write the file "
            "without quoting, or as JSON Lines if the quote is part of the output",
            file=path,
            place="line 1",
        )
    else:
        rows = readers.read_plain(path, len(gold))
    return [row.prediction for row in readers.aligned(rows, (line.sentence for line in gold), path)], warnings


def _unnamed_columns(
    lines: Sequence[str], path: Path, gold: Sequence[GoldLine], warnings: list[str]
) -> list[readers.PredictedRow]:
    cells = [line.split("\t") for line in lines]
    width = len(cells[0])
    for number, row in enumerate(cells, 1):
        if len(row) != width:
            message = f"{plural(len(row), 'column')}, but line 1 has {width}: {readers.short(lines[number - 1])}"
            raise InputError(message, file=path, place=f"line {number}")
    if width > 3:
        message = f"{width} columns: a table has two or three, or a header line"
        raise InputError(message, file=path, place="line 1")
    column = 2 if width == 3 and _is_paste(cells, path, gold, warnings) else 1
    return [readers.PredictedRow(number, row[column], readers.squeeze(row[0])) for number, row in enumerate(cells, 1)]


def _is_paste(cells: Sequence[Sequence[str]], path: Path, gold: Sequence[GoldLine], warnings: list[str]) -> bool:
    """Whether three columns are source, target and prediction, and not those of the gold file: the content decides."""
    types, target = {line.type for line in gold}, {line.sentence: line.form for line in gold}
    known = [(target[sentence], left, right) for sentence, left, right in cells if sentence in target]
    if all(third in types for *_, third in cells) or not known:  # unknown sentences are refused later
        return False
    differing = sum(form != left for form, left, _ in known)
    labels = not any(" " in third for *_, third in cells)
    if labels and differing > len(known) / 2:
        return False  # with types that the gold file does not know
    swapped = differing and all(form == right for form, _, right in known)
    if labels or swapped or differing > len(known) / 2:
        raise InputError(
            "three columns that could be sentence, prediction and type, or source, target and prediction: the third "
            "is not the gold file's type, and the second is not clearly its form. Name the columns in a header line",
            file=path,
        )
    if differing:
        warnings.append(f"{differing} targets differ from the gold form, which is used instead")
    return True
