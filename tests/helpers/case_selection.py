"""Selects cases of slow tests: a fixed sample, or all of them if WUG_TEST_WHOLE=yes, as every night."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar
from zlib import crc32

Case = TypeVar("Case")
WHOLE = os.environ.get("WUG_TEST_WHOLE") == "yes"


def cases(always: Iterable[Case], at_night: Iterable[Case]) -> list[Case]:
    """The cases to test."""
    return [*always, *(at_night if WHOLE else ())]


def share(every: Iterable[Case], part: int) -> list[Case]:
    """One case in `part`, rounded up and chosen by a hash; all of them at night."""
    given = list(every)
    return given if WHOLE else [case for case in given if case in _drawn(given)[: -(-len(given) // part)]]


def each_kind(every: Iterable[Case], kind: Callable[[Case], Hashable], most: int = 1) -> list[Case]:
    """At most `most` cases of each kind, chosen by a hash; all of them at night."""
    given = list(every)
    if WHOLE:
        return given
    kinds: dict[Hashable, list[Case]] = {}
    for case in given:
        kinds.setdefault(kind(case), []).append(case)
    return [case for case in given if case in _drawn(kinds[kind(case)])[:most]]


def examples(most: int) -> int:
    """The number of examples of a property: `most` at night, a quarter of it by day."""
    return most if WHOLE else -(-most // 4)


def _drawn(given: list[Case]) -> list[Case]:
    """The cases in the order of their hashes, which is the same on every machine if no case contains a path."""
    return sorted(given, key=lambda case: crc32(repr(case).encode()))
