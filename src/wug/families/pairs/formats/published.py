"""Published formats of tables of pairs: a format is one entry of `LAYOUTS`.

If its columns are not enough (a label that tells which sentence is the good one, a gap for two words), a function reads
the sentences of a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from statistics import fmean

from wug.families.pairs.formats.tables import BAD, GOOD, RowPair, TableLayout, TwoRows, in_columns
from wug.families.pairs.pair import Target
from wug.problems import Problem, ProblemList
from wug.record_tables import Record, number_of, plain, text_of


def labelled(record: Record, problems: ProblemList) -> Iterator[RowPair]:
    """Reads `sentence_a` and `sentence_b`; `label` (0 or 1) is the good one, `annotator_…` are people's choices."""
    label = number_of(record, "label", problems)
    if label not in (0, 1):
        problems.error(record.place, f"label is {record.fields.get('label')!r}, not 0 or 1")
        return
    good, bad = ("sentence_a", "sentence_b") if label == 0 else ("sentence_b", "sentence_a")
    for sentences in in_columns((good, bad))(record, problems):
        yield RowPair(sentences.good, sentences.bad, human=_proportion_choosing(record, label))


def annotated(record: Record, problems: ProblemList) -> Iterator[RowPair]:
    """Reads `sentence_good` and `sentence_bad`, with 1 in `annotator_…` if a person chose the first."""
    for sentences in in_columns((GOOD, BAD))(record, problems):
        yield RowPair(sentences.good, sentences.bad, human=_proportion_choosing(record, 1))


def masked(record: Record, problems: ProblemList) -> Iterator[RowPair]:
    """Reads a text with a gap, and the good and the bad word for it."""
    text, words = text_of(record, "text_masked", problems), record.fields.get("candidates")
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


def _numbered_paradigm(groups: dict[str, str]) -> dict[str, str]:
    """Names of paradigms are repeated: they follow their number."""
    number = groups.pop("number of the paradigm", "")
    return groups | {"paradigm": f"{number} {groups.get('paradigm', '')}"}


_GOOD_FIRST = in_columns(("good_sentence", "bad_sentence"))
_BLIMP = in_columns((GOOD, BAD))
_PHENOMENA = {"phenomenon": "phenomenon", "paradigm": "paradigm"}
_quebec = partial(TableLayout, groups={"type": "phenomenon", "category": "field"}, language="fr-CA")
_mandarin = partial(TableLayout, item="ID", language="zh", named_by_file=True)
"""Tables of Wang et al., with one or two pairs per row."""

LAYOUTS: Mapping[str, TableLayout] = {
    "rublimp": TableLayout(
        {"source_sentence", "target_sentence", "PID"},
        in_columns(("source_sentence", "target_sentence")),  # the target is the source with an error
        {"PID": "paradigm", "phenomenon": "phenomenon", "level": "level", "subtype": "subtype", "domain": "domain"},
        item="id",
        language="ru",
    ),
    "turblimp": TableLayout(
        {"good_sentence", "bad_sentence", "critical_region"},
        _GOOD_FIRST,
        {"phenomenon": "phenomenon", "subtype": "subtype"},
        language="tr",
        named_by_file=True,
        quoted=False,
    ),
    "jblimp": TableLayout(
        {"good_sentence", "bad_sentence", "phenomenon-2"},
        _GOOD_FIRST,
        _PHENOMENA | {"type": "type"},
        item="ID",
        language="ja",
    ),
    "malindo": TableLayout(
        {"good_sentence", "bad_sentence", "original_language"},
        _GOOD_FIRST,
        _PHENOMENA,
        item="ID",
        language=re.compile(r"-(zsm|ind)\.[a-z.]+$"),
        codes={"zsm": "ms", "ind": "id"},
    ),
    "good-bad": TableLayout(
        {"good_sentence", "bad_sentence"}, _GOOD_FIRST, _PHENOMENA | {"type": "type", "language": "language"}
    ),
    "lindsea": TableLayout(
        {"correct", "wrong", "linguistic_phenomenon"},
        in_columns(("correct", "wrong")),
        {"linguistic_phenomenon": "phenomenon", "category": "paradigm", "subcategory": "subtype"},
        item="id",
        language=re.compile(r"(?:^|/|-|__)(id|ta|th)(?:/|__)"),
        codes={"none": ""},
    ),
    "gevalm": TableLayout({"text_masked", "candidates"}, masked, {"case": "paradigm"}, language="de"),
    "qfrblimp": _quebec({"sentence_a", "sentence_b", "label"}, labelled),
    "qfrblimp-table": _quebec({"sentence_good", "sentence_bad", "subcat", "commentaire"}, _BLIMP, quoted=False),
    "qfrblimp-annotations": _quebec(
        {"sentence_good", "sentence_bad", "subcat", "annotator_1"}, annotated, quoted=False
    ),
    "multiblimp": TableLayout(
        {"sen", "wrong_sen"},
        in_columns(("sen", "wrong_sen")),
        {"phenomenon": "phenomenon", "grammatical_feature": "paradigm", "lang": "language", "language": "language"},
        language=re.compile(r"(?:^|/)([a-z]{3})(?:/data)?\.tsv(?:\.gz)?$"),
    ),
    "sling": TableLayout(
        {"sentence_good", "sentence_bad", "pair_ID"},
        _BLIMP,
        {"phenomenon": "phenomenon", "Phenomenon": "phenomenon", "field": "field"},
        language="zh",
        named_by_file=True,  # twelve files call their paradigm "Plural"
    ),
    "labelled": TableLayout(  # the label is the order of the keys, or the number of the subject
        {"sentence_good", "sentence_bad", "label"},
        _BLIMP,
        lacks={"UID", "paradigm", "category"},
        named_by_file=True,
    ),
    "mandarin": _mandarin({"ID", "Grammatical", "Ungrammatical"}, in_columns(("Grammatical", "Ungrammatical"))),
    "mandarin-two": _mandarin(
        {"ID", "Grammatical_1", "Ungrammatical_1"},
        in_columns(("Grammatical_1", "Ungrammatical_1"), ("Grammatical_2", "Ungrammatical_2")),
    ),
    "blimp-nl": TableLayout(
        {"Grammaticality", "Sentence", "Item", "Number (paradigm)"},
        _BLIMP,
        {"Phenomenon": "phenomenon", "Number (paradigm)": "number of the paradigm", "Paradigm": "paradigm"},
        language="nl",
        complete=_numbered_paradigm,
        rows=TwoRows("Sentence", "Grammaticality", ("Grammatical", "Ungrammatical"), ("Number (paradigm)", "Item")),
        repair=_single_quotes,
    ),
    "event-knowledge": TableLayout(  # Kauf et al.
        {"Plausibility", "Sentence", "ItemNum"},
        _BLIMP,
        {"Voice": "voice", "TrialType": "type"},
        language="en",
        named_by_file=True,
        rows=TwoRows("Sentence", "Plausibility", ("Plausible", "Implausible"), ("ItemNum", "Voice")),
    ),
    "climp": TableLayout(
        {"", "0", "1", "2", "3"},
        _BLIMP,
        {"0": "phenomenon", "1": "paradigm"},
        language="zh",
        rows=TwoRows("2", "3", ("1", "0"), ()),
    ),
    "number-units": TableLayout(  # Lakretz et al.
        frozenset(),
        _BLIMP,
        {"condition": "condition"},
        language="en",
        named_by_file=True,
        rows=TwoRows("sentence", "class", ("correct", "wrong"), ("id",)),
        header=("sentence", "condition", "class", "id"),
    ),
}
"""By the name of the format; the first that matches is used."""


def _proportion_choosing(record: Record, choice: float) -> float | None:
    """The proportion of annotators that made this choice; None without annotators."""
    answers = [plain(value) for name, value in record.fields.items() if re.fullmatch(r"annotator_\d+", name)]
    chosen = [float(value) == choice for value in answers if value in ("0", "1", "0.0", "1.0")]
    return fmean(chosen) if chosen else None
