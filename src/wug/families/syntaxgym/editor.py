"""What the suite editor of the site needs to know about SyntaxGym suites.

Documents are suites in their JSON form, with every region of every sentence once, in order. The code that reads suite
files also checks them here, so the editor reports what `wug check` reports.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from wug.alignment import common_start
from wug.errors import FormulaError, InputError, StoreError, caret
from wug.families.syntaxgym import formula
from wug.families.syntaxgym.files import choices, is_table
from wug.families.syntaxgym.measures import REGION_METRICS as REGION_METRICS
from wug.families.syntaxgym.read import inspect, inspect_document, source
from wug.families.syntaxgym.suite import SUMMARY, prediction_of
from wug.families.syntaxgym.tables import is_suite_table, load_table
from wug.families.syntaxgym.view import tenths
from wug.families.syntaxgym.view.regions import ENOUGH, Conditions, conditions, metric_of, names_of
from wug.families.syntaxgym.write import Document, head_lines, json_text, one_item_document, to_csv
from wug.files import read_text
from wug.formatting import headlines, plural
from wug.outcomes import Outcome, Result
from wug.problems import Problem, ProblemList, refuse_errors
from wug.rows import Filter, OutcomeRow, Rows
from wug.views import vega
from wug.views.family_views import figures_of
from wug.views.parts import ItemView, carrier, share_shade

SUFFIXES = (".json", ".csv", ".tsv")
FIELDS = (
    ("author", "Author", "Who wrote it"),
    ("reference", "Reference", "The paper that it comes from"),
    ("description", "Description", "What it tests, in a sentence or two"),
    ("comment", "Comment", "Stays in the file; no page or report shows it"),
)
"""Fields of `meta` that the editor shows: key, label, hint."""


Notes: TypeAlias = list[str]
"""Messages about changes when a suite was opened."""

_MALFORMED = (KeyError, TypeError, ValueError, AttributeError, RecursionError)
"""Errors from reading a document of another form."""


def is_document(document: object) -> bool:
    """Whether a JSON value has the keys of a suite."""
    return isinstance(document, dict) and {"meta", "region_meta", "predictions", "items"} <= document.keys()


def is_suite(path: Path, head: str) -> bool:
    """Whether a file is probably a suite, from its name and its first characters."""
    if is_table(path):
        return is_suite_table(head)
    return ".json" in path.name and any(f'"{key}"' in head for key in ("region_meta", "condition_name"))


def open_file(path: Path) -> tuple[Document, Notes]:
    """Open the suite in a file, even with errors, if it fits the grid."""
    if is_table(path):
        return open_table(path)
    notes: Notes = []
    try:
        document = json.loads(read_text(path))
        return _grid(document, notes), notes
    except _MALFORMED:
        raise _first_errors(path) from None


def open_table(path: Path) -> tuple[Document, Notes]:
    """Open the suite in a table; only its predictions may have errors."""
    problems = ProblemList()
    document, understood = load_table(path, problems)
    refuse_errors(problems, path)
    notes = [f"{understood[0].upper()}{understood[1:]}."]
    try:
        return _grid(document, notes), notes
    except _MALFORMED:
        raise _first_errors(path) from None


def to_text(document: Mapping[str, Any], suffix: str) -> str:
    """A suite as the text of a .json, .csv or .tsv file."""
    if suffix == ".json":
        return json_text(document)
    meta = document.get("meta")
    try:
        listed = document.get("predictions", [])
        predictions = [source(raw) for raw in (listed if isinstance(listed, list) else [listed])]
    except InputError as error:
        raise InputError(f"The table cannot be written yet: a prediction {error}") from None
    # The lines above the table may have errors, since they are being edited.
    head = head_lines(meta if isinstance(meta, dict) else {}, [text for text in predictions if text.strip()])
    problems = ProblemList()
    suite = inspect_document({**document, "predictions": [], "meta": {"name": "suite"}}, choices({}), problems)
    if suite is None:
        refuse_errors(problems, "The table cannot be written yet")
    assert suite is not None
    return to_csv(suite, "\t" if suffix == ".tsv" else ",", head)


DESIGNS = {
    "blank": one_item_document(
        "",
        "sum",
        {number: f"region_{number}" for number in (1, 2, 3)},
        {"condition_1": ["", "", ""], "condition_2": ["", "", ""]},
        [],
    ),
    # Two factors, with an example: number agreement across a noun of the other number.
    "2x2": one_item_document(
        "",
        "sum",
        {1: "subject", 2: "modifier", 3: "verb", 4: "rest"},
        {
            "match_sing": ["The boy", "near the dogs", "swims", "today ."],
            "mismatch_sing": ["The boy", "near the dogs", "swim", "today ."],
            "match_plural": ["The boys", "near the dog", "swim", "today ."],
            "mismatch_plural": ["The boys", "near the dog", "swims", "today ."],
        },
        ["(3;%match_sing%) < (3;%mismatch_sing%)", "(3;%match_plural%) < (3;%mismatch_plural%)"],
    ),
}


def _first_errors(path: Path) -> InputError:
    problems = ProblemList()
    try:
        inspect(path, choices({}), problems)
    except InputError as error:
        problems.error(error.place or "", error.message)
    errors = [str(problem) for problem in problems.errors]
    return InputError("\n".join(errors[:5]) or "this file is not a suite", file=path.name)


def _grid(document: Document, notes: Notes) -> Document:
    """The suite with every region of every sentence once and in order; raises one of `_MALFORMED`."""
    numbers = sorted(int(number) for number in document["region_meta"])
    if numbers != list(range(1, len(numbers) + 1)) or not numbers:
        raise ValueError("regions are not numbered from 1")
    if not all(isinstance(name, str) for name in document["region_meta"].values()):
        raise TypeError("a region's name is not text")
    items = [_grid_item(item, numbers, notes) for item in document["items"]]
    predictions = document.get("predictions", [])
    if not isinstance(predictions, list) or not all(isinstance(prediction, str | dict) for prediction in predictions):
        raise TypeError("predictions are not a list of formulas")
    if not isinstance(document["meta"], dict):
        raise TypeError("meta is not an object")
    return {**document, "predictions": predictions, "items": items}


def _grid_item(item: Document, numbers: Sequence[int], notes: Notes) -> Document:
    if isinstance(item["item_number"], bool) or not isinstance(item["item_number"], int | str):
        raise TypeError("an item's number is not a number or text")
    if not item["conditions"]:
        raise ValueError("an item has no condition")
    written = []
    for condition in item["conditions"]:
        if not isinstance(condition["condition_name"], str):
            raise TypeError("a condition's name is not text")
        regions = {region["region_number"]: region for region in condition["regions"]}
        if len(regions) < len(condition["regions"]) or not regions.keys() <= set(numbers):
            raise ValueError("a region is repeated, or not in region_meta")
        if not all(isinstance(region["content"], str) for region in regions.values()):
            raise TypeError("content is not text")
        added = "Regions that were missing from some sentences were added, empty."
        if len(regions) < len(numbers) and added not in notes:
            notes.append(added)
        ordered = [regions.get(number, {"region_number": number, "content": ""}) for number in numbers]
        written.append({**condition, "regions": ordered})
    return {**item, "conditions": written}


MAX_PLACES = 50
"""Places listed per problem; the rest are counted."""
_PLACE = re.compile(
    r"""items?\ (?P<item>.*?)(,\ condition\ (?P<condition>.*?))?(,\ region\ (?P<region>\d+))?
    | items,\ entry\ (?P<entry>\d+).*
    | prediction\ (?P<prediction>\d+)
    | region_meta,\ (?P<column>\d+)
    | meta(,\ (?P<field>.*))?""",
    re.DOTALL | re.VERBOSE,
)


def check(document: Mapping[str, Any], formulas: Sequence[str]) -> dict[str, Any]:
    """Check a suite: `predictions`, one entry per formula, and `problems`, as JSON data.

    A problem has its places: the indices of item, row (the condition in the item), region and prediction, and the
    field of meta; None if it concerns all of them.
    """
    regions, conditions = _names(document)
    problems = ProblemList()
    inspect_document(document, choices({}), problems)
    groups: dict[tuple[str, str], list[Problem]] = {}
    for problem in [*problems.errors, *problems.warnings]:
        groups.setdefault((problem.level, problem.message), []).append(problem)
    items = {str(item.get("item_number")): index for index, item in reversed([*enumerate(document["items"])])}
    return {
        "predictions": [_prediction(text, regions, conditions) for text in formulas],
        "problems": [
            {
                "level": level,
                "message": message.split("\n")[0],
                "count": len(same),
                "places": [
                    {"place": problem.place, **_cell(problem, document["items"], items)}
                    for problem in same[:MAX_PLACES]
                ],
            }
            for (level, message), same in groups.items()
        ],
    }


def _cell(problem: Problem, items: Sequence[Mapping[str, Any]], numbers: Mapping[str, int]) -> dict[str, Any]:
    """The cell that a problem concerns; `numbers` are the indices of items by their numbers."""
    first = re.search(r"; first (item .*)", problem.message, re.DOTALL)
    match = _PLACE.fullmatch(problem.place or (first[1] if first else ""))
    found = match.groupdict() if match else {}
    item = row = None
    name = found.get("item") or ""  # or the names of several items
    number = name if name in numbers else next((each for each in numbers if name.startswith(f"{each}, ")), "")
    if name and number:
        item = numbers[number]
        names = [condition["condition_name"].strip() for condition in items[item]["conditions"]]
        row = names.index(found["condition"]) if found["condition"] in names else None
        if not found["region"] and (empty := re.match(r"region (\d+) is ", problem.message)):
            found["region"] = empty[1]
    region, entry, prediction = (
        int(text) - 1 if text else None
        for text in (found.get("region") or found.get("column"), found.get("entry"), found.get("prediction"))
    )
    field = found.get("field") or ("name" if problem.place == "meta" else None)
    return {
        "item": entry if item is None else item,
        "row": row,
        "region": region,
        "prediction": prediction,
        "field": field,
    }


def _prediction(text: str, regions: Mapping[int, str], conditions: Sequence[str]) -> dict[str, Any]:
    if not text.strip():
        return {"error": "There is no formula yet.", "caret": "", "empty": True}
    try:
        parsed = formula.parse(text).resolve(regions, conditions)
    except FormulaError as error:
        return {
            "error": error.message,
            "caret": "\n".join(line[4:] for line in caret(text, error.start, error.end).split("\n")),
            "start": error.start,
            "end": error.end,
        }
    return {"english": parsed.english(regions), "canonical": parsed.canonical()}


def _names(document: Mapping[str, Any]) -> tuple[dict[int, str], list[str]]:
    try:
        regions = {int(number): str(name) for number, name in document["region_meta"].items()}
        names = [condition["condition_name"] for item in document["items"] for condition in item["conditions"]]
        return regions, list(dict.fromkeys(name.strip() for name in names))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError("the request does not contain a suite") from None


def scores(result: Result, rows: Rows) -> dict[str, Any]:
    """The scores of a suite as JSON data."""
    try:
        sources: dict[int | None, str] = dict(enumerate(str(each["source"]) for each in result.meta["formulas"]))
    except (KeyError, TypeError):
        raise StoreError(f"the result of {result.suite} has no formulas: its row is damaged") from None
    needed, chart = f"it needs at least {ENOUGH}", None
    if figure := next(figures_of(result, rows), None):
        words = {"title": figure.title, "note": figure.note, "columns": figure.columns, "rows": figure.rows}
        chart = {**words, "spec": vega.page_spec(figure.chart)}
    return {
        "few": "" if result.n >= ENOUGH else f"With {plural(result.n, 'item')} there is no interval: {needed}.",
        "metrics": [
            {
                "metric": row.metric,
                "name": row.name,
                "meaning": row.meaning,
                "formula": sources.get(_prediction_index(row.metric)),
                "text": row.text,
                "interval": row.interval if row.n >= ENOUGH else "",
                "n": row.n,
            }
            for row in headlines(result)
        ],
        "chart": chart,
        "items": _items([row.outcome for row in rows.each(Filter())]),
    }


def suite_of_item(result: Result, judgements: Sequence[OutcomeRow], item: ItemView) -> Document | None:
    """A suite of one item, of any family; None if its sentences are unknown.

    A pair becomes an item with two conditions and three regions: the common beginning, the difference, the common end.
    """
    name = f"{result.suite}, item {judgements[0].outcome.item}"
    sentences = conditions(carrier(judgements, "conditions"))
    if sentences:
        formulas = [str(known.get("source") or "") for known in result.meta.get("formulas") or ()]
        names = names_of(result, [sentences])
        predictions = [{"type": "formula", "formula": formula} for formula in formulas if formula]
        contents = {}
        for condition, parts in sentences.items():
            texts = {region.number: region.content for region in parts}
            contents[condition] = [texts.get(number, "") for number in names]
        return one_item_document(name, metric_of(result), names, contents, predictions)
    if len(item.sentences) != 2:
        return None
    regions = {1: "beginning", 2: "difference", 3: "end"}
    contents = dict(zip(("grammatical", "ungrammatical"), _split_at_difference(item.sentences), strict=True))
    prediction = {"type": "formula", "formula": "(*;%ungrammatical%) > (*;%grammatical%)"}
    return one_item_document(name, "sum", regions, contents, [prediction])


def _prediction_index(metric: str) -> int | None:
    prediction = prediction_of(metric)
    return None if prediction is None or prediction.region_metric else prediction.index


def _items(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    sentences: dict[str, Conditions] = {
        outcome.item: conditions(outcome) for outcome in outcomes if outcome.metric == SUMMARY
    }
    regions = (region for item in sentences.values() for row in item.values() for region in row)
    highest = max((region.value for region in regions if region.value is not None), default=0.0)

    def shade(bits: float | None) -> str:
        # Relative to the most surprising region, since a region's sum has no bound.
        return "sx" if bits is None else share_shade(max(0.0, bits / highest) if highest > 0 else 0.0) or "s0"

    items: dict[str, Any] = {
        item: {
            "held": [],
            "failed": [],
            "conditions": {
                name: [
                    {"content": region.content, "text": tenths(region.value), "shade": shade(region.value)}
                    for region in regions
                ]
                for name, regions in sentences.get(item, {}).items()
            },
        }
        for item in dict.fromkeys(outcome.item for outcome in outcomes)
    }
    for outcome in outcomes:
        if outcome.value is not None and (index := _prediction_index(outcome.metric)) is not None:
            items[outcome.item]["held" if outcome.value else "failed"].append(index)
    return items


def _split_at_difference(sentences: Sequence[str]) -> Iterator[list[str]]:
    split = [sentence.split() for sentence in sentences]
    front = common_start(*split)
    back = common_start(*(words[front:][::-1] for words in split))
    for words in split:
        end = len(words) - back
        yield [" ".join(part) for part in (words[:front], words[front:end], words[end:])]
