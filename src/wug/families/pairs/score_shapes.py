"""Judges pairs by given scores: of both sentences, or of the labels that answer a question about them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from wug.families.pairs.lint import describe_copies
from wug.families.pairs.outcomes import ACCURACY, HumanCorrelations
from wug.families.pairs.pair import Pair, is_identical
from wug.formatting import finite, plural
from wug.types import Metric, Notice, Outcome, Row

MIN_ANSWER_MASS = 0.1
"""The mean probability of both labels below which they are hardly answers."""
_WRAPPING = " \t\r\n\"'“”‘’«»()[]{}*."
"""Characters around an answer that are not part of it."""


@dataclass(frozen=True, slots=True)
class ScoredPair:
    """A pair with its scores, in the order of the shape of the table."""

    pair: Pair
    scores: tuple[float, ...]
    model: str = ""
    why: str = ""
    """Why it cannot be judged."""


@dataclass(frozen=True, slots=True)
class _Shape:
    metrics: tuple[Metric, ...]
    judge: Callable[[ScoredPair], Iterator[Outcome]]
    margin: Callable[[Sequence[float]], float]


def parse_answer(text: str, labels: Sequence[str]) -> str | None:
    """The label with which an answer begins, as a whole word; None if there is none.

    Case counts for labels of one letter only: "a" begins many sentences.
    """
    stripped = text.strip(_WRAPPING)
    for label in labels:
        flags = re.NOFLAG if len(label) == 1 else re.IGNORECASE
        if re.match(rf"{re.escape(label)}(?!\w)", stripped, flags):
            return label
    return None


def judge_pairs(pairs: Sequence[ScoredPair], shape: str) -> Iterator[Row]:
    """The outcomes of pairs, then correlations and warnings."""
    correlations = HumanCorrelations()
    ties = identical = 0
    mass: list[float] = []
    for one in pairs:
        if one.why:
            yield Outcome(one.pair.item, ACCURACY, None, one.pair.groups, {"why": one.why})
            continue
        if one.pair.human is not None:
            correlations.collect(finite(SHAPES[shape].margin(one.scores)), one.pair.human, one.pair.groups)
        same = bool(one.pair.good) and is_identical(one.pair)
        identical += same and shape != "margin"
        for outcome in SHAPES[shape].judge(one):
            if "score_good" in outcome.detail and not same:
                ties += outcome.detail["score_good"] == outcome.detail["score_bad"]
            if outcome.metric == "answer_mass" and isinstance(outcome.value, float):
                mass.append(outcome.value)
            yield outcome
    yield from correlations.rows()
    yield from map(Notice, _warnings(pairs, ties, identical, mass))


def _warnings(pairs: Sequence[ScoredPair], ties: int, identical: int, mass: Sequence[float]) -> Iterator[str]:
    if unjudged := [one for one in pairs if one.why]:
        listed = "; ".join(f"{one.pair.item} ({one.why})" for one in unjudged[:5])
        more = f"; and {len(unjudged) - 5} more" if len(unjudged) > 5 else ""
        yield f"{plural(len(unjudged), 'item')} not judged: {listed}{more}"
    if identical:
        yield f"{plural(identical, 'pair')} of identical sentences, counted as failures"
    if ties:
        yield f"{plural(ties, 'comparison')} tied, counted as failures"
    if mass and fmean(mass) < MIN_ANSWER_MASS:
        yield f"both labels together have a mean probability of {fmean(mass):.2g}: the model hardly answers with them"
    if copies := describe_copies([one.pair for one in pairs if one.pair.good]):
        yield f"{copies}, and counted like them"


def _judge_wide(one: ScoredPair) -> Iterator[Outcome]:
    good, bad = one.scores
    yield _comparison(one, ACCURACY, good, bad)


def _judge_presentations(one: ScoredPair) -> Iterator[Outcome]:
    """Outcomes of both orders; the first label belongs to the sentence shown first."""
    g1, g2, b1, b2 = one.scores
    item, groups = one.pair.item, one.pair.groups
    for order, good, bad, first, second in (("good_first", g1, g2, g1, g2), ("bad_first", b2, b1, b1, b2)):
        shown = {"order": order, "logprob_first": first, "logprob_second": second}
        yield _comparison(one, ACCURACY, good, bad, {"order": order}, shown)
        yield Outcome(item, "first_option_rate", first > second, groups)
        if first <= 0 and second <= 0 and math.exp(first) + math.exp(second) < 1.001:
            yield Outcome(item, "answer_mass", math.exp(first) + math.exp(second), groups)
    right = (g1 > g2, b2 > b1)
    yield Outcome(item, "accuracy_both_orders", all(right), groups)
    yield Outcome(item, "accuracy_either_order", any(right), groups)
    yield Outcome(item, "accuracy_mean_margin", _mean_margin(one.scores) > 0, groups)
    for label, good, bad in (("1", g1, b1), ("2", b2, g2)):
        yield Outcome(item, "accuracy_same_label", good > bad, {**groups, "label": label})


def _judge_yes_no(one: ScoredPair) -> Iterator[Outcome]:
    yes_good, yes_bad, no_good, no_bad = one.scores
    good, bad = yes_good - no_good, yes_bad - no_bad
    yield _comparison(one, ACCURACY, good, bad)
    for sentence, margin, right in (("good", good, good > 0), ("bad", bad, bad < 0)):
        groups = {**one.pair.groups, "sentence": sentence}
        yield Outcome(one.pair.item, "balanced_accuracy", right, groups)
        yield Outcome(one.pair.item, "yes_rate", margin > 0, groups)


def _judge_answers(one: ScoredPair) -> Iterator[Outcome]:
    right, wrong = one.scores
    yield Outcome(one.pair.item, ACCURACY, right > wrong, one.pair.groups)
    yield Outcome(one.pair.item, "invalid", math.isnan(right), one.pair.groups)


def _comparison(
    one: ScoredPair,
    metric: str,
    good: float,
    bad: float,
    groups: Mapping[str, str] | None = None,
    shown: Mapping[str, object] | None = None,
) -> Outcome:
    pair = one.pair
    texts = {"good": pair.good, "bad": pair.bad} if pair.good else {}
    human = {} if pair.human is None else {"human": pair.human}
    detail = {**texts, "score_good": good, "score_bad": bad, **human, **(shown or {})}
    return Outcome(pair.item, metric, good > bad, {**pair.groups, **groups} if groups else pair.groups, detail)


def _mean_margin(scores: Sequence[float]) -> float:
    g1, g2, b1, b2 = scores
    return (g1 - g2 + b2 - b1) / 2


_WIDE = _Shape(
    (Metric(ACCURACY, meaning="the good sentence has the better score in the file"),),
    _judge_wide,
    lambda scores: scores[0] - scores[1],
)
SHAPES: Mapping[str, _Shape] = {
    "wide": _WIDE,
    "long": _WIDE,
    "margin": _Shape((), lambda one: iter(()), lambda scores: scores[0]),
    "answers": _Shape(
        (
            Metric(ACCURACY, meaning="the answer about a sentence is right; an invalid one is not"),
            Metric("invalid", better="lower", meaning="answers that begin with neither label"),
        ),
        _judge_answers,
        lambda scores: math.nan,
    ),
    "presentations": _Shape(
        (
            Metric(ACCURACY, meaning="the label of the good sentence is preferred, over both orders"),
            Metric("accuracy_both_orders", meaning="the label of the good sentence is preferred in both orders"),
            Metric("accuracy_either_order", headline=False, meaning="it is preferred in at least one order"),
            Metric("accuracy_mean_margin", meaning="it is preferred on average over orders: position bias cancels"),
            Metric(
                "accuracy_same_label",
                headline=False,
                meaning="a label has the higher log-probability where it belongs to the good sentence",
            ),
            Metric(
                "first_option_rate",
                better="neither",
                meaning="presentations in which the first option is preferred; 0.5 is no position bias",
            ),
            Metric("answer_mass", "score", headline=False, meaning="probability of both labels together"),
        ),
        _judge_presentations,
        _mean_margin,
    ),
    "yes_no": _Shape(
        (
            Metric(ACCURACY, meaning="ln P(Yes) - ln P(No) is higher for the good sentence"),
            Metric("balanced_accuracy", meaning="Yes is preferred for good sentences, and No for bad ones"),
            Metric("yes_rate", better="neither", meaning="sentences for which Yes is preferred; 0.5 is no bias"),
        ),
        _judge_yes_no,
        lambda scores: (scores[0] - scores[2]) - (scores[1] - scores[3]),
    ),
}
"""How the scores of a pair are judged, by the shape of the table."""
