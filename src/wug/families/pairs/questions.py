"""Minimal pairs in questions: a choice between both sentences, in both orders, or yes or no about each."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from statistics import fmean
from typing import NamedTuple

from wug.errors import InputError
from wug.families.pairs.outcomes import ACCURACY, HumanCorrelations, LanguageAccuracies
from wug.families.pairs.pair import Pair, is_identical
from wug.families.pairs.presentation import QUESTIONS, Presentation
from wug.families.pairs.suite import PairsSuite
from wug.formatting import finite_or_none, plural
from wug.outcomes import Metric, Notice, Outcome, SuiteOutput
from wug.requests import Request, Scored, Scorer

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
TIES = (
    ("logprob_first", "logprob_second"),
    ("logprob_yes_good", "logprob_no_good"),
    ("logprob_yes_bad", "logprob_no_bad"),
)
CROSSING = "a token crosses the boundary between the prompt and a label"


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class QuestionSuite(PairsSuite):
    """Minimal pairs, and a question about them."""

    @property
    def metrics(self) -> Sequence[Metric]:
        """Those of the question, then those that sentences alone have too."""
        presentation = self.settings.presentation
        metrics = CHOICE_METRICS if presentation.method == "forced_choice" else YES_NO_METRICS
        usable = [metric for metric in metrics if not (presentation.text_answer and metric.name in MARGIN_METRICS)]
        return (*usable, *self._further_metrics())

    def requests(self) -> Sequence[Request]:
        """The labels after each question, in the order of the file."""
        return [request for pair in self.items for question in self._questions(pair) for request in question]

    def run(self, model: Scorer) -> Iterator[SuiteOutput]:
        """The outcomes of each pair, then estimates and warnings."""
        counts, languages, correlations = _Counts(), LanguageAccuracies(), HumanCorrelations()
        per_pair = sum(map(len, self._questions(self.items[0]))) if self.items else 1
        step = max(1, model.chunk // per_pair)
        for first in range(0, len(self.items), step):
            pairs = self.items[first : first + step]
            scores = iter(model.score([r for pair in pairs for question in self._questions(pair) for r in question]))
            for pair in pairs:
                replies = [self._reply(question, scores, counts) for question in self._questions(pair)]
                for outcome in self._judge(pair, replies, correlations):
                    counts.add(outcome)
                    if outcome.metric != ACCURACY:
                        yield outcome
                        continue
                    languages.add(outcome)
                    yield replace(outcome, detail={**outcome.detail, "method": self._presentation.method})
        yield from languages.estimates()
        identical = sum(map(is_identical, self.items))
        same = [f"{plural(identical, 'pair')} of identical sentences, asked about like the others"] * (identical > 0)
        yield from self._conclude(correlations, *map(Notice, (*same, *self._presentation.notices, *counts.notices())))

    @property
    def _presentation(self) -> Presentation:
        return self.presentation or self.settings.presentation.assumed()

    def _questions(self, pair: Pair) -> tuple[tuple[Request, ...], tuple[Request, ...]]:
        shown = self._presentation
        if shown.method == "forced_choice":
            return shown.answers(a=pair.good, b=pair.bad), shown.answers(a=pair.bad, b=pair.good)
        return shown.answers(sentence=pair.good), shown.answers(sentence=pair.bad)

    def _reply(self, question: Sequence[Request], scores: Iterator[Scored], counts: _Counts) -> LabelReply:
        labels, outputs = self._presentation.labels, [next(scores) for _ in question]
        if self._presentation.text_answer:
            return LabelReply.of_text((outputs[0].token_names or ("",))[0], labels)
        sizes = [len(output.logprobs) for output in outputs]
        if not all(sizes):
            return LabelReply(why=CROSSING)
        counts.events["unequal labels"] += sizes[0] != sizes[1]
        values = [None if None in output.logprobs else output.logprob() for output in outputs]
        counts.events["one listed"] += values.count(None) == 1
        return LabelReply.of_logprobs(values[0], values[1], labels)

    def _judge(self, pair: Pair, replies: Sequence[LabelReply], correlations: HumanCorrelations) -> Iterator[Outcome]:
        first, second = replies
        choice = self._presentation.method == "forced_choice"
        if pair.human is not None:
            correlations.collect(finite_or_none(mean_margin(first, second)), pair.human, pair.groups)
        yield from (judge_choice if choice else judge_yes_no)(pair, first, second)


@dataclass(slots=True)
class _Counts:
    events: Counter[str] = field(default_factory=Counter)
    mass: list[float] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        detail = outcome.detail
        if outcome.metric == ANSWER_MASS and isinstance(outcome.value, float):
            self.mass.append(outcome.value)
        if outcome.metric == INVALID:
            self.events["questions"] += 1
            self.events["invalid"] += bool(outcome.value)
        if outcome.metric == ACCURACY and outcome.value is None:
            self.events[f"why {detail.get('why', '')}"] += 1
        for first, second in TIES:
            self.events["ties"] += detail.get(first) is not None and detail.get(first) == detail.get(second)

    def notices(self) -> Iterator[str]:
        """The warnings of a run."""
        count = self.events
        if count["ties"]:
            yield f"{plural(count['ties'], 'question')} with equally probable labels, counted as failures"
        if count["invalid"]:
            unusable = f"{count['invalid']:,} of {count['questions']:,} questions"
            yield f"{unusable} without a usable answer (invalid), counted as failures"
        for name, times in count.items():
            if name.startswith("why "):
                yield f"{plural(times, 'judgement')} not made: {name.removeprefix('why ')}"
        if count["one listed"]:
            yield (
                f"{plural(count['one listed'], 'question')} with one label among the listed tokens: it is preferred, "
                "and the margin is not known"
            )
        if count["unequal labels"]:
            yield "the labels have different numbers of tokens: the shorter one may be preferred for that"
        yield from notices_of_mass(self.mass)


def presented(suite: PairsSuite, presentation: Presentation) -> PairsSuite:
    """The suite with its pairs presented in a given way."""
    suite = replace(suite, settings=replace(suite.settings, presentation=presentation))
    if presentation.method not in QUESTIONS:
        return suite
    if any(pair.context for pair in suite.items):
        raise InputError(
            f"method={presentation.method} shows sentences without their context, and these pairs have one"
        )
    return QuestionSuite(**{declared.name: getattr(suite, declared.name) for declared in fields(suite)})


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
