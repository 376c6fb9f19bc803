"""Writing suites, suites with results, and tables of results."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from wug.errors import InputError
from wug.families.syntaxgym.parts import Region
from wug.families.syntaxgym.read import source
from wug.families.syntaxgym.suite import SUMMARY, SyntaxGymSuite, prediction_of
from wug.families.syntaxgym.tables import COLUMNS, LISTS, TEXTS, item_list
from wug.outcomes import Outcome, Result
from wug.samples import Sample

Document: TypeAlias = dict[str, Any]

_FORMULA = {"type", "formula", "relation", "region_number", "l_operand", "r_operand"}
"""The fields of a prediction in any of its formats."""
_REGION = {"region_number": "number", "content": "content", "metric_value": "values", "oovs": "oovs"}
"""The fields of a region in an evaluated suite, and in the details of an outcome."""


def to_json(suite: SyntaxGymSuite) -> dict[str, Any]:
    """The suite in its JSON form, unknown fields included."""
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


def one_item_document(
    name: str,
    region_metric: str,
    regions: Mapping[int, str],
    rows: Mapping[str, Sequence[str]],
    predictions: Sequence[object],
) -> Document:
    """A suite with one item; `rows` are the contents of its regions by condition."""
    conditions = {
        name: [{"region_number": number, "content": text} for number, text in enumerate(texts, start=1)]
        for name, texts in rows.items()
    }
    return {
        "meta": {"name": name, "metric": region_metric},
        "region_meta": {str(number): region for number, region in regions.items()},
        "predictions": list(predictions),
        "items": item_list({"1": conditions}),
    }


def json_text(document: Mapping[str, Any]) -> str:
    """The document as the text of a JSON file."""
    try:
        text = json.dumps(document, indent=2, ensure_ascii=False)
        text.encode()
    except RecursionError:
        raise InputError("a field is nested too deeply to be written") from None
    except UnicodeEncodeError:  # a lone surrogate in an unknown field
        text = json.dumps(document, indent=2)
    return text + "\n"


def to_csv(suite: SyntaxGymSuite, delimiter: str = ",", head: Iterable[str] | None = None) -> str:
    """The suite as a table with one row per region; name, predictions and meta (or `head`) in lines above it."""
    end = "\r\n" if delimiter == "," else "\n"
    regions = (region for item in suite.items for condition in item.conditions for region in condition.regions)
    others = [key for key in _shared_texts(regions) if key != "region_name"]
    if head is None:
        head = head_lines(suite.head, [source(prediction.raw) for prediction in suite.predictions])
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator=end)  # quotes lines that a spreadsheet would split
    writer.writerows([line] for line in head)
    writer.writerow([*COLUMNS[:3], "region_name", "content", *others])
    for item in suite.items:
        for condition in item.conditions:
            for region in condition.regions:
                name = suite.regions[region.number]
                fields = [item.number, condition.name, region.number, name, region.content]
                writer.writerow([*fields, *(region.extra[key] for key in others)])
    return out.getvalue()


def left_out_of_csv(suite: SyntaxGymSuite) -> list[str]:
    """The fields that `to_csv` cannot write, in words."""
    lost = []
    written = {line[2:].partition(":")[0] for line in head_lines(suite.head, ())}
    if fields := [key for key in suite.head if key not in written]:
        lost.append(f"a table cannot store these fields of meta: {', '.join(fields)}")
    documents = (prediction.raw for prediction in suite.predictions if isinstance(prediction.raw, Mapping))
    if unknown := set().union(*documents) - _FORMULA:
        lost.append(f"a table cannot store these fields of predictions: {', '.join(sorted(unknown))}")
    conditions = [condition for item in suite.items for condition in item.conditions]
    regions = [region for condition in conditions for region in condition.regions]
    extras = set(suite.extra).union(*(item.extra for item in suite.items), *(c.extra for c in conditions))
    extras |= set().union(*(region.extra for region in regions)) - set(_shared_texts(regions))
    if extras:
        lost.append(f"a table cannot store these fields: {', '.join(sorted(extras))}")
    return lost


def evaluated_json(result: Result) -> dict[str, Any]:
    """A run's result as an evaluated suite: the sentences with `metric_value` and `oovs` in each region."""
    about = {"name": result.suite, "metric": result.meta["metric"], "tags": result.meta["tags"]}
    about |= {key: result.meta[key] for key in ("author", "description", "reference") if key in result.meta}
    items = {
        outcome.item: {
            name: [{new: region[key] for new, key in _REGION.items()} for region in condition["regions"]]
            for name, condition in outcome.detail["conditions"].items()
        }
        for outcome in result.outcomes
        if outcome.metric == SUMMARY
    }
    return {
        "meta": {**about, "model": result.model, "signature": str(result.signature)},
        "region_meta": dict(result.meta["regions"]),
        "predictions": [{"type": "formula", "formula": formula["source"]} for formula in result.meta["formulas"]],
        "items": item_list(items),
    }


def _shared_texts(regions: Iterable[Region]) -> list[str]:
    """The unknown text fields that every region has: a table can store these."""
    texts = [{key: None for key, value in region.extra.items() if isinstance(value, str)} for region in regions]
    return [key for key in next(iter(texts), ()) if key not in COLUMNS and all(key in keys for keys in texts)]


JUDGEMENTS = ("suite", "prediction_id", "item_number", "result")
SURPRISALS = ("suite", "item_number", "condition_name", "region_number", "content", "metric_value", "oovs")


def tsv(results: Sequence[Result]) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Columns and rows: each prediction on each item, by the suite's primary metric."""
    rows = [
        (result.suite, str(prediction.index), outcome.item, outcome.value)
        for result in results
        for outcome in result.outcomes
        if (prediction := prediction_of(outcome.metric)) is not None and not prediction.region_metric
    ]
    return JUDGEMENTS, rows


def surprisals(results: Sequence[Result]) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Columns and rows: each region of each sentence with its value in bits, by the suite's primary metric."""
    rows = [
        (r.suite, o.item, condition, region["number"], region["content"], region["value"], ",".join(region["oovs"]))
        for r in results
        for o in r.outcomes
        for condition, sentence in o.detail.get("conditions", {}).items()
        for region in sentence["regions"]
    ]
    return SURPRISALS, rows


def to_sample(outcome: Outcome, result: Result) -> Sample:
    """The sentences of an item by condition, with the prediction in English."""
    conditions = outcome.detail.get("conditions") or {}
    sentences = {name: sentence["sentence"] for name, sentence in conditions.items()}
    return Sample(
        context=json.dumps(sentences, ensure_ascii=False),
        reference=(result.metric(outcome.metric).meaning or outcome.metric,),
        output=json.dumps(outcome.value),
        fields={"conditions": sentences},
    )


def head_lines(meta: Mapping[str, Any], predictions: Sequence[str]) -> Iterator[str]:
    """The header lines of a table, as far as it can store a suite."""
    for key in (*TEXTS, *LISTS):
        value = meta.get(key)
        if key in LISTS and isinstance(value, list) and all(isinstance(entry, str) for entry in value):
            plain = value and all(_is_plain(entry) and not set(',;"[') & set(entry) for entry in value)
            yield f"# {key}: {', '.join(value) if plain else json.dumps(value)}"
        elif isinstance(value, str):
            yield f"# {key}: {_one_line(value)}"
    for formula in predictions:
        yield f"# prediction: {_one_line(formula)}"


def _one_line(text: str) -> str:
    """A text in one line, as JSON if it would not be read back as it is."""
    return text if _is_plain(text) and not re.search(r'^"|[,;]\Z', text) else json.dumps(text)


def _is_plain(text: str) -> bool:
    return bool(text) and text == text.strip() and text.isprintable()
