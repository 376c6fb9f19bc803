"""Checksums of what the run store keeps, so that a damaged row is refused rather than shown.

A row of outcomes has a seal of its own, which a page checks for the rows that it shows. A result has one over its own
columns, the number of its outcomes and all of their seals, in order. Results that an earlier version kept have no
seals of outcomes, and their own seal says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

SIZE = 8
"""Bytes of a seal."""
RUN = ("id", "key", "model", "command", "started", "version", "kept")
"""The columns of a run that its seal covers: what does not change while it goes on, and how many results it has."""
RESULT = (
    "run",
    "suite",
    "kind",
    "status",
    "signature",
    "n",
    "estimates",
    "warnings",
    "descriptions",
    "meta",
    "checks",
    "summary",
)
"""The columns of a result that its seal covers; the number and the seals of its outcomes come on top."""
SUMMARY = ("run", "suite", "kind", "status", "n", "summary")
"""The columns that an overview shows."""


def seal(*parts: object) -> bytes:
    """Eight bytes that change when any of the parts does."""
    text = "\x1f".join(map(repr, parts))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=SIZE).digest()


def run_seal(row: Mapping[str, Any] | Any) -> bytes:
    """The seal of a row of runs."""
    return seal(*(row[name] for name in RUN))


def outcome_seal(row: Mapping[str, Any] | Any) -> bytes:
    """The seal of a row of outcomes."""
    return seal(*(row[name] for name in ("place", "item", "measure", "value", "judged", "groups", "detail")))


def result_seal(row: Mapping[str, Any] | Any, outcomes: int, chain: bytes | None) -> bytes:
    """The seal of a row of results with so many outcomes, whose seals have this `chain`."""
    return seal(*(row[name] for name in RESULT), outcomes, chain)


def summary_seal(row: Mapping[str, Any] | Any) -> bytes:
    """The seal of what an overview shows of a result."""
    return seal(*(row[name] for name in SUMMARY))


class Chain:
    """One seal over many, in their order."""

    def __init__(self) -> None:
        self._digest = hashlib.blake2b(digest_size=SIZE)
        self.length = 0
        """Seals that were added."""

    def add(self, seal: bytes) -> bytes:
        """The same seal, added."""
        self._digest.update(seal)
        self.length += 1
        return seal

    @property
    def seal(self) -> bytes:
        """Of all that were added."""
        return self._digest.digest()
