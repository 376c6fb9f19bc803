"""Training an LSTM with attention on sources and targets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wug.errors import InputError
from wug.models.attention_lstm.folder import SPECIAL, START, save_attention_lstm
from wug.models.attention_lstm.network import AttentionShape, attention_lstm
from wug.train._text_to_text import NOT_ASKED, TextToTextLesson, vocabulary_of
from wug.train.examples import Examples
from wug.train.lesson import Batch
from wug.train.shape import Shape


def require_even(inner: int) -> None:
    """An error for a layer that cannot be shared by two directions."""
    if inner % 2:
        raise InputError(
            f"a layer of {inner} cells cannot be shared by two directions of reading: give an even --inner"
        )


class AttentionLSTMLesson(TextToTextLesson):
    """Each word of a target from the source and the words before it."""

    def __init__(
        self,
        examples: Examples,
        shape: Shape,
        *,
        batch: int,
        seed: int,
        device: str,
        attention: str = "general",
        untied: bool = False,
        start: str = "even",
    ) -> None:
        require_even(shape.inner)
        names = vocabulary_of(examples, SPECIAL)
        sizes = AttentionShape(
            vocabulary=len(names),
            layers=shape.layers,
            width=shape.embedding_size,
            hidden=shape.inner,
            attention=attention,
            tied=not untied,
            dropout=shape.dropout,
        )
        super().__init__(attention_lstm(sizes, start), examples, names, batch=batch, seed=seed, device=device)
        self._start = names.index(START)

    def loss(self, batch: Batch) -> Any:
        """Nats a word."""
        import torch

        sources, targets = batch["sources"], batch["targets"]
        known = torch.nn.functional.pad(targets[:, :-1], (1, 0), value=self._start)
        logits = self.model(sources, sources != 0, known)
        wanted = targets.masked_fill(targets == 0, NOT_ASKED)
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), wanted.flatten(), ignore_index=NOT_ASKED)

    def save(self, folder: Path, dtype: str) -> None:
        """In the layout of wug's attention LSTMs."""
        save_attention_lstm(folder, self.model, self.names, dtype=dtype)
