"""Judging the log-probabilities that others put beside the rows of an original-format file."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from wug.errors import SuiteError, UnknownName
from wug.suites.pairs import _original
from wug.suites.pairs._check import capped
from wug.suites.pairs._original import COLUMNS, NEEDED, Rows
from wug.suites.pairs._pair import GroupPool
from wug.suites.pairs._tables import Table, need, read_table
from wug.types import Estimate, Notice, Outcome, Problem, Row


def score_published(path: Path, columns: Sequence[str] | None = None) -> Iterator[Row]:
    """One outcome for each pair and column of numbers, `accuracy` or, of several, `accuracy:COLUMN`.

    Without `columns`, all those that the format itself does not have. Of several columns, the mean accuracy
    over them and its standard deviation (of a sample: n - 1) come as well, as `accuracy`.
    """
    table = read_table(path)
    faults = [*table.problems, *need(table.header, NEEDED)]
    if faults:
        raise SuiteError(capped(faults), file=path)
    names = _columns(path, table, columns)
    pairs = list(_original.paired(table, faults))
    numbers = {name: _numbers(pairs, name, faults) for name in names}
    if faults:
        raise SuiteError(capped(faults), file=path)
    yield from _judged(pairs, numbers)


def _judged(pairs: Sequence[Rows], numbers: Mapping[str, list[tuple[float, float]]]) -> Iterator[Row]:
    pool = GroupPool()
    groups = [pool.of(_original.groups(rows.correct)) for rows in pairs]
    accuracies: defaultdict[str, list[float]] = defaultdict(list)
    for name, values in numbers.items():
        check = "accuracy" if len(numbers) == 1 else f"accuracy:{name}"
        judged: defaultdict[str, list[bool]] = defaultdict(list)
        for rows, found, (good, bad) in zip(pairs, groups, values, strict=True):
            detail = {"good": good, "bad": bad, "forms": _forms(rows)}
            yield Outcome(_original.name(rows.key), check, good > bad, found, detail)
            for group in ("all", *(f"{key}={value}" for key, value in found.items())):
                judged[group].append(good > bad)
        for group, outcomes in judged.items():
            accuracies[group].append(statistics.fmean(outcomes))
        if ties := sum(good == bad for good, bad in values):
            yield Notice(f"{ties} pair{'s' * (ties != 1)} tied in column {name}, counted as failures")
    if len(numbers) > 1:
        yield from (_mean(group, values) for group, values in accuracies.items())


def _mean(group: str, accuracies: Sequence[float]) -> Estimate:
    """The mean over columns, give or take one standard deviation, which is what the paper prints after ±."""
    mean, spread = statistics.fmean(accuracies), statistics.stdev(accuracies)
    return Estimate("accuracy", group, mean, len(accuracies), mean - spread, mean + spread, "sd over columns")


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
            except ValueError:
                number = math.nan
            if math.isnan(number):
                faults.append(Problem("error", record.place, f"{column} is {record.fields[column]!r}, not a number"))
            both.append(number)
        values.append((both[0], both[1]))
    return values


def _forms(rows: Rows) -> str:
    return f"{rows.correct.fields['form']}/{rows.wrong.fields['form']}"
