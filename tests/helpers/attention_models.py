"""Small LSTMs with attention, of every shape, with random weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from wug.models.attention_lstm import SPECIAL, AttentionShape, make_vocabulary
from wug.models.attention_lstm.network import AttentionLSTM

WORDS = [*SPECIAL, "copy", "reverse", "A", "B", "C", "D", "E", ","]
VOCABULARY = make_vocabulary(WORDS)
SHAPE = AttentionShape(vocabulary=len(WORDS), layers=2, width=6, hidden=8, dropout=0.0)
SHAPES = [
    SHAPE,
    replace(SHAPE, tied=False),
    replace(SHAPE, layers=1, attention="dot"),
    replace(SHAPE, layers=3, tied=False, attention="dot"),
]


def make(shape: AttentionShape = SHAPE, seed: int = 2) -> Any:
    """A model with weights so large that its answers differ."""
    import torch

    torch.manual_seed(seed)
    model = AttentionLSTM(shape).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=1.5)
    return model
