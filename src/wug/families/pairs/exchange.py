"""Pairs in the terms of other evaluation programs."""

from __future__ import annotations

from typing import Any

from wug.families.pairs.outcomes import PairOutcome
from wug.samples import Sample, choice_sample
from wug.types import Outcome, Result

SAMPLE_OPTIONS = 2
"""An imported choice is a pair if it has this many options after one context."""


def to_sample(outcome: Outcome, result: Result) -> Sample:
    """The pair of an outcome."""
    pair, detail = PairOutcome.of(outcome), outcome.detail
    logprobs = (detail.get("logprob_good"), detail.get("logprob_bad"))
    scores = (detail.get("score_good"), detail.get("score_bad"))
    given: dict[str, Any] = {
        "context": str(detail.get("context") or ""),
        "scores": scores if None not in scores else (),
        "fields": {"sentence_good": pair.good, "sentence_bad": pair.bad},
    }
    known = () if None in logprobs else (float(logprobs[0]), float(logprobs[1]))  # type: ignore[arg-type]
    return choice_sample((pair.good, pair.bad), 0, outcome.value, known, **given)


def from_sample(sample: Sample) -> dict[str, Any]:
    """The details of an outcome of an imported pair."""
    assert sample.right is not None
    wrong = 1 - sample.right
    detail: dict[str, Any] = {"good": sample.choices[sample.right], "bad": sample.choices[wrong]}
    if sample.logprobs:
        detail |= {"logprob_good": sample.logprobs[sample.right], "logprob_bad": sample.logprobs[wrong]}
    if sample.scores:
        detail |= {"score_good": sample.scores[sample.right], "score_bad": sample.scores[wrong]}
    return {**detail, **({"context": sample.context} if sample.context else {})}
