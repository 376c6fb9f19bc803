"""From a scored sentence to the surprisal of its regions, and from there to the outcomes of predictions."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, NamedTuple

from wug.alignment import SPACE_MARKS, first_texts, is_unknown
from wug.errors import FormulaError, InputError
from wug.families.syntaxgym.formula import Formula, PredictionResult
from wug.families.syntaxgym.formula.tree import WHOLE, Relation
from wug.families.syntaxgym.parts import Eos, Region, SentenceLayout, SuiteItem
from wug.formatting import finite_or_none
from wug.outcomes import Notice, Outcome
from wug.requests import LN2, Scored

if TYPE_CHECKING:
    from wug.families.syntaxgym.suite import SyntaxGymSuite

REGION_METRICS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "sum": math.fsum,
    "mean": fmean,
    "median": median,
    "range": lambda bits: 0.0 if max(bits) == min(bits) else max(bits) - min(bits),
    "max": max,
    "min": min,
}


class RegionSurprisal(NamedTuple):
    """The surprisal of one region of one sentence."""

    number: int
    content: str
    values: Mapping[str, float | None]
    """Bits by metric; None if the region has no token and the metric is undefined."""
    oovs: tuple[str, ...] = ()
    tokens: tuple[tuple[str | None, float | None], ...] = ()
    """Tokens with their bits; None for a further part of the preceding character."""
    empty: bool = False
    """Whether it has no token with a probability."""

    def detail(self, primary: str) -> dict[str, Any]:
        """As JSON data; an infinite surprisal becomes null."""
        return {
            "number": self.number,
            "content": self.content,
            "value": finite_or_none(self.values[primary]),
            "values": {region_metric: finite_or_none(value) for region_metric, value in self.values.items()},
            "oovs": list(self.oovs),
            "tokens": [[text, finite_or_none(bits)] for text, bits in self.tokens],
        }


@dataclass(slots=True)
class WarningCounts:
    """Warnings about the model's outputs, counted, with one example each."""

    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, str] = field(default_factory=dict)

    def add(self, warning: str, example: str) -> None:
        """Count a warning."""
        self.counts[warning] = self.counts.get(warning, 0) + 1
        self.examples.setdefault(warning, example)

    def notices(self, items: int) -> list[Notice]:
        """One message per kind of warning."""
        counted = []
        for warning, count in sorted(self.counts.items()):
            text = f"{warning} in {count} of {items} items, since a region that it compares {NO_TOKEN}"
            if warning in _WARNINGS:
                text = _WARNINGS[warning][count != 1].format(count)
            counted.append(Notice(f"{text}; the first is {self.examples[warning]}"))
        return counted


NO_TOKEN = "has no token with a probability"
_WARNINGS = {
    "first": (
        "{} sentence begins with a token that has no probability, since the model has no BOS: it counts as 0 bits",
        "{} sentences begin with a token that has no probability, since the model has no BOS: it counts as 0 bits",
    ),
    "infinite": ("{} token has probability 0", "{} tokens have probability 0"),
    "spanning": (
        "{} token spans two regions and counts in the first",
        "{} tokens span two regions and count in the first",
    ),
    "tokenless": (
        "{} region has text but no token begins in it: its sum is 0 bits",
        "{} regions have text but no token begins in them: their sum is 0 bits",
    ),
    "unknown": ("{} word is unknown to the model", "{} words are unknown to the model"),
    "unscored": (
        "{} token inside a sentence has no probability: it counts as 0 bits",
        "{} tokens inside sentences have no probability: they count as 0 bits",
    ),
}


def measure(
    scored: Scored,
    layout: SentenceLayout,
    regions: Sequence[Region],
    *,
    eos: Eos,
    region_metrics: Sequence[str],
    tally: WarningCounts,
    place: str,
) -> list[RegionSurprisal]:
    """The surprisal of each region, by every metric.

    A token belongs to the region of its first visible character. BOS belongs to none, EOS to none or, with
    `eos=last_region`, to the last region that has text.
    """
    slices = _slices(scored, layout, eos)
    pieces = scored.token_names or tuple(scored.text[a:b] for a, b in zip(scored.starts, scored.ends, strict=True))
    texts = first_texts(scored)
    opening = slices[0][0] if slices else 0
    measured = []
    for region, (_, stop), (first, last) in zip(regions, layout.spans, slices, strict=True):
        where = f"{place}, region {region.number}"
        bits = [None if p is None else 0.0 - p / LN2 for p in scored.logprobs[first:last]]
        counted = [0.0 if value is None else value for value in bits]
        values = {m: REGION_METRICS[m](counted) if counted or m == "sum" else None for m in region_metrics}
        oovs = []
        for i in range(first, last):
            logprob, example = scored.logprobs[i], f"{pieces[i]!r} in {where}"
            if logprob is None:
                tally.add("first" if i == opening else "unscored", example)
            elif math.isinf(logprob):
                tally.add("infinite", example)
            if scored.starts[i] < stop and scored.text[stop : scored.ends[i]].strip():
                tally.add("spanning", example)
            if is_unknown(pieces[i]):
                oovs.append(scored.text[scored.starts[i] : scored.ends[i]].strip())
                tally.add("unknown", f"{oovs[-1]!r} in {where}")
        if not counted and region.text:
            tally.add("tokenless", where)
        tokens = tuple(zip(texts[first:last], bits, strict=True))
        empty = all(value is None for value in bits)
        measured.append(RegionSurprisal(region.number, region.text, values, tuple(oovs), tokens, empty))
    return measured


def _slices(scored: Scored, layout: SentenceLayout, eos: Eos) -> list[tuple[int, int]]:
    """The half-open range of tokens of each region."""
    scored.require_tokens()
    length = len(scored.text)
    end = bisect_left(scored.starts, length)
    first = 0
    if scored.token_names is not None:
        while first < end and scored.ends[first] == 0 and scored.token_names[first].strip(SPACE_MARKS):
            first += 1  # BOS; a single space marker belongs to the next word
    slices = []
    for _, stop in layout.spans:
        # Up to the region's end, not from its start: a token that begins with the space before
        # a region is then counted in it even if a model's offsets include that space.
        last = bisect_left(scored.starts, stop, first, end) if stop < length else end
        slices.append((first, last))
        first = last
    if eos == "last_region":
        last_with_text = max((i for i, (start, stop) in enumerate(layout.spans) if stop > start), default=0)
        slices[last_with_text] = (slices[last_with_text][0], len(scored.starts))
    return slices


class MeasuredSentence(NamedTuple):
    """A sentence and the surprisal of each of its regions, by number from 1 on."""

    text: str
    regions: tuple[RegionSurprisal, ...]


def judge(
    suite: SyntaxGymSuite, item: SuiteItem, sentences: Mapping[str, MeasuredSentence], tally: WarningCounts
) -> Iterator[Outcome]:
    """The outcomes of an item: one per prediction and one for all of them, by every region metric.

    The metrics of the first region metric have no suffix, and its `all_predictions` has the measured sentences. The
    value is None if there are no predictions or, unless `empty` is `zero`, if one compares a region without tokens.
    """
    number, groups, zero = str(item.number), suite.groups, suite.empty == "zero"
    formulas = [prediction.formula for prediction in suite.predictions]
    lacked = enumerate(formula.lacks(partial(_is_empty, sentences)) for formula in formulas)
    missing = {index: _place(*location) for index, location in lacked if location is not None}
    for index, place in missing.items():
        how = "judged with 0 bits" if zero else "not judged"
        tally.add(f"prediction {index + 1} {how}", f"item {number}, {place}")
    reasons = {} if zero else {index: f"{place} {NO_TOKEN}" for index, place in missing.items()}
    for region_metric in suite.region_metrics:
        primary = region_metric == suite.region_metrics[0]
        suffix = "" if primary else f"/{region_metric}"
        verdicts = []
        for index, formula in enumerate(formulas):
            place = f"item {number}, prediction {index + 1}"
            metric = f"prediction_{index}{suffix}"
            if why := reasons.get(index):
                if suite.empty == "refuse":
                    raise InputError(f"{why}. Exclude such items (empty=exclude)", file=suite.name, place=place)
                yield Outcome(number, metric, None, groups, {"why": why})
                continue
            judgement = _judgement(suite, formula, sentences, region_metric, place)
            verdicts.append(judgement.holds)
            yield Outcome(number, metric, judgement.holds, groups, _detail(formula, judgement))
        detail: dict[str, Any] = {}
        if primary:
            detail["conditions"] = {
                name: {
                    "sentence": sentence.text,
                    "regions": [region.detail(region_metric) for region in sentence.regions],
                }
                for name, sentence in sentences.items()
            }
        if reasons:
            detail["why"] = next(iter(reasons.values()))
        holds = all(verdicts) if formulas and not reasons else None
        yield Outcome(number, f"all_predictions{suffix}", holds, groups, detail)


def _is_empty(sentences: Mapping[str, MeasuredSentence], region: int | str, condition: str) -> bool:
    regions = sentences[condition].regions
    return all(each.empty for each in (regions if region == WHOLE else regions[int(region) - 1 :][:1]))


def _place(region: int | str, condition: str) -> str:
    return f"condition {condition}" + ("" if region == WHOLE else f", region {region}")


def _judgement(
    suite: SyntaxGymSuite, formula: Formula, sentences: Mapping[str, MeasuredSentence], region_metric: str, place: str
) -> PredictionResult:
    """Whether a prediction holds; an empty region counts as 0, or is an error with `empty=zero` and no sum."""

    def value(region: int | str, condition: str) -> float:
        regions = sentences[condition].regions
        if region == WHOLE:
            # An empty region is not part of the sentence, so it adds nothing.
            return math.fsum(v for measured in regions if (v := measured.values[region_metric]) is not None)
        surprisal = regions[int(region) - 1].values[region_metric]
        if surprisal is None and regions[int(region) - 1].empty and suite.empty != "zero":
            return 0.0
        if surprisal is None:
            raise InputError(
                f"region {region} of condition {condition} has no tokens, so it has no {region_metric}. "
                "Use the metric sum, which is 0 there",
                file=suite.name,
                place=place,
            )
        return surprisal

    try:
        return formula.judge(value)
    except FormulaError as error:
        raise FormulaError(error.message, error.formula, error.start, error.end, file=suite.name, place=place) from None


def _detail(formula: Formula, judgement: PredictionResult) -> dict[str, Any]:
    compared = [
        {**sides, "left": finite_or_none(sides["left"]), "right": finite_or_none(sides["right"])}
        for sides in judgement.comparisons
    ]
    detail: dict[str, Any] = {"margin": finite_or_none(judgement.margin), "comparisons": compared}
    if isinstance(formula.tree, Relation) and len(compared) == 1:
        detail |= {key: compared[0][key] for key in ("left", "operator", "right")}
    return detail | {field: finite_or_none(value) for field, value in judgement.effects}
