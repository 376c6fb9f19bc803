"""Outcomes of a result that is not complete yet, on their way into the store."""

from __future__ import annotations

import functools
import marshal
import math
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, BinaryIO

from wug.errors import StoreError
from wug.runs.schema import dump, is_unicode
from wug.runs.seals import Chain, seal
from wug.types import Outcome, Value

AT_ONCE = 5_000
"""Outcomes that are held in memory; more wait in a file."""


class Waiting:
    """Rows of the store's table of outcomes, each with its seal.

    They go into the store in one step when the result is there: judging may ask a model for hours, and nobody else
    could write meanwhile. Till then a file of the system's without a name holds them, if they are many.
    """

    def __init__(self) -> None:
        self.chain = Chain()
        """Over the seals of all of them."""
        self._rows: list[tuple[Any, ...]] = []
        self._file: BinaryIO | None = None

    def add(self, outcome: Outcome) -> None:
        """One more."""
        item, check, value = outcome.item, outcome.check, outcome.value
        row = (
            self.chain.length,
            item if item.isascii() else storable(item),
            check if check.isascii() else storable(check),
            _real(value),
            int(isinstance(value, bool)),
            _groups(tuple(outcome.groups.items())),
            dump(_plain(outcome.detail)),
        )
        self._rows.append((*row, self.chain.add(seal(*row))))
        if len(self._rows) == AT_ONCE:
            self._put_away()

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


@functools.lru_cache(maxsize=1024)
def _groups(pairs: tuple[tuple[str, str], ...]) -> str:
    """The groups of an outcome; neighbours have the same."""
    return dump(dict(pairs))


def _plain(fields: Mapping[str, Any]) -> dict[str, Any]:
    return fields if isinstance(fields, dict) else dict(fields)


def _real(value: Value) -> float | None:
    """The value as SQLite gives it back: it has no NaN, and no sign of a zero."""
    return None if value is None or math.isnan(value) else float(value) + 0.0
