"""A table of reading times in the shape of BabyLM's `reading_data.csv`."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

WORDS = ("sleeps", "unbelievable", "the", "qzx", "it's")
COLUMNS = (
    *("item", "word", "prev_item", "prev_word", "RTfirstfix", "RTfirstpass", "RTgopast", "RTrightbound"),
    *("self_paced_reading_time", "Subtlex_log10", "length", "context_length", "prev_length"),
)


def table(path: Path, rows: int = 60) -> Path:
    """Random reading times with missing values."""
    random = np.random.default_rng(0)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for number in range(rows):
            first = number % 7 == 0
            texts = ["" if first else "The cat", WORDS[number % 5], "" if first else "The", "" if first else "cat"]
            measures = [f"{value:.4f}" for value in random.normal(200, 30, 5)]
            if number % 11 == 0:
                measures[number % 5] = "NA"
            writer.writerow([*texts, *measures, *(f"{value:.3f}" for value in random.normal(5, 2, 3)), number % 6])
    return path
