"""BLiMP: one JSON object a pair, a file for each paradigm, or the folder of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wug.families.pairs.formats.labels import Grouping, Labels
from wug.families.pairs.pair import Pair, Parsed, Target
from wug.families.tables import Record, context_of, groups_of, keys_of, plain, read_table, text_of
from wug.types import Problem

GOOD, BAD = "sentence_good", "sentence_bad"


PARADIGMS = ("UID", "paradigm", "Paradigm", "category")
"""Where sets like BLiMP have the paradigm; the first that has something counts."""


_PHENOMENA = {"s-selection": "argument_structure"}
"""Terms that the tables of Warstadt et al. (2020) count among another: so they have twelve phenomena, not thirteen."""


def phenomenon(term: str) -> str:
    """The phenomenon that a term of linguistics belongs to, as BLiMP's published tables have it."""
    return _PHENOMENA.get(term, term)


def without_phenomenon(groups: Mapping[str, str]) -> dict[str, str]:
    """The groups without a phenomenon that their term tells."""
    told = "term" in groups and groups.get("phenomenon") == phenomenon(groups["term"])
    return {name: value for name, value in groups.items() if not (told and name == "phenomenon")}


def recognises(path: Path, head: str) -> bool:
    """Whether the first line is an object, or a header, with a good and a bad sentence."""
    return {GOOD, BAD} <= keys_of(head)


def parse(path: Path, labels: Labels) -> Parsed:
    """The pairs of a BLiMP file."""
    table = read_table(path)
    problems = [*table.problems, *labels.missing(table.header)]
    pairs: list[Pair] = []
    grouping, blind = Grouping(table.header, labels, _groups, *PARADIGMS), 0
    for number, record in enumerate(table.records, 1):
        if record.fields.get(GOOD) == record.fields.get(BAD) == "":  # as in a file of BL2MP
            problems.append(Problem("warning", record.place, "both sentences are empty: left out"))
            continue
        good, bad = text_of(record, GOOD, problems), text_of(record, BAD, problems)
        if good is None or bad is None:
            continue
        blind += record.fields.get("one_prefix_method") is False
        target = _target(record, good, bad, problems)
        groups = grouping.of(record)
        human, context = labels.human_of(record, problems), context_of(record)
        item = (plain(record.fields.get(labels.item)) if labels.item else "") or _item(record.fields, number)
        pairs.append(Pair(item, good.strip(), bad.strip(), groups, target, human=human, context=context))
    return Parsed("blimp", pairs, problems, blind)


def _groups(record: Record) -> dict[str, str]:
    found = groups_of(record.fields)
    named = (plain(record.fields.get(name)) for name in PARADIGMS)
    if paradigm := next(filter(None, named), ""):
        found["paradigm"] = paradigm
    # One paradigm of the published set has "syntax/semantics" where the others have "syntax_semantics".
    if "field" in found:
        found["field"] = found["field"].replace("/", "_")
    if "term" in found:
        found.setdefault("phenomenon", phenomenon(found["term"]))
    return found


def _target(record: Record, good: str, bad: str, problems: list[Problem]) -> Target | None:
    """The critical word of the one-prefix method, where the pair has one."""
    fields = record.fields
    if fields.get("one_prefix_method") is not True or "one_prefix_prefix" not in fields:
        return None
    prefix, ours, theirs = (
        str(fields.get(f"one_prefix_{name}", "")).strip() for name in ("prefix", "word_good", "word_bad")
    )
    start = len(prefix) + 1 if prefix else 0
    good, bad = good.strip(), bad.strip()
    if not (good.startswith(f"{prefix} {ours}".lstrip()) and bad.startswith(f"{prefix} {theirs}".lstrip())):
        message = f"one_prefix_prefix points elsewhere: {prefix!r} with {ours!r} and {theirs!r} begin no sentence here"
        problems.append(Problem("warning", record.place, message))
        return None
    return Target(start, start + len(ours), start + len(theirs)) if ours and theirs and ours != theirs else None


def _item(fields: Mapping[str, Any], number: int) -> str:
    if "item" in fields:
        return str(fields["item"])
    name = str(fields.get("pairID", number))
    return f"{fields['UID']}/{name}" if "UID" in fields else name
