"""The suite: asks a model for the logical form of every sentence, and scores its predictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from wug.errors import ModelError
from wug.families.cogs.logical_form import ERRORS
from wug.families.cogs.metrics import METRICS, MetricOptions
from wug.families.cogs.predictions import Predictions
from wug.families.cogs.read import KNOWN_TYPES, SECTIONS, SPLITS, Gold
from wug.families.sampling import limited
from wug.labels import of_suite
from wug.samples import Sample, plain_sample, text_sample
from wug.types import Generator, Metric, Outcome, Result, Row, text_of


@dataclass(frozen=True, slots=True)
class CogsSuite:
    """A gold file as a test of a model."""

    gold: Gold
    metric_options: MetricOptions
    kind: str = "cogs"
    needs: Literal["generator"] = "generator"

    @property
    def name(self) -> str:
        """The file's name, after the family's if it is only that of a split."""
        name = self.gold.name
        return f"cogs-{name}" if name in SPLITS else name

    @property
    def sources(self) -> Mapping[str, int]:
        """The number of lines of the file."""
        return {Path(self.gold.file).name: len(self.gold)}

    @property
    def checksum(self) -> str:
        """Checksum of the gold lines."""
        return self.gold.checksum

    @property
    def options(self) -> Mapping[str, str]:
        """Every scoring option, for the signature."""
        taken = limited(self.gold.limit, self.gold.strata)
        return {"dialect": self.gold.dialect, "edition": self.gold.edition, **self.metric_options.signature, **taken}

    @property
    def metrics(self) -> Sequence[Metric]:
        """All metrics of the family."""
        return METRICS

    @property
    def meta(self) -> Mapping[str, Any]:
        """What pages show with the outcomes: the types as the paper groups them, the kinds of error."""
        present = set(self.gold.types)
        return {
            "dialect": self.gold.dialect,
            "edition": self.gold.edition,
            "sections": SECTIONS,
            "types": [asdict(known) for name, known in KNOWN_TYPES.items() if name in present],
            "errors": ERRORS,
        }

    __repr__ = of_suite

    def __len__(self) -> int:
        return len(self.gold)

    def sample(self, items: int) -> CogsSuite:
        """A suite with `items` of the lines, every type in proportion."""
        return replace(self, gold=self.gold.sample(items))

    def requests(self) -> Sequence[str]:
        """The sentences, in the order of the file."""
        return self.gold.sentences

    def run(self, model: Generator) -> Iterator[Row]:
        """Generate the form of every sentence and score them all."""
        from wug.families.cogs.scoring import score_predictions

        answers = model.generate(self.gold.sentences)
        if len(answers) != len(self.gold):
            raise ModelError(f"{model.id} gave {len(answers)} answers to {len(self.gold)} sentences")
        predictions = Predictions(model.id, tuple(map(text_of, answers)))
        yield from score_predictions(self.gold, predictions, self.metric_options).rows()


def to_sample(outcome: Outcome, result: Result) -> Sample:
    """A sentence with its logical form; a prediction that equals the gold form is not in the details."""
    detail = outcome.detail
    if "gold" not in detail:  # a test of syntax
        return plain_sample(outcome, result)
    return text_sample(outcome, detail.get("sentence"), detail["gold"], detail.get("prediction", detail["gold"]))
