"""The JSON Schema of a suite, for editors and other programs."""

from __future__ import annotations

from typing import Any

from wug.families.syntaxgym.measures import METRICS


def schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a suite, with or without results."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "SyntaxGym suite",
        "description": "Sentences divided into regions, in several conditions, with predictions about the surprisal "
        "of the regions. Unknown fields are allowed everywhere and kept.",
        "type": "object",
        "required": ["meta", "region_meta", "predictions", "items"],
        "properties": {
            "meta": _meta(),
            "region_meta": {
                "title": "Region names",
                "description": "Region number → name. The numbers run from 1 on without a gap.",
                "type": "object",
                "minProperties": 1,
                "patternProperties": {"^[1-9][0-9]*$": {"type": "string"}},
                "additionalProperties": False,
                "examples": [{"1": "subject", "2": "verb"}],
            },
            "predictions": {
                "title": "Predictions",
                "description": "What a model that knows the construction does; an empty list for none.",
                "type": "array",
                "items": {"$ref": "#/$defs/prediction"},
            },
            "items": {
                "title": "Items",
                "description": "Each a lexical content that stands in every condition.",
                "type": "array",
                "minItems": 1,
                "items": {"$ref": "#/$defs/item"},
            },
        },
        "$defs": {
            "metric": {"title": "Metric", "enum": list(METRICS)},
            "formula": {
                "title": "Formula",
                "description": "A comparison of region surprisals, written (region number;%condition%); "
                "* is the whole sentence.",
                "type": "string",
                "minLength": 1,
                "examples": ["(2;%mismatch%) > (2;%match%)"],
            },
            "prediction": _prediction(),
            "item": _item(),
            "condition": _condition(),
            "region": _region(),
        },
    }


def _meta() -> dict[str, Any]:
    return {
        "title": "About the suite",
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"description": "What results are filed under.", "type": "string", "pattern": r"\S"},
            "metric": {
                "description": "How the surprisals of a region's tokens become one number; sum where nothing is said.",
                "default": "sum",
                "anyOf": [
                    {"$ref": "#/$defs/metric"},
                    {"const": "all"},
                    {"type": "array", "minItems": 1, "items": {"enum": [*METRICS, "all"]}},
                ],
            },
            "tags": {
                "description": "What to find the suite by.",
                "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}],
            },
            "author": {"type": ["string", "null"]},
            "description": {"type": ["string", "null"]},
            "reference": {"description": "Where the suite was published.", "type": ["string", "null"]},
            "comment": {"description": "Stays in the file; not shown on pages."},
            "model": {"description": "Whose results these are, in a suite with results."},
        },
    }


def _prediction() -> dict[str, Any]:
    return {
        "title": "Prediction",
        "anyOf": [
            {"$ref": "#/$defs/formula"},
            {
                "type": "object",
                "required": ["formula"],
                "properties": {"type": {"const": "formula"}, "formula": {"$ref": "#/$defs/formula"}},
            },
            {
                "title": "Older form",
                "type": "object",
                "required": ["relation", "region_number", "l_operand", "r_operand"],
                "properties": {
                    "relation": {"enum": ["greaterthan", "lessthan", "equal"]},
                    "region_number": {"anyOf": [{"type": "integer", "minimum": 1}, {"const": "*"}]},
                    "l_operand": {"description": "The condition on the left.", "type": "string"},
                    "r_operand": {"description": "The condition on the right.", "type": "string"},
                },
            },
        ],
    }


def _item() -> dict[str, Any]:
    return {
        "title": "Item",
        "type": "object",
        "required": ["item_number", "conditions"],
        "properties": {
            "item_number": {
                "description": "Unlike any other item's.",
                "anyOf": [{"type": "integer"}, {"type": "string", "pattern": r"\S"}],
            },
            "conditions": {
                "description": "One sentence each.",
                "type": "array",
                "minItems": 1,
                "items": {"$ref": "#/$defs/condition"},
            },
        },
    }


def _condition() -> dict[str, Any]:
    return {
        "title": "Condition",
        "type": "object",
        "required": ["condition_name", "regions"],
        "properties": {
            "condition_name": {
                "description": "The name that predictions use; any characters but % and ;.",
                "type": "string",
                "pattern": r"^[^%;]*[^%;\s][^%;]*$",
            },
            "regions": {
                "description": "Every region of region_meta once.",
                "type": "array",
                "minItems": 1,
                "items": {"$ref": "#/$defs/region"},
            },
        },
    }


def _region() -> dict[str, Any]:
    return {
        "title": "Region",
        "type": "object",
        "required": ["region_number", "content"],
        "properties": {
            "region_number": {"description": "A key of region_meta.", "type": "integer", "minimum": 1},
            "content": {"description": "The text before tokenization; may be empty.", "type": "string"},
            "metric_value": {
                "description": "Bits by metric, in a suite with results; null where the metric has no value.",
                "anyOf": [
                    {"type": "object", "additionalProperties": {"type": ["number", "null"]}},
                    {"type": "number"},
                ],
            },
            "oovs": {
                "description": "The words that the model does not know, in a suite with results.",
                "type": "array",
                "items": {"type": "string"},
            },
        },
    }
