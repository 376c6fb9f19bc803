"""Gold files: sentence, logical form and type, separated by tabs; and the types of generalisation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from wug.errors import FormulaError, InputError, UnknownName
from wug.families.cogs.logical_form import DIALECTS, Dialect, is_well_formed, parse, recognise, violations
from wug.families.sampling import levels_of, of_whole_file, sampled
from wug.files import checksum, read_lines
from wug.types import Problem


@dataclass(frozen=True, slots=True)
class Generalisation:
    """A type of the generalisation set."""

    type: str
    section: str
    """Section of Kim and Linzen (2020); the class of a type of SLOG."""
    kind: Literal["lexical", "structural"]
    """Whether a word is new in its role, or the structure is new."""
    title: str


SECTIONS = {
    "3.1": "known words in new grammatical roles",
    "3.2": "modified phrases in new grammatical roles",
    "3.3": "deeper recursion",
    "3.4": "alternations of a verb's arguments",
    "3.5": "verb classes",
}
"""The groups of the paper, in its order."""

_TABLE = """
3.1.1 subj_to_obj_common                                     a common noun seen as subject becomes an object
3.1.2 subj_to_obj_proper                                     a name seen as subject becomes an object
3.1.3 obj_to_subj_common                                     a common noun seen as object becomes a subject
3.1.4 obj_to_subj_proper                                     a name seen as object becomes a subject
3.1.5 prim_to_subj_common                                    a common noun seen alone becomes a subject
3.1.6 prim_to_subj_proper                                    a name seen alone becomes a subject
3.1.7 prim_to_obj_common                                     a common noun seen alone becomes an object
3.1.8 prim_to_obj_proper                                     a name seen alone becomes an object
3.1.9 prim_to_inf_arg                                        a verb seen alone becomes an infinitive
3.2.1 obj_pp_to_subj_pp                                      a modifier seen on objects modifies a subject
3.3.1 cp_recursion                                           that-clauses nest deeper than seen
3.3.2 pp_recursion                                           modifiers nest deeper than seen
3.4.1 active_to_passive                                      a verb seen in the active is passive
3.4.2 passive_to_active                                      a verb seen in the passive is active
3.4.3 obj_omitted_transitive_to_transitive                   a verb seen without its object has one
3.4.4 unacc_to_transitive                                    an unaccusative verb is transitive
3.4.5 do_dative_to_pp_dative                                 a double-object dative becomes one with "to"
3.4.6 pp_dative_to_do_dative                                 a dative with "to" becomes a double-object one
3.5.1 only_seen_as_transitive_subj_as_unacc_subj             an agent becomes the subject of an unaccusative
3.5.2 only_seen_as_unacc_subj_as_obj_omitted_transitive_subj a theme becomes an agent, the object left out
3.5.3 only_seen_as_unacc_subj_as_unerg_subj                  a theme becomes the subject of an unergative
"""
_STRUCTURAL = ("obj_pp_to_subj_pp", "cp_recursion", "pp_recursion")


def _read_table() -> dict[str, Generalisation]:
    found = {}
    for line in _TABLE.strip().splitlines():
        section, name, title = line.split(maxsplit=2)
        found[name] = Generalisation(name, section, "structural" if name in _STRUCTURAL else "lexical", title)
    return found


GENERALISATIONS = _read_table()
"""The 21 types of COGS by name, in the order of the paper."""

_SLOG_TABLE = """
recursion depth
    PP_3               prepositional phrases nest 3 deep
    PP_5-12            prepositional phrases nest 5 to 12 deep
    CP_3               that-clauses nest 3 deep
    CP_5-12            that-clauses nest 5 to 12 deep
    center_embed_3     relative clauses are centre-embedded 3 deep
    center_embed_5-12  relative clauses are centre-embedded 5 to 12 deep
modifier position
    PP_modif_subj      a prepositional phrase modifies a subject
    PP_modif_iobj      a prepositional phrase modifies an indirect object
    RC_modif_subj      a relative clause modifies a subject
    RC_modif_iobj      a relative clause modifies an indirect object
gap position
    RC_iobj_extracted  the gap of a relative clause is an indirect object
    Q_iobj_ditransV    the gap of a question is an indirect object
wh-questions
    Q_subj_active      a question for the subject of an active verb
    Q_subj_passive     a question for the subject of a passive verb
    Q_dobj_ditransV    a question for the direct object of a ditransitive verb
    Q_modified_NPs     a question with a modified noun phrase
    Q_long_mv          a question out of a that-clause
"""


def _read_slog_table() -> dict[str, Generalisation]:
    found, section = {}, ""
    for line in _SLOG_TABLE.strip().splitlines():
        if not line.startswith(" "):
            section = line
        else:
            name, title = line.split(maxsplit=1)
            found[name] = Generalisation(name, section, "structural", title)
    return found


SLOG_TYPES = _read_slog_table()
"""The 17 types of SLOG (Li et al. 2023) by name, in four classes, in the order of the paper."""
KNOWN_TYPES = GENERALISATIONS | SLOG_TYPES


SPLITS = ("train", "dev", "test", "gen")
EDITIONS: Mapping[str, tuple[str, Dialect]] = {
    "053bf121a569": ("cogs-train", "cogs"),
    "d0385cb7b6b8": ("cogs-dev", "cogs"),
    "86fa23bdccf6": ("cogs-test", "cogs"),
    "037888822c18": ("cogs-gen-2022", "cogs"),
    "b6e80bce7737": ("cogs-gen-2020", "cogs"),  # 51 lines of obj_pp_to_subj_pp differ from that of 2022
    "95c6b6b296d5": ("slog-dev", "slog"),
    "7c855c27fd3f": ("slog-test", "slog"),
    "3b8b403bcd41": ("slog-variable-free-train", "variable_free"),
    "8a54807d562e": ("slog-variable-free-dev", "variable_free"),
    "643c571aefd0": ("slog-variable-free-test", "variable_free"),
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
    """Checksum of the lines, whatever their line ends and whether the file is gzipped."""
    limit: int | None = None
    """Number of lines in this sample; None for the whole file."""
    strata: int = 1
    """Number of types that the sample was drawn from."""
    chosen: tuple[int, ...] | None = None
    """Indices of the sampled lines in the file; None for the whole file."""
    warnings: tuple[str, ...] = ()

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
        """The groups of a line: its type and, if that is known, lexical or structural; and its class in SLOG."""
        name = self.types[line]
        found = {"type": name}
        if known := KNOWN_TYPES.get(name):
            found["kind"] = known.kind
        if name in SLOG_TYPES:
            found["class"] = SLOG_TYPES[name].section
        return found

    def number(self, line: int) -> int:
        """The number of a line in its file, counted from 1."""
        return line + 1 if self.chosen is None else self.chosen[line] + 1

    def sample(self, lines: int) -> Gold:
        """A sample of the lines, every type in proportion."""
        if lines >= len(self):
            return self
        kept = sampled(len(self), lines, lambda line: levels_of(self.groups(line), ("kind", "type")))
        sentences, forms = tuple(self.sentences[n] for n in kept), tuple(self.forms[n] for n in kept)
        types, chosen = tuple(self.types[n] for n in kept), tuple(self.number(n) - 1 for n in kept)
        sample = replace(self, sentences=sentences, forms=forms, types=types, chosen=chosen)
        return replace(sample, limit=lines, strata=len(set(self.types)), warnings=of_whole_file(self.warnings))


def read_gold(path: Path, dialect: str | None = None) -> Gold:
    """Read a gold file; InputError at the first line that cannot be read."""
    lines = text_lines(path)
    rows = [line.split("\t") for line in lines]
    for number, row in enumerate(rows, 1):
        if error := _column_error(row):
            raise InputError(error, file=path, place=f"line {number}")
    sentences, forms, types = zip(*rows, strict=True)
    identity = checksum("\n".join(lines))
    chosen = _dialect(dialect)
    if identity in EDITIONS and chosen in (None, EDITIONS[identity][1]):
        edition, known = EDITIONS[identity]
        warnings = (_OLD_GEN,) if edition == "cogs-gen-2020" else ()
        return Gold(str(path), sentences, forms, types, known, identity, warnings=warnings)
    gold = Gold(str(path), sentences, forms, types, chosen or recognise(forms), identity)
    return replace(gold, warnings=tuple(_checked(gold, path)))


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
    lines = text_lines(path)
    rows = [(number, line.split("\t")) for number, line in enumerate(lines, 1)]
    used = _dialect(dialect) or recognise(row[1] for _, row in rows if len(row) == 3)
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
            found = violations(parse(form, used))
        except FormulaError as error:
            yield Problem("error", place, f"not a logical form: {error}")
            continue
        for violation in found:
            yield Problem("error" if violation.level == "grammar" else "warning", place, violation.message)


_OLD_GEN = "this is gen as of 2020: 51 of its forms (obj_pp_to_subj_pp) were corrected in 2022"


def _dialect(text: str | None) -> Dialect | None:
    for known in DIALECTS:
        if text == known:
            return known
    if text is not None:
        raise UnknownName("dialect", text, DIALECTS)
    return None


def _column_error(row: list[str]) -> str:
    count = len(row)
    if count != 3:
        return f"{count} column{'s' * (count != 1)}, not 3 (sentence, logical form and type, separated by tabs)"
    if row[0].isspace() or not row[0]:
        return "the sentence is empty"
    return "" if row[2] else "the type is empty"


def _checked(gold: Gold, path: Path) -> Iterator[str]:
    """Warnings about gold forms; InputError at the first that is ill-formed, as no prediction could match it."""
    senseless: list[int] = []
    for number, form in enumerate(gold.forms, 1):
        place = f"line {number}"
        try:
            found = violations(parse(form, gold.dialect))
        except FormulaError as error:
            raise InputError(
                f"the gold form cannot be read as {gold.dialect}: {error}", file=path, place=place
            ) from None
        if any(violation.level == "grammar" for violation in found):
            raise InputError(
                f"the gold form breaks the grammar of {gold.dialect}: {found[0]}. Correct it, or use another dialect "
                f"({', '.join(DIALECTS)})",
                file=path,
                place=place,
            )
        if found:
            senseless.append(number)
    if senseless:
        yield f"{len(senseless)} gold forms do not make sense, the first on line {senseless[0]}: see `wug check`"
