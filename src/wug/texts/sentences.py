"""Where the sentences of a text begin and end, by a rule."""

from __future__ import annotations

import re

from wug.texts.text import Span

ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof st jr sr rev gen col capt lt sgt hon no nos vol fig figs eq ch pp p vs etc approx dept est "
    "e.g i.e cf al jan feb mar apr jun jul aug sep sept oct nov dec bzw z.b u.a d.h usw nr str m mme mlle".split()
)
"""What a full stop follows that ends no sentence, in lower case; so does a single capital letter."""

_END = re.compile(
    r"""[.!?…]+["'”’»)\]]*(?=\s)   # a mark, what closes behind it, and white space
      | [。！？｡]+[」』”’）]*       # in Chinese and Japanese nothing needs to follow
      | \n[^\S\n]*\n               # a blank line
    """,
    re.VERBOSE,
)
_WORD_BEFORE = re.compile(r"[^\s(\[\"'“‘«]*$")


def sentences(text: str) -> tuple[Span, ...]:
    """The sentences of a text, white space around them left out.

    One ends at a full stop, question mark or exclamation mark, with what closes behind it, before white space; at such
    a mark of Chinese and Japanese; and at a blank line. A full stop behind an abbreviation or a capital letter, or
    before a small letter, ends none.
    """
    found: list[Span] = []
    begin = 0
    for mark in _END.finditer(text):
        if mark[0].lstrip().startswith(".") and not _ends(text, mark):
            continue
        _add(found, text, begin, mark.end())
        begin = mark.end()
    _add(found, text, begin, len(text))
    return tuple(found)


def _ends(text: str, mark: re.Match[str]) -> bool:
    """Whether a full stop ends a sentence."""
    following = text[mark.end() :].lstrip()[:1]
    if following.islower():
        return False
    word = _WORD_BEFORE.search(text, max(0, mark.start() - 40), mark.start())
    before = "" if word is None else word[0]
    return mark[0] != "." or not (
        before.lower() in ABBREVIATIONS or (len(before) == 1 and before.isupper() and before != "I")
    )


def _add(found: list[Span], text: str, begin: int, end: int) -> None:
    part = text[begin:end]
    start = begin + len(part) - len(part.lstrip())
    if stripped := part.strip():
        found.append((start, start + len(stripped)))
