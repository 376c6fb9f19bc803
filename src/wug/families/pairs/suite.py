"""The suite: asks a model about both sentences of every pair, and compares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, overload

from wug.families.context import sees_right
from wug.families.pairs.languages import MACRO, ByLanguage, languages_of
from wug.families.pairs.measures import Measure, Measures, word_logprobs
from wug.families.pairs.oddities import copied
from wug.families.pairs.pair import Pair, Target, same, strata
from wug.families.pairs.people import with_correlation_checks, with_correlations
from wug.families.pairs.settings import GIVEN, Settings
from wug.families.sampling import levels_of, limited, of_whole_file, sampled
from wug.files import shortened
from wug.labels import of_suite
from wug.scores import Scores, Texts
from wug.types import Check, Notice, Outcome, Request, Row, Scored, Scorer, Turn

RIGHT = "the model sees the words to the right of a target word too, which a reader has not come to yet"


@dataclass(frozen=True, slots=True)
class PairsSuite:
    """Minimal pairs and how they are scored."""

    name: str
    pairs: Sequence[Pair]
    settings: Settings
    format: str
    notices: tuple[str, ...]
    """What is odd about the file."""
    checksum: str
    limit: int | None = None
    """How many of the file's pairs these are, where they are not all."""
    strata: int = 1
    """How many groups these were taken from, each with its share."""
    lines: tuple[str, ...] = ()
    """The text beside the file, in which each pair has its line; empty where there is none."""
    sources: Mapping[str, int] = field(default_factory=dict, compare=False)
    """The number of pairs in each file of a folder."""
    kind: str = "pairs"
    needs: Literal["scorer"] = "scorer"

    @property
    def options(self) -> Mapping[str, str]:
        """Every scoring option, for the signature."""
        return {**self.settings.signature, **limited(self.limit, self.strata)}

    @property
    @with_correlation_checks
    def checks(self) -> Sequence[Check]:
        """What is judged."""
        accuracy = Check("accuracy", meaning=_description(self.settings))
        languages = len(languages_of(self.pairs))
        if languages < 2:
            return (accuracy,)
        return accuracy, Check(MACRO, meaning=f"the mean of the accuracies on {languages} languages")

    @property
    def meta(self) -> Mapping[str, Any]:
        """What pages show beside the rows."""
        return {"format": self.format, "pairs": len(self.pairs)}

    @property
    def understood(self) -> str | None:
        """What a column of the file was taken for, where that could be a surprise."""
        contexts = [pair.context for pair in self.pairs if pair.context]
        if not contexts:
            return None
        return (
            f"the column 'context' of {len(contexts):,} of {len(self.pairs):,} pairs is read before both sentences, "
            f"such as {shortened(contexts[0])!r}"
        )

    __repr__ = of_suite

    def __len__(self) -> int:
        return len(self.pairs)

    def sample(self, items: int) -> PairsSuite:
        """The same suite with only so many of its pairs, every group with its share."""
        if items >= len(self.pairs):
            return self
        names = strata(self.pairs)
        levels = [levels_of(pair.groups, names) for pair in self.pairs]
        kept = sampled(len(levels), items, levels.__getitem__)
        pairs, notices = tuple(self.pairs[n] for n in kept), of_whole_file(self.notices)
        return replace(self, pairs=pairs, notices=notices, limit=items, strata=len(set(levels)))

    def requests(self) -> Sequence[Request]:
        """Both sentences of each pair, in the order of the file, made when they are looked at."""
        if self.settings.target == "sentence":
            return self._questions(range(len(self.pairs)))
        return self._questions([number for number, pair in enumerate(self.pairs) if self._asked(pair)])

    @with_correlations
    def run(self, model: Scorer) -> Iterator[Row]:
        """One outcome for each pair, then what the reader should know about them."""
        seen, by_language = _Seen(), ByLanguage() if languages_of(self.pairs) else None
        step = max(1, model.chunk // 2)
        for first in range(0, len(self.pairs), step):
            numbers = range(first, min(first + step, len(self.pairs)))
            sentences = self.settings.target == "sentence"
            asked = numbers if sentences else [number for number in numbers if self._asked(self.pairs[number])]
            questions = self._questions(asked)
            answers = Scores.of(model.score(questions))
            spans = [None] * 2 * len(asked) if isinstance(questions, Texts) else self._all_spans(asked)
            measured = Measures(answers, spans, self.settings)
            plain = iter(zip(range(0, len(measured), 2), self._plain(measured, seen), strict=True))
            logprobs = measured.logprobs
            for pair in self.pairs[first : first + step]:
                if not sentences and not self._asked(pair):
                    outcome = _without_place(pair, seen)
                else:
                    place, is_plain = next(plain)
                    if is_plain:
                        outcome = _compared(pair, logprobs[place], logprobs[place + 1], seen)
                    else:
                        scored = answers[place : place + 2] if self.settings.word_probs else ()
                        outcome = self._judge(pair, measured[place], measured[place + 1], seen, scored)
                if by_language is not None:
                    by_language.add(outcome)
                yield outcome
        if by_language is not None:
            yield from by_language.estimates()
        if self.settings.target == "word" and sees_right(model):
            yield Notice(RIGHT)
        copies = [f"{some}, and counted like them"] if (some := copied(self.pairs)) else []
        yield from map(Notice, (*self.notices, *copies, *seen.notices(self.settings, len(self.pairs))))

    def _asked(self, pair: Pair) -> bool:
        return self.settings.target == "sentence" or pair.target is not None

    def _questions(self, numbers: Sequence[int]) -> Sequence[Request]:
        """Both sentences of the pairs of these numbers."""
        pairs = self.pairs
        if self.settings.target == "sentence" and not any(pairs[number].context for number in numbers):
            return Texts([text for number in numbers for text in (pairs[number].good, pairs[number].bad)])
        return _Questions(self, numbers)

    def _ask(self, number: int) -> tuple[Request, ...]:
        """Both sentences of the pair of that number, at one place of the running text."""
        pair = self.pairs[number]
        # A masked model would mask a span as a whole: a sentence behind its context is no span.
        only = self.settings.mask_target and self.settings.target != "sentence"
        good, bad = self._spans(pair) if only else (None, None)
        turn = self._turn(number) if self.settings.target == "word" else None
        return Request(pair.lead + pair.good, good, turn), Request(pair.lead + pair.bad, bad, turn)

    def _turn(self, number: int) -> Turn:
        line = self.pairs[number].line
        if line is None:
            return Turn(number)
        last = self.pairs[number - 1].line if number else None
        return Turn(number, self.lines[line], self.lines[0 if last is None else last + 1 : line])

    def _all_spans(self, numbers: Iterable[int]) -> list[tuple[int, int] | None]:
        """What counts of both texts of the pairs of these numbers."""
        return [span for number in numbers for span in self._spans(self.pairs[number])]

    def _spans(self, pair: Pair) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
        """What counts of each text; None where all of it does."""
        lead = len(pair.lead) if pair.context else 0
        if self.settings.target == "sentence" and not lead:
            return None, None
        if self.settings.target == "sentence":
            # One character more, so that marks behind the text count as they do without a context.
            return (lead, lead + len(pair.good) + 1), (lead, lead + len(pair.bad) + 1)
        match pair.target:
            case Target(start, good_end, bad_end):
                return (lead + start, lead + good_end), (lead + start, lead + bad_end)
        return None, None

    def _plain(self, measured: Measures, seen: _Seen) -> list[bool]:
        """Of which pairs nothing counts but which log-probability is higher; what is told of these is counted."""
        if self.settings.word_probs or self.settings.single_piece_only:
            return [False] * (len(measured) // 2)
        plain = measured.plain[::2] & measured.plain[1::2]
        seen.counts["pairs"] += int(plain.sum())
        seen.counts["several"] += int((plain & (measured.several[::2] | measured.several[1::2])).sum())
        found: list[bool] = plain.tolist()
        return found

    def _judge(self, pair: Pair, ours: Measure, theirs: Measure, seen: _Seen, scored: Sequence[Scored]) -> Outcome:
        why = _why_not(ours, theirs, self.settings)
        seen.add(pair, ours, theirs, judged=why is None)
        if why is not None:
            return _unjudged(pair, why, seen)
        detail: dict[str, Any] = {
            "good": pair.good,
            "bad": pair.bad,
            "logprob_good": ours.logprob,
            "logprob_bad": theirs.logprob,
            **({"context": pair.context} if pair.context else {}),
        }
        if self.settings.normalise != "none" or self.settings.unigrams is not None:
            detail |= {"score_good": ours.score, "score_bad": theirs.score}
        if pair.human is not None:
            detail["human"] = pair.human
        if self.settings.word_probs:
            good, bad = scored
            detail |= {"words_good": word_logprobs(good), "words_bad": word_logprobs(bad)}
        return Outcome(pair.item, "accuracy", ours.score > theirs.score, pair.groups, detail)


@dataclass(frozen=True, slots=True)
class _Questions(Sequence[Request]):
    """Both sentences of some pairs of a suite."""

    suite: PairsSuite
    numbers: Sequence[int]
    """The pairs that are asked about."""

    def __len__(self) -> int:
        return 2 * len(self.numbers)

    @overload
    def __getitem__(self, place: int) -> Request: ...
    @overload
    def __getitem__(self, place: slice) -> list[Request]: ...

    def __getitem__(self, place: int | slice) -> Request | list[Request]:
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(len(self)))]
        if place < 0:
            place = range(len(self))[place]
        return self.suite._ask(self.numbers[place >> 1])[place & 1]

    def __iter__(self) -> Iterator[Request]:
        for number in self.numbers:
            yield from self.suite._ask(number)


@dataclass(slots=True)
class _Seen:
    """What was odd about the scores, counted."""

    counts: Counter[str] = field(default_factory=Counter)
    unjudged: Counter[str] = field(default_factory=Counter)
    """The number of pairs that were not judged, by the reason."""

    def add(self, pair: Pair, ours: Measure, theirs: Measure, *, judged: bool) -> None:
        """Count what is odd about the scores of a pair."""
        count = self.counts
        count["pairs"] += 1
        identical = pair.good == pair.bad
        if judged and identical:
            count["identical"] += 1
        elif judged and ours.score == theirs.score:
            count["ties"] += 1
        if judged and (ours.missing or theirs.missing):
            count["missing"] += ours.missing + theirs.missing
            count["with missing"] += (ours.missing > 0) + (theirs.missing > 0)
        if ours.unknown or theirs.unknown:
            count["unknown"] += ours.unknown + theirs.unknown
            count["with unknown"] += 1
        if ours.tokens > 1 or theirs.tokens > 1:
            count["several"] += 1
        if ours.not_listed or theirs.not_listed:
            count["not listed"] += ours.not_listed + theirs.not_listed

    def notices(self, settings: Settings, total: int) -> Iterator[str]:
        """Warnings about some of `total` pairs."""
        count = self.counts
        what = "targets" if settings.target == "word" else "sentences"
        if count["identical"]:
            yield f"{_pairs(count['identical'])} of identical sentences, counted as failures"
        if count["ties"]:
            yield f"{_pairs(count['ties'])} tied, counted as failures"
        if count["missing"]:
            tokens, where = _many(count["missing"], "token"), _many(count["with missing"], what.rstrip("s"))
            yield f"{tokens} without a log-probability in {where}, counted as 0"
        for why, pairs in self.unjudged.items():
            yield f"{pairs} of {total} pairs not judged: {why}"
        if count["unknown"]:
            words, where = _many(count["unknown"], "word"), _pairs(count["with unknown"])
            yield f"{words} that the model does not know, in the {what} of {where}"
        if count["not listed"]:
            yield f"{_many(count['not listed'], 'word')} that the unigram model does not have"
        if settings.target == "word" and count["several"] and not settings.single_piece_only:
            some = f"{_pairs(count['several'])} of {count['pairs']}"
            yield f"{some} with a target of several tokens; their log-probabilities are added up"


def _compared(pair: Pair, good: float, bad: float, seen: _Seen) -> Outcome:
    """The outcome of a pair of which nothing counts but which sentence has the higher log-probability."""
    detail: dict[str, Any] = {"good": pair.good, "bad": pair.bad, "logprob_good": good, "logprob_bad": bad}
    if pair.context:
        detail["context"] = pair.context
    if pair.human is not None:
        detail["human"] = pair.human
    if pair.good == pair.bad:
        seen.counts["identical"] += 1
    elif good == bad:
        seen.counts["ties"] += 1
    return Outcome(pair.item, "accuracy", good > bad, pair.groups, detail)


def _without_place(pair: Pair, seen: _Seen) -> Outcome:
    """The outcome of a pair that has no target word: a failure where it is a sentence against itself."""
    if same(pair):
        seen.counts["identical"] += 1
        detail = {"good": pair.good, "bad": pair.bad}
        return Outcome(pair.item, "accuracy", False, pair.groups, detail)
    return _unjudged(pair, "the two sentences differ in more than one place", seen)


def _why_not(ours: Measure, theirs: Measure, settings: Settings) -> str | None:
    """Why a pair cannot be judged; None where it can."""
    what = "targets" if settings.target == "word" else "sentences"
    if min(ours.tokens, theirs.tokens) == 0:
        return f"no token begins in one of the {what}"
    if ours.tokens == ours.missing or theirs.tokens == theirs.missing:
        return f"the model gives no log-probability at all for one of the {what}"
    if settings.single_piece_only and max(ours.tokens, theirs.tokens) > 1:
        return "a target has several tokens"
    return None


def _unjudged(pair: Pair, why: str, seen: _Seen) -> Outcome:
    seen.unjudged[why] += 1
    return Outcome(pair.item, "accuracy", None, pair.groups, {"good": pair.good, "bad": pair.bad, "why": why})


def _description(settings: Settings) -> str:
    if settings.target == GIVEN:
        return "the grammatical form has the higher value in the file"
    what = "target word" if settings.target == "word" else "sentence"
    per = "" if settings.normalise == "none" else f" per {settings.normalise}"
    how = "SLOR" if settings.unigrams is not None else f"log-probability{per}"
    return f"the grammatical {what} has the higher {how}"


def _pairs(count: int) -> str:
    return _many(count, "pair")


def _many(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"
