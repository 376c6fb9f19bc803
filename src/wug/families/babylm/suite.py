"""The suite of a BabyLM task: the most probable completion, as the evaluation pipeline of the challenge finds it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, ClassVar, Literal, Self

import numpy as np

from wug.families.babylm.tasks import BabylmItem, names
from wug.families.correlations import spearman
from wug.families.suite import ItemSuite
from wug.files import checksum
from wug.identity import OVERALL
from wug.outcomes import Estimate, Metric, Notice, Outcome, SuiteOutput
from wug.requests import Request, Scored, Scorer
from wug.samples import PLAIN_TEXT

ACCURACY, SPEARMAN, PREFERENCE = "accuracy", "spearman", "preference"
PRIVATE = frozenset({"ewok", "entity_tracking"})
"""Tasks whose authors ask not to publish the items as plain text."""
MACRO = "macro=paradigms"
"""The group of the score of the leaderboard: the mean over UIDs."""
RULES = {
    "ties": "first",
    "normalise": "none",
    "temperature": "1",
    "special": "tokenizer",
    "protocol": "babylm-2025",
}


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class BabylmSuite(ItemSuite[BabylmItem]):
    """The items of a task."""

    folder: str
    """The name of the data folder, which the submission repeats."""
    protocol: ClassVar[str] = "babylm"
    kind = "babylm"
    needs: ClassVar[Literal["scores"]] = "scores"

    @classmethod
    def of(cls, name: str, folder: str, items: Sequence[BabylmItem], notices: tuple[str, ...] = ()) -> Self:
        """The suite of these items."""
        columns = ((item.uid, *item.texts, *item.completions, *map(repr, item.values.values())) for item in items)
        return cls(name, items, checksum(*map("\t".join, columns)), notices, folder=folder)

    @property
    def options(self) -> Mapping[str, str]:
        """The rules of the pipeline, one by one."""
        return {**RULES, **self.selection}

    @property
    def rated(self) -> bool:
        """Whether people's preferences are predicted, and not the right text."""
        return any(item.ratio is not None for item in self.items)

    @property
    def metrics(self) -> Sequence[Metric]:
        """Accuracy, or the correlation with people's preferences."""
        if self.rated:
            meaning = "rank correlation of the probability of the first text with people's preference"
            return (
                Metric(SPEARMAN, "score", meaning=meaning),
                Metric(PREFERENCE, better="neither", headline=False, meaning="probability of the first text"),
            )
        return (Metric(ACCURACY, meaning="the right completion has the highest log-probability; it wins ties"),)

    @property
    def meta(self) -> Mapping[str, Any]:
        """Facts about the suite for the pages and the submission."""
        private = {PLAIN_TEXT: False} if self.name in PRIVATE else {}
        return {"task": self.name, "folder": self.folder, "items": len(self.items), **private}

    def strata(self) -> list[tuple[str, ...]]:
        """The UID."""
        return [(item.uid,) for item in self.items]

    def sample_notices(self, items: Sequence[BabylmItem]) -> tuple[str, ...]:
        """The same: they are about the folder."""
        return self.notices

    def requests(self) -> Sequence[Request]:
        """Every text, in order."""
        return [Request(text) for item in self.items for text in item.texts]

    def run(self, model: Scorer) -> Iterator[SuiteOutput]:
        """One outcome per item, the mean over UIDs or the correlation, and the warnings."""
        verdicts: dict[str, dict[str, list[bool]]] = {}
        preferences: list[float] = []
        step = max(1, model.chunk // max(len(item.texts) for item in self.items))
        named = names(self.items)
        ties = 0
        for first in range(0, len(self), step):
            items = self.items[first : first + step]
            answers = iter(model.score([Request(text) for item in items for text in item.texts]))
            for item, name in zip(items, named[first:], strict=False):
                sums = [completion_logprob(next(answers), completion) for completion in item.completions]
                best = sums.index(max(sums))
                ties += sums.count(max(sums)) > 1
                detail = {"options": list(item.predictions), "logprobs": sums, "right": 1, "chosen": best + 1}
                groups = {"paradigm": item.uid, **item.groups}
                if item.ratio is not None:
                    # In float32, as the pipeline: probabilities near 1 tie.
                    preferences.append(float(np.float32(1 / (1 + math.exp(min(sums[1] - sums[0], 700))))))
                    detail |= {"human": item.ratio}
                    yield Outcome(name, PREFERENCE, preferences[-1], groups, detail)
                else:
                    verdicts.setdefault(item.groups.get("subset", ""), {}).setdefault(item.uid, []).append(best == 0)
                    yield Outcome(name, ACCURACY, best == 0, groups, detail)
        yield macro_mean(verdicts) if verdicts else rank_correlation(self.items, preferences)
        if ties:
            yield Notice(f"{ties} of {len(self)} items tied, won by the first, as in the pipeline")
        yield from map(Notice, self.notices)


def macro_mean(verdicts: Mapping[str, Mapping[str, Sequence[bool]]]) -> Estimate:
    """The score of the leaderboard: the mean over UIDs, of subsets the mean of their means."""
    means = [fmean(fmean(uid_verdicts) for uid_verdicts in uids.values()) for uids in verdicts.values()]
    return Estimate(ACCURACY, MACRO, fmean(means), sum(map(len, verdicts.values())), method="none: a mean of means")


def rank_correlation(items: Sequence[BabylmItem], preferences: Sequence[float]) -> Estimate | Notice:
    """Spearman's correlation of the model's preferences with people's."""
    ratios = np.array([item.ratio for item in items], dtype=np.float64)
    values = np.array(preferences)
    rho = spearman(values, ratios)
    if len(values) < 3 or rho is None:
        return Notice("no correlation: too few items, or all values are the same")
    return Estimate(SPEARMAN, OVERALL, rho, len(values))


def completion_logprob(scored: Scored, completion: str) -> float:
    """The sum over tokens that end after the completion begins; a token across the boundary counts as a whole."""
    start = len(scored.text) - len(completion)
    counted = zip(scored.ends, scored.logprobs, strict=True)
    return math.fsum(value for end, value in counted if value is not None and end > start)
