"""The metrics of COGS: what each one means, and its values for every line of a corpus.

A metric is declared in METRICS. A value per line is a field of `FormScores` in `logical_form/measures.py` with the
same name, or a column that `score_lines` adds.
"""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wug.arrays import Floats, Indices, Ints, Mask
from wug.families.cogs.logical_form import measures
from wug.families.cogs.logical_form.match import recogs_exact_match
from wug.families.cogs.logical_form.parse import Dialect, parse
from wug.families.cogs.logical_form.smatch import smatch
from wug.families.cogs.read import GoldLine
from wug.outcomes import Estimate, Metric
from wug.stats import estimate, ratio_interval

Groups: TypeAlias = Mapping[str, NDArray[np.intp]]
"""The lines of each group, `all` first."""
SCORES = ("precision", "recall", "f1")
OVER_TYPES = "macro=types"


class OverlapCounts(NamedTuple):
    """For each line, how many features prediction and gold form share, and how many each has."""

    common: Floats
    predicted: Floats
    gold: Floats


@dataclass(frozen=True, slots=True)
class MetricColumns:
    """The metrics of all lines."""

    flags: Mapping[str, NDArray[np.bool_]]
    numbers: Mapping[str, Floats]
    counts: Mapping[str, OverlapCounts]
    """The counts behind precision, recall and F1, by feature and zone (`terms`, `terms_prefix`)."""
    main: tuple[str, ...]
    """The features that are broken down by group; the others are reported for all lines only."""
    score_of_nothing: float = 1.0
    """Precision, recall and F1 if neither form has the feature."""
    harmonic: bool = False
    """Whether macro F1 is computed from macro precision and recall instead of averaging F1 over lines."""
    corpus: Mapping[str, float] = field(default_factory=dict)
    details: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)
    """The rules that each line violates, and the kinds of its errors, if they were checked."""

    def __len__(self) -> int:
        return len(next(iter(self.flags.values())))

    def scores(self, feature: str) -> dict[str, Floats]:
        """Precision, recall and F1 of every line."""
        counts = self.counts[feature]
        return {name: self._ratio(*_parts(counts, name)) for name in SCORES}

    def _ratio(self, top: Floats, bottom: Floats, both: Floats) -> Floats:
        ratios = np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)
        return np.where(both == 0, self.score_of_nothing, ratios)


MAX_NGRAM = 4
LINES_AT_ONCE = 1_000  # arrays of n-grams that the cache of a processor holds

_FEATURES = {
    "indices": "indices",
    "names": "proper names",
    "predicates": "predicates",
    "terms": "whole terms",
    "arguments": "arguments",
}
_ZONES = {"": "", "_prefix": " before the last `;`", "_body": " in the conjunction"}
_SCORES = {
    "precision": "the proportion of predicted {} that are correct",
    "recall": "the proportion of gold {} that are predicted",
    "f1": "the F1 of predicted {}",
}
_AVERAGES = {"": "counted over all lines together", "_macro": "mean over lines"}


def _overlap_metric(feature: str, zone: str, score: str, average: str, *, headline: bool = False) -> Metric:
    meaning = f"{_SCORES[score].format(_FEATURES[feature] + _ZONES[zone])}, {_AVERAGES[average]}"
    return Metric(f"{feature}{zone}_{score}{average}", "score", headline=headline, meaning=meaning)


METRICS = (
    Metric("exact_match", meaning="the prediction has the tokens of the gold form"),
    Metric(
        "semantic_match",
        meaning="some one-to-one renaming of indices makes prediction and gold form equal as sets of terms",
    ),
    Metric(
        "order_invariant_match", meaning="the prediction has the terms of the gold form, each as often, in any order"
    ),
    Metric("well_formed", meaning="the prediction can be derived from the grammar of logical forms"),
    Metric(
        "well_formed_strict",
        meaning="the prediction is well-formed and makes sense: indices bound, no duplicate, no loose part",
    ),
    Metric("edit_distance", "tokens", "lower", meaning="tokens to insert, delete or replace (lower is better)"),
    Metric("smatch_f1", "score", meaning="F1 of terms under the best one-to-one renaming of indices"),
    Metric("bleu", "score", meaning="BLEU of all predictions together, from 0 to 100"),
    *(
        _overlap_metric(feature, "", "f1", "", headline=True)
        for feature in ("indices", "names", "predicates", "arguments", "terms")
    ),
    Metric(
        "exact_match_string",
        headline=False,
        meaning="the prediction is the gold form to the last character, white space included",
    ),
    Metric(
        "recogs_exact_match",
        headline=False,
        meaning="as ReCOGS' own program has it: renaming indices makes the two equal as sets of conjuncts, "
        "and no conjunct is repeated",
    ),
    Metric(
        "edit_distance_normalised",
        "distance",
        "lower",
        headline=False,
        meaning="edit distance divided by the length of the longer form (lower is better)",
    ),
    *(
        _overlap_metric(feature, zone, score, average)
        for feature in _FEATURES
        for zone in _ZONES
        for score in SCORES
        for average in _AVERAGES
        if (zone, score, average) != ("", "f1", "")
    ),
)


class CogsMetricOptions(NamedTuple):
    """Which metrics to compute, and how."""

    reference_compat: bool = False
    smatch: bool = False
    bleu: bool = True
    seed: int = 0

    @property
    def signature(self) -> dict[str, str]:
        """Everything that can change a result."""
        if self.reference_compat:
            return {"reference_compat": "yes"}
        return {"smatch": f"seed {self.seed}"} if self.smatch else {}


def score_lines(
    lines: Sequence[GoldLine], predictions: Sequence[str], dialect: Dialect, options: CogsMetricOptions, *, sound: bool
) -> tuple[MetricColumns, list[str]]:
    """The metrics of every prediction, and warnings about them; `sound` if all gold forms are known to be."""
    gold = [line.form for line in lines]
    if options.reference_compat:
        return _reference_columns(gold, predictions), []
    packed = array("q")  # numbers only: tuples would keep the garbage collector busy
    violations: list[tuple[str, ...]] = []
    errors: list[tuple[str, ...]] = []
    for form, prediction in zip(gold, predictions, strict=True):
        *values, counts, rules, kinds = measures.score_form(form, prediction, dialect, sound=sound)
        packed.extend(values)
        packed.extend(counts)
        violations.append(rules)
        errors.append(kinds)
    rows = np.frombuffer(packed, np.int64).reshape(len(gold), -1).T
    columns = dict(zip(measures.FormScores._fields[:-3], rows, strict=False))
    flags = {m.name: columns[m.name].astype(bool) for m in METRICS if m.unit == "share" and m.name in columns}
    if dialect == "recogs":
        pairs = zip(gold, predictions, strict=True)
        matches = [form == answer or recogs_exact_match(form, answer) for form, answer in pairs]
        flags["recogs_exact_match"] = np.array(matches, bool)
    distance, longest = columns["edit_distance"].astype(float), columns["longest"].astype(float)
    normalised = np.divide(distance, longest, out=np.zeros_like(distance), where=longest > 0)
    numbers = {"edit_distance": distance, "edit_distance_normalised": normalised}
    warnings: list[str] = []
    if options.smatch:
        numbers["smatch_f1"], inexact = _smatch(gold, predictions, dialect, flags, options.seed)
        if inexact:
            warnings.append(
                f"smatch_f1 of {inexact} predictions is the best of a search from random starts (seed "
                f"{options.seed}), and may be too low"
            )
    overlap = _counts(rows[len(columns) :].astype(float))
    corpus = {"bleu": corpus_bleu(gold, predictions)} if options.bleu else {}
    details = {"violations": violations, "errors": errors}
    return MetricColumns(flags, numbers, overlap, measures.FEATURES, corpus=corpus, details=details), warnings


def corpus_bleu(gold: Sequence[str], predictions: Sequence[str]) -> float:
    """Corpus BLEU as sacrebleu computes it without a tokenizer; n-grams are counted as arrays, which is much faster."""
    right = np.array([len(form.split()) for form, answer in zip(gold, predictions, strict=True) if form == answer], int)
    wrong = [(answer, form) for form, answer in zip(gold, predictions, strict=True) if form != answer]
    same = [int(np.maximum(right - order, 0).sum()) for order in range(MAX_NGRAM)]
    correct, total, lengths = np.array(same), np.array(same), np.full(2, right.sum())
    for start in range(0, len(wrong), LINES_AT_ONCE):
        vocabulary: defaultdict[str, int] = defaultdict(count().__next__)
        sides = [_word_ids(texts, vocabulary) for texts in zip(*wrong[start : start + LINES_AT_ONCE], strict=True)]
        codes, size = [words for words, _ in sides], 1
        lengths += [len(words) for words in codes]
        for order in range(MAX_NGRAM):
            if order:  # the code of an n-gram: that of its first words, and its last word
                if size * len(vocabulary) * LINES_AT_ONCE >= 2**63:
                    ranks = np.unique(np.concatenate(codes), return_inverse=True)[1]
                    codes, size = np.split(ranks, [len(codes[0])]), int(ranks.max()) + 1
                codes = [c[:-1] * len(vocabulary) + words[order:] for c, (words, _) in zip(codes, sides, strict=True)]
            size *= max(1, len(vocabulary))
            keys = [(p[order:] * size + c)[p[: len(c)] == p[order:]] for c, (_, p) in zip(codes, sides, strict=True)]
            (predicted, counts), (known, limits) = (np.unique(key, return_counts=True) for key in keys)
            _, first, second = np.intersect1d(predicted, known, assume_unique=True, return_indices=True)
            correct[order] += np.minimum(counts[first], limits[second]).sum()
            total[order] += len(keys[0])
    return _bleu(correct.tolist(), total.tolist(), *lengths.tolist())


def _bleu(correct: Sequence[int], total: Sequence[int], length: int, gold_length: int) -> float:
    """BLEU from the n-grams of each order that are correct, with exponential smoothing (Chen & Cherry, 2014)."""
    if not any(correct) or 0 in total:
        return 0.0
    logs, halvings = 0.0, 0
    for common, predicted in zip(correct, total, strict=True):
        halvings += common == 0
        logs += math.log((common or 0.5**halvings) / predicted)
    return 100 * math.exp(min(0.0, 1 - gold_length / length) + logs / MAX_NGRAM)


def _word_ids(texts: Sequence[str], vocabulary: Mapping[str, int]) -> tuple[Ints, Indices]:
    """The words of all texts as numbers, and the text of each word."""
    lengths: list[int] = []

    def split(text: str) -> list[str]:
        words = text.split()
        lengths.append(len(words))
        return words

    ids = np.fromiter(map(vocabulary.__getitem__, chain.from_iterable(map(split, texts))), np.int64)
    return ids, np.repeat(np.arange(len(lengths)), lengths)


def _counts(columns: Floats) -> dict[str, OverlapCounts]:
    """The counts of each feature, then of each in the prefix and in the body alone."""
    features: dict[str, OverlapCounts] = {}
    zones: dict[str, OverlapCounts] = {}
    for feature, rows in zip(measures.FEATURES, np.split(columns, len(measures.FEATURES)), strict=True):
        count = dict(zip(measures.COUNTS, rows, strict=True))
        predicted = count["predicted_prefix"] + count["predicted_body"]
        features[feature] = OverlapCounts(count["common"], predicted, count["gold_prefix"] + count["gold_body"])
        for zone in ("_prefix", "_body"):
            zones[feature + zone] = OverlapCounts(*(count[side + zone] for side in ("common", "predicted", "gold")))
    return features | zones


def _smatch(
    gold: Sequence[str],
    predictions: Sequence[str],
    dialect: Dialect,
    flags: Mapping[str, Mask],
    seed: int,
) -> tuple[Floats, int]:
    values = flags["semantic_match"].astype(float)
    inexact = 0
    for line in np.flatnonzero(flags["well_formed"] & ~flags["semantic_match"]).tolist():
        score = smatch(parse(gold[line], dialect), parse(predictions[line], dialect), seed)
        values[line] = score.f1
        inexact += not score.exact
    return values, inexact


def _reference_columns(gold: Sequence[str], predictions: Sequence[str]) -> MetricColumns:
    scores = [measures.reference_scores(form, answer) for form, answer in zip(gold, predictions, strict=True)]
    rows = np.array([score.counts for score in scores], float).T
    return MetricColumns(
        flags={
            name: np.array([getattr(score, name) for score in scores], bool)
            for name in ("exact_match", "order_invariant_match", "well_formed")
        },
        numbers={"edit_distance": np.array([score.edit_distance for score in scores], float)},
        counts={
            feature: OverlapCounts(*rows[3 * n : 3 * n + 3]) for n, feature in enumerate(measures.REFERENCE_FEATURES)
        },
        main=measures.REFERENCE_FEATURES,
        score_of_nothing=0.0,
        harmonic=True,
    )


def estimates(columns: MetricColumns, groups: Groups) -> list[Estimate]:
    """Every value of every group: shares, means, micro and macro averages, with intervals."""
    computed: list[Estimate] = []
    for metric, flags in columns.flags.items():
        computed += _over_types([estimate(metric, group, flags[lines].tolist()) for group, lines in groups.items()])
    for metric, numbers in columns.numbers.items():
        computed += _over_types([estimate(metric, group, numbers[lines].tolist()) for group, lines in groups.items()])
    for metric, value in columns.corpus.items():
        computed.append(Estimate(metric, "all", value, len(columns)))
    for feature, counts in columns.counts.items():
        within = groups if feature in columns.main else {"all": groups["all"]}
        lines_scores = columns.scores(feature)
        for name in SCORES:
            top, bottom, both = _parts(counts, name)
            metric, nothing = f"{feature}_{name}", columns.score_of_nothing
            micro = [_micro(metric, g, top[i], bottom[i], nothing * (not both[i].any())) for g, i in within.items()]
            computed += _over_types(micro)
        for name in SCORES:
            metric = f"{feature}_{name}_macro"
            means = [estimate(metric, g, lines_scores[name][i].tolist()) for g, i in within.items()]
            if columns.harmonic and name == "f1":
                means = [Estimate(m.metric, m.group, _harmonic_f1(lines_scores, within[m.group]), m.n) for m in means]
            computed += _over_types(means)
    return computed


def _parts(counts: OverlapCounts, name: str) -> tuple[Floats, Floats, Floats]:
    """Numerator and denominator of a score, and the size of both forms together."""
    both = counts.predicted + counts.gold
    if name == "f1":
        return 2 * counts.common, both, both
    return counts.common, counts.predicted if name == "precision" else counts.gold, both


def _micro(metric: str, group: str, top: Floats, bottom: Floats, of_nothing: float) -> Estimate:
    """The ratio of two sums over lines, with the interval of a ratio estimator (lines are the sample)."""
    n, total = len(top), float(bottom.sum())
    if total == 0:
        return Estimate(metric, group, of_nothing, n)
    ratio, ratio_result = float(top.sum()) / total, ratio_interval(top, bottom)
    if ratio_result.interval is None:
        return Estimate(metric, group, ratio, n, method=ratio_result.method)
    low, high = max(0.0, ratio_result.interval.low), min(1.0, ratio_result.interval.high)
    return Estimate(
        metric, group, ratio, n, low, high, "ratio" if ratio_result.method == "t" else f"ratio, {ratio_result.method}"
    )


def _harmonic_f1(scores: Mapping[str, Floats], lines: NDArray[np.intp]) -> float:
    precision, recall = (float(scores[name][lines].mean()) for name in ("precision", "recall"))
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _over_types(by_group: list[Estimate]) -> Iterator[Estimate]:
    """The estimates and, if there are several types, the mean over types."""
    yield from by_group
    by_type = [each.value for each in by_group if each.group.startswith("type=")]
    if len(by_type) > 1:
        yield Estimate(by_group[0].metric, OVER_TYPES, math.fsum(by_type) / len(by_type), len(by_type))
