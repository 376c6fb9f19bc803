"""Small tables of reading times whose effects are known."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

WORDS = "the old man saw a big dog near his house and went there with an umbrella".split()


def stories(count: int = 12, length: int = 60, seed: int = 0, effect: float = 4.0) -> list[dict[str, Any]]:
    """Stories with times that depend on length, frequency and on surprisal of this and the previous word."""
    rng = np.random.default_rng(seed)
    rows = []
    for story in range(1, count + 1):
        before = 0.0
        for position in range(1, length + 1):
            word = WORDS[int(rng.integers(len(WORDS)))]
            surprisal, frequency = float(rng.gamma(2, 3)), float(rng.normal(5, 1))
            rt = 250 + 5 * len(word) - 6 * frequency + effect * surprisal + effect / 2 * before + rng.normal(0, 20)
            rows.append(
                {
                    "story": f"s{story}",
                    "position": position,
                    "word": word,
                    "log_frequency": frequency,
                    "length": len(word),
                    "surp": surprisal,
                    "rt": float(rt),
                }
            )
            before = surprisal
    return rows


def write(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """The rows as CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path
