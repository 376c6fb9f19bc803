"""Live checking of a suite in the editor: each prediction, and the whole suite with the cell of each problem.

The code that reads suite files also checks here, so the editor reports what `wug check` reports.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from wug.errors import FormulaError, InputError, caret
from wug.families.syntaxgym import formula
from wug.families.syntaxgym.faults import Faults
from wug.families.syntaxgym.options import choices
from wug.families.syntaxgym.read import inspect_document
from wug.types import Problem

MAX_PLACES = 50
"""Places listed per problem; the rest are counted."""

_ENTRY = re.compile(r"items, entry (\d+)")
_WITHIN_ITEM = re.compile(r"(?:, condition (?P<condition>.*?))?(?:, region (?P<region>\d+))?\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CellLocation:
    """A place in the grid, counted from 0; None where a problem concerns all of them."""

    item: int | None = None
    row: int | None = None
    """Index of the condition in the item."""
    region: int | None = None
    prediction: int | None = None
    field: str | None = None
    """A field of `meta`."""


def check(document: Mapping[str, Any], formulas: Sequence[str]) -> dict[str, Any]:
    """Check a suite: `predictions`, one entry per formula, and `problems`, as JSON data."""
    regions, conditions = _names(document)
    faults = Faults()
    inspect_document(document, choices({}), faults)
    return {
        "predictions": [_prediction(text, regions, conditions) for text in formulas],
        "problems": _grouped(faults.problems(), document),
    }


def locate(problem: Problem, items: Sequence[Mapping[str, Any]]) -> CellLocation:
    """The cell that a problem concerns."""
    where = problem.place
    if not where and (first := re.search(r"; first (item .*)", problem.message, re.DOTALL)):
        where = first[1]
    if prediction := re.match(r"prediction (\d+)\Z", where):
        return CellLocation(prediction=int(prediction[1]))
    if where.startswith("meta, "):
        return CellLocation(field=where.removeprefix("meta, "))
    if region := re.match(r"region_meta, (\d+)\Z", where):
        return CellLocation(region=int(region[1]) - 1)
    if entry := _ENTRY.match(where):
        return CellLocation(item=int(entry[1]) - 1)
    if where.startswith(("item ", "items ")):
        return _locate_in_items(where.partition(" ")[2], problem.message, items)
    return CellLocation(field="name") if where == "meta" else CellLocation()


def _prediction(text: str, regions: Mapping[int, str], conditions: Sequence[str]) -> dict[str, Any]:
    """A formula in English and in canonical form, or its error with a caret."""
    if not text.strip():
        return {"error": "There is no formula yet.", "caret": "", "empty": True}
    try:
        found = formula.parse(text).resolve(regions, conditions)
    except FormulaError as error:
        return {
            "error": error.message,
            "caret": "\n".join(line[4:] for line in caret(text, error.start, error.end).split("\n")),
            "start": error.start,
            "end": error.end,
        }
    return {"english": found.english(regions), "canonical": found.canonical()}


def _names(document: Mapping[str, Any]) -> tuple[dict[int, str], list[str]]:
    """Region names by number, and condition names."""
    try:
        regions = {int(number): str(name) for number, name in document["region_meta"].items()}
        names = [one["condition_name"] for item in document["items"] for one in item["conditions"]]
        return regions, list(dict.fromkeys(name.strip() for name in names))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError("the request does not contain a suite") from None


def _grouped(problems: Sequence[Problem], document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Problems with the same message as one, with all their cells."""
    groups: dict[tuple[str, str], list[Problem]] = {}
    for problem in problems:
        groups.setdefault((problem.level, problem.message), []).append(problem)
    return [
        {
            "level": level,
            "message": message.split("\n")[0],
            "count": len(some),
            "places": [
                {"place": problem.place, **asdict(locate(problem, document["items"]))} for problem in some[:MAX_PLACES]
            ],
        }
        for (level, message), some in groups.items()
    ]


def _locate_in_items(where: str, message: str, items: Sequence[Mapping[str, Any]]) -> CellLocation:
    """Parse `12, condition a, region 3`; names of items and conditions may contain commas."""
    for index, item in enumerate(items):
        number = str(item.get("item_number"))
        if not where.startswith(number):
            continue
        rest = where[len(number) :]
        if listed := re.match(r"(?:, (?!condition )[^,]*)+", rest):  # items 1, 2, …, condition a
            rest = rest[listed.end() :] if rest[listed.end() :].startswith(", condition ") or not rest else rest
        if rest and not rest.startswith(", "):
            continue
        found = _WITHIN_ITEM.match(rest)
        row, region = None, None
        if found is not None:
            row = _condition_index(found["condition"], item)
            region = None if found["region"] is None else int(found["region"]) - 1
        if region is None and (named := re.match(r"region (\d+) is ", message)):
            region = int(named[1]) - 1
        return CellLocation(item=index, row=row, region=region)
    return CellLocation()


def _condition_index(name: str | None, item: Mapping[str, Any]) -> int | None:
    names = [condition["condition_name"].strip() for condition in item["conditions"]]
    return names.index(name) if name in names else None
