"""Suites in the JSON form that the editor's grid needs: every region of every sentence once, in order."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from wug.errors import InputError
from wug.families.syntaxgym.faults import Faults
from wug.families.syntaxgym.files import is_table
from wug.families.syntaxgym.options import choices
from wug.families.syntaxgym.read import inspect, inspect_document, source
from wug.families.syntaxgym.table_files import columns_of, load_table
from wug.families.syntaxgym.table_head import head_lines
from wug.families.syntaxgym.view.regions import Conditions, conditions, metric_of, names_of
from wug.families.syntaxgym.write import evaluated_json, json_text, to_csv
from wug.files import read_text
from wug.rows import Placed
from wug.types import Result
from wug.views.parts import Item, carrier

Document: TypeAlias = dict[str, Any]
Notes: TypeAlias = list[str]
"""Sentences about what was changed when a suite was opened."""

GOOD, BAD = "grammatical", "ungrammatical"
_MALFORMED = (KeyError, TypeError, ValueError, AttributeError, RecursionError)
"""What reading a document of another shape raises."""


def is_document(document: object) -> bool:
    """Whether a JSON value has the keys of a suite."""
    return isinstance(document, dict) and {"meta", "region_meta", "predictions", "items"} <= document.keys()


def is_suite(path: Path, head: str) -> bool:
    """Whether a file is probably a suite, from its name and its first characters."""
    if is_table(path):
        return columns_of(head) is not None
    return ".json" in path.name and any(f'"{key}"' in head for key in ("region_meta", "condition_name"))


def open_file(path: Path) -> tuple[Document, Notes]:
    """The suite in a file, with any errors it has, as long as it makes a grid."""
    if is_table(path):
        return open_table(path)
    notes: Notes = []
    try:
        document = json.loads(read_text(path))
        return _grid(document, notes), notes
    except _MALFORMED:
        raise _first_errors(path) from None


def open_table(path: Path) -> tuple[Document, Notes]:
    """The suite in a table; its predictions may have errors, its rows may not."""
    faults = Faults()
    table = load_table(path, faults)
    faults.raise_any(path)
    notes = [f"{table.understood[0].upper()}{table.understood[1:]}."]
    try:
        return _grid(table.document, notes), notes
    except _MALFORMED:
        raise _first_errors(path) from None


def suite_of_result(result: Result) -> Document:
    """The suite of a result, as far as the result contains it: a limited run has fewer items."""
    try:
        judged = evaluated_json(result)
    except _MALFORMED:
        raise InputError(f"the result of {result.suite} does not hold its sentences: its rows are damaged") from None
    for region in (r for item in judged["items"] for one in item["conditions"] for r in one["regions"]):
        del region["metric_value"], region["oovs"]
    metric = judged["meta"]["metric"]
    meta = {key: value for key, value in judged["meta"].items() if key not in ("model", "signature") and value}
    meta["metric"] = metric[0] if isinstance(metric, list) and len(metric) == 1 else metric
    return _grid({**judged, "meta": meta}, [])


def suite_of_item(result: Result, judgements: Sequence[Placed], item: Item) -> Document | None:
    """A suite of one item, of any family; None if its sentences are unknown.

    A pair becomes an item with two conditions and three regions: the common beginning, the difference, the common end.
    """
    name = f"{result.suite}, item {judgements[0].outcome.item}"
    sentences = conditions(carrier(judgements, "conditions"))
    if sentences:
        formulas = [str(known.get("source") or "") for known in result.meta.get("formulas") or ()]
        names = names_of(result, [sentences])
        predictions = [{"type": "formula", "formula": formula} for formula in formulas if formula]
        return _document(name, metric_of(result), names, _contents(sentences, list(names)), predictions)
    if len(item.sentences) != 2:
        return None
    regions = {1: "beginning", 2: "difference", 3: "end"}
    contents = dict(zip((GOOD, BAD), _split_at_difference(*item.sentences), strict=True))
    return _document(name, "sum", regions, contents, [{"type": "formula", "formula": f"(*;%{BAD}%) > (*;%{GOOD}%)"}])


def to_text(document: Mapping[str, Any], suffix: str) -> str:
    """A suite as the text of a .json, .csv or .tsv file."""
    if suffix == ".json":
        return json_text(document)
    meta = document.get("meta")
    try:
        given = document.get("predictions", [])
        predictions = [source(raw) for raw in (given if isinstance(given, list) else [given])]
    except InputError as error:
        raise InputError(f"The table cannot be written yet: a prediction {error}") from None
    # The lines above the table may have errors: they are there to be worked on.
    head = head_lines(meta if isinstance(meta, dict) else {}, [text for text in predictions if text.strip()])
    faults = Faults()
    suite = inspect_document({**document, "predictions": [], "meta": {"name": "suite"}}, choices({}), faults)
    if suite is None:
        faults.raise_any("The table cannot be written yet")
    assert suite is not None
    return to_csv(suite, "\t" if suffix == ".tsv" else ",", head)


def _blank() -> Document:
    """Two conditions and three regions, all empty."""
    rows = {"condition_1": ["", "", ""], "condition_2": ["", "", ""]}
    return _document("", "sum", {number: f"region_{number}" for number in (1, 2, 3)}, rows, [])


def _two_by_two() -> Document:
    """Two factors, with an example: number agreement across a noun of the other number."""
    rows = {
        "match_sing": ["The boy", "near the dogs", "swims", "today ."],
        "mismatch_sing": ["The boy", "near the dogs", "swim", "today ."],
        "match_plural": ["The boys", "near the dog", "swim", "today ."],
        "mismatch_plural": ["The boys", "near the dog", "swims", "today ."],
    }
    predictions = ["(3;%match_sing%) < (3;%mismatch_sing%)", "(3;%match_plural%) < (3;%mismatch_plural%)"]
    return _document("", "sum", {1: "subject", 2: "modifier", 3: "verb", 4: "rest"}, rows, predictions)


DESIGNS = {"blank": _blank, "2x2": _two_by_two}
"""Suites to begin with."""


def _document(
    name: str, metric: str, regions: Mapping[int, str], rows: Mapping[str, Sequence[str]], predictions: Sequence[object]
) -> Document:
    """A suite with one item; `rows` are the contents of its regions by condition."""
    written = [
        {
            "condition_name": condition,
            "regions": [{"region_number": number, "content": text} for number, text in enumerate(texts, start=1)],
        }
        for condition, texts in rows.items()
    ]
    return {
        "meta": {"name": name, "metric": metric},
        "region_meta": {str(number): region for number, region in regions.items()},
        "predictions": list(predictions),
        "items": [{"item_number": 1, "conditions": written}],
    }


def _contents(sentences: Conditions, numbers: Sequence[int]) -> dict[str, list[str]]:
    by_number = {name: {region.number: region.content for region in regions} for name, regions in sentences.items()}
    return {name: [contents.get(number, "") for number in numbers] for name, contents in by_number.items()}


def _split_at_difference(good: str, bad: str) -> tuple[list[str], list[str]]:
    """Both sentences in three parts: their common beginning, the difference, their common end."""
    one, other = good.split(), bad.split()
    shortest = min(len(one), len(other))
    front = next((at for at in range(shortest) if one[at] != other[at]), shortest)
    rest = shortest - front
    back = next((at for at in range(rest) if one[-1 - at] != other[-1 - at]), rest)
    return _three_parts(one, front, back), _three_parts(other, front, back)


def _three_parts(words: list[str], front: int, back: int) -> list[str]:
    end = len(words) - back
    return [" ".join(part) for part in (words[:front], words[front:end], words[end:])]


def _first_errors(path: Path) -> InputError:
    """Why a file does not make a grid, in the words of `wug check`."""
    faults = Faults()
    try:
        inspect(path, choices({}), faults)
    except InputError as error:
        faults.error(error.place or "", error.message)
    errors = [str(problem) for problem in faults.errors]
    return InputError("\n".join(errors[:5]) or "this file is not a suite", file=path.name)


def _grid(document: Document, notes: Notes) -> Document:
    """The suite with every region of every sentence once and in order; one of `_MALFORMED` if that is impossible."""
    numbers = sorted(int(number) for number in document["region_meta"])
    if numbers != list(range(1, len(numbers) + 1)) or not numbers:
        raise ValueError("regions are not numbered from 1")
    if not all(isinstance(name, str) for name in document["region_meta"].values()):
        raise TypeError("a region's name is not text")
    items = [_grid_item(item, numbers, notes) for item in document["items"]]
    predictions = document.get("predictions", [])
    if not isinstance(predictions, list) or not all(isinstance(one, str | dict) for one in predictions):
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
