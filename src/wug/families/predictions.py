"""Files of sources, targets and predictions, and predictions in the order of their sources.

Predictions of other tools are in one of these forms:

source, target, prediction          a table with a header, without quoting; the columns may have other names
{"source": …, "prediction": …}      JSON Lines with the same names
prediction                          one per line, in the order of the sources
H-12<TAB>score<TAB>prediction       fairseq, in any order
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from wug.errors import InputError
from wug.files import read_lines, read_text
from wug.formatting import plural
from wug.problems import ProblemList, refuse_errors
from wug.record_tables import best_hypotheses, read_table

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


def text_lines(path: Path) -> tuple[list[str], ProblemList]:
    """The lines of a file, and a warning if their ends are CRLF."""
    text = read_text(path)
    problems = ProblemList()
    if "\r\n" in text:
        first = text[: text.index("\r\n")].count("\n") + 1
        crlf = text.count("\r\n")
        problems.warn(at(path, first), f"{crlf:,} lines end in CRLF (this is the first); they are read like LF")
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[-1] == "":
        lines.pop()
    if not lines:
        problems.error(path.name, "the file is empty")
    return lines, problems


def at(path: Path, number: int) -> str:
    """The place of a line."""
    return f"{path.name}, line {number}"


def names_columns(lines: Sequence[str]) -> bool:
    """Whether a file is a table with a header, or JSON Lines."""
    if not lines or lines[0].startswith("{"):
        return bool(lines)
    names = [_column(cell) for cell in lines[0].split("\t")]
    known = "source" in names or set(names) <= {*SOURCE, *PREDICTION, *TARGET, *OTHER}
    return len(names) > 1 and known and bool(set(names) & set(PREDICTION))


def read_named(path: Path) -> list[PredictedRow]:
    """The rows of a table with a header, or of JSON Lines."""
    lines = content_lines(path)
    if not names_columns(lines):
        message = f"expected the header source<TAB>target<TAB>prediction, found {short(lines[0])}"
        raise InputError(message, file=path, place="line 1")
    table = read_table(path, quoted=False)
    refuse_errors(table.problems, path)
    if not table.records:
        raise InputError("there are no rows below the header", file=path)
    rows = []
    for place, fields in table.records:
        texts = {_column(name): text for name, text in fields.items() if isinstance(text, str)}
        source, target, prediction = (
            next((texts[name] for name in names if name in texts), None) for names in (SOURCE, TARGET, PREDICTION)
        )
        if prediction is None:
            message = f"no field with the prediction as text. It may be called {', '.join(PREDICTION)}"
            raise InputError(message, file=path, place=place)
        single_spaced = (None if text is None else squeeze(text) for text in (source, target))
        rows.append(PredictedRow(int(place.removeprefix("line ")), prediction, *single_spaced))
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
    if [row.source for row in rows] == wanted:
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


def _column(name: str) -> str:
    return name.strip().lower().replace(" ", "_")
