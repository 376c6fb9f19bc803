"""The suite: asks a model for the logical form of every sentence, and judges what it says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from wug.errors import ModelError
from wug.families.cogs.descriptions import CHECKS
from wug.families.cogs.logical_form import ERRORS
from wug.families.cogs.predictions import Predictions
from wug.families.cogs.read import Gold
from wug.families.cogs.settings import Settings
from wug.families.cogs.types import GENERALISATIONS, SECTIONS
from wug.families.sampling import limited
from wug.labels import of_suite
from wug.types import Check, Generator, Row, text_of


@dataclass(frozen=True, slots=True)
class CogsSuite:
    """A gold file as questions to a model."""

    gold: Gold
    settings: Settings
    kind: str = "cogs"
    needs: Literal["generator"] = "generator"

    @property
    def name(self) -> str:
        """The file's name, with the family before it where it says little by itself."""
        name = self.gold.name
        return f"cogs-{name}" if name in ("train", "dev", "test", "gen") else name

    @property
    def sources(self) -> Mapping[str, int]:
        """The number of lines of the file."""
        return {Path(self.gold.file).name: len(self.gold)}

    @property
    def checksum(self) -> str:
        """Of the gold lines."""
        return self.gold.checksum

    @property
    def options(self) -> Mapping[str, str]:
        """Every scoring option, for the signature."""
        taken = limited(self.gold.limit, self.gold.strata)
        return {"dialect": self.gold.dialect, "edition": self.gold.edition, **self.settings.signature, **taken}

    @property
    def checks(self) -> Sequence[Check]:
        """What is judged and measured."""
        return CHECKS

    @property
    def meta(self) -> Mapping[str, Any]:
        """What pages show beside the rows."""
        return meta(self.gold)

    __repr__ = of_suite

    def __len__(self) -> int:
        return len(self.gold)

    def sample(self, items: int) -> CogsSuite:
        """The same suite with only so many of its lines, every type with its share."""
        return replace(self, gold=self.gold.sample(items))

    def requests(self) -> Sequence[str]:
        """The sentences, in the order of the file."""
        return self.gold.sentences

    def run(self, model: Generator) -> Iterator[Row]:
        """Ask for the form of every sentence; judge them all."""
        from wug.families.cogs.scoring import judge_predictions

        answers = model.generate(self.gold.sentences)
        if len(answers) != len(self.gold):
            raise ModelError(f"{model.id} gave {len(answers)} answers to {len(self.gold)} sentences")
        predictions = Predictions(model.id, tuple(map(text_of, answers)))
        yield from judge_predictions(self.gold, predictions, self.settings).rows()


def meta(gold: Gold) -> dict[str, Any]:
    """What pages show beside the rows: the types as the paper groups them, the kinds of error."""
    present = set(gold.types)
    return {
        "dialect": gold.dialect,
        "edition": gold.edition,
        "sections": SECTIONS,
        "types": [asdict(known) for name, known in GENERALISATIONS.items() if name in present],
        "errors": ERRORS,
    }
