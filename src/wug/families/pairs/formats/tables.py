"""Tables of pairs: with one pair per row, or with two rows that make one, which are marked as good and bad."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from wug.families.named_columns import GROUP_COLUMNS, groups_of
from wug.families.pairs.pair import GroupPool, Pair, ParsedPairs, Target
from wug.problems import Problem, ProblemList
from wug.record_tables import (
    Record,
    RecordTable,
    Repair,
    columns_of,
    missing_columns,
    number_of,
    plain,
    read_table,
    stem,
    text_of,
)

GOOD, BAD = "sentence_good", "sentence_bad"
_PAIR = "\0"
"""The field with the name of a pair of two rows; no column has this name."""
_WHOLE = re.compile(r"^(\d+)\.0$")


class PairLabels(NamedTuple):
    """The columns that the user names, and facts that are not in the file."""

    pattern: str | None = None
    """By default the column `pattern`, if there is one."""
    item: str | None = None
    """By default the format's column; otherwise rows are numbered."""
    groups: tuple[str, ...] = ()
    human: str | None = None
    language: str | None = None
    lines: str | None = None
    """The order of alternating lines: `good-bad` or `bad-good`."""
    files: tuple[str, ...] = ()
    """Glob patterns of the files of a folder; by default all files in a known format."""

    @classmethod
    def of(cls, options: Mapping[str, str]) -> PairLabels:
        """The labels among the options of a suite."""
        single = {name: options.get(name) for name in ("pattern", "item", "human", "language", "lines")}
        return cls(**single, groups=comma_separated(options, "groups"), files=comma_separated(options, "files"))

    def groups_of(self, record: Record) -> dict[str, str]:
        """The groups of a row in the columns that the user names."""
        groups = {name: plain(record.fields[name]) for name in self.groups if name in record.fields}
        if self.pattern is not None:
            groups["pattern"] = plain(record.fields.get(self.pattern))
        return groups

    def human_of(self, record: Record, problems: ProblemList) -> float | None:
        """People's judgement in a row; None if there is none."""
        return None if self.human is None else number_of(record, self.human, problems)

    def missing(self, header: Sequence[str]) -> ProblemList:
        """Errors for the columns of patterns and names that are missing; groups may be in other files of a folder."""
        return missing_columns(header, [name for name in (self.pattern, self.item) if name is not None])

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that the user names."""
        return tuple(name for name in (self.pattern, self.item, self.human, *self.groups) if name is not None)


def comma_separated(options: Mapping[str, str], name: str) -> tuple[str, ...]:
    """The values of an option that takes several."""
    return tuple(value.strip() for value in options.get(name, "").split(",") if value.strip())


class RowPair(NamedTuple):
    """The sentences of a pair, as read from a row."""

    good: str
    bad: str
    target: Target | None = None
    human: float | None = None
    sentence: str | None = None
    """The one sentence that the row has for both."""
    differs_early: bool = False
    """Whether the sentences differ before the word that shows the error."""
    third_form: str = ""
    """A word other than the two forms in the place of the target."""


RowReader = Callable[[Record, ProblemList], Iterable[RowPair]]


class TwoRows(NamedTuple):
    """How two rows of a table make a pair."""

    sentence: str
    condition: str
    """The column that says whether a sentence is good or bad."""
    values: tuple[str, str]
    """The values of that column for good and bad sentences."""
    key: tuple[str, ...]
    """The columns that the two rows of a pair share; if empty, every row makes a pair with the next."""


class RowsOfPair(NamedTuple):
    """The two rows of a pair."""

    item: str
    good: Record
    bad: Record


@dataclass(frozen=True, slots=True)
class TableLayout:
    """A table format of pairs."""

    columns: Set[str]
    """The columns by which the format is recognised."""
    sentences: RowReader
    groups: Mapping[str, str] = field(default_factory=dict)
    """The group of each column; if several columns have the same group, the last that is not empty counts."""
    lacks: Set[str] = frozenset()
    """Columns of another format, which files of this one do not have."""
    item: str = ""
    """The column with the name of the pair, used if all names are distinct; otherwise rows are numbered."""
    language: str | re.Pattern[str] = ""
    """The language of all pairs, or a pattern that finds it in the path as its first group."""
    named_by_file: bool = False
    quoted: bool = True
    codes: Mapping[str, str] = field(default_factory=dict)
    """Replacements for values of groups and languages."""
    standard: bool = False
    """Whether `context` and the columns in `GROUP_COLUMNS` are read."""
    required: tuple[str, ...] = ()
    complete: Callable[[dict[str, str]], dict[str, str]] = dict
    """Adds groups that follow from others."""
    name: Callable[[Record, int], str] = lambda record, number: str(record.fields.get(_PAIR, number))
    """The name of the pair in a row, from the row and its number."""
    rows: TwoRows | None = None
    header: tuple[str, ...] = ()
    """The columns of files without a header."""
    repair: Repair | None = None

    def recognises(self, path: Path, head: str) -> bool:
        """Whether a file has the columns of this format; without a header, whether the first row fits."""
        if self.rows is not None and self.header:
            first = head.split("\n", 1)[0].rstrip("\r").split("\t")
            fits = len(first) == len(self.header)
            return fits and first[self.header.index(self.rows.condition)] in self.rows.values
        columns = set(columns_of(head))
        return self.columns <= columns and not self.lacks & columns


def parse(name: str, layout: TableLayout, path: Path, labels: PairLabels) -> ParsedPairs:
    """The pairs of a file in the format of that name."""
    table = read_table(path, header=layout.header, quoted=layout.quoted, repair=layout.repair)
    about_header = _header_problems(layout, table.header, labels)
    problems = ProblemList.of(table.problems, about_header, _stray_quotes(layout, table))
    if layout.required and any(problem.place == "header" and problem.level == "error" for problem in problems):
        return ParsedPairs(name, [], problems)
    common = _file_groups(layout, path)
    pool, pairs = GroupPool(), list[Pair]()
    of_groups = {*layout.groups, *(GROUP_COLUMNS if layout.standard else ()), *labels.groups, labels.pattern}
    grouping = [name for name in table.header if name in of_groups]
    known: dict[tuple[str | None, ...], Mapping[str, str]] = {}
    early_differences, third_forms = 0, []
    names: list[str] = []
    if layout.item and labels.item is None:
        names = [plain(record.fields.get(layout.item)) for record in table.records]
        names = names if all(names) and len(set(names)) == len(names) else []
    has_context = layout.standard and "context" in table.header
    records = table.records if layout.rows is None else _joined(layout.rows, table, labels, problems)
    for row_number, record in enumerate(records, 1):
        fields = record.fields
        named = plain(fields.get(labels.item)) if labels.item is not None else ""
        item = named or (names[row_number - 1] if names else layout.name(record, row_number))
        human = labels.human_of(record, problems) if labels.human is not None else None
        context = fields.get("context") if has_context else None
        context = context.strip() if isinstance(context, str) else ""
        values = [plain(fields[name]) if name in fields else None for name in grouping]
        row_pairs = list(layout.sentences(record, problems))
        for number, row in enumerate(row_pairs, 1):
            contrast = str(number) if len(row_pairs) > 1 else ""
            key = (contrast, *values)
            groups = known.get(key)
            if groups is None:
                row_groups = layout.complete(common | _row_groups(layout, record)) | labels.groups_of(record)
                row_groups |= {"contrast": contrast} if contrast else {}
                groups = known[key] = pool.of(row_groups)
            pair_name = f"{item}/{contrast}" if contrast else item
            judged = row.human if human is None else human
            pairs.append(Pair(pair_name, row.good, row.bad, groups, row.target, row.sentence, None, judged, context))
            early_differences += row.differs_early
            if row.third_form:
                third_forms.append(f"{record.place}, {row.third_form!r}")
    if third_forms:
        many = f"{len(third_forms)} rows have" if len(third_forms) > 1 else "1 row has"
        problems.warn(
            "", f"{many} neither form at len_prefix (first: {third_forms[0]}); the forms are put there instead"
        )
    return ParsedPairs(name, pairs, problems, early_differences)


def in_columns(*columns: tuple[str, str], clean: Callable[[str], str] = str.strip) -> RowReader:
    """Reads good and bad sentences from columns; in a row with several pairs, those after the first may be empty."""

    def read(record: Record, problems: ProblemList) -> list[RowPair]:
        pairs = []
        for number, (good_column, bad_column) in enumerate(columns):
            if number and not (plain(record.fields.get(good_column)) or plain(record.fields.get(bad_column))):
                continue
            good, bad = text_of(record, good_column, problems), text_of(record, bad_column, problems)
            if good is not None and bad is not None:
                pairs.append(RowPair(clean(good), clean(bad)))
        return pairs

    return read


def paired(layout: TwoRows, table: RecordTable, problems: ProblemList) -> Iterator[RowsOfPair]:
    """The two rows of each pair, in any order; rows without a partner are reported as problems."""
    good, bad = layout.values
    rows_by_key: dict[tuple[str, ...], dict[str, Record]] = {}
    for number, record in enumerate(table.records):
        condition_value = plain(record.fields.get(layout.condition))
        if condition_value not in layout.values:
            problems.error(record.place, f"{layout.condition} is {condition_value!r}, not {good!r} or {bad!r}")
            continue
        key = tuple(plain(record.fields.get(column)) for column in layout.key) or (str(number // 2 + 1),)
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


def _joined(layout: TwoRows, table: RecordTable, labels: PairLabels, problems: ProblemList) -> Iterator[Record]:
    """One record per pair: the fields of the good row, both sentences, and the difference of people's judgements."""
    for rows in paired(layout, table, problems):
        good, bad = (text_of(row, layout.sentence, problems) for row in (rows.good, rows.bad))
        if good is None or bad is None:
            continue
        fields = {**rows.good.fields, GOOD: good, BAD: bad, _PAIR: rows.item}
        if labels.human is not None:
            ours, theirs = (labels.human_of(row, problems) for row in (rows.good, rows.bad))
            fields[labels.human] = None if ours is None or theirs is None else ours - theirs
        yield Record(rows.good.place, fields)


def _header_problems(layout: TableLayout, header: tuple[str, ...], labels: PairLabels) -> ProblemList:
    """Errors for missing columns, and in wug's own formats a warning about unused ones."""
    if not layout.required:
        return labels.missing(header)
    required = [name for name in layout.required if name != "pattern" or labels.pattern is None]
    problems = missing_columns(header, [*required, *labels.columns])
    unused = [
        name for name in header if name not in {*layout.required, *labels.columns, *GROUP_COLUMNS, "item", "context"}
    ]
    if "pattern" in layout.required and unused and not problems:
        which = ", ".join(repr(name) for name in unused[:6]) + (", …" if len(unused) > 6 else "")
        problems.warn("header", f"unused: {which}; to break results down by it, add -S groups={unused[0]}")
    return problems


def _file_groups(layout: TableLayout, path: Path) -> dict[str, str]:
    language = layout.language
    if isinstance(language, re.Pattern):
        match = language.search(path.absolute().as_posix())
        language = match[1] if match else ""
    named = {"paradigm": stem(path)} if layout.named_by_file else {}
    return named | ({"language": layout.codes.get(language, language)} if language else {})


def _row_groups(layout: TableLayout, record: Record) -> dict[str, str]:
    values = ((group, plain(record.fields.get(column))) for column, group in layout.groups.items())
    # A spreadsheet writes the number of a type as 5.0.
    format_groups = {group: layout.codes.get(value, _WHOLE.sub(r"\1", value)) for group, value in values if value}
    return groups_of(record.fields) | format_groups if layout.standard else format_groups


def _stray_quotes(layout: TableLayout, table: RecordTable) -> list[Problem]:
    """A warning if a field is in quotation marks in a format without quoting."""
    for record in table.records if not layout.quoted else ():
        for value in record.fields.values():
            if isinstance(value, str) and len(value) > 2 and value[0] == value[-1] == '"':
                message = (
                    f"the quotation marks around {value!r} count as part of the sentence: this format is not quoted"
                )
                return [Problem("warning", record.place, message)]
    return []
