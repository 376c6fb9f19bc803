"""Word-focused and sentence-focused tables, and any other whose columns the user names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path

from wug.families.pairs.formats.labels import Grouping, Labels
from wug.families.pairs.pair import Pair, Parsed, parts, with_forms, without_eos
from wug.families.tables import (
    GROUPS,
    Lines,
    Record,
    Table,
    context_of,
    count_of,
    groups_of,
    header_of,
    need,
    read_table,
    text_of,
)
from wug.types import Problem


@dataclass(frozen=True, slots=True)
class SentenceColumns:
    """Where a table has its sentences."""

    good: str = "sent"
    bad: str = "sent_alt"

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that must be there."""
        return (self.good, self.bad)


@dataclass(frozen=True, slots=True)
class WordColumns:
    """Where a table has its sentence, the two forms, and the number of words before them."""

    sentence: str = "sent"
    form: str = "form"
    form_alt: str = "form_alt"
    len_prefix: str = "len_prefix"

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that must be there."""
        return (self.sentence, self.form, self.form_alt, self.len_prefix)


SENTENCES = SentenceColumns()
WORDS = WordColumns()
UNNAMED = Labels()


def recognises_words(path: Path, head: str) -> bool:
    """Whether the header is of the word-focused format, even if it lacks a column."""
    header = set(header_of(head))
    return "form_alt" in header and "constr_id" not in header


def recognises_sentences(path: Path, head: str) -> bool:
    """Whether the header is of the sentence-focused format, even if it lacks a column."""
    header = set(header_of(head))
    return ("sent_alt" in header and "form_alt" not in header) or header == {"pattern", "sent"}


def parse_words(path: Path, columns: WordColumns = WORDS, labels: Labels = UNNAMED) -> Parsed:
    """The pairs of a table with a sentence and two forms in each row."""
    table = read_table(path)
    problems = [*table.problems, *_header_problems(table, columns, labels)]
    if any(problem.place == "header" and problem.level == "error" for problem in problems):
        return Parsed("word", [], problems)
    pairs, thirds, grouping = [], [], Grouping(table.header, labels, lambda record: groups_of(record.fields))
    for number, record in enumerate(table.records, 1):
        pair, third = _word_pair(record, columns, _item(record, labels, number), problems)
        if pair is not None:
            human, context = labels.human_of(record, problems), context_of(record)
            pairs.append(replace(pair, groups=grouping.of(record), human=human, context=context))
        thirds += third
    if thirds:
        many = f"{len(thirds)} rows have" if len(thirds) > 1 else "1 row has"
        message = f"{many} neither form at len_prefix (first: {thirds[0]}); the forms are put there instead"
        problems.append(Problem("warning", "", message))
    return Parsed("word", pairs, problems)


def parse_sentences(path: Path, columns: SentenceColumns = SENTENCES, labels: Labels = UNNAMED) -> Parsed:
    """The pairs of a table with two sentences in each row."""
    table = read_table(path)
    problems = [*table.problems, *_header_problems(table, columns, labels)]
    if any(problem.place == "header" and problem.level == "error" for problem in problems):
        return Parsed("sentence", [], problems)
    pairs, grouping = [], Grouping(table.header, labels, lambda record: groups_of(record.fields))
    if isinstance(table.records, Lines) and labels.human is None and not problems:
        found = _pairs_of_lines(table.records, columns, labels, grouping)
        if found is not None:
            return Parsed("sentence", found, problems)
    for number, record in enumerate(table.records, 1):
        good, bad = text_of(record, columns.good, problems), text_of(record, columns.bad, problems)
        if good is not None and bad is not None:
            groups, human = grouping.of(record), labels.human_of(record, problems)
            item, context = _item(record, labels, number), context_of(record)
            pairs.append(Pair(item, without_eos(good), without_eos(bad), groups, human=human, context=context))
    return Parsed("sentence", pairs, problems)


def _pairs_of_lines(lines: Lines, columns: SentenceColumns, labels: Labels, grouping: Grouping) -> list[Pair] | None:
    """The pairs of a large table of which there is nothing to tell; None where a sentence is missing."""
    places = {name: at for at, name in enumerate(lines.header)}
    good_at, bad_at, context_at = places[columns.good], places[columns.bad], places.get("context")
    item_at, groups_at = places.get(labels.item or "item"), [places[name] for name in grouping.columns]
    known: dict[str | tuple[str, ...], Mapping[str, str]] = {}
    key_of: Callable[[list[str]], str | tuple[str, ...]] = itemgetter(*groups_at) if groups_at else lambda _: ""
    pairs: list[Pair] = []
    for number, row in enumerate(lines.rows(), 1):
        good, bad = row[good_at], row[bad_at]
        if not good or good.isspace() or not bad or bad.isspace():
            return None
        key = key_of(row)
        groups = known.get(key)
        if groups is None:
            groups = known[key] = grouping.of(lines[number - 1])
        item = str(number) if item_at is None else row[item_at] or str(number)
        context = "" if context_at is None else row[context_at].strip()
        pairs.append(Pair(item, without_eos(good), without_eos(bad), groups, context=context))
    return pairs


def _word_pair(
    record: Record, columns: WordColumns, item: str, problems: list[Problem]
) -> tuple[Pair | None, list[str]]:
    """A pair, and the place of a third word where the target should be."""
    sentence = text_of(record, columns.sentence, problems)
    good, bad = text_of(record, columns.form, problems), text_of(record, columns.form_alt, problems)
    length = count_of(record, columns.len_prefix, problems)
    if sentence is None or good is None or bad is None or length is None:
        return None, []
    words, forms = without_eos(sentence).split(), (good.strip(), bad.strip())
    if length >= len(words):
        message = f"{columns.len_prefix} is {length}, but the sentence has {len(words)} words"
        problems.append(Problem("error", record.place, message))
        return None, []
    third: list[str] = []
    if parts(words[length], forms)[1] not in forms:
        elsewhere = [k for k, word in enumerate(words) if parts(word, forms)[1] in forms]
        pointing = f"{columns.len_prefix} is {length}, where {words[length]!r} stands"
        if near := [k for k in elsewhere if abs(k - length) == 1]:
            message = f"{pointing}; {words[near[0]]!r} stands at {near[0]}. Words are counted from 0"
            problems.append(Problem("error", record.place, message))
            return None, []
        if elsewhere:
            message = f"{pointing}; {words[elsewhere[0]]!r} stands at {elsewhere[0]}"
            problems.append(Problem("warning", record.place, message))
        else:
            third = [f"{record.place}, {words[length]!r}"]
    return with_forms(item, words, length, forms, {}), third


def _header_problems(table: Table, columns: SentenceColumns | WordColumns, labels: Labels) -> list[Problem]:
    """Errors for columns that are missing, a warning for those that are ignored."""
    named = labels.named_columns()
    standard = columns in (SENTENCES, WORDS)
    always = ("pattern",) if standard and labels.pattern is None else ()
    problems = need(table.header, (*always, *columns.names, *named))
    idle = [name for name in table.header if name not in {*columns.names, *named, *GROUPS, "item", "context"}]
    if standard and idle and not problems:
        which = ", ".join(repr(name) for name in idle[:6]) + (", …" if len(idle) > 6 else "")
        message = f"nothing is done with {which}; results are broken down by it with -S groups={idle[0]}"
        problems.append(Problem("warning", "header", message))
    return problems


def _item(record: Record, labels: Labels, number: int) -> str:
    value = record.fields.get(labels.item or "item")
    return str(number) if value in (None, "") else str(value)
