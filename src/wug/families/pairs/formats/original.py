"""The original format (Gulordava et al. 2018): one row a form, two rows a pair."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from wug.families.pairs.pair import GroupPool, Pair, Parsed, with_forms, without_eos
from wug.families.tables import Record, Table, count_of, header_of, need, read_table, text_of
from wug.types import Problem

COLUMNS = (
    "pattern",
    "constr_id",
    "sent_id",
    "correct_number",
    "form",
    "class",
    "type",
    "prefix",
    "n_attr",
    "punct",
    "freq",
    "len_context",
    "len_prefix",
    "sent",
)
"""Every column; more may follow, with a model's log-probabilities."""

NEEDED = ("pattern", "constr_id", "sent_id", "form", "class", "type", "len_prefix", "sent")

Key = tuple[str, str, str]
"""What the two rows of a pair share: pattern, constr_id, sent_id."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The two rows of a pair."""

    key: Key
    correct: Record
    wrong: Record


def recognises(path: Path, head: str) -> bool:
    """Whether the header is of this format, even if it lacks a column."""
    header = header_of(head)
    return "sent" in header and ("constr_id" in header or {"class", "len_prefix"} <= set(header))


def parse(path: Path) -> Parsed:
    """The pairs of a file in the original format."""
    table = read_table(path)
    problems = [*table.problems, *need(table.header, NEEDED)]
    if any(problem.place == "header" for problem in problems):
        return Parsed("original", [], problems)
    return Parsed("original", pairs_of(table, problems), problems)


def pairs_of(table: Table, problems: list[Problem]) -> list[Pair]:
    """The pairs of a table; those with a fault are problems instead."""
    pool = GroupPool()
    found = [_pair(rows, pool, problems) for rows in paired(table, problems)]
    return [pair for pair in found if pair is not None]


def paired(table: Table, problems: list[Problem]) -> Iterator[Rows]:
    """The two rows of each pair, found by their key wherever they stand; what has no partner is a problem."""
    found: dict[Key, dict[str, Record]] = {}
    for record in table.records:
        key = (record.fields["pattern"], record.fields["constr_id"], record.fields["sent_id"])
        which = record.fields["class"]
        if which not in ("correct", "wrong"):
            problems.append(Problem("error", record.place, f"class is {which!r}, not 'correct' or 'wrong'"))
        elif which in found.setdefault(key, {}):
            first = found[key][which].place
            problems.append(Problem("error", record.place, f"a second {which} row of {name(key)}; see {first}"))
        else:
            found[key][which] = record
    for key, rows in found.items():
        if len(rows) == 2:
            yield Rows(key, rows["correct"], rows["wrong"])
        for which, record in rows.items() if len(rows) == 1 else ():
            other = "wrong" if which == "correct" else "correct"
            problems.append(Problem("error", record.place, f"{name(key)} has no {other} row"))


def name(key: Key) -> str:
    """A pair's name: pattern, construction and sentence."""
    return "/".join(key)


def groups(record: Record) -> dict[str, str]:
    """What the pair of a row can be grouped by."""
    fields = record.fields
    return {
        "pattern": fields["pattern"],
        "type": kind(fields["type"]),
        "attractors": fields.get("n_attr", ""),
        "number": fields.get("correct_number", ""),
    }


def kind(word: str) -> str:
    """`original` or `nonce`; the files say `generated` for the second."""
    return "nonce" if word == "generated" else word


def _pair(rows: Rows, pool: GroupPool, problems: list[Problem]) -> Pair | None:
    forms = [text_of(row, "form", problems) for row in (rows.correct, rows.wrong)]
    sentences = [text_of(row, "sent", problems) for row in (rows.correct, rows.wrong)]
    lengths = [count_of(row, "len_prefix", problems) for row in (rows.correct, rows.wrong)]
    good, bad, sentence, length = forms[0], forms[1], sentences[0], lengths[0]
    if good is None or bad is None or sentence is None or length is None or None in (*sentences, *lengths):
        return None
    if sentence != sentences[1] or length != lengths[1]:
        what = "sent" if sentence != sentences[1] else "len_prefix"
        problems.append(
            Problem("error", rows.wrong.place, f"{what} is not that of the correct row: more than the target differs")
        )
        return None
    words = without_eos(sentence).split()
    if length >= len(words):
        problems.append(
            Problem("error", rows.correct.place, f"len_prefix is {length}, but sent has {len(words)} words")
        )
        return None
    problems += _prefix_problems(rows.correct, words[:length])
    return with_forms(name(rows.key), words, length, (good.strip(), bad.strip()), pool.of(groups(rows.correct)))


def _prefix_problems(record: Record, words: list[str]) -> list[Problem]:
    """An error where the column `prefix` is not what stands before the target; `<unk>` stands for any word."""
    prefix = str(record.fields.get("prefix", "")).split()
    agree = len(prefix) == len(words) and all(a in (b, "<unk>") for a, b in zip(prefix, words, strict=True))
    if not prefix or agree:
        return []
    message = f"len_prefix points elsewhere: prefix is {' '.join(prefix)!r}, but sent begins {' '.join(words)!r}"
    return [Problem("error", record.place, message)]
