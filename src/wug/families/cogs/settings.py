"""How predictions are judged, as the user asks for it."""

from __future__ import annotations

from dataclasses import dataclass

from wug.families.cogs.logical_form import DIALECTS
from wug.options import Option

SPLITS = ("train", "dev", "test", "gen")
OPTIONS = (
    Option(
        "split", SPLITS, None, "which files of a folder; by default dev, test and gen, those that are there", many=True
    ),
    Option("dialect", DIALECTS, None, "of the logical forms; by default what the gold forms are in"),
    Option("smatch", bool, False, "also the F1 of terms under the best renaming of indices"),
    Option("seed", int, 0, "of the random starts of smatch"),
    Option("bleu", bool, True, "also BLEU"),
    Option("reference_compat", bool, False, "the measures as the first public evaluator computes them"),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """Which measures, and how."""

    reference_compat: bool = False
    smatch: bool = False
    bleu: bool = True
    seed: int = 0

    @property
    def signature(self) -> dict[str, str]:
        """Everything that can change a result."""
        if self.reference_compat:
            return {"reference_compat": "yes"}
        return {"smatch": f"seed {self.seed}"} if self.smatch else {}
