"""The judgements in the outcomes of pairs, and estimates over them: by language, and against people's judgements.

Judgements are in the file of pairs, or responses that the user joins to them (`people=FILE`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from wug.arrays import Floats
from wug.errors import InputError
from wug.families.correlations import correlation, correlation_interval, ranks
from wug.families.pairs.pair import Pair
from wug.families.people import RaterMeans
from wug.families.people_tables import PEOPLE_OPTIONS, read_people
from wug.files import checksum, read_bytes, user_path
from wug.formatting import finite_or_none, plural
from wug.identity import OVERALL, Group
from wug.options import Option
from wug.outcomes import Estimate, Metric, Notice, Outcome, Result, SuiteOutput, Value
from wug.rows import Filter, Rows
from wug.samples import Sample, choice_sample
from wug.stats import mean_of_shares

ACCURACY, MACRO_ACCURACY, PEARSON, SPEARMAN = "accuracy", "macro_accuracy", "pearson", "spearman"
CHANCE = 0.5
LANGUAGE = "language"
CORRELATIONS = (
    Metric(PEARSON, "score", meaning="correlation of the model's margin with people's judgement, over pairs"),
    Metric(SPEARMAN, "score", meaning="rank correlation of the model's margin with people's judgement"),
)
CEILING = "noise_ceiling"
MIN_CORRELATED_PAIRS = 3
"""Two points always lie on a line."""
MIN_GROUP_PAIRS = 10
"""Pairs of a group for which correlations are reported."""
LABEL_KEYS = ("logprob_first", "logprob_second")
YES_NO_KEYS = ("logprob_yes_good", "logprob_no_good", "logprob_yes_bad", "logprob_no_bad")
TOKEN_KEYS = ("tokens_good", "tokens_bad")
"""Numbers of tokens, in the details of pairs whose texts have as many words but not as many tokens."""
SCORE_KEYS = ("score_good", "score_bad", "logprob_good", "logprob_bad", "order", *LABEL_KEYS, *YES_NO_KEYS)
TEXT_KEYS = ("good", "bad", "forms")
"""The sentences in the details; with published scores, `good` and `bad` are the scores and `forms` the words."""
JUDGEMENT_KEYS = (*SCORE_KEYS, *TEXT_KEYS)

_SHARED = ("item", "exclude", "good", "bad")
"""Options of responses that pairs have too, with another meaning."""
_NAMES = {
    (f"people_{option.name}" if option.name in _SHARED else option.name): option
    for option in PEOPLE_OPTIONS
    if option.name != "groups"
}
_CONTENT = ("correct", "response", "rating")
"""Options that name the content of a table of no published format."""
JOINED_OPTIONS = (
    Option("people", Path, None, "file of people's responses, joined to pairs by the two sentences, else by item"),
    *(replace(option, name=name, help=f"with people: {option.help}") for name, option in _NAMES.items()),
)
_Key: TypeAlias = tuple[str, str] | str
"""Two sentences, or the name of an item."""


class PairOutcome(NamedTuple):
    """The judgement on a pair, from the details of its outcome."""

    value: Value
    good: str
    """The grammatical sentence or form; empty if only its score is known."""
    bad: str
    score_good: float | None
    score_bad: float | None
    why: str
    more_tokens: int = 0
    """By how many tokens the grammatical one is longer, if both have the same number of words."""

    @classmethod
    def of(cls, outcome: Outcome, factor: float = 1.0) -> PairOutcome:
        """The judgement in an outcome, with its scores multiplied by a factor."""
        detail = outcome.detail
        good, bad = detail.get("good"), detail.get("bad")
        texts = (good, bad)
        if not isinstance(good, str) or not isinstance(bad, str):
            texts = str(detail.get("forms") or "").partition("/")[::2]
        scores = [detail.get(f"score_{side}", detail.get(f"logprob_{side}")) for side in ("good", "bad")]
        if scores == [None, None]:
            scores = _label_scores(detail) or [good, bad]
        score_good, score_bad = (None if score is None else score * factor for score in map(finite_or_none, scores))
        return cls(
            value=outcome.value,
            good=str(texts[0]),
            bad=str(texts[1]),
            score_good=score_good,
            score_bad=score_bad,
            why=str(detail.get("why") or ""),
            more_tokens=(detail.get("tokens_good") or 0) - (detail.get("tokens_bad") or 0),
        )

    @property
    def margin(self) -> float | None:
        """The score of the grammatical sentence minus that of the other; None unless both are finite."""
        if self.score_good is None or self.score_bad is None:
            return None
        return self.score_good - self.score_bad

    @property
    def identical(self) -> bool:
        """Whether both sentences are the same."""
        return bool(self.good) and self.good.split() == self.bad.split()

    @property
    def tied(self) -> bool:
        """Whether two different sentences have the same score."""
        return self.value is False and self.margin == 0 and not self.identical


def margins(rows: Rows, factor: float) -> list[float]:
    """The margins of all judged pairs that have one, in any order, with scores multiplied by a factor."""
    collected: list[float] = []
    for value in ("true", "false"):
        scores = rows.numbers(Filter(ACCURACY, value=value), SCORE_KEYS)
        if {"logprob_good", "logprob_bad"} <= scores.keys():
            good, bad = (_side(scores, side) * factor for side in ("good", "bad"))
            known = np.isfinite(good) & np.isfinite(bad)
            collected += (good[known] - bad[known]).tolist()
        else:  # answers to questions, or published scores
            each = rows.each(Filter(ACCURACY, value=value), keys=JUDGEMENT_KEYS)
            of_rows = (PairOutcome.of(row.outcome, factor).margin for row in each)
            collected += [margin for margin in of_rows if margin is not None]
    return collected


def _side(scores: Mapping[str, np.ma.MaskedArray[Any, Any]], side: str) -> Floats:
    """The scores of one sentence of each pair: of the linking function, or else log-probabilities; NaN if missing."""
    logprob = scores[f"logprob_{side}"]
    score = scores.get(f"score_{side}", logprob)
    return np.where(np.ma.getmaskarray(score), logprob.filled(np.nan), score.data)


def _label_scores(detail: Mapping[str, Any]) -> list[Any] | None:
    """The scores of both sentences by the labels of answers: of the one shown, or of Yes against No."""
    if any(detail.get(key) is not None for key in LABEL_KEYS):
        label_scores = [detail.get(key) for key in LABEL_KEYS]
        return label_scores if detail.get("order") == "good_first" else label_scores[::-1]
    values = [finite_or_none(detail.get(key)) for key in YES_NO_KEYS]
    yes_good, no_good, yes_bad, no_bad = values
    if yes_good is None or no_good is None or yes_bad is None or no_bad is None:
        return None
    return [yes_good - no_good, yes_bad - no_bad]


@dataclass(slots=True)
class LanguageAccuracies:
    """Counts the correct pairs of each language, for the mean over languages."""

    counts: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, outcome: Outcome) -> None:
        """Count a judged pair whose language is known."""
        language = outcome.groups.get(LANGUAGE)
        if language is not None and outcome.value is not None:
            correct, judged = self.counts.get(language, (0, 0))
            self.counts[language] = correct + bool(outcome.value), judged + 1

    def estimates(self) -> Iterator[Estimate]:
        """The macro average; nothing unless there are several languages."""
        if len(self.counts) > 1:
            counts = list(self.counts.values())
            mean, interval = fmean(correct / n for correct, n in counts), mean_of_shares(counts)
            pairs = sum(n for _, n in counts)
            yield Estimate.of(MACRO_ACCURACY, "all", mean, pairs, interval, "wilson, mean of languages")


@dataclass(slots=True)
class HumanCorrelations:
    """Collects the margins of pairs that people judged, with these judgements."""

    margins: list[float] = field(default_factory=list)
    judgements: list[float] = field(default_factory=list)
    groups: dict[str, list[int]] = field(default_factory=dict)
    """The indices of the pairs in each group."""
    left_out: int = 0
    """Pairs that people judged and for which the model gives no finite margin."""

    def add(self, outcome: Outcome) -> None:
        """Collect a pair that people judged."""
        rating = outcome.detail.get("human")
        human = None if rating is None else finite_or_none(rating)
        if human is not None:
            margin = None if outcome.value is None else PairOutcome.of(outcome).margin
            self.collect(margin, human, outcome.groups)

    def collect(self, margin: float | None, human: float, groups: Mapping[str, str]) -> None:
        """Collect the margin of a pair; None if the model gives no finite one."""
        if margin is None:
            self.left_out += 1
            return
        for name, value in groups.items():
            self.groups.setdefault(str(Group(name, value)), []).append(len(self.margins))
        self.margins.append(margin)
        self.judgements.append(human)

    def rows(self) -> Iterator[SuiteOutput]:
        """Both correlations, over all pairs and by group, or a notice why there are none.

        Groups of fewer than MIN_GROUP_PAIRS pairs have none. Nothing without human judgements.
        """
        n = len(self.margins)
        if not n and not self.left_out:
            return
        margins, judgements = np.array(self.margins), np.array(self.judgements)
        why = _missing_reason(margins, judgements)
        if why is None:
            yield from _correlations(OVERALL, margins, judgements)
        else:
            yield Notice(f"no correlation with people's judgements: {why}")
        for group, members in self.groups.items():
            chosen = np.array(members)
            if MIN_GROUP_PAIRS <= len(chosen) < n and _missing_reason(margins[chosen], judgements[chosen]) is None:
                yield from _correlations(group, margins[chosen], judgements[chosen])
        if self.left_out:
            pairs = f"{plural(self.left_out, 'pair')} that people judged"
            yield Notice(f"{pairs} left out of the correlations: the model gives no finite margin")


def _missing_reason(margins: Floats, judgements: Floats) -> str | None:
    if len(margins) < MIN_CORRELATED_PAIRS:
        return f"{len(margins)} of at least {MIN_CORRELATED_PAIRS} pairs were judged by both people and the model"
    for name, column in (("people's judgements", judgements), ("the model's margins", margins)):
        if column.min() == column.max():
            return f"{name} are all {column[0]:.4g}"
    return None


def _correlations(group: str, margins: Floats, judgements: Floats) -> Iterator[Estimate]:
    n = len(margins)
    pearson, spearman = correlation(margins, judgements), correlation(ranks(margins), ranks(judgements))
    for metric, value, factor, method in (
        (PEARSON, pearson, 0.0, "fisher z"),
        (SPEARMAN, spearman, 0.5, "bonett-wright"),
    ):
        interval = correlation_interval(value, n, factor)
        why_none = f"none: {n} pairs are too few" if n < 4 else "none: all points lie on a line"
        yield Estimate.of(metric, group, value, n, interval, why_none if interval is None else method)


@dataclass(frozen=True, slots=True)
class JoinedPeople:
    """People's responses to pairs."""

    signature: Mapping[str, str]
    notices: tuple[str, ...]
    means: RaterMeans
    items: Mapping[_Key, int]
    """The place of each judged item."""

    def ceilings(self, pairs: Iterable[Pair]) -> Iterator[SuiteOutput]:
        """The reliability of the margins of some pairs, and the noise ceiling."""
        yield from self.means.ceilings({place for pair in pairs if (place := _place(pair, self.items)) is not None})


def with_people(pairs: Sequence[Pair], options: Mapping[str, str]) -> tuple[Sequence[Pair], JoinedPeople | None]:
    """The pairs with people's margins, and the responses behind them; the same pairs without `people=FILE`."""
    if not options.get("people"):
        if name := next((name for name in _NAMES if name in options), None):
            raise InputError(f"{name} is about people's responses: add people=FILE")
        return pairs, None
    path = user_path(options["people"])
    response_options = {name: options[name] for name in _NAMES if name in options}
    if "item" in options and any(name in response_options for name in _CONTENT):
        response_options = {"people_item": options["item"], **response_options}
    data = read_people(path, {_NAMES[name].name: value for name, value in response_options.items()}, "people_item")
    if data.counts:
        what = f"its format ({data.format}) has counts per paradigm and no items"
        raise InputError(f"{what}: there are no responses that can be joined to pairs", file=path)
    keys = [_key(item.good, item.bad) if item.good else item.name for item in data.items]
    items: dict[_Key, int] = {}
    merged = [items.setdefault(key, index) for index, key in enumerate(keys)]
    places = [_place(pair, items) for pair in pairs]
    if set(places) == {None}:
        raise InputError(_no_match(keys[0], pairs[0]), file=path)
    means = RaterMeans(replace(data, responses=[one._replace(item=merged[one.item]) for one in data.responses]))
    margins = [None if math.isnan(margin) else margin for margin in means.human_margins().tolist()]
    human = [None if place is None else margins[place] for place in places]
    notices = [*data.notices, *means.notices()]
    if without := human.count(None):
        notices.append(f"{without:,} of {plural(len(pairs), 'pair')} without responses by people")
    matched = set(places)
    if unmatched := len(merged) - sum(place in matched for place in merged):
        notices.append(f"{unmatched:,} of {plural(len(merged), 'item')} of people's responses match no pair")
    signature = {"people": checksum(read_bytes(path)), **response_options}
    joined = [pair._replace(human=margin) for pair, margin in zip(pairs, human, strict=True)]
    return joined, JoinedPeople(signature, tuple(notices), means, items)


def _place(pair: Pair, items: Mapping[_Key, int]) -> int | None:
    return items.get(_key(pair.good, pair.bad), items.get(pair.item))


def _key(good: str, bad: str) -> _Key:
    return " ".join(good.split()), " ".join(bad.split())


def _no_match(key: _Key, pair: Pair) -> str:
    by_item = isinstance(key, str)
    how, theirs = ("by item", f"item {key!r}") if by_item else ("by the two sentences", f"{key[0]!r} and {key[1]!r}")
    ours = f"{pair.good!r} and {pair.bad!r}" + (f", item {pair.item!r}" if by_item else "")
    return f"no pair matches, {how}. The first of the responses is about {theirs}; the first pair is {ours}"


def to_sample(outcome: Outcome, result: Result) -> Sample:
    """The pair of an outcome."""
    pair, detail = PairOutcome.of(outcome), outcome.detail
    logprobs = (detail.get("logprob_good"), detail.get("logprob_bad"))
    scores = (detail.get("score_good"), detail.get("score_bad"))
    details: dict[str, Any] = {
        "context": str(detail.get("context") or ""),
        "scores": scores if None not in scores else (),
        "fields": {"sentence_good": pair.good, "sentence_bad": pair.bad},
    }
    known = () if None in logprobs else (float(logprobs[0]), float(logprobs[1]))  # type: ignore[arg-type]
    return choice_sample((pair.good, pair.bad), 0, outcome.value, known, **details)


def from_sample(sample: Sample) -> dict[str, Any]:
    """The details of an outcome of an imported pair."""
    assert sample.right is not None
    wrong = 1 - sample.right
    detail: dict[str, Any] = {"good": sample.choices[sample.right], "bad": sample.choices[wrong]}
    if sample.logprobs:
        detail |= {"logprob_good": sample.logprobs[sample.right], "logprob_bad": sample.logprobs[wrong]}
    if sample.scores:
        detail |= {"score_good": sample.scores[sample.right], "score_bad": sample.scores[wrong]}
    return {**detail, **({"context": sample.context} if sample.context else {})}
