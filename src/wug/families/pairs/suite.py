"""The suite of minimal pairs: compares the scores of both sentences, or of their target words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from wug import registry
from wug.arrays import Ints, Mask
from wug.families.links import COUNTED, LABELS, margin_metrics, notices_of_changes, notices_of_ties
from wug.families.pairs import outcomes
from wug.families.pairs.pair import Pair, Target, distinct_groups, is_identical, notices_of_copies, strata
from wug.families.pairs.presentation import QUESTIONS, Presentation
from wug.families.pairs.scoring import TARGET_OF_FILE, Measures, PairsSettings, measure, word_logprobs
from wug.families.people import CEILINGS
from wug.families.suite import ItemSuite, strata_of
from wug.files import shortened
from wug.formatting import plural
from wug.outcomes import Metric, Notice, Outcome, SuiteOutput
from wug.requests import ChatFormat, EvaluatedModel, Request, Scored, Scorer, Span, TextPosition
from wug.scores import PlainRequests, Scores

SEES_RIGHT = "the model sees the words to the right of a target word, unlike a reader"


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class PairsSuite(ItemSuite[Pair]):
    """Minimal pairs, and the settings for scoring them."""

    settings: PairsSettings
    format: str
    lines: tuple[str, ...] = ()
    """The running text that the sentences are lines of, if the file comes with one."""
    sources: Mapping[str, int] = field(default_factory=dict, compare=False)
    """The number of pairs in each file of a folder."""
    presentation: Presentation | None = None
    """How the pairs are presented to a model, once it is known."""
    people: outcomes.JoinedPeople | None = field(default=None, compare=False)
    """The responses that the user joined to the pairs."""
    kind = "pairs"
    needs: ClassVar[Literal["scores"]] = "scores"

    @property
    def options(self) -> Mapping[str, str]:
        """Every scoring option, for the signature."""
        asked = self.settings.presentation
        scored = {} if asked.method in QUESTIONS else self.settings.signature
        presented = {"method": asked.method} if asked.given else {}
        if self.presentation is not None:
            presented = self.presentation.signature
        people = {} if self.people is None else self.people.signature
        return {**scored, **presented, **people, **self.selection}

    def for_model(self, model: EvaluatedModel) -> PairsSuite:
        """The suite with the presentation that fits a model; every text is checked before anything is computed."""
        presentation = self.settings.presentation
        if presentation.method == "direct":
            return self
        suite = replace(self, presentation=presentation.for_model(model))
        form: ChatFormat | None = getattr(model, "chat", None)
        assert form is not None  # otherwise there is no presentation
        form.check(suite.requests())
        return suite

    @property
    def metrics(self) -> Sequence[Metric]:
        """Accuracy; its mean over languages if there are several; correlations if people judged the pairs."""
        first, *others = self.settings.links
        metrics = [Metric(outcomes.ACCURACY, meaning=_meaning(self.settings, first))]
        metrics += [Metric(f"{outcomes.ACCURACY}:{link}", meaning=_meaning(self.settings, link)) for link in others]
        return (*metrics, *self._further_metrics())

    @property
    def _languages(self) -> set[str]:
        return {groups[outcomes.LANGUAGE] for groups in distinct_groups(self.items) if outcomes.LANGUAGE in groups}

    def _further_metrics(self) -> Iterator[Metric]:
        if len(self._languages) > 1:
            meaning = f"the mean of the accuracies on {len(self._languages)} languages"
            yield Metric(outcomes.MACRO_ACCURACY, meaning=meaning)
        if any(pair.human is not None for pair in self.items):
            yield from outcomes.CORRELATIONS
        if self.people is not None:
            yield from CEILINGS
        what = f"the grammatical {_scored(self.settings)} minus that of the other"
        for place, link in enumerate(self.settings.links if self.settings.target != TARGET_OF_FILE else ()):
            score = "logprob" if link == "sum" and place == 0 else "score"
            metric = f"{outcomes.ACCURACY}:{link}" if place else outcomes.ACCURACY
            yield from margin_metrics(metric, link, f"{score}_good", f"{score}_bad", what)

    @property
    def meta(self) -> Mapping[str, Any]:
        """Facts about the suite for the pages."""
        return {"format": self.format, "pairs": len(self.items)}

    @property
    def understood(self) -> str | None:
        """How the column `context` was read, if there is one."""
        contexts = [pair.context for pair in self.items if pair.context]
        if not contexts:
            return None
        count = f"{len(contexts):,} of {len(self.items):,} pairs"
        return f"the column 'context' of {count} is read before both sentences, such as {shortened(contexts[0])!r}"

    def strata(self) -> list[tuple[str, ...]]:
        """The groups that samples are stratified by."""
        return strata_of([pair.groups for pair in self.items], strata(self.items))

    def requests(self) -> Sequence[Request]:
        """Both sentences of each pair, in the order of the file."""
        return self._requests(self._scorable(range(len(self.items))))

    def run(self, model: Scorer) -> Iterator[SuiteOutput]:
        """One outcome per pair, then estimates and warnings."""
        counts, languages, correlations = _Counts(), outcomes.LanguageAccuracies(), outcomes.HumanCorrelations()
        in_summaries = bool(self._languages) or any(pair.human is not None for pair in self.items)
        step = max(1, model.chunk // 2)
        for first in range(0, len(self.items), step):
            for outcome in self._outcomes(range(first, min(first + step, len(self.items))), model, counts):
                if in_summaries and outcome.metric == outcomes.ACCURACY:
                    languages.add(outcome)
                    correlations.add(outcome)
                yield outcome
        yield from languages.estimates()
        if self.settings.target == "word" and registry.sees_right_context(model):
            yield Notice(SEES_RIGHT)
        about = self.presentation.notices if self.presentation is not None else ()
        yield from self._conclude(correlations, *map(Notice, about), *counts.notices(self.settings, len(self.items)))

    def _conclude(self, correlations: outcomes.HumanCorrelations, *notices: Notice) -> Iterator[SuiteOutput]:
        """All warnings, the correlations with people's judgements, and the limit that their agreement sets to them."""
        yield from map(Notice, (*self.notices, *notices_of_copies(self.items)))
        yield from notices
        yield from correlations.rows()
        if self.people is not None:
            yield from self.people.ceilings(self.items)

    def _scorable(self, numbers: Sequence[int]) -> Sequence[int]:
        if self.settings.target == "sentence":
            return numbers
        return [number for number in numbers if self.items[number].target is not None]

    def _outcomes(self, numbers: Sequence[int], model: Scorer, counts: _Counts) -> Iterator[Outcome]:
        scorable = self._scorable(numbers)
        requests = self._requests(scorable)
        scores = Scores.of(model.score(requests))
        spans: list[Span | None] = [None] * len(requests)
        if not isinstance(requests, PlainRequests):
            spans = [span for n in scorable for span in self._spans(self.items[n])]
        measures = measure(scores, spans, self.settings)
        reasons = _reasons(measures, self.settings)
        counts.add([self.items[number] for number in scorable], measures, reasons == "")
        prefers = np.greater_equal if self.settings.ties == "first" else np.greater
        values = [prefers(*_by_pair(column).T).tolist() for column in measures.scores]
        others = list(zip(self.settings.links, measures.scores, values, strict=True))[1:]
        places = iter(enumerate(reasons.tolist()))
        for number in numbers:
            pair = self.items[number]
            if self.settings.target != "sentence" and pair.target is None:
                yield _without_target(pair, counts)
                continue
            place, why = next(places)
            if why:
                yield _unjudged(pair, why, counts)
                continue
            good, bad = 2 * place, 2 * place + 1
            detail = self._detail(pair, measures, good, scores[good : bad + 1] if self.settings.word_probs else ())
            yield Outcome(pair.item, outcomes.ACCURACY, values[0][place], pair.groups, detail)
            for link, column, choices in others:
                counts.changed[link] += choices[place] != values[0][place]
                detail = {"score_good": column[good], "score_bad": column[bad]}
                yield Outcome(pair.item, f"{outcomes.ACCURACY}:{link}", choices[place], pair.groups, detail)

    def _detail(self, pair: Pair, measures: Measures, good: int, scored: Sequence[Scored]) -> dict[str, Any]:
        """The details of a judgement; the index of the bad sentence follows that of the good one."""
        bad = good + 1
        detail: dict[str, Any] = {
            "good": pair.good,
            "bad": pair.bad,
            "logprob_good": measures.logprobs[good],
            "logprob_bad": measures.logprobs[bad],
        }
        if pair.context:
            detail["context"] = pair.context
        if self.settings.presentation.given:
            detail["method"] = self.settings.presentation.method
        if self.settings.presentation.given or self.settings.links != ("sum",):
            detail |= {"score_good": measures.scores[0][good], "score_bad": measures.scores[0][bad]}
        if pair.human is not None:
            detail["human"] = pair.human
        if measures.tokens[good] != measures.tokens[bad] and len(pair.good.split()) == len(pair.bad.split()):
            detail |= {"tokens_good": measures.tokens[good], "tokens_bad": measures.tokens[bad]}
        if scored:
            detail |= {"words_good": word_logprobs(scored[0]), "words_bad": word_logprobs(scored[1])}
        return detail

    def _requests(self, numbers: Sequence[int]) -> Sequence[Request]:
        pairs = self.items
        if self.presentation is not None:
            chat = self.presentation.read_before(sentence="")
            both = ((self._lead(pairs[n]), text) for n in numbers for text in (pairs[n].good, pairs[n].bad))
            return [Request(lead + text, chat=chat) for lead, text in both]
        if self.settings.target == "sentence" and not any(pairs[number].context for number in numbers):
            first = " " if self.settings.leading_space else ""
            return PlainRequests(first + text for number in numbers for text in (pairs[number].good, pairs[number].bad))
        return [request for number in numbers for request in self._pair_requests(number)]

    def _pair_requests(self, number: int) -> tuple[Request, Request]:
        """Both sentences of a pair, at one position of the running text."""
        pair = self.items[number]
        # A masked model would mask a span as a whole: a sentence after its context is not a span.
        only_target = self.settings.mask_target and self.settings.target != "sentence"
        only_target = only_target or (self.settings.leading_space and bool(pair.context))
        good, bad = self._spans(pair) if only_target else (None, None)
        turn = self._turn(number) if self.settings.target == "word" else None
        lead = self._lead(pair)
        return Request(lead + pair.good, good, turn), Request(lead + pair.bad, bad, turn)

    def _lead(self, pair: Pair) -> str:
        return pair.lead or (" " if self.settings.leading_space else "")

    def _turn(self, number: int) -> TextPosition:
        line = self.items[number].line
        if line is None:
            return TextPosition(number)
        last = self.items[number - 1].line if number else None
        return TextPosition(number, self.lines[line], self.lines[0 if last is None else last + 1 : line])

    def _spans(self, pair: Pair) -> tuple[Span | None, Span | None]:
        """The scored characters of each text; None for all of them."""
        if self.settings.target == "sentence" and not pair.context:
            return None, None
        lead = len(self._lead(pair))
        if self.settings.target == "sentence":
            # One character more, so that tokens after the text count as they do without a context.
            return (lead, lead + len(pair.good) + 1), (lead, lead + len(pair.bad) + 1)
        match pair.target:
            case Target(start, good_end, bad_end):
                return (lead + start, lead + good_end), (lead + start, lead + bad_end)
        return None, None


@dataclass(slots=True)
class _Counts:
    events: Counter[str] = field(default_factory=Counter)
    unjudged: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)

    def add(self, pairs: Sequence[Pair], measures: Measures, judged: Mask) -> None:
        identical = np.array([pair.good == pair.bad for pair in pairs], bool)
        tied = np.equal(*_by_pair(measures.scores[0]).T)
        missing, unknown = _by_pair(measures.missing)[judged], _by_pair(measures.unknown)
        events = {
            "pairs": len(pairs),
            "judged": judged.sum(),
            "identical": (judged & identical).sum(),
            "ties": (judged & tied & ~identical).sum(),
            "missing": missing.sum(),
            "with missing": np.count_nonzero(missing),
            "unknown": unknown.sum(),
            "with unknown": unknown.any(axis=1).sum(),
            "several": (_by_pair(measures.tokens) > 1).any(axis=1).sum(),
            "not listed": measures.not_listed,
        }
        self.events.update({name: int(times) for name, times in events.items()})

    def notices(self, settings: PairsSettings, total: int) -> Iterator[Notice]:
        """The warnings of a run over `total` pairs."""
        count = self.events
        what = "targets" if settings.target == "word" else "sentences"
        if count["identical"]:
            yield Notice(f"{plural(count['identical'], 'pair')} of identical sentences, {COUNTED[settings.ties]}")
        yield from notices_of_ties(count["ties"], count["judged"], "pair", settings.ties)
        if count["missing"]:
            where = plural(count["with missing"], what.rstrip("s"))
            yield Notice(f"{plural(count['missing'], 'token')} without a log-probability in {where}, counted as 0")
        for why, pairs in self.unjudged.items():
            yield Notice(f"{pairs} of {total} pairs not judged: {why}")
        if count["unknown"]:
            words, where = plural(count["unknown"], "word"), plural(count["with unknown"], "pair")
            yield Notice(f"{words} that the model does not know, in the {what} of {where}")
        if count["not listed"]:
            unit = "word" if settings.unigrams is None else settings.unigrams.unit
            yield Notice(f"{plural(count['not listed'], unit)} missing from the unigram model")
        judged = count["pairs"] - self.unjudged.total()
        yield from notices_of_changes(self.changed, settings.links, judged, "pair")
        if settings.target == "word" and count["several"] and not settings.single_piece_only:
            some = f"{plural(count['several'], 'pair')} of {count['pairs']}"
            yield Notice(f"{some} with a target of several tokens; their log-probabilities are added up")


def _without_target(pair: Pair, counts: _Counts) -> Outcome:
    """The outcome of a pair that has no target word: a failure if its sentences are identical."""
    if is_identical(pair):
        counts.events["identical"] += 1
        return Outcome(pair.item, outcomes.ACCURACY, False, pair.groups, {"good": pair.good, "bad": pair.bad})
    return _unjudged(pair, "the two sentences differ in more than one place", counts)


def _by_pair(column: Sequence[float] | Ints) -> np.ndarray[Any, Any]:
    """A column of measures with a row for each pair."""
    return np.reshape(column, (-1, 2))


def _reasons(measures: Measures, settings: PairsSettings) -> npt.NDArray[np.str_]:
    """Why each pair cannot be judged; empty if it can."""
    tokens, missing = _by_pair(measures.tokens), _by_pair(measures.missing)
    what = "targets" if settings.target == "word" else "sentences"
    reasons = {
        f"no token begins in one of the {what}": tokens == 0,
        f"the model gives no log-probability for one of the {what}": tokens == missing,
        "a target has several tokens": (tokens > 1) & settings.single_piece_only,
    }
    return np.select([applies.any(axis=1) for applies in reasons.values()], list(reasons), "")


def _unjudged(pair: Pair, why: str, counts: _Counts) -> Outcome:
    counts.unjudged[why] += 1
    return Outcome(pair.item, outcomes.ACCURACY, None, pair.groups, {"good": pair.good, "bad": pair.bad, "why": why})


def _meaning(settings: PairsSettings, link: str) -> str:
    if settings.target == TARGET_OF_FILE:
        return "the grammatical form has the higher value in the file"
    return f"the grammatical {_scored(settings)} has the higher {LABELS[link]}"


def _scored(settings: PairsSettings) -> str:
    return "target word" if settings.target == "word" else "sentence"
