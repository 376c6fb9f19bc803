"""Minimal pairs in questions: a choice between both sentences, in both orders, or yes or no about each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from wug.errors import InputError
from wug.families.pairs.outcomes import ACCURACY, HumanCorrelations, LanguageAccuracies
from wug.families.pairs.pair import Pair, is_identical
from wug.families.pairs.presentation import QUESTIONS, Presentation, PresentationSettings
from wug.families.pairs.replies import (
    ANSWER_MASS,
    CHOICE_METRICS,
    INVALID,
    MARGIN_METRICS,
    YES_NO_METRICS,
    LabelReply,
    judge_choice,
    judge_yes_no,
    mean_margin,
    notices_of_mass,
)
from wug.families.pairs.suite import PairsSuite
from wug.formatting import finite_or_none, plural
from wug.outcomes import Metric, Notice, Outcome, SuiteOutput
from wug.requests import Request, Scored, Scorer

CROSSING = "a token crosses the boundary between the prompt and a label"


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class QuestionSuite(PairsSuite):
    """Minimal pairs, and a question about them."""

    def _scored(self) -> Mapping[str, str]:
        return {}  # nothing but how the question is asked

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


TIES = (
    ("logprob_first", "logprob_second"),
    ("logprob_yes_good", "logprob_no_good"),
    ("logprob_yes_bad", "logprob_no_bad"),
)


def presented(suite: PairsSuite, presentation: PresentationSettings) -> PairsSuite:
    """The suite with its pairs presented in a given way."""
    suite = replace(suite, settings=replace(suite.settings, presentation=presentation))
    if presentation.method not in QUESTIONS:
        return suite
    if any(pair.context for pair in suite.items):
        raise InputError(
            f"method={presentation.method} shows sentences without their context, and these pairs have one"
        )
    return QuestionSuite(**{declared.name: getattr(suite, declared.name) for declared in fields(suite)})
