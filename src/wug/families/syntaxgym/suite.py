"""The suite: scores the sentences of its items with a model, and judges its predictions item by item."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from wug import registry
from wug.families.suite import ItemSuite
from wug.families.syntaxgym.formula.tree import WHOLE, is_in_bits
from wug.families.syntaxgym.lint import lint
from wug.families.syntaxgym.measures import MeasuredSentence, WarningCounts, judge, measure
from wug.families.syntaxgym.parts import Empty, Eos, Join, Prediction, SuiteItem
from wug.files import checksum
from wug.outcomes import Derivation, Metric, Notice, SuiteOutput, effect_metrics
from wug.requests import Request, Scorer

SUMMARY = "all_predictions"
"""Whether every prediction holds, by the primary region metric; its outcomes have the measured sentences."""

_NUMBERED = re.compile(r"\A((?:standardised_)?(?:prediction|effect|interaction))_(\d{1,9})(?!\d)")
_PREDICTION = re.compile(r"prediction_(\d+)(?:/(.+))?")


@dataclass(frozen=True, slots=True)
class PredictionMetric:
    """A metric of one prediction."""

    index: int
    region_metric: str
    """Empty for the primary one."""

    @property
    def title(self) -> str:
        """`Prediction 1`, or `Prediction 1, mean`."""
        return f"Prediction {self.index + 1}" + (f", {self.region_metric}" if self.region_metric else "")


def prediction_of(metric: str) -> PredictionMetric | None:
    """The prediction of a metric; None for a metric of all predictions."""
    match = _PREDICTION.fullmatch(metric)
    return None if match is None else PredictionMetric(int(match[1]), match[2] or "")


def metric_label(metric: str) -> str:
    """The name of a metric with the number of its prediction or effect counted from 1."""
    return _NUMBERED.sub(lambda match: f"{match[1]} {int(match[2]) + 1}", metric)


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
    """The circuit of a suite, from the beginning of its name or from a tag; None if unknown."""
    titles = {_letters(title): title for title in _CIRCUITS.values()} | _BY_TAG
    by_tag = (titles.get(_letters(tag)) or _CIRCUITS.get(_beginning(tag)) for tag in tags)
    return _CIRCUITS.get(_beginning(name)) or next(filter(None, by_tag), None)


def _beginning(name: str) -> str:
    return re.split(r"[-_0-9]", name.strip().lower(), maxsplit=1)[0].strip()


def _letters(tag: str) -> str:
    return "".join(filter(str.isalpha, tag.lower()))


RIGHT_CONTEXT_WARNING = (
    "the model sees the words to the right of a region too, so its surprisal is not that of a reader who has not read "
    "them yet (docs/syntaxgym.md, Masked models)"
)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class SyntaxGymSuite(ItemSuite[SuiteItem]):
    """Items in several conditions, and predictions about the surprisal of their regions.

    Metrics: `prediction_0`, `prediction_1`, … and `all_predictions`, by the primary region metric (`sum` if the suite
    has it, else the first). Every further region metric has its own: `prediction_0/mean`, …, `all_predictions/mean`.
    """

    head: Mapping[str, Any]
    """The `meta` of the file, unknown fields included."""
    regions: Mapping[int, str]
    predictions: tuple[Prediction, ...]
    extra: Mapping[str, Any] = field(default_factory=dict)
    join: Join = "space"
    eos: Eos = "none"
    empty: Empty = "exclude"
    region_metrics: tuple[str, ...] = ("sum",)
    """The primary one first."""
    understood: str | None = field(default=None, compare=False)
    """How a table was read, in one line; None for JSON."""
    kind = "syntaxgym"
    needs: ClassVar[Literal["scores"]] = "scores"

    @property
    def circuit(self) -> str | None:
        """The test circuit of Hu et al. (2020), if the name or a tag identifies it."""
        return circuit(self.name, self.tags)

    @property
    def tags(self) -> list[str]:
        """The author's tags."""
        return list(self.head.get("tags") or [])

    def identified(self) -> SyntaxGymSuite:
        """The suite with its name, and the checksum of its sentences, regions and the meaning of its predictions."""
        suite = replace(self, name=str(self.head["name"]))
        facts = {
            "regions": len(self.regions),
            "predictions": [prediction.formula.canonical() for prediction in self.predictions],
            "items": [
                [str(item.number), {c.name: [region.text for region in c.regions] for c in item.conditions}]
                for item in sorted(self.items, key=_by_number)
            ],
            "circuit": suite.circuit,
        }
        return replace(suite, checksum=checksum(json.dumps(facts, sort_keys=True)))

    @property
    def options(self) -> Mapping[str, str]:
        """Every scoring option, for the signature."""
        chosen = {"join": self.join, "eos": self.eos, "metric": ",".join(self.region_metrics), "unit": "bits"}
        empty = {} if self.empty == "exclude" else {"empty": self.empty}
        return {**chosen, **empty, **self.selection}

    @property
    def metrics(self) -> Sequence[Metric]:
        """All predictions together (no headline if there is only one), then each prediction."""
        declared = []
        for region_metric in self.region_metrics:
            suffix = "" if region_metric == self.region_metrics[0] else f"/{region_metric}"
            by = f" (by the {region_metric} of the tokens)" if region_metric != "sum" else ""
            headline = len(self.predictions) != 1
            declared.append(Metric(f"{SUMMARY}{suffix}", headline=headline, meaning=f"every prediction holds{by}"))
            declared += [
                Metric(f"prediction_{index}{suffix}", meaning=prediction.formula.english(self.regions) + by)
                for index, prediction in enumerate(self.predictions)
            ]
            for index in range(len(self.predictions)):
                declared += self._effects(index, suffix, by)
        return declared

    def _effects(self, index: int, suffix: str, by: str) -> Iterator[Metric]:
        formula = self.predictions[index].formula
        for effect in formula.effects():
            in_bits = is_in_bits(effect.relation)
            kind = "interaction" if effect.is_interaction else "effect"
            what = "difference of differences" if effect.is_interaction else "difference"
            unit = " in bits" if in_bits else ""
            yield from effect_metrics(
                f"{kind}_{index}{effect.part}{suffix}",
                Derivation(f"prediction_{index}{suffix}", effect.detail),
                f"{what}{unit}, positive where {formula.english(self.regions, effect.relation)}{by}",
                "bits" if in_bits else "score",
            )

    @property
    def meta(self) -> Mapping[str, Any]:
        """What pages show with the outcomes; `comment` stays in the file."""
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
            "metric": list(self.region_metrics),
            "tags": self.tags,
            "phenomenon": self.circuit,
            **{key: self.head[key] for key in ("author", "description", "reference") if self.head.get(key)},
        }

    @property
    def groups(self) -> Mapping[str, str]:
        """The groups of every outcome."""
        return {"circuit": self.circuit} if self.circuit else {}

    def sample_notices(self, items: Sequence[SuiteItem]) -> tuple[str, ...]:
        """The notices about the file and about these items."""
        missing = {f"item {item.number}" for item in self.items} - {f"item {item.number}" for item in items}
        return tuple(notice for notice in self.notices if re.split("[,:]", notice)[0] not in missing)

    def requests(self) -> list[Request]:
        """Each distinct sentence once."""
        texts = dict.fromkeys(condition.layout(self.join).text for item in self.items for condition in item.conditions)
        return [Request(text) for text in texts]

    def run(self, model: Scorer) -> Iterator[SuiteOutput]:
        """Judge every prediction on every item by the model's surprisals."""
        yield from (Notice(str(warning)) for warning in (*self.notices, *lint(self)))
        regions = [region for prediction in self.predictions for region, _ in prediction.formula.atoms()]
        if registry.sees_right_context(model) and (not regions or any(region != WHOLE for region in regions)):
            yield Notice(RIGHT_CONTEXT_WARNING)
        if not self.predictions:
            yield Notice("the suite has no predictions")
        requests = self.requests()
        answers = {request.text: scored for request, scored in zip(requests, model.score(requests), strict=True)}
        tally = WarningCounts()
        for item in self.items:
            sentences = {}
            for condition in item.conditions:
                layout = condition.layout(self.join)
                measured = measure(
                    answers[layout.text],
                    layout,
                    condition.regions,
                    eos=self.eos,
                    region_metrics=self.region_metrics,
                    tally=tally,
                    place=f"item {item.number}, condition {condition.name}",
                )
                sentences[condition.name] = MeasuredSentence(layout.text, tuple(measured))
            yield from judge(self, item, sentences, tally)
        yield from tally.notices(len(self.items))


def _by_number(item: SuiteItem) -> tuple[int, str]:
    return (item.number, "") if isinstance(item.number, int) else (sys.maxsize, item.number)
