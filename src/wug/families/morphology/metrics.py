"""The metrics of word-formation tests, computed from a score for each form, or from free answers."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

import numpy as np

from wug.arrays import Floats
from wug.distributions import t_quantile
from wug.errors import MissingExtra
from wug.families.correlations import correlation_interval, pearson, spearman
from wug.families.morphology.item import WugItem
from wug.families.morphology.statistics import bootstrap_correlation, fit_beta_regression, percentile_interval
from wug.identity import OVERALL, Group
from wug.outcomes import Estimate, Interval, Metric, Notice, Outcome, SuiteOutput
from wug.stats import effective_number, estimate, mean_interval, wilson

PREFERENCE, ACCURACY, CHANCE, REGULAR_RATE = "preference_accuracy", "accuracy", "chance", "regular_rate"
PRIOR = ":prior"
"""Ends the names of metrics whose scores are relative to those in a neutral carrier."""
TOP = (1, 3, 5)
"""Numbers of human answers among which an answer is looked for."""
AMONG_TOP = "the answer is among the {} forms that people give most often"
TIED_RATINGS = "people rate several forms highest"
NOT_COMPARABLE = "it has one form only"

METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(PREFERENCE, meaning="the form that people rate highest has the highest score; ties are errors"),
        Metric(ACCURACY, meaning="the expected form has the highest score; ties are errors"),
        Metric("human_ratio_spearman", "score", meaning="rank correlation of model and human choice proportions"),
        Metric("exact_match@1", meaning="the answer is the form that most people give, or the expected one"),
        *(Metric(f"exact_match@{k}", headline=False, meaning=AMONG_TOP.format(k)) for k in TOP[1:]),
        Metric("spearman_by_lemma", "score", meaning="mean over lemmas of the rank correlation of ratings and scores"),
        Metric("pearson", "score", meaning="correlation of ratings and scores over all forms"),
        Metric("spearman", "score", meaning="rank correlation of ratings and scores over all forms"),
        Metric("aic", "score", "lower", headline=False, meaning="AIC of a beta mixed regression of ratings on scores"),
        Metric("log_likelihood", "score", headline=False, meaning="log-likelihood of that regression"),
        Metric(REGULAR_RATE, better="neither", headline=False, meaning="the regular form is preferred"),
        Metric(
            "island_effect",
            "score",
            "neither",
            headline=False,
            meaning="regular minus irregular score, in islands of reliability minus elsewhere",
        ),
        Metric(CHANCE, better="neither", meaning="accuracy of random choices"),
        Metric("human_ceiling", "score", "neither", meaning="the same for each person against the others"),
    )
}


@dataclass(frozen=True, slots=True)
class ScoredItem:
    """An item with a score for each of its forms."""

    item: WugItem
    scores: tuple[float, ...]
    detail: Mapping[str, Any] = field(default_factory=dict)
    by_carrier: tuple[tuple[float, ...], ...] = ()

    @property
    def target(self) -> int | None:
        """The place of the form that people rate highest or that is expected."""
        return preferred(self.item)[0]

    def right(self, scores: Sequence[float] | None = None) -> bool:
        """Whether the target has the highest of its scores, or of these."""
        return argmax(scores or self.scores) == self.target


def score_rows(
    scored: Sequence[ScoredItem], scale: float = 7.0, *, by_token: bool = False, suffix: str = ""
) -> Iterator[SuiteOutput]:
    """Outcomes and estimates of items with scores.

    Args:
        scored: The items.
        scale: The highest possible rating.
        by_token: Whether to add accuracy weighted by frequency.
        suffix: Ends the names of metrics of a second kind of scores.
    """
    judged = [entry for entry in scored if len(entry.item.forms) > 1]
    outcomes = [_outcome(entry, suffix) for entry in scored]
    yield from outcomes
    if not suffix:
        unjudged = Counter(str(outcome.detail["why"]) for outcome in outcomes if outcome.value is None)
        for why, count in unjudged.items():
            yield Notice(f"{count:,} of {len(scored):,} items left out of the accuracy: {why}")
    with_target = [entry for entry in judged if entry.target is not None]
    yield from _carrier_estimates(with_target, suffix)
    agreement = [(entry.item, argmax(entry.scores) == entry.item.regular) for entry in judged]
    yield from _regular_rates([(item, regular) for item, regular in agreement if item.regular is not None], suffix)
    if by_token:
        yield from _by_token(with_target, suffix)
    expected = [entry for entry in judged if entry.item.expected is not None]
    if expected and not suffix:
        yield Estimate(CHANCE, OVERALL, fmean(1 / len(entry.item.forms) for entry in expected), len(expected))
    sentences = [entry for entry in scored if entry.item.is_sentence]
    if rated := [entry for entry in scored if entry.item.rated and not entry.item.is_sentence]:
        yield from _by_lemma(rated, suffix)
        yield from _by_form(rated, scale, suffix)
    yield from _ratio_rows(sentences, suffix)
    yield from _island_rows(judged, suffix)


def preferred(item: WugItem) -> tuple[int | None, str]:
    """The place of the form that people rate highest or that is expected, or why there is none."""
    if len(item.forms) < 2:
        return None, NOT_COMPARABLE
    if not item.rated:
        return item.expected, "it has no ratings and no expected form"
    best = argmax([rating or 0.0 for rating in item.ratings])
    return best, "" if best is not None else TIED_RATINGS


def argmax(scores: Sequence[float]) -> int | None:
    """The place of the highest score; None for a tie."""
    best = [index for index, score in enumerate(scores) if score == max(scores)]
    return best[0] if len(best) == 1 else None


def accuracy_of(item: WugItem) -> str:
    """The name of the accuracy: agreement with people, or with the expected form."""
    return PREFERENCE if item.rated else ACCURACY


def _groups(item: WugItem) -> list[str]:
    return [OVERALL, *(str(Group(name, value)) for name, value in item.groups.items())]


def _outcome(scored: ScoredItem, suffix: str) -> Outcome:
    item = scored.item
    target, why = preferred(item)
    detail = {
        "lemma": item.lemma,
        "forms": [form.text for form in item.forms],
        "types": [form.type for form in item.forms],
        "ratings": list(item.ratings) if item.rated else [],
        "scores": list(scored.scores),
        **({} if target is None else {"target": target + 1}),
        **scored.detail,
        **({"why": why} if target is None else {}),
    }
    value = None if target is None else scored.right()
    return Outcome(item.item, accuracy_of(item) + suffix, value, item.groups, detail)


def _carrier_estimates(scored: Sequence[ScoredItem], suffix: str) -> Iterator[Estimate]:
    for carrier in range(max((len(entry.by_carrier) for entry in scored), default=0)):
        with_carrier = [entry for entry in scored if carrier < len(entry.by_carrier)]
        right = [entry.right(entry.by_carrier[carrier]) for entry in with_carrier]
        yield estimate(accuracy_of(with_carrier[0].item) + suffix, str(Group("carrier", str(carrier + 1))), right)


def _regular_rates(chosen: Sequence[tuple[WugItem, bool]], suffix: str = "") -> Iterator[Estimate]:
    """The share of regular forms, over all items and by group; several answers to an item are not independent."""
    cells: dict[str, list[tuple[WugItem, bool]]] = defaultdict(list)
    for item, regular in chosen:
        for group in _groups(item):
            cells[group].append((item, regular))
    for group, judgements in cells.items():
        units = [item.item for item, _ in judgements]
        yield estimate(REGULAR_RATE + suffix, group, [regular for _, regular in judgements], "wilson", units, "item")


def _by_token(scored: Sequence[ScoredItem], suffix: str) -> Iterator[Estimate]:
    """Accuracy weighted by the frequency of the lemmas, with Wilson's interval of Kish's effective number."""
    for metric in dict.fromkeys(accuracy_of(entry.item) for entry in scored):
        entries = [entry for entry in scored if accuracy_of(entry.item) == metric]
        weights = np.array([entry.item.weight for entry in entries])
        share = float(sum(entry.item.weight for entry in entries if entry.right()) / weights.sum())
        number = effective_number(weights)
        interval = wilson(share * number, number)
        yield Estimate.of(f"{metric}:token{suffix}", OVERALL, share, len(entries), interval, "wilson, by token")


def _by_form(scored: Sequence[ScoredItem], scale: float, suffix: str) -> Iterator[SuiteOutput]:
    """Correlations of ratings and scores over all forms and those of each type, and the regression."""
    pairs = [(entry.item.item, *pair) for entry in scored for pair in zip(entry.item.forms, entry.scores, strict=True)]
    units, types = [unit for unit, _, _ in pairs], [form.type for _, form, _ in pairs]
    ratings = np.array([form.rating for _, form, _ in pairs], np.float64)
    scores: Floats = np.array([score for *_, score in pairs])
    for type in ("", *(type for type in dict.fromkeys(types) if type)):
        rows = [row for row, other in enumerate(types) if type in ("", other)]
        for name, statistic in (("pearson", pearson), ("spearman", spearman)):
            value = statistic(ratings[rows], scores[rows])
            if value is not None:
                interval = bootstrap_correlation(statistic, ratings[rows], scores[rows], [units[row] for row in rows])
                group = str(Group("form", type)) if type else OVERALL
                yield _estimate(name + suffix, group, value, len(rows), interval, "bootstrap over lemmas")
    if not suffix:
        yield from _regression(ratings / scale, scores, units, scale)


def _by_lemma(scored: Sequence[ScoredItem], suffix: str) -> Iterator[SuiteOutput]:
    groups: dict[str, list[float]] = defaultdict(list)
    undefined = 0
    for entry in scored:
        value = spearman(np.array(entry.item.ratings, np.float64), np.array(entry.scores))
        if value is None:
            undefined += 1
            continue
        for group in _groups(entry.item):
            groups[group].append(value)
    for group, values in groups.items():
        interval = mean_interval(values) if len(set(values)) > 1 else None
        yield _estimate(f"spearman_by_lemma{suffix}", group, fmean(values), len(values), interval, "t")
    if undefined and not suffix:
        lemmas = f"{undefined:,} of {len(scored):,} lemmas"
        yield Notice(f"{lemmas} left out of spearman_by_lemma: ratings or scores of their forms are equal")


def _regression(shares: Floats, scores: Floats, units: Sequence[str], scale: float) -> Iterator[SuiteOutput]:
    reason = ""
    if bounds := int(((shares <= 0) | (shares >= 1)).sum()):
        reason = f"{bounds:,} ratings are not between 0 and {scale:g}, which a beta regression needs"
    elif len(scores) < 5 or scores.min() == scores.max():
        reason = "all scores are equal, or there are fewer than 5 forms"
    if reason:
        yield Notice(f"no aic: {reason}")
        return
    try:
        fit = fit_beta_regression(shares, scores, units)
    except MissingExtra as missing:
        yield Notice(f"no aic: {missing}")
        return
    for name, value in (("aic", fit.aic), ("log_likelihood", fit.log_likelihood)):
        yield Estimate(name, OVERALL, value, len(scores), method="none: a criterion has no interval")


def _ratio_rows(scored: Sequence[ScoredItem], suffix: str) -> Iterator[Estimate]:
    """BabyLM: the softmax of the two scores against the proportion of people who chose the first."""
    if len(scored) < 3:
        return
    model = np.array([1 / (1 + math.exp(min(700.0, b - a))) for a, b in (entry.scores for entry in scored)])
    value = spearman(model, np.array([entry.item.ratings[0] for entry in scored], np.float64))
    if value is not None:
        interval = correlation_interval(value, len(scored), 0.5)
        yield _estimate(f"human_ratio_spearman{suffix}", OVERALL, value, len(scored), interval, "bonett-wright")


def _island_rows(scored: Sequence[ScoredItem], suffix: str) -> Iterator[Estimate]:
    """The advantage of regular forms in islands of reliability over that elsewhere, with Welch's interval."""
    sides: dict[bool, list[float]] = {True: [], False: []}
    for entry in scored:
        regular = entry.item.regular
        if regular is not None and entry.item.in_island is not None:
            others = [score for number, score in enumerate(entry.scores) if number != regular]
            sides[entry.item.in_island].append(entry.scores[regular] - max(others))
    inside, outside = (np.array(sides[side]) for side in (True, False))
    if min(len(inside), len(outside)) < 2:
        return
    a, b = inside.var(ddof=1) / len(inside), outside.var(ddof=1) / len(outside)
    value, interval = float(inside.mean() - outside.mean()), None
    if a + b > 0:
        freedom = (a + b) ** 2 / (a**2 / (len(inside) - 1) + b**2 / (len(outside) - 1))
        half = t_quantile(float(freedom), 0.975) * math.sqrt(a + b)
        interval = Interval(value - half, value + half)
    yield _estimate(f"island_effect{suffix}", OVERALL, value, len(inside) + len(outside), interval, "t")


def answer_rows(
    items: Sequence[WugItem], answers: Sequence[Sequence[str]], details: Sequence[Mapping[str, Any]]
) -> Iterator[SuiteOutput]:
    """Outcomes of free answers, one per carrier of each item."""
    for item, written, detail in zip(items, answers, details, strict=True):
        shared_detail = {"lemma": item.lemma, "forms": item.best(TOP[-1]), "answers": list(written), **detail}
        for carrier, answer in enumerate(written, 1):
            groups = {**item.groups, **({"carrier": str(carrier)} if len(written) > 1 else {})}
            for k in TOP:
                right = answer in item.best(k) if item.best(1) else None
                about = {**shared_detail, "answer": answer} if k == 1 else {}
                yield Outcome(item.item, f"exact_match@{k}", right, groups, about)
    with_regular = [pair for pair in zip(items, answers, strict=True) if pair[0].regular is not None]
    yield from _regular_rates(
        [(item, answer == item.forms[item.regular or 0].text) for item, written in with_regular for answer in written]
    )


def answer_ceiling(answers: Mapping[str, Sequence[str]]) -> Iterator[Estimate]:
    """The exact match of each person with the most frequent answers of the others."""
    people = len(next(iter(answers.values())))
    for k in TOP:
        shares = []
        for person in range(people):
            agreements = []
            for of_people in answers.values():
                others = Counter(answer for number, answer in enumerate(of_people) if number != person)
                agreements.append(of_people[person] in [answer for answer, _ in others.most_common(k)])
            shares.append(fmean(agreements))
        name = "human_ceiling" if k == 1 else f"human_ceiling:exact_match@{k}"
        yield _estimate(name, OVERALL, fmean(shares), people, _bootstrap_mean(shares), "bootstrap over people")


def rating_ceiling(ratings: Mapping[tuple[str, str, str], float]) -> Iterator[Estimate]:
    """The correlation of each rater with the median of the others, averaged over raters."""
    by_form: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    by_rater: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for (rater, lemma, form), value in ratings.items():
        by_form[lemma, form][rater] = value
        by_rater[rater].append((lemma, form))
    for name, statistic in (("human_ceiling", spearman), ("human_ceiling:pearson", pearson)):
        values = []
        for rater, forms in by_rater.items():
            pairs = []
            for of_form in (by_form[form] for form in forms if len(by_form[form]) > 1):
                others = [value for who, value in of_form.items() if who != rater]
                pairs.append((of_form[rater], float(np.median(others))))
            coefficient = statistic(*np.array(pairs, np.float64).T) if len(pairs) > 2 else None
            if coefficient is not None:
                values.append(coefficient)
        if values:
            yield _estimate(name, OVERALL, fmean(values), len(values), _bootstrap_mean(values), "bootstrap over raters")


def _bootstrap_mean(values: Sequence[float]) -> Interval | None:
    if len(set(values)) < 2:
        return None
    draws = np.random.default_rng(1958).choice(np.array(values), (2_000, len(values))).mean(axis=1)
    return percentile_interval(draws)


def _estimate(metric: str, group: str, value: float, n: int, interval: Interval | None, method: str) -> Estimate:
    reason = "none: all values are equal, or they are too few"
    return Estimate.of(metric, group, value, n, interval, reason if interval is None else method)
