"""Published tables that have a pair in each row: which columns tell the format, and what is in which.

A format is a line of `LAYOUTS`. Where more than columns is to be known (a label that says which sentence is the good
one, a gap that two words are put in), a function of the row gives its sentences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from wug.families.pairs.formats.labels import Labels
from wug.families.pairs.formats.marked import stem
from wug.families.pairs.pair import GroupPool, Pair, Parsed, Target
from wug.families.tables import Record, Table, number_of, plain, read_table, text_of
from wug.types import Problem

Columns = tuple[str, str]
"""Where the good and the bad sentence stand."""


@dataclass(frozen=True, slots=True)
class Sentences:
    """The two sentences of a pair, as a row has them."""

    good: str
    bad: str
    target: Target | None = None
    human: float | None = None


Reader = Callable[[Record, list[Problem]], Iterator[Sentences]]


@dataclass(frozen=True, slots=True)
class Layout:
    """A format with a pair in each row."""

    title: str
    told_by: frozenset[str]
    """The columns that tell it."""
    sentences: Reader
    groups: Mapping[str, str]
    """Columns, and what the pairs are grouped by then; of two for the same, the last that has something."""
    lacks: frozenset[str] = frozenset()
    """Columns that it does not have, and another format does."""
    item: str = ""
    """The column that names a pair, where no two have the same name; rows are numbered otherwise."""
    language: str | re.Pattern[str] = ""
    """Of all pairs; or what finds it in the path, as its first group."""
    named_by_file: bool = False
    """Whether the file's name is the paradigm."""
    quoted: bool = True
    """Whether a field may be quoted."""
    codes: Mapping[str, str] = field(default_factory=dict)
    """Values of groups and languages that have another name here."""

    def recognises(self, keys: frozenset[str]) -> bool:
        """Whether a table with these columns is of the format."""
        return self.told_by <= keys and not self.lacks & keys


def parse(name: str, path: Path, labels: Labels) -> Parsed:
    """The pairs of a file in the format of that name."""
    layout = LAYOUTS[name]
    table = read_table(path, quoted=layout.quoted)
    problems = [*table.problems, *labels.missing(table.header), *_quoted(layout, table)]
    pool, common = GroupPool(), _of_the_file(layout, path)
    pairs: list[Pair] = []
    named = _items(table.records, layout.item) if labels.item is None else _named(table.records, labels.item)
    for item, record in zip(named, table.records, strict=True):
        groups = common | _groups(layout, record) | labels.groups_of(record)
        human = labels.human_of(record, problems)
        found = list(layout.sentences(record, problems))
        for number, each in enumerate(found, 1):
            contrast = str(number) if len(found) > 1 else ""
            pairs.append(
                Pair(
                    f"{item}/{contrast}".rstrip("/"),
                    each.good,
                    each.bad,
                    pool.of(groups | {"contrast": contrast}),
                    each.target,
                    human=each.human if human is None else human,
                )
            )
    return Parsed(name, pairs, problems)


def columns(*places: Columns) -> Reader:
    """Reads sentences that stand in columns of their own; of several pairs in a row, those after the first may lack."""

    def read(record: Record, problems: list[Problem]) -> Iterator[Sentences]:
        for number, (good, bad) in enumerate(places):
            if number and not plain(record.fields.get(good)) and not plain(record.fields.get(bad)):
                continue
            ours, theirs = text_of(record, good, problems), text_of(record, bad, problems)
            if ours is not None and theirs is not None:
                yield Sentences(ours.strip(), theirs.strip())

    return read


def labelled(record: Record, problems: list[Problem]) -> Iterator[Sentences]:
    """`sentence_a` and `sentence_b`, of which `label` (0 or 1) is the good one; people chose in `annotator_…`."""
    label = number_of(record, "label", problems)
    if label not in (0, 1):
        problems.append(Problem("error", record.place, f"label is {record.fields.get('label')!r}, not 0 or 1"))
        return
    good, bad = ("sentence_a", "sentence_b") if label == 0 else ("sentence_b", "sentence_a")
    for found in columns((good, bad))(record, problems):
        yield Sentences(found.good, found.bad, human=_agreeing(record, label))


def annotated(record: Record, problems: list[Problem]) -> Iterator[Sentences]:
    """`sentence_good` and `sentence_bad`, with 1 in `annotator_…` where someone chose the first."""
    for found in columns(("sentence_good", "sentence_bad"))(record, problems):
        yield Sentences(found.good, found.bad, human=_agreeing(record, 1))


def masked(record: Record, problems: list[Problem]) -> Iterator[Sentences]:
    """A text with a gap, and the good and the bad word for it."""
    text, words = text_of(record, "text_masked", problems), record.fields.get("candidates")
    if text is None:
        return
    if not (isinstance(words, list) and len(words) == 2 and all(isinstance(word, str) and word for word in words)):
        problems.append(Problem("error", record.place, "candidates is not a list of two words"))
        return
    before, gap, after = text.strip().partition("[MASK]")
    if not gap or "[MASK]" in after:
        problems.append(Problem("error", record.place, f"text_masked has not one [MASK]: {text[:60]!r}"))
        return
    start = len(before)
    target = Target(start, start + len(words[0]), start + len(words[1])) if words[0] != words[1] else None
    yield Sentences(f"{before}{words[0]}{after}", f"{before}{words[1]}{after}", target)


_GOOD_FIRST = columns(("good_sentence", "bad_sentence"))
_BLIMP = columns(("sentence_good", "sentence_bad"))
_PHENOMENA = {"phenomenon": "phenomenon", "paradigm": "paradigm"}
_MANDARIN = [(f"Grammatical{number}", f"Ungrammatical{number}") for number in ("", "_1", "_2")]

LAYOUTS: Mapping[str, Layout] = {
    "rublimp": Layout(
        "RuBLiMP",
        frozenset({"source_sentence", "target_sentence", "PID"}),
        columns(("source_sentence", "target_sentence")),  # the source is what was written, the target what was made
        {"PID": "paradigm", "phenomenon": "phenomenon", "level": "level", "subtype": "subtype", "domain": "domain"},
        item="id",
        language="ru",
    ),
    "turblimp": Layout(
        "TurBLiMP",
        frozenset({"good_sentence", "bad_sentence", "critical_region"}),
        _GOOD_FIRST,
        {"phenomenon": "phenomenon", "subtype": "subtype"},
        language="tr",
        named_by_file=True,
        quoted=False,
    ),
    "jblimp": Layout(
        "JBLiMP",
        frozenset({"good_sentence", "bad_sentence", "phenomenon-2"}),
        _GOOD_FIRST,
        _PHENOMENA | {"type": "type"},
        item="ID",
        language="ja",
    ),
    "malindo": Layout(
        "MALINDO BLiMP",
        frozenset({"good_sentence", "bad_sentence", "original_language"}),
        _GOOD_FIRST,
        _PHENOMENA,
        item="ID",
        language=re.compile(r"-(zsm|ind)\.[a-z.]+$"),
        codes={"zsm": "ms", "ind": "id"},
    ),
    "good-bad": Layout(
        "good_sentence, bad_sentence",
        frozenset({"good_sentence", "bad_sentence"}),
        _GOOD_FIRST,
        _PHENOMENA | {"type": "type", "language": "language"},
    ),
    "lindsea": Layout(
        "LINDSEA",
        frozenset({"correct", "wrong", "linguistic_phenomenon"}),
        columns(("correct", "wrong")),
        {"linguistic_phenomenon": "phenomenon", "category": "paradigm", "subcategory": "subtype"},
        item="id",
        language=re.compile(r"(?:^|/|-|__)(id|ta|th)(?:/|__)"),
        codes={"none": ""},
    ),
    "gevalm": Layout(
        "GEvaLM",
        frozenset({"text_masked", "candidates"}),
        masked,
        {"case": "paradigm"},
        language="de",
    ),
    "qfrblimp": Layout(
        "QFrBLiMP",
        frozenset({"sentence_a", "sentence_b", "label"}),
        labelled,
        {"type": "phenomenon", "category": "field"},
        language="fr-CA",
    ),
    "qfrblimp-table": Layout(
        "QFrBLiMP's dataset.tsv",
        frozenset({"sentence_good", "sentence_bad", "subcat", "commentaire"}),
        _BLIMP,
        {"type": "phenomenon", "category": "field"},
        language="fr-CA",
        quoted=False,
    ),
    "qfrblimp-annotations": Layout(
        "QFrBLiMP's annotations",
        frozenset({"sentence_good", "sentence_bad", "subcat", "annotator_1"}),
        annotated,
        {"type": "phenomenon", "category": "field"},
        language="fr-CA",
        quoted=False,
    ),
    "multiblimp": Layout(
        "MultiBLiMP",
        frozenset({"sen", "wrong_sen"}),
        columns(("sen", "wrong_sen")),
        {"phenomenon": "phenomenon", "grammatical_feature": "paradigm", "lang": "language", "language": "language"},
        language=re.compile(r"(?:^|/)([a-z]{3})(?:/data)?\.tsv(?:\.gz)?$"),
    ),
    "sling": Layout(
        "SLING",
        frozenset({"sentence_good", "sentence_bad", "pair_ID"}),
        _BLIMP,
        {"phenomenon": "phenomenon", "Phenomenon": "phenomenon", "field": "field"},
        language="zh",
        named_by_file=True,  # twelve files call their paradigm "Plural"
    ),
    "labelled": Layout(
        "sentence_good, sentence_bad, label",  # which key came first, or the number of the subject
        frozenset({"sentence_good", "sentence_bad", "label"}),
        _BLIMP,
        {},
        lacks=frozenset({"UID", "paradigm", "category"}),
        named_by_file=True,
    ),
    "mandarin": Layout(
        "Wang et al. (Mandarin)",
        frozenset({"ID", "Grammatical", "Ungrammatical"}),
        columns(_MANDARIN[0]),
        {},
        item="ID",
        language="zh",
        named_by_file=True,
    ),
    "mandarin-two": Layout(
        "Wang et al. (Mandarin), two pairs a row",
        frozenset({"ID", "Grammatical_1", "Ungrammatical_1"}),
        columns(*_MANDARIN[1:]),
        {},
        item="ID",
        language="zh",
        named_by_file=True,
    ),
}
"""By the name of the format; the first that fits is taken."""


def _agreeing(record: Record, choice: float) -> float | None:
    """The share of people that made this choice; None where nobody was asked."""
    given = [plain(value) for name, value in record.fields.items() if re.fullmatch(r"annotator_\d+", name)]
    chosen = [float(value) == choice for value in given if value in ("0", "1", "0.0", "1.0")]
    return fmean(chosen) if chosen else None


def _of_the_file(layout: Layout, path: Path) -> dict[str, str]:
    """What all pairs of a file are grouped by."""
    language = layout.language
    if isinstance(language, re.Pattern):
        found = language.search(path.absolute().as_posix())
        language = found[1] if found else ""
    named = {"paradigm": stem(path)} if layout.named_by_file else {}
    return named | {"language": layout.codes.get(language, language)}


def _groups(layout: Layout, record: Record) -> dict[str, str]:
    values = ((group, plain(record.fields.get(column))) for column, group in layout.groups.items())
    # A spreadsheet writes the number of a type as 5.0.
    return {group: layout.codes.get(value, _WHOLE.sub(r"\1", value)) for group, value in values if value}


_WHOLE = re.compile(r"^(\d+)\.0$")


def _quoted(layout: Layout, table: Table) -> list[Problem]:
    """A warning where a field is in quotation marks that its format does not take off."""
    for record in table.records if not layout.quoted else ():
        for value in record.fields.values():
            if isinstance(value, str) and len(value) > 2 and value[0] == value[-1] == '"':
                what = "count as part of the sentence: this format is not quoted"
                return [Problem("warning", record.place, f"the quotation marks around {value!r} {what}")]
    return []


def _named(records: Sequence[Record], column: str) -> list[str]:
    """The names in the column that the user names; a row without one goes by its number."""
    return [plain(record.fields.get(column)) or str(number) for number, record in enumerate(records, 1)]


def _items(records: Sequence[Record], column: str) -> list[str]:
    """What the pairs are called: by a column where every row has a name of its own there, else by their numbers."""
    names = [plain(record.fields.get(column)) for record in records] if column else []
    distinct = names and all(names) and len(set(names)) == len(names)
    return names if distinct else [str(number) for number in range(1, len(records) + 1)]
