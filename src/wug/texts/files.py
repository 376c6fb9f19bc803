"""Read files of texts: plain text, columns of tables, and words (CoNLL-U, one word per line)."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Literal, TypeAlias

from wug.errors import InputError, SuiteError, UnknownName
from wug.files import read_lines, read_text
from wug.record_tables import read_table
from wug.texts.text import Text, joined

TextUnit: TypeAlias = Literal["line", "paragraph", "file"]
"""What is one text of a plain file: a line, a paragraph between blank lines, or all of it."""
TABLES = (".csv", ".tsv", ".tab", ".jsonl")
log = logging.getLogger("wug")
CONLLU_FIELDS = 10

_NUMBER = re.compile(r"\d+(-\d+|\.\d+)?")


def read_texts(
    path: Path, *, column: str | None = None, words: bool = False, part: TextUnit = "line", source: str | None = None
) -> list[Text]:
    """The texts of a file.

    With `column` it is a table, whose other columns are kept; `source` is the one with the sources. With `words`, or if
    its name ends in .conllu, it has one word per line, and a sentence takes the place of a line.
    """
    name = path.name.removesuffix(".gz").removesuffix(".xz").lower()
    if column is not None:
        texts = _table_texts(path, column, source)
    elif source is not None:
        raise InputError("sources are a column of a table: name the column with the texts, too (--column)", file=path)
    elif name.endswith(".json"):
        raise InputError("JSON, not text. Write one text per line, or a column of a table (.jsonl, .csv)", file=path)
    elif words or name.endswith((".conllu", ".conll")):
        texts = _word_texts(path, part)
    elif name.endswith(TABLES):
        header = ", ".join(read_table(path).header)
        raise InputError(f"is a table: name the column with the texts (--column). Columns: {header}", file=path)
    else:
        texts = _plain_texts(path, part)
    if not texts:
        raise InputError("has no text in it", file=path)
    return texts


def _plain_texts(path: Path, part: TextUnit) -> list[Text]:
    if part == "line":
        return [Text(line.strip()) for line in read_lines(path) if line.strip()]
    text = read_text(path).replace("\r\n", "\n")
    if part == "file":
        return [Text(text.strip())] if text.strip() else []
    return [Text(paragraph.strip()) for paragraph in re.split(r"\n[^\S\n]*\n", text) if paragraph.strip()]


def _table_texts(path: Path, column: str, source: str | None) -> list[Text]:
    table = read_table(path)
    if table.problems:
        raise SuiteError(table.problems, file=path)
    names = [column] if source is None else [column, source]
    for name in names:
        if name not in table.header:
            raise InputError(str(UnknownName("column", name, table.header)), file=path, place="header")
    texts: list[Text] = []
    for record in table.records:
        values = [record.fields.get(name) for name in names]
        for name, text in zip(names, values, strict=True):
            if not isinstance(text, str):
                raise InputError(f"{name} is {text!r}, not text", file=path, place=record.place)
        text, *sources = (str(text).strip() for text in values)
        columns = {name: record.fields.get(name) for name in table.header if name != column}
        texts.append(Text(text, columns=columns, source=sources[0] if sources else None))
    if empty := sum(not text.text for text in texts):
        what = "they have no words, and no rows here"
        log.warning("%s: %d of %d rows have no text in the column %r: %s", path, empty, len(texts), column, what)
    return texts


@dataclass(slots=True)
class _Sentence:
    """Words, and whether each is followed by a space."""

    words: list[str] = field(default_factory=list)
    spaced: list[bool] = field(default_factory=list)
    opens: bool = False
    """Whether a document, or a paragraph if texts are paragraphs, begins with it."""
    name: str | None = None


def _word_texts(path: Path, part: TextUnit) -> list[Text]:
    """The texts of a file with one word per line: one per sentence, or per document."""
    lines = read_lines(path)
    first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    universal = ".conll" in path.name.lower() or first.count("\t") == CONLLU_FIELDS - 1
    if part == "paragraph" and not universal:
        raise InputError("a file with one word per line has no paragraphs: use line (a sentence) or file", file=path)
    sentences = list(_conllu_sentences(path, lines, part) if universal else _plain_sentences(path, lines))
    groups: list[list[_Sentence]] = []
    for sentence in sentences:
        if part == "line" or sentence.opens or not groups:
            groups.append([])
        groups[-1].append(sentence)
    return [_text_of_sentences(group, with_id=part == "line") for group in groups]


def _text_of_sentences(group: Sequence[_Sentence], *, with_id: bool) -> Text:
    words = [word for sentence in group for word in sentence.words]
    spaced = [space for sentence in group for space in sentence.spaced]
    text, spans = joined(words, spaced or None)
    ends = accumulate(len(sentence.words) for sentence in group)
    sentences = [(spans[end - len(s.words)][0], spans[end - 1][1]) for s, end in zip(group, ends, strict=True)]
    columns = {"sent_id": group[0].name} if with_id and group[0].name is not None else {}
    return Text(text, spans, tuple(sentences), columns)


def _plain_sentences(path: Path, lines: Sequence[str]) -> Iterator[_Sentence]:
    """One word per line, sentences separated by blank lines."""
    sentence = _Sentence()
    long_lines = [(number, line.strip()) for number, line in enumerate(lines, 1) if len(line.split()) > 1]
    if long_lines:
        what = "lines with several words, each of which counts as one word; the first"
        log.warning("%s: %d %s: line %d, %r", path, len(long_lines), what, long_lines[0][0], long_lines[0][1][:60])
    for number, line in enumerate([*lines, ""], 1):
        word = line.strip()
        if "\t" in word:
            raise InputError(f"expected one word, found {word[:60]!r}", file=path, place=f"line {number}")
        if word:
            sentence.words.append(word)
        elif sentence.words:
            yield sentence
            sentence = _Sentence()


def _conllu_sentences(path: Path, lines: Sequence[str], part: TextUnit) -> Iterator[_Sentence]:
    """CoNLL-U: the words as they are written, so `3-4 don't` is one word."""
    marks = ("# newdoc", "# newpar") if part == "paragraph" else ("# newdoc",)
    sentence, covered = _Sentence(), 0
    for number, line in enumerate([*lines, ""], 1):
        if not line.strip():
            if sentence.words:
                yield sentence
            sentence, covered = _Sentence(), 0
        elif line.startswith("#"):
            sentence.opens |= line.startswith(marks)
            key, equals, value = line[1:].partition("=")
            if equals and key.strip() == "sent_id":
                sentence.name = value.strip()
        else:
            fields = line.split("\t")
            if len(fields) != CONLLU_FIELDS or not _NUMBER.fullmatch(fields[0]) or not fields[1]:
                raise InputError(
                    f"expected the {CONLLU_FIELDS} CoNLL-U fields, first a number and a word, found {line[:60]!r}",
                    file=path,
                    place=f"line {number}",
                )
            if "." in fields[0] or ("-" not in fields[0] and int(fields[0]) <= covered):
                continue  # an empty node, or part of a multiword token
            covered = int(fields[0].partition("-")[2] or covered)
            sentence.words.append(fields[1])
            sentence.spaced.append("SpaceAfter=No" not in fields[9].split("|"))
