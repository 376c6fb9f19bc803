"""Scores published log-probabilities: those in further columns of a file in the original format."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from wug.errors import InputError, SuiteError, UnknownName
from wug.families.pairs.formats import two_rows
from wug.families.pairs.formats.two_rows import RowsOfPair
from wug.families.pairs.outcomes import ACCURACY
from wug.families.pairs.pair import GroupPool, Pair
from wug.families.tables import RecordTable, as_number, need, read_table, refuse_errors
from wug.formatting import plural
from wug.types import Notice, Outcome, Problem, Row


def score_columns(path: Path, columns: Sequence[str] | None = None) -> tuple[list[Pair], dict[str, list[Row]]]:
    """The pairs of a file, and for each column one `accuracy` outcome per pair and a notice if pairs tie."""
    table = read_table(path)
    refuse_errors([*table.problems, *need(table.header, two_rows.REQUIRED_COLUMNS)], path)
    names = _columns(path, table, columns)
    problems = [
        Problem("error", record.place, f"{name} is missing")
        for record in table.records
        for name in (*two_rows.REQUIRED_COLUMNS, *names)
        if name not in record.fields
    ]
    refuse_errors(problems, path)
    rows = list(two_rows.original_rows(table, problems))
    judged = {name: _judged(name, rows, problems) for name in names}
    refuse_errors(problems, path)
    if not rows:
        raise InputError("the file has no pairs", file=path)
    return two_rows.original_pairs(table, []), judged


def _judged(column: str, pairs: Sequence[RowsOfPair], problems: list[Problem]) -> list[Row]:
    """The outcomes of all pairs by one column; a field that is not a number is a problem."""
    pool = GroupPool()
    found: list[Row] = []
    ties = 0
    for rows in pairs:
        good, bad = (as_number(record.fields[column]) for record in (rows.good, rows.bad))
        problems += (
            Problem("error", record.place, f"{column} is {record.fields[column]!r}, not a number")
            for record, number in ((rows.good, good), (rows.bad, bad))
            if math.isnan(number)
        )
        detail = {"good": good, "bad": bad, "forms": f"{rows.good.fields['form']}/{rows.bad.fields['form']}"}
        found.append(Outcome(rows.item, ACCURACY, good > bad, pool.of(two_rows.original_groups(rows.good)), detail))
        ties += good == bad
    if ties:
        found.append(Notice(f"{plural(ties, 'pair')} tied in column {column}, counted as failures"))
    return found


def _columns(path: Path, table: RecordTable, columns: Sequence[str] | None) -> list[str]:
    if columns:
        for name in columns:
            if name not in table.header:
                raise UnknownName(f"column of {path}", name, table.header)
        return list(dict.fromkeys(columns))
    further = [name for name in table.header if name not in two_rows.ORIGINAL_COLUMNS]
    if not further:
        message = "no column with log-probabilities: this file has only those of the original format"
        raise SuiteError([Problem("error", "header", message)], file=path)
    return further
