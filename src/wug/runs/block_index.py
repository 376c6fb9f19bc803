"""Where the answers of a model are in the cache: looked up by the thousand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from wug.runs.cache import KEY, Keys

Ints: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Found:
    """Where each answer is: the number of its block, 0 where there is none, and its place in the block."""

    blocks: Ints
    places: Ints


class Places:
    """The keys of blocks, sorted; 24 bytes an answer."""

    def __init__(self) -> None:
        self.newest = 0
        """The highest number of a block."""
        self._blocks: dict[int, Keys] = {}
        """Added since the keys were sorted."""
        self._keys: Keys = np.zeros(0, f"S{KEY}")
        self._numbers: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        self._places: npt.NDArray[np.int32] = np.zeros(0, np.int32)

    def add(self, number: int, keys: Keys) -> None:
        """Answers of a block; where a key is known already, the new block has its answer from now on."""
        self._blocks[number] = keys
        self.newest = max(self.newest, number)

    def forget(self, number: int) -> None:
        """Know nothing of a block any more."""
        self._sort()
        others = self._numbers != number
        self._keys, self._numbers, self._places = self._keys[others], self._numbers[others], self._places[others]

    def find(self, keys: Keys) -> Found:
        """Where the answers of these keys are."""
        self._sort()
        if not len(self._keys):
            return Found(np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64))
        # Of a key that is there twice, the last: of the newest block.
        near = np.maximum(np.searchsorted(self._keys, keys, side="right") - 1, 0)
        known = self._keys[near] == keys
        return Found(np.where(known, self._numbers[near], 0), np.where(known, self._places[near], 0).astype(np.int64))

    def _sort(self) -> None:
        if not self._blocks:
            return
        added = sorted(self._blocks.items())
        keys = np.concatenate([self._keys, *(some for _, some in added)])
        numbers = [np.full(len(some), number, np.int32) for number, some in added]
        places = [np.arange(len(some), dtype=np.int32) for _, some in added]
        order = np.argsort(keys, kind="stable")
        self._keys = keys[order]
        self._numbers = np.concatenate([self._numbers, *numbers])[order]
        self._places = np.concatenate([self._places, *places])[order]
        self._blocks.clear()
