"""The sizes of a network."""

from __future__ import annotations

from dataclasses import dataclass

from wug.errors import InputError


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a network."""

    layers: int
    width: int
    heads: int = 1
    inner: int = 0
    """The width inside the feed-forward layers; of an LSTM, the cells."""
    dropout: float = 0.0

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise InputError(f"a width of {self.width} cannot be shared by {self.heads} heads")
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout lies between 0 and 1, and {self.dropout} does not")

    def require_pairs(self) -> None:
        """An error where a head cannot turn its numbers in pairs, as rotary positions do."""
        if self.width // self.heads % 2:
            raise InputError(
                f"a width of {self.width} gives each of {self.heads} heads {self.width // self.heads} numbers: "
                "give a width that makes it an even number"
            )
