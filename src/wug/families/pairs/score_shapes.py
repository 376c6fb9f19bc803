"""Judges pairs by given scores: of both sentences, or of the labels that answer a question about them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from wug.families.pairs import replies
from wug.families.pairs.lint import notices_of_copies
from wug.families.pairs.outcomes import ACCURACY, HumanCorrelations
from wug.families.pairs.pair import Pair, is_identical
from wug.formatting import finite_or_none, plural
from wug.outcomes import Metric, Notice, Outcome, SuiteOutput


class ScoredPair(NamedTuple):
    """A pair with its scores, in the order of the shape of the table."""

    pair: Pair
    scores: tuple[float, ...]
    model: str = ""
    why: str = ""


class _Shape(NamedTuple):
    metrics: tuple[Metric, ...]
    judge: Callable[[ScoredPair], Iterator[Outcome]]
    margin: Callable[[Sequence[float]], float]


def judge_pairs(pairs: Sequence[ScoredPair], shape: str) -> Iterator[SuiteOutput]:
    """The outcomes of pairs, then correlations and warnings."""
    correlations = HumanCorrelations()
    ties = identical = 0
    mass: list[float] = []
    for scored in pairs:
        if scored.why:
            yield Outcome(scored.pair.item, ACCURACY, None, scored.pair.groups, {"why": scored.why})
            continue
        if scored.pair.human is not None:
            margin = finite_or_none(SHAPES[shape].margin(scored.scores))
            correlations.collect(margin, scored.pair.human, scored.pair.groups)
        same = bool(scored.pair.good) and is_identical(scored.pair)
        identical += same and shape != "margin"
        for outcome in SHAPES[shape].judge(scored):
            if "score_good" in outcome.detail and not same:
                ties += outcome.detail["score_good"] == outcome.detail["score_bad"]
            if outcome.metric == replies.ANSWER_MASS and isinstance(outcome.value, float):
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
    yield from replies.notices_of_mass(mass)
    yield from notices_of_copies([one.pair for one in pairs if one.pair.good])


def _judge_wide(scored: ScoredPair) -> Iterator[Outcome]:
    pair, (good, bad) = scored.pair, scored.scores
    texts = {"good": pair.good, "bad": pair.bad} if pair.good else {}
    human = {} if pair.human is None else {"human": pair.human}
    detail = {**texts, "score_good": good, "score_bad": bad, **human}
    yield Outcome(pair.item, ACCURACY, good > bad, pair.groups, detail)


def _judge_presentations(scored: ScoredPair) -> Iterator[Outcome]:
    """Outcomes of both orders; the first label belongs to the sentence shown first."""
    g1, g2, b1, b2 = scored.scores
    reply = replies.LabelReply.of_logprobs
    by_order = {"good_first": (g1, g2), "bad_first": (b2, b1)}
    yield from _with_scores(scored.pair, replies.judge_choice(scored.pair, reply(g1, g2), reply(b1, b2)), by_order)


def _judge_yes_no(scored: ScoredPair) -> Iterator[Outcome]:
    yes_good, yes_bad, no_good, no_bad = scored.scores
    reply = replies.LabelReply.of_logprobs
    judged = replies.judge_yes_no(scored.pair, reply(yes_good, no_good), reply(yes_bad, no_bad))
    yield from _with_scores(scored.pair, judged, {"": (yes_good - no_good, yes_bad - no_bad)})


def _with_scores(pair: Pair, judged: Iterator[Outcome], scores: Mapping[str, tuple[float, float]]) -> Iterator[Outcome]:
    """The outcomes, the accuracy with the scores compared, by order; a table tells nothing about invalid answers."""
    human = {} if pair.human is None else {"human": pair.human}
    for outcome in judged:
        if outcome.metric == ACCURACY:
            good, bad = scores[outcome.groups.get("order", "")]
            details = {key: value for key, value in outcome.detail.items() if not key.startswith("answer")}
            yield replace(outcome, detail={**details, "score_good": good, "score_bad": bad, **human})
        elif outcome.metric != replies.INVALID:
            yield outcome


def _judge_answers(scored: ScoredPair) -> Iterator[Outcome]:
    right, wrong = scored.scores
    yield Outcome(scored.pair.item, ACCURACY, right > wrong, scored.pair.groups)
    yield Outcome(scored.pair.item, "invalid", math.isnan(right), scored.pair.groups)


def _without_invalid(metrics: Sequence[Metric]) -> tuple[Metric, ...]:
    return tuple(metric for metric in metrics if metric.name != replies.INVALID)


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
        _without_invalid(replies.CHOICE_METRICS),
        _judge_presentations,
        lambda scores: (scores[0] - scores[1] + scores[3] - scores[2]) / 2,
    ),
    "yes_no": _Shape(
        _without_invalid(replies.YES_NO_METRICS),
        _judge_yes_no,
        lambda scores: (scores[0] - scores[2]) - (scores[1] - scores[3]),
    ),
}
"""How the scores of a pair are judged, by the shape of the table."""
