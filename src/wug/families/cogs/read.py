"""Gold files (sentence, logical form, type), types of generalisation, and predictions in the order of a gold file."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from wug.errors import FormulaError, InputError, UnknownName
from wug.families import predictions as readers
from wug.families.cogs.logical_form import DIALECTS, Dialect, is_well_formed, parse, recognise, violations
from wug.families.predictions import content_lines
from wug.files import ASSETS, checksum, read_text
from wug.formatting import plural
from wug.problems import Problem
from wug.record_tables import HYPOTHESIS


class Generalisation(NamedTuple):
    """A type of the generalisation set."""

    type: str
    section: str
    """Number and title of the section of Kim and Linzen (2020), or the class of a type of SLOG."""
    kind: Literal["lexical", "structural"]
    """Whether a word is new in its role, or the structure is new."""
    title: str


_PUBLISHED = tomllib.loads(read_text(ASSETS / "cogs" / "published.toml"))
_STRUCTURAL = ("3.2", "3.3")


def _types(sections: Mapping[str, Mapping[str, str]]) -> dict[str, Generalisation]:
    by_name: dict[str, Generalisation] = {}
    for section, types in sections.items():
        lexical = section[:1].isdigit() and section[:3] not in _STRUCTURAL
        kind: Literal["lexical", "structural"] = "lexical" if lexical else "structural"
        by_name |= {name: Generalisation(name, section, kind, title) for name, title in types.items()}
    return by_name


GENERALISATIONS = _types(_PUBLISHED["cogs"])
"""The 21 types of COGS (Kim and Linzen 2020) by name, in the order of the paper."""
SLOG_TYPES = _types(_PUBLISHED["slog"])
"""The 17 types of SLOG (Li et al. 2023) by name, in four classes, in the order of the paper."""
KNOWN_TYPES = GENERALISATIONS | SLOG_TYPES
SPLITS = ("train", "dev", "test", "gen")
EDITIONS: Mapping[str, tuple[str, Dialect]] = {key: tuple(edition) for key, edition in _PUBLISHED["editions"].items()}
"""Name and dialect of the published files by the checksum of their lines. Their forms are known to be well-formed."""


class GoldLine(NamedTuple):
    """A sentence with its logical form, or another target."""

    number: int
    sentence: str
    form: str
    type: str

    @property
    def groups(self) -> dict[str, str]:
        """Its type and, if that is known, lexical or structural; and its class in SLOG. Lines of a type share it."""
        return _groups_of(self.type)


@cache
def _groups_of(name: str) -> dict[str, str]:
    known = KNOWN_TYPES.get(name)
    kind = {"kind": known.kind} if known else {}
    section = {"class": SLOG_TYPES[name].section} if name in SLOG_TYPES else {}
    return {"type": name, **kind, **section}


def meta_of(lines: Iterable[GoldLine]) -> dict[str, Any]:
    """What pages show with the outcomes: the types as the paper groups them."""
    present = {line.type for line in lines}
    return {"types": [known._asdict() for name, known in KNOWN_TYPES.items() if name in present]}


def read_lines_of(path: Path) -> tuple[list[GoldLine], str]:
    """The lines of a gold file with their checksum; InputError at the first line that cannot be read."""
    texts = content_lines(path)
    lines = []
    for number, text in enumerate(texts, 1):
        row = text.split("\t")
        if error := _column_error(row):
            raise InputError(error, file=path, place=f"line {number}")
        lines.append(GoldLine(number, *row))
    return lines, checksum("\n".join(texts))


def looks_like_gold(head: str) -> bool:
    """Whether the beginning of a file is that of a gold file: three columns, the second a logical form."""
    lines = head.replace("\r\n", "\n").split("\n")
    rows = [line.split("\t") for line in lines[: min(20, max(1, len(lines) - 1))]]
    if not all(len(row) == 3 and all(row) and " " not in row[2] for row in rows):
        return False
    dialect = recognise(row[1] for row in rows)
    try:
        return all(is_well_formed(parse(row[1], dialect)) for row in rows)
    except FormulaError:
        return False


def problems(path: Path, dialect: str | None = None) -> Iterator[Problem]:
    """Every error and warning about a gold file; without a dialect, the one that its forms seem to be in."""
    rows = [(number, line.split("\t")) for number, line in enumerate(content_lines(path), 1)]
    used = known_dialect(dialect) or recognise(row[1] for _, row in rows if len(row) == 3)
    seen: dict[str, int] = {}
    for number, row in rows:
        place = f"line {number}"
        if wrong := _column_error(row):
            yield Problem("error", place, wrong)
        if len(row) != 3:
            continue
        sentence, form, _ = row
        if sentence in seen:
            yield Problem("warning", place, f"the sentence is already on line {seen[sentence]}: {sentence!r}")
        seen.setdefault(sentence, number)
        try:
            broken = violations(parse(form, used))
        except FormulaError as error:
            yield Problem("error", place, f"not a logical form: {error}")
            continue
        for violation in broken:
            yield Problem("error" if violation.level == "grammar" else "warning", place, violation.message)


def known_dialect(text: str | None) -> Dialect | None:
    """A dialect by its name; UnknownName for another name."""
    dialect = next((known for known in DIALECTS if text == known), None)
    if text is not None and dialect is None:
        raise UnknownName("dialect", text, DIALECTS)
    return dialect


def _column_error(row: list[str]) -> str:
    if len(row) != 3:
        return f"{plural(len(row), 'column')}, not 3 (sentence, logical form and type, separated by tabs)"
    if row[0].isspace() or not row[0]:
        return "the sentence is empty"
    return "" if row[2] else "the type is empty"


def checked(lines: Iterable[GoldLine], dialect: Dialect, path: Path) -> list[str]:
    """Warnings about gold forms; InputError at the first that is ill-formed, as no prediction could match it."""
    implausible: list[int] = []
    for line in lines:
        try:
            broken = violations(parse(line.form, dialect))
            wrong = f"breaks the grammar of {dialect}: {broken[0]}" if broken and broken[0].level == "grammar" else ""
        except FormulaError as error:
            broken, wrong = [], f"cannot be read as {dialect}: {error}"
        if wrong:
            message = f"the gold form {wrong}. Correct it, or use another dialect ({', '.join(DIALECTS)})"
            raise InputError(message, file=path, place=f"line {line.number}")
        if broken:
            implausible.append(line.number)
    if not implausible:
        return []
    return [f"{len(implausible)} gold forms do not make sense, the first on line {implausible[0]}: see `wug check`"]


def read_predictions(path: Path, gold: Sequence[GoldLine]) -> tuple[list[str], list[str]]:
    """The prediction for every gold line, and warnings; InputError if there is not exactly one.

    In addition to the files of `families/predictions.py`, tables without names may have the columns sentence, form and
    type, as the gold file; source, target and prediction, as files of OpenNMT; or sentence and prediction.
    """
    lines = readers.content_lines(path)
    warnings: list[str] = []
    if readers.names_columns(lines):
        rows = readers.read_named(path)
    elif "\t" in lines[0] and not HYPOTHESIS.fullmatch(lines[0]):
        rows = _unnamed_columns(lines, path, gold, warnings)
    elif lines[0].startswith('"'):
        raise InputError(
            f"the file starts with a quote character: {readers.short(lines[0])}. No logical form does; write the file "
            "without quoting, or as JSON Lines if the quote is part of the output",
            file=path,
            place="line 1",
        )
    else:
        rows = readers.read_plain(path, len(gold))
    return [row.prediction for row in readers.aligned(rows, (line.sentence for line in gold), path)], warnings


def _unnamed_columns(
    lines: Sequence[str], path: Path, gold: Sequence[GoldLine], warnings: list[str]
) -> list[readers.PredictedRow]:
    cells = [line.split("\t") for line in lines]
    width = len(cells[0])
    for number, row in enumerate(cells, 1):
        if len(row) != width:
            message = f"{plural(len(row), 'column')}, but line 1 has {width}: {readers.short(lines[number - 1])}"
            raise InputError(message, file=path, place=f"line {number}")
    if width > 3:
        message = f"{width} columns: a table has two or three, or a header line"
        raise InputError(message, file=path, place="line 1")
    column = 2 if width == 3 and _is_paste(cells, path, gold, warnings) else 1
    return [readers.PredictedRow(number, row[column], readers.squeeze(row[0])) for number, row in enumerate(cells, 1)]


def _is_paste(cells: Sequence[Sequence[str]], path: Path, gold: Sequence[GoldLine], warnings: list[str]) -> bool:
    """Whether three columns are source, target and prediction, and not those of the gold file: the content decides."""
    types, target = {line.type for line in gold}, {line.sentence: line.form for line in gold}
    known = [(target[sentence], left, right) for sentence, left, right in cells if sentence in target]
    if all(third in types for *_, third in cells) or not known:  # unknown sentences are refused later
        return False
    differing = sum(form != left for form, left, _ in known)
    labels = not any(" " in third for *_, third in cells)
    if labels and differing > len(known) / 2:
        return False  # with types that the gold file does not know
    swapped = differing and all(form == right for form, _, right in known)
    if labels or swapped or differing > len(known) / 2:
        raise InputError(
            "three columns that could be sentence, prediction and type, or source, target and prediction: the third "
            "is not the gold file's type, and the second is not clearly its form. Name the columns in a header line",
            file=path,
        )
    if differing:
        warnings.append(f"{differing} targets differ from the gold form, which is used instead")
    return True
