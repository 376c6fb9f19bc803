"""Outcomes of a result that is not complete yet, on their way into the store."""

from __future__ import annotations

import marshal
import math
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, BinaryIO

from wug.errors import StoreError
from wug.results.checksums import Chain, seal_of
from wug.results.schema import dump, is_unicode
from wug.types import Outcome, Value

AT_ONCE = 5_000
"""Outcomes that are held in memory; more wait in a file."""
KNOWN = 1_024
"""Groups that are remembered."""


class OutcomeSpool:
    """Rows of the store's table of outcomes, each with its seal.

    They go into the store in one step when the result is there: judging may ask a model for hours, and nobody else
    could write meanwhile. Till then a file of the system's without a name holds them, if they are many.
    """

    def __init__(self) -> None:
        self.chain = Chain()
        """Over the seals of all of them."""
        self._rows: list[tuple[Any, ...]] = []
        self._groups: dict[int, tuple[Mapping[str, str], str, str]] = {}
        """Groups that came lately, by their identity, with a copy: many outcomes share them."""
        self._file: BinaryIO | None = None

    def add(self, outcome: Outcome) -> None:
        """One more."""
        item, check, value, groups = outcome.item, outcome.check, outcome.value, outcome.groups
        judged = isinstance(value, bool)
        known = self._groups.get(id(groups))
        if known is None or known[0] != groups:  # a mapping may have been changed since
            known = self._dumped(groups)
        place = self.chain.length
        item = item if item.isascii() else storable(item)
        check = check if check.isascii() else storable(check)
        number = float(value) if isinstance(value, bool) else _real(value)
        detail = dump(_plain(outcome.detail))
        # As `seal` writes the parts of a row out, but faster.
        parts = f"{place}\x1f{item!r}\x1f{check!r}\x1f{number!r}\x1f{judged:d}\x1f{known[2]}\x1f{detail!r}"
        self._rows.append((place, item, check, number, int(judged), known[1], detail, self.chain.add(seal_of(parts))))
        if len(self._rows) == AT_ONCE:
            self._put_away()

    def _dumped(self, groups: Mapping[str, str]) -> tuple[Mapping[str, str], str, str]:
        """Groups as the store has them and as seals have that, known by their identity from now on."""
        if len(self._groups) >= KNOWN:
            self._groups.clear()
        copied = dict(groups)
        dumped = dump(copied)
        found = self._groups[id(groups)] = (copied, dumped, repr(dumped))
        return found

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        if self._file is not None:
            self._file.seek(0)
            with suppress(EOFError):
                while True:
                    yield from marshal.load(self._file)
        yield from self._rows

    def _put_away(self) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115 (closed below)
            marshal.dump(self._rows, self._file)
        except OSError as error:
            raise StoreError(
                f"outcomes cannot be written to {tempfile.gettempdir()}, where they wait for the run store: "
                f"{error.strerror}. TMPDIR names another folder; answers that are cached are not asked anew"
            ) from None
        self._rows.clear()

    def close(self) -> None:
        """Let go of them."""
        self._rows.clear()
        if self._file is not None:
            self._file.close()


def storable(text: str) -> str:
    """The text, with half characters written out: SQLite takes none."""
    return text if is_unicode(text) else text.encode("utf-8", "backslashreplace").decode()


def _plain(fields: Mapping[str, Any]) -> dict[str, Any]:
    return fields if isinstance(fields, dict) else dict(fields)


def _real(value: Value) -> float | None:
    """The value as SQLite gives it back: it has no NaN, and no sign of a zero."""
    return None if value is None or math.isnan(value) else float(value) + 0.0
