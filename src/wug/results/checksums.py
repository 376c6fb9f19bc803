"""Checksums of what the run store keeps, so that a damaged row is refused rather than shown.

A row of outcomes has a seal of its own, which a page checks for the rows that it shows. A result has one over its own
columns, the number of its outcomes and all of their seals, in order. Results that an earlier version kept have no
seals of outcomes, and their own seal says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from wug.errors import StoreError

SIZE = 8
"""Bytes of a seal."""
RUN = ("id", "key", "model", "command", "started", "version", "kept", "specification", "revision")
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
OUTCOME = ("place", "item", "measure", "value", "judged", "groups", "detail")
SUMMARY = ("run", "suite", "kind", "status", "n", "summary")
"""The columns that an overview shows."""


def seal(*parts: object) -> bytes:
    """Eight bytes that change when any of the parts does."""
    return seal_of("\x1f".join(map(repr, parts)))


def seal_of(text: str) -> bytes:
    """The seal of parts that are written out with a separator between them."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=SIZE).digest()


def run_seal(row: Mapping[str, Any] | Any, names: Sequence[str] = RUN) -> bytes:
    """The seal of a row of runs; an earlier version's covers fewer columns."""
    return seal(*(row[name] for name in names))


def is_sealed(row: Mapping[str, Any] | Any) -> bool:
    """Whether a row of outcomes is as it was written.

    SQLite keeps no sign of a zero, which the seals of earlier versions covered.
    """
    place, item, check, value, judged, groups, detail = (row[name] for name in OUTCOME)
    if row["seal"] == seal(place, item, check, value, judged, groups, detail):
        return True
    return bool(value == 0 and row["seal"] == seal(place, item, check, -0.0, judged, groups, detail))


def result_seal(
    row: Mapping[str, Any] | Any, outcomes: int, chain: bytes | None, names: Sequence[str] = RESULT
) -> bytes:
    """The seal of a row of results with so many outcomes, whose seals have this `chain`."""
    return seal(*(row[name] for name in names), outcomes, chain)


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


def require_sound(row: Any) -> None:
    """Refuse a result whose own columns are not as they were written."""
    if row["seal"] != result_seal(row, row["outcomes"], row["chain"]):
        raise damaged(row, "its checksum does not fit")


def sound_outcomes(result: Any, rows: Iterable[Any]) -> Iterator[Any]:
    """The rows of a result's outcomes, all of them and in order; refused where they are not as they were written."""
    sealed = result["chain"] is not None
    chain = Chain()
    for row in rows:
        if sealed and not is_sealed(row):
            raise damaged(result, f"the checksum of its outcome {row['place']} does not fit")
        chain.add(row["seal"] or b"")
        yield row
    if chain.length != result["outcomes"] or (sealed and chain.seal != result["chain"]):
        raise damaged(result, f"{chain.length:,} of its {result['outcomes']:,} outcomes are there")


def damaged_run(run: int, how: str) -> StoreError:
    """The error about a run that is not as it was written."""
    return StoreError(
        f"run {run}: the run store is damaged here ({how}), so the run is not shown. Give its command again "
        "(wug list runs)"
    )


def damaged(row: Any, how: str) -> StoreError:
    """The error about a result that is not as it was written."""
    return StoreError(
        f"run {row['run']}, suite {row['suite']}: the run store is damaged here ({how}), so this result is not shown. "
        "Give the run's command again (wug list runs)"
    )
