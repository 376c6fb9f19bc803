"""Training a word LSTM on text."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wug.models.lstm.folder import save_word_lstm
from wug.train._text import TextLesson
from wug.train.corpus import Rows
from wug.train.lesson import Batch
from wug.train.shape import Shape

SPREAD = 0.1
"""Embeddings begin between minus and plus this, as in Gulordava et al. (2018)."""


@dataclass(frozen=True, slots=True)
class Words:
    """The words that the model is to know, and how texts fall into words."""

    names: Sequence[str]
    mode: str
    """spaces or punctuation."""
    lowercase: bool


class LSTMLesson(TextLesson):
    """Each word from those before it in its row; `<eos>` opens every sentence.

    The state of a layer, `inner` cells wide, is projected to the width of the embeddings where they differ, so
    that embeddings can serve as the output layer too.
    """

    recordable = False  # cuDNN takes the whole row in a few launches anyway

    def __init__(self, words: Words, shape: Shape, *, bos: int, rows: Rows, device: str, bfloat16: bool) -> None:
        import torch

        self._words, self._shape = words, shape
        projection = shape.embedding_size if shape.inner != shape.embedding_size else 0
        model = torch.nn.Module()
        model.encoder = torch.nn.Embedding(len(words.names), shape.embedding_size)
        torch.nn.init.uniform_(model.encoder.weight, -SPREAD, SPREAD)
        # Layer by layer: the dropout inside a torch LSTM does not follow the seed of the step on every device.
        model.layers = torch.nn.ModuleList(
            torch.nn.LSTM(
                shape.embedding_size if projection or not n else shape.inner, shape.inner, proj_size=projection
            )
            for n in range(shape.layers)
        )
        model.decoder = torch.nn.Linear(shape.embedding_size, len(words.names))
        torch.nn.init.zeros_(model.decoder.bias)
        model.decoder.weight = model.encoder.weight
        super().__init__(None, bos, model, rows=rows, device=device, bfloat16=bfloat16)

    def loss(self, batch: Batch) -> Any:
        """Nats a word."""
        from torch.nn.functional import cross_entropy, dropout

        words = self.rows_of(batch["starts"], self.rows.length + 1)
        chance, learning = self._shape.dropout, self.model.training
        states = dropout(self.model.encoder(words[:, :-1].T), chance, learning)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="LSTM with projections is not supported with oneDNN")
            for layer in self.model.layers:
                states = dropout(layer(states)[0], chance, learning)
        return cross_entropy(self.model.decoder(states).flatten(0, 1).float(), words[:, 1:].T.flatten())

    def save(self, folder: Path, dtype: str) -> None:
        """In the layout of wug's word LSTMs."""
        import torch

        state = {_name(name): tensor.to(getattr(torch, dtype)) for name, tensor in self.model.state_dict().items()}
        shape = self._shape
        config = {
            "kind": "LSTM",
            "layers": shape.layers,
            "width": shape.embedding_size,
            "hidden": shape.inner,
            "projection": shape.embedding_size if shape.inner != shape.embedding_size else None,
            "tied": True,
            "lowercase": self._words.lowercase,
            "words": self._words.mode,
            "training_context": self.rows.unit,
        }
        save_word_lstm(folder, state, config, self._words.names)


def _name(tensor: str) -> str:
    """A tensor's name in one LSTM of several layers: `layers.1.weight_ih_l0` is `rnn.weight_ih_l1`."""
    return re.sub(r"^layers\.(\d+)\.(\w+)_l0$", r"rnn.\2_l\1", tensor)
