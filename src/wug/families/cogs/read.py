"""Gold files: sentence, logical form and type, separated by tabs; and the types of generalisation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from wug.errors import FormulaError, InputError, UnknownName
from wug.families.cogs.logical_form import DIALECTS, Dialect, is_well_formed, parse, recognise, violations
from wug.families.predictions import content_lines
from wug.files import checksum
from wug.types import Problem


@dataclass(frozen=True, slots=True)
class Generalisation:
    """A type of the generalisation set."""

    type: str
    section: str
    """Number and title of the section of Kim and Linzen (2020), or the class of a type of SLOG."""
    kind: Literal["lexical", "structural"]
    """Whether a word is new in its role, or the structure is new."""
    title: str


_COGS = """
3.1 known words in new grammatical roles
    subj_to_obj_common      a common noun seen as subject becomes an object
    subj_to_obj_proper      a name seen as subject becomes an object
    obj_to_subj_common      a common noun seen as object becomes a subject
    obj_to_subj_proper      a name seen as object becomes a subject
    prim_to_subj_common     a common noun seen alone becomes a subject
    prim_to_subj_proper     a name seen alone becomes a subject
    prim_to_obj_common      a common noun seen alone becomes an object
    prim_to_obj_proper      a name seen alone becomes an object
    prim_to_inf_arg         a verb seen alone becomes an infinitive
3.2 modified phrases in new grammatical roles
    obj_pp_to_subj_pp       a modifier seen on objects modifies a subject
3.3 deeper recursion
    cp_recursion            that-clauses nest deeper than seen
    pp_recursion            modifiers nest deeper than seen
3.4 alternations of a verb's arguments
    active_to_passive       a verb seen in the active is passive
    passive_to_active       a verb seen in the passive is active
    obj_omitted_transitive_to_transitive    a verb seen without its object has one
    unacc_to_transitive     an unaccusative verb is transitive
    do_dative_to_pp_dative  a double-object dative becomes one with "to"
    pp_dative_to_do_dative  a dative with "to" becomes a double-object one
3.5 verb classes
    only_seen_as_transitive_subj_as_unacc_subj              an agent becomes the subject of an unaccusative
    only_seen_as_unacc_subj_as_obj_omitted_transitive_subj  a theme becomes an agent, the object left out
    only_seen_as_unacc_subj_as_unerg_subj                   a theme becomes the subject of an unergative
"""
_STRUCTURAL = ("3.2", "3.3")
_SLOG = """
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


def _types(table: str) -> dict[str, Generalisation]:
    found, section = {}, ""
    for line in table.strip().splitlines():
        if line.startswith(" "):
            name, title = line.split(maxsplit=1)
            lexical = section[:1].isdigit() and section[:3] not in _STRUCTURAL
            found[name] = Generalisation(name, section, "lexical" if lexical else "structural", title)
        else:
            section = line
    return found


GENERALISATIONS = _types(_COGS)
"""The 21 types of COGS (Kim and Linzen 2020) by name, in the order of the paper."""
SLOG_TYPES = _types(_SLOG)
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
class GoldLine:
    """A sentence with its logical form, or another target."""

    number: int
    sentence: str
    form: str
    type: str

    @property
    def groups(self) -> dict[str, str]:
        """Its type and, if that is known, lexical or structural; and its class in SLOG."""
        found = {"type": self.type}
        if known := KNOWN_TYPES.get(self.type):
            found["kind"] = known.kind
        if self.type in SLOG_TYPES:
            found["class"] = SLOG_TYPES[self.type].section
        return found


def meta_of(lines: Iterable[GoldLine]) -> dict[str, Any]:
    """What pages show with the outcomes: the types as the paper groups them."""
    present = {line.type for line in lines}
    return {"types": [asdict(known) for name, known in KNOWN_TYPES.items() if name in present]}


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
            found = violations(parse(form, used))
        except FormulaError as error:
            yield Problem("error", place, f"not a logical form: {error}")
            continue
        for violation in found:
            yield Problem("error" if violation.level == "grammar" else "warning", place, violation.message)


def known_dialect(text: str | None) -> Dialect | None:
    """A dialect by its name; UnknownName for another name."""
    if text is None:
        return None
    found = next((known for known in DIALECTS if text == known), None)
    if found is None:
        raise UnknownName("dialect", text, DIALECTS)
    return found


def _column_error(row: list[str]) -> str:
    count = len(row)
    if count != 3:
        return f"{count} column{'s' * (count != 1)}, not 3 (sentence, logical form and type, separated by tabs)"
    if row[0].isspace() or not row[0]:
        return "the sentence is empty"
    return "" if row[2] else "the type is empty"


def checked(lines: Iterable[GoldLine], dialect: Dialect, path: Path) -> list[str]:
    """Warnings about gold forms; InputError at the first that is ill-formed, as no prediction could match it."""
    senseless: list[int] = []
    for line in lines:
        try:
            found = violations(parse(line.form, dialect))
            wrong = f"breaks the grammar of {dialect}: {found[0]}" if found and found[0].level == "grammar" else ""
        except FormulaError as error:
            found, wrong = [], f"cannot be read as {dialect}: {error}"
        if wrong:
            message = f"the gold form {wrong}. Correct it, or use another dialect ({', '.join(DIALECTS)})"
            raise InputError(message, file=path, place=f"line {line.number}")
        if found:
            senseless.append(line.number)
    if not senseless:
        return []
    return [f"{len(senseless)} gold forms do not make sense, the first on line {senseless[0]}: see `wug check`"]
