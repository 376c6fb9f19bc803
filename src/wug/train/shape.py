"""The sizes of a network."""

from __future__ import annotations

from dataclasses import dataclass

from wug.errors import InputError


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a network."""

    layers: int
    embedding_size: int
    heads: int = 1
    inner: int = 0
    """The size of the feed-forward layers; of an LSTM, the cells."""
    dropout: float = 0.0
    shared: bool = False
    """Whether all layers have the same weights."""

    def __post_init__(self) -> None:
        if self.embedding_size % self.heads:
            raise InputError(
                f"an embedding size of {self.embedding_size} cannot be shared by {self.heads} attention heads"
            )
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout lies between 0 and 1, and {self.dropout} does not")

    def require_pairs(self) -> None:
        """An error where a head has an odd number of dimensions: rotary positions turn them in pairs."""
        each = self.embedding_size // self.heads
        if each % 2:
            raise InputError(
                f"an embedding size of {self.embedding_size} gives each of {self.heads} attention heads {each} "
                "dimensions: give a size that makes it an even number"
            )
