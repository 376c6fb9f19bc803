"""The judgements on pairs, as a result's rows carry them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wug.types import Result, Value

CHECK = "accuracy"
NAMED = ("paradigm", "pattern", "term", "field", "type")
"""The groups that a pair is known by, the finest first."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A judgement on a pair."""

    item: str
    column: str
    """Which of several columns of published scores it is on."""
    value: Value
    groups: Mapping[str, str]
    good: str
    """The grammatical sentence or form; empty where only its score is known."""
    bad: str
    score_good: float | None
    score_bad: float | None
    words: tuple[Sequence[Any], Sequence[Any]]
    """Each sentence word by word with log-probabilities, where they were kept."""
    why: str
    """Why it was not judged."""

    @property
    def margin(self) -> float | None:
        """By how much the grammatical one is ahead; None where a score is missing or not finite."""
        if self.score_good is None or self.score_bad is None:
            return None
        return self.score_good - self.score_bad

    @property
    def identical(self) -> bool:
        """Whether it is a sentence against itself."""
        return bool(self.good) and self.good.split() == self.bad.split()

    @property
    def tied(self) -> bool:
        """Whether both have the same score, and are not one sentence."""
        return self.value is False and self.margin == 0 and not self.identical

    @property
    def name(self) -> str:
        """The finest group that it belongs to; empty without any."""
        found = (self.groups.get(field) for field in NAMED)
        return next((value for value in found if value), next(iter(self.groups.values()), ""))


def judgements(result: Result) -> list[Judged]:
    """Every judgement on a pair."""
    return [
        _judged(o.item, o.check, o.value, o.groups, o.detail)
        for o in result.outcomes
        if o.check == CHECK or o.check.startswith(f"{CHECK}:")
    ]


def tally(judged: Iterable[Judged]) -> list[tuple[str, int, str]]:
    """What became of the pairs: name, count and an explanation, without those that did not happen."""
    count: Counter[str] = Counter()
    why: Counter[str] = Counter()
    for one in judged:
        count["not judged" if one.value is None else "right" if one.value else "wrong"] += 1
        count["tied"] += one.tied
        count["identical"] += one.identical
        if one.value is None and one.why:
            why[one.why] += 1
    readings = {
        "right": "",
        "wrong": "",
        "tied": "equal scores, among the wrong ones",
        "identical": "a sentence against itself, among the wrong ones",
        "not judged": "; ".join(reason if len(why) == 1 else f"{n:,}: {reason}" for reason, n in why.most_common(4)),
    }
    return [(name, count[name], reading) for name, reading in readings.items() if count[name]]


def _judged(item: str, check: str, value: Value, groups: Mapping[str, str], detail: Mapping[str, Any]) -> Judged:
    good, bad = detail.get("good"), detail.get("bad")
    texts = (good, bad) if isinstance(good, str) and isinstance(bad, str) else _forms(detail.get("forms"))
    return Judged(
        item=item,
        column=check.partition(":")[2],
        value=value,
        groups=groups,
        good=texts[0],
        bad=texts[1],
        score_good=_number(detail.get("score_good", detail.get("logprob_good", good))),
        score_bad=_number(detail.get("score_bad", detail.get("logprob_bad", bad))),
        words=(detail.get("words_good") or (), detail.get("words_bad") or ()),
        why=str(detail.get("why") or ""),
    )


def _forms(forms: object) -> tuple[str, str]:
    """The two forms of `is/are`."""
    good, _, bad = str(forms or "").partition("/")
    return good, bad


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None
