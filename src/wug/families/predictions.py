"""Predictions of other tools, put in the order of the sources that they belong to.

source, target, prediction          a table with a header, without quoting; the columns may have other names
{"source": …, "prediction": …}      JSON Lines with the same names
prediction                          one per line, in the order of the sources
H-12<TAB>score<TAB>prediction       fairseq, in any order
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from wug.errors import InputError
from wug.files import read_lines
from wug.formatting import plural
from wug.record_tables import best_hypotheses

SOURCE = ("sentence", "source", "src", "input", "question")
PREDICTION = ("prediction", "predicted", "pred", "hypothesis", "output", "answer", "logical_form", "form")
TARGET = ("target", "tgt", "gold", "reference")
OTHER = ("type", "gen_type", "category")


class PredictedRow(NamedTuple):
    """A prediction with its line number; source and target have single spaces between words."""

    number: int
    prediction: str
    source: str | None = None
    target: str | None = None


def squeeze(text: str) -> str:
    """A text with one space between its words and none around them."""
    return " ".join(text.split())


def short(text: str) -> str:
    """A quoted text, cut off for a message."""
    return repr(text if len(text) <= 60 else f"{text[:57]}…")


def content_lines(path: Path) -> list[str]:
    """The lines of a file that is not empty."""
    lines = read_lines(path)
    if not lines:
        raise InputError("the file is empty", file=path)
    return lines


def names_columns(lines: Sequence[str]) -> bool:
    """Whether a file is a table with a header, or JSON Lines."""
    return bool(lines) and (lines[0].startswith("{") or _header(lines[0]) is not None)


def read_named(path: Path) -> list[PredictedRow]:
    """The rows of a table with a header, or of JSON Lines."""
    lines = content_lines(path)
    if lines[0].startswith("{"):
        return [_json_row(number, line, path) for number, line in enumerate(lines, 1)]
    header = _header(lines[0])
    if header is None:
        message = f"expected the header source<TAB>target<TAB>prediction, found {short(lines[0])}"
        raise InputError(message, file=path, place="line 1")
    if len(lines) == 1:
        raise InputError("there are no rows below the header", file=path)
    return [
        _row(number, dict(zip(header, fields, strict=True)))
        for number, fields in enumerate(split_columns(lines, path)[1:], 2)
    ]


def split_columns(lines: Sequence[str], path: Path) -> list[list[str]]:
    """The fields of every line, or an error if a line does not have as many as the first."""
    rows = [line.split("\t") for line in lines]
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            message = f"{plural(len(row), 'column')}, but line 1 has {len(rows[0])}: {short(lines[number - 1])}"
            raise InputError(message, file=path, place=f"line {number}")
    return rows


def read_plain(path: Path, count: int) -> list[PredictedRow]:
    """Predictions for `count` sources, one per line, or the `H-` lines of fairseq in the order of their numbers."""
    lines = read_lines(path)
    try:
        hypotheses = best_hypotheses(lines, count)
    except InputError as error:
        raise InputError(error.message, file=path, place=error.place) from None
    if hypotheses is not None:
        return [PredictedRow(number, text) for number, text in hypotheses]
    tabbed = next((number for number, line in enumerate(lines, 1) if "\t" in line), None)
    if tabbed is not None:
        message = f"a tab, but line 1 has none: {short(lines[tabbed - 1])}. Give every line the same columns"
        raise InputError(message, file=path, place=f"line {tabbed}")
    return [PredictedRow(number, line) for number, line in enumerate(lines, 1)]


def aligned(rows: Sequence[PredictedRow], sources: Iterable[str], path: Path) -> list[PredictedRow]:
    """The row of each source: by source, where repeated ones keep their order, or by position if rows have none."""
    wanted = list(map(squeeze, sources))
    without = [row for row in rows if row.source is None]
    if without and len(without) < len(rows):
        message = "some lines have a source and some do not, so they cannot be put in order"
        raise InputError(message, file=path, place=f"line {without[0].number}")
    if without or not rows:
        if len(rows) != len(wanted):
            message = f"{plural(len(rows), 'prediction')} for {plural(len(wanted), 'source')}: there must be one each"
            raise InputError(message, file=path, place=f"line {min(len(rows), len(wanted)) + 1}")
        return list(rows)
    known = Counter(wanted)
    waiting: defaultdict[str, list[PredictedRow]] = defaultdict(list)
    for row in rows:
        source = row.source or ""
        if len(waiting[source]) == known[source]:
            if source in known:
                message = f"a repeated source: {short(source)} is already on line {waiting[source][0].number}"
            else:
                quoted = ". Is the file quoted? Write it without quotes" if source.startswith('"') else ""
                message = f"a prediction for a source that is not in the gold file: {short(source)}{quoted}"
            raise InputError(message, file=path, place=f"line {row.number}")
        waiting[source].append(row)
    missing = [number for number, source in enumerate(wanted) if len(waiting[source]) < known[source]]
    if missing:
        more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        raise InputError(f"no prediction for source {missing[0] + 1}: {wanted[missing[0]]}{more}", file=path)
    return [waiting[source].pop(0) for source in wanted]


def answers_to(sources: Sequence[str], path: Path) -> list[str]:
    """The prediction for each source in a file: by source in a table, else by position."""
    rows = read_named(path) if names_columns(read_lines(path)) else read_plain(path, len(sources))
    return [squeeze(row.prediction) for row in aligned(rows, sources, path)]


def _header(line: str) -> list[str] | None:
    """The names of the columns; None if the line is not a header."""
    names = [cell.strip().lower().replace(" ", "_") for cell in line.split("\t")]
    known = "source" in names or set(names) <= {*SOURCE, *PREDICTION, *TARGET, *OTHER}
    return names if len(names) > 1 and known and set(names) & set(PREDICTION) else None


def _row(number: int, fields: dict[str, str]) -> PredictedRow:
    source, target, prediction = (
        next((fields[name] for name in names if isinstance(fields.get(name), str)), None)
        for names in (SOURCE, TARGET, PREDICTION)
    )
    return PredictedRow(
        number,
        prediction or "",
        None if source is None else squeeze(source),
        None if target is None else squeeze(target),
    )


def _json_row(number: int, line: str, path: Path) -> PredictedRow:
    place = f"line {number}"
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        raise InputError(f"not JSON: {short(line)}", file=path, place=place) from None
    if not isinstance(fields, dict):
        raise InputError(f"not a JSON object: {short(line)}", file=path, place=place)
    if not any(isinstance(fields.get(name), str) for name in PREDICTION):
        message = f"no field with the prediction as text. It may be called {', '.join(PREDICTION)}"
        raise InputError(message, file=path, place=place)
    return _row(number, fields)
