"""Judging the log-probabilities that others put beside the rows of an original-format file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from wug.errors import InputError, SuiteError, UnknownName
from wug.families.pairs.formats import original
from wug.families.pairs.formats.original import COLUMNS, NEEDED, Rows
from wug.families.pairs.oddities import capped
from wug.families.pairs.pair import GroupPool, Pair
from wug.families.tables import Table, need, read_table
from wug.stats import estimates, over_runs
from wug.types import Notice, Outcome, Problem, Row


@dataclass(frozen=True, slots=True)
class Judged:
    """The pairs of a file, and what each column of log-probabilities beside them comes to."""

    pairs: list[Pair]
    columns: dict[str, list[Row]]
    """An `accuracy` outcome for each pair, and a notice where pairs tie."""


def score_published(path: Path, columns: Sequence[str] | None = None) -> Iterator[Row]:
    """One outcome for each pair and column of numbers, `accuracy` or, of several, `accuracy:COLUMN`.

    Without `columns`, all those that the format itself does not have. Of several columns, the mean accuracy
    over them and its standard deviation (of a sample: n - 1) come as well, as `accuracy`.
    """
    judged = judge_columns(path, columns).columns
    if len(judged) == 1:
        yield from next(iter(judged.values()))
        return
    accuracies = []
    for name, rows in judged.items():
        accuracies.append(estimates(row for row in rows if isinstance(row, Outcome)))
        for row in rows:
            yield replace(row, check=f"accuracy:{name}") if isinstance(row, Outcome) else row
    for mean in over_runs(accuracies):
        yield replace(mean, method="sd over columns")


def judge_columns(path: Path, columns: Sequence[str] | None = None) -> Judged:
    """The judgements on each column by itself, all of them `accuracy`."""
    table = read_table(path)
    faults = [*table.problems, *need(table.header, NEEDED)]
    if faults:
        raise SuiteError(capped(faults), file=path)
    names = _columns(path, table, columns)
    faults += [
        Problem("error", record.place, f"{name} is missing")
        for record in table.records
        for name in (*NEEDED, *names)
        if name not in record.fields
    ]
    if faults:
        raise SuiteError(capped(faults), file=path)
    pairs = list(original.paired(table, faults))
    numbers = {name: _numbers(pairs, name, faults) for name in names}
    if faults:
        raise SuiteError(capped(faults), file=path)
    if not pairs:
        raise InputError("there are no pairs in it", file=path)
    return Judged(original.pairs_of(table, []), {name: _judged(name, pairs, numbers[name]) for name in names})


def _judged(name: str, pairs: Sequence[Rows], values: Sequence[tuple[float, float]]) -> list[Row]:
    pool = GroupPool()
    found: list[Row] = []
    for rows, (good, bad) in zip(pairs, values, strict=True):
        detail = {"good": good, "bad": bad, "forms": _forms(rows)}
        groups = pool.of(original.groups(rows.correct))
        found.append(Outcome(original.name(rows.key), "accuracy", good > bad, groups, detail))
    if ties := sum(good == bad for good, bad in values):
        found.append(Notice(f"{ties} pair{'s' * (ties != 1)} tied in column {name}, counted as failures"))
    return found


def _columns(path: Path, table: Table, columns: Sequence[str] | None) -> list[str]:
    if columns:
        for name in columns:
            if name not in table.header:
                raise UnknownName(f"column of {path}", name, table.header)
        return list(dict.fromkeys(columns))
    extra = [name for name in table.header if name not in COLUMNS]
    if not extra:
        message = "no column with log-probabilities: this file has only those of the original format"
        raise SuiteError([Problem("error", "header", message)], file=path)
    return extra


def _numbers(pairs: Sequence[Rows], column: str, faults: list[Problem]) -> list[tuple[float, float]]:
    values: list[tuple[float, float]] = []
    for rows in pairs:
        both: list[float] = []
        for record in (rows.correct, rows.wrong):
            try:
                number = float(record.fields[column])
            except (TypeError, ValueError):
                number = math.nan
            if math.isnan(number):
                faults.append(Problem("error", record.place, f"{column} is {record.fields[column]!r}, not a number"))
            both.append(number)
        values.append((both[0], both[1]))
    return values


def _forms(rows: Rows) -> str:
    return f"{rows.correct.fields['form']}/{rows.wrong.fields['form']}"
