"""Tables with one pair per row: BLiMP, wug's own word- and sentence-focused formats, and published layouts.

A published format is one entry of `LAYOUTS`. If its columns are not enough (a label that tells which sentence is the
good one, a gap for two words), a function reads the sentences of a row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from wug import record_tables as tables
from wug.families.named_columns import GROUP_COLUMNS, groups_of
from wug.families.pairs.formats.labels import PairLabels
from wug.families.pairs.pair import GroupPool, Pair, ParsedPairs, Target
from wug.problems import Problem, ProblemList


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


RowReader = Callable[[tables.Record, ProblemList], Iterable[RowPair]]


def _number(record: tables.Record, number: int) -> str:
    return str(number)


@dataclass(frozen=True, slots=True)
class RowLayout:
    """A table format with one pair per row."""

    title: str
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
    name: Callable[[tables.Record, int], str] = _number
    """The name of the pair in a row, from the row and its number."""

    def recognises(self, columns: Set[str]) -> bool:
        """Whether a table with these columns is of this format."""
        return self.columns <= columns and not self.lacks & columns


def parse(name: str, layout: RowLayout, path: Path, labels: PairLabels) -> ParsedPairs:
    """The pairs of a file in the format of that name."""
    table = tables.read_table(path, quoted=layout.quoted)
    about_header = _header_problems(layout, table.header, labels)
    problems = ProblemList.of(table.problems, about_header, _stray_quotes(layout, table))
    if layout.required and any(problem.place == "header" and problem.level == "error" for problem in problems):
        return ParsedPairs(name, [], problems)
    common = _file_groups(layout, path)
    pool, pairs = GroupPool(), list[Pair]()
    grouping = _group_columns(layout, table.header, labels)
    known: dict[tuple[str | None, ...], Mapping[str, str]] = {}
    early_differences, third_forms = 0, []
    names = _unique_names(layout, table.records) if labels.item is None else None
    has_context = layout.standard and "context" in table.header
    for row_number, record in enumerate(table.records, 1):
        fields = record.fields
        named = tables.plain(fields.get(labels.item)) if labels.item is not None else ""
        item = named or (names[row_number - 1] if names else layout.name(record, row_number))
        human = labels.human_of(record, problems) if labels.human is not None else None
        context = fields.get("context") if has_context else None
        context = context.strip() if isinstance(context, str) else ""
        values = [tables.plain(fields[name]) if name in fields else None for name in grouping]
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

    def read(record: tables.Record, problems: ProblemList) -> list[RowPair]:
        pairs = []
        for number, both in enumerate(columns):
            if number and not any(tables.plain(record.fields.get(column)) for column in both):
                continue
            good, bad = tables.text_of(record, both[0], problems), tables.text_of(record, both[1], problems)
            if good is not None and bad is not None:
                pairs.append(RowPair(clean(good), clean(bad)))
        return pairs

    return read


def labelled(record: tables.Record, problems: ProblemList) -> Iterator[RowPair]:
    """Reads `sentence_a` and `sentence_b`; `label` (0 or 1) is the good one, `annotator_…` are people's choices."""
    label = tables.number_of(record, "label", problems)
    if label not in (0, 1):
        problems.error(record.place, f"label is {record.fields.get('label')!r}, not 0 or 1")
        return
    good, bad = ("sentence_a", "sentence_b") if label == 0 else ("sentence_b", "sentence_a")
    for sentences in in_columns((good, bad))(record, problems):
        yield RowPair(sentences.good, sentences.bad, human=_proportion_choosing(record, label))


def annotated(record: tables.Record, problems: ProblemList) -> Iterator[RowPair]:
    """Reads `sentence_good` and `sentence_bad`, with 1 in `annotator_…` if a person chose the first."""
    for sentences in in_columns(("sentence_good", "sentence_bad"))(record, problems):
        yield RowPair(sentences.good, sentences.bad, human=_proportion_choosing(record, 1))


def masked(record: tables.Record, problems: ProblemList) -> Iterator[RowPair]:
    """Reads a text with a gap, and the good and the bad word for it."""
    text, words = tables.text_of(record, "text_masked", problems), record.fields.get("candidates")
    if text is None:
        return
    if not (isinstance(words, list) and len(words) == 2 and all(isinstance(word, str) and word for word in words)):
        problems.error(record.place, "candidates is not a list of two words")
        return
    before, gap, after = text.strip().partition("[MASK]")
    if not gap or "[MASK]" in after:
        problems.error(record.place, f"text_masked does not have one [MASK]: {text[:60]!r}")
        return
    start = len(before)
    target = Target(start, start + len(words[0]), start + len(words[1])) if words[0] != words[1] else None
    yield RowPair(f"{before}{words[0]}{after}", f"{before}{words[1]}{after}", target)


_GOOD_FIRST = in_columns(("good_sentence", "bad_sentence"))
_BLIMP = in_columns(("sentence_good", "sentence_bad"))
_PHENOMENA = {"phenomenon": "phenomenon", "paradigm": "paradigm"}
_MANDARIN = [(f"Grammatical{number}", f"Ungrammatical{number}") for number in ("", "_1", "_2")]

LAYOUTS: Mapping[str, RowLayout] = {
    "rublimp": RowLayout(
        "RuBLiMP",
        {"source_sentence", "target_sentence", "PID"},
        in_columns(("source_sentence", "target_sentence")),  # the target is the source with an error
        {"PID": "paradigm", "phenomenon": "phenomenon", "level": "level", "subtype": "subtype", "domain": "domain"},
        item="id",
        language="ru",
    ),
    "turblimp": RowLayout(
        "TurBLiMP",
        {"good_sentence", "bad_sentence", "critical_region"},
        _GOOD_FIRST,
        {"phenomenon": "phenomenon", "subtype": "subtype"},
        language="tr",
        named_by_file=True,
        quoted=False,
    ),
    "jblimp": RowLayout(
        "JBLiMP",
        {"good_sentence", "bad_sentence", "phenomenon-2"},
        _GOOD_FIRST,
        _PHENOMENA | {"type": "type"},
        item="ID",
        language="ja",
    ),
    "malindo": RowLayout(
        "MALINDO BLiMP",
        {"good_sentence", "bad_sentence", "original_language"},
        _GOOD_FIRST,
        _PHENOMENA,
        item="ID",
        language=re.compile(r"-(zsm|ind)\.[a-z.]+$"),
        codes={"zsm": "ms", "ind": "id"},
    ),
    "good-bad": RowLayout(
        "good_sentence, bad_sentence",
        {"good_sentence", "bad_sentence"},
        _GOOD_FIRST,
        _PHENOMENA | {"type": "type", "language": "language"},
    ),
    "lindsea": RowLayout(
        "LINDSEA",
        {"correct", "wrong", "linguistic_phenomenon"},
        in_columns(("correct", "wrong")),
        {"linguistic_phenomenon": "phenomenon", "category": "paradigm", "subcategory": "subtype"},
        item="id",
        language=re.compile(r"(?:^|/|-|__)(id|ta|th)(?:/|__)"),
        codes={"none": ""},
    ),
    "gevalm": RowLayout("GEvaLM", {"text_masked", "candidates"}, masked, {"case": "paradigm"}, language="de"),
    "qfrblimp": RowLayout(
        "QFrBLiMP",
        {"sentence_a", "sentence_b", "label"},
        labelled,
        {"type": "phenomenon", "category": "field"},
        language="fr-CA",
    ),
    "qfrblimp-table": RowLayout(
        "QFrBLiMP's dataset.tsv",
        {"sentence_good", "sentence_bad", "subcat", "commentaire"},
        _BLIMP,
        {"type": "phenomenon", "category": "field"},
        language="fr-CA",
        quoted=False,
    ),
    "qfrblimp-annotations": RowLayout(
        "QFrBLiMP's annotations",
        {"sentence_good", "sentence_bad", "subcat", "annotator_1"},
        annotated,
        {"type": "phenomenon", "category": "field"},
        language="fr-CA",
        quoted=False,
    ),
    "multiblimp": RowLayout(
        "MultiBLiMP",
        {"sen", "wrong_sen"},
        in_columns(("sen", "wrong_sen")),
        {"phenomenon": "phenomenon", "grammatical_feature": "paradigm", "lang": "language", "language": "language"},
        language=re.compile(r"(?:^|/)([a-z]{3})(?:/data)?\.tsv(?:\.gz)?$"),
    ),
    "sling": RowLayout(
        "SLING",
        {"sentence_good", "sentence_bad", "pair_ID"},
        _BLIMP,
        {"phenomenon": "phenomenon", "Phenomenon": "phenomenon", "field": "field"},
        language="zh",
        named_by_file=True,  # twelve files call their paradigm "Plural"
    ),
    "labelled": RowLayout(
        "sentence_good, sentence_bad, label",  # the label is the order of the keys, or the number of the subject
        {"sentence_good", "sentence_bad", "label"},
        _BLIMP,
        {},
        lacks={"UID", "paradigm", "category"},
        named_by_file=True,
    ),
    "mandarin": RowLayout(
        "Wang et al. (Mandarin)",
        {"ID", "Grammatical", "Ungrammatical"},
        in_columns(_MANDARIN[0]),
        {},
        item="ID",
        language="zh",
        named_by_file=True,
    ),
    "mandarin-two": RowLayout(
        "Wang et al. (Mandarin), two pairs per row",
        {"ID", "Grammatical_1", "Ungrammatical_1"},
        in_columns(*_MANDARIN[1:]),
        {},
        item="ID",
        language="zh",
        named_by_file=True,
    ),
}
"""By the name of the format; the first that matches is used."""


def _proportion_choosing(record: tables.Record, choice: float) -> float | None:
    """The proportion of annotators that made this choice; None without annotators."""
    answers = [tables.plain(value) for name, value in record.fields.items() if re.fullmatch(r"annotator_\d+", name)]
    chosen = [float(value) == choice for value in answers if value in ("0", "1", "0.0", "1.0")]
    return fmean(chosen) if chosen else None


def _header_problems(layout: RowLayout, header: tuple[str, ...], labels: PairLabels) -> ProblemList:
    """Errors for missing columns, and in wug's own formats a warning about unused ones."""
    if not layout.required:
        return labels.missing(header)
    required = [name for name in layout.required if name != "pattern" or labels.pattern is None]
    problems = tables.missing_columns(header, [*required, *labels.columns])
    unused = [
        name for name in header if name not in {*layout.required, *labels.columns, *GROUP_COLUMNS, "item", "context"}
    ]
    if "pattern" in layout.required and unused and not problems:
        which = ", ".join(repr(name) for name in unused[:6]) + (", …" if len(unused) > 6 else "")
        problems.warn("header", f"unused: {which}; to break results down by it, add -S groups={unused[0]}")
    return problems


def _file_groups(layout: RowLayout, path: Path) -> dict[str, str]:
    language = layout.language
    if isinstance(language, re.Pattern):
        match = language.search(path.absolute().as_posix())
        language = match[1] if match else ""
    named = {"paradigm": tables.stem(path)} if layout.named_by_file else {}
    return named | ({"language": layout.codes.get(language, language)} if language else {})


def _group_columns(layout: RowLayout, header: Sequence[str], labels: PairLabels) -> list[str]:
    """The columns that determine the groups of a row."""
    names = {*layout.groups, *(GROUP_COLUMNS if layout.standard else ()), *labels.groups, labels.pattern}
    return [name for name in header if name in names]


def _row_groups(layout: RowLayout, record: tables.Record) -> dict[str, str]:
    values = ((group, tables.plain(record.fields.get(column))) for column, group in layout.groups.items())
    # A spreadsheet writes the number of a type as 5.0.
    format_groups = {group: layout.codes.get(value, _WHOLE.sub(r"\1", value)) for group, value in values if value}
    return groups_of(record.fields) | format_groups if layout.standard else format_groups


_WHOLE = re.compile(r"^(\d+)\.0$")


def _stray_quotes(layout: RowLayout, table: tables.RecordTable) -> list[Problem]:
    """A warning if a field is in quotation marks in a format without quoting."""
    for record in table.records if not layout.quoted else ():
        for value in record.fields.values():
            if isinstance(value, str) and len(value) > 2 and value[0] == value[-1] == '"':
                message = (
                    f"the quotation marks around {value!r} count as part of the sentence: this format is not quoted"
                )
                return [Problem("warning", record.place, message)]
    return []


def _unique_names(layout: RowLayout, records: Iterable[tables.Record]) -> list[str] | None:
    """The names in the format's column, if all are distinct."""
    names = [tables.plain(record.fields.get(layout.item)) for record in records] if layout.item else []
    return names if all(names) and len(set(names)) == len(names) else None
