"""The verdict on one item: each prediction, and all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from wug.errors import FormulaError, InputError
from wug.families.syntaxgym.formula import WHOLE, Comparison, Formula, Judgement
from wug.families.syntaxgym.measures import NO_TOKEN, Measured, Tally, plain
from wug.families.syntaxgym.parts import Empty
from wug.types import Outcome


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and the surprisal of each of its regions, by number from 1 on."""

    text: str
    regions: tuple[Measured, ...]


def judge(
    item: str,
    formulas: Sequence[Formula],
    sentences: Mapping[str, Sentence],
    *,
    metrics: Sequence[str],
    groups: Mapping[str, str],
    suite: str,
    empty: Empty,
    tally: Tally,
) -> Iterator[Outcome]:
    """An outcome for each prediction and one for all of them, by every metric.

    The first metric's checks bear plain names, and its `all_predictions` carries the measured sentences.
    Without predictions there is nothing to judge, and its value is None; so is that of a prediction that compares a
    region in which there is nothing to compare (`empty`), and then that of all of them.
    """
    lacked = enumerate(formula.lacks(partial(_is_empty, sentences)) for formula in formulas)
    missing = {index: _place(*found) for index, found in lacked if found is not None}
    for index, place in missing.items():
        how = "judged with 0 bits" if empty == "zero" else "not judged"
        tally.add(f"prediction {index} {how}", f"item {item}, {place}")
    reasons = {} if empty == "zero" else {index: f"{place} {NO_TOKEN}" for index, place in missing.items()}
    for metric in metrics:
        primary = metric == metrics[0]
        suffix = "" if primary else f"/{metric}"
        verdicts = []
        for index, formula in enumerate(formulas):
            place = f"item {item}, prediction {index}"
            check = f"prediction_{index}{suffix}"
            if why := reasons.get(index):
                if empty == "refuse":
                    raise InputError(f"{why}. Exclude such items (empty=exclude)", file=suite, place=place)
                yield Outcome(item, check, None, groups, {"why": why})
                continue
            judgement = _judgement(formula, sentences, metric, strict=empty == "zero", file=suite, place=place)
            verdicts.append(judgement.holds)
            yield Outcome(item, check, judgement.holds, groups, _detail(formula, judgement))
        detail: dict[str, Any] = {"conditions": _conditions(sentences, metric)} if primary else {}
        if reasons:
            detail["why"] = next(iter(reasons.values()))
        holds = all(verdicts) if formulas and not reasons else None
        yield Outcome(item, f"all_predictions{suffix}", holds, groups, detail)


def _is_empty(sentences: Mapping[str, Sentence], region: int | str, condition: str) -> bool:
    regions = sentences[condition].regions
    return all(one.empty for one in (regions if region == WHOLE else regions[int(region) - 1 :][:1]))


def _place(region: int | str, condition: str) -> str:
    return f"condition {condition}" + ("" if region == WHOLE else f", region {region}")


def _judgement(
    formula: Formula, sentences: Mapping[str, Sentence], metric: str, *, strict: bool, file: str, place: str
) -> Judgement:
    """Whether a prediction holds; an empty region without a value adds none, or is an error if `strict`."""

    def value(region: int | str, condition: str) -> float:
        regions = sentences[condition].regions
        if region == WHOLE:
            # An empty region is not part of the sentence: where a metric gives it no value, it adds none.
            return math.fsum(v for measured in regions if (v := measured.values[metric]) is not None)
        found = regions[int(region) - 1].values[metric]
        if found is None and regions[int(region) - 1].empty and not strict:
            return 0.0
        if found is None:
            raise InputError(
                f"region {region} of condition {condition} has no tokens, so it has no {metric}. "
                "Use the metric sum, which is 0 there",
                file=file,
                place=place,
            )
        return found

    try:
        return formula.judge(value)
    except FormulaError as error:
        raise FormulaError(error.message, error.formula, error.start, error.end, file=file, place=place) from None


def _detail(formula: Formula, judgement: Judgement) -> dict[str, Any]:
    """By how much the prediction holds or fails, and the two sides of each comparison in it."""
    sides = judgement.comparisons
    compared = [{**asdict(both), "left": plain(both.left), "right": plain(both.right)} for both in sides]
    detail: dict[str, Any] = {"margin": plain(judgement.margin), "comparisons": compared}
    if isinstance(formula.tree, Comparison) and len(compared) == 1:
        detail |= {key: compared[0][key] for key in ("left", "operator", "right")}
    return detail


def _conditions(sentences: Mapping[str, Sentence], primary: str) -> dict[str, Any]:
    return {
        name: {"sentence": sentence.text, "regions": [region.detail(primary) for region in sentence.regions]}
        for name, sentence in sentences.items()
    }
