"""Gold files: sentence, logical form and type, separated by tabs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from wug.errors import FormulaError, InputError, UnknownName
from wug.families.cogs.logical_form import DIALECTS, Dialect, is_well_formed, parse, recognise, violations
from wug.families.cogs.types import GENERALISATIONS
from wug.families.sampling import levels_of, of_whole_file, sampled
from wug.files import checksum, read_lines
from wug.types import Problem

EDITIONS: Mapping[str, tuple[str, Dialect]] = {
    "053bf121a569": ("cogs-train", "cogs"),
    "d0385cb7b6b8": ("cogs-dev", "cogs"),
    "86fa23bdccf6": ("cogs-test", "cogs"),
    "037888822c18": ("cogs-gen-2022", "cogs"),
    "b6e80bce7737": ("cogs-gen-2020", "cogs"),  # 51 lines of obj_pp_to_subj_pp differ from that of 2022
    "95c6b6b296d5": ("slog-dev", "slog"),
    "7c855c27fd3f": ("slog-test", "slog"),
    "b70300c6a62a": ("recogs-v2-dev", "recogs"),
    "684c4fc9f9e7": ("recogs-v2-test", "recogs"),
    "6fbefd718e01": ("recogs-positional-dev", "recogs"),
    "08b10488ec68": ("recogs-positional-test", "recogs"),
    "033362dd6d7c": ("variable-free-dev", "variable_free"),
    "add6182737f8": ("variable-free-test", "variable_free"),
    "8e90404956b7": ("variable-free-gen", "variable_free"),
}
"""The published files by the checksum of their lines. Their forms are known to be well-formed."""


@dataclass(frozen=True, slots=True)
class Gold:
    """The lines of a gold file, as columns."""

    file: str
    sentences: tuple[str, ...]
    forms: tuple[str, ...]
    types: tuple[str, ...]
    dialect: Dialect
    checksum: str
    """Of the lines, whatever their ends and whether the file is gzipped."""
    limit: int | None = None
    """How many of the file's lines these are, where they are not all."""
    strata: int = 1
    """How many types these were taken from, each with its share."""
    chosen: tuple[int, ...] | None = None
    """Which of the file's lines these are, where they are not all."""
    notices: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.forms)

    @property
    def name(self) -> str:
        """The file's name without its endings."""
        return plain_name(Path(self.file))

    @property
    def edition(self) -> str:
        """Which published file this is, or `unpublished`."""
        return EDITIONS[self.checksum][0] if self.checksum in EDITIONS else "unpublished"

    def groups(self, line: int) -> dict[str, str]:
        """What a line's results are broken down by: its type and, of the 21 types, lexical or structural."""
        found = {"type": self.types[line]}
        if known := GENERALISATIONS.get(self.types[line]):
            found["kind"] = known.kind
        return found

    def number(self, line: int) -> int:
        """The number of a line in its file, counted from 1."""
        return line + 1 if self.chosen is None else self.chosen[line] + 1

    def sample(self, lines: int) -> Gold:
        """The same with only so many of its lines, every type with its share."""
        if lines >= len(self):
            return self
        kept = sampled(len(self), lines, lambda line: levels_of(self.groups(line), ("kind", "type")))
        sentences, forms = tuple(self.sentences[n] for n in kept), tuple(self.forms[n] for n in kept)
        types, chosen = tuple(self.types[n] for n in kept), tuple(self.number(n) - 1 for n in kept)
        sample = replace(self, sentences=sentences, forms=forms, types=types, chosen=chosen)
        return replace(sample, limit=lines, strata=len(set(self.types)), notices=of_whole_file(self.notices))


def read_gold(path: Path, dialect: str | None = None) -> Gold:
    """The lines of a gold file, or InputError at the first that cannot be read."""
    lines = text_lines(path)
    rows = [line.split("\t") for line in lines]
    for number, row in enumerate(rows, 1):
        if fault := _fault(row):
            raise InputError(fault, file=path, place=f"line {number}")
    sentences, forms, types = zip(*rows, strict=True)
    identity = checksum("\n".join(lines))
    chosen = _dialect(dialect)
    if identity in EDITIONS and chosen in (None, EDITIONS[identity][1]):
        edition, spoken = EDITIONS[identity]
        notices = (_OLD_GEN,) if edition == "cogs-gen-2020" else ()
        return Gold(str(path), sentences, forms, types, spoken, identity, notices=notices)
    gold = Gold(str(path), sentences, forms, types, chosen or recognise(forms), identity)
    return replace(gold, notices=tuple(_checked(gold, path)))


def text_lines(path: Path) -> list[str]:
    """The lines of a text file that is not empty."""
    lines = read_lines(path)
    if not lines:
        raise InputError("the file is empty", file=path)
    return lines


def plain_name(path: Path) -> str:
    """The name of a file without `.gz` and without its ending."""
    return Path(path.name.removesuffix(".gz")).stem


def looks_like_gold(head: str) -> bool:
    """Whether a file that begins so is a gold file: three columns, of which the second is a logical form."""
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
    """Every fault and oddity of a gold file, whose forms are in a dialect, or in that which they look like."""
    lines = text_lines(path)
    rows = [(number, line.split("\t")) for number, line in enumerate(lines, 1)]
    spoken = _dialect(dialect) or recognise(row[1] for _, row in rows if len(row) == 3)
    seen: dict[str, int] = {}
    for number, row in rows:
        place = f"line {number}"
        if fault := _fault(row):
            yield Problem("error", place, fault)
        if len(row) != 3:
            continue
        sentence, form, _ = row
        if sentence in seen:
            yield Problem("warning", place, f"the sentence stands on line {seen[sentence]} already: {sentence!r}")
        seen.setdefault(sentence, number)
        try:
            found = violations(parse(form, spoken))
        except FormulaError as error:
            yield Problem("error", place, f"not a logical form: {error}")
            continue
        for violation in found:
            yield Problem("error" if violation.level == "grammar" else "warning", place, violation.message)


_OLD_GEN = "this is gen as of 2020: 51 of its forms (obj_pp_to_subj_pp) were mended in 2022"


def _dialect(text: str | None) -> Dialect | None:
    for known in DIALECTS:
        if text == known:
            return known
    if text is not None:
        raise UnknownName("dialect", text, DIALECTS)
    return None


def _fault(row: list[str]) -> str:
    """What is wrong with the columns of a line; empty if nothing is."""
    count = len(row)
    if count != 3:
        return f"{count} column{'s' * (count != 1)}, not 3 (sentence, logical form, type, with tabs between them)"
    if row[0].isspace() or not row[0]:
        return "the sentence is empty"
    return "" if row[2] else "the type is empty"


def _checked(gold: Gold, path: Path) -> Iterator[str]:
    """Notices about odd gold forms; InputError at the first that is ill-formed, as no prediction could match it."""
    senseless: list[int] = []
    for number, form in enumerate(gold.forms, 1):
        place = f"line {number}"
        try:
            found = violations(parse(form, gold.dialect))
        except FormulaError as fault:
            raise InputError(
                f"the gold form cannot be read as {gold.dialect}: {fault}", file=path, place=place
            ) from None
        if any(violation.level == "grammar" for violation in found):
            raise InputError(
                f"the gold form breaks the grammar of {gold.dialect}: {found[0]}. Mend it, or name another dialect "
                f"({', '.join(DIALECTS)})",
                file=path,
                place=place,
            )
        if found:
            senseless.append(number)
    if senseless:
        yield f"{len(senseless)} gold forms do not make sense, the first on line {senseless[0]}: see `wug check`"
