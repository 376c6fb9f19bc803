"""BLiMP and wug's own formats with one pair per row: word-focused, sentence-focused, or columns that the user names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from wug.families.pairs.formats.tables import BAD, GOOD, RowPair, RowReader, TableLayout, in_columns
from wug.families.pairs.pair import Target, split_punctuation, with_forms, without_eos
from wug.problems import ProblemList
from wug.record_tables import Record, count_of, plain, text_of

_PHENOMENA = {"s-selection": "argument_structure"}
"""Terms that the tables of Warstadt et al. (2020) count as another: they have twelve phenomena, not thirteen."""


def without_phenomenon(groups: Mapping[str, str]) -> dict[str, str]:
    """The groups without a phenomenon that follows from their term."""
    term = groups.get("term")
    derived = term is not None and groups.get("phenomenon") == _PHENOMENA.get(term, term)
    return {name: value for name, value in groups.items() if not (derived and name == "phenomenon")}


def sentence_layout(good_column: str, bad_column: str) -> TableLayout:
    """A table with the good and the bad sentence in these columns."""
    read = in_columns((good_column, bad_column), clean=without_eos)
    return _standard_layout(read, good_column, bad_column)


def word_layout(sentence_column: str, form: str, form_alt: str, len_prefix: str) -> TableLayout:
    """A table with a sentence, two forms of a word, and the number of words before it."""

    def read(record: Record, problems: ProblemList) -> Iterator[RowPair]:
        sentence = text_of(record, sentence_column, problems)
        good, bad = text_of(record, form, problems), text_of(record, form_alt, problems)
        length = count_of(record, len_prefix, problems)
        if sentence is None or good is None or bad is None or length is None:
            return
        words, forms = without_eos(sentence).split(), (good.strip(), bad.strip())
        if length >= len(words):
            problems.error(record.place, f"{len_prefix} is {length}, but the sentence has {len(words)} words")
            return
        third_form = ""
        if split_punctuation(words[length], forms)[1] not in forms:
            elsewhere = [k for k, word in enumerate(words) if split_punctuation(word, forms)[1] in forms]
            near = [k for k in elsewhere if abs(k - length) == 1]
            if elsewhere:
                at = (near or elsewhere)[0]
                message = f"{len_prefix} is {length}, which is {words[length]!r}; {words[at]!r} is at {at}"
                if near:
                    problems.error(record.place, f"{message}. Words are counted from 0")
                    return
                problems.warn(record.place, message)
            else:
                third_form = words[length]
        pair = with_forms("", words, length, forms, {})
        yield RowPair(pair.good, pair.bad, pair.target, sentence=pair.sentence, third_form=third_form)

    return _standard_layout(read, sentence_column, form, form_alt, len_prefix)


def _standard_layout(read: RowReader, *required: str) -> TableLayout:
    def name(record: Record, number: int) -> str:
        return plain(record.fields.get("item")) or str(number)

    return TableLayout(frozenset(), read, standard=True, required=required, name=name)


def _blimp_pair(record: Record, problems: ProblemList) -> Iterator[RowPair]:
    if record.fields.get(GOOD) == record.fields.get(BAD) == "":  # in a file of BL2MP
        problems.warn(record.place, "both sentences are empty: left out")
        return
    good, bad = text_of(record, GOOD, problems), text_of(record, BAD, problems)
    if good is not None and bad is not None:
        good, bad = good.strip(), bad.strip()
        differs_early = record.fields.get("one_prefix_method") is False
        yield RowPair(good, bad, _one_prefix_target(record, good, bad, problems), differs_early=differs_early)


def _one_prefix_target(record: Record, good: str, bad: str, problems: ProblemList) -> Target | None:
    """The critical word of the one-prefix method, if the pair has one."""
    fields = record.fields
    if fields.get("one_prefix_method") is not True or "one_prefix_prefix" not in fields:
        return None
    prefix, good_word, bad_word = (
        str(fields.get(f"one_prefix_{name}", "")).strip() for name in ("prefix", "word_good", "word_bad")
    )
    if not (good.startswith(f"{prefix} {good_word}".lstrip()) and bad.startswith(f"{prefix} {bad_word}".lstrip())):
        message = f"one_prefix_prefix is wrong: no sentence begins with {prefix!r} and {good_word!r} or {bad_word!r}"
        problems.warn(record.place, message)
        return None
    if not good_word or not bad_word or good_word == bad_word:
        return None
    start = len(prefix) + 1 if prefix else 0
    return Target(start, start + len(good_word), start + len(bad_word))


def _blimp_groups(groups: dict[str, str]) -> dict[str, str]:
    # One paradigm of the published set has "syntax/semantics" for "syntax_semantics".
    if "field" in groups:
        groups["field"] = groups["field"].replace("/", "_")
    if "term" in groups:
        groups.setdefault("phenomenon", _PHENOMENA.get(groups["term"], groups["term"]))
    return groups


def _blimp_name(record: Record, number: int) -> str:
    fields = record.fields
    if "item" in fields:
        return str(fields["item"])
    name = str(fields.get("pairID", number))
    return f"{fields['UID']}/{name}" if "UID" in fields else name


BLIMP = TableLayout(
    {GOOD, BAD},
    _blimp_pair,
    # Where sets like BLiMP have the paradigm.
    dict.fromkeys(("category", "Paradigm", "paradigm", "UID"), "paradigm"),
    standard=True,
    complete=_blimp_groups,
    name=_blimp_name,
)
SENTENCES = replace(sentence_layout("sent", "sent_alt"), required=("pattern", "sent", "sent_alt"))
_WORD_COLUMNS = ("sent", "form", "form_alt", "len_prefix")
WORDS = replace(word_layout(*_WORD_COLUMNS), required=("pattern", *_WORD_COLUMNS))
