"""Accuracy by language, and its mean over languages, in which each counts alike however many pairs it has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from statistics import fmean

from wug.families.pairs.pair import Pair
from wug.stats import mean_of_shares
from wug.types import Estimate, Outcome

LANGUAGE = "language"
"""The group that has a pair's language."""
MACRO = "macro_accuracy"


def languages_of(pairs: Iterable[Pair]) -> set[str]:
    """The languages of some pairs, as far as they are known."""
    groups = {id(pair.groups): pair.groups for pair in pairs}
    return {found[LANGUAGE] for found in groups.values() if LANGUAGE in found}


@dataclass(slots=True)
class ByLanguage:
    """How many pairs of each language are judged right, and how many are judged."""

    counts: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, outcome: Outcome) -> None:
        """Count an outcome, where it is a judgement and its language is known."""
        language = outcome.groups.get(LANGUAGE)
        if language is not None and outcome.value is not None:
            right, judged = self.counts.get(language, (0, 0))
            self.counts[language] = right + bool(outcome.value), judged + 1

    def estimates(self) -> Iterator[Estimate]:
        """The macro average; nothing where there is one language, or none."""
        if len(self.counts) > 1:
            shares = list(self.counts.values())
            mean, interval = fmean(right / n for right, n in shares), mean_of_shares(shares)
            pairs = sum(n for _, n in shares)
            yield Estimate(MACRO, "all", mean, pairs, interval.low, interval.high, "wilson, mean of languages")
