"""People's responses in published formats: BLiMP, TurBLiMP, QFrBLiMP and ZhoBLiMP."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from wug.errors import InputError
from wug.families.named_columns import NamedColumns
from wug.files import ASSETS, read_text
from wug.formatting import first_items, plural
from wug.problems import ProblemList, refuse_errors
from wug.record_tables import as_number, plain

BLIMP_ITEMS = 5
MIN_PUBLISHED_SHARE = 0.7
"""The agreement that a paradigm of ZhoBLiMP needs to be in the published set."""
_MTURK_CONDITION = re.compile(r"(.*)ans([12])")
RATED_CONDITION = re.compile(r"(.*)_(good|bad)(.*)")
_ANNOTATOR = re.compile(r"annotator_\d+")


class Response(NamedTuple):
    """One person's response to an item."""

    item: int
    rater: str | None
    value: float
    """1 if it agrees with the label, else 0; or a rating."""
    good: bool = True


class JudgedItem(NamedTuple):
    """A pair or sentence that people judged."""

    name: str
    groups: Mapping[str, str]
    good: str = ""
    bad: str = ""


class ParadigmCounts(NamedTuple):
    """The responses to a paradigm, where a file has no single ones."""

    name: str
    groups: Mapping[str, str]
    responses: int
    mean: float
    agreeing: int | None = None
    """Responses that agree; None if the file has the mean over items only."""
    accepted: int | None = None
    """Items with a majority for the label, of BLIMP_ITEMS."""


@dataclass(slots=True)
class PeopleData:
    """Responses, ratings or counts from a file."""

    format: str
    items: list[JudgedItem] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)
    counts: list[ParadigmCounts] = field(default_factory=list)
    rated: bool = False
    z_scored: bool = False
    notices: list[str] = field(default_factory=list)


@cache
def _phenomena() -> dict[str, str]:
    """The phenomenon of each of the 67 paradigms in the published set of BLiMP."""
    text = read_text(ASSETS / "people" / "blimp_paradigms.toml")
    return {name: phenomenon for phenomenon, names in tomllib.loads(text).items() for name in names.split()}


Reader = Callable[[NamedColumns, Mapping[str, Any]], PeopleData]


def known_format(header: Sequence[str]) -> Reader | None:
    """The reader of a published format with these columns; None for other tables."""
    names = set(header)
    if {"Input.item_1_condition", "Answer.Choice1"} <= names:
        return _mturk
    if {"Condition", "accepted", "total_mean", "count"} <= names:
        return _blimp_summary
    if {"UID", "correct", "total", "acc"} <= names:
        return _zhoblimp_summary
    if "label" in names and any(map(_ANNOTATOR.fullmatch, header)):
        return _qfrblimp
    return None


def _mturk(columns: NamedColumns, values: Mapping[str, Any]) -> PeopleData:
    """BLiMP's assignments of five items; items are named, since their columns are not in order."""
    people = PeopleData("blimp-mturk")
    numbers = [n for n in range(1, 100) if f"Input.item_{n}_condition" in columns.header]
    columns.require(*(f"Input.field_{n}_{k}" for n in numbers for k in (1, 2)), *(f"Answer.Choice{n}" for n in numbers))
    known: dict[tuple[str, str, str], int] = {}
    exclusions = dict.fromkeys(("rejected", "checks", "failed", "unpublished", "empty"), 0)
    unpublished: dict[str, None] = {}
    for record in columns.records:
        fields = record.fields
        rejected = values["status"] == "approved" and fields.get("AssignmentStatus") == "Rejected"
        exclusions["rejected"] += rejected
        for n in numbers:
            condition = plain(fields[f"Input.item_{n}_condition"])
            if not condition:
                continue
            named = _MTURK_CONDITION.fullmatch(condition)
            if named is None:
                message = f"Input.item_{n}_condition is {condition!r}, which does not end in ans1 or ans2"
                columns.problems.error(record.place, message)
                continue
            paradigm, answer = named[1], named[2]
            chosen = re.match(r"\s*([12])\.", plain(fields[f"Answer.Choice{n}"]))
            if paradigm.startswith("attnchk"):
                exclusions["checks"] += 1
                exclusions["failed"] += chosen is None or chosen[1] != answer
            elif rejected:
                continue
            elif paradigm not in _phenomena() and values["paradigms"] != "all":
                unpublished[paradigm] = None
                exclusions["unpublished"] += 1
            elif chosen is None:
                exclusions["empty"] += 1
            else:
                texts = [plain(fields[f"Input.field_{n}_{k}"]) for k in (answer, "2" if answer == "1" else "1")]
                item = _blimp_item(people, known, (paradigm, texts[0], texts[1]))
                people.responses.append(Response(item, plain(fields.get("anonCode")) or None, chosen[1] == answer))
    people.notices += _mturk_notices(exclusions, list(unpublished))
    return people


def _blimp_item(people: PeopleData, known: dict[tuple[str, str, str], int], key: tuple[str, str, str]) -> int:
    """The index of an item, which is added when it is first met."""
    if key not in known:
        paradigm, good, bad = key
        number = sum(other[0] == paradigm for other in known) + 1
        phenomenon = {"phenomenon": _phenomena()[paradigm]} if paradigm in _phenomena() else {}
        known[key] = len(people.items)
        people.items.append(JudgedItem(f"{paradigm}/{number}", {"paradigm": paradigm, **phenomenon}, good, bad))
    return known[key]


def _mturk_notices(exclusions: Mapping[str, int], unpublished: Sequence[str]) -> Iterator[str]:
    if exclusions["rejected"]:
        yield f"{plural(exclusions['rejected'], 'rejected assignment')} left out: add -S status=all to keep them"
    if exclusions["unpublished"]:
        responses = f"{plural(exclusions['unpublished'], 'response')} to {plural(len(unpublished), 'paradigm')}"
        names = first_items(unpublished)
        yield f"{responses} outside the published set left out ({names}): add -S paradigms=all to keep them"
    if exclusions["checks"]:
        yield f"{exclusions['failed']} of {exclusions['checks']:,} attention checks failed"
    if exclusions["empty"]:
        yield f"{plural(exclusions['empty'], 'response')} without an answer left out"


def _blimp_summary(columns: NamedColumns, values: Mapping[str, Any]) -> PeopleData:
    """BLiMP's published means and majorities per paradigm."""
    counts = []
    for record in columns.records:
        name = plain(record.fields["Condition"])
        accepted, mean, n = (columns.number(record, column) for column in ("accepted", "total_mean", "count"))
        if not columns.problems and (name in _phenomena() or values["paradigms"] == "all"):
            groups = {"phenomenon": _phenomena()[name]} if name in _phenomena() else {}
            counts.append(ParadigmCounts(name, groups, int(n), mean, accepted=int(accepted)))
    return _summary("blimp-summary", columns, counts)


def _zhoblimp_summary(columns: NamedColumns, values: Mapping[str, Any]) -> PeopleData:
    """ZhoBLiMP's counts per paradigm."""
    counts = []
    for record in columns.records:
        agreeing, total = (columns.number(record, column) for column in ("correct", "total"))
        if not columns.problems and not 0 <= agreeing <= total > 0:
            columns.problems.error(record.place, f"{agreeing:g} of {total:g} responses are correct")
        elif not columns.problems and (agreeing / total >= MIN_PUBLISHED_SHARE or values["paradigms"] != "published"):
            name, phenomenon = (plain(record.fields.get(column)) for column in ("UID", "phenomenon"))
            groups = {"phenomenon": phenomenon} if phenomenon else {}
            counts.append(ParadigmCounts(name, groups, int(total), agreeing / total, agreeing=int(agreeing)))
    return _summary("zhoblimp-summary", columns, counts)


def _summary(format: str, columns: NamedColumns, counts: list[ParadigmCounts]) -> PeopleData:
    exclusions = len(columns.records) - len(counts)
    notices = [f"{plural(exclusions, 'paradigm')} outside the published set left out"] if exclusions else []
    return PeopleData(format, counts=counts, notices=notices)


def _qfrblimp(columns: NamedColumns, values: Mapping[str, Any]) -> PeopleData:
    """QFrBLiMP: the sentence that each annotator chose, and the right one."""
    people = PeopleData("qfrblimp")
    annotators = [name for name in columns.header if _ANNOTATOR.fullmatch(name)]
    for number, record in enumerate(columns.records):
        fields = record.fields
        label = columns.number(record, "label")
        texts = [plain(fields.get(name)) for name in ("sentence_a", "sentence_b")]
        good, bad = texts if label == 0 else texts[::-1]
        groups = {"phenomenon": plain(fields.get("type")), "category": plain(fields.get("category"))}
        people.items.append(JudgedItem(str(number + 1), {k: v for k, v in groups.items() if v}, good, bad))
        for name in annotators:
            if plain(fields.get(name)):
                people.responses.append(Response(number, name, columns.number(record, name) == label))
    return people


def read_turblimp(path: Path, grid: Sequence[Sequence[str]]) -> PeopleData:
    """TurBLiMP: one row per rater; a pair is a column of the first half and the one at its place in the second."""
    people = PeopleData("turblimp-ratings", rated=True)
    names = [match for cell in grid[1] if (match := RATED_CONDITION.fullmatch(cell))]
    half = len(names) // 2
    for number, (one, other) in enumerate(zip(names[:half], names[half:], strict=False), 1):
        if one[1] + one[3] != other[1] + other[3] or one[2] == other[2] or len(names) % 2:
            place = f"columns {number} and {number + half}"
            raise InputError(f"{one[0]!r} and {other[0]!r} are not the conditions of a pair", file=path, place=place)
        people.items.append(JudgedItem(str(number), {"phenomenon": one[1] + one[3]}))
    problems = ProblemList()
    for row, cells in enumerate(grid[2:], 3):
        for column, cell in enumerate(cells[: 2 * half]):
            rating = as_number(cell)
            if math.isfinite(rating):
                people.responses.append(Response(column % half, str(row), rating, names[column][2] == "good"))
            elif cell:
                problems.error(f"row {row}, column {column + 1}", f"{cell!r} is not a rating")
    refuse_errors(problems, path)
    if not people.responses:
        raise InputError("the file has no ratings", file=path)
    return people
