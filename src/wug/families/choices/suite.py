"""The suite: asks a model how probable each option is in its context, and which is the most probable one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from wug.families.choices.choice import Candidate, Choice
from wug.families.choices.oddities import counted
from wug.families.choices.settings import Settings
from wug.families.sampling import levels_of, limited, sampled
from wug.identity import OVERALL, Group
from wug.labels import of_suite
from wug.stats import wilson
from wug.types import Check, Estimate, Notice, Outcome, Request, Row, Scored, Scorer

STRADDLED = "a token has the end of the context and the beginning of an option in it"
TOKENLESS = "no token begins where an option does"
MUTE = "the model gives no log-probability for an option"
"""Why an item is not judged."""


@dataclass(frozen=True, slots=True)
class ChoicesSuite:
    """Items with their options, and how they are scored."""

    name: str
    choices: Sequence[Choice]
    settings: Settings
    format: str
    notices: tuple[str, ...]
    """What is odd about the items."""
    checksum: str
    limit: int | None = None
    """How many of the file's items these are, where they are not all."""
    strata: int = 1
    """How many groups these were taken from, each with its share."""
    kind: str = "choices"
    needs: Literal["scorer"] = "scorer"

    @property
    def options(self) -> Mapping[str, str]:
        """Every scoring option, for the signature."""
        return {**self.settings.signature(self.format), **limited(self.limit, self.strata)}

    @property
    def checks(self) -> Sequence[Check]:
        """What is judged, and what a guess would come to."""
        per = "" if self.settings.normalise == "none" else f" per {self.settings.normalise}"
        found = [
            Check("accuracy", meaning=f"the right option has the highest log-probability{per}, given its context"),
            Check("chance", better="neither", meaning="what a guess comes to: the mean of 1 / options"),
            Check(
                "ties", better="lower", headline=False, meaning="the right option and another have the highest score"
            ),
        ]
        if any(choice.source for choice in self.choices):
            found.append(Check("both", headline=False, meaning="both items of a row are right"))
        return tuple(found)

    @property
    def meta(self) -> Mapping[str, Any]:
        """What pages show beside the rows."""
        return {"format": self.format, "items": len(self.choices)}

    __repr__ = of_suite

    def __len__(self) -> int:
        return len(self.choices)

    def sample(self, items: int) -> ChoicesSuite:
        """The same suite with only so many of its items, every group with its share."""
        if items >= len(self):
            return self
        names = tuple(dict.fromkeys(name for choice in self.choices for name in choice.groups))
        levels = [levels_of(choice.groups, names) for choice in self.choices]
        kept = sampled(len(levels), items, levels.__getitem__)
        choices = tuple(self.choices[n] for n in kept)
        notices = tuple(map(str, counted(choices, self.settings)))
        return replace(self, choices=choices, notices=notices, limit=items, strata=len(set(levels)))

    def requests(self) -> Sequence[Request]:
        """Every option in its context, in the order of the file."""
        return [one.request for choice in self.choices for one in choice.candidates]

    def run(self, model: Scorer) -> Iterator[Row]:
        """One outcome for each item, then chance and ties, and what the reader should know."""
        seen = _Seen()
        for some in _batches(self.choices, model.chunk):
            answers = iter(model.score([one.request for choice in some for one in choice.candidates]))
            for choice in some:
                yield self._judge(choice, [next(answers) for _ in choice.candidates], seen)
        yield from seen.estimates()
        yield from (Notice(text) for text in (*self.notices, *seen.notices(len(self))))

    def _judge(self, choice: Choice, answers: Sequence[Scored], seen: _Seen) -> Outcome:
        detail = _asked(choice)
        measures = [_measure(one, scored) for one, scored in zip(choice.candidates, answers, strict=True)]
        why = next((measure.why for measure in measures if measure.why), None)
        if why is not None:
            seen.counts[why] += 1
            return Outcome(choice.item, "accuracy", None, choice.groups, {**detail, "why": why})
        seen.tokens(measures)
        scores = [measure.score(self.settings.normalise) for measure in measures]
        best = [place for place, score in enumerate(scores) if score == max(scores)]
        right = best == [choice.right]
        seen.judged(choice, right=right, tied=choice.right in best and not right)
        detail |= {"logprobs": [measure.logprob for measure in measures]}
        if self.settings.normalise != "none":
            detail |= {"scores": scores}
        return Outcome(choice.item, "accuracy", right, choice.groups, detail)


@dataclass(frozen=True, slots=True)
class _Measure:
    """What an option comes to."""

    option: str
    logprob: float
    tokens: int
    """Those that count."""
    missing: int
    """Those of them without a log-probability."""
    why: str | None
    """Why it cannot be judged; None where it can."""

    def score(self, normalise: str) -> float:
        """The log-probability, normalised as asked."""
        match normalise:
            case "token":
                return self.logprob / max(1, self.tokens - self.missing)
            case "character":
                return self.logprob / len(self.option)
            case "byte":
                return self.logprob / len(self.option.encode())
        return self.logprob


def _measure(one: Candidate, scored: Scored) -> _Measure:
    start, end = one.span
    # Marks behind the text, such as </s>, are no part of the option.
    where = scored.slice(start, end)
    logprobs = scored.logprobs[where]
    missing = sum(value is None for value in logprobs)
    why = None
    if not logprobs or scored.starts[where][0] != start:
        straddled = where.start > 0 and scored.ends[where.start - 1] > start
        why = STRADDLED if straddled else TOKENLESS
    elif missing == len(logprobs):
        why = MUTE
    return _Measure(one.words, scored.logprob(start, end), len(logprobs), missing, why)


@dataclass(slots=True)
class _Seen:
    """What became of the items, counted."""

    counts: Counter[str] = field(default_factory=Counter)
    sizes: dict[str, Counter[int]] = field(default_factory=dict)
    """How many items that were judged have so many options: all of them, and those of each group."""
    halves: dict[str, bool] = field(default_factory=dict)
    """The judgement on the first item of a row that has two."""

    def tokens(self, measures: Sequence[_Measure]) -> None:
        """Count tokens without a log-probability."""
        missing = sum(measure.missing for measure in measures)
        self.counts["missing"] += missing
        self.counts["with missing"] += missing > 0

    def judged(self, choice: Choice, *, right: bool, tied: bool) -> None:
        """Count an item that was judged."""
        for group in (OVERALL, *(str(Group(name, value)) for name, value in choice.groups.items())):
            self.sizes.setdefault(group, Counter())[len(choice.candidates)] += 1
        self.counts["ties"] += tied
        if choice.source in self.halves:
            self.counts["rows"] += 1
            self.counts["both"] += self.halves.pop(choice.source) and right
        elif choice.source is not None:
            self.halves[choice.source] = right

    def estimates(self) -> Iterator[Estimate]:
        """Chance, by group as well where options differ in number; ties; rows that are right as a whole."""
        for group, sizes in self.sizes.items():
            if group == OVERALL or len(self.sizes[OVERALL]) > 1:
                chance = sum(items / size for size, items in sizes.items()) / sizes.total()
                yield Estimate("chance", group, chance, sizes.total())
        if self.sizes:
            n = self.sizes[OVERALL].total()
            yield Estimate("ties", OVERALL, self.counts["ties"] / n, n)
        if rows := self.counts["rows"]:
            interval = wilson(self.counts["both"], rows)
            yield Estimate("both", OVERALL, self.counts["both"] / rows, rows, interval.low, interval.high, "wilson")

    def notices(self, total: int) -> Iterator[str]:
        """Warnings about some of `total` items."""
        if self.counts["ties"]:
            yield f"{_many(self.counts['ties'], 'item')} tied, counted as failures"
        for why in (STRADDLED, TOKENLESS, MUTE):
            if self.counts[why]:
                yield f"{self.counts[why]} of {total} items not judged: {why}"
        if self.counts["missing"]:
            tokens, where = _many(self.counts["missing"], "token"), _many(self.counts["with missing"], "item")
            yield f"{tokens} without a log-probability in the options of {where}, counted as 0"


def _asked(choice: Choice) -> dict[str, Any]:
    """What was asked, as an outcome carries it: contexts where they differ, else the one that there is."""
    contexts = list(dict.fromkeys(one.context for one in choice.candidates))
    several = {"contexts": [one.context for one in choice.candidates]}
    return {
        **({"context": contexts[0]} if len(contexts) == 1 else several),
        "options": [one.option for one in choice.candidates],
        "right": choice.right + 1,
        **({} if choice.source is None else {"source": choice.source}),
    }


def _batches(choices: Sequence[Choice], size: int) -> Iterator[list[Choice]]:
    """Items whose options are about as many as a model likes at a time."""
    some: list[Choice] = []
    asked = 0
    for choice in choices:
        some.append(choice)
        asked += len(choice.candidates)
        if asked >= size:
            yield some
            some, asked = [], 0
    if some:
        yield some


def _many(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"
