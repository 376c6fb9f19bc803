"""The blocks of answers that were used last, held in memory up to a bound."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, NamedTuple, TypeVar

from wug.runs.cache import Keys
from wug.runs.packing import Answers
from wug.scores import Scores

HELD = 16 * 1024**2
"""Bytes of answers that are held in memory; others are read from the cache again when they are wanted."""

Replies = TypeVar("Replies", Scores, Answers)


class HeldBlock(NamedTuple, Generic[Replies]):
    """A block as it is used."""

    keys: Keys
    replies: Replies
    size: int


class Held(Generic[Replies]):
    """The blocks that were used last."""

    def __init__(self) -> None:
        self._blocks: OrderedDict[int, HeldBlock[Replies]] = OrderedDict()
        self._size = 0

    def get(self, number: int) -> HeldBlock[Replies] | None:
        """The block of that number; None where it is not held."""
        if number in self._blocks:
            self._blocks.move_to_end(number)
        return self._blocks.get(number)

    def add(self, number: int, keys: Keys, replies: Replies, size: int) -> HeldBlock[Replies]:
        """A block that is used now, in the place of some that were not for long."""
        self._blocks[number] = made = HeldBlock(keys, replies, size)
        self._size += size
        while self._size > HELD and len(self._blocks) > 1:
            self._size -= self._blocks.popitem(last=False)[1].size
        return made

    def drop(self, number: int) -> None:
        """Hold a block no longer."""
        if number in self._blocks:
            self._size -= self._blocks.pop(number).size
