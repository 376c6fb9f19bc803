"""Replies to questions about pairs, and the judgements on them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from wug.families.pairs.outcomes import ACCURACY
from wug.families.pairs.pair import Pair
from wug.outcomes import Metric, Outcome

FIRST_OPTION_RATE, YES_RATE, INVALID, ANSWER_MASS = "first_option_rate", "yes_rate", "invalid", "answer_mass"
_WRAPPING = " \t\r\n\"'“”‘’«»()[]{}*."
"""Characters around an answer that are not part of it."""
MIN_ANSWER_MASS = 0.1
"""The mean probability of both labels below which they are hardly answers."""
MARGIN_METRICS = ("accuracy_mean_margin", "accuracy_same_label", ANSWER_MASS)
"""Metrics that need the probabilities of labels."""
_INVALID = Metric(INVALID, better="lower", headline=False, meaning="questions without a usable answer")
_MASS = Metric(ANSWER_MASS, "score", headline=False, meaning="probability of both labels together")
CHOICE_METRICS = (
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
        FIRST_OPTION_RATE,
        better="neither",
        meaning="presentations in which the first option is preferred; 0.5 is no position bias",
    ),
    _MASS,
    _INVALID,
)
YES_NO_METRICS = (
    Metric(ACCURACY, meaning="ln P(Yes) - ln P(No) is higher for the good sentence"),
    Metric("balanced_accuracy", meaning="Yes is preferred for good sentences, and No for bad ones"),
    Metric(YES_RATE, better="neither", meaning="sentences for which Yes is preferred; 0.5 is no bias"),
    _MASS,
    _INVALID,
)


class LabelReply(NamedTuple):
    """The reply to one question: the log-probabilities of its two labels, or what was generated."""

    first: float | None = None
    """Of the first label; None if it is unknown."""
    second: float | None = None
    answer: str | None = None
    """A generated text, or the preferred label."""
    choice: int | None = None
    """0 or 1 for the preferred label; None for a tie, or without a usable answer."""
    valid: bool = True
    why: str = ""

    @classmethod
    def of_logprobs(cls, first: float | None, second: float | None, labels: Sequence[str] = ("", "")) -> LabelReply:
        """A label that is not among the likeliest tokens is less probable than one that is."""
        if first is None and second is None:
            return cls(valid=False)
        least = -math.inf
        left, right = (least if value is None else value for value in (first, second))
        choice = None if left == right else int(right > left)
        return cls(first, second, None if choice is None else labels[choice] or None, choice)

    @classmethod
    def of_text(cls, text: str, labels: Sequence[str]) -> LabelReply:
        """The label with which a text begins."""
        answer = parse_answer(text, labels)
        return cls(None, None, text, None if answer is None else labels.index(answer), answer is not None)

    @property
    def margin(self) -> float | None:
        """The log-probability of the first label minus that of the second; None unless both are known."""
        return None if self.first is None or self.second is None else self.first - self.second

    @property
    def tied(self) -> bool:
        """Whether both labels are equally probable."""
        return self.valid and not self.why and self.choice is None


def parse_answer(text: str, labels: Sequence[str]) -> str | None:
    """The label with which an answer begins, as a whole word; None if there is none, or the other follows it at once.

    Case counts for labels of one letter only: "a" begins many sentences.
    """
    stripped = text.strip(_WRAPPING)
    for label in labels:
        flags = re.NOFLAG if len(label) == 1 else re.IGNORECASE
        if match := re.match(rf"{re.escape(label)}(?!\w)", stripped, flags):
            others = "|".join(re.escape(other) for other in labels if other != label)
            both = re.match(rf"[\W_]*(?:(?:and|or)\b\W*)?(?:{others})(?!\w)", stripped[match.end() :], flags)
            return None if both else label
    return None


def judge_choice(pair: Pair, good_first: LabelReply, bad_first: LabelReply) -> Iterator[Outcome]:
    """The judgements on a pair that was shown in both orders; the first label belongs to the sentence shown first."""
    item, groups = pair.item, pair.groups
    right: list[bool | None] = []
    for order, reply, good in (("good_first", good_first, 0), ("bad_first", bad_first, 1)):
        detail = {
            **_texts(pair),
            **({"why": reply.why} if reply.why else {}),
            "order": order,
            "logprob_first": reply.first,
            "logprob_second": reply.second,
            "answer": reply.answer,
        }
        right.append(None if reply.why else reply.choice == good)
        yield Outcome(item, ACCURACY, right[-1], {**groups, "order": order}, detail)
        if not reply.why:
            yield Outcome(item, FIRST_OPTION_RATE, reply.choice == 0, groups)
            yield from _about(item, reply, groups)
    if None in right:
        return
    yield Outcome(item, "accuracy_both_orders", all(right), groups)
    yield Outcome(item, "accuracy_either_order", any(right), groups)
    margin = mean_margin(good_first, bad_first)
    if margin is not None:
        yield Outcome(item, "accuracy_mean_margin", margin > 0, groups)
    for label, ours, theirs in (("1", good_first.first, bad_first.first), ("2", bad_first.second, good_first.second)):
        if ours is not None and theirs is not None:
            yield Outcome(item, "accuracy_same_label", ours > theirs, {**groups, "label": label})


def judge_yes_no(pair: Pair, good: LabelReply, bad: LabelReply) -> Iterator[Outcome]:
    """The judgements on a pair of which each sentence was asked about; the first label is that of a good sentence.

    If margins are not known, the good sentence is preferred if the answers are Yes for it and No for the other.
    """
    why = good.why or bad.why
    right = good.choice == 0 and bad.choice == 1
    if good.margin is not None and bad.margin is not None:
        right = good.margin > bad.margin
    elif good.choice is not None and good.choice == bad.choice and (good.first, good.second) != (None, None):
        why = why or "the server does not list both labels, and prefers the same one for both sentences"
    detail = {
        **_texts(pair),
        **({"why": why} if why else {}),
        "logprob_yes_good": good.first,
        "logprob_no_good": good.second,
        "logprob_yes_bad": bad.first,
        "logprob_no_bad": bad.second,
        "answer_good": good.answer,
        "answer_bad": bad.answer,
    }
    yield Outcome(pair.item, ACCURACY, None if why else right, pair.groups, detail)
    for sentence, reply, correct in (("good", good, 0), ("bad", bad, 1)):
        if not reply.why:
            groups = {**pair.groups, "sentence": sentence}
            yield Outcome(pair.item, "balanced_accuracy", reply.choice == correct, groups)
            yield Outcome(pair.item, YES_RATE, reply.choice == 0, groups)
            yield from _about(pair.item, reply, groups)


def mean_margin(good_first: LabelReply, bad_first: LabelReply) -> float | None:
    """Half the difference of two margins: with both orders, the mean margin of the good sentence's label."""
    if good_first.margin is None or bad_first.margin is None:
        return None
    return (good_first.margin - bad_first.margin) / 2


def notices_of_mass(mass: Sequence[float]) -> Iterator[str]:
    """A warning if both labels of questions are improbable."""
    if mass and fmean(mass) < MIN_ANSWER_MASS:
        yield f"both labels together have a mean probability of {fmean(mass):.2g}: the model hardly answers with them"


def _about(item: str, reply: LabelReply, groups: Mapping[str, str]) -> Iterator[Outcome]:
    """The probability of both labels, and whether there is a usable answer."""
    if reply.first is not None and reply.second is not None and reply.first <= 0 and reply.second <= 0:
        mass = math.exp(reply.first) + math.exp(reply.second)
        if mass < 1.001:
            yield Outcome(item, ANSWER_MASS, mass, groups)
    yield Outcome(item, INVALID, not reply.valid, groups)


def _texts(pair: Pair) -> dict[str, str]:
    return {"good": pair.good, "bad": pair.bad} if pair.good else {}
