"""Choices in the terms of other evaluation programs."""

from __future__ import annotations

from typing import Any

from wug.samples import Sample, choice_sample, plain_sample
from wug.types import Outcome, Result

SAMPLE_OPTIONS = 0
"""An imported choice may have any number of options, and each option may have its own context."""


def to_sample(outcome: Outcome, result: Result) -> Sample:
    """The choice of an outcome."""
    detail = outcome.detail
    if "options" not in detail:
        return plain_sample(outcome, result)
    context, options = str(detail.get("context") or ""), tuple(map(str, detail["options"]))
    given: dict[str, Any] = {
        "context": context,
        "contexts": tuple(map(str, detail.get("contexts") or ())),
        "scores": tuple(detail.get("scores") or ()),
        "fields": {"context": context, "options": list(options), "answer": detail["right"]},
    }
    return choice_sample(options, int(detail["right"]) - 1, outcome.value, tuple(detail.get("logprobs") or ()), **given)


def from_sample(sample: Sample) -> dict[str, Any]:
    """The details of an outcome of an imported choice."""
    assert sample.right is not None
    several = {"contexts": list(sample.contexts)} if sample.contexts else {"context": sample.context}
    detail = {**several, "options": list(sample.choices), "right": sample.right + 1}
    if sample.logprobs:
        detail["logprobs"] = list(sample.logprobs)
    return {**detail, **({"scores": list(sample.scores)} if sample.scores else {})}
