"""Writing suites, and suites with results."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from typing import Any

from wug.errors import InputError
from wug.families.syntaxgym.read import source
from wug.families.syntaxgym.suite import SyntaxGymSuite
from wug.families.syntaxgym.table_files import COLUMNS, number
from wug.families.syntaxgym.table_head import head_lines, left_out, write_head
from wug.types import Result

_FORMULA = {"type", "formula", "relation", "region_number", "l_operand", "r_operand"}
"""What a prediction consists of in any of its shapes."""


def formulas(suite: SyntaxGymSuite) -> list[str]:
    """The predictions as their file writes them."""
    return [source(prediction.raw) for prediction in suite.predictions]


def to_json(suite: SyntaxGymSuite) -> dict[str, Any]:
    """The suite as the object of its JSON form, with everything that was in the file."""
    return {
        "meta": dict(suite.head),
        "region_meta": {str(number): name for number, name in suite.regions.items()},
        "predictions": [prediction.raw for prediction in suite.predictions],
        "items": [
            {
                "item_number": item.number,
                "conditions": [
                    {
                        "condition_name": condition.name,
                        "regions": [
                            {"region_number": region.number, "content": region.content, **region.extra}
                            for region in condition.regions
                        ],
                        **condition.extra,
                    }
                    for condition in item.conditions
                ],
                **item.extra,
            }
            for item in suite.items
        ],
        **suite.extra,
    }


def json_text(document: Mapping[str, Any]) -> str:
    """The object as a JSON file's text."""
    try:
        text = json.dumps(document, indent=2, ensure_ascii=False)
        text.encode()
    except RecursionError:
        raise InputError("a field is nested too deeply to be written") from None
    except UnicodeEncodeError:  # half of a surrogate pair in a field that is only carried along
        text = json.dumps(document, indent=2)
    return text + "\n"


def to_csv(suite: SyntaxGymSuite, delimiter: str = ",", head: Iterable[str] | None = None) -> str:
    """The suite's regions as a table, one row each; its name, predictions and meta in lines above it.

    `head` are other lines to stand there.
    """
    end = "\r\n" if delimiter == "," else "\n"
    regions = (region for item in suite.items for condition in item.conditions for region in condition.regions)
    others = [key for key in _shared_texts(regions) if key != "region_name"]
    out = io.StringIO(newline="")
    above = head_lines(suite.head, formulas(suite)) if head is None else head
    write_head(out, above, delimiter, end)
    writer = csv.writer(out, delimiter=delimiter, lineterminator=end)
    writer.writerow([*COLUMNS[:3], "region_name", "content", *others])
    for item in suite.items:
        for condition in item.conditions:
            for region in condition.regions:
                name = suite.regions[region.number]
                fields = [item.number, condition.name, region.number, name, region.content]
                writer.writerow([*fields, *(region.extra[key] for key in others)])
    return out.getvalue()


def left_out_of_csv(suite: SyntaxGymSuite) -> list[str]:
    """What `to_csv` cannot write, in words."""
    lost = []
    if fields := left_out(suite.head):
        lost.append(f"a table has no place for these fields of meta: {', '.join(fields)} left out")
    beside = {key for one in suite.predictions if isinstance(one.raw, Mapping) for key in one.raw} - _FORMULA
    if beside:
        lost.append(f"a table has no place for these fields of predictions: {', '.join(sorted(beside))} left out")
    kept = set(_shared_texts(r for item in suite.items for c in item.conditions for r in c.regions))
    extras = set(suite.extra)
    for item in suite.items:
        extras |= item.extra.keys()
        for condition in item.conditions:
            extras |= condition.extra.keys()
            extras |= {key for region in condition.regions for key in region.extra if key not in kept}
    if extras:
        lost.append(f"a table has no place for these fields: {', '.join(sorted(extras))} left out")
    return lost


def evaluated_json(result: Result) -> dict[str, Any]:
    """A run's result as an evaluated suite: the sentences with `metric_value` and `oovs` in each region."""
    about = {key: result.meta[key] for key in ("author", "description", "reference") if key in result.meta}
    return {
        "meta": {
            "name": result.suite,
            "metric": result.meta["metric"],
            "tags": result.meta["tags"],
            **about,
            "model": result.model,
            "signature": str(result.signature),
        },
        "region_meta": dict(result.meta["regions"]),
        "predictions": [{"type": "formula", "formula": formula["source"]} for formula in result.meta["formulas"]],
        "items": [
            {
                "item_number": number(outcome.item),
                "conditions": [
                    {"condition_name": name, "regions": [_evaluated_region(region) for region in condition["regions"]]}
                    for name, condition in outcome.detail["conditions"].items()
                ],
            }
            for outcome in result.outcomes
            if outcome.check == "all_predictions"
        ],
    }


def _shared_texts(regions: Iterable[Any]) -> list[str]:
    """The unknown fields that every region has, as text: these fit into a table."""
    shared: dict[str, None] | None = None
    for region in regions:
        texts = {key: None for key, value in region.extra.items() if isinstance(value, str)}
        shared = texts if shared is None else {key: None for key in shared if key in texts}
        if not shared:
            break
    return [key for key in shared or {} if key not in COLUMNS]


def _evaluated_region(region: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "region_number": region["number"],
        "content": region["content"],
        "metric_value": region["values"],
        "oovs": region["oovs"],
    }
