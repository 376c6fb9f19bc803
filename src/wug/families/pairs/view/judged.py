"""The judgements on pairs, as the rows of a result carry them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from wug.rows import Filter, Rows
from wug.types import Outcome, Value
from wug.views.numbers import finite
from wug.views.parts import Tally

CHECK = "accuracy"
NAMED = ("paradigm", "pattern", "term", "phenomenon", "field", "type")
"""The groups that a pair is known by, the finest first."""
SCORES = ("score_good", "score_bad", "logprob_good", "logprob_bad")
TEXTS = ("good", "bad", "forms")
"""Both sentences; of published scores `good` and `bad` are the scores themselves, and `forms` the words."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A judgement on a pair."""

    value: Value
    good: str
    """The grammatical sentence or form; empty where only its score is known."""
    bad: str
    score_good: float | None
    score_bad: float | None
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


def judged(outcome: Outcome) -> Judged:
    """What an outcome says of its pair."""
    detail = outcome.detail
    good, bad = detail.get("good"), detail.get("bad")
    texts = (good, bad) if isinstance(good, str) and isinstance(bad, str) else _forms(detail.get("forms"))
    return Judged(
        value=outcome.value,
        good=texts[0],
        bad=texts[1],
        score_good=finite(detail.get("score_good", detail.get("logprob_good", good))),
        score_bad=finite(detail.get("score_bad", detail.get("logprob_bad", bad))),
        why=str(detail.get("why") or ""),
    )


def judgements(rows: Rows, keys: Collection[str]) -> Iterator[tuple[str, Judged]]:
    """Every judgement with its item, on all columns; of the detail, these parts alone."""
    for check in checks_of(rows):
        for row in rows.each(Filter(check), keys=keys):
            yield row.outcome.item, judged(row.outcome)


def checks_of(rows: Rows) -> list[str]:
    """The checks that there are judgements of: accuracy, or that of each column of published scores."""
    return [check for check in rows.checks() if check == CHECK or check.startswith(f"{CHECK}:")]


def finest_group(outcome: Outcome) -> str:
    """The finest group that a pair belongs to; empty without any."""
    found = (outcome.groups.get(field) for field in NAMED)
    return next((value for value in found if value), next(iter(outcome.groups.values()), ""))


def tally(rows: Rows, check: str) -> Tally:
    """What became of the pairs, without what did not happen to any; of those that are right only the number is read."""
    counts = rows.tally(check)
    wrong = (judged(row.outcome) for row in rows.each(Filter(check, value="false"), keys=(*SCORES, *TEXTS)))
    tied = identical = 0
    for pair in wrong:
        tied += pair.tied
        identical += pair.identical
    unjudged = rows.each(Filter(check, value="none"), keys=("why",))
    why = Counter(reason for row in unjudged if (reason := judged(row.outcome).why))
    reasons = "; ".join(reason if len(why) == 1 else f"{n:,}: {reason}" for reason, n in why.most_common(4))
    found = (
        ("right", counts["true"], ""),
        ("wrong", counts["false"], ""),
        ("tied", tied, "equal scores, among the wrong ones"),
        ("identical", identical, "a sentence against itself, among the wrong ones"),
        ("not judged", counts["none"], reasons),
    )
    return Tally(tuple(row for row in found if row[1]))


def _forms(forms: object) -> tuple[str, str]:
    """The two forms of `is/are`."""
    good, _, bad = str(forms or "").partition("/")
    return good, bad
