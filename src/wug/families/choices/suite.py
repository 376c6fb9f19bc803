"""The suite of choices: compares the log-probabilities of the options given their contexts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

from wug.families.choices.items import Candidate, ChoiceItem, ChoicesSettings, lint
from wug.families.links import (
    LABELS,
    LINKS,
    MARGIN,
    LinkedText,
    in_bits,
    margin_metrics,
    notices_of_changes,
    notices_of_ties,
)
from wug.families.suite import ItemSuite, strata_of
from wug.formatting import plural
from wug.identity import OVERALL, Group
from wug.outcomes import Estimate, Metric, Notice, Outcome, Result, SuiteOutput
from wug.requests import Request, Scored, Scorer
from wug.samples import Sample, choice_sample, plain_sample
from wug.stats import wilson

STRADDLED = "a token spans the end of the context and the beginning of an option"
TOKENLESS = "no token begins where an option does"
UNSCORED = "the model gives no log-probability for an option"
"""Reasons for not judging an item."""
FIRST_MAXIMUM = Metric("accuracy_lm_eval", headline=False, meaning="the right option is the first of the most probable")


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class ChoicesSuite(ItemSuite[ChoiceItem]):
    """Items with their options, and the settings for scoring them."""

    settings: ChoicesSettings
    format: str
    protocol: str | None = None
    """The protocol that the file asks for, unless the user names one."""
    kind = "choices"
    needs: ClassVar[Literal["scores"]] = "scores"

    @property
    def options(self) -> Mapping[str, str]:
        """Every scoring option, for the signature."""
        return {**self.settings.signature(self.format), **self.selection}

    @property
    def metrics(self) -> Sequence[Metric]:
        """Accuracy, chance level and ties; for EWoK also `both`."""
        first, *others = self.settings.links
        declared = [
            Metric("accuracy", meaning=_meaning(first)),
            *(Metric(f"accuracy:{link}", meaning=_meaning(link)) for link in others),
            *([FIRST_MAXIMUM] if self.protocol else []),
            Metric("chance", better="neither", meaning="the chance level: the mean of 1 / options"),
            Metric(
                "ties", better="lower", headline=False, meaning="the right option and another have the highest score"
            ),
        ]
        if any(choice.source for choice in self.items):
            declared.append(Metric("both", headline=False, meaning="both items of a row are right"))
        for index, link in enumerate(self.settings.links):
            metric = f"accuracy:{link}" if index else "accuracy"
            declared += margin_metrics(metric, link, MARGIN, "", "the right option minus that of the best other one")
        return tuple(declared)

    @property
    def meta(self) -> Mapping[str, Any]:
        """Facts about the suite for the pages."""
        return {"format": self.format, "items": len(self.items)}

    def strata(self) -> list[tuple[str, ...]]:
        """All groups of an item."""
        return strata_of([choice.groups for choice in self.items])

    def sample_notices(self, items: Sequence[ChoiceItem]) -> tuple[str, ...]:
        """Warnings about these items, and the last notice if it says what was excluded before."""
        excluded = self.notices[-1:] if "exclude" in self.selection else ()
        return *map(str, lint(items, self.settings)), *excluded

    def requests(self) -> Sequence[Request]:
        """Every option in its context, in the order of the file."""
        return self._requests(self.items)

    def _requests(self, choices: Sequence[ChoiceItem]) -> list[Request]:
        requests: list[Request] = []
        for choice in choices:
            scored = self._scored(choice)
            if self.settings.tokens == "rest":
                requests += [Request(each.text, (len(each.context), len(each.text))) for each in scored]
                requests += [Request(text, (len(text), len(text))) for text in _contexts(scored)]
            else:
                requests += [candidate.request for candidate in scored]
        return requests

    def _scored(self, choice: ChoiceItem) -> list[Candidate]:
        """The candidates and, for PMI, each after the premise in place of its context."""
        alone = choice.candidates if "pmi" in self.settings.links else ()
        return [*choice.candidates, *(candidate._replace(context=self.settings.premise) for candidate in alone)]

    def run(self, model: Scorer) -> Iterator[SuiteOutput]:
        """One outcome per item, then chance level and ties, and the warnings."""
        counts = _Counts()
        times = 2 if "pmi" in self.settings.links else 1
        step = max(1, model.chunk // (times * max((len(choice.candidates) for choice in self.items), default=1)))
        for first in range(0, len(self), step):
            items = self.items[first : first + step]
            answers = iter(model.score(self._requests(items)))
            for choice in items:
                yield from self._outcomes(choice, [next(answers) for _ in self._requests([choice])], counts)
        yield from counts.estimates()
        yield from map(Notice, self.notices)
        yield from counts.notices(len(self), self.settings)

    def _outcomes(self, choice: ChoiceItem, answers: Sequence[Scored], counts: _Counts) -> Iterator[Outcome]:
        """The judgements of all linking functions, the first as `accuracy`."""
        detail, settings = _detail(choice), self.settings
        size = len(choice.candidates)
        scored = self._scored(choice)
        skipped: dict[str, int] | None = None
        if settings.tokens == "rest":
            lengths = (len(answer.starts) for answer in answers[len(scored) :])
            skipped = {"": 0, **dict(zip(_contexts(scored), lengths, strict=True))}
        measured = [_measure(each, answer, skipped) for each, answer in zip(scored, answers, strict=False)]
        measures, alone = measured[:size], measured[size:]
        why = next((measure.why for measure in (*measures, *alone) if measure.why), None)
        if why is not None:
            counts.events[why] += 1
            yield Outcome(choice.item, "accuracy", None, choice.groups, {**detail, "why": why})
            return
        counts.tokens(measures)
        detail |= {"logprobs": [measure.linked.logprob for measure in measures]}
        verdict = None
        for link in settings.links:
            if link == "pmi":
                both = zip(measures, alone, strict=True)
                scores = [with_it.linked.logprob - without.linked.logprob for with_it, without in both]
            else:
                scores = [LINKS[link](measure.linked, settings.parameters) for measure in measures]
            best = [index for index, score in enumerate(scores) if score == max(scores)]
            first = best[:1] == [choice.right]
            right = first if settings.ties == "first" else best == [choice.right]
            margin = _margin(scores, choice.right, link)
            if verdict is None:
                verdict = right
                counts.judged(choice, right=right, tied=choice.right in best and len(best) > 1)
                detail |= {} if link == "sum" else {"scores": scores}
                yield Outcome(choice.item, "accuracy", right, choice.groups, {**detail, **margin})
                if self.protocol:
                    yield Outcome(choice.item, FIRST_MAXIMUM.name, first, choice.groups, _source(choice))
            else:
                counts.changed[link] += right != verdict
                other = {**_source(choice), "scores": scores, **margin}
                yield Outcome(choice.item, f"accuracy:{link}", right, choice.groups, other)


class _Measure(NamedTuple):
    """The log-probability of an option."""

    linked: LinkedText
    missing: int
    why: str | None


def _contexts(candidates: Sequence[Candidate]) -> list[str]:
    return list(dict.fromkeys(candidate.context for candidate in candidates if candidate.context))


def _measure(candidate: Candidate, scored: Scored, skipped: Mapping[str, int] | None = None) -> _Measure:
    """The log-probability of an option; `skipped`: by context, the number of tokens that are not the option's."""
    scored.require_tokens()
    if skipped is not None:
        values = scored.logprobs[skipped[candidate.context] :]
        known = [value for value in values if value is not None]
        linked = LinkedText(candidate.words, math.fsum(known), len(known))
        return _Measure(linked, len(values) - len(known), None if known else UNSCORED)
    start, end = candidate.span
    # Tokens after the text, such as </s>, are not part of the option.
    where = scored.slice(start, end)
    logprobs = scored.logprobs[where]
    missing = sum(value is None for value in logprobs)
    why = None
    if not logprobs or scored.starts[where][0] != start:
        straddled = where.start > 0 and scored.ends[where.start - 1] > start
        why = STRADDLED if straddled else TOKENLESS
    elif missing == len(logprobs):
        why = UNSCORED
    return _Measure(LinkedText(candidate.words, scored.logprob(start, end), len(logprobs) - missing), missing, why)


@dataclass(slots=True)
class _Counts:
    events: Counter[str] = field(default_factory=Counter)
    sizes: dict[str, Counter[int]] = field(default_factory=dict)
    """The number of judged items by their number of options, overall and for each group."""
    halves: dict[str, bool] = field(default_factory=dict)
    """The judgement on the first item of each row with two."""
    changed: Counter[str] = field(default_factory=Counter)

    def tokens(self, measures: Sequence[_Measure]) -> None:
        missing = sum(measure.missing for measure in measures)
        self.events["missing"] += missing
        self.events["with missing"] += missing > 0

    def judged(self, choice: ChoiceItem, *, right: bool, tied: bool) -> None:
        for group in (OVERALL, *(str(Group(name, value)) for name, value in choice.groups.items())):
            self.sizes.setdefault(group, Counter())[len(choice.candidates)] += 1
        self.events["ties"] += tied
        if choice.source in self.halves:
            self.events["rows"] += 1
            self.events["both"] += self.halves.pop(choice.source) and right
        elif choice.source is not None:
            self.halves[choice.source] = right

    def estimates(self) -> Iterator[Estimate]:
        """Chance level, also by group if the number of options varies; ties; rows with both items right."""
        for group, sizes in self.sizes.items():
            if group == OVERALL or len(self.sizes[OVERALL]) > 1:
                chance = sum(items / size for size, items in sizes.items()) / sizes.total()
                yield Estimate("chance", group, chance, sizes.total())
        if self.sizes:
            n = self.sizes[OVERALL].total()
            yield Estimate("ties", OVERALL, self.events["ties"] / n, n)
        if rows := self.events["rows"]:
            interval = wilson(self.events["both"], rows)
            yield Estimate.of("both", OVERALL, self.events["both"] / rows, rows, interval, "wilson")

    def notices(self, total: int, settings: ChoicesSettings) -> Iterator[Notice]:
        judged = self.sizes[OVERALL].total() if self.sizes else 0
        yield from notices_of_ties(self.events["ties"], judged, "item", settings.ties)
        for why in (STRADDLED, TOKENLESS, UNSCORED):
            if self.events[why]:
                yield Notice(f"{self.events[why]} of {total} items not judged: {why}")
        if self.events["missing"]:
            tokens, where = plural(self.events["missing"], "token"), plural(self.events["with missing"], "item")
            yield Notice(f"{tokens} without a log-probability in the options of {where}, counted as 0")
        if self.sizes:
            yield from notices_of_changes(self.changed, settings.links, judged, "item")


def _margin(scores: Sequence[float], right: int, link: str) -> dict[str, float]:
    """The score of the right option minus that of the best other one, in bits; nothing without a finite one."""
    margin = (scores[right] - max((*scores[:right], *scores[right + 1 :]), default=math.inf)) * in_bits(link)
    return {MARGIN: margin} if math.isfinite(margin) else {}


def _meaning(link: str) -> str:
    condition = "" if link == "pmi" else ", given its context"
    return f"the right option has the highest {LABELS[link]}{condition}"


def _source(choice: ChoiceItem) -> dict[str, Any]:
    return {} if choice.source is None else {"source": choice.source}


def _detail(choice: ChoiceItem) -> dict[str, Any]:
    """The item in the details of its outcome: one context if all options share it, else all."""
    contexts = list(dict.fromkeys(candidate.context for candidate in choice.candidates))
    contexts_by_option = {"contexts": [candidate.context for candidate in choice.candidates]}
    return {
        **({"context": contexts[0]} if len(contexts) == 1 else contexts_by_option),
        "options": [candidate.option for candidate in choice.candidates],
        "right": choice.right + 1,
        **_source(choice),
    }


def to_sample(outcome: Outcome, result: Result) -> Sample:
    """The choice of an outcome."""
    detail = outcome.detail
    if "options" not in detail:
        return plain_sample(outcome, result)
    context, options = str(detail.get("context") or ""), tuple(map(str, detail["options"]))
    details: dict[str, Any] = {
        "context": context,
        "contexts": tuple(map(str, detail.get("contexts") or ())),
        "scores": tuple(detail.get("scores") or ()),
        "fields": {"context": context, "options": list(options), "answer": detail["right"]},
    }
    logprobs = tuple(detail.get("logprobs") or ())
    return choice_sample(options, int(detail["right"]) - 1, outcome.value, logprobs, **details)


def from_sample(sample: Sample) -> dict[str, Any]:
    """The details of an outcome of an imported choice."""
    assert sample.right is not None
    contexts = {"contexts": list(sample.contexts)} if sample.contexts else {"context": sample.context}
    detail = {**contexts, "options": list(sample.choices), "right": sample.right + 1}
    if sample.logprobs:
        detail["logprobs"] = list(sample.logprobs)
    return {**detail, **({"scores": list(sample.scores)} if sample.scores else {})}
