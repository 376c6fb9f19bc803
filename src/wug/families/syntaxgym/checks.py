"""The names of a result's checks: each prediction, and all of them at once, by every metric of the suite."""

from __future__ import annotations

import re
from dataclasses import dataclass

SUMMARY = "all_predictions"
"""Holds for an item where every prediction does, by the primary metric; its outcomes carry the measured sentences."""

_PREDICTION = re.compile(r"prediction_(\d+)(?:/(.+))?")


@dataclass(frozen=True, slots=True)
class PredictionCheck:
    """A check of one prediction."""

    index: int
    metric: str
    """Empty for the suite's primary metric."""

    @property
    def title(self) -> str:
        """`Prediction 0`, or `Prediction 0, mean`."""
        return f"Prediction {self.index}" + (f", {self.metric}" if self.metric else "")


def prediction_of(check: str) -> PredictionCheck | None:
    """Which prediction a check is of; None for a check of all of them."""
    match = _PREDICTION.fullmatch(check)
    return None if match is None else PredictionCheck(int(match[1]), match[2] or "")
