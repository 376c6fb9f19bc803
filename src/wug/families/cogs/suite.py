"""The suite: asks a model for the logical form of every sentence, and judges what it says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from wug.errors import ModelError
from wug.families.cogs.logical_form import ERRORS
from wug.families.cogs.predictions import Predictions
from wug.families.cogs.read import Gold
from wug.families.cogs.settings import Settings
from wug.families.cogs.types import GENERALISATIONS, SECTIONS
from wug.families.sampling import limited
from wug.labels import of_suite
from wug.types import Check, Generator, Row, Unit, text_of

_CHECKS = {
    "exact_match": "the prediction has the tokens of the gold form",
    "exact_match_string": "the prediction is the gold form to the last character, white space included",
    "semantic_match": "some one-to-one renaming of indices makes prediction and gold form equal as sets of terms",
    "recogs_exact_match": "as ReCOGS' own program has it: renaming indices makes the two equal as sets of conjuncts, "
    "and no conjunct is repeated",
    "order_invariant_match": "the prediction has the terms of the gold form, each as often, in any order",
    "well_formed": "the prediction can be derived from the grammar of logical forms",
    "well_formed_strict": "the prediction is well-formed and makes sense: indices bound, no duplicate, no loose part",
    "edit_distance": "tokens to insert, delete or replace (lower is better)",
    "edit_distance_normalised": "edit distance divided by the length of the longer form (lower is better)",
    "smatch_f1": "F1 of terms under the best one-to-one renaming of indices",
    "bleu": "BLEU of all predictions together, from 0 to 100",
}
_FEATURES = {
    "indices": "indices",
    "names": "proper names",
    "predicates": "predicates",
    "terms": "whole terms",
    "arguments": "arguments",
}
_ZONES = {"": "", "_prefix": " before the last `;`", "_body": " in the conjunction"}
_SCORES = {
    "precision": "the share of predicted {} that are right",
    "recall": "the share of gold {} that are predicted",
    "f1": "the F1 of predicted {}",
}
_AVERAGES = {"": "counted over all lines together", "_macro": "mean over lines"}

_MEANINGS: Mapping[str, str] = {
    **_CHECKS,
    **{
        f"{feature}{zone}_{score}{average}": f"{text.format(things + where)}, {how}"
        for feature, things in _FEATURES.items()
        for zone, where in _ZONES.items()
        for score, text in _SCORES.items()
        for average, how in _AVERAGES.items()
    },
}
_FIRST = (
    *("exact_match", "semantic_match", "order_invariant_match", "well_formed", "well_formed_strict"),
    *("edit_distance", "smatch_f1", "bleu", "indices_f1", "names_f1", "predicates_f1", "arguments_f1", "terms_f1"),
)
"""What a person wants to see first."""
_UNITS: Mapping[str, Unit] = {"edit_distance": "tokens", "edit_distance_normalised": "distance"}


def _check(name: str) -> Check:
    share = name.endswith(("match", "match_string")) or name.startswith("well_formed")
    return Check(
        name,
        unit=_UNITS.get(name, "share" if share else "score"),
        better="lower" if name in _UNITS else "higher",
        headline=name in _FIRST,
        meaning=_MEANINGS[name],
    )


CHECKS = tuple(_check(name) for name in dict.fromkeys((*_FIRST, *_MEANINGS)))


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
