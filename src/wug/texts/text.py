"""Texts with their words and sentences."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from wug.errors import InputError
from wug.files import refuse_surrogates
from wug.requests import Span

ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof st jr sr rev gen col capt lt sgt hon no nos vol fig figs eq ch pp p vs etc approx dept est "
    "e.g i.e cf al jan feb mar apr jun jul aug sep sept oct nov dec bzw z.b u.a d.h usw nr str m mme mlle".split()
)
"""Words before a full stop that does not end a sentence, in lower case."""

Context: TypeAlias = Literal["text", "sentence"]
"""What a model reads before a word: the text, or only its sentence."""
_END = re.compile(
    r"""[.!?…]+["'”’»)\]]*(?=\s)   # punctuation, closing quotes, and white space
      | [。！？｡]+[」』”’）]*       # Chinese and Japanese: no space needed
      | \n[^\S\n]*\n               # a blank line
    """,
    re.VERBOSE,
)
_WORD_BEFORE = re.compile(r"[^\s(\[\"'“‘«]*$")


def sentences(text: str) -> tuple[Span, ...]:
    """The spans of the sentences of a text, without white space around them.

    A sentence ends at a full stop, question mark or exclamation mark, with closing quotes, before white space; at one
    of Chinese or Japanese; and at a blank line. A full stop after an abbreviation or a capital letter, or before a
    lower-case letter, does not end a sentence.
    """
    spans: list[Span] = []
    begin = 0
    for mark in _END.finditer(text):
        if mark[0].lstrip().startswith(".") and not _ends(text, mark):
            continue
        _add(spans, text, begin, mark.end())
        begin = mark.end()
    _add(spans, text, begin, len(text))
    return tuple(spans)


def _ends(text: str, mark: re.Match[str]) -> bool:
    following = text[mark.end() :].lstrip()[:1]
    if following.islower():
        return False
    word = _WORD_BEFORE.search(text, max(0, mark.start() - 40), mark.start())
    before = "" if word is None else word[0]
    return mark[0] != "." or not (
        before.lower() in ABBREVIATIONS or (len(before) == 1 and before.isupper() and before != "I")
    )


def _add(spans: list[Span], text: str, begin: int, end: int) -> None:
    part = text[begin:end]
    start = begin + len(part) - len(part.lstrip())
    if stripped := part.strip():
        spans.append((start, start + len(stripped)))


UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "IDEOGRAPHIC", "FULLWIDTH", "THAI", "LAO", "KHMER", "MYANMAR", "BOPOMOFO")
"""Prefixes of the Unicode names of characters of scripts without spaces."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text that is scored on its own."""

    text: str
    words: tuple[Span, ...] | None = None
    """The spans of given words or regions; None to split by rule."""
    sentences: tuple[Span, ...] | None = None
    """The spans of given sentences; None to split by rule."""
    columns: Mapping[str, object] = field(default_factory=dict)
    source: str | None = None
    """The source for an encoder–decoder; None for that of the model's options."""


def joined(words: Sequence[str], spaced: Sequence[bool] | None = None) -> tuple[str, tuple[Span, ...]]:
    """Words as a text, and their spans.

    `spaced` says which words are followed by a space; by default all, except between two characters of scripts without
    spaces (Chinese, Japanese, Thai). An empty word has the position of the next one, without a space.
    """
    text = ""
    spans: list[Span] = []
    open_space = False
    for number, word in enumerate(words):
        if word and text and (open_space if spaced is not None else not _unspaced(text[-1], word[0])):
            text += " "
        spans.append((len(text), len(text) + len(word)))
        text += word
        if word:
            open_space = spaced is None or spaced[number]
    return text, tuple(spans)


def texts_of(texts: object) -> Iterator[Text]:
    """Texts from one string, strings, or lists of words or regions."""
    if isinstance(texts, (str, Text)):
        yield as_text(texts, 1)
        return
    if isinstance(texts, (Mapping, bytes)) or hasattr(texts, "columns") or not isinstance(texts, Iterable):
        raise InputError(
            f"texts must be a str, a list of them, or lists of words, not {_kind(texts)}. For a table, give the column "
            "with the texts, such as table['sentence']"
        )
    for number, text in enumerate(texts, 1):
        yield as_text(text, number)


def as_text(value: object, number: int) -> Text:
    """One text from a string or a list of words."""
    if isinstance(value, Text):
        return value
    if isinstance(value, str):
        if os.path.isfile(os.path.expanduser(value)):  # noqa: PTH111, PTH113 (any text is tried, and most are not a path)
            raise InputError(
                f"{value!r} names a file. Write Path({value!r}) for the texts in it, or text=… for these characters",
                place=f"text {number}",
            )
        return Text(refuse_surrogates(value, f"text {number}"))
    if isinstance(value, Path):
        raise InputError("a Path among texts. Give paths alone, or texts alone", place=f"text {number}")
    if not isinstance(value, Iterable) or isinstance(value, (bytes, Mapping)):
        raise InputError(f"expected text, found {_kind(value)}", place=f"text {number}")
    words = list(value)
    for index, word in enumerate(words, 1):
        if not isinstance(word, str):
            raise InputError(f"expected text, found {_kind(word)}", place=f"text {number}, word {index}")
    text, spans = joined([word.strip() for word in words])
    return Text(refuse_surrogates(text, f"text {number}"), spans)


def _unspaced(before: str, after: str) -> bool:
    return all(unicodedata.name(character, "").startswith(UNSPACED) for character in (before, after))


def _kind(value: object) -> str:
    name = type(value).__name__
    return (
        f"{value!r}"
        if isinstance(value, (int, float)) or value is None
        else f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
    )
