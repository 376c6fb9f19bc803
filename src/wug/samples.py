"""An item and a model's output in the terms that evaluation programs share: context, choices, references, output.

A family declares `to_sample(outcome, result)`, and `from_sample(sample)` if its results can be imported.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Literal

from wug import registry
from wug.outcomes import DATASET_KEY, Outcome, Result

PLAIN_TEXT = "plain_text"
"""False in the meta of a result, or in the record of its set, if the items must not be published as plain text."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One item with the model's output."""

    context: str = ""
    choices: tuple[str, ...] = ()
    """The options, in the order of the file; empty for a test of generated text."""
    contexts: tuple[str, ...] = ()
    """The context of each option, if they differ."""
    right: int | None = None
    reference: tuple[str, ...] = ()
    """The right outputs."""
    output: str = ""
    """The preferred option, or the generated text."""
    logprobs: tuple[float, ...] = ()
    scores: tuple[float, ...] = ()
    """What was compared, if that is not the log-probability."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """The item as a document, with the fields that its family's files have."""

    @property
    def method(self) -> Literal["highest_log_probability", "exact_match"]:
        """How the output was found."""
        return "highest_log_probability" if self.choices else "exact_match"

    @property
    def tied(self) -> bool:
        """Whether another option has the score of the right one."""
        values = self.scores or self.logprobs
        return self.right is not None and values.count(values[self.right]) > 1 if values else False


def choice_sample(
    choices: tuple[str, ...], right: int, value: object, logprobs: tuple[float, ...] = (), **fields: Any
) -> Sample:
    """The sample of a choice: its output is the right option if the outcome says so, else the best of the others."""
    others = [place for place in range(len(choices)) if place != right]
    known = fields.get("scores") or logprobs
    best = max(others, key=lambda place: known[place] if known else 0.0, default=right)
    chosen = right if value is True else best
    return Sample(
        choices=choices, right=right, reference=(choices[right],), output=choices[chosen], logprobs=logprobs, **fields
    )


def plain_sample(outcome: Outcome, result: Result) -> Sample:
    """The sample of a family that declares nothing: `source`, `target` and `answer` of the details."""
    return text_sample(outcome, *(outcome.detail.get(name) for name in ("source", "target", "answer")))


def text_sample(outcome: Outcome, source: object, target: object, answer: object) -> Sample:
    """The sample of generated text; without an answer, its output is the value of the outcome."""
    return Sample(
        context=source if isinstance(source, str) else "",
        reference=(target,) if isinstance(target, str) else (),
        output=answer if isinstance(answer, str) else json.dumps(outcome.value),
        fields={name: text for name, text in (("source", source), ("target", target)) if isinstance(text, str)},
    )


def samples(result: Result) -> Iterator[list[tuple[Outcome, Sample]]]:
    """The outcomes of each item that have a value, with their samples.

    Several families explain an item in one of its outcomes only, so that all share what the details say.
    """
    declared = registry.family_of(result.kind).to_sample or plain_sample
    for _, group in groupby(result.outcomes, key=lambda outcome: outcome.item):
        outcomes = list(group)
        shared = {name: value for outcome in reversed(outcomes) for name, value in outcome.detail.items()}
        with_samples = [
            (outcome, declared(replace(outcome, detail={**shared, **outcome.detail}), result))
            for outcome in outcomes
            if outcome.value is not None
        ]
        if with_samples:
            yield with_samples


def may_publish(result: Result) -> bool:
    """Whether the items of a result may be published as plain text."""
    record = result.meta.get(DATASET_KEY) or {}
    return result.meta.get(PLAIN_TEXT, True) is not False and record.get(PLAIN_TEXT, True) is not False
