"""What models that turn sources into targets share in training: words, tables of their numbers, batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wug.train.examples import Batches, Examples, parts_of
from wug.train.lesson import Batch
from wug.train.tokens import CLOSING, UNKNOWN
from wug.train.words import frequent_words, numbers

NOT_ASKED = -100
"""In place of a word that the loss is not to look at."""


def vocabulary_of(examples: Examples, special: Sequence[str]) -> list[str]:
    """All words of all sources and targets, special tokens first; the first of them is padding."""
    texts = (*examples.sources, *examples.targets)
    return frequent_words(texts, "spaces", size=1 << 30, lowercase=False, special=special)


class TextToTextLesson:
    """A model with tables of examples, each text as the numbers of its words and the end of the text, padded with 0."""

    recordable = True
    shares: Mapping[str, float] = {}

    def __init__(
        self, model: Any, examples: Examples, names: Sequence[str], *, batch: int, seed: int, device: str
    ) -> None:
        import torch

        self.names = names
        self.model = model.to(device)
        end = names.index(CLOSING)
        sources, targets = (
            [[*ids, end] for ids in numbers(texts, "spaces", names, UNKNOWN, lowercase=False)]
            for texts in (examples.sources, examples.targets)
        )
        parts = parts_of(sources, targets, batch)
        # Where the model is: a batch is then picked there, and its rows need not travel at every step.
        self._tables = [tuple(torch.from_numpy(table).to(device) for table in (p.sources, p.targets)) for p in parts]
        self._device = device
        self._batches = Batches([len(part.sources) for part in parts], batch, seed)

    @property
    def steps_an_epoch(self) -> int:
        """Steps in which every example is seen once."""
        return self._batches.steps_an_epoch

    def batch(self, step: int) -> Batch:
        """Sources and targets of like length, as numbers."""
        import torch

        part, order = self._batches.of(step)
        places = torch.from_numpy(order)
        if torch.device(self._device).type == "cuda":  # from pinned memory, for which nobody waits
            places = places.pin_memory().to(self._device, non_blocking=True)
        sources, targets = self._tables[part]
        return {"sources": sources[places], "targets": targets[places]}
