"""Predictions of other tools, in the formats in which people keep them, put in the order of the gold file.

    sentence, prediction, type          a file like the gold file
    source, target, prediction          a paste of OpenNMT's files
    sentence, prediction                two columns
    prediction                          one form per line, in the order of the gold file
    {"sentence": …, "prediction": …}    JSON Lines; the fields may have other names

Quoting is not supported: `"` is an ordinary character. A header line is recognised.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wug.errors import InputError
from wug.families.cogs.read import Gold, plain_name, text_lines

SENTENCE = ("sentence", "source", "src", "input", "question")
PREDICTION = ("prediction", "predicted", "pred", "hypothesis", "output", "answer", "logical_form", "form")
OTHER = ("target", "tgt", "gold", "reference", "type", "gen_type", "category")


@dataclass(frozen=True, slots=True)
class Predictions:
    """One system's forms, in the order of the gold file."""

    file: str
    forms: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The file's name without its endings."""
        return plain_name(Path(self.file))


@dataclass(frozen=True, slots=True)
class _Column:
    """Predictions in the order of their file."""

    sentences: Sequence[str] | None
    forms: Sequence[str]
    first: int = 1
    """Line number of the first prediction."""
    warnings: tuple[str, ...] = ()


def read_predictions(path: Path, gold: Gold) -> Predictions:
    """Read the predictions for every line of a gold file, or raise InputError."""
    lines = text_lines(path)
    if lines[0].startswith("{"):
        found = _json_lines(lines, path)
    elif "\t" in lines[0]:
        found = _table(lines, path, gold)
    else:
        found = _plain(lines, path)
    if found.sentences is None:
        if len(found.forms) != len(gold):
            raise InputError(f"{_counts(found, gold)}. Without sentences, there must be one per line", file=path)
        forms = tuple(found.forms)
    else:
        forms = _aligned(found, found.sentences, path, gold)
    return Predictions(str(path), forms, found.warnings)


def _plain(lines: list[str], path: Path) -> _Column:
    if lines[0].startswith('"'):
        raise InputError(
            f"the file starts with a quote character: {_short(lines[0])}. No logical form does; write the file "
            "without quoting, or as JSON Lines if the quote is part of the output",
            file=path,
            place="line 1",
        )
    for number, line in enumerate(lines, 1):
        if "\t" in line:
            message = f"a tab, but line 1 has none: {_short(line)}. Give every line the same columns"
            raise InputError(message, file=path, place=f"line {number}")
    return _Column(None, lines)


def _json_lines(lines: list[str], path: Path) -> _Column:
    sentences: list[str] = []
    forms: list[str] = []
    for number, line in enumerate(lines, 1):
        place = f"line {number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            raise InputError(f"not JSON: {_short(line)}", file=path, place=place) from None
        if not isinstance(row, dict):
            raise InputError(f"not a JSON object: {_short(line)}", file=path, place=place)
        form = next((row[name] for name in PREDICTION if name in row), None)
        if not isinstance(form, str):
            message = f"no field with the prediction as text. It may be called {', '.join(PREDICTION)}"
            raise InputError(message, file=path, place=place)
        forms.append(form)
        sentence = next((row[name] for name in SENTENCE if name in row), None)
        if isinstance(sentence, str):
            sentences.append(sentence)
        if len(sentences) not in (0, number):
            message = "some lines have a sentence and some do not, so they cannot be put in order"
            raise InputError(message, file=path, place=place)
    return _Column(sentences or None, forms)


def _table(lines: list[str], path: Path, gold: Gold) -> _Column:
    rows = [line.split("\t") for line in lines]
    width = len(rows[0])
    for number, row in enumerate(rows, 1):
        if len(row) != width:
            message = f"{len(row)} columns, but line 1 has {width}: {_short(lines[number - 1])}"
            raise InputError(message, file=path, place=f"line {number}")
    header = [cell.strip().lower().replace(" ", "_") for cell in rows[0]]
    if set(header) <= {*SENTENCE, *PREDICTION, *OTHER} and set(header) & set(PREDICTION):
        return _named(header, rows[1:], path)
    if width > 3:
        message = f"{width} columns: a table has two or three, or a header line"
        raise InputError(message, file=path, place="line 1")
    sentences = [row[0] for row in rows]
    if width == 2:
        return _Column(sentences, [row[1] for row in rows])
    return _three_columns(rows, path, gold)


def _named(header: list[str], rows: list[list[str]], path: Path) -> _Column:
    if not rows:
        raise InputError("there are no rows below the header", file=path)
    at = next(header.index(name) for name in PREDICTION if name in header)
    forms = [row[at] for row in rows]
    where = next((header.index(name) for name in SENTENCE if name in header), None)
    return _Column(None if where is None else [row[where] for row in rows], forms, first=2)


def _three_columns(rows: list[list[str]], path: Path, gold: Gold) -> _Column:
    """A file like the gold file, or a paste of source, target and prediction: the content decides."""
    sentences, second, third = ([row[place] for row in rows] for place in range(3))
    types = set(gold.types)
    if all(cell in types for cell in third):
        return _Column(sentences, second)
    target = dict(zip(gold.sentences, gold.forms, strict=True))
    known = [(target[sentence], left, right) for sentence, left, right in rows if sentence in target]
    if not known:
        return _Column(sentences, second)  # to be refused for its sentences
    differing = sum(form != left for form, left, _ in known)
    labels = not any(" " in cell for cell in third)
    if labels and differing > len(known) / 2:
        return _Column(sentences, second)  # with types that the gold file does not know
    swapped = differing and all(form == right for form, _, right in known)
    if labels or swapped or differing > len(known) / 2:
        raise InputError(
            "three columns that could be sentence, prediction and type, or source, target and prediction: the third "
            "is not the gold file's type, and the second is not clearly its form. Name the columns in a header line",
            file=path,
        )
    notice = f"{differing} targets differ from the gold form, which is used instead" if differing else ""
    return _Column(sentences, third, warnings=(notice,) if notice else ())


def _aligned(found: _Column, sentences: Sequence[str], path: Path, gold: Gold) -> tuple[str, ...]:
    """The predictions in the order of the gold file, each found by its sentence."""
    if tuple(sentences) == gold.sentences:
        return tuple(found.forms)
    places = {sentence: line for line, sentence in enumerate(gold.sentences)}
    if len(places) < len(gold):
        _refuse_other_order(found, sentences, path, gold)
    forms: list[str | None] = [None] * len(gold)
    lines: dict[str, int] = {}
    for number, (sentence, form) in enumerate(zip(sentences, found.forms, strict=True), found.first):
        place = f"line {number}"
        if sentence not in places:
            raise InputError(_unknown(sentence, gold), file=path, place=place)
        if sentence in lines:
            message = f"a repeated sentence: {_short(sentence)} is already on line {lines[sentence]}"
            raise InputError(message, file=path, place=place)
        lines[sentence] = number
        forms[places[sentence]] = form
    missing = [line for line, form in enumerate(forms) if form is None]
    if missing:
        message = f"{_counts(found, gold)}: none for {_short(gold.sentences[missing[0]])} (its line {missing[0] + 1})"
        raise InputError(message + (f" and {len(missing) - 1} more" if len(missing) > 1 else ""), file=path)
    return tuple(form for form in forms if form is not None)


def _refuse_other_order(found: _Column, sentences: Sequence[str], path: Path, gold: Gold) -> None:
    """Raise for a file that is not in the order of a gold file with repeated sentences."""
    pairs = zip(sentences, gold.sentences, strict=False)
    line = next((line for line, (given, expected) in enumerate(pairs) if given != expected), None)
    if line is None:
        raise InputError(_counts(found, gold), file=path)
    raise InputError(
        f"{_short(sentences[line])}, but {gold.file} has {_short(gold.sentences[line])}. It repeats sentences, so "
        "predictions must be in its order",
        file=path,
        place=f"line {line + found.first}",
    )


def _unknown(sentence: str, gold: Gold) -> str:
    message = f"a sentence that is not in {gold.file}: {_short(sentence)}"
    if sentence.startswith('"'):
        return f"{message}. Is the file quoted? Write it without quotes"
    if sentence.strip() in gold.sentences:
        return f"{message}. It is there without the white space around it"
    return message


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}…")


def _counts(found: _Column, gold: Gold) -> str:
    forms, lines = len(found.forms), len(gold)
    return f"{forms} prediction{'s' * (forms != 1)} for the {lines} line{'s' * (lines != 1)} of {gold.file}"
