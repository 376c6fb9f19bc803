"""Reading a suite: every field is checked, every problem collected."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from wug.errors import InputError, UnknownName, nearest, suggestion
from wug.families.syntaxgym import formula
from wug.families.syntaxgym.files import SuiteOptions, load, region_metrics
from wug.families.syntaxgym.lint import describe, empty_regions_compared, lint
from wug.families.syntaxgym.parts import Condition, Prediction, Region, SuiteItem
from wug.families.syntaxgym.suite import SyntaxGymSuite
from wug.files import is_unicode, repeated
from wug.formatting import first_items
from wug.problems import ProblemList, refuse_errors

_RELATIONS = {"greaterthan": ">", "lessthan": "<", "equal": "="}


def read_suite(path: Path, choices: SuiteOptions, *, evaluated: bool = False) -> SyntaxGymSuite:
    """Read the suite in a file, or raise an error that lists its problems."""
    problems = ProblemList()
    suite = inspect(path, choices, problems, evaluated=evaluated)
    refuse_errors(problems, path)
    assert suite is not None  # otherwise there were errors
    return suite


def inspect(
    path: Path, choices: SuiteOptions, problems: ProblemList, *, evaluated: bool = False
) -> SyntaxGymSuite | None:
    """The suite in a file; errors and warnings go to `problems`, and None if there are errors.

    InputError if it is not a suite at all. A file with results (`evaluated`) may lack predictions.
    """
    document, understood = load(path, problems, choices)
    return inspect_document(document, choices, problems, understood=understood, evaluated=evaluated)


def inspect_document(
    document: Mapping[str, Any],
    choices: SuiteOptions,
    problems: ProblemList,
    *,
    understood: str | None = None,
    evaluated: bool = False,
) -> SyntaxGymSuite | None:
    """The suite in the JSON form of a file; its errors and warnings go to `problems`, and None if there are errors."""
    for key, fix in _REQUIRED.items():
        if key not in document and not (evaluated and key == "predictions"):
            problems.error("", f"{key!r} is missing. {fix}")
    head = _head(document["meta"], problems) if "meta" in document else {}
    regions = _region_names(document["region_meta"], problems) if "region_meta" in document else None
    before = len(problems.errors)
    items = _items(document.get("items", []), regions, problems)
    sound = regions is not None and bool(items) and len(problems.errors) == before
    if "items" in document and not items and len(problems.errors) == before:
        problems.error("items", "the list is empty")
    conditions = _condition_names(document.get("items"))
    # Without regions and conditions, names in predictions cannot be checked.
    listed = document.get("predictions", [])
    predictions, named = _predictions(listed, regions or {}, conditions if regions else {}, problems)
    if sound:
        conditions_needed(([name for name in names if name in conditions] for names in named), items, problems)
    chosen = choices.region_metrics or _metrics(head, problems)
    if problems.errors or regions is None:
        return None
    suite = SyntaxGymSuite(
        "",
        tuple(items),
        "",
        tuple(map(str, problems.warnings)),
        head=head,
        regions=regions,
        predictions=tuple(predictions),
        extra={key: value for key, value in document.items() if key not in _REQUIRED},
        join=choices.join,
        eos=choices.eos,
        empty=choices.empty,
        region_metrics=chosen,
        understood=understood,
    ).identified()
    if not evaluated:
        problems += lint(suite)
        empty_regions_compared(suite, problems)
    return None if problems.errors else suite


_REQUIRED = {
    "meta": 'It holds at least the name: {"name": "my_suite"}',
    "region_meta": 'It names the regions: {"1": "subject", "2": "verb"}',
    "predictions": "Give an empty list if there are none",
    "items": "It lists the sentences",
}


def _head(meta: object, problems: ProblemList) -> dict[str, Any]:
    if not isinstance(meta, dict):
        problems.error("meta", f"must be an object, not {describe(meta)}")
        return {}
    if "name" not in meta:
        problems.error("meta", "'name' is missing")
    elif isinstance(meta["name"], str) and not meta["name"].strip():
        problems.error("meta, name", "is empty: give the suite a name")
    elif not _is_name(meta["name"]):
        problems.error("meta, name", f"must be text, not {describe(meta['name'])}")
    for key in ("author", "description", "reference"):
        if not isinstance(meta.get(key), str | None):
            problems.error(f"meta, {key}", f"must be text, not {describe(meta[key])}")
    tags = meta.get("tags")
    if tags is not None and not (isinstance(tags, list) and all(isinstance(tag, str) for tag in tags)):
        problems.error("meta, tags", 'must be a list of texts, such as ["agreement"]')
    return meta


def _metrics(head: Mapping[str, Any], problems: ProblemList) -> tuple[str, ...]:
    declared = head.get("metric", "sum")
    names = declared if isinstance(declared, list) else [declared]
    if not names or not all(isinstance(name, str) for name in names):
        problems.error("meta, metric", f"must be a metric's name or a list of them, not {describe(declared)}")
        return ("sum",)
    try:
        return region_metrics(names)
    except UnknownName as error:
        problems.error("meta, metric", str(error))
        return ("sum",)


def _region_names(declared: object, problems: ProblemList) -> dict[int, str] | None:
    if not isinstance(declared, dict) or not declared:
        what = describe(declared) if declared else "empty"
        problems.error("region_meta", f"must be an object of numbers and names, not {what}")
        return None
    names: dict[int, str] = {}
    for key, name in declared.items():
        if not (key.isascii() and key.isdigit() and len(key) < 7 and str(int(key)) == key):
            problems.error("region_meta", f"a region's number must be a whole number from 1, not {key!r}")
        elif not isinstance(name, str) or not _encodable(name):
            problems.error(f"region_meta, {key}", f"a region's name must be text, not {describe(name)}")
        else:
            names[int(key)] = name
    if len(names) < len(declared):
        return None
    if sorted(names) != list(range(1, len(names) + 1)):
        numbers = first_items(sorted(names), 12)
        problems.error("region_meta", f"regions must be numbered from 1 without gaps, not {numbers}")
        return None
    return dict(sorted(names.items()))


def _items(listed: object, regions: Mapping[int, str] | None, problems: ProblemList) -> list[SuiteItem]:
    items: list[SuiteItem] = []
    seen: set[str] = set()
    with problems:
        for index, raw in enumerate(_list(listed, "items"), start=1):
            with problems:
                item = _item(raw, f"items, entry {index}", regions, problems)
                if str(item.number) in seen:
                    problems.error(f"item {item.number}", "another item has the same number")
                seen.add(str(item.number))
                items.append(item)
    return items


def _item(raw: object, entry: str, regions: Mapping[int, str] | None, problems: ProblemList) -> SuiteItem:
    fields = _object(raw, entry, "item_number and conditions")
    number = _field(fields, "item_number", lambda it: _is_whole(it) or _is_name(it), "a whole number", entry)
    place = f"item {number}"
    conditions = _field(fields, "conditions", lambda it: isinstance(it, list) and it, "a nonempty list", place)
    by_name: dict[str, Condition] = {}
    for position, raw_condition in enumerate(conditions, start=1):
        with problems:
            condition = _condition(raw_condition, place, position, regions, problems)
            if condition.name in by_name:
                problems.error(place, f"condition {condition.name!r} is repeated")
            by_name[condition.name] = condition
    return SuiteItem(number, tuple(by_name.values()), _unknown_fields(fields, "item_number", "conditions"))


def _condition(
    raw: object, item: str, position: int, names: Mapping[int, str] | None, problems: ProblemList
) -> Condition:
    entry = f"{item}, entry {position} of conditions"
    fields = _object(raw, entry, "condition_name and regions")
    name = _field(fields, "condition_name", _is_name, "text", entry).strip()
    place = f"{item}, condition {name}"
    if "%" in name or ";" in name:
        problems.error(place, "a condition's name cannot contain % or ;, since predictions could not refer to it")
    listed = _field(fields, "regions", lambda it: isinstance(it, list), "a list", place)
    regions: list[Region] = []
    for index, raw_region in enumerate(listed, start=1):
        with problems:
            regions.append(_region(raw_region, place, index))
    if len(regions) == len(listed):
        if names is not None:
            _numbering(regions, names, place, problems)
        if regions and not any(region.text for region in regions):
            problems.error(place, "the sentence has no text")
    ordered = tuple(sorted(regions, key=lambda region: region.number))
    return Condition(name, ordered, _unknown_fields(fields, "condition_name", "regions"))


def _region(raw: object, place: str, position: int) -> Region:
    entry = f"{place}, entry {position} of regions"
    fields = _object(raw, entry, "region_number and content")
    number = _field(fields, "region_number", _is_whole, "a whole number", entry)
    place = f"{place}, region {number}"
    content = _field(fields, "content", lambda it: isinstance(it, str), 'text ("" for none)', place)
    if not _encodable(content):
        raise InputError("content has a NUL or a lone surrogate, which is not text", place=place)
    return Region(number, content, _unknown_fields(fields, "region_number", "content") if len(fields) > 2 else {})


def _unknown_fields(fields: Mapping[str, Any], *known: str) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key not in known}


def _numbering(regions: list[Region], names: Mapping[int, str], place: str, problems: ProblemList) -> None:
    numbers = [region.number for region in regions]
    if numbers == list(names):
        return
    for number in sorted({number for number in numbers if number not in names}):
        problems.error(f"{place}, region {number}", "is not in region_meta")
    for number in sorted(repeated(numbers)):
        problems.error(f"{place}, region {number}", "is repeated")
    if missing := [number for number in names if number not in numbers]:
        problems.error(place, f'region {missing[0]} is missing. An empty region has the content ""')
    if sorted(numbers) == list(names):
        problems.warn(place, "the regions are not in order; they are read by their numbers")


def _condition_names(items: object) -> dict[str, None]:
    """The conditions that any item names, in order, even if the items have errors."""
    entries = [item.get("conditions") for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    conditions = [entry for group in entries if isinstance(group, list) for entry in group if isinstance(entry, dict)]
    names = [condition.get("condition_name") for condition in conditions]
    return dict.fromkeys(name for name in names if isinstance(name, str))


def _predictions(
    listed: object, regions: Mapping[int, str], conditions: Collection[str], problems: ProblemList
) -> tuple[list[Prediction], list[list[str]]]:
    """The predictions without errors, and the conditions that each one names."""
    predictions: list[Prediction] = []
    named: list[list[str]] = []
    with problems:
        for index, raw in enumerate(_list(listed, "predictions"), start=1):
            named.append([])
            try:
                text = source(raw)
            except InputError as error:
                problems.error(f"prediction {index}", error.message)
                continue
            named[-1] = formula.conditions(text)
            errors = formula.errors(text, regions, conditions)
            for formula_error in errors:
                problems.formula_error = formula_error
                problems.error(f"prediction {index}", str(formula_error))
            if not errors:
                parsed = formula.parse(text)
                predictions.append(Prediction(raw, parsed.resolve(regions, conditions) if conditions else parsed))
    return predictions, named


def source(raw: object) -> str:
    """The text of a prediction in any of its three formats."""
    if isinstance(raw, str):
        return raw
    if not isinstance(raw, dict):
        raise InputError(f"must be a formula, not {describe(raw)}")
    if "relation" not in raw:
        if raw.get("type", "formula") != "formula":
            raise InputError(f"type must be 'formula', not {describe(raw['type'])}")
        return str(_field(raw, "formula", lambda it: isinstance(it, str), "text"))
    relation = raw["relation"]
    if not isinstance(relation, str) or relation not in _RELATIONS:
        raise InputError(f"unknown relation {relation!r}.{suggestion(str(relation), _RELATIONS)}")
    left, right = (
        _field(raw, key, lambda it: isinstance(it, str), "a condition's name") for key in ("l_operand", "r_operand")
    )
    region = _field(raw, "region_number", lambda it: it == "*" or _is_whole(it), "a whole number")
    return f"({region};%{left}%) {_RELATIONS[relation]} ({region};%{right}%)"


def conditions_needed(compared: Iterable[Iterable[str]], items: Sequence[SuiteItem], problems: ProblemList) -> None:
    """Add an error for each condition that a prediction needs and an item lacks, or has misspelt."""
    counts = Counter(condition.name for item in items for condition in item.conditions)
    misspelt: set[tuple[int | str, str]] = set()
    for index, needed in enumerate(compared, start=1):
        for item in items:
            have = {condition.name for condition in item.conditions}
            for name in needed:
                if name in have or (item.number, name) in misspelt:
                    continue
                # A name that most items have is not a misspelling.
                if near := nearest(name, [other for other in have if counts[other] <= len(items) / 2]):
                    misspelt.add((item.number, name))
                    message = f"unknown condition {near!r}. Did you mean {name!r}, which prediction {index} needs?"
                    problems.error(f"item {item.number}, condition {near}", message)
                else:
                    message = f"condition {name!r} is missing, which prediction {index} needs"
                    problems.error(f"item {item.number}", message)


def _object(raw: object, place: str, fields: str) -> Mapping[str, Any]:
    if not isinstance(raw, dict):
        raise InputError(f"must be an object with {fields}, not {describe(raw)}", place=place)
    return raw


def _list(raw: object, place: str) -> list[Any]:
    if not isinstance(raw, list):
        raise InputError(f"must be a list, not {describe(raw)}", place=place)
    return raw


def _field(
    fields: Mapping[str, Any], key: str, is_valid: Callable[[Any], object], expected: str, place: str | None = None
) -> Any:
    """A field of an object, or an InputError if it is missing or of the wrong type."""
    value = fields.get(key)
    if is_valid(value):
        return value
    actual = "NaN" if isinstance(value, float) and math.isnan(value) else describe(value)
    message = f"{key} must be {expected}, not {actual}" if key in fields else f"{key!r} is missing"
    raise InputError(message, place=place)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and _encodable(value)


def _encodable(text: str) -> bool:
    """Whether a file can have the text."""
    return is_unicode(text) and "\0" not in text
