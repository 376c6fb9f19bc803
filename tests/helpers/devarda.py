"""The UCL sentences of de Varda, Marelli and Amenta (2023), and how their published results are recomputed."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import wug
from reference import reference

BASELINE = "Subtlex_log10*length + Subtlex_log10*context_length + length*context_length"
NO_PUNCTUATION = "word !~ [.,']"


def table() -> Path:
    return reference("reading/devarda2023/all_measures.csv.gz")


def published(name: str) -> list[dict[str, str]]:
    with reference(f"reading/devarda2023/{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def column(predictor: str) -> str:
    return {"s_GPTNeo_large": "s_GPTNeo_2.7B"}.get(predictor, predictor)


def fitted(rows: list[dict[str, str]], predictor: str, **options: Any) -> wug.Reading:
    """All measures of the published rows, predicted by one predictor."""
    measures = list(dict.fromkeys(row["dv"] for row in rows))
    given = {"baseline": BASELINE, "predictors": column(predictor), "spillover": 0, "where": [NO_PUNCTUATION]}
    return wug.reading(table(), measures, **{**given, **options})
