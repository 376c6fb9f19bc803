"""The tables that SyntaxGym's users know: a row a judgement, a row a region."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wug.families.syntaxgym.checks import prediction_of
from wug.types import Result

JUDGEMENTS = ("suite", "prediction_id", "item_number", "result")
SURPRISALS = ("suite", "item_number", "condition_name", "region_number", "content", "metric_value", "oovs")


def tsv(results: Sequence[Result]) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Columns and rows: each prediction on each item, by the suite's primary metric."""
    rows = [
        (result.suite, str(prediction.index), outcome.item, outcome.value)
        for result in results
        for outcome in result.outcomes
        if (prediction := prediction_of(outcome.check)) is not None and not prediction.metric
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
