"""Generated pairs as files, in the formats that minimal pairs are read in."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

from wug.errors import InputError
from wug.families.pairs.templates.generation import Example

_BEFORE_MARK = re.compile(r"(?<=\w)(?=[.,;:!?])")


@dataclass(frozen=True, slots=True)
class Written:
    """The text of a file, and what could not be put into it."""

    text: str
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WordPair:
    """A sentence whose word number `len_prefix` is `form`, or wrongly `form_alt`."""

    form: str
    form_alt: str
    sent: str
    len_prefix: int


def sentence_focused(examples: Sequence[Example], spaced: bool = False) -> Written:
    """A table with the columns pattern, sent and sent_alt, then condition and contrast where there are any.

    `spaced` writes punctuation as words of its own and ends with `<eos>`, for models that split at white space.
    """
    dressed = _spaced if spaced else str
    rows = [[example.pattern, dressed(example.good), dressed(example.bad)] for example in examples]
    return Written(_table(["pattern", "sent", "sent_alt"], rows, examples))


def word_focused(examples: Sequence[Example]) -> Written:
    """A table with the columns pattern, form, form_alt, sent and len_prefix, then condition and contrast.

    Punctuation is a word of its own, and sentences end with `<eos>`. What does not differ in one word, or not in
    the one that shows the error, is left out, with a notice; an error where that is everything.
    """
    fitting: list[Example] = []
    rows: list[list[str]] = []
    left_out: dict[str, int] = {}
    for example in examples:
        pair = word_pair(example)
        if pair is None:
            left_out[example.pattern] = left_out.get(example.pattern, 0) + 1
        else:
            fitting.append(example)
            rows.append([example.pattern, pair.form, pair.form_alt, pair.sent, str(pair.len_prefix)])
    notices = tuple(
        f"{pattern}: {count} pairs left out, which no single word tells apart; write them sentence-focused"
        for pattern, count in left_out.items()
    )
    if not fitting:
        raise InputError("none of these pairs can be word-focused. " + "; ".join(notices or ["there are none"]))
    return Written(_table(["pattern", "form", "form_alt", "sent", "len_prefix"], rows, fitting), notices)


def word_pair(example: Example) -> WordPair | None:
    """The one word that tells a pair apart; None where there is no such word, or it does not show the error."""
    ours, theirs = _spaced(example.good).split(), _spaced(example.bad).split()
    differing = [k for k, (good, bad) in enumerate(zip(ours, theirs, strict=False)) if good != bad]
    if example.compare != "word" or len(ours) != len(theirs) or len(differing) != 1:
        return None
    return WordPair(ours[differing[0]], theirs[differing[0]], " ".join(ours), differing[0])


def _table(header: list[str], rows: Sequence[list[str]], examples: Sequence[Example]) -> str:
    more = [name for name in ("condition", "contrast") if any(_label(example, name) for example in examples)]
    out = io.StringIO()
    writer = csv.writer(out, delimiter="\t", lineterminator="\n")
    writer.writerow([*header, *more])
    for row, example in zip(rows, examples, strict=True):
        writer.writerow([*row, *(_label(example, name) for name in more)])
    return out.getvalue()


def _label(example: Example, name: str) -> str:
    return example.condition if name == "condition" else example.contrast


def _spaced(sentence: str) -> str:
    return f"{_BEFORE_MARK.sub(' ', sentence)} <eos>"
