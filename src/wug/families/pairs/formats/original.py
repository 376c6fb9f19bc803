"""The original format of Gulordava et al. (2018): two rows per pair, with the same sentence and two forms of a word."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from wug.errors import InputError, SuiteError, UnknownName
from wug.families.pairs.formats.tables import PairLabels, RowsOfPair, TwoRows, paired
from wug.families.pairs.outcomes import ACCURACY
from wug.families.pairs.pair import GroupPool, Pair, ParsedPairs, with_forms, without_eos
from wug.formatting import plural
from wug.outcomes import Notice, Outcome, SuiteOutput
from wug.problems import Problem, ProblemList, refuse_errors
from wug.record_tables import (
    Record,
    RecordTable,
    as_number,
    count_of,
    header_of,
    missing_columns,
    read_table,
    text_of,
)

REQUIRED_COLUMNS = ("pattern", "constr_id", "sent_id", "form", "class", "type", "len_prefix", "sent")
ORIGINAL_COLUMNS = {*REQUIRED_COLUMNS, "correct_number", "prefix", "n_attr", "punct", "freq", "len_context"}
"""The columns of the original format; columns with log-probabilities may follow."""
_ROWS = TwoRows("sent", "class", ("correct", "wrong"), ("pattern", "constr_id", "sent_id"))


def recognises(path: Path, head: str) -> bool:
    """Whether the header is that of the original format, even if it lacks a column."""
    header = set(header_of(head))
    return "sent" in header and ("constr_id" in header or {"class", "len_prefix"} <= header)


def parse(path: Path, labels: PairLabels) -> ParsedPairs:
    """The pairs of a file in the original format."""
    table = read_table(path)
    problems = ProblemList.of(table.problems, missing_columns(table.header, REQUIRED_COLUMNS))
    if any(problem.place == "header" for problem in problems):
        return ParsedPairs("original", [], problems)
    return ParsedPairs("original", original_pairs(table, problems), problems)


def original_pairs(table: RecordTable, problems: ProblemList) -> list[Pair]:
    """The pairs of a table in the original format; rows with errors are reported as problems."""
    pool = GroupPool()
    pairs = [_original_pair(rows, pool, problems) for rows in paired(_ROWS, table, problems)]
    return [pair for pair in pairs if pair is not None]


def original_groups(record: Record) -> dict[str, str]:
    """The groups of a pair in the original format; the files say `generated` for nonce sentences."""
    fields = record.fields
    return {
        "pattern": fields["pattern"],
        "type": "nonce" if fields["type"] == "generated" else fields["type"],
        "attractors": fields.get("n_attr", ""),
        "number": fields.get("correct_number", ""),
    }


def _original_pair(rows: RowsOfPair, pool: GroupPool, problems: ProblemList) -> Pair | None:
    good, bad = (text_of(row, "form", problems) for row in (rows.good, rows.bad))
    sentence, other_sentence = (text_of(row, "sent", problems) for row in (rows.good, rows.bad))
    length, other_length = (count_of(row, "len_prefix", problems) for row in (rows.good, rows.bad))
    if good is None or bad is None or sentence is None or length is None or None in (other_sentence, other_length):
        return None
    if sentence != other_sentence or length != other_length:
        what = "sent" if sentence != other_sentence else "len_prefix"
        problems.error(rows.bad.place, f"{what} is not that of the correct row: more than the target differs")
        return None
    words = without_eos(sentence).split()
    if length >= len(words):
        problems.error(rows.good.place, f"len_prefix is {length}, but sent has {len(words)} words")
        return None
    prefix = str(rows.good.fields.get("prefix", "")).split()
    same = len(prefix) == length and all(a in (b, "<unk>") for a, b in zip(prefix, words, strict=False))
    if prefix and not same:
        begins = " ".join(words[:length])
        message = f"len_prefix is wrong: prefix is {' '.join(prefix)!r}, but sent begins {begins!r}"
        problems.error(rows.good.place, message)
    return with_forms(rows.item, words, length, (good.strip(), bad.strip()), pool.of(original_groups(rows.good)))


def score_columns(path: Path, columns: Sequence[str] | None = None) -> tuple[list[Pair], dict[str, list[SuiteOutput]]]:
    """The pairs of a file, and for each column one `accuracy` outcome per pair and a notice if pairs tie."""
    table = read_table(path)
    refuse_errors(ProblemList.of(table.problems, missing_columns(table.header, REQUIRED_COLUMNS)), path)
    names = _columns(path, table, columns)
    problems = ProblemList()
    for record in table.records:
        for name in (*REQUIRED_COLUMNS, *names):
            if name not in record.fields:
                problems.error(record.place, f"{name} is missing")
    refuse_errors(problems, path)
    rows = list(paired(_ROWS, table, problems))
    judged = {name: _column_outcomes(name, rows, problems) for name in names}
    refuse_errors(problems, path)
    if not rows:
        raise InputError("the file has no pairs", file=path)
    return original_pairs(table, ProblemList()), judged


def _column_outcomes(column: str, pairs: Sequence[RowsOfPair], problems: ProblemList) -> list[SuiteOutput]:
    """The outcomes of all pairs by one column; a field that is not a number is a problem."""
    pool = GroupPool()
    outcomes: list[SuiteOutput] = []
    ties = 0
    for rows in pairs:
        good, bad = (as_number(record.fields[column]) for record in (rows.good, rows.bad))
        problems += (
            Problem("error", record.place, f"{column} is {record.fields[column]!r}, not a number")
            for record, number in ((rows.good, good), (rows.bad, bad))
            if math.isnan(number)
        )
        detail = {"good": good, "bad": bad, "forms": f"{rows.good.fields['form']}/{rows.bad.fields['form']}"}
        outcomes.append(Outcome(rows.item, ACCURACY, good > bad, pool.of(original_groups(rows.good)), detail))
        ties += good == bad
    if ties:
        outcomes.append(Notice(f"{plural(ties, 'pair')} tied in column {column}, counted as failures"))
    return outcomes


def _columns(path: Path, table: RecordTable, columns: Sequence[str] | None) -> list[str]:
    if columns:
        for name in columns:
            if name not in table.header:
                raise UnknownName(f"column of {path}", name, table.header)
        return list(dict.fromkeys(columns))
    further = [name for name in table.header if name not in ORIGINAL_COLUMNS]
    if not further:
        message = "no column with log-probabilities: this file has only those of the original format"
        raise SuiteError([Problem("error", "header", message)], file=path)
    return further
