"""A suite that asks a scorer for its sentences and judges its predictions item by item."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from wug.families.context import sees_right
from wug.families.sampling import limited, sampled
from wug.families.syntaxgym import oddities
from wug.families.syntaxgym.formula import WHOLE
from wug.families.syntaxgym.measures import Tally, measure
from wug.families.syntaxgym.parts import Condition, Empty, Eos, Item, Join, Prediction
from wug.families.syntaxgym.verdicts import Sentence, judge
from wug.files import checksum
from wug.labels import of_suite
from wug.types import Check, Notice, Problem, Request, Row, Scorer

_CIRCUITS = {
    "npi": "Licensing",
    "reflexive": "Licensing",
    "fgd": "Long-Distance Dependencies",
    "cleft": "Long-Distance Dependencies",
    "number": "Agreement",
    "npz": "Garden-Path Effects",
    "mvrr": "Garden-Path Effects",
    "subordination": "Gross Syntactic State",
    "center": "Center Embedding",
}
_BY_TAG = {
    "fillergap": "Long-Distance Dependencies",
    "fillergapdependencies": "Long-Distance Dependencies",
    "gardenpath": "Garden-Path Effects",
    "numberagreement": "Agreement",
    "subjectverbagreement": "Agreement",
}


def circuit(name: str, tags: Iterable[str] = ()) -> str | None:
    """The circuit of a suite, from its name's beginning or else from a tag; None where neither says."""
    named = _CIRCUITS.get(_beginning(name))
    if named:
        return named
    titles = {_letters(title): title for title in _CIRCUITS.values()} | _BY_TAG
    for tag in tags:
        found = titles.get(_letters(tag)) or _CIRCUITS.get(_beginning(tag))
        if found:
            return found
    return None


def _beginning(name: str) -> str:
    return re.split(r"[-_0-9]", name.strip().lower(), maxsplit=1)[0].strip()


def _letters(tag: str) -> str:
    return "".join(filter(str.isalpha, tag.lower()))


RIGHT = (
    "the model sees the words to the right of a region too, so its surprisal is not that of a reader who has not come "
    "to them yet (docs/syntaxgym.md, Masked models)"
)


@dataclass(frozen=True, slots=True)
class SyntaxGymSuite:
    """Items in several conditions, and predictions about the surprisal of their regions.

    Checks: `prediction_0`, `prediction_1`, … and `all_predictions`, each by the suite's primary metric (`sum`
    where it is among the suite's metrics, else the first). Every further metric has its own:
    `prediction_0/mean`, …, `all_predictions/mean`.
    """

    head: Mapping[str, Any]
    """The `meta` of the file, unknown fields included."""
    regions: Mapping[int, str]
    """Number → name, from 1 on."""
    predictions: tuple[Prediction, ...]
    items: tuple[Item, ...]
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Top-level fields that the format does not name."""
    join: Join = "space"
    eos: Eos = "none"
    empty: Empty = "exclude"
    metrics: tuple[str, ...] = ("sum",)
    """The primary one first."""
    limit: int | None = None
    """So many of the file's items were taken; None: all."""
    whole: str | None = None
    """The checksum of all of the file's items, where these are not all."""
    notes: tuple[Problem, ...] = field(default=(), compare=False)
    """Warnings from reading the file."""
    understood: str | None = field(default=None, compare=False)
    """How a table was read, in a line; None for JSON, which can be read in one way only."""
    kind: str = "syntaxgym"
    needs: Literal["scorer"] = "scorer"

    @property
    def name(self) -> str:
        """As in the file."""
        return str(self.head["name"])

    @property
    def circuit(self) -> str | None:
        """The test circuit of Hu et al. (2020), where the name or a tag tells it."""
        return circuit(self.name, self.tags)

    @property
    def tags(self) -> list[str]:
        """What the author filed the suite under."""
        return list(self.head.get("tags") or [])

    @property
    def checksum(self) -> str:
        """Of all the file's sentences, their regions, and what the predictions mean; not of how the file is written."""
        if self.whole is not None:
            return self.whole
        facts = {
            "regions": len(self.regions),
            "predictions": [prediction.formula.canonical() for prediction in self.predictions],
            "items": [
                [str(item.number), {c.name: [region.text for region in c.regions] for c in item.conditions}]
                for item in sorted(self.items, key=_by_number)
            ],
            "circuit": self.circuit,
        }
        return checksum(json.dumps(facts, sort_keys=True))

    @property
    def options(self) -> Mapping[str, str]:
        """What the numbers depend on besides the sentences."""
        chosen = {"join": self.join, "eos": self.eos, "metric": ",".join(self.metrics), "unit": "bits"}
        empty = {} if self.empty == "exclude" else {"empty": self.empty}
        return {**chosen, **empty, **limited(self.limit, 1)}

    @property
    def checks(self) -> Sequence[Check]:
        """All predictions at once, no headline where there is only one; then each prediction."""
        made = []
        for metric in self.metrics:
            suffix = "" if metric == self.metrics[0] else f"/{metric}"
            by = f" (by the {metric} of the tokens)" if metric != "sum" else ""
            several = len(self.predictions) != 1
            made.append(Check(f"all_predictions{suffix}", headline=several, meaning=f"every prediction holds{by}"))
            made += [
                Check(f"prediction_{index}{suffix}", meaning=prediction.formula.english(self.regions) + by)
                for index, prediction in enumerate(self.predictions)
            ]
        return made

    @property
    def meta(self) -> Mapping[str, Any]:
        """What pages show beside the rows; `comment` stays in the file."""
        shown = {key: self.head[key] for key in ("author", "description", "reference") if self.head.get(key)}
        return {
            "regions": {str(number): name for number, name in self.regions.items()},
            "formulas": [
                {
                    "source": prediction.formula.source,
                    "canonical": prediction.formula.canonical(),
                    "english": prediction.formula.english(self.regions),
                    "regions": [list(pair) for pair in prediction.formula.atoms()],
                }
                for prediction in self.predictions
            ],
            "metric": list(self.metrics),
            "tags": self.tags,
            "phenomenon": self.circuit,
            **shown,
        }

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """What is odd about the file and its items."""
        return (*self.notes, *oddities.find(self))

    @property
    def groups(self) -> Mapping[str, str]:
        """What every outcome is filed under."""
        return {"circuit": self.circuit} if self.circuit else {}

    __repr__ = of_suite

    def __len__(self) -> int:
        return len(self.items)

    def sample(self, items: int) -> SyntaxGymSuite:
        """The same suite with only so many of its items, spread evenly over it; its options say so."""
        if items >= len(self.items):
            return self
        kept = tuple(self.items[place] for place in sampled(len(self.items), items))
        gone = {f"item {item.number}" for item in self.items} - {f"item {item.number}" for item in kept}
        notes = tuple(note for note in self.notes if note.place.partition(",")[0] not in gone)
        return replace(self, items=kept, notes=notes, limit=items, whole=self.checksum)

    def requests(self) -> list[Request]:
        """Each distinct sentence once."""
        texts = dict.fromkeys(condition.layout(self.join).text for item in self.items for condition in item.conditions)
        return [Request(text) for text in texts]

    def run(self, model: Scorer) -> Iterator[Row]:
        """Judge every prediction on every item by the model's surprisals."""
        for problem in self.warnings:
            yield Notice(str(problem))
        if self._compares_regions and sees_right(model):
            yield Notice(RIGHT)
        if not self.predictions:
            yield Notice("the suite has no predictions")
        requests = self.requests()
        answers = {request.text: scored for request, scored in zip(requests, model.score(requests), strict=True)}
        tally = Tally()
        for item in self.items:
            sentences = {}
            for condition in item.conditions:
                layout = condition.layout(self.join)
                measured = measure(
                    answers[layout.text],
                    layout,
                    condition.regions,
                    eos=self.eos,
                    metrics=self.metrics,
                    tally=tally,
                    place=_place(item, condition),
                )
                sentences[condition.name] = Sentence(layout.text, tuple(measured))
            yield from self.judge(item, sentences, tally)
        yield from tally.notices(len(self.items))

    @property
    def _compares_regions(self) -> bool:
        """Whether a prediction speaks of a part of a sentence, or there is none and all parts are of interest."""
        spoken_of = [region for prediction in self.predictions for region, _ in prediction.formula.atoms()]
        return not spoken_of or any(region != WHOLE for region in spoken_of)

    def judge(self, item: Item, sentences: Mapping[str, Sentence], tally: Tally) -> Iterator[Row]:
        """The rows of one item: each prediction, then all of them, by every metric."""
        yield from judge(
            str(item.number),
            [prediction.formula for prediction in self.predictions],
            sentences,
            metrics=self.metrics,
            groups=self.groups,
            suite=self.name,
            empty=self.empty,
            tally=tally,
        )


def _by_number(item: Item) -> tuple[int, str]:
    """Numbers in their order, then names in theirs."""
    return (item.number, "") if isinstance(item.number, int) else (sys.maxsize, item.number)


def _place(item: Item, condition: Condition) -> str:
    return f"item {item.number}, condition {condition.name}"
