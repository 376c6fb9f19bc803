"""Tables with one sentence or form per row, marked as good or bad: two rows make a pair.

The original format of Gulordava et al. (2018) has the same sentence in both rows, and two forms of a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import NamedTuple

from wug import record_tables as tables
from wug.families.pairs.formats.labels import PairLabels
from wug.families.pairs.pair import GroupPool, Pair, ParsedPairs, with_forms, without_eos
from wug.problems import Problem, ProblemList

ORIGINAL_COLUMNS = (
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
"""The columns of the original format; columns with log-probabilities may follow."""
REQUIRED_COLUMNS = ("pattern", "constr_id", "sent_id", "form", "class", "type", "len_prefix", "sent")


class RowsOfPair(NamedTuple):
    """The two rows of a pair."""

    item: str
    good: tables.Record
    bad: tables.Record


class TwoRowLayout(NamedTuple):
    """A table format with one sentence per row."""

    title: str
    columns: Set[str]
    sentence: str
    condition_column: str
    """The column that says whether a sentence is good or bad."""
    condition_values: tuple[str, str]
    """The values of that column for good and bad sentences."""
    key: tuple[str, ...]
    """The columns that the two rows of a pair share; if empty, every row makes a pair with the next."""
    groups: Mapping[str, tuple[str, ...]]
    """The groups of a pair, and the columns that each is made of."""
    language: str
    header: tuple[str, ...] = ()
    """The columns of files without a header."""
    named_by_file: bool = False
    repair: tables.Repair | None = None

    def recognises(self, head: str) -> bool:
        """Whether a file has the columns of this format; without a header, whether the first row fits."""
        if not self.header:
            return self.columns <= set(tables.columns_of(head))
        first = head.split("\n", 1)[0].rstrip("\r").split("\t")
        return (
            len(first) == len(self.header) and first[self.header.index(self.condition_column)] in self.condition_values
        )


def parse(name: str, path: Path, labels: PairLabels) -> ParsedPairs:
    """The pairs of a file in the format of that name."""
    layout = LAYOUTS[name]
    table = tables.read_table(path, header=layout.header, repair=layout.repair)
    problems = ProblemList.of(table.problems, labels.missing(table.header))
    common = {"language": layout.language} | ({"paradigm": tables.stem(path)} if layout.named_by_file else {})
    pool, pairs = GroupPool(), []
    for rows in _paired(layout, table, problems):
        good, bad = (tables.text_of(row, layout.sentence, problems) for row in (rows.good, rows.bad))
        if good is None or bad is None:
            continue
        fields = rows.good.fields
        format_groups = {
            group: " ".join(tables.plain(fields.get(column)) for column in of) for group, of in layout.groups.items()
        }
        groups = pool.of(common | format_groups | labels.groups_of(rows.good))
        item = (tables.plain(fields.get(labels.item)) if labels.item is not None else "") or rows.item
        human = [labels.human_of(row, problems) for row in (rows.good, rows.bad)]
        preference = None if human[0] is None or human[1] is None else human[0] - human[1]
        pairs.append(Pair(item, good.strip(), bad.strip(), groups, human=preference))
    return ParsedPairs(name, pairs, problems)


def recognises_original(path: Path, head: str) -> bool:
    """Whether the header is that of the original format, even if it lacks a column."""
    header = set(tables.header_of(head))
    return "sent" in header and ("constr_id" in header or {"class", "len_prefix"} <= header)


def parse_original(path: Path, labels: PairLabels) -> ParsedPairs:
    """The pairs of a file in the original format."""
    table = tables.read_table(path)
    problems = ProblemList.of(table.problems, tables.missing_columns(table.header, REQUIRED_COLUMNS))
    if any(problem.place == "header" for problem in problems):
        return ParsedPairs("original", [], problems)
    return ParsedPairs("original", original_pairs(table, problems), problems)


def original_pairs(table: tables.RecordTable, problems: ProblemList) -> list[Pair]:
    """The pairs of a table in the original format; rows with errors are reported as problems."""
    pool = GroupPool()
    pairs = [_original_pair(rows, pool, problems) for rows in original_rows(table, problems)]
    return [pair for pair in pairs if pair is not None]


def original_rows(table: tables.RecordTable, problems: ProblemList) -> Iterator[RowsOfPair]:
    """The two rows of each pair of a table in the original format."""
    return _paired(_ORIGINAL, table, problems)


def original_groups(record: tables.Record) -> dict[str, str]:
    """The groups of a pair in the original format; the files say `generated` for nonce sentences."""
    fields = record.fields
    return {
        "pattern": fields["pattern"],
        "type": "nonce" if fields["type"] == "generated" else fields["type"],
        "attractors": fields.get("n_attr", ""),
        "number": fields.get("correct_number", ""),
    }


def _paired(layout: TwoRowLayout, table: tables.RecordTable, problems: ProblemList) -> Iterator[RowsOfPair]:
    """The two rows of each pair, in any order; rows without a partner are reported as problems."""
    good, bad = layout.condition_values
    rows_by_key: dict[tuple[str, ...], dict[str, tables.Record]] = {}
    for number, record in enumerate(table.records):
        condition_value = tables.plain(record.fields.get(layout.condition_column))
        if condition_value not in layout.condition_values:
            problems.error(record.place, f"{layout.condition_column} is {condition_value!r}, not {good!r} or {bad!r}")
            continue
        key = tuple(tables.plain(record.fields.get(column)) for column in layout.key) or (str(number // 2 + 1),)
        rows = rows_by_key.setdefault(key, {})
        if condition_value in rows:
            problems.error(
                record.place, f"a second {condition_value} row of {'/'.join(key)}; see {rows[condition_value].place}"
            )
        rows.setdefault(condition_value, record)
    for key, rows in rows_by_key.items():
        if len(rows) == 2:
            yield RowsOfPair("/".join(key), rows[good], rows[bad])
        else:
            ((condition_value, record),) = rows.items()
            problems.error(record.place, f"{'/'.join(key)} has no {bad if condition_value == good else good} row")


def _original_pair(rows: RowsOfPair, pool: GroupPool, problems: ProblemList) -> Pair | None:
    good, bad = (tables.text_of(row, "form", problems) for row in (rows.good, rows.bad))
    sentence, other_sentence = (tables.text_of(row, "sent", problems) for row in (rows.good, rows.bad))
    length, other_length = (tables.count_of(row, "len_prefix", problems) for row in (rows.good, rows.bad))
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


_DOUBLED = re.compile(r',""([^",\n][^"\n]*)"",')


def _single_quotes(text: str) -> tuple[str, ProblemList]:
    """BLiMP-NL with `""a sentence, and more""` quoted once: a CSV reader would cut it at the comma."""
    wrong = [number for number, line in enumerate(text.split("\n"), 1) if _DOUBLED.search(line)]
    if not wrong:
        return text, ProblemList()
    lines = ", ".join(map(str, wrong[:10])) + (", …" if len(wrong) > 10 else "")
    many = f"{len(wrong)} lines have" if len(wrong) > 1 else "1 line has"
    message = f'{many} a sentence in doubled quotation marks (""…""), which is read whole: {lines}'
    return _DOUBLED.sub(r',"\1",', text), ProblemList([Problem("warning", "", message)])


_ORIGINAL = TwoRowLayout(
    "original (Gulordava et al.)",
    frozenset(),
    "sent",
    "class",
    ("correct", "wrong"),
    ("pattern", "constr_id", "sent_id"),
    {},
    "",
)
LAYOUTS: Mapping[str, TwoRowLayout] = {
    "blimp-nl": TwoRowLayout(
        "BLiMP-NL",
        {"Grammaticality", "Sentence", "Item", "Number (paradigm)"},
        "Sentence",
        "Grammaticality",
        ("Grammatical", "Ungrammatical"),
        ("Number (paradigm)", "Item"),
        {"phenomenon": ("Phenomenon",), "paradigm": ("Number (paradigm)", "Paradigm")},  # names are repeated
        "nl",
        repair=_single_quotes,
    ),
    "event-knowledge": TwoRowLayout(
        "event knowledge (Kauf et al.)",
        {"Plausibility", "Sentence", "ItemNum"},
        "Sentence",
        "Plausibility",
        ("Plausible", "Implausible"),
        ("ItemNum", "Voice"),
        {"voice": ("Voice",), "type": ("TrialType",)},
        "en",
        named_by_file=True,
    ),
    "climp": TwoRowLayout(
        "CLiMP", {"", "0", "1", "2", "3"}, "2", "3", ("1", "0"), (), {"phenomenon": ("0",), "paradigm": ("1",)}, "zh"
    ),
    "number-units": TwoRowLayout(
        "Lakretz et al.",
        frozenset(),
        "sentence",
        "class",
        ("correct", "wrong"),
        ("id",),
        {"condition": ("condition",)},
        "en",
        header=("sentence", "condition", "class", "id"),
        named_by_file=True,
    ),
}
