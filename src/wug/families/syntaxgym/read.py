"""Reading a suite: every field checked, every fault collected."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from wug.errors import InputError, UnknownName, nearest, suggestion
from wug.families.syntaxgym import formula, oddities
from wug.families.syntaxgym.faults import Faults, kind
from wug.families.syntaxgym.files import load
from wug.families.syntaxgym.options import Choices, metrics
from wug.families.syntaxgym.parts import Condition, Item, Prediction, Region
from wug.families.syntaxgym.suite import SyntaxGymSuite
from wug.files import repeated

_RELATIONS = {"greaterthan": ">", "lessthan": "<", "equal": "="}


def read_suite(path: Path, choices: Choices, *, evaluated: bool = False) -> SyntaxGymSuite:
    """The suite in a file, or an error that lists its faults."""
    faults = Faults()
    suite = inspect(path, choices, faults, evaluated=evaluated)
    faults.raise_any(path)
    assert suite is not None  # else there were faults
    return suite


def inspect(path: Path, choices: Choices, faults: Faults, *, evaluated: bool = False) -> SyntaxGymSuite | None:
    """The suite in a file, whose faults and oddities go to `faults`; None where it has faults.

    InputError where it is no suite at all. A file with results (`evaluated`) may come without predictions.
    """
    document, understood = load(path, faults, choices.columns)
    return inspect_document(document, choices, faults, understood=understood, evaluated=evaluated)


def inspect_document(
    document: Mapping[str, Any],
    choices: Choices,
    faults: Faults,
    *,
    understood: str | None = None,
    evaluated: bool = False,
) -> SyntaxGymSuite | None:
    """The suite in the JSON form of a file; its errors and warnings go to `faults`, and None if there are errors."""
    for key, remedy in _REQUIRED.items():
        if key not in document and not (evaluated and key == "predictions"):
            faults.error("", f"{key!r} is missing. {remedy}")
    head = _head(document["meta"], faults) if "meta" in document else {}
    regions = _region_names(document["region_meta"], faults) if "region_meta" in document else None
    before = len(faults.errors)
    items = _items(document.get("items", []), regions, faults)
    sound = regions is not None and bool(items) and len(faults.errors) == before
    if "items" in document and not items and len(faults.errors) == before:
        faults.error("items", "there are none")
    named = _condition_names(document.get("items"))
    # Where no region or condition can be made out, a prediction is only read: its names are not at fault.
    predictions = _predictions(document.get("predictions", []), regions or {}, named if regions else {}, faults)
    if sound:
        conditions_needed(_conditions_compared(document.get("predictions"), named), items, faults)
    chosen = choices.metrics or _metrics(head, faults)
    if faults.errors or regions is None:
        return None
    suite = SyntaxGymSuite(
        head=head,
        regions=regions,
        predictions=tuple(predictions),
        items=tuple(items),
        extra={key: value for key, value in document.items() if key not in _REQUIRED},
        join=choices.join,
        eos=choices.eos,
        empty=choices.empty,
        metrics=chosen,
        understood=understood,
    )
    suite = replace(suite, notes=tuple(faults.warnings))
    if not evaluated:
        faults.warnings += oddities.find(suite)
        oddities.empty_regions_compared(suite, faults)
    return None if faults.errors else suite


_REQUIRED = {
    "meta": 'It holds at least the name: {"name": "my_suite"}',
    "region_meta": 'It names the regions: {"1": "subject", "2": "verb"}',
    "predictions": "Give an empty list where there are none",
    "items": "It lists the sentences",
}


def _head(meta: Any, faults: Faults) -> dict[str, Any]:
    if not isinstance(meta, dict):
        faults.error("meta", f"must be an object, not {kind(meta)}")
        return {}
    if "name" not in meta:
        faults.error("meta", "'name' is missing")
    elif not isinstance(meta["name"], str) or not meta["name"].strip() or not _encodable(meta["name"]):
        faults.error("meta, name", f"must be text, not {kind(meta['name'])}")
    for key in ("author", "description", "reference"):
        if not isinstance(meta.get(key), str | None):
            faults.error(f"meta, {key}", f"must be text, not {kind(meta[key])}")
    tags = meta.get("tags")
    if tags is not None and not (isinstance(tags, list) and all(isinstance(tag, str) for tag in tags)):
        faults.error("meta, tags", 'must be a list of texts, such as ["agreement"]')
    return meta


def _metrics(head: Mapping[str, Any], faults: Faults) -> tuple[str, ...]:
    given = head.get("metric", "sum")
    names = given if isinstance(given, list) else [given]
    if not names or not all(isinstance(name, str) for name in names):
        faults.error("meta, metric", f"must be a metric's name or a list of them, not {kind(given)}")
        return ("sum",)
    try:
        return metrics(names)
    except UnknownName as error:
        faults.error("meta, metric", str(error))
        return ("sum",)


def _region_names(given: Any, faults: Faults) -> dict[int, str] | None:
    """Number → name, or None where that cannot be made out."""
    if not isinstance(given, dict) or not given:
        faults.error("region_meta", f"must be an object of numbers and names, not {kind(given) if given else 'empty'}")
        return None
    names: dict[int, str] = {}
    for key, name in given.items():
        if not (key.isascii() and key.isdigit() and len(key) < 7 and str(int(key)) == key):
            faults.error("region_meta", f"a region's number must be a whole number from 1 on, not {key!r}")
        elif not isinstance(name, str) or not _encodable(name):
            faults.error(f"region_meta, {key}", f"a region's name must be text, not {kind(name)}")
        else:
            names[int(key)] = name
    if len(names) < len(given):
        return None
    if sorted(names) != list(range(1, len(names) + 1)):
        faults.error("region_meta", f"regions must be numbered from 1 on without a gap, not {_numbers(names)}")
        return None
    return dict(sorted(names.items()))


def _numbers(names: Mapping[int, str]) -> str:
    listed = sorted(names)
    return ", ".join(map(str, listed[:12])) + (", …" if len(listed) > 12 else "")


def _items(given: Any, regions: Mapping[int, str] | None, faults: Faults) -> list[Item]:
    if not isinstance(given, list):
        faults.error("items", f"must be a list, not {kind(given)}")
        return []
    items: list[Item] = []
    seen: set[str] = set()
    for index, raw in enumerate(given, start=1):
        item = _item(raw, index, regions, faults)
        if item is None:
            continue
        if str(item.number) in seen:
            faults.error(f"item {item.number}", "another item has this number too")
        seen.add(str(item.number))
        items.append(item)
    return items


def _item(given: Any, index: int, regions: Mapping[int, str] | None, faults: Faults) -> Item | None:
    place = f"items, entry {index}"
    if not isinstance(given, dict):
        faults.error(place, f"must be an object with item_number and conditions, not {kind(given)}")
        return None
    number: Any = given.get("item_number")
    whole = isinstance(number, int) and not isinstance(number, bool)
    if not whole and not (isinstance(number, str) and number.strip() and _encodable(number)):
        faults.error(place, _missing(given, "item_number", "a whole number"))
        return None
    place = f"item {number}"
    conditions = given.get("conditions")
    if not isinstance(conditions, list) or not conditions:
        faults.error(place, _missing(given, "conditions", "a list with something in it"))
        return None
    found: dict[str, Condition] = {}
    for position, raw in enumerate(conditions, start=1):
        condition = _condition(raw, place, position, regions, faults)
        if condition is None:
            continue
        if condition.name in found:
            faults.error(place, f"condition {condition.name!r} stands twice")
        found[condition.name] = condition
    extra = {key: value for key, value in given.items() if key not in ("item_number", "conditions")}
    return Item(number, tuple(found.values()), extra)


def _condition(
    given: Any, item: str, position: int, names: Mapping[int, str] | None, faults: Faults
) -> Condition | None:
    place = f"{item}, entry {position} of conditions"
    if not isinstance(given, dict):
        faults.error(place, f"must be an object with condition_name and regions, not {kind(given)}")
        return None
    name = given.get("condition_name")
    if not isinstance(name, str) or not name.strip() or not _encodable(name):
        faults.error(place, _missing(given, "condition_name", "text"))
        return None
    place = f"{item}, condition {name.strip()}"
    if "%" in name or ";" in name:
        faults.error(place, "a condition's name cannot have % or ; in it: predictions could not speak of it")
    listed = given.get("regions")
    if not isinstance(listed, list):
        faults.error(place, _missing(given, "regions", "a list"))
        return None
    regions = [_region(raw, place, index, faults) for index, raw in enumerate(listed, start=1)]
    found = [region for region in regions if region is not None]
    if len(found) == len(listed) and names is not None:
        _numbering(found, names, place, faults)
    extra = {key: value for key, value in given.items() if key not in ("condition_name", "regions")}
    ordered = tuple(sorted(found, key=lambda region: region.number))
    if ordered and not any(region.text for region in ordered) and len(found) == len(listed):
        faults.error(place, "the sentence has no text")
    return Condition(name.strip(), ordered, extra)


def _region(given: Any, place: str, position: int, faults: Faults) -> Region | None:
    if not isinstance(given, dict):
        faults.error(
            f"{place}, entry {position} of regions",
            f"must be an object with region_number and content, not {kind(given)}",
        )
        return None
    number, content = given.get("region_number"), given.get("content")
    if not isinstance(number, int) or isinstance(number, bool):
        faults.error(f"{place}, entry {position} of regions", _missing(given, "region_number", "a whole number"))
        return None
    if not isinstance(content, str):
        faults.error(f"{place}, region {number}", _missing(given, "content", 'text ("" for none)'))
        return None
    if not _encodable(content):
        faults.error(
            f"{place}, region {number}", "content has a NUL or half of a surrogate pair, which text does not have"
        )
        return None
    if len(given) == 2:
        return Region(number, content)
    return Region(number, content, {k: v for k, v in given.items() if k not in ("region_number", "content")})


def _numbering(found: list[Region], names: Mapping[int, str], place: str, faults: Faults) -> None:
    """Each region of region_meta once, in order."""
    numbers = [region.number for region in found]
    if numbers == list(names):
        return
    for number in sorted({number for number in numbers if number not in names}):
        faults.error(f"{place}, region {number}", "is not in region_meta")
    for number in sorted(repeated(numbers)):
        faults.error(f"{place}, region {number}", "stands twice")
    if missing := [number for number in names if number not in numbers]:
        faults.error(place, f'region {missing[0]} is missing. An empty region has the content ""')
    if sorted(numbers) == list(names):
        faults.warn(place, "the regions do not stand in order; they are read by their numbers")


def _condition_names(items: Any) -> dict[str, None]:
    """The conditions that any item names, in order, whatever else is wrong with the items."""
    entries = [item.get("conditions") for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    conditions = [entry for some in entries if isinstance(some, list) for entry in some if isinstance(entry, dict)]
    names = [condition.get("condition_name") for condition in conditions]
    return dict.fromkeys(name for name in names if isinstance(name, str))


def _predictions(
    given: Any, regions: Mapping[int, str], conditions: Collection[str], faults: Faults
) -> list[Prediction]:
    if not isinstance(given, list):
        faults.error("predictions", f"must be a list, not {kind(given)}")
        return []
    predictions = []
    for index, raw in enumerate(given):
        try:
            text = source(raw)
        except InputError as error:
            faults.error(f"prediction {index}", error.message)
            continue
        found = formula.faults(text, regions, conditions)
        for fault in found:
            faults.formula(f"prediction {index}", fault)
        if not found:
            parsed = formula.parse(text)
            predictions.append(Prediction(raw, parsed.resolve(regions, conditions) if conditions else parsed))
    return predictions


def source(raw: Any) -> str:
    """The text of a prediction in any of its three shapes."""
    if isinstance(raw, str):
        return raw
    if not isinstance(raw, dict):
        raise InputError(f"must be a formula, not {kind(raw)}")
    if "relation" in raw:
        return _legacy(raw)
    if raw.get("type", "formula") != "formula":
        raise InputError(f"type must be 'formula', not {kind(raw['type'])}")
    if not isinstance(raw.get("formula"), str):
        raise InputError(_missing(raw, "formula", "text"))
    return str(raw["formula"])


def _legacy(raw: Mapping[str, Any]) -> str:
    relation = raw["relation"]
    if not isinstance(relation, str) or relation not in _RELATIONS:
        raise InputError(f"unknown relation {relation!r}.{suggestion(str(relation), _RELATIONS)}")
    for key in ("l_operand", "r_operand"):
        if not isinstance(raw.get(key), str):
            raise InputError(_missing(raw, key, "a condition's name"))
    region = raw.get("region_number")
    if region != "*" and (not isinstance(region, int) or isinstance(region, bool)):
        raise InputError(_missing(raw, "region_number", "a whole number"))
    return f"({region};%{raw['l_operand']}%) {_RELATIONS[relation]} ({region};%{raw['r_operand']}%)"


def _conditions_compared(given: Any, known: Collection[str]) -> dict[int, list[str]]:
    """The conditions that each prediction compares, by its number; of one that cannot be read, those it names."""
    found: dict[int, list[str]] = {}
    for index, raw in enumerate(given if isinstance(given, list) else ()):
        with suppress(InputError):
            found[index] = [name for name in formula.conditions(source(raw)) if name in known]
    return found


def conditions_needed(compared: Mapping[int, Sequence[str]], items: Sequence[Item], faults: Faults) -> None:
    """Every item must have the conditions that the predictions compare; one that nearly has one has misspelt it."""
    every = Counter(condition.name for item in items for condition in item.conditions)
    misspelt: set[tuple[int | str, str]] = set()
    for index, needed in compared.items():
        for item in items:
            have = {condition.name for condition in item.conditions}
            for name in needed:
                if name in have or (item.number, name) in misspelt:
                    continue
                # What most items have is no misspelling of what most have.
                if near := nearest(name, [other for other in have if every[other] <= len(items) / 2]):
                    misspelt.add((item.number, name))
                    faults.error(
                        f"item {item.number}, condition {near}",
                        f"unknown condition {near!r}. Did you mean {name!r}, which prediction {index} needs?",
                    )
                else:
                    faults.error(
                        f"item {item.number}", f"condition {name!r} is missing, which prediction {index} needs"
                    )


def _missing(given: Mapping[str, Any], key: str, wanted: str) -> str:
    if key not in given:
        return f"{key!r} is missing"
    value = given[key]
    if isinstance(value, float) and math.isnan(value):
        return f"{key} must be {wanted}, not NaN"
    return f"{key} must be {wanted}, not {kind(value)}"


def _encodable(text: str) -> bool:
    """Whether the text is made of characters; JSON can also write NUL and halves of surrogate pairs."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text
